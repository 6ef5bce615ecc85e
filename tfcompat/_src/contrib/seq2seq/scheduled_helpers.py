"""Helpers that feed the decoder's own samples or outputs in place of the given inputs, at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.seq2seq.helpers import TrainingHelper, embedding_function, unstacked
from tfcompat._src.contrib.seq2seq.sampling import bernoulli_sample, categorical_sample
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.ops.math.reduce import reduce_all, reduce_any
from tfcompat._src.rnn.steps import transpose_batch_time

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def probability(value: TensorLike) -> Tensor:
    value = convert_to_tensor(value, name="sampling_probability")
    if value.shape.ndims not in (0, 1):
        raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {value.shape}")
    return value


def rows(condition: Tensor) -> Tensor:
    """The places where a condition holds, int32 [n, 1]."""
    return cast(where(condition), dtypes.int32)


def merged(base: Tensor, sampled: tuple[Tensor, Tensor], kept: tuple[Tensor, Tensor]) -> Tensor:
    """A tensor of the shape of `base` made of two sets of (places, rows)."""
    size = shape_of(base)
    first, second = (scatter_nd(indices=places, updates=rows, shape=size) for places, rows in (sampled, kept))
    return first + second


def outputs_mixed(
    next_inputs_fn: Callable | None, auxiliary: Any, time: Any, outputs: Tensor, given: Tensor, chosen: Tensor
) -> Callable[[], Tensor]:
    """Makes the inputs of the step after `time`: of the outputs where `chosen`, those given elsewhere."""

    def with_auxiliary(values: Tensor, places: Tensor | None = None) -> Tensor:
        if auxiliary is None:
            return values
        joined = auxiliary.read(time + 1)
        return concat((values, joined if places is None else gather_nd(joined, places)), -1)

    def mixed() -> Tensor:
        if next_inputs_fn is None:
            return where(chosen, with_auxiliary(outputs), given)
        fed, read = rows(chosen), rows(logical_not(chosen))
        taken, kept = gather_nd(outputs, fed), gather_nd(given, read)
        return merged(given, (fed, with_auxiliary(next_inputs_fn(taken), fed)), (read, kept))

    return mixed


@export("contrib.seq2seq.ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A TrainingHelper that at random feeds the embedding of an id drawn from the last outputs.

    Args:
      inputs, sequence_length, time_major, name: see TrainingHelper.
      embedding: function of ids, or the `params` of tf.nn.embedding_lookup.
      sampling_probability: float32 scalar or [batch], how often the input is a drawn id.
      seed, scheduling_seed: op seeds of the ids and of the choice.

    Raises:
      ValueError: `sampling_probability` has more than one dimension.
    """

    def __init__(
        self, inputs: object, sequence_length: object, embedding: object, sampling_probability: TensorLike, time_major: bool = False,
        seed: int | None = None, scheduling_seed: int | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", [embedding, sampling_probability]):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: object, outputs: TensorLike, state: object, name: str | None = None) -> Tensor:
        """Drawn ids; -1 for sequences that read their next input."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs, state]):
            chosen = bernoulli_sample(
                probs=self._sampling_probability, dtype=dtypes.bool, sample_shape=self.batch_size, seed=self._scheduling_seed
            )
            return where(chosen, categorical_sample(logits=outputs, seed=self._seed), fill([self.batch_size], -1))

    def next_inputs(self, time: object, outputs: object, state: object, sample_ids: Any, name: str | None = None) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs, state, sample_ids]):
            finished, given, state = super().next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids, name=name
            )

            def mixed() -> Tensor:
                drawn, read = rows(sample_ids > -1), rows(sample_ids <= -1)
                ids, kept = gather_nd(sample_ids, drawn), gather_nd(given, read)
                return merged(given, (drawn, self._embedding_fn(ids)), (read, kept))

            return finished, cond(reduce_all(finished), lambda: given, mixed), state


@export("contrib.seq2seq.ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(TrainingHelper):
    """A TrainingHelper that at random feeds the last outputs.

    Args:
      inputs, sequence_length, time_major, name: see TrainingHelper.
      sampling_probability: float32 scalar or [batch], how often the input is the last output.
      seed: op seed.
      next_inputs_fn: function from outputs to inputs; by default the outputs themselves.
      auxiliary_inputs: Tensor like `inputs` that is joined to the inputs of every step.

    Raises:
      ValueError: `sampling_probability` has more than one dimension.
    """

    def __init__(
        self, inputs: TensorLike, sequence_length: object, sampling_probability: TensorLike, time_major: bool = False, seed: int | None = None,
        next_inputs_fn: Callable | None = None, auxiliary_inputs: TensorLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        with name_scope(name, "ScheduledOutputTrainingHelper", [inputs, auxiliary_inputs, sampling_probability]):
            self._sampling_probability = probability(sampling_probability)
            self._seed, self._next_inputs_fn = seed, next_inputs_fn
            self._auxiliary_array = None
            if auxiliary_inputs is not None:
                inputs = convert_to_tensor(inputs, name="inputs")
                auxiliary_inputs = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = concat((inputs, auxiliary_inputs), -1)
                self._auxiliary_array = unstacked(auxiliary_inputs if time_major else transpose_batch_time(auxiliary_inputs))
            super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Tensor:
        """1 for sequences that feed their outputs, 0 for those that read."""
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs, state]):
            return bernoulli_sample(probs=self._sampling_probability, sample_shape=self.batch_size, seed=self._seed)

    def next_inputs(self, time: Any, outputs: Any, state: object, sample_ids: object, name: str | None = None) -> tuple[Any, Any, Any]:
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs, state, sample_ids]):
            finished, given, state = super().next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids, name=name
            )
            chosen = cast(sample_ids, dtypes.bool)
            ended = reduce_all(finished)
            unchanged = raw.LogicalOr(ended, logical_not(reduce_any(chosen)))
            mixed = outputs_mixed(self._next_inputs_fn, self._auxiliary_array, time, outputs, given, chosen)
            return finished, cond(unchanged, lambda: given, mixed), state
