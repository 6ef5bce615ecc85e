"""Scores of memory entries for queries, their masks, and the functions that make weights of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.check_ops import assert_positive
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import argmax, reduce_sum
from tfcompat._src.ops.math.scan import cumprod, cumsum
from tfcompat._src.ops.math.unary import exp, log, rsqrt, sigmoid, square, tanh
from tfcompat._src.ops.random.stateful import random_normal
from tfcompat._src.variables.functional import scan

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def size_along(tensor: Tensor, axis: int) -> Any:
    """A size of a tensor: an int where it is known, else a scalar Tensor."""
    return dimension_value(tensor.shape[axis]) or shape_of(tensor)[axis]


# ---- memory ----


def _prepare_memory(
    memory: object, memory_sequence_length: TensorLike = None, memory_mask: TensorLike | None = None, check_inner_dims_defined: bool = True
) -> Any:
    """Memory [batch, time, ...] with zeros past each sequence's end, or where a mask [batch, time] is false.

    Raises:
      ValueError: a size after the first two is unknown, and `check_inner_dims_defined`; or both lengths and a mask are given.
    """
    memory = nest.map_structure(lambda m: convert_to_tensor(m, name="memory"), memory)
    if memory_sequence_length is not None:
        memory_sequence_length = convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
    for part in nest.flatten(memory) if check_inner_dims_defined else ():
        if not part.shape[2:].is_fully_defined():
            raise ValueError(f"Expected memory {part.name} to have fully defined inner dims, but saw shape: {part.shape}")
    if memory_sequence_length is None and memory_mask is None:
        return memory
    if memory_sequence_length is not None and memory_mask is not None:
        raise ValueError("memory_sequence_length and memory_mask can't be provided at same time.")
    first = nest.flatten(memory)[0]
    if memory_sequence_length is None:
        memory_mask = cast(memory_mask, dtype=first.dtype)
    else:
        memory_mask = sequence_mask(memory_sequence_length, maxlen=shape_of(first)[1], dtype=first.dtype)

    def masked(part: Tensor) -> Tensor:
        dimensions = rank(part) if part.shape.ndims is None else part.shape.ndims
        ones_after = ones(dimensions - 2, dtype=dtypes.int32)
        return part * reshape(memory_mask, concat((shape_of(memory_mask), ones_after), 0))

    return nest.map_structure(masked, memory)


def _maybe_mask_score(
    score: Tensor, memory_sequence_length: TensorLike = None, memory_mask: Tensor | None = None, score_mask_value: object = None
) -> Tensor:
    """Returns `score` [batch, time] with a value past each sequence's end, or where a mask [batch, time] is false.

    Raises:
      ValueError: both lengths and a mask are given.
    """
    if memory_sequence_length is None and memory_mask is None:
        return score
    if memory_sequence_length is not None and memory_mask is not None:
        raise ValueError("memory_sequence_length and memory_mask can't be provided at same time.")
    if memory_sequence_length is not None:
        message = "All values in memory_sequence_length must be greater than zero."
        with control_dependencies([assert_positive(memory_sequence_length, message=message)]):
            memory_mask = sequence_mask(memory_sequence_length, maxlen=shape_of(score)[1])
    return where(memory_mask, score, score_mask_value * ones_like(score))


# ---- scores ----


def _luong_score(query: Tensor, keys: Tensor, scale: object) -> Tensor:
    """`scale * (keys . query)`, [batch, time]: Luong et al., "Effective Approaches to Attention-based NMT", 2015."""
    depth, units = query.shape[-1], keys.shape[-1]
    if depth != units:
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys.  Query ({query}) has units: {depth}.  "
            f"Keys ({keys}) have units: {units}.  Perhaps you need to set num_units to the keys' dimension ({units})?"
        )
    score = squeeze(matmul(expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else scale * score


def _bahdanau_score(
    processed_query: Tensor, keys: Tensor, attention_v: Any, attention_g: Any = None, attention_b: object = None
) -> Tensor:
    """`sum(v * tanh(keys + query))`, [batch, time]: Bahdanau et al., "Neural Machine Translation", 2014.

    With `g` and `b`, `v` is normed to the length `g` and `b` stands inside of tanh (Salimans and Kingma, 2016).
    """
    query = expand_dims(processed_query, 1)
    if attention_g is None or attention_b is None:
        return reduce_sum(attention_v * tanh(keys + query), [2])
    normed = attention_g * attention_v * rsqrt(reduce_sum(square(attention_v)))
    return reduce_sum(normed * tanh(keys + query + attention_b), [2])


# ---- weights ----


@export("contrib.seq2seq.hardmax")
def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """One at the largest element of each row of the last dimension, else zero."""
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        depth = dimension_value(logits.shape[-1])
        depth = shape_of(logits)[-1] if depth is None else depth
        return one_hot(argmax(logits, -1), depth, dtype=logits.dtype)


@export("contrib.seq2seq.safe_cumprod")
def safe_cumprod(x: TensorLike, *args: object, **kwargs: object) -> Tensor:
    """Cumulative products of numbers in [0, 1], computed with logarithms; further arguments are those of tf.cumsum."""
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


@export("contrib.seq2seq.monotonic_attention")
def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Weights of a monotonic attention: Raffel et al., "Online and Linear-Time Attention by Monotonic Alignments", 2017.

    Args:
      p_choose_i: probabilities [batch, time] of choosing each entry.
      previous_attention: weights [batch, time] of the step before.
      mode: "recursive" (exact), "parallel" (a closed form that may lose precision) or "hard" (probabilities 0 and 1).

    Raises:
      ValueError: another mode.
    """
    p_choose_i = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous_attention = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        return _recursive_attention(p_choose_i, previous_attention)
    if mode == "parallel":
        passed = safe_cumprod(1 - p_choose_i, axis=1, exclusive=True)
        return p_choose_i * passed * cumsum(previous_attention / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p_choose_i *= cumsum(previous_attention, axis=1)
        return p_choose_i * cumprod(1 - p_choose_i, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _recursive_attention(chosen: Tensor, previous: Tensor) -> Tensor:
    """chosen * q with q[i] = (1 - chosen[i - 1]) * q[i - 1] + previous[i]."""
    batch = size_along(chosen, 0)
    passed = concat([ones((batch, 1)), 1 - chosen[:, :-1]], 1)
    reached = scan(
        lambda q, now: reshape(now[0] * q + now[1], (batch,)), [transpose(passed), transpose(previous)], zeros((batch,))
    )
    return chosen * transpose(reached)


def monotonic_probabilities(score: Tensor, previous: Tensor, sigmoid_noise: float, mode: str, seed: int | None) -> Tensor:
    """The weights of a monotonic attention for scores, with normal noise of size `sigmoid_noise` added to them."""
    if sigmoid_noise > 0:
        noise = random_normal(shape_of(score), dtype=score.dtype, seed=seed)
        score += sigmoid_noise * noise
    chosen = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
    return monotonic_attention(chosen, previous, mode)
