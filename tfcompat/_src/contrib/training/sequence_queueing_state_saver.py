"""Sequences cut into segments of equal length, handed out in batches, with states that go from segment to segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.training.sequence_checks import (
    dimensions_checked,
    multiple_checked,
    rank_checked,
    shape_checked,
)
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.check_ops import assert_greater_equal
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import div, maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less_equal, logical_not
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.queues.barrier import Barrier
from tfcompat._src.ops.queues.queue import FIFOQueue
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.ops.strings.text import string_join

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

CAPACITY_TOKEN = 21051976
_SEGMENT_FIELDS = {
    "length": dtypes.int32, "total_length": dtypes.int32, "next_key": dtypes.string, "sequence": dtypes.int32,
    "sequence_count": dtypes.int32,
}  # fmt: skip


def _check_labels(what: str, labels: Any) -> None:
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"{what} must be a string: {label}")
        if ":" in label:
            raise ValueError(f"{what} may not have a colon: '{label}'")


class SequenceInput:
    """One example as tensors.

    Args:
      length: int scalar, of the sequences before padding.
      key: string scalar, unique.
      sequences: dict of tensors whose first dimension is time.
      context: dict of tensors that hold for the whole example.

    Raises:
      TypeError: no dict, or a label that is no str. ValueError: no sequence, or a colon in a label.
    """

    def __init__(self, length: object, key: TensorLike, sequences: dict[str, Any], context: dict[str, Any]) -> None:
        self.length = convert_to_tensor(length, name="length")
        self.key = convert_to_tensor(key, name="key")
        for kind, tensors in (("sequences", sequences), ("context", context)):
            if not isinstance(tensors, dict):
                raise TypeError(f"{kind} must be a dict")
        if not sequences:
            raise ValueError("must have at least one sequence tensor")
        _check_labels("sequence key", sequences)
        _check_labels("context key", context)
        self.sequences = _as_tensors("sequence", sequences)
        self.context = _as_tensors("context", context)


def _as_tensors(kind: str, values: dict[str, Any]) -> dict[str, Tensor]:
    return {label: convert_to_tensor(value, name=f"{kind}_{label}") for label, value in values.items()}


def _sorted_known(kind: str, tensors: dict[str, Tensor], first: int = 0) -> dict[str, Tensor]:
    """The tensors by label; ValueError where a size from dimension `first` on is unknown."""
    for label, tensor in tensors.items():
        if not tensor.shape[first:].is_fully_defined():
            ignoring = "(ignoring first dimension)" if first else ""
            raise ValueError(f"Shape for {kind} {label} is not fully defined {ignoring}: {tensor.shape}")
    return dict(sorted(tensors.items()))


@export("contrib.training.NextQueuedSequenceBatch")
class NextQueuedSequenceBatch:
    """The batch of segments that a `SequenceQueueingStateSaver` hands out next; made by it."""

    def __init__(self, state_saver: Any) -> None:
        self._state_saver = state_saver

    @property
    def total_length(self) -> Tensor:
        """int32 vector: lengths of the whole sequences."""
        return self._state_saver._received["total_length"]

    @property
    def length(self) -> Tensor:
        """int32 vector: lengths of the segments, `num_unroll` but for a last one."""
        return self._state_saver._received["length"]

    @property
    def batch_size(self) -> Tensor:
        """int32 scalar: the number of segments."""
        return self._state_saver._received_batch_size

    @property
    def insertion_index(self) -> Tensor:
        """int64 vector: numbers of the examples, rising from -2**63 in the order in which they came."""
        return self._state_saver._received_indices

    @property
    def key(self) -> Tensor:
        """string vector: `"%05d_of_%05d:%s"` of the segment's number, the number of segments and the example's key."""
        return self._state_saver._received_keys

    @property
    def next_key(self) -> Tensor:
        """string vector: keys of the following segments, `"STOP:%s"` after the last."""
        return self._state_saver._received["next_key"]

    @property
    def sequence(self) -> Tensor:
        """int32 vector: the segments' numbers, from 0."""
        return self._state_saver._received["sequence"]

    @property
    def sequence_count(self) -> Tensor:
        """int32 vector: numbers of segments of the examples."""
        return self._state_saver._received["sequence_count"]

    @property
    def context(self) -> dict[str, Tensor]:
        """What holds for the whole examples, batched."""
        return self._state_saver._received_context

    @property
    def sequences(self) -> dict[str, Tensor]:
        """The segments, `[batch_size, num_unroll, ...]`."""
        return self._state_saver._received_sequences

    def state(self, state_name: str) -> Tensor:
        """The state that was saved with the segments before, or the initial one."""
        return self._state_saver._received_states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Operation:
        """Hands `value`, `[batch_size, ...]`, to the following segments; ends the segment where there is none.

        Raises:
          KeyError: there is no such state.
        """
        saver = self._state_saver
        if state_name not in saver._received_states:
            raise KeyError(f"state was not declared: {state_name}")
        with name_scope(name, "InputQueueingStateSaver_SaveState", values=[value]), colocate_with(saver._capacity_queue.queue_ref):
            going_on = reshape(where_v2(logical_not(saver._sequence_is_done)), [-1])
            next_keys = gather(self.next_key, going_on)
            value = identity(value, name=f"convert_{state_name}")
            value = shape_checked(value, shape(saver._received_states[state_name]))
            return saver._insert("state", state_name, next_keys, gather(value, going_on), f"BarrierInsertState_{state_name}")


