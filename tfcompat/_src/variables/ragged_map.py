"""map_fn over the rows of ragged tensors, with results that may be ragged."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, match_row_splits_dtypes
from tfcompat._src.ops.ragged.value import RaggedTensorType
from tfcompat._src.variables.functional import Structure, cached_variables, require_mappable

_Parts = collections.namedtuple("_Parts", ("flat_values", "nested_row_lengths", "outer_row_length"))
"""The parts of a RaggedTensor: its innermost values, the lengths of inner rows of each level, and the number of rows."""


def map_fn(
    fn: Callable, elems: object, dtype: object = None, parallel_iterations: int | None = None, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """The results of `fn` on each row of `elems`, stacked, or joined as the rows of a RaggedTensor.

    Args:
      fn: function of one row, in the structure of `elems`.
      elems: Tensor or RaggedTensor, or nested structure of them of the same length.
      dtype: DType, or RaggedTensorType for a ragged result, or structure of them; by default the dtypes of `elems`.
      parallel_iterations, back_prop, swap_memory: see `tf.while_loop`.
      infer_shape: whether all results have one shape.
      name: name scope, "map" by default.

    Raises:
      TypeError: `fn` is not callable, or `elems` is a SparseTensor.
      ValueError: `elems` is a scalar, or a result has another type than was declared.
    """
    require_mappable(fn, elems)
    inputs = Structure(elems)
    flat = match_row_splits_dtypes(*inputs.flatten(elems))
    with name_scope(name, "map", flat), cached_variables():
        flat = [convert_to_tensor_or_ragged_tensor(e, name="elem") for e in flat]
        dtype = dtype or inputs.pack([e.dtype for e in flat])
        n = cast(_length(flat), dtypes.int32)
        declared = nest.flatten(dtype)
        parts = [_part_dtypes(d) for d in declared]
        arrays = [TensorArray(t, n, dynamic_size=False, infer_shape=infer_shape) for t in nest.flatten(parts)]

        def compute(i: Any, arrays: list[TensorArray]) -> tuple:
            values = nest.flatten(fn(inputs.pack([e[i] for e in flat])))
            found = nest.flatten([_parts_of(_as_declared(v, d)) for v, d in zip(values, declared)])
            arrays = [array.write(i, value) for array, value in zip(arrays, found)]
            return i + 1, arrays

        _, arrays = while_loop(
            lambda i, _: i < n, compute, (constant(0, dtypes.int32), arrays), parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n,
        )  # fmt: skip
        joined = [_joined(part) for part in nest.pack_sequence_as(parts, arrays)]
        return nest.pack_sequence_as(dtype, [_as_ragged(part) for part in joined])


def _length(flat: list[Any]) -> Any:
    """The number of rows."""
    first = flat[0]
    if isinstance(first, RaggedTensor):
        return first.nrows(out_type=dtypes.int32)
    if first.shape.ndims == 0:
        if len(flat) == 1:
            raise ValueError("elems must be a 1+ dimensional Tensor, not a scalar")
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
    return first.shape.with_rank_at_least(1)[0].value or shape_of(first)[0]


def _part_dtypes(declared: object) -> Any:
    if not isinstance(declared, RaggedTensorType):
        return declared
    return _Parts(declared.dtype, (declared.row_splits_dtype,) * (declared.ragged_rank - 1), declared.row_splits_dtype)


def _as_declared(value: Any, declared: Any) -> Any:
    """A result of `fn`; a Tensor that was declared to be the values of a ragged row comes as its parts."""
    if not isinstance(declared, RaggedTensorType):
        return value
    rank = getattr(value, "ragged_rank", 0) + 1
    if declared.ragged_rank != rank:
        raise ValueError(f"The declared ragged rank ({declared.ragged_rank}) mismatches the result ({rank})")
    if declared.dtype != value.dtype:
        raise ValueError(f"The declared dtype ({declared.dtype}) mismatches the result ({value.dtype})")
    if isinstance(value, RaggedTensor):
        if declared.row_splits_dtype != value.row_splits.dtype:
            raise ValueError(
                f"The declared row_splits dtype ({declared.row_splits_dtype}) mismatches the result ({value.row_splits.dtype}).  "
                "Use RaggedTensor.with_row_splits_dtype to convert it."
            )
        return value
    return _Parts(value, (), expand_dims(shape_of(value, out_type=declared.row_splits_dtype)[0], axis=0))


def _parts_of(value: object) -> Any:
    if not isinstance(value, RaggedTensor):
        return value
    lengths = tuple(splits[1:] - splits[:-1] for splits in value.nested_row_splits)
    return _Parts(value.flat_values, lengths, expand_dims(value.nrows(), axis=0))


def _joined(part: Any) -> Any:
    """A stacked result, or the parts of a ragged one."""
    if not isinstance(part, _Parts):
        return part.stack()
    return _Parts(part.flat_values.concat(), tuple(a.concat() for a in part.nested_row_lengths), part.outer_row_length.concat())


def _as_ragged(part: object) -> Any:
    if not isinstance(part, _Parts):
        return part
    values = part.flat_values
    for lengths in (*reversed(part.nested_row_lengths), part.outer_row_length):
        values = RaggedTensor.from_row_lengths(values, lengths, validate=False)
    return values
