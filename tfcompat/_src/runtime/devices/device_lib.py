"""`device_lib.list_local_devices`: the devices of this process as DeviceAttributes messages."""

from __future__ import annotations

from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import describe, session_devices


def list_local_devices(session_config: messages.ConfigProto | None = None) -> list[messages.DeviceAttributes]:
    """DeviceAttributes messages of the devices that a session of this process has.

    Args:
      session_config: a ConfigProto.
    """
    devices = describe(session_devices(session_config or messages.ConfigProto()))
    return [
        messages.DeviceAttributes(
            name=d.name.replace("/job:localhost/replica:0/task:0", ""), device_type=d.device_type,
            memory_limit=d.memory_limit_bytes, incarnation=d.incarnation,
        )
        for d in devices
    ]  # fmt: skip
