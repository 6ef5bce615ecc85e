"""Attention mechanisms that are Keras layers: called once with their memory, then with queries."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.contrib.seq2seq import attention_scores as scores
from tfcompat._src.contrib.seq2seq.attention import AttentionMechanism
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import initializers
from tfcompat._src.keras.engine import base_layer_utils
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.layers.core import Dense
from tfcompat._src.keras.layers.serialization import deserialize
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.rnn.cell import zero_state_tensors
from tfcompat._src.variables.initializers import Constant, Ones, Zeros

if TYPE_CHECKING:
    from typing import Self

    from tfcompat._src.base.dtypes import DTypeLike

_PROBABILITIES = {"softmax": softmax, "hardmax": scores.hardmax}
_INNER_LAYERS = ("query_layer", "memory_layer")


def _check_layer(layer: object, name: str) -> None:
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"{name} is not a Layer: {type(layer).__name__}")


def _dense(layer: object, units: int, name: str, dtype: object) -> Any:
    return layer or Dense(units, name=name, use_bias=False, dtype=dtype)


class _BaseAttentionMechanismV2(AttentionMechanism, Layer):
    """What the mechanisms share: the memory, its keys, and the weights that scores give.

    Args:
      memory: Tensor [batch, time, ...], or None where it is given by a call with `setup_memory=True`.
      probability_fn: `(score, previous_alignments) -> alignments`.
      query_layer, memory_layer: Keras layers applied to queries and to the memory, or None.
      memory_sequence_length: int [batch], past which the memory is zero.
      kwargs: arguments of tf.keras.layers.Layer.

    Raises:
      TypeError: an argument is not of its type.
    """

    def __init__(
        self, memory: Any, probability_fn: Callable, query_layer: Any = None, memory_layer: Any = None,
        memory_sequence_length: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        _check_layer(query_layer, "query_layer")
        _check_layer(memory_layer, "memory_layer")
        self.query_layer, self.memory_layer = query_layer, memory_layer
        if memory_layer is not None:
            kwargs.setdefault("dtype", memory_layer.dtype)
        super().__init__(**kwargs)
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        self.probability_fn = self._given_probability_fn = probability_fn
        self._memory_graph = None
        self.keys = self.values = self.batch_size = None
        self._memory_initialized = False
        self.supports_masking = True
        self.score_mask_value = dtypes.as_dtype(self.dtype).as_numpy_dtype(-np.inf)
        if memory is not None:
            inputs = memory if memory_sequence_length is None else [memory, memory_sequence_length]
            self.values = super().__call__(inputs, setup_memory=True)

    def build(self, input_shape: Any) -> None:
        layer = self.query_layer if self._memory_initialized else self.memory_layer
        if layer is not None and not layer.built:
            listed = self._memory_initialized or isinstance(input_shape, list)
            layer.build(input_shape[0] if listed else input_shape)

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """The weights [batch, time] and the next state for a query and a state; the memory for `setup_memory=True`."""
        if self._memory_initialized and not kwargs.get("setup_memory"):
            if len(inputs) not in (2, 3):
                raise ValueError(f"Expect the inputs to have 2 or 3 tensors, got {len(inputs)}")
            if len(inputs) == 2:
                inputs.append(self.values)
        return super().__call__(inputs, **kwargs)

    def call(self, inputs: Any, mask: Any = None, setup_memory: bool = False, **kwargs: Any) -> Any:
        if setup_memory:
            given = inputs if isinstance(inputs, list) else [inputs]
            if len(given) not in (1, 2):
                raise ValueError(f"Expect inputs to have 1 or 2 tensors, got {len(given)}")
            self._setup_memory(given[0], given[1] if len(given) == 2 else None, mask)
            self.built = False
            return self.values
        if not self._memory_initialized:
            raise ValueError("Cannot query the attention before the setup of memory")
        if len(inputs) not in (2, 3):
            raise ValueError(
                f"Expect the inputs to have query, state, and optional processed memory, got {len(inputs)} items"
            )
        query, state = inputs[:2]
        alignments = self.probability_fn(self._score(query), state)
        return alignments, alignments

    def _setup_memory(self, memory: Any, lengths: Any, mask: Any) -> None:
        """Prepares the memory: once in a graph, and again where a model is called again in another."""
        if self._memory_graph is get_default_graph():
            raise ValueError("The memory for the attention has already been setup.")
        if lengths is not None and mask is not None:
            raise ValueError(
                "memory_sequence_length and memory_mask cannot be used at same time for attention."
            )
        with name_scope(self.name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self.values = scores._prepare_memory(memory, lengths, mask)
            base_layer_utils.mark_checked(self.values)
            self.keys = self.values if self.memory_layer is None else self.memory_layer(self.values)
            self.batch_size = scores.size_along(self.keys, 0)
            self._alignments_size = scores.size_along(self.keys, 1)
            if mask is not None:
                weights, value = self._given_probability_fn, self.score_mask_value
                self.probability_fn = lambda score, before: weights(scores._maybe_mask_score(score, memory_mask=mask, score_mask_value=value), before)
        self._memory_initialized, self._memory_graph = True, get_default_graph()

    def _score(self, query: Tensor) -> Tensor:
        """The scores [batch, time] of the entries of the memory."""
        raise NotImplementedError("_score needs to be implemented by subclasses.")

    def compute_mask(self, inputs: Any, mask: Any = None) -> tuple[None, None]:
        return None, None

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "memory": None}
        for name in _INNER_LAYERS:
            layer = getattr(self, name)
            if layer is not None:
                config[name] = {"class_name": type(layer).__name__, "config": layer.get_config()}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Self:
        made = {
            name: deserialize(config[name], custom_objects=custom_objects)
            for name in _INNER_LAYERS
            if config.get(name)
        }
        return cls(**{**config, **made})

    alignments_size = property(lambda self: self._alignments_size)
    state_size = property(lambda self: self._alignments_size)

    def initial_alignments(self, batch_size: object, dtype: DTypeLike) -> Tensor:
        """The weights before the first step, [batch, time]: zeros."""
        return zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state before the first step: the initial alignments."""
        return self.initial_alignments(batch_size, dtype)


