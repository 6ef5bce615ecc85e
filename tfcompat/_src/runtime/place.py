"""Stage 3: each operation's device exists, or may move to one that does."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework import device as device_lib
from tfcompat._src.framework import errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.runtime.devices import Device


def place(ops: list[Operation], devices: list[Device], config: Any) -> None:
    """Checks the devices that operations ask for.

    Raises:
      errors.InvalidArgumentError: there is no such device and the config does not allow soft placement.
    """
    if config.allow_soft_placement:
        return
    fits: dict[str, bool] = {"": True}
    for op in ops:
        wanted = op._device
        if wanted not in fits:
            fits[wanted] = any(_matches(wanted, d) for d in devices)
        if not fits[wanted]:
            names = ", ".join(d.name for d in devices)
            raise errors.InvalidArgumentError(
                op.node_def, op,
                f"Cannot assign a device for operation {op.name}: Operation was explicitly assigned to {wanted} but "
                f"available devices are [ {names} ]. Make sure the device specification refers to a valid device, or run "
                "with allow_soft_placement=True in the session's ConfigProto.",
            )  # fmt: skip


def _matches(wanted: str, device: Device) -> bool:
    ask, have = device_lib.DeviceSpec.from_string(wanted), device_lib.DeviceSpec.from_string(device.name)
    return all(
        a is None or a == h
        for a, h in (
            (ask.job, have.job), (ask.replica, have.replica), (ask.task, have.task),
            (ask.device_type, have.device_type), (ask.device_index, have.device_index),
        )
    )  # fmt: skip
