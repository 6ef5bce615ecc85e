"""Attention mechanisms: weights of the entries of a memory for a query."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.contrib.seq2seq import attention_scores as scores
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.core import Dense
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.rnn.cell import zero_state_tensors
from tfcompat._src.variables.initializers import Constant, Ones, Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike


@export("contrib.seq2seq.AttentionMechanism")
class AttentionMechanism:
    """A function `(query, state) -> (alignments, next_state)` over a memory."""

    @property
    def alignments_size(self) -> Any:
        """The number of entries of the memory."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the mechanism's state."""
        raise NotImplementedError


def _check_layer(layer: object, name: str) -> None:
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"{name} is not a Layer: {type(layer).__name__}")


def _dense(num_units: int, name: str, dtype: object) -> Dense:
    return Dense(num_units, name=name, use_bias=False, dtype=dtypes.float32 if dtype is None else dtype)


class _BaseAttentionMechanism(AttentionMechanism):
    """What the mechanisms share: the memory, its keys, and the weights that masked scores give.

    Args:
      query_layer, memory_layer: tf.layers.Layer applied to queries and to the memory, or None.
      memory: Tensor [batch, time, ...] or a nest of them.
      probability_fn: `(score, previous_alignments) -> alignments`.
      memory_sequence_length: int [batch], past which entries have no weight.
      check_inner_dims_defined: whether the sizes after the first two must be known.
      score_mask_value: score of entries past the end, minus infinity by default.
      custom_key_value_fn: `(keys, values) -> (keys, values)`, or None.
      name: name scope.

    Raises:
      TypeError: an argument is not of its type. ValueError: a size of the memory is unknown.
    """

    def __init__(
        self, query_layer: Any, memory: Any, probability_fn: Callable, memory_sequence_length: Any = None,
        memory_layer: Any = None, check_inner_dims_defined: bool = True, score_mask_value: Any = None,
        custom_key_value_fn: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        _check_layer(query_layer, "query_layer")
        _check_layer(memory_layer, "memory_layer")
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        self._weights, self._lengths = probability_fn, memory_sequence_length
        if score_mask_value is None:
            score_mask_value = dtypes.as_dtype(memory_layer.dtype).as_numpy_dtype(-np.inf)
        self._score_mask_value = score_mask_value
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = scores._prepare_memory(memory, memory_sequence_length, check_inner_dims_defined=check_inner_dims_defined)
            self._keys = self.memory_layer(self._values) if self.memory_layer else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = scores.size_along(self._keys, 0)
            self._alignments_size = scores.size_along(self._keys, 1)

    memory_layer = property(lambda self: self._memory_layer)
    query_layer = property(lambda self: self._query_layer)
    values = property(lambda self: self._values)
    keys = property(lambda self: self._keys)
    batch_size = property(lambda self: self._batch_size)
    alignments_size = property(lambda self: self._alignments_size)
    state_size = property(lambda self: self._alignments_size)

    def _probability_fn(self, score: Tensor, previous: object) -> Tensor:
        return self._weights(scores._maybe_mask_score(score, self._lengths, score_mask_value=self._score_mask_value), previous)

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """The weights before the first step, [batch, time]: zeros."""
        return zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: object, dtype: object) -> Any:
        """The state before the first step: the initial alignments."""
        return self.initial_alignments(batch_size, dtype)


class _MonotonicMechanism(_BaseAttentionMechanism):
    """A mechanism whose weights only move forward."""

    def initial_alignments(self, batch_size: object, dtype: DTypeLike) -> Tensor:
        """All weight on the first entry, [batch, time]."""
        return one_hot(zeros((batch_size,), dtype=dtypes.int32), self._alignments_size, dtype=dtype)


def _without_previous(probability_fn: Callable | None) -> Callable:
    chosen = softmax if probability_fn is None else probability_fn
    return lambda score, _: chosen(score)


class _Luong:
    """The score of Luong et al., with the weight `attention_g` where the mechanism scales."""

    _scale: bool
    _keys: Tensor

    def _score(self, query: Tensor) -> Tensor:
        g = get_variable("attention_g", dtype=query.dtype, initializer=Ones, shape=()) if self._scale else None
        return scores._luong_score(query, self._keys, g)


class _Bahdanau:
    """The score of Bahdanau et al., with `attention_g` and `attention_b` where the mechanism normalizes."""

    _num_units: int
    _normalize: bool
    _keys: Tensor
    query_layer: Any

    def _score(self, query: Tensor) -> Tensor:
        processed = self.query_layer(query) if self.query_layer else query
        units, dtype = self._num_units, query.dtype
        v, g, b = get_variable("attention_v", [units], dtype=dtype), None, None
        if self._normalize:
            g = get_variable("attention_g", dtype=dtype, initializer=Constant(math.sqrt(1.0 / units)), shape=())
            b = get_variable("attention_b", [units], dtype=dtype, initializer=Zeros())
        return scores._bahdanau_score(processed, self._keys, v, g, b)