class _Monotonic:
    """Weights that only move forward, and the number `attention_score_bias` added to scores."""

    _ARGUMENTS = ("sigmoid_noise", "sigmoid_noise_seed", "score_bias_init", "mode")
    attention_score_bias: Any = None

    def _monotonic_weights(self, sigmoid_noise: float, seed: int | None, score_bias_init: float, mode: str) -> Callable:
        self.sigmoid_noise, self.sigmoid_noise_seed = sigmoid_noise, seed
        self.score_bias_init, self.mode = score_bias_init, mode
        return functools.partial(scores.monotonic_probabilities, sigmoid_noise=sigmoid_noise, mode=mode, seed=seed)

    def _add_bias(self) -> None:
        if self.attention_score_bias is None:
            self.attention_score_bias = self.add_weight(
                "attention_score_bias", shape=(), dtype=self.dtype,
                initializer=Constant(self.score_bias_init, dtype=self.dtype),
            )  # fmt: skip

    def _score(self, query: Tensor) -> Tensor:
        return super()._score(query) + self.attention_score_bias

    def initial_alignments(self, batch_size: object, dtype: DTypeLike) -> Tensor:
        """All weight on the first entry, [batch, time]."""
        return one_hot(zeros((batch_size,), dtype=dtypes.int32), self._alignments_size, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), **{name: getattr(self, name) for name in self._ARGUMENTS}}
        config.pop("probability_fn", None)
        return config


class _Luong(_BaseAttentionMechanismV2):
    """The score of Luong et al., with the weight `attention_g` where the mechanism scales."""

    scale_weight: Any = None

    def _start(self, units: int, scale: bool, dtype: object, memory_layer: object = None, **kwargs: Any) -> None:
        self.units, self.scale = units, scale
        dtype = dtypes.float32 if dtype is None else dtype
        _BaseAttentionMechanismV2.__init__(
            self, query_layer=None, memory_layer=_dense(memory_layer, units, "memory_layer", dtype), dtype=dtype, **kwargs
        )

    def _add_scale(self) -> None:
        if self.scale and self.scale_weight is None:
            self.scale_weight = self.add_weight("attention_g", initializer=Ones, shape=())

    def _score(self, query: Tensor) -> Tensor:
        return scores._luong_score(query, self.keys, self.scale_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "scale": self.scale}


class _Bahdanau(_BaseAttentionMechanismV2):
    """The score of Bahdanau et al., with `attention_g` and `attention_b` where the mechanism normalizes."""

    attention_v: Any = None
    attention_g: Any = None
    attention_b: Any = None

    def _start(
        self, units: int, normalize: bool, kernel_initializer: object, dtype: object, query_layer: object = None,
        memory_layer: object = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.units, self.normalize = units, normalize
        self.kernel_initializer = initializers.get(kernel_initializer)
        dtype = dtypes.float32 if dtype is None else dtype
        _BaseAttentionMechanismV2.__init__(
            self, query_layer=_dense(query_layer, units, "query_layer", dtype),
            memory_layer=_dense(memory_layer, units, "memory_layer", dtype), dtype=dtype, **kwargs,
        )  # fmt: skip

    def _add_vector(self) -> None:
        if self.attention_v is None:
            self.attention_v = self.add_weight(
                "attention_v", [self.units], dtype=self.dtype, initializer=self.kernel_initializer
            )

    def _add_norm(self) -> None:
        if self.normalize and self.attention_g is None:
            length = Constant(math.sqrt(1.0 / self.units))
            self.attention_g = self.add_weight("attention_g", initializer=length, shape=())
            self.attention_b = self.add_weight("attention_b", shape=[self.units], initializer=Zeros())

    def _score(self, query: Tensor) -> Tensor:
        processed = self.query_layer(query) if self.query_layer else query
        return scores._bahdanau_score(processed, self.keys, self.attention_v, self.attention_g, self.attention_b)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "normalize": self.normalize,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
        }


