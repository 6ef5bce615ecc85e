"""Helpers: where the inputs of a decoder's steps come from."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.seq2seq.sampling import categorical_sample
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size as size_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import argmax, reduce_all
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.rnn.steps import transpose_batch_time

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.seq2seq.Helper")
class Helper(abc.ABC):
    """Samples from the outputs of a decoder's step, and chooses the inputs of the next one."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The number of sequences, int32 scalar."""

    @property
    @abc.abstractmethod
    def sample_ids_shape(self) -> TensorShape:
        """The shape of a sample without the batch."""

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The dtype of a sample."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """`(finished, inputs)` of the first step."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The sample that a step's outputs give."""

    @abc.abstractmethod
    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        """`(finished, inputs, state)` of the next step."""


class _IdHelper(Helper):
    """A helper whose samples are one int32 id per sequence."""

    _batch_size: Any

    batch_size = property(lambda self: self._batch_size)
    sample_ids_shape = property(lambda self: TensorShape([]))
    sample_ids_dtype = property(lambda self: dtypes.int32)


@export("contrib.seq2seq.CustomHelper")
class CustomHelper(Helper):
    """A helper made of functions.

    Args:
      initialize_fn: `() -> (finished, inputs)`.
      sample_fn: `(time, outputs, state) -> sample_ids`, called by name.
      next_inputs_fn: `(time, outputs, state, sample_ids) -> (finished, inputs, state)`, called by name.
      sample_ids_shape: shape of a sample without the batch, [] by default.
      sample_ids_dtype: dtype of a sample, int32 by default.
    """

    def __init__(
        self, initialize_fn: Callable, sample_fn: Callable, next_inputs_fn: Callable, sample_ids_shape: object = None,
        sample_ids_dtype: object = None,
    ) -> None:  # fmt: skip
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    sample_ids_shape = property(lambda self: self._sample_ids_shape)
    sample_ids_dtype = property(lambda self: self._sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size_of(finished)
        return finished, inputs

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Any:
        with name_scope(name, f"{type(self).__name__}Sample", [time, outputs, state]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None) -> tuple[Any, Any, Any]:
        with name_scope(name, f"{type(self).__name__}NextInputs", [time, outputs, state]):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def unstacked(inputs: Tensor) -> TensorArray:
    """A TensorArray of the elements of the first dimension."""
    array = TensorArray(dtype=inputs.dtype, size=shape_of(inputs)[0], element_shape=inputs.shape[1:])
    return array.unstack(inputs)


@export("contrib.seq2seq.TrainingHelper")
class TrainingHelper(_IdHelper):
    """Reads the inputs of each step from given sequences; samples are the largest outputs.

    Args:
      inputs: Tensor [batch, time, ...], or [time, batch, ...] with `time_major`.
      sequence_length: int32 [batch].
      time_major: whether time is the first dimension.
      name: name scope.

    Raises:
      ValueError: `sequence_length` is no vector.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        with name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = self._inputs = convert_to_tensor(inputs, name="inputs")
            if not time_major:
                inputs = transpose_batch_time(inputs)
            self._array = unstacked(inputs)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            found = self._sequence_length.shape
            if found.ndims != 1:
                raise ValueError(f"Expected sequence_length to be a vector, but received shape: {found}")
            self._zero_inputs = zeros_like(inputs[0, :])
            self._batch_size = size_of(sequence_length)

    inputs = property(lambda self: self._inputs)
    sequence_length = property(lambda self: self._sequence_length)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            inputs = cond(reduce_all(finished), lambda: self._zero_inputs, lambda: self._array.read(0))
            return finished, inputs

    def sample(self, time: Any, outputs: Any, name: str | None = None, **unused_kwargs: Any) -> Tensor:
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, name: str | None = None, **unused_kwargs: Any
    ) -> tuple[Any, Any, Any]:
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            following = time + 1
            finished = following >= self._sequence_length
            inputs = cond(reduce_all(finished), lambda: self._zero_inputs, lambda: self._array.read(following))
            return finished, inputs, state


def embedding_function(embedding: object) -> Callable:
    """`embedding` itself where it can be called, else the lookup of ids in it."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def start_and_end(start_tokens: TensorLike, end_token: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as int32 tensors, [batch] and a scalar; ValueError for other ranks."""
    start_tokens = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
    end_token = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
    if start_tokens.shape.ndims != 1:
        raise ValueError("start_tokens must be a vector")
    if end_token.shape.ndims != 0:
        raise ValueError("end_token must be a scalar")
    return start_tokens, end_token


def _single_tensor(outputs: object) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


@export("contrib.seq2seq.GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(_IdHelper):
    """Feeds the embedding of the most probable id to the next step; a sequence ends with `end_token`.

    Args:
      embedding: function of ids, or the `params` of tf.nn.embedding_lookup.
      start_tokens: int32 [batch].
      end_token: int32 scalar.

    Raises:
      ValueError: `start_tokens` is no vector or `end_token` no scalar.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token = start_and_end(start_tokens, end_token)
        self._batch_size = size_of(start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        return argmax(_single_tensor(outputs), axis=-1, output_type=dtypes.int32)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None) -> tuple[Any, Any, Any]:
        finished = equal(sample_ids, self._end_token)
        inputs = cond(reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids))
        return finished, inputs, state


@export("contrib.seq2seq.SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """As GreedyEmbeddingHelper, with ids drawn from softmax(outputs / softmax_temperature).

    Args:
      embedding, start_tokens, end_token: see GreedyEmbeddingHelper.
      softmax_temperature: float32 scalar, 1 by default.
      seed: op seed.
    """

    def __init__(
        self, embedding: object, start_tokens: object, end_token: object, softmax_temperature: object = None, seed: int | None = None
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Tensor:
        logits = _single_tensor(outputs)
        if self._softmax_temperature is not None:
            logits = logits / self._softmax_temperature
        return categorical_sample(logits=logits, seed=self._seed)


@export("contrib.seq2seq.InferenceHelper")
class InferenceHelper(Helper):
    """A helper whose samples and inputs are given by functions of the outputs.

    Args:
      sample_fn: `outputs -> sample_ids`.
      sample_shape, sample_dtype: shape (without the batch) and dtype of a sample.
      start_inputs: inputs of the first step, [batch, ...].
      end_fn: `sample_ids -> finished`.
      next_inputs_fn: `sample_ids -> inputs`; by default the samples themselves.
    """

    def __init__(
        self, sample_fn: Callable, sample_shape: object, sample_dtype: object, start_inputs: TensorLike, end_fn: Callable,
        next_inputs_fn: Callable | None = None,
    ) -> None:  # fmt: skip
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = TensorShape(sample_shape), sample_dtype
        self._batch_size = shape_of(start_inputs)[0]
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")

    batch_size = property(lambda self: self._batch_size)
    sample_ids_shape = property(lambda self: self._sample_shape)
    sample_ids_dtype = property(lambda self: self._sample_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None) -> tuple[Any, Any, Any]:
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
