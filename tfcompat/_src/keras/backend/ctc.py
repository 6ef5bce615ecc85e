"""Connectionist temporal classification of tf.keras.backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.arrays import concatenate, reverse
from tfcompat._src.keras.backend.config import epsilon
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.join import stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, squeeze
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import log
from tfcompat._src.ops.nn import ctc
from tfcompat._src.ops.sparse.to_dense import sparse_to_dense
from tfcompat._src.variables.functional import scan

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: object) -> SparseTensor:
    """The labels [batch, longest] that lie within their lengths [batch], as a SparseTensor."""
    sizes = shape(labels)
    batch, longest = stack([sizes[0]]), stack([sizes[1]])

    def within(before: Tensor, length: Tensor) -> Tensor:
        return expand_dims(arange(shape(before)[1]), 0) < fill(longest, length)

    start = cast(fill([1, sizes[1]], 0), dtypes.bool)
    mask = scan(within, label_lengths, initializer=start, parallel_iterations=1)[:, 0, :]
    columns = boolean_mask(reshape(tile(arange(0, sizes[1]), batch), sizes), mask)
    rows = transpose(reshape(tile(arange(0, sizes[0]), longest), reverse(sizes, 0)))
    indices = transpose(reshape(concatenate([boolean_mask(rows, mask), columns], axis=0), [2, -1]))
    values = gather_nd(labels, indices)
    return SparseTensor(cast(indices, dtypes.int64), values, cast(sizes, dtypes.int64))


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike) -> Tensor:
    """The CTC loss of each element of a batch.

    Args:
      y_true: labels [batch, longest].
      y_pred: probabilities [batch, time, classes].
      input_length, label_length: [batch, 1], how much of each counts.

    Returns:
      a float tensor [batch, 1].
    """
    label_length = cast(squeeze(label_length, axis=-1), dtypes.int32)
    input_length = cast(squeeze(input_length, axis=-1), dtypes.int32)
    labels = cast(ctc_label_dense_to_sparse(y_true, label_length), dtypes.int32)
    inputs = log(transpose(y_pred, perm=[1, 0, 2]) + epsilon())
    return expand_dims(ctc.ctc_loss(inputs=inputs, labels=labels, sequence_length=input_length), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: TensorLike, input_length: object, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """The most probable labels.

    Args:
      y_pred: probabilities [batch, time, classes].
      input_length: [batch], how many steps count.
      greedy: whether to take the best class of each step; else a beam search with `beam_width`.
      top_paths: how many label sequences a beam search gives.

    Returns:
      a list of label tensors [batch, longest], filled up with -1, and their log probabilities.
    """
    inputs = log(transpose(y_pred, perm=[1, 0, 2]) + epsilon())
    lengths = cast(input_length, dtypes.int32)
    if greedy:
        decoded, scores = ctc.ctc_greedy_decoder(inputs=inputs, sequence_length=lengths)
    else:
        decoded, scores = ctc.ctc_beam_search_decoder(
            inputs=inputs, sequence_length=lengths, beam_width=beam_width, top_paths=top_paths
        )
    return [sparse_to_dense(s.indices, s.dense_shape, s.values, default_value=-1) for s in decoded], scores
