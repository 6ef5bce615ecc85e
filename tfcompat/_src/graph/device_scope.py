"""What `tf.device` puts on the device stack of a graph, and what it does to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import device as device_lib
from tfcompat._src.base.traceable_stack import TraceableObject, from_program

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation


class DeviceEntry:
    """A device that the program asked for: None, a function of the node, or a canonical string; as text what it wrote."""

    def __init__(self, device: object) -> None:
        self._asked = device
        self.device = device if device is None or callable(device) else device_lib.canonical_name(device)

    def __str__(self) -> str:
        if not callable(self.device):
            return str(self.device if device_lib.is_device_spec(self._asked) else self._asked)
        code = getattr(self.device, "__code__", None)
        where = f"<{code.co_filename}, {code.co_firstlineno}>" if code else ""
        return getattr(self.device, "__name__", str(self.device)) + where


def entry(device: object) -> TraceableObject:
    """An entry of the device stack, with the line of the program that makes it."""
    return from_program(DeviceEntry(device))


def apply(stack: list[TraceableObject], node: Operation) -> None:
    """Gives a new node the device that a stack says, the innermost entry first; None hides those around it."""
    node._device_assignments = stack[::-1]
    for assignment in reversed(stack):
        device = assignment.obj.device
        if device is None:
            break
        node._device = _of_function(device, node) if callable(device) else device_lib.merge(device, node._device)


def _of_function(function: Any, node: Operation) -> str:
    """What a device function says, which replaces the node's device; TypeError where it says nothing."""
    device = function(node)
    if device_lib.is_device_spec(device):
        device = device.to_string()
    if not isinstance(device, str):
        raise TypeError(f"the device function {function!r} must give a string for {node.name}, not {device!r}")
    return device
