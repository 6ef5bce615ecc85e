"""`tensorflow.python.framework.kernels`: the registered kernels of op types by device type."""

from __future__ import annotations

from tfcompat._src.graph import op_spec
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import accelerator_count


def _device_types() -> list[str]:
    """Returns the device types of this process."""
    return ["CPU", *(kind for kind in ("GPU", "TPU") if accelerator_count(kind))]


def get_all_registered_kernels() -> messages.KernelList:
    """Returns a KernelList with a kernel of every op type for every device type of this process."""
    kernels = messages.KernelList()
    for name in op_spec.registered_names():
        kernels.kernel.extend(get_registered_kernels_for_op(name).kernel)
    return kernels


def get_registered_kernels_for_op(name: str) -> messages.KernelList:
    """Returns a KernelList with the kernels of an op type, empty for an unknown one."""
    known = op_spec.find(name) is not None
    return messages.KernelList(kernel=[messages.KernelDef(op=name, device_type=kind) for kind in _device_types() if known])
