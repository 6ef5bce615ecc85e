"""Samplers: where the inputs of the steps of a BasicDecoderV2 come from; their tensors are given to `initialize`."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.seq2seq import helpers, scheduled_helpers
from tfcompat._src.contrib.seq2seq.sampling import bernoulli_sample, categorical_sample
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size as size_of
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_not, logical_or
from tfcompat._src.ops.math.reduce import argmax, reduce_all, reduce_any
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.rnn.steps import transpose_batch_time

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Step = tuple[Any, Any, Any]


class Sampler(abc.ABC):
    """Samples from the outputs of a decoder's step, and chooses the inputs of the next one."""

    @abc.abstractmethod
    def initialize(self, inputs: Any, **kwargs: Any) -> tuple[Any, Any]:
        """`(finished, inputs)` of the first step."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any) -> Any:
        """The sample that a step's outputs give."""

    @abc.abstractmethod
    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any) -> Step:
        """`(finished, inputs, state)` of the next step."""

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


class _BatchSampler(Sampler):
    """A sampler that knows the number of sequences once it is initialized; its samples are int32 ids by default."""

    _batch_size: Any = None

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    sample_ids_shape = property(lambda self: TensorShape([]))
    sample_ids_dtype = property(lambda self: dtypes.int32)


class CustomSampler(_BatchSampler):
    """A sampler made of functions.

    Args:
      initialize_fn: `(inputs, **kwargs) -> (finished, inputs)`.
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
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    sample_ids_shape = property(lambda self: self._sample_ids_shape)
    sample_ids_dtype = property(lambda self: self._sample_ids_dtype)

    def initialize(self, inputs: object, **kwargs: Any) -> tuple[Any, Any]:
        finished, first = self._initialize_fn(inputs, **kwargs)
        if self._batch_size is None:
            self._batch_size = size_of(finished)
        return finished, first

    def sample(self, time: object, outputs: object, state: object) -> Any:
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object) -> Step:
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingSampler(_BatchSampler):
    """Reads the inputs of each step from given sequences; samples are the largest outputs.

    Args:
      time_major: whether time is the first dimension of the inputs.
    """

    def __init__(self, time_major: bool = False) -> None:
        self.time_major = time_major

    def initialize(self, inputs: Any, sequence_length: Any = None) -> tuple[Any, Any]:
        """The first step of sequences [batch, time, ...] with lengths int32 [batch]; ValueError for other lengths."""
        self.inputs = convert_to_tensor(inputs, name="inputs")
        if not self.time_major:
            inputs = nest.map_structure(transpose_batch_time, inputs)
        self.input_tas = nest.map_structure(helpers.unstacked, inputs)
        if sequence_length is None:
            raise ValueError("sequence_length is required for TrainingSampler")
        self.sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
        if self.sequence_length.get_shape().ndims != 1:
            shape = self.sequence_length.get_shape()
            raise ValueError(f"Expected sequence_length to be a vector, but received shape: {shape}")
        self.zero_inputs = nest.map_structure(lambda each: zeros_like(each[0, :]), inputs)
        self._batch_size = size_of(self.sequence_length)
        finished = equal(0, self.sequence_length)
        return finished, self._read(reduce_all(finished), 0)

    def _read(self, ended: Tensor, time: object) -> Any:
        """The inputs at a time; zeros where all sequences have ended."""
        return cond(
            ended, lambda: self.zero_inputs,
            lambda: nest.map_structure(lambda array: array.read(time), self.input_tas),
        )  # fmt: skip

    def sample(self, time: Any, outputs: Any, state: Any) -> Any:
        return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any) -> Step:
        following = time + 1
        finished = following >= self.sequence_length
        return finished, self._read(reduce_all(finished), following), state


class ScheduledEmbeddingTrainingSampler(TrainingSampler):
    """A TrainingSampler that at random feeds the embedding of an id drawn from the last outputs.

    Args:
      sampling_probability: float32 scalar or [batch], how often the input is a drawn id.
      embedding_fn: function of ids; by default a lookup in the `embedding` that `initialize` is given.
      time_major: whether time is the first dimension of the inputs.
      seed, scheduling_seed: op seeds of the ids and of the choice.

    Raises:
      ValueError: `sampling_probability` has more than one dimension, or the function is not callable.
    """

    def __init__(
        self, sampling_probability: TensorLike, embedding_fn: Callable | None = None, time_major: bool = False,
        seed: int | None = None, scheduling_seed: int | None = None,
    ) -> None:  # fmt: skip
        if embedding_fn is not None and not callable(embedding_fn):
            raise ValueError(f"embedding_fn is expected to be callable, got {type(embedding_fn)}")
        self.embedding_fn = embedding_fn
        self.sampling_probability = scheduled_helpers.probability(sampling_probability)
        self.seed, self.scheduling_seed = seed, scheduling_seed
        super().__init__(time_major=time_major)

    def initialize(self, inputs: object, sequence_length: object = None, embedding: object = None) -> tuple[Any, Any]:
        if self.embedding_fn is None:
            if embedding is None:
                raise ValueError("embedding is required as a keyword argument for ScheduledEmbeddingTrainingSampler")
            self.embedding_fn = lambda ids: embedding_lookup(embedding, ids)
        return super().initialize(inputs, sequence_length=sequence_length)

    def sample(self, time: object, outputs: TensorLike, state: object) -> Tensor:
        """Drawn ids; -1 for sequences that read their next input."""
        chosen = bernoulli_sample(
            probs=self.sampling_probability, dtype=dtypes.bool, sample_shape=self.batch_size, seed=self.scheduling_seed
        )
        return where(chosen, categorical_sample(logits=outputs, seed=self.seed), fill([self.batch_size], -1))

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: Any) -> Step:
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids)

        def mixed() -> Tensor:
            drawn, read = scheduled_helpers.rows(sample_ids > -1), scheduled_helpers.rows(sample_ids <= -1)
            ids, kept = gather_nd(sample_ids, drawn), gather_nd(given, read)
            return scheduled_helpers.merged(given, (drawn, self.embedding_fn(ids)), (read, kept))

        return finished, cond(reduce_all(finished), lambda: given, mixed), state


class ScheduledOutputTrainingSampler(TrainingSampler):
    """A TrainingSampler that at random feeds the last outputs.

    Args:
      sampling_probability: float32 scalar or [batch], how often the input is the last output.
      time_major: whether time is the first dimension of the inputs.
      seed: op seed.
      next_inputs_fn: function from outputs to inputs; by default the outputs themselves.

    Raises:
      ValueError: `sampling_probability` has more than one dimension.
    """

    def __init__(
        self, sampling_probability: TensorLike, time_major: bool = False, seed: int | None = None,
        next_inputs_fn: Callable | None = None,
    ) -> None:  # fmt: skip
        self.sampling_probability = scheduled_helpers.probability(sampling_probability)
        self.seed, self.next_inputs_fn = seed, next_inputs_fn
        super().__init__(time_major=time_major)

    def initialize(self, inputs: TensorLike, sequence_length: object = None, auxiliary_inputs: TensorLike | None = None) -> tuple[Any, Any]:
        """As of TrainingSampler; `auxiliary_inputs` are joined to the inputs of every step."""
        self._auxiliary = None
        if auxiliary_inputs is not None:
            inputs, auxiliary = convert_to_tensor(inputs), convert_to_tensor(auxiliary_inputs)
            inputs = concat((inputs, auxiliary), -1)
            self._auxiliary = helpers.unstacked(auxiliary if self.time_major else transpose_batch_time(auxiliary))
        return super().initialize(inputs, sequence_length=sequence_length)

    def sample(self, time: object, outputs: object, state: object) -> Tensor:
        """1 for sequences that feed their outputs, 0 for those that read."""
        return bernoulli_sample(probs=self.sampling_probability, sample_shape=self.batch_size, seed=self.seed)

    def next_inputs(self, time: Any, outputs: Any, state: object, sample_ids: object) -> Step:
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids)
        chosen = cast(sample_ids, dtypes.bool)
        unchanged = logical_or(reduce_all(finished), logical_not(reduce_any(chosen)))
        mixed = scheduled_helpers.outputs_mixed(self.next_inputs_fn, self._auxiliary, time, outputs, given, chosen)
        return finished, cond(unchanged, lambda: given, mixed), state


class GreedyEmbeddingSampler(_BatchSampler):
    """Feeds the embedding of the id with the largest output.

    Args:
      embedding_fn: function of ids; by default a lookup in what `initialize` is given. ValueError if not callable.
    """

    def __init__(self, embedding_fn: Callable | None = None) -> None:
        if embedding_fn is not None and not callable(embedding_fn):
            raise ValueError(f"embedding_fn is expected to be a callable, got {type(embedding_fn)}")
        self.embedding_fn = embedding_fn

    def initialize(self, embedding: object, start_tokens: TensorLike | None = None, end_token: TensorLike | None = None) -> tuple[Any, Any]:
        """The first step.

        Args:
          embedding: `params` of tf.nn.embedding_lookup.
          start_tokens: int32 [batch].
          end_token: int32 scalar, the id that ends a sequence.

        Raises:
          ValueError: a shape does not fit.
        """
        if self.embedding_fn is None:
            self.embedding_fn = lambda ids: embedding_lookup(embedding, ids)
        self.start_tokens = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self.end_token = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self.start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._batch_size = size_of(start_tokens)
        if self.end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self.start_inputs = self.embedding_fn(self.start_tokens)
        return tile([False], [self._batch_size]), self.start_inputs

    def _check(self, outputs: object) -> None:
        if not isinstance(outputs, Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")

    def sample(self, time: Any, outputs: Any, state: Any) -> Any:
        self._check(outputs)
        return argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object) -> Step:
        finished = equal(sample_ids, self.end_token)
        following = cond(reduce_all(finished), lambda: self.start_inputs, lambda: self.embedding_fn(sample_ids))
        return finished, following, state


class SampleEmbeddingSampler(GreedyEmbeddingSampler):
    """Feeds the embedding of an id drawn by the softmax of the outputs.

    Args:
      embedding_fn: as of GreedyEmbeddingSampler.
      softmax_temperature: what the outputs are divided by, 1 by default.
      seed: op seed.
    """

    def __init__(
        self, embedding_fn: Callable | None = None, softmax_temperature: object = None, seed: int | None = None
    ) -> None:
        super().__init__(embedding_fn)
        self.softmax_temperature, self.seed = softmax_temperature, seed

    def sample(self, time: object, outputs: Any, state: object) -> Tensor:
        self._check(outputs)
        logits = outputs if self.softmax_temperature is None else outputs / self.softmax_temperature
        return categorical_sample(logits=logits, seed=self.seed)


class InferenceSampler(_BatchSampler):
    """Feeds what functions make of the outputs.

    Args:
      sample_fn: function from outputs to samples.
      sample_shape, sample_dtype: shape without the batch, and dtype, of a sample.
      end_fn: function from samples to whether the sequences end.
      next_inputs_fn: function from samples to inputs; by default the samples.
    """

    def __init__(
        self, sample_fn: Callable, sample_shape: object, sample_dtype: object, end_fn: Callable,
        next_inputs_fn: Callable | None = None,
    ) -> None:  # fmt: skip
        self.sample_fn, self.end_fn, self.next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self.sample_shape, self.sample_dtype = TensorShape(sample_shape), sample_dtype

    sample_ids_shape = property(lambda self: self.sample_shape)
    sample_ids_dtype = property(lambda self: self.sample_dtype)

    def initialize(self, start_inputs: TensorLike) -> tuple[Any, Any]:
        self.start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape_of(start_inputs)[0]
        return tile([False], [self._batch_size]), self.start_inputs

    def sample(self, time: object, outputs: object, state: object) -> Any:
        return self.sample_fn(outputs)

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: object) -> Step:
        following = sample_ids if self.next_inputs_fn is None else self.next_inputs_fn(sample_ids)
        return self.end_fn(sample_ids), following, state