class _Named:
    """A mechanism whose weights are a function of the scores that has a name."""

    probability_fn_name: str

    def _named_weights(self, name: str) -> Callable:
        if name not in _PROBABILITIES:
            raise ValueError(f"Invalid probability function: {name}, options are {_PROBABILITIES.keys()}")
        self.probability_fn_name = name
        return lambda score, _: _PROBABILITIES[name](score)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "probability_fn": self.probability_fn_name}


class LuongAttentionV2(_Named, _Luong):
    """Multiplicative attention: Luong et al., 2015.

    Args:
      units: size of the keys and of the queries.
      memory: Tensor [batch, time, ...], or None.
      memory_sequence_length: int [batch], past which the memory is zero.
      scale: whether scores are multiplied by a trained weight.
      probability_fn: "softmax" or "hardmax"; ValueError for another.
      dtype: of the weights, float32 by default.
      name: name of the layer.
      kwargs: `memory_layer`, and arguments of tf.keras.layers.Layer.
    """

    def __init__(
        self, units, memory, memory_sequence_length=None, scale=False, probability_fn="softmax", dtype=None,
        name="LuongAttention", **kwargs,
    ) -> None:  # fmt: skip
        self._start(
            units, scale, dtype, memory=memory, memory_sequence_length=memory_sequence_length, name=name,
            probability_fn=self._named_weights(probability_fn), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self._add_scale()
        self.built = True


class BahdanauAttentionV2(_Named, _Bahdanau):
    """Additive attention: Bahdanau et al., 2014.

    Args:
      units, memory, memory_sequence_length, probability_fn, dtype, name: see LuongAttentionV2.
      normalize: whether the weight vector is normed (Salimans and Kingma, "Weight Normalization", 2016).
      kernel_initializer: of the weight vector.
      kwargs: `query_layer`, `memory_layer`, and arguments of tf.keras.layers.Layer.
    """

    def __init__(
        self, units, memory, memory_sequence_length=None, normalize=False, probability_fn="softmax",
        kernel_initializer="glorot_uniform", dtype=None, name="BahdanauAttention", **kwargs,
    ) -> None:  # fmt: skip
        self._start(
            units, normalize, kernel_initializer, dtype, memory=memory, name=name,
            memory_sequence_length=memory_sequence_length, probability_fn=self._named_weights(probability_fn), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self._add_vector()
        self._add_norm()
        self.built = True


class LuongMonotonicAttentionV2(_Monotonic, _Luong):
    """Multiplicative monotonic attention: Raffel et al., 2017.

    Args:
      units, memory, memory_sequence_length, scale, dtype, name, kwargs: see LuongAttentionV2.
      sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: see BahdanauMonotonicAttentionV2.
    """

    def __init__(
        self, units, memory, memory_sequence_length=None, scale=False, sigmoid_noise=0.0, sigmoid_noise_seed=None,
        score_bias_init=0.0, mode="parallel", dtype=None, name="LuongMonotonicAttention", **kwargs,
    ) -> None:  # fmt: skip
        self._start(
            units, scale, dtype, memory=memory, memory_sequence_length=memory_sequence_length, name=name,
            probability_fn=self._monotonic_weights(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self._add_scale()
        self._add_bias()
        self.built = True


class BahdanauMonotonicAttentionV2(_Monotonic, _Bahdanau):
    """Additive monotonic attention: Raffel et al., 2017.

    Args:
      units, memory, memory_sequence_length, normalize, kernel_initializer, dtype, name, kwargs: see
        BahdanauAttentionV2.
      sigmoid_noise: size of normal noise added to scores.
      sigmoid_noise_seed: its op seed.
      score_bias_init: first value of the trained number added to scores.
      mode: see `tf.contrib.seq2seq.monotonic_attention`.
    """

    def __init__(
        self, units, memory, memory_sequence_length=None, normalize=False, sigmoid_noise=0.0, sigmoid_noise_seed=None,
        score_bias_init=0.0, mode="parallel", kernel_initializer="glorot_uniform", dtype=None,
        name="BahdanauMonotonicAttention", **kwargs,
    ) -> None:  # fmt: skip
        self._start(
            units, normalize, kernel_initializer, dtype, memory=memory, name=name,
            memory_sequence_length=memory_sequence_length,
            probability_fn=self._monotonic_weights(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self._add_vector()
        self._add_bias()
        self._add_norm()
        self.built = True
