"""Dealing rows out to several tensors by number, and putting them together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.shape import invalid, shape
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike


def _partition_shape(c):
    data, partitions, count = c.inputs[0], c.inputs[1], len(c.op.outputs)
    if partitions is None:
        return [None] * count
    if data is not None:
        si.merge(si.with_rank_at_least(data, len(partitions))[: len(partitions)], partitions)
    return [None if data is None else (None,) + data[len(partitions) :]] * count


def _partition_gradient(op, *grads):
    data, partitions = op.inputs[0], op.inputs[1]
    prefix = shape(partitions)
    rows = raw.Prod(prefix, constant([0]))
    places = raw.Reshape(arange(rows), prefix)
    found = raw.DynamicPartition(places, partitions, num_partitions=op.get_attr("num_partitions"))
    return [raw.Reshape(raw.DynamicStitch(found, list(grads)), shape(data)), None]


@op(
    "DynamicPartition", "(data: T, partitions: int32, *, num_partitions: int >= 1, T: type) -> (outputs: "
    "num_partitions*T)",
    shape=_partition_shape, gradient=_partition_gradient, side=HOST, fold=True,
)  # fmt: skip
def _dynamic_partition(data, partitions, *, num_partitions):
    if data.shape[: partitions.ndim] != partitions.shape:
        raise invalid(
            f"data.shape must start with partitions.shape, got data.shape = {shape_text(data.shape)}, "
            f"partitions.shape = {shape_text(partitions.shape)}"
        )
    bad = np.argwhere((partitions < 0) | (partitions >= num_partitions))
    if len(bad):
        at = tuple(bad[0])
        where = shape_text(at) if at else ""
        raise invalid(f"partitions{where} = {partitions[at]} is not in [0, {num_partitions})")
    return tuple(data[partitions == i] for i in range(num_partitions))


@export("dynamic_partition")
def dynamic_partition(data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Deals the rows of `data` out to `num_partitions` tensors.

    Args:
      data: a tensor.
      partitions: int32 tensor whose shape is a prefix of that of `data`: which tensor each row goes to.
      num_partitions: how many tensors.
      name: node name.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: when run, a number is outside [0, num_partitions).
    """
    return raw.DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)


def _stitch_shape(c):
    count = len(c.inputs) // 2
    tail: Any = None
    for indices, data in zip(c.inputs[:count], c.inputs[count:]):
        if indices is None or data is None:
            continue
        si.merge(si.with_rank_at_least(data, len(indices))[: len(indices)], indices)
        tail = si.merge(tail, data[len(indices) :])
    values = [c.value(i) for i in range(count)]
    rows = None
    if all(v is not None for v in values):
        rows = 1 + max([0, *(int(v.max()) for v in values if v.size)])
    return [None if tail is None else (rows, *tail)]


def _stitch_gradient(op, grad):
    count = len(op.inputs) // 2
    return [None] * count + [raw.GatherV2(grad, indices, 0) for indices in op.inputs[:count]]


def _stitch(indices, data):
    for i, (places, values) in enumerate(zip(indices, data)):
        if values.shape[: places.ndim] != places.shape:
            raise invalid(
                f"data[{i}].shape = {shape_text(values.shape)} does not start with "
                f"indices[{i}].shape = {shape_text(places.shape)}"
            )
    rows = max((int(i.max()) + 1 for i in indices if i.size), default=0)
    tail = data[0].shape[indices[0].ndim :]
    if rows <= 0:
        return np.zeros((0, *tail), data[0].dtype)
    merged = np.zeros((rows, *tail), data[0].dtype)
    for i, (places, values) in enumerate(zip(indices, data)):
        if values.shape != places.shape + tail:
            raise invalid(
                f"Need data[0].shape[{indices[0].ndim}:] = data[{i}].shape[{places.ndim}:], got data[0].shape = "
                f"{shape_text(data[0].shape)}, data[{i}].shape = {shape_text(values.shape)}, indices[0].shape = "
                f"{shape_text(indices[0].shape)}, indices[{i}].shape = {shape_text(places.shape)}"
            )
        bad = np.argwhere(places < 0)
        if len(bad):
            raise invalid(f"indices{shape_text(tuple(bad[0]))} is out of range")
        merged[places] = values
    return merged


for _name in ("DynamicStitch", "ParallelDynamicStitch"):
    op(
        _name, "(indices: N*int32, data: N*T, *, N: int >= 1, T: type) -> (merged: T)", shape=_stitch_shape,
        gradient=_stitch_gradient, kernel=_stitch, side=HOST, fold=True,
    )  # fmt: skip


@export("dynamic_stitch")
def dynamic_stitch(indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Puts the rows of several tensors at the places `indices` of one; the last tensor wins where places repeat.

    Args:
      indices: list of int32 tensors.
      data: list of tensors, `data[i].shape` begins with `indices[i].shape`.
      name: node name.
    """
    return raw.DynamicStitch(indices, data, name=name)
