"""Device strings of strategies."""

from __future__ import annotations

import types
from typing import Any

from tfcompat._src.base.device import DeviceSpec, canonical_name
from tfcompat._src.graph import device_scope
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions, get_default_graph
from tfcompat._src.runtime.devices.devices import accelerator_count


def canonicalize(d: str, default: str | None = None) -> str:
    """The device string `d` with what it lacks taken from `default`, then from /replica:0/task:0/device:CPU:0.

    Where operations run at once, the job is "localhost" by default.

    Raises:
      AssertionError: the device type is not in capitals.
    """
    spec = DeviceSpec.from_string(d)
    if spec.device_type is not None and spec.device_type != spec.device_type.upper():
        raise AssertionError(f"Device type '{spec.device_type}' must be all-caps.")
    job = "localhost" if executing_eagerly_outside_functions() else None
    found = DeviceSpec(job=job, replica=0, task=0, device_type="CPU", device_index=0)
    if default:
        found = found.make_merged_spec(DeviceSpec.from_string(default))
    return found.make_merged_spec(spec).to_string()


def resolve(d: str) -> str:
    """`canonicalize` with the device of the open device scopes as default."""
    return canonicalize(d, default=current())


def current() -> str:
    """The device that a node made now would have, "" where no scope says one; where operations run at once, its full name."""
    node: Any = types.SimpleNamespace(_device="", device="", type="", name="", node_def=types.SimpleNamespace(op="", name="", device=""))
    device_scope.apply(get_default_graph()._devices, node)
    found = canonical_name(node._device)
    return canonicalize(found) if found and executing_eagerly_outside_functions() else found


def get_host_for_device(device: str) -> str:
    """The first CPU of the task that a device belongs to."""
    return DeviceSpec.from_string(device).replace(device_type="CPU", device_index=0).to_string()


def local_devices_from_num_gpus(num_gpus: int) -> tuple[str, ...]:
    """Device strings of so many GPUs, or of the CPU where there is none."""
    return tuple(f"/device:GPU:{i}" for i in range(num_gpus)) or ("/device:CPU:0",)


def local_devices() -> tuple[str, ...]:
    """Device strings of this process's GPUs, or of the CPU where there is none."""
    return local_devices_from_num_gpus(accelerator_count("GPU"))
