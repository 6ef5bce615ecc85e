"""Losses over many classes from sampled candidates: tf.nn.nce_loss and sampled_softmax_loss."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import ones, ones_like, zeros_like
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.nn.candidates import compute_accidental_hits, log_uniform_candidate_sampler
from tfcompat._src.ops.nn.embedding import embedding_lookup, parts_of
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax_cross_entropy_with_logits_v2


def _sum_rows(x: Tensor) -> Tensor:
    """The sum of each row of a matrix, as a product with ones."""
    columns = shape(x)[1]
    return reshape(matmul(x, ones(stack([columns, 1]), x.dtype)), [-1])


def _as(x: Tensor, dtype: dtypes.DType) -> Tensor:
    return x if x.dtype == dtype else cast(x, dtype)


def _row_dots(inputs: Tensor, weights: Tensor, num_true: int) -> Tensor:
    """[batch, num_true]: the product of each input row with the weights of its true classes."""
    width = shape(weights)[1:2]
    grouped = concat([[-1, num_true], width], 0)
    products = raw.Mul(expand_dims(inputs, 1), reshape(weights, grouped))
    return reshape(_sum_rows(reshape(products, concat([[-1], width], 0))), [-1, num_true])


def _hit_penalties(labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, logits: Tensor) -> Tensor:
    """[batch, num_sampled]: the lowest float where a candidate is a true class of the row, else 0."""
    rows, places, penalties = compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = reshape(rows, [-1, 1])
    places = reshape(cast(places, dtypes.int32), [-1, 1])
    indices = concat([rows, places], 1, "sparse_indices")
    sizes = concat([shape(labels)[:1], expand_dims(num_sampled, 0)], 0)
    return raw.SparseToDense(indices, sizes, _as(penalties, logits.dtype), default_value=0.0, validate_indices=False)


def compute_sampled_logits(
    weights: object, biases: object, labels: Tensor, inputs: Tensor, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, subtract_log_q: bool = True, remove_accidental_hits: bool = False,
    partition_strategy: str = "mod", name: str | None = None, seed: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Logits of the true and the sampled classes, and their labels.

    Args:
      weights: Tensor [num_classes, width], or its parts.
      biases: Tensor [num_classes], or its parts.
      labels: integer Tensor [batch, num_true].
      inputs: Tensor [batch, width].
      num_sampled, num_classes, num_true: numbers of classes.
      sampled_values: what a candidate sampler gave; by default `log_uniform_candidate_sampler` draws.
      subtract_log_q: whether the logarithm of the expected count is subtracted.
      remove_accidental_hits: whether candidates that are true classes are ruled out.
      partition_strategy: of `weights` and `biases`.
      name: name scope.
      seed: op seed of the sampler.

    Returns:
      two Tensors [batch, num_true + num_sampled].
    """
    weights = parts_of(weights)
    with name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        labels = _as(labels, dtypes.int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                true_classes=labels,
                num_true=num_true,
                num_sampled=num_sampled,
                unique=True,
                range_max=num_classes,
                seed=seed,
            )
        sampled, true_count, sampled_count = (raw.StopGradient(v) for v in sampled_values)
        sampled = cast(sampled, dtypes.int64)
        ids = concat([flat, sampled], 0)
        rows = _as(embedding_lookup(weights, ids, partition_strategy=partition_strategy), inputs.dtype)
        true_rows = slice_(rows, [0, 0], stack([shape(flat)[0], -1]))
        sampled_rows = slice_(rows, stack([shape(flat)[0], 0]), [-1, -1])
        sampled_logits = matmul(inputs, sampled_rows, transpose_b=True)
        offsets = _as(embedding_lookup(biases, ids, partition_strategy=partition_strategy), inputs.dtype)
        true_offsets = slice_(offsets, [0], shape(flat))
        sampled_offsets = slice_(offsets, shape(flat), [-1])
        true_logits = _row_dots(inputs, true_rows, num_true)
        true_logits += reshape(true_offsets, [-1, num_true])
        sampled_logits += sampled_offsets
        if remove_accidental_hits:
            sampled_logits += _hit_penalties(labels, sampled, num_true, num_sampled, sampled_logits)
        if subtract_log_q:
            true_logits -= raw.Log(true_count)
            sampled_logits -= raw.Log(sampled_count)
        logits = concat([true_logits, sampled_logits], 1)
        targets = concat([ones_like(true_logits) / num_true, zeros_like(sampled_logits)], 1)
        return logits, targets


@export("nn.nce_loss")
def nce_loss(
    weights: object, biases: object, labels: Tensor, inputs: Tensor, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: object = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:  # fmt: skip
    """Noise-contrastive estimation (Gutmann and Hyvarinen, 2010): a logistic loss over true and sampled classes.

    Args:
      weights: Tensor [num_classes, width], or its parts.
      biases: Tensor [num_classes].
      labels: integer Tensor [batch, num_true].
      inputs: Tensor [batch, width].
      num_sampled, num_classes, num_true: numbers of classes.
      sampled_values: what a candidate sampler gave; by default `log_uniform_candidate_sampler` draws.
      remove_accidental_hits: whether candidates that are true classes are ruled out.
      partition_strategy: of `weights`, as in `tf.nn.embedding_lookup`.
      name: name scope.

    Returns:
      a vector of `batch` losses.
    """
    logits, targets = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
        remove_accidental_hits,
        partition_strategy, name,
    )  # fmt: skip
    return _sum_rows(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses"))


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: object, biases: object, labels: Tensor, inputs: Tensor, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: object = None, remove_accidental_hits: bool = True, partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss", seed: int | None = None,
) -> Tensor:  # fmt: skip
    """The softmax cross entropy over true and sampled classes (Jean et al., 2014).

    Arguments and result are those of `tf.nn.nce_loss`; `seed` is the op seed of the sampler.
    """
    logits, targets = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
        remove_accidental_hits,
        partition_strategy, name, seed,
    )  # fmt: skip
    targets = raw.StopGradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
