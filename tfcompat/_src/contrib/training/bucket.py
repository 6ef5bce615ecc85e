"""tf.contrib.training.bucket: examples collected to batches of examples that are alike."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.control.cond import cond, smart_cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less, less_equal, logical_and
from tfcompat._src.ops.math.reduce import reduce_min
from tfcompat._src.ops.queues.queue import FIFOQueue, PaddingFIFOQueue, QueueBase
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train import input_batching as batching
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _static_size(size: TensorLike) -> Any:
    """A batch size as a number where it is known, else as a tensor."""
    tensor = convert_to_tensor(size, dtype=dtypes.int32, name="batch_size")
    value = constant_value(tensor)
    return tensor if value is None else value


@export("contrib.training.bucket")
def bucket(
    tensors: object, which_bucket: TensorLike, batch_size: object, num_buckets: int, num_threads: int = 1, capacity: int = 32,
    bucket_capacities: list[int] | None = None, shapes: object = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, keep_input: TensorLike = True, shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Batches of examples of one bucket.

    Args:
      tensors: list or dict of tensors, one example.
      which_bucket: int32 scalar, the example's bucket.
      batch_size: int or int32 scalar, or a list of one per bucket.
      num_buckets: number of buckets.
      bucket_capacities: of the queue of each bucket, `capacity` by default.
      num_threads, capacity, shapes, dynamic_pad, allow_smaller_final_batch, keep_input, shared_name, name: see `tf.train.batch`.

    Returns:
      (bucket, batch): int32 scalar, and tensors in the structure of `tensors`.

    Raises:
      ValueError: `batch_size` or `bucket_capacities` is a list of another length than `num_buckets`.
    """
    per_bucket = isinstance(batch_size, (list, tuple))
    if per_bucket and len(batch_size) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else bucket_capacities
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({num_buckets}) elements."
        )
    tensor_list = batching._as_tensor_list(tensors)
    with name_scope(name, "bucket", tensor_list):
        tensor_list = convert_n_to_tensor_or_indexed_slices(tensor_list)
        if not tensor_list:
            raise ValueError("Expected at least one tensor in bucket().")
        keep_input = batching.checked_keep_input(keep_input, enqueue_many=False)
        tensor_list, slots = batching.store(tensor_list, [batching.SparseSlot()] * len(tensor_list), False, keep_input)
        sizes = [_static_size(size) for size in (batch_size if per_bucket else [batch_size] * num_buckets)]
        types = batching.types_of([tensor_list])
        shapes = batching.shapes_of([tensor_list], enqueue_many=False) if shapes is None else shapes
        which_bucket = convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            queue_class(
                capacity=capacities[i], dtypes=types, shapes=shapes, name=f"bucket_queue_{i}",
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
            )
            for i in range(num_buckets)
        ]  # fmt: skip
        batch = None if allow_smaller_final_batch or per_bucket or isinstance(sizes[-1], Tensor) else sizes[-1]
        top = PaddingFIFOQueue(
            capacity=capacity, dtypes=[dtypes.int32, *types], shared_name=shared_name, name="top_queue",
            shapes=[TensorShape([]), *(TensorShape([batch]).concatenate(s) for s in queues[0].shapes)],
        )  # fmt: skip
        fill = smart_cond(keep_input, _filling(queues, tensor_list, which_bucket), no_op)
        moves = [_move(i, queue, size, top, allow_smaller_final_batch) for i, (queue, size) in enumerate(zip(queues, sizes))]
        _add_runners(queues, top, [fill] * num_threads, moves)
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", cast(top.size(), dtypes.float32))
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", cast(top.size(), dtypes.float32) * (1.0 / capacity))
        which, *found = top.dequeue(name="dequeue_top")
        batch = batching.restored(found[0] if len(found) == 1 else found, slots)
        return which, batching._as_original_type(tensors, batch)


def _filling(queues: list[QueueBase], tensors: list, which_bucket: Tensor) -> Callable[[], Operation]:
    """Makes the operation that puts an example into the queue of its bucket."""

    def fill() -> Operation:
        enqueues = [
            cond(equal(which_bucket, i), functools.partial(queue.enqueue, tensors), no_op) for i, queue in enumerate(queues)
        ]
        return group(*enqueues, name="group_enqueues")

    return fill


def _move(number: int, queue: QueueBase, size: object, top: QueueBase, allow_smaller: bool) -> Operation:
    """The operation that moves a batch from the queue of a bucket to the top queue."""
    which = constant(number)
    found = (queue.dequeue_up_to if allow_smaller else queue.dequeue_many)(size, name=f"read_bucket_{number}")
    parts = found if isinstance(found, (list, tuple)) else [found]
    return top.enqueue([which, *parts], name=f"enqueue_from_bucket_{number}")


def _add_runners(queues: list[QueueBase], top: QueueBase, fills: list[Operation], moves: list[Operation]) -> None:
    """The runners: `moves` end with the queues of the buckets, and the `fills` of these with their input."""
    closed = (errors.OutOfRangeError, errors.CancelledError)
    add_queue_runner(
        QueueRunner(
            queues[0], moves, close_op=top.close(), cancel_op=top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=closed,
        )
    )  # fmt: skip
    add_queue_runner(
        QueueRunner(
            top, fills, close_op=group(*[q.close() for q in queues]),
            cancel_op=group(*[q.close(cancel_pending_enqueues=True) for q in queues]), queue_closed_exception_types=closed,
        )
    )  # fmt: skip


@export("contrib.training.bucket_by_sequence_length")
def bucket_by_sequence_length(
    input_length: TensorLike, tensors: object, batch_size: object, bucket_boundaries: list[int], num_threads: int = 1,
    capacity: int = 32, bucket_capacities: list[int] | None = None, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, keep_input: TensorLike = True, shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Batches of sequences of like length.

    Args:
      input_length: int32 scalar, the length of the example.
      tensors: list or dict of tensors, one example.
      bucket_boundaries: rising lengths; a bucket goes from one (included) to the next (excluded), with one at each end.
      others: see `bucket`.

    Returns:
      (lengths, batch): int32 vector, and tensors in the structure of `tensors`.

    Raises:
      TypeError: `bucket_boundaries` is no list of int. ValueError: it is empty or does not rise.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in zip(bucket_boundaries[:-1], bucket_boundaries[1:]):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}")
    tensor_list = batching._as_tensor_list(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *tensor_list]):
        input_length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        limits = np.iinfo(np.int32)
        lows, highs = [limits.min, *bucket_boundaries], [*bucket_boundaries, limits.max]
        inside = logical_and(less_equal(lows, input_length), less(input_length, highs))
        which_bucket = cast(reduce_min(where_v2(inside)), dtypes.int32)
        _, found = bucket(
            tensors=[input_length, *tensor_list], which_bucket=which_bucket, batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1, num_threads=num_threads, capacity=capacity,
            bucket_capacities=bucket_capacities, shapes=None if shapes is None else [TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad, allow_smaller_final_batch=allow_smaller_final_batch, keep_input=keep_input,
            shared_name=shared_name,
        )  # fmt: skip
        return found[0], batching._as_original_type(tensors, found[1:])
