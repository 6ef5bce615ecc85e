"""Between ragged and dense tensors: rows cut out of a Tensor, and rows filled up to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, ones, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import broadcast_to, expand_dims, reshape, shape
from tfcompat._src.ops.composed.masks import boolean_mask, sequence_mask
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_not
from tfcompat._src.ops.math.reduce import reduce_all, reduce_max, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.partition import convert_to_int_tensor, lengths_to_splits, splits_to_lengths

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def partitioned(cls: Any, tensor: Tensor, lengths: TensorLike, padding: TensorLike, ragged_rank: int, dtype: DTypeLike) -> tuple[Any, list]:
    """The values and nested splits of a Tensor cut into rows; `cls` is RaggedTensor."""
    if isinstance(lengths, (list, tuple)) and lengths and not isinstance(lengths[0], (int, float)):
        return _nested_rows(cls, tensor, list(lengths))
    sizes = shape(tensor, out_type=dtype)
    outer = [arange(reduce_prod(sizes[:d]) + 1) * sizes[d] for d in range(1, ragged_rank)]
    rows = tensor
    if ragged_rank > 1:
        rows = reshape(tensor, concat([[-1], sizes[ragged_rank:]], axis=0))
        sizes = shape(rows, out_type=dtype)
    if padding is not None:
        lengths = _unpadded_lengths(rows, padding, sizes[1])
    if lengths is None:
        splits = arange(sizes[0] + 1) * sizes[1]
        values = reshape(rows, concat([[sizes[0] * sizes[1]], sizes[2:]], axis=0))
        return values, [*outer, splits]
    lengths = convert_to_int_tensor(lengths, "lengths", dtype)
    lengths.shape.assert_has_rank(1)
    lengths = maximum(minimum(lengths, sizes[1]), 0)
    values = boolean_mask(rows, sequence_mask(lengths, maxlen=sizes[1]))
    return values, [*outer, lengths_to_splits(lengths)]


def _nested_rows(cls: Any, tensor: Tensor, nested_lengths: list) -> tuple[Any, list]:
    """The values and splits where the lengths of each ragged dimension are given."""
    tensor.shape.with_rank_at_least(len(nested_lengths) + 1)
    mask = cls.from_nested_row_lengths(ones([reduce_sum(nested_lengths[-1])], dtype="bool"), nested_lengths, validate=False)
    return boolean_mask(tensor, mask.to_tensor(default_value=False)), list(mask.nested_row_splits)


def _unpadded_lengths(rows: Tensor, padding: TensorLike, width: Tensor) -> Tensor:
    """For each row, how many elements it has up to the last one that is not the padding."""
    padding = convert_to_tensor(padding, name="padding", dtype=rows.dtype)
    padding.shape.assert_is_compatible_with(rows.shape[2:])
    is_padding = equal(padding, rows)
    if rows.shape.ndims is None:
        raise ValueError("The rank of a tensor with padding must be known statically.")
    if rows.shape.ndims > 2:
        is_padding = reduce_all(is_padding, axis=list(range(2, rows.shape.ndims)))
    is_padding.set_shape(rows.shape[:2])
    places = expand_dims(arange(1, width + 1), 0)
    return reduce_max(cast(logical_not(is_padding), width.dtype) * places, axis=1)


def padded(values: Tensor, splits: Tensor, default_value: Tensor | None) -> Tensor:
    """The rows of `values` as a Tensor, filled up at their ends."""
    entry = values.shape[1:]
    filler = None if default_value is None else _filler(default_value, values)
    lengths = splits_to_lengths(splits)
    size = [shape(splits, out_type=splits.dtype)[0] - 1, maximum(reduce_max([lengths]), 0)]
    sizes = shape(values, out_type=splits.dtype)
    entry_sizes, behind = sizes[1:], sizes[0]
    if filler is None:
        filler = zeros(entry_sizes, dtype=values.dtype)
    filler.set_shape(entry)
    begins = expand_dims(splits[:-1], 1)
    ends = expand_dims(splits[1:], 1)
    places = expand_dims(arange(0, size[1]), 0)
    choices = concat([values, stack([filler])], axis=0)
    places = begins + places
    return gather(choices, where(places < ends, places, fill(stack(size), behind)))


def _filler(default_value: Tensor, values: Tensor) -> Tensor:
    """The default value in the shape of one entry of `values`."""
    entry = values.shape[1:]
    if entry.ndims is not None:
        default_value.shape.with_rank_at_most(entry.ndims)
    if entry.ndims is None or default_value.shape.ndims != entry.ndims:
        default_value = broadcast_to(default_value, shape(values)[1:])
    default_value.shape.assert_is_compatible_with(entry)
    return default_value


def assert_right_ragged(indices: Tensor) -> list:
    """Operations that demand that each row of a sparse matrix is filled from the left."""
    row, column = indices[:, 0], indices[:, 1]
    follows = where(equal(row[1:], row[:-1]), column[:-1] + 1, zeros_like(column[1:]))
    is_right = reduce_all(equal(column, concat([zeros_like(column[:1]), follows], axis=0)))
    return [Assert(is_right, ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices])]
