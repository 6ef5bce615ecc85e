"""`tensorflow.python.framework.subscribe`: side effects that run whenever a tensor is computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.base.trackable import Trackable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity

SideEffect = Callable[[Tensor], list]


def subscribe(tensors: object, side_effects: SideEffect | Iterable[SideEffect]) -> Any:
    """Puts an Identity with side effects between tensors and everything that uses them.

    Args:
      tensors: a tensor, a variable (its value is meant), or lists, tuples and dicts of them.
      side_effects: a function or several: each takes a tensor and returns the tensors or operations that are to run with it.

    Returns:
      the Identity tensors, nested as `tensors`. A tensor that was subscribed before gives the same Identity again, and one
      whose dtype NumPy does not have is left as it is.

    Raises:
      TypeError: a value that is no tensor.
    """
    effects = list(side_effects) if hasattr(side_effects, "__iter__") else [side_effects]
    return _nested(tensors, effects, {})


def _nested(value: object, effects: list[SideEffect], waiting: dict[Operation, list[Operation]]) -> Any:
    """`waiting`: the operations that waited for an operation before its first output was subscribed."""
    if isinstance(value, Tensor):
        return _subscribed(value, effects, waiting)
    if isinstance(value, Trackable) and hasattr(value, "value"):
        return _subscribed(value.value(), effects, waiting)
    if isinstance(value, dict):
        return {k: _nested(v, effects, waiting) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        found = [_nested(v, effects, waiting) for v in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    raise TypeError(f"{value!r} has invalid type {type(value)}: give tensors, or lists, tuples and dicts of them")


def _subscribed(tensor: Tensor, effects: list[SideEffect], waiting: dict[Operation, list[Operation]]) -> Tensor:
    if not tensor.dtype.is_numpy_compatible:
        return tensor
    outputs = [tensor, *(t for op in tensor.consumers() for t in op.outputs)]
    there = next((t for t in outputs if _is_subscribed_identity(t)), None)
    with device(tensor.device), _context_of(tensor.op):
        if there is None:
            return _insert(tensor, effects, waiting.setdefault(tensor.op, tensor.op._control_outputs))
        there.op._add_control_inputs([getattr(e, "op", e) for e in _effects_on(there.op.inputs[0], effects)])
        return there


def _is_subscribed_identity(tensor: Tensor) -> bool:
    """Whether a tensor is the Identity of a subscription of its input."""
    op = tensor.op
    return op.type == "Identity" and op.name.startswith(f"{op.inputs[0].op.name}/subscription/Identity")


def _effects_on(tensor: Tensor, effects: list[SideEffect]) -> list[Any]:
    with name_scope(f"{tensor.op.name}/subscription/"):
        return [made for effect in effects for made in effect(tensor)]


def _insert(tensor: Tensor, effects: list[SideEffect], waiting: list[Operation]) -> Tensor:
    """A new Identity in the place of `tensor`, for which the operations `waiting` for the operation of `tensor` wait instead."""
    users = [(op, i) for op in tensor.consumers() for i, t in enumerate(op.inputs) if t is tensor]
    made = _effects_on(tensor, effects)
    with name_scope(f"{tensor.op.name}/subscription/"), control_dependencies(made):
        out = identity(tensor)
    for op, index in users:
        op._update_input(index, out)
    for op in waiting:
        others = [c for c in op.control_inputs if c is not tensor.op]
        op._remove_all_control_inputs()
        op._add_control_inputs([*others, out.op])
    return out


@contextlib.contextmanager
def _context_of(op: Operation) -> Iterator[None]:
    """A block whose operations stand in the control flow context of `op`."""
    context = op._get_control_flow_context()
    if context is None:
        yield
        return
    context.Enter()
    try:
        yield
    finally:
        context.Exit()
