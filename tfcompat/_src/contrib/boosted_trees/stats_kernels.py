"""Sums of gradients and hessians by node and feature, which handlers of features accumulate."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.resource import invalid

_SUMS = "output_partition_ids: int32, output_feature_ids: int64, output_gradients: float, output_hessians: float"
_ADDED = "partition_ids: int32, feature_ids: int64, gradients: float, hessians: float"
_HANDLE = "stats_accumulator_handle: resource"


class Sums:
    """Sums of statistics, sorted by node, dimension and feature.

    Args:
      gradient_shape, hessian_shape: of one entry.
    """

    def __init__(self, gradient_shape: tuple, hessian_shape: tuple) -> None:
        self._shapes = tuple(gradient_shape), tuple(hessian_shape)
        self.clear()

    def clear(self) -> None:
        """Forgets all."""
        self.updates = 0
        self.nodes, self.features = np.zeros(0, np.int32), np.zeros((0, 2), np.int64)
        self.gradients, self.hessians = (np.zeros((0, *shape), np.float32) for shape in self._shapes)

    def add(self, nodes: Any, features: Any, gradients: Any, hessians: Any) -> None:
        """Adds entries: nodes [n], (feature, dimension) [n, 2], gradients and hessians [n, ...]."""
        count = len(nodes)
        for what, given, shape in (("Gradients", gradients, self._shapes[0]), ("Hessian", hessians, self._shapes[1])):
            if np.shape(given)[1:] != shape:
                raise invalid(f"{what} dimensions must match: {list(np.shape(given)[1:])}, {list(shape)}")
        if np.ndim(features) != 2 or np.shape(features)[1] != 2 or min(map(len, (features, gradients, hessians))) < count:
            raise invalid(f"There are {count} partition_ids, and feature_ids, gradients or hessians do not fit them.")
        self.updates += 1
        if not count:
            return
        nodes = np.concatenate([self.nodes, nodes])
        features = np.concatenate([self.features, features[:count]])
        order = np.lexsort((features[:, 0], features[:, 1], nodes))
        nodes, features = nodes[order], features[order]
        is_new = np.concatenate([[True], (nodes[1:] != nodes[:-1]) | np.any(features[1:] != features[:-1], axis=1)])
        which = np.cumsum(is_new) - 1
        self.gradients, self.hessians = (
            _added(np.concatenate([known, given[:count]])[order], which)
            for known, given in ((self.gradients, gradients), (self.hessians, hessians))
        )
        self.nodes, self.features = nodes[is_new].astype(np.int32), features[is_new]

    def outputs(self) -> tuple:
        return self.nodes, self.features, self.gradients, self.hessians


def _added(values: np.ndarray, which: np.ndarray) -> np.ndarray:
    found = np.zeros((which[-1] + 1, *values.shape[1:]), np.float32)
    np.add.at(found, which, values)
    return found


class Stamped:
    """Something with a stamp: what comes with another one is too late."""

    def __init__(self, content: Any, stamp: Any) -> None:
        self.content, self.stamp = content, int(stamp)

    def advance(self, stamp: Any, following: Any) -> None:
        """Changes the stamp; InvalidArgumentError where `stamp` is not that which it has."""
        if int(stamp) != self.stamp or int(stamp) == int(following):
            raise invalid(f"The stamp {int(stamp)} must be {self.stamp}, and the next one another: got {int(following)}")
        self.stamp = int(following)


def _sum_shapes(c: si.InferenceContext) -> list:
    """Shapes of sums: whether entries are scalars is in the type of the operation."""
    return [(None,), (None, 2), (None,), (None,)] if "Scalar" in c.op.type else [(None,), (None, 2), None, None]


def _shape(before: int) -> Any:
    return lambda c: [()] * before + _sum_shapes(c)


def _create_scalar(context: object, handle: Held, stamp: object) -> tuple:
    handle.create(lambda: Stamped(Sums((), ()), stamp))
    return ()


def _create_tensor(context: object, handle: Held, stamp: Any, gradient_shape: Any, hessian_shape: Any) -> tuple:
    handle.create(lambda: Stamped(Sums(gradient_shape.tolist(), hessian_shape.tolist()), stamp))
    return ()


def _add(context: object, handles: tuple, stamp: Any, *lists: tuple) -> tuple:
    for handle, *added in zip(handles, *lists):
        with handle.lock:
            held = handle.held()
            if held.stamp == int(stamp):
                held.content.add(*added)
    return ()


def _flush(context: object, handle: Held, stamp: object, following: object) -> tuple:
    with handle.lock:
        held = handle.held()
        held.advance(stamp, following)
        found = np.int64(held.content.updates), *held.content.outputs()
        held.content.clear()
    return found


def _deserialize(context: object, handle: Held, stamp: Any, updates: Any, *added: object) -> tuple:
    with handle.lock:
        held = handle.held()
        held.content.clear()
        held.content.add(*added)
        held.content.updates, held.stamp = int(updates), int(stamp)
    return ()


def _serialize(context: object, handle: Held) -> tuple:
    with handle.lock:
        held = handle.held()
        return np.int64(held.stamp), np.int64(held.content.updates), *held.content.outputs()


def _make_summary(nodes: object, features: object, gradients: Any, hessians: Any) -> tuple:
    sums = Sums(np.shape(gradients)[1:], np.shape(hessians)[1:])
    sums.add(nodes, features, gradients, hessians)
    return sums.outputs()


_LISTS = ", ".join(
    f"{name}: num_resource_handles*{kind}"
    for name, kind in (("partition_ids", "int32"), ("feature_ids", "int64"), ("gradients", "float"), ("hessians", "float"))
)
for _kind, _more, _create in (
    ("Scalar", "", _create_scalar),
    ("Tensor", ", per_slot_gradient_shape: int64, per_slot_hessian_shape: int64", _create_tensor),
):
    _resource, _name = f"StatsAccumulator{_kind}Resource", f"StatsAccumulator{_kind}"
    handle_op(f"{_resource}HandleOp", f"N10tensorflow13boosted_trees{len(_resource)}{_resource}E")
    is_initialized_op(f"{_name}IsInitialized", "stats_accumulator_handle")
    held_op(f"Create{_name}", f"({_HANDLE}, stamp_token: int64{_more}) -> ()", shape=si.no_outputs, kernel=_create)
    held_op(f"{_name}Add", "(stats_accumulator_handles: num_resource_handles*resource, stamp_token: int64, "
            f"{_LISTS}, *, num_resource_handles: int >= 1) -> ()", shape=si.no_outputs, kernel=_add)  # fmt: skip
    held_op(f"{_name}Flush", f"({_HANDLE}, stamp_token: int64, next_stamp_token: int64) -> (num_updates: int64, {_SUMS})",
            shape=_shape(1), kernel=_flush)  # fmt: skip
    held_op(f"{_name}Deserialize", f"({_HANDLE}, stamp_token: int64, num_updates: int64, {_ADDED}) -> ()",
            shape=si.no_outputs, kernel=_deserialize)  # fmt: skip
    held_op(f"{_name}Serialize", f"({_HANDLE}) -> (stamp_token: int64, num_updates: int64, {_SUMS})",
            shape=_shape(2), kernel=_serialize)  # fmt: skip
    op(f"{_name}MakeSummary", f"({_ADDED}) -> ({_SUMS})", shape=_shape(0), kernel=_make_summary, side=HOST,
       gradient=NotDifferentiable("statistics are not differentiated", raises=True))  # fmt: skip
