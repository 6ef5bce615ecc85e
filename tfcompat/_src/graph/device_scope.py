"""The entries that `tf.device` pushes on a graph's device stack, and their application to new nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import device as device_lib
from tfcompat._src.base.traceable_stack import TraceableObject, from_program

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph
    from tfcompat._src.graph.operation import Operation


class DeviceEntry:
    """The device of one `tf.device` block: None, a function of the node, or a canonical string. `str` shows it as the program wrote it."""

    def __init__(self, device: object) -> None:
        self._asked = device
        self.device = device if device is None or callable(device) else device_lib.canonical_name(device)

    def __str__(self) -> str:
        # A DeviceSpec is shown in canonical form, a string as the program wrote it, a function by its name and source.
        if not callable(self.device):
            return str(self.device if device_lib.is_device_spec(self._asked) else self._asked)
        code = getattr(self.device, "__code__", None)
        where = f"<{code.co_filename}, {code.co_firstlineno}>" if code else ""
        return getattr(self.device, "__name__", str(self.device)) + where


def entry(device: object) -> TraceableObject:
    """Returns an entry of the device stack, with the program's file and line that opened the block."""
    return from_program(DeviceEntry(device))


def leave(stack: list[TraceableObject], entry: TraceableObject) -> None:
    """Takes an entry off the device stack; RuntimeError if one that was put there later is still open."""
    is_innermost = stack[-1] is entry
    stack.remove(entry)
    if not is_innermost:
        raise RuntimeError("Exiting device scope without proper scope nesting.")


def apply(stack: list[TraceableObject], node: Operation) -> None:
    """Sets the device of a new node by merging the entries of a stack, innermost first; an entry of None hides the outer ones."""
    node._device_assignments = stack[::-1]
    # Inner scopes win: each outer device only fills in the parts that are still missing.
    for assignment in reversed(stack):
        device = assignment.obj.device
        if device is None:
            break
        node._device = _of_function(device, node) if callable(device) else device_lib.merge(device, node._device)


def _of_function(function: Any, node: Operation) -> str:
    """Returns the device that a device function returns for `node`, which replaces the node's device.

    Raises:
      TypeError: it returns neither a string nor a DeviceSpec.
    """
    device = function(node)
    if device_lib.is_device_spec(device):
        device = device.to_string()
    if not isinstance(device, str):
        raise TypeError(f"The device function {function!r} must return a string or a DeviceSpec for {node.name!r}, not {device!r}.")
    return device


@contextlib.contextmanager
def devices_of(body: Graph, outer: Graph) -> Iterator[None]:
    """Places the nodes made in `outer` as `body`, a function body within it, places its own; or as the body around it if it says no device."""
    while not body._devices and body is not outer:
        body = body.outer_graph or outer
    # Without a function body the stack stays the same object: other threads may be within device blocks of the graph.
    if body is outer:
        yield
        return
    before, outer._devices = outer._devices, list(body._devices)
    try:
        yield
    finally:
        outer._devices = before
