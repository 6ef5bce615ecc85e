"""Sparse tensors, strings and control flow under the names of tf.compat.v2, with the arguments of TensorFlow 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control import cond, groups, while_loop
from tfcompat._src.ops.math import sparse_segment
from tfcompat._src.ops.parsing import functions
from tfcompat._src.ops.sparse import combine, layout, serialize
from tfcompat._src.ops.strings import text

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.nodes.sparse_tensor import SparseTensor


@export("compat.v2.sparse.add")
def sparse_add_v2(a: object, b: object, threshold: TensorLike = 0) -> SparseTensor | Tensor:
    """`tf.sparse.add` without `thresh`."""
    return combine.sparse_add(a, b, threshold)


@export("compat.v2.sparse.concat")
def sparse_concat_v2(axis: int, sp_inputs: object, expand_nonconcat_dims: bool = False, name: str | None = None) -> SparseTensor:
    """`tf.sparse.concat` with `name` at the end."""
    return combine.sparse_concat(axis, sp_inputs, name, expand_nonconcat_dims=expand_nonconcat_dims)


@export("compat.v2.sparse.segment_mean")
def sparse_segment_mean_v2(
    data: object, indices: object, segment_ids: object, num_segments: object = None, name: str | None = None
) -> Tensor:
    """`tf.sparse.segment_mean` with `name` at the end."""
    return sparse_segment.sparse_segment_mean(data, indices, segment_ids, name, num_segments)


@export("compat.v2.sparse.segment_sqrt_n")
def sparse_segment_sqrt_n_v2(
    data: object, indices: object, segment_ids: object, num_segments: object = None, name: str | None = None
) -> Tensor:
    """`tf.sparse.segment_sqrt_n` with `name` at the end."""
    return sparse_segment.sparse_segment_sqrt_n(data, indices, segment_ids, name, num_segments)


@export("compat.v2.sparse.segment_sum")
def sparse_segment_sum_v2(
    data: object, indices: object, segment_ids: object, num_segments: object = None, name: str | None = None
) -> Tensor:
    """`tf.sparse.segment_sum` with `name` at the end."""
    return sparse_segment.sparse_segment_sum(data, indices, segment_ids, name, num_segments)


@export("compat.v2.sparse.split")
def sparse_split_v2(
    sp_input: object = None, num_split: int | None = None, axis: TensorLike | None = None, name: str | None = None
) -> list[Any]:
    """`tf.sparse.split` of arguments by position."""
    return layout.sparse_split(sp_input=sp_input, num_split=num_split, axis=axis, name=name)


@export("compat.v2.io.serialize_sparse")
def serialize_sparse_v2(sp_input: object, out_type: DTypeLike = dtypes.string, name: str | None = None) -> Tensor:
    """`tf.io.serialize_sparse` with `name` at the end."""
    return serialize.serialize_sparse(sp_input, name, out_type)


@export("compat.v2.io.serialize_many_sparse")
def serialize_many_sparse_v2(sp_input: object, out_type: DTypeLike = dtypes.string, name: str | None = None) -> Tensor:
    """`tf.io.serialize_many_sparse` with `name` at the end."""
    return serialize.serialize_many_sparse(sp_input, name, out_type)


@export("compat.v2.io.parse_single_example")
def parse_single_example_v2_unoptimized(
    serialized: TensorLike, features: dict, example_names: TensorLike | None = None, name: str | None = None
) -> dict[str, Any]:
    """`tf.io.parse_single_example` with `name` at the end."""
    return functions.parse_single_example(serialized, features, name, example_names)


@export("compat.v2.strings.length")
def string_length_v2(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """`tf.strings.length` with `unit` before `name`."""
    return text.string_length(input, name, unit)


@export("compat.v2.strings.reduce_join")
def reduce_join_v2(
    inputs: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Tensor:
    """`tf.strings.reduce_join` without its deprecated arguments."""
    return text.reduce_join(inputs, axis, separator=separator, name=name, keepdims=keepdims)


@export("compat.v2.tuple")
def tuple_v2(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """`tf.tuple` with `name` at the end."""
    return groups.tuple_(tensors, name, control_inputs)


@export("compat.v2.cond")
def cond_for_tf_v2(pred: object, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """`tf.cond` that keeps lists of one element."""
    return cond.cond(pred, true_fn, false_fn, strict=True, name=name)


@export("compat.v2.while_loop")
def while_loop_v2(
    cond: Any, body: Any, loop_vars: object, shape_invariants: object = None, parallel_iterations: int = 10,
    back_prop: bool = True, swap_memory: bool = False, maximum_iterations: TensorLike | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`tf.while_loop` that gives what it was given: a list of one element stays one."""
    return while_loop.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        name,
        maximum_iterations,
        True,
    )
