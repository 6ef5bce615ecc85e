"""Functions that change the shape of ragged tensors or pick elements by masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array import gather as dense_gather
from tfcompat._src.ops.array import join, search
from tfcompat._src.ops.array import shape as dense_shape
from tfcompat._src.ops.composed import masks
from tfcompat._src.ops.composed.sorting import argsort
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater_equal, less, logical_and
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.functional import map_flat_values
from tfcompat._src.ops.ragged.getitem import gather_rows
from tfcompat._src.ops.ragged.math import reduce_sum
from tfcompat._src.ops.ragged.partition import (
    assert_splits_match,
    convert_to_int_tensor,
    get_positive_axis,
    lengths_to_splits,
    repeat_ranges,
)  # fmt: skip
from tfcompat._src.ops.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
)  # fmt: skip

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- shape ----


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """`tf.expand_dims` of a ragged tensor."""
    with name_scope(name, "RaggedExpandDims", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not is_ragged(input):
            return dense_shape.expand_dims(input, axis)
        ndims = input.shape.ndims
        axis = get_positive_axis(axis, None if ndims is None else ndims + 1)
        if axis == 0:
            return RaggedTensor.from_row_splits(input, join.stack([0, input.nrows()]), validate=False)
        if axis == 1:
            return RaggedTensor.from_row_splits(input, arange(input.nrows() + 1), validate=False)
        return input.with_values(expand_dims(input.values, axis - 1))


def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements of a ragged tensor."""
    return dense_shape.size(input.flat_values if is_ragged(input) else input, out_type=out_type, name=name)


def rank(input: Any, name: str | None = None) -> Any:
    """The number of dimensions of a ragged tensor."""
    with name_scope(name, "RaggedRank", [input]) as scope:
        if not is_ragged(input):
            return dense_shape.rank(input, scope)
        return input.ragged_rank + dense_shape.rank(input.flat_values)


