"""Collectives: nodes on several devices that give each other their values in one run, under the names of 1.15's `collective_ops`.

The members of an instance are nodes of one run, or of a run in each process of a cluster. Each leaves its value when it is reached, and takes
the result when all have. What goes between processes begins as soon as all members of a run are reached, and the run goes on meanwhile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import device as device_lib
from tfcompat._src.base import errors, this_run
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.run_limits import MustWait, may_wait
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, MEETS_OTHERS, WAITING, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike

_KEYS = "T: {float32, float16, float64, int32, int64}, group_size: int, group_key: int, instance_key: int"
_HINT = 'communication_hint: string = "auto"'
_SHAPED = f"*, {_KEYS}, shape: shape, {_HINT}"
_MERGE = {"Add": np.add, "Mul": np.multiply}


class _Kind(NamedTuple):
    """What an op makes of the values of its members: `here` of those of one run, in the order of their devices; `begin` begins to bring
    that together with other processes, and `end` is done with the outcome."""

    here: Callable[[Operation, list[Any]], Any]
    begin: Callable[[Any, str, Any, Operation], Any]
    end: Callable[[Operation, Any], Any] = lambda node, found: found


@dataclass
class _Instance:
    """The values that members have left, by node; what is under way with other processes; the result, which those of `waiting` have not
    taken yet."""

    values: dict[Operation, Any] = field(default_factory=dict)
    pending: Any = None
    result: Any = None
    waiting: set[Operation] = field(default_factory=set)


def _meet(context: HostContext, value: Any, kind: _Kind) -> Any:
    """Leaves the value of a member; what `kind` makes of the values of all members."""
    node = context.op
    group_key, instance_key, size = (node.attrs[name] for name in ("group_key", "instance_key", "group_size"))
    instance = this_run.notes().setdefault(("collective", group_key, instance_key), _Instance())
    if node not in instance.waiting:
        instance.values[node] = value
        _bring_together(context, instance, kind, group_key, f"{group_key}/{instance_key}", size)
        instance.waiting = set(instance.values)
    instance.waiting.remove(node)
    if not instance.waiting:
        del this_run.notes()["collective", group_key, instance_key]
    return instance.result


def _bring_together(context: HostContext, instance: _Instance, kind: _Kind, group_key: int, name: str, size: int) -> None:
    """Makes the result of an instance, or raises MustWait where others are still to come."""
    node = context.op
    membership = context.run.collective_membership(group_key, size) if len(instance.values) < size else None
    if membership is None:
        if len(instance.values) < size:
            _wait(node, len(instance.values))
        instance.result = kind.end(node, kind.here(node, _in_order(instance.values)))
        return
    if not membership.join(node.device):
        raise MustWait
    if instance.pending is None:
        own = len(membership.own_devices)
        if len(instance.values) < own:
            _wait(node, len(instance.values))
        instance.pending = kind.begin(membership.group, name, kind.here(node, _in_order(instance.values)), node)
    if not may_wait() and not instance.pending.is_done():
        raise MustWait
    try:
        instance.result = kind.end(node, instance.pending.result())
    except errors.UnavailableError:
        context.run.leave_collective(group_key)
        raise


def _in_order(values: dict[Operation, Any]) -> list[Any]:
    return [values[node] for node in sorted(values, key=lambda n: device_lib.canonical_name(n.device))]


def _wait(node: Operation, count: int) -> None:
    if not may_wait():
        raise MustWait
    attrs = node.attrs
    raise errors.DeadlineExceededError(
        None, None, f"{count} of the {attrs['group_size']} members of collective instance {attrs['instance_key']} in group "
        f"{attrs['group_key']} are part of this run: fetch all of them in one Session.run.",
    )  # fmt: skip


def _check_shapes(node: Any, shapes: Sequence[tuple]) -> None:
    other = next((s for s in shapes if s != shapes[0]), None)
    if other is not None:
        raise errors.InvalidArgumentError(
            None, None, f"Shape mismatch in the collective instance {node.attrs['instance_key']}. Op at device {node.device} expected "
            f"shape {shape_text(other)} but another member in the group expected shape {shape_text(shapes[0])}.",
        )  # fmt: skip


def _merge_op(node: Operation) -> str:
    text: bytes = node.attrs["merge_op"]
    return text.decode()


def _merged(node: Operation, values: list[NDArray]) -> NDArray:
    _check_shapes(node, [v.shape for v in values])
    total: NDArray = functools.reduce(_MERGE[_merge_op(node)], values)
    return total


def _finished(node: Operation, total: NDArray) -> NDArray:
    """What the op's final operation makes of a sum or product."""
    if node.attrs["final_op"] == b"Id":
        return total
    size = node.attrs["group_size"]
    if total.dtype.kind == "f":
        return (total / size).astype(total.dtype)
    return np.asarray(np.sign(total) * (np.abs(total) // size))


_REDUCE = _Kind(_merged, lambda group, name, total, node: group.all_reduce(name, total, _merge_op(node)), _finished)


def _collective_reduce(context, x, *, merge_op):
    if merge_op not in _MERGE:
        text = f'merge_op must be one of {{"Add", "Mul"}} but got {merge_op}'
        raise errors.InvalidArgumentError(None, None, text)
    return _meet(context, x, _REDUCE)


def _gathered(node: Operation, values: list[NDArray]) -> NDArray:
    _check_shapes(node, [v.shape for v in values])
    return np.concatenate(values)


_GATHER = _Kind(_gathered, lambda group, name, rows, node: group.all_gather(name, rows))


def _gathered_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    if sizes is None:
        return [None]
    return [(None if sizes[0] is None else sizes[0] * c.attr("group_size"), *sizes[1:])]


def _sent(node: Operation, values: list[Any]) -> Any:
    """The sent array; where its sender is of another process, the shape that is to come."""
    found = [v for v in values if not isinstance(v, tuple)]
    if len(found) > 1 or (not found and len(values) == node.attrs["group_size"]):
        raise errors.InternalError(None, None, f"A broadcast has one sender, not {len(found)}.")
    _check_shapes(node, [v if isinstance(v, tuple) else v.shape for v in values])
    return found[0] if found else values[0]


def _broadcast(group: Any, name: str, found: Any, node: Operation) -> Any:
    if isinstance(found, tuple):
        return group.receive(name, found, np.dtype(node.outputs[0].dtype.as_numpy_dtype))
    return group.send_to_all(name, found)


_BROADCAST = _Kind(_sent, _broadcast)


def _send(context, x, *, shape):
    if x.shape != shape.sizes:
        text = f"Declared shape of op {context.op.name}: Broadcast(1) does not match shape of input"
        raise errors.InternalError(None, None, text)
    return _meet(context, x, _BROADCAST)


def _receive(context, *, shape):
    return _meet(context, shape.sizes, _BROADCAST)


_add = functools.partial(
    op, side=HOST, effects=WAITING, context=True, facts=MEETS_OTHERS,
    gradient=NotDifferentiable("1.15 has no gradient of collectives", raises=True),
)  # fmt: skip
_add(
    "CollectiveReduce",
    f'(input: T, *, {_KEYS}, merge_op: {{"Min", "Max", "Mul", "Add"}}, final_op: {{"Id", "Div"}}, subdiv_offsets: list(int), '
    f"wait_for: list(int) = [], {_HINT}) -> (data: T)",
    shape=si.unchanged, kernel=_collective_reduce,
)  # fmt: skip
_add("CollectiveGather", f"(input: T, {_SHAPED}) -> (data: T)", shape=_gathered_shape,
     kernel=lambda context, x: _meet(context, x, _GATHER))  # fmt: skip
_add("CollectiveBcastSend", f"(input: T, {_SHAPED}) -> (data: T)", shape=si.from_attr("shape"), kernel=_send)
_add("CollectiveBcastRecv", f"({_SHAPED}) -> (data: T)", shape=si.from_attr("shape"), kernel=_receive)


def _check(t: Tensor, group_size: int, what: str) -> None:
    if not device_lib.canonical_name(t.device):
        raise ValueError("Device assignment required for collective ops")
    _check_size(group_size, what)


def _check_size(group_size: int, what: str) -> None:
    if group_size <= 1:
        raise ValueError(f"Parameter group_size to {what} must be at least 2.")


def all_reduce(
    t: Tensor, group_size: int, group_key: int, instance_key: int, merge_op: str, final_op: str,
    subdiv_offsets: Sequence[int] = (0,), communication_hint: str = "auto",
) -> Tensor:  # fmt: skip
    """The sum or product of tensors on several devices, on each of them.

    Args:
      t: the tensor of this device; all have one shape.
      group_size: how many devices there are, at least two.
      group_key: number of the group of devices.
      instance_key: number of this reduction, the same on all devices.
      merge_op: "Add" or "Mul".
      final_op: "Id", or "Div" to divide by `group_size`.
      subdiv_offsets, communication_hint: kept in the node; how values travel is the runtime's choice.

    Raises:
      ValueError: `t` has no device, or there is one device only.
      InvalidArgumentError: in a run, shapes differ, or another `merge_op`. DeadlineExceededError: a member is not in the run.
    """
    _check(t, group_size, "all_reduce")
    return raw.CollectiveReduce(
        t, group_size, group_key, instance_key, merge_op, final_op, list(subdiv_offsets), communication_hint=communication_hint
    )


def all_gather(t: Tensor, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto") -> Tensor:
    """The tensors of several devices one after another along the first dimension, on each of them; see `all_reduce`."""
    _check(t, group_size, "all_gather")
    return raw.CollectiveGather(t, group_size, group_key, instance_key, [0], communication_hint=communication_hint)


def broadcast_send(
    t: Tensor, shape: ShapeLike, dtype: object, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """Gives `t` to the `broadcast_recv` of the other devices of the group.

    Args:
      t: the tensor.
      shape, dtype: its own, as the receivers declare them.
      group_size, group_key, instance_key, communication_hint: as for `all_reduce`.

    Raises:
      ValueError: `t` has no device, another shape or dtype, or there is one device only.
    """
    _check(t, group_size, "broadcast_send")
    if t.shape != shape:
        raise ValueError(f"Shape of broadcast_send tensor not equal to declared shape: {t.shape}, not {shape}")
    if t.dtype != dtype:
        raise ValueError(f"Type of broadcast_send tensor not equal to declared type: {t.dtype.name}, not {dtype}")
    return raw.CollectiveBcastSend(t, group_size, group_key, instance_key, shape, communication_hint=communication_hint)


def broadcast_recv(
    shape: ShapeLike, dtype: DTypeLike, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """The tensor of this shape and dtype that the `broadcast_send` of the group gives; see there."""
    _check_size(group_size, "broadcast_recv")
    return raw.CollectiveBcastRecv(dtype, group_size, group_key, instance_key, shape, communication_hint=communication_hint)
