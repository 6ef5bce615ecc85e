"""`tensorflow.python.framework.kernels`: for which devices op types have kernels."""

from __future__ import annotations

from tfcompat._src.graph import op_spec
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import accelerator_count


def _device_types() -> list[str]:
    return ["CPU", *(kind for kind in ("GPU", "TPU") if accelerator_count(kind))]


def get_all_registered_kernels() -> messages.KernelList:
    """A KernelList with a kernel of each op type for each kind of device that this process has."""
    found = messages.KernelList()
    for name in op_spec.registered_names():
        found.kernel.extend(get_registered_kernels_for_op(name).kernel)
    return found


def get_registered_kernels_for_op(name: str) -> messages.KernelList:
    """A KernelList with the kernels of an op type; empty where there is none of that name."""
    known = op_spec.find(name) is not None
    return messages.KernelList(kernel=[messages.KernelDef(op=name, device_type=kind) for kind in _device_types() if known])