def ragged_one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`tf.one_hot` of a ragged tensor; ValueError for an axis among the ragged dimensions."""
    with name_scope(name, "RaggedOneHot", [indices]):
        indices = convert_to_tensor_or_ragged_tensor(indices, name="indices")
        if axis is not None:
            axis = get_positive_axis(axis, indices.shape.ndims)
            if axis < indices.ragged_rank:
                raise ValueError("axis may not be less than indices.ragged_rank.")
        values = dense_gather.one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype, name)
        return indices.with_flat_values(values)


def squeeze(input: Any, axis: object = None, name: str | None = None) -> Any:
    """`tf.squeeze` of a ragged tensor; all the dimensions to remove have to be named."""
    with name_scope(name, "RaggedSqueeze", [input]):
        input = convert_to_tensor_or_ragged_tensor(input)
        if isinstance(input, Tensor):
            return dense_shape.squeeze(input, axis, name)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        axes = [axis] if isinstance(axis, int) else axis
        if not isinstance(axes, (list, tuple)) or not all(isinstance(d, int) for d in axes):
            raise TypeError("Axis must be a list or tuple of integers.")
        axes = {get_positive_axis(d, input.shape.ndims) for d in axes}
        return _squeezed(input, axes)


def _must_be_one(sizes: Any, axis: int) -> Any:
    one = constant(1, dtype=sizes.dtype)
    return Assert(reduce_all(equal(sizes, one)), [f"the given axis (axis = {axis}) is not squeezable!"])


def _squeezed(input: RaggedTensor, axes: set[int]) -> Any:
    ragged_rank = input.ragged_rank
    checks = [_must_be_one(lengths, i) for i, lengths in enumerate(input.nested_row_lengths(), 1) if i in axes]
    if 0 in axes:
        checks.append(_must_be_one(input.nrows(), 0))
    result = with_dependencies(checks, input.flat_values)
    inner = [d - ragged_rank for d in axes if d > ragged_rank]
    if inner:
        result = dense_shape.squeeze(result, inner)
    kept = [splits for i, splits in enumerate(input.nested_row_splits, 1) if i not in axes]
    if 0 in axes and kept:
        kept = kept[1:]
    elif 0 in axes:
        result = dense_shape.squeeze(result, [0])
    return RaggedTensor.from_nested_row_splits(result, kept, validate=False)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """`tf.tile` of a ragged tensor."""
    with name_scope(name, "RaggedTile", [input, multiples]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not is_ragged(input):
            return join.tile(input, multiples, name)
        multiples = convert_to_int_tensor(multiples, name="multiples", dtype=input.row_splits.dtype)
        multiples.shape.assert_has_rank(1)
        return _tiled(input, multiples)


def _tiled(x: Any, multiples: Tensor) -> Any:
    """The innermost dimensions first; then the content of each row, then the rows."""
    if not is_ragged(x):
        return join.tile(x, multiples)
    values = _tiled(x.values, join.concat([[1], multiples[2:]], axis=0))
    splits = x.row_splits
    spans = repeat_ranges(arange(splits[-1]), splits, multiples[1])
    wide = RaggedTensor.from_row_splits(gather_rows(values, spans), splits * multiples[1], validate=False)
    result = gather_rows(wide, join.tile(arange(x.nrows()), multiples[:1]))
    known, sizes = constant_value(multiples), splits._sizes
    if known is not None and sizes is not None and sizes[0] is not None:
        result.row_splits.set_shape([(sizes[0] - 1) * int(known[0]) + 1])
    return result


# ---- masks and conditions ----


@export("ragged.boolean_mask")
def boolean_mask(data: TensorLike, mask: TensorLike, name: str | None = None) -> Any:
    """The elements of `data` for which `mask` is true, with the rows of the mask kept apart.

    Args:
      data: RaggedTensor or Tensor.
      mask: bool RaggedTensor or Tensor of known rank, whose shape is a prefix of that of `data`.
      name: name scope.

    Raises:
      ValueError: the rank of the mask is unknown or 0. InvalidArgumentError: when it runs, the rows differ.
    """
    with name_scope(name, "RaggedMask", [data, mask]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = convert_to_tensor_or_ragged_tensor(mask, dtypes.bool, name="mask")
        dtype, (data, mask) = match_row_splits_dtypes(data, mask, return_dtype=True)
        if mask.shape.ndims is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if mask.shape.ndims == 0:
            raise ValueError("mask cannot be scalar.")
        return _masked(data, mask, dtype)


def _masked(data: Any, mask: Any, dtype: Any) -> Any:
    if not is_ragged(mask) and mask.shape.ndims == 1:
        if not is_ragged(data):
            return masks.boolean_mask(data, mask)
        return gather_rows(data, dense_shape.reshape(search.where(mask), [-1]))
    if not is_ragged(mask):
        depth = mask.shape.ndims - 1
        mask = RaggedTensor.from_tensor(mask, ragged_rank=depth, row_splits_dtype=dtype)
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank, row_splits_dtype=dtype)
    with control_dependencies(assert_splits_match([[mask.row_splits], [data.row_splits]])):
        values = _masked(data.values, mask.values, dtype)
        if mask.shape.ndims > 2:
            return RaggedTensor.from_row_splits(values, mask.row_splits, validate=False)
        lengths = reduce_sum(mask.with_values(cast(mask.values, dtype)), axis=1)
        return RaggedTensor.from_row_splits(values, lengths_to_splits(lengths), validate=False)


def where(condition: TensorLike, x: object = None, y: object = None, name: str | None = None) -> Any:
    """`tf.where` of ragged tensors: places of true elements, or elements (rows, for a vector condition) of `x` and `y`."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope(name, "RaggedWhere", [condition, x, y]):
        condition = convert_to_tensor_or_ragged_tensor(condition, name="condition")
        if x is None:
            return _true_places(condition)
        x, y = (convert_to_tensor_or_ragged_tensor(v, name=n) for v, n in ((x, "x"), (y, "y")))
        condition, x, y = match_row_splits_dtypes(condition, x, y)
        kinds = [is_ragged(v) for v in (condition, x, y)]
        if not any(kinds):
            return search.where(condition, x, y)
        if all(kinds):
            return map_flat_values(search.where, condition, x, y)
        if kinds[0]:
            raise ValueError("Input shapes do not match.")
        condition.shape.assert_has_rank(1)
        return _chosen_rows(condition, x, y)


