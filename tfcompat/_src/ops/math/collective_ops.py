"""Collectives: nodes on several devices that give each other their values in one run, under the names of 1.15's `collective_ops`.

The members of an instance are nodes of one run. Each leaves its value when it is reached, and takes the result when all have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base import device as device_lib
from tfcompat._src.base import errors, this_run
from tfcompat._src.base.run_limits import MustWait, may_wait
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, WAITING, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

_KEYS = "T: {float32, float16, float64, int32, int64}, group_size: int, group_key: int, instance_key: int"
_HINT = 'communication_hint: string = "auto"'
_SHAPED = f"*, {_KEYS}, shape: shape, {_HINT}"
_MERGE = {"Add": np.add, "Mul": np.multiply}


@dataclass
class _Instance:
    """The values that members have left, by node, and the result, which those of `waiting` have not taken yet."""

    values: dict[Any, Any] = field(default_factory=dict)
    result: Any = None
    waiting: set[Any] = field(default_factory=set)


def _meet(node: Any, value: Any, result: Callable[[list[Any]], Any]) -> Any:
    """Leaves the value of a member; what `result` makes of the values of all members, in the order of their devices."""
    attrs = node.attrs
    key = "collective", attrs["group_key"], attrs["instance_key"]
    instance = this_run.notes().setdefault(key, _Instance())
    if node not in instance.waiting:
        instance.values[node] = value
        if len(instance.values) < attrs["group_size"]:
            _wait(node, len(instance.values))
        members = sorted(instance.values, key=lambda n: device_lib.canonical_name(n.device))
        instance.waiting = set(members)
        instance.result = result([instance.values[n] for n in members])
    instance.waiting.remove(node)
    if not instance.waiting:
        del this_run.notes()[key]
    return instance.result


def _wait(node: Any, count: int) -> None:
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


def _reduced(node: Any, values: list[Any]) -> Any:
    _check_shapes(node, [v.shape for v in values])
    total = functools.reduce(_MERGE[node.attrs["merge_op"].decode()], values)
    if node.attrs["final_op"] == b"Id":
        return total
    if total.dtype.kind == "f":
        return (total / len(values)).astype(total.dtype)
    return np.sign(total) * (np.abs(total) // len(values))


def _collective_reduce(context, x, *, merge_op):
    if merge_op not in _MERGE:
        text = f'merge_op must be one of {{"Add", "Mul"}} but got {merge_op}'
        raise errors.InvalidArgumentError(None, None, text)
    return _meet(context.op, x, functools.partial(_reduced, context.op))


def _gathered(node: Any, values: list[Any]) -> Any:
    _check_shapes(node, [v.shape for v in values])
    return np.concatenate(values)


def _gathered_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    if sizes is None:
        return [None]
    return [(None if sizes[0] is None else sizes[0] * c.attr("group_size"), *sizes[1:])]


def _sent(node: Any, values: list[Any]) -> Any:
    found = [v for v in values if not isinstance(v, tuple)]
    if len(found) != 1:
        raise errors.InternalError(None, None, f"A broadcast has one sender, not {len(found)}.")
    _check_shapes(node, [v if isinstance(v, tuple) else v.shape for v in values])
    return found[0]


def _send(context, x, *, shape):
    if x.shape != shape.sizes:
        text = f"Declared shape of op {context.op.name}: Broadcast(1) does not match shape of input"
        raise errors.InternalError(None, None, text)
    return _meet(context.op, x, functools.partial(_sent, context.op))


def _receive(context, *, shape):
    return _meet(context.op, shape.sizes, functools.partial(_sent, context.op))


_add = functools.partial(
    op, place=HOST, effects=WAITING, context=True,
    gradient=NotDifferentiable("1.15 has no gradient of collectives", raises=True),
)  # fmt: skip
_add(
    "CollectiveReduce",
    f'(input: T, *, {_KEYS}, merge_op: {{"Min", "Max", "Mul", "Add"}}, final_op: {{"Id", "Div"}}, subdiv_offsets: list(int), '
    f"wait_for: list(int) = [], {_HINT}) -> (data: T)",
    shape=si.unchanged, kernel=_collective_reduce,
)  # fmt: skip
_add("CollectiveGather", f"(input: T, {_SHAPED}) -> (data: T)", shape=_gathered_shape,
     kernel=lambda context, x: _meet(context.op, x, functools.partial(_gathered, context.op)))  # fmt: skip
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
    t: Tensor, shape: Any, dtype: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
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
    shape: Any, dtype: Any, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """The tensor of this shape and dtype that the `broadcast_send` of the group gives; see there."""
    _check_size(group_size, "broadcast_recv")
    return raw.CollectiveBcastRecv(dtype, group_size, group_key, instance_key, shape, communication_hint=communication_hint)