@export("contrib.training.SequenceQueueingStateSaver")
class SequenceQueueingStateSaver:
    """Cuts sequences into segments of `num_unroll` steps, queues them, and hands out batches with their states.

    Args:
      batch_size: int or int32 scalar, segments in a batch.
      num_unroll: int, steps in a segment; the padded length of the sequences is a multiple.
      input_length: int32 scalar, length of the sequences of the example before padding.
      input_key: string scalar, unique among the examples.
      input_sequences: dict of `[padded_length, ...]` tensors, known but for the first dimension.
      input_context: dict of tensors of known shape.
      initial_states: dict of values of known shape, at least one.
      capacity: examples that wait at most, at least `batch_size`; None: no limit.
      allow_small_batch: a closed saver hands out what is left in smaller batches.
      name: name scope.

    Raises:
      TypeError: of a wrong type. ValueError: shapes are unknown or do not fit, `capacity` is too small.
    """

    def __init__(
        self, batch_size: Any, num_unroll: int, input_length: object, input_key: TensorLike, input_sequences: dict[str, Any],
        input_context: dict[str, Any], initial_states: dict[str, Any], capacity: int | None = None,
        allow_small_batch: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        if capacity is not None and isinstance(batch_size, Tensor):
            enough = assert_greater_equal(
                cast(capacity, dtypes.int64), cast(batch_size, dtypes.int64), message="capacity needs to be >= batch_size."
            )
            with control_dependencies([enough]):
                input_key = identity(input_key)
        elif capacity is not None and capacity < batch_size:
            raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
        self._batch_size, self._num_unroll, self._allow_small_batch = batch_size, num_unroll, allow_small_batch
        self._prefetch_op: Operation | None = None
        self._next_batch: NextQueuedSequenceBatch | None = None
        self._capacity_queue = FIFOQueue(capacity=capacity, dtypes=[dtypes.int32], shapes=[[]])
        with colocate_with(self._capacity_queue.queue_ref):
            if not isinstance(initial_states, dict):
                raise TypeError("initial_states must be a dictionary")
            if not initial_states:
                raise ValueError("initial_states may not be empty: at least one state variable is required")
            _check_labels("state name", initial_states)
            values = [input_length, input_key, *input_sequences.values(), *input_context.values()]
            with name_scope(name, "InputQueueingStateSaver", values) as self._name:
                self._prepare(SequenceInput(input_length, input_key, input_sequences, input_context), initial_states)
                self._create_barrier()

    def _prepare(self, example: SequenceInput, initial_states: dict[str, Any]) -> None:
        """Converts and checks the input."""
        states = _as_tensors("state", initial_states)
        self._states = _sorted_known("state", states)
        self._context = _sorted_known("context", example.context)
        sequences = _sorted_known("sequence", example.sequences, first=1)
        length = rank_checked(example.length, 0)
        self._key = rank_checked(example.key, 0)
        for label, tensor, dtype in (("length", length, dtypes.int32), ("key", self._key, dtypes.string)):
            if tensor.dtype != dtype:
                raise TypeError(f"{label} dtype must be {dtype.name}, but received: {tensor.dtype}")
        padded_length = identity(shape(next(iter(sequences.values())))[0], name="padded_length")
        self._padded_length = multiple_checked(padded_length, self._num_unroll)
        self._sequences = {
            label: dimensions_checked(tensor, [0], [self._padded_length], f"sorted_sequences_{label}")
            for label, tensor in sequences.items()
        }
        fits = Assert(
            less_equal(length, self._padded_length),
            ["Input length should be <= than length from sequences:", length, " vs. ", self._padded_length],
        )
        with control_dependencies([fits]):
            self._length = identity(length)

    def _create_barrier(self) -> None:
        """Makes the barrier; its components are the fields of a segment, then sequences, context and states."""
        kinds = {"sequence": self._sequences, "context": self._context, "state": self._states}
        tensors = [(kind, label, tensor) for kind, group_ in kinds.items() for label, tensor in group_.items()]
        labels = [("segment", field) for field in _SEGMENT_FIELDS] + [(kind, label) for kind, label, _ in tensors]
        self._component = {label: number for number, label in enumerate(labels)}
        shapes: list[Any] = [()] * len(_SEGMENT_FIELDS)
        for kind, _, tensor in tensors:
            sizes = tensor.shape.as_list()
            shapes.append([self._num_unroll, *sizes[1:]] if kind == "sequence" else sizes)
        self._barrier = Barrier(types=[*_SEGMENT_FIELDS.values(), *(t.dtype for _, _, t in tensors)], shapes=shapes)

    @property
    def name(self) -> str:
        return self._name

    @property
    def barrier(self) -> Barrier:
        return self._barrier

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        return self._num_unroll

    @property
    def prefetch_op(self) -> Operation:
        """The operation that puts one example in; a QueueRunner's threads run it."""
        if self._prefetch_op is None:
            with name_scope(None), name_scope(self._name, values=[self._barrier.barrier_ref]):
                self._prefetch_op = self._create_prefetch_op()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The batch that a run takes; its states have to be saved in the same run."""
        if self._next_batch is None:
            self.prefetch_op  # noqa: B018
            with name_scope(None), name_scope(self._name, values=[self._barrier.barrier_ref]):
                self._prepare_barrier_reads()
            self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """The operation after which no new example comes in; with `cancel_pending_enqueues`, no started one goes on either."""
        with name_scope(name, "SQSSClose", [self._prefetch_op]) as name:
            barrier_close = self._barrier.close(cancel_pending_enqueues, "BarrierClose")
            queue_close = self._capacity_queue.close(cancel_pending_enqueues, "FIFOClose")
            return group(barrier_close, queue_close, name=name)

    def _insert(self, kind: str, label: str, keys: Tensor, values: Tensor, name: str) -> Operation:
        return self._barrier.insert_many(self._component[kind, label], keys, values, name=name)

    def _create_prefetch_op(self) -> Operation:
        """Cuts the example into segments and inserts them under their keys; only the first has its states."""
        unroll, count = self._num_unroll, div(self._padded_length, self._num_unroll)
        each = ones(expand_dims(count, 0), dtype=dtypes.int32)
        number = arange(count)
        length = minimum(unroll, maximum(0, self._length - unroll * number))
        total_length, counts = self._length * each, count * each
        keys = string_join(
            [as_string(number, width=5, fill="0"), "_of_", as_string(count, width=5, fill="0"), ":", self._key],
            name="StringJoinCurrentKeys",
        )
        following = slice_(keys, [1], [-1])
        stop = expand_dims(string_join(["STOP:", self._key], name="StringJoinStop"), 0)
        next_keys = concat([following, stop], 0, name="concat_next_keys")
        sequences = {label: self._segments(label, tensor, count) for label, tensor in self._sequences.items()}
        context = {label: _repeated(label, tensor, count) for label, tensor in self._context.items()}

        fields = {
            "sequence": ("Sequence", number), "sequence_count": ("SequenceCount", counts), "next_key": ("NextKey", next_keys),
            "length": ("Length", length), "total_length": ("TotalLength", total_length),
        }  # fmt: skip
        segments = [
            self._insert("segment", field, keys, values, f"BarrierInsert{title}") for field, (title, values) in fields.items()
        ]
        contexts = [self._insert("context", k, keys, v, f"BarrierInsertContext_{k}") for k, v in context.items()]
        parts = [self._insert("sequence", k, keys, v, f"BarrierInsertSequences_{k}") for k, v in sequences.items()]
        token = self._capacity_queue.enqueue((CAPACITY_TOKEN,))
        with control_dependencies([segments[0], token]):
            states = [
                self._insert("state", label, stack([keys[0]]), stack([value]), f"BarrierInitialInsertState_{label}")
                for label, value in self._states.items()
            ]
        return group(token, *segments, *states, *contexts, *parts, name="StateSaverPrefetchGroup")

    def _segments(self, label: str, sequence: Tensor, count: Tensor) -> Tensor:
        """A sequence as `[count, num_unroll, ...]`."""
        sizes = sequence.shape.as_list()[1:]
        wanted = concat([expand_dims(count, 0), expand_dims(self._num_unroll, 0), sizes], 0, name=f"concat_sequences_{label}")
        segments = reshape(sequence, wanted, name=f"reshape_sequences_{label}")
        lengths = [count, self._num_unroll, *sizes]
        return dimensions_checked(segments, list(range(len(lengths))), lengths, f"reshaped_sequences_{label}")

    def _prepare_barrier_reads(self) -> None:
        """Takes a batch; as many examples as end with it may then come in."""
        indices, keys, values = self._barrier.take_many(self._batch_size, self._allow_small_batch, name="BarrierTakeMany")
        self._received_indices, self._received_keys = indices, keys
        found = {label: values[number] for label, number in self._component.items()}
        self._received = {field: found["segment", field] for field in _SEGMENT_FIELDS}
        self._received_context = {label: found["context", label] for label in self._context}
        self._received_sequences = {label: found["sequence", label] for label in self._sequences}
        self._received_batch_size = squeeze(shape(self._received["length"]))
        self._sequence_is_done = self._received["sequence"] + 1 >= self._received["sequence_count"]
        finished = reduce_sum(cast(self._sequence_is_done, dtypes.int32))
        with control_dependencies([self._capacity_queue.dequeue_many(finished)]):
            self._received_states = {label: identity(found["state", label]) for label in self._states}


def _repeated(label: str, value: Tensor, count: Tensor) -> Tensor:
    """A value of the context once for each of `count` segments."""
    sizes = value.shape.as_list()
    row = expand_dims(value, 0)
    multiples = concat([expand_dims(count, 0), [1] * len(sizes)], 0, name=f"concat_context_{label}")
    rows = tile(row, multiples, name=f"tile_context_{label}")
    return dimensions_checked(rows, list(range(len(sizes) + 1)), [count, *sizes], f"expanded_context_{label}")