def _chosen_rows(condition: Tensor, x: Any, y: Any) -> Any:
    """Row i of `x` or of `y`: both are ragged, or one is and the other becomes so."""
    dtype = (x if is_ragged(x) else y).row_splits.dtype
    x, y = (v if is_ragged(v) else RaggedTensor.from_tensor(v, row_splits_dtype=dtype) for v in (x, y))
    both = RaggedTensor.from_nested_row_splits(
        join.concat([x.flat_values, y.flat_values], axis=0),
        [join.concat([a, b[1:] + a[-1]], axis=0) for a, b in zip(x.nested_row_splits, y.nested_row_splits)],
        validate=False,
    )
    first, second = x.nrows(), y.nrows()
    return gather_rows(both, search.where(condition, arange(first), first + arange(second)))


def _true_places(condition: Any) -> Tensor:
    if not is_ragged(condition):
        return search.where(condition)
    inner = _true_places(condition.values)
    condition = condition.with_row_splits_dtype(inner.dtype)
    rows = dense_gather.gather(condition.value_rowids(), inner[:, 0])
    columns = inner[:, 0] - dense_gather.gather(condition.row_splits, rows)
    return join.concat([join.stack([rows, columns], axis=1), inner[:, 1:]], axis=1)


# ---- partitions ----


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> RaggedTensor:
    """A RaggedTensor whose row i holds the elements of `data` with partition i.

    Args:
      data: Tensor or RaggedTensor.
      partitions: integer Tensor or RaggedTensor whose shape is a prefix of that of `data`.
      num_partitions: integer scalar.
      name: name scope.

    Raises:
      ValueError: the rank of `partitions` is unknown. InvalidArgumentError: when it runs, a partition is out of range.
    """
    with name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        dtype = data.row_splits.dtype if is_ragged(data) else None
        partitions = convert_to_tensor_or_ragged_tensor(partitions, name="partitions", preferred_dtype=dtype)
        count = convert_to_tensor(num_partitions, name="num_partitions", preferred_dtype=partitions.dtype)
        if dtype is not None:
            partitions = map_flat_values(cast, partitions, dtype)
        count = cast(count, partitions.dtype)
        if partitions.shape.ndims is None:
            raise ValueError("partitions must have known rank.")
        count.shape.assert_has_rank(0)
        partitions.shape.assert_is_compatible_with(data.shape[: partitions.shape.ndims])
        if partitions.shape.ndims == 0:
            return RaggedTensor.from_value_rowids(expand_dims(data, 0), join.stack([partitions]), nrows=count)
        data, partitions = _one_level(data, partitions)
        is_inside = logical_and(greater_equal(partitions, 0), less(partitions, count))
        check = Assert(reduce_all(is_inside), ["partitions must be at least 0 and less than num_partitions:", partitions, count])
        order = argsort(with_dependencies([check], partitions), stable=True)
        rowids = dense_gather.gather(partitions, order)
        return RaggedTensor.from_value_rowids(gather_rows(data, order), rowids, nrows=count, validate=False)


def with_ragged_rank(x: Any, ragged_rank: int, dtype: Any) -> RaggedTensor:
    """`x` with at least `ragged_rank` ragged dimensions; those it lacks are made of uniform ones."""
    if not is_ragged(x):
        return RaggedTensor.from_tensor(x, ragged_rank=ragged_rank, row_splits_dtype=dtype)
    if x.ragged_rank < ragged_rank:
        return x.with_values(with_ragged_rank(x.values, ragged_rank - 1, dtype))
    return x


def _one_level(data: Any, partitions: Any) -> tuple[Any, Tensor]:
    """The elements of `data` that have a partition, one after another, and the vector of their partitions."""
    depth = partitions.shape.ndims - 1
    if depth == 0:
        return data, partitions
    data, partitions = (with_ragged_rank(x, depth, partitions.dtype) for x in (data, partitions))
    same = assert_splits_match([data.nested_row_splits[:depth], partitions.nested_row_splits])
    for _ in range(depth):
        data = data.values
    return data, with_dependencies(same, partitions.flat_values)