@export("contrib.seq2seq.LuongAttention")
class LuongAttention(_Luong, _BaseAttentionMechanism):
    """Multiplicative attention: Luong et al., 2015.

    Args:
      num_units: size of the keys and of the queries.
      memory: Tensor [batch, time, ...].
      memory_sequence_length: int [batch], past which entries have no weight.
      scale: whether scores are multiplied by a trained weight.
      probability_fn: `score -> alignments`, softmax by default.
      score_mask_value: score of entries past the end, minus infinity by default.
      dtype: of the memory layer, float32 by default.
      custom_key_value_fn: `(keys, values) -> (keys, values)`, or None.
      name: name scope.
    """

    def __init__(
        self, num_units, memory, memory_sequence_length=None, scale=False, probability_fn=None, score_mask_value=None,
        dtype=None, custom_key_value_fn=None, name="LuongAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            query_layer=None, memory_layer=_dense(num_units, "memory_layer", dtype), memory=memory,
            probability_fn=_without_previous(probability_fn), memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value, custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Tensor, state: object) -> tuple[Tensor, Any]:
        """The weights [batch, time] for queries [batch, num_units], and the same as next state."""
        with variable_scope(None, "luong_attention", [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.BahdanauAttention")
class BahdanauAttention(_Bahdanau, _BaseAttentionMechanism):
    """Additive attention: Bahdanau et al., 2014.

    Args:
      num_units: size of the keys and of the processed queries.
      normalize: whether the weight vector is normed (Salimans and Kingma, "Weight Normalization", 2016).
      memory, memory_sequence_length, probability_fn, score_mask_value, dtype, custom_key_value_fn, name: see
        LuongAttention.
    """

    def __init__(
        self, num_units, memory, memory_sequence_length=None, normalize=False, probability_fn=None,
        score_mask_value=None, dtype=None, custom_key_value_fn=None, name="BahdanauAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype), memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory, probability_fn=_without_previous(probability_fn), custom_key_value_fn=custom_key_value_fn,
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Tensor, state: object) -> tuple[Tensor, Any]:
        """The weights [batch, time] for queries [batch, depth], and the same as next state."""
        with variable_scope(None, "bahdanau_attention", [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _monotonic_weights(sigmoid_noise: float, mode: str, seed: int | None) -> Callable:
    return functools.partial(scores.monotonic_probabilities, sigmoid_noise=sigmoid_noise, mode=mode, seed=seed)


@export("contrib.seq2seq.BahdanauMonotonicAttention")
class BahdanauMonotonicAttention(_Bahdanau, _MonotonicMechanism):
    """Additive monotonic attention: Raffel et al., 2017.

    Args:
      num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: see BahdanauAttention.
      sigmoid_noise: size of normal noise added to scores.
      sigmoid_noise_seed: its op seed.
      score_bias_init: first value of the trained number added to scores.
      mode: see `tf.contrib.seq2seq.monotonic_attention`.
    """

    def __init__(
        self, num_units, memory, memory_sequence_length=None, normalize=False, score_mask_value=None, sigmoid_noise=0.0,
        sigmoid_noise_seed=None, score_bias_init=0.0, mode="parallel", dtype=None, name="BahdanauMonotonicAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype), memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory, probability_fn=_monotonic_weights(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Tensor, state: object) -> tuple[Tensor, Any]:
        """The weights [batch, time] for queries [batch, depth], and the same as next state."""
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            score = self._score(query)
            score += get_variable("attention_score_bias", dtype=score.dtype, initializer=self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


@export("contrib.seq2seq.LuongMonotonicAttention")
class LuongMonotonicAttention(_Luong, _MonotonicMechanism):
    """Multiplicative monotonic attention: Raffel et al., 2017.

    Args:
      num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: see LuongAttention.
      sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: see BahdanauMonotonicAttention.
    """

    def __init__(
        self, num_units, memory, memory_sequence_length=None, scale=False, score_mask_value=None, sigmoid_noise=0.0,
        sigmoid_noise_seed=None, score_bias_init=0.0, mode="parallel", dtype=None, name="LuongMonotonicAttention",
    ) -> None:  # fmt: skip
        super().__init__(
            query_layer=None, memory_layer=_dense(num_units, "memory_layer", dtype), memory=memory,
            probability_fn=_monotonic_weights(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value, name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name
        self._score_bias_init = score_bias_init

    def __call__(self, query: Tensor, state: object) -> tuple[Tensor, Any]:
        """The weights [batch, time] for queries [batch, num_units], and the same as next state."""
        with variable_scope(None, "luong_monotonic_attention", [query]):
            score = self._score(query)
            score += get_variable("attention_score_bias", dtype=query.dtype, initializer=self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
