"""Softmax losses over sampled classes: of single labels, and with candidates that are sampled in two passes."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import reshape, shape, squeeze
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_logsumexp
from tfcompat._src.ops.nn.candidates import learned_unigram_candidate_sampler
from tfcompat._src.ops.nn.embedding import embedding_lookup, embedding_lookup_and_transform
from tfcompat._src.ops.nn.nce import compute_sampled_logits, sampled_softmax_loss
from tfcompat._src.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits
from tfcompat._src.ops.nn.top_k import top_k


def _rank_resample(
    weights: object, biases: object, inputs: Tensor, sampled_values: tuple, num_resampled: int, resampling_temperature: object,
    partition_strategy: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Of the sampled candidates those with the greatest log of summed exp(logit / temperature) over the batch."""
    sampled = cast(raw.StopGradient(sampled_values[0]), dtypes.int64)
    true_count, sampled_count = (raw.StopGradient(v) for v in sampled_values[1:])
    scaled = inputs / resampling_temperature
    scores = embedding_lookup_and_transform(
        weights, sampled, partition_strategy,
        transform_fn=lambda rows: reduce_logsumexp(matmul(rows, scaled, transpose_b=True), axis=1, keepdims=False),
    )  # fmt: skip
    offsets = reshape(embedding_lookup(biases, sampled, partition_strategy), [-1])
    scores += offsets / resampling_temperature
    _, places = top_k(scores, k=num_resampled, sorted=False)
    return gather(sampled, indices=places), true_count, gather(sampled_count, indices=places)


@export("contrib.nn.rank_sampled_softmax_loss")
def rank_sampled_softmax_loss(
    weights: Any, biases: Any, labels: Tensor, inputs: Tensor, num_sampled: int, num_resampled: int, num_classes: int,
    num_true: int, sampled_values: Any, resampling_temperature: Any, remove_accidental_hits: bool,
    partition_strategy: str, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The softmax cross entropy over true classes and those sampled classes that fit the batch best (Bai et al. 2017, TAPAS).

    Args:
      num_sampled: how many classes are drawn.
      num_resampled: how many of these are kept.
      sampled_values: what a candidate sampler gave; by default `learned_unigram_candidate_sampler` draws.
      resampling_temperature: a scalar; the lower, the more the likely classes are preferred.
      weights, biases, labels, inputs, num_classes, num_true, remove_accidental_hits, partition_strategy, name: as of
        `tf.nn.sampled_softmax_loss`.

    Returns:
      a vector of `batch` losses.

    Raises:
      ValueError: the numbers do not fit each other, or an unknown strategy.
    """
    if num_sampled > num_classes:
        raise ValueError(f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})")
    if num_sampled <= num_resampled:
        raise ValueError(f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})")
    if partition_strategy not in ("div", "mod"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    given = [weights, biases, labels, inputs, sampled_values, resampling_temperature]
    with name_scope(name, "rank_sampled_softmax_loss", given) as name:
        if not sampled_values:
            sampled_values = learned_unigram_candidate_sampler(
                true_classes=labels, num_true=num_true, num_sampled=num_sampled, unique=True, range_max=num_classes
            )
        kept = _rank_resample(weights, biases, inputs, sampled_values, num_resampled, resampling_temperature, partition_strategy)
        return sampled_softmax_loss(
            weights, biases, labels, inputs, num_resampled, num_classes, num_true, kept, remove_accidental_hits,
            partition_strategy, name,
        )  # fmt: skip


@export("contrib.nn.sampled_sparse_softmax_loss")
def sampled_sparse_softmax_loss(
    weights: object, biases: object, labels: Tensor, inputs: Tensor, num_sampled: int, num_classes: int,
    sampled_values: object = None, remove_accidental_hits: bool = True, partition_strategy: str = "mod",
    name: str = "sampled_sparse_softmax_loss",
) -> Tensor:  # fmt: skip
    """`tf.nn.sampled_softmax_loss` for one true class in each row, computed from its index.

    Args:
      labels: int64 Tensor [batch, 1].
      weights, biases, inputs, num_sampled, num_classes, sampled_values, remove_accidental_hits, partition_strategy, name: as
        of `tf.nn.sampled_softmax_loss`.

    Returns:
      a vector of `batch` losses.
    """
    logits, _ = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, 1, sampled_values, True, remove_accidental_hits,
        partition_strategy, name,
    )  # fmt: skip
    first = zeros([shape(logits)[0], 1], dtype=dtypes.int64)  # the true class stands in the first column
    return sparse_softmax_cross_entropy_with_logits(labels=squeeze(first), logits=logits)
