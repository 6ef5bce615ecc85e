"""tf.contrib.training.batch_sequences_with_states: padding, sparse sequences and threads around the state saver."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.contrib.training.sequence_checks import is_multiple
from tfcompat._src.contrib.training.sequence_queueing_state_saver import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
)
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import floor
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.ops.sparse.serialize import add_many_sparse_to_tensors_map, take_many_sparse_from_tensors_map
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.ops.strings.text import string_join
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner

_CONTEXT_PREFIX = "_context_in_seq_"


def _is_sparse(value: object) -> bool:
    return isinstance(value, (SparseTensor, SparseTensorValue))


@export("contrib.training.batch_sequences_with_states")
def batch_sequences_with_states(
    input_key: object, input_sequences: dict[str, Any], input_context: dict[str, Any], input_length: object,
    initial_states: dict[str, Any], num_unroll: int, batch_size: object, num_threads: int = 3, capacity: int = 1000,
    allow_small_batch: bool = True, pad: bool = True, make_keys_unique: bool = False, make_keys_unique_seed: Any = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:  # fmt: skip
    """Batches of segments of sequences, with states, filled by the threads of a queue runner.

    Args:
      input_key, input_length, initial_states, num_unroll, batch_size, capacity, allow_small_batch: see
        `SequenceQueueingStateSaver`; `input_length` None with `pad`: the length of the sequences.
      input_sequences: dict of tensors and SparseTensors whose first dimension is time.
      input_context: dict of tensors and SparseTensors; the sparse ones are moved out of it.
      num_threads: threads that put examples in.
      pad: fill the sequences up to a multiple of `num_unroll` with zeros or empty strings.
      make_keys_unique: append a random number, of seed `make_keys_unique_seed`, to the key.
      name: name scope.

    Returns:
      the batch.

    Raises:
      TypeError: a sequence that is no tensor. ValueError: see `SequenceQueueingStateSaver`.
    """
    values = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with name_scope(name, "batch_sequences_with_states", values) as name:
        if pad:
            length, input_sequences = padded(input_sequences, num_unroll)
            input_length = length if input_length is None else input_length
        else:
            input_sequences = {label: _multiple_checked(label, v, num_unroll) for label, v in input_sequences.items()}
        _move_sparse_context_out(input_context, input_sequences, num_unroll)
        sequences, sparse_labels, stores = stored_sparse(input_sequences)
        if make_keys_unique:
            number = random_uniform((), minval=0, maxval=100000000, dtype=dtypes.int32, seed=make_keys_unique_seed)
            input_key = string_join([input_key, as_string(number)])
        saver = SequenceQueueingStateSaver(
            batch_size, num_unroll, input_length=input_length, input_key=input_key, input_sequences=sequences,
            input_context=input_context, initial_states=initial_states, capacity=capacity,
            allow_small_batch=allow_small_batch,
        )  # fmt: skip
        ready = cast(saver.barrier.ready_size(), dtypes.float32)
        scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", ready)
        closed = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=closed))
        batch = saver.next_batch
        restore_sparse(batch.sequences, sparse_labels, stores, batch_size, num_unroll)
        _move_sparse_context_in(batch.context, batch.sequences)
        return batch


def padded(sequences: dict[str, Any], num_unroll: int) -> tuple[Any, dict[str, Any]]:
    """Sequences of one length, and the length that they had; sparse ones get another dense shape.

    Args:
      sequences: dict of values and SparseTensors whose first dimension is time.
      num_unroll: int of which the new length is a multiple.

    Raises:
      TypeError: `sequences` is no dict of str. ValueError: `num_unroll` is no int.
    """
    if not isinstance(num_unroll, Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    for label in sequences:
        if not isinstance(label, str):
            raise TypeError(f"Unsupported sequences key expected string, got: {label}")
    if not sequences:
        return 0, {}
    converted = {label: v if _is_sparse(v) else convert_to_tensor(v) for label, v in sorted(sequences.items())}
    length = _common_length(list(converted.values()))
    unroll = constant(num_unroll)
    padded_length = length + (unroll - length % unroll) % unroll
    return length, {label: _padded_to(value, padded_length) for label, value in converted.items()}


def _common_length(values: list) -> Tensor:
    """The length of the tensors, checked to be one; without tensors, the longest dense shape."""
    lengths = [shape(value)[0] for value in values if isinstance(value, Tensor)]
    if not lengths:
        return reduce_max(cast([value.dense_shape[0] for value in values], dtypes.int32))
    message = "All sequence lengths must match, but received lengths: "
    checks = [Assert(equal(length, lengths[0]), [string_join([message, as_string(lengths)])]) for length in lengths]
    return with_dependencies(checks, lengths[0])


def _padded_to(value: Any, length: Tensor) -> SparseTensor | Tensor:
    if _is_sparse(value):
        sizes = concat([[cast(length, dtypes.int64)], value.dense_shape[1:]], 0)
        return SparseTensor(value.indices, value.values, sizes)
    missing = [length - shape(value)[0]]
    sizes = concat((missing, shape(value)[1:]), 0)
    blank = constant("" if value.dtype == dtypes.string else 0, dtype=value.dtype)
    return concat([value, fill(sizes, blank)], 0)


def _multiple_checked(label: str, value: Any, num_unroll: int) -> SparseTensor | Tensor:
    """A sequence after the check that its length is a multiple of `num_unroll`."""
    if _is_sparse(value):
        what, length, parts = "SparseTensor", value.dense_shape[0], (value.indices, value.values, value.dense_shape)
    else:
        try:
            value = convert_to_tensor(value)
        except TypeError:
            raise TypeError(
                f"Unsupported input_sequences expected Tensor or SparseTensor values, got: {type(value)} for key {label}"
            ) from None
        what, length, parts = "Tensor", shape(value)[0], (value,)
    with control_dependencies([is_multiple(length, num_unroll, length % num_unroll, f"{what} {label} first dimension")]):
        checked = [identity(part, name="multiple_of_checked") for part in parts]
    return SparseTensor(*checked) if _is_sparse(value) else checked[0]


# ---- sparse context: a sequence that holds a copy at the first step of each segment ----


def _move_sparse_context_out(context: dict[str, Any], sequences: dict[str, Any], num_unroll: int) -> None:
    length = constant(1)
    if sequences:
        first = next(iter(sequences.values()))
        if isinstance(first, Tensor):
            with control_dependencies([first]):
                length = shape(first)[0]
        else:
            length = first.dense_shape[0]
    length = cast(length, dtypes.int64)
    for label in sorted(label for label, value in context.items() if _is_sparse(value)):
        sequences[_CONTEXT_PREFIX + label] = _copies(context.pop(label), length, num_unroll)


def _copies(sparse: SparseTensor, length: Tensor, num_unroll: int) -> SparseTensor:
    """`[length, ...]`: the values of `sparse` at every step that begins a segment."""
    count = cast(length // num_unroll, dtypes.int32)
    values = tile(sparse.values, expand_dims(count, 0))
    sizes = concat([expand_dims(length, 0), sparse.dense_shape], 0)
    places = tile(expand_dims(sparse.indices, 0), stack([count, 1, 1]))
    rows, columns = shape(sparse.indices)[0], shape(sparse.indices)[1]
    steps = expand_dims(expand_dims(arange(0, length, num_unroll), 1), 2)
    steps = tile(steps, [1, rows, 1])
    indices = reshape(concat([steps, places], 2), [rows * count, columns + 1])
    return SparseTensor(indices, values, sizes)


def _move_sparse_context_in(context: dict[str, Any], sequences: dict[str, Any]) -> None:
    for label in sorted(label for label in sequences if label.startswith(_CONTEXT_PREFIX)):
        found = sequences.pop(label)
        sizes = concat([[found.dense_shape[0]], [1], found.dense_shape[2:]], 0)
        one_step = SparseTensor(found.indices, found.values, sizes)
        without_time = concat([[one_step.dense_shape[0]], one_step.dense_shape[2:]], 0)
        context[label.removeprefix(_CONTEXT_PREFIX)] = sparse_reshape(one_step, without_time)


# ---- sparse sequences: the barrier holds numbers under which the session keeps their rows ----


def stored_sparse(sequences: dict[str, Any], shared_name: str | None = None) -> tuple[dict, list | None, list]:
    """The sequences, sparse ones as handles; the labels of these (None where there are none) and the storing operations."""
    labels = sorted(label for label, value in sequences.items() if _is_sparse(value))
    if not labels:
        return sequences, None, []
    handles = {label: add_many_sparse_to_tensors_map(sequences[label], shared_name=shared_name) for label in labels}
    return {**sequences, **handles}, labels, [handle.op for handle in handles.values()]


def restore_sparse(
    sequences: dict[str, Any], labels: list | None, stores: list[Operation], batch_size: object, num_unroll: int
) -> None:
    """Puts SparseTensors `[batch_size, num_unroll, ...]` in the places of their handles."""
    if not labels:
        return
    found = [
        take_many_sparse_from_tensors_map(store, reshape(sequences[label], [-1]), rank=None)
        for label, store in zip(labels, stores)
    ]
    unroll = convert_to_tensor(num_unroll, dtype=dtypes.int64, name="num_unroll_int64")
    for label, rows in zip(labels, found):
        sequences[label] = _by_segment(rows, batch_size, unroll)


def _by_segment(rows: SparseTensor, batch_size: object, unroll: Tensor) -> SparseTensor:
    segment = cast(floor(rows.indices[:, 0] / unroll), dtypes.int64)
    step = floormod(rows.indices[:, 0], unroll)
    indices = concat([expand_dims(segment, 1), expand_dims(step, 1), rows.indices[:, 1:]], axis=1)
    sizes = concat([[cast(batch_size, dtypes.int64)], [cast(unroll, dtypes.int64)], rows.dense_shape[1:]], axis=0)
    return SparseTensor(indices, rows.values, sizes)
