"""Labels for connectionist temporal classification: without repetitions, and as SparseTensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.masks import boolean_mask, sequence_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def size_along(tensor: Tensor, axis: int) -> Any:
    """A size of a tensor: an int where it is known, else a scalar Tensor."""
    return dimension_value(tensor.shape[axis]) or shape_of(tensor)[axis]


@export("nn.collapse_repeated")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Merges equal neighbours in label sequences.

    Args:
      labels: Tensor [batch, time].
      seq_length: int [batch].
      name: name scope.

    Returns:
      the labels [batch, longest], filled up with 0, and their numbers [batch].
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels, seq_length = convert_to_tensor(labels, name="labels"), convert_to_tensor(seq_length, name="seq_length")
        first = ones_like(labels[:, :1], dtypes.bool)
        starts = concat([first, not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        starts = raw.LogicalAnd(starts, sequence_mask(seq_length, maxlen=size_along(labels, 1)))
        lengths = reduce_sum(cast(starts, dtypes.int32), axis=1)
        longest = reduce_max(lengths)
        filled = sequence_mask(lengths, maxlen=longest)
        labels_row, starts, filled = reshape(labels, [-1]), reshape(starts, [-1]), reshape(filled, [-1])
        places = expand_dims(boolean_mask(arange(size_along(filled, 0)), filled), axis=1)
        kept = boolean_mask(labels_row, starts)
        found = scatter_nd(indices=places, updates=kept, shape=shape_of(filled))
        return reshape(found, [size_along(labels, 0), longest]), cast(lengths, seq_length.dtype)


def dense_labels_to_sparse(dense: TensorLike, length: TensorLike) -> SparseTensor:
    """Label sequences as an int32 SparseTensor without what is past their ends.

    Args:
      dense: int Tensor [batch, time].
      length: int [batch].
    """
    labels = reshape(dense, [-1])
    places = arange(shape_of(labels, out_type=dtypes.int64)[0])
    inside = reshape(sequence_mask(length, maxlen=shape_of(dense)[1]), [-1])
    places = expand_dims(boolean_mask(places, inside), 1)
    values = cast(boolean_mask(labels, inside), dtypes.int32)
    sizes = cast(shape_of(dense), dtypes.int64)
    indices, _ = raw.SparseReshape(places, shape_of(labels, out_type=dtypes.int64), sizes)
    return SparseTensor(indices, values, [sizes[0], cast(reduce_max(length), dtypes.int64)])
