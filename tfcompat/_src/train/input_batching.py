"""tf.train.batch and its kin: examples that other threads make, collected to batches in a queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor_or_indexed_slices, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.partition import dynamic_partition
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import no_op, with_dependencies
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.queues.queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tfcompat._src.ops.sparse.convert import sparse_retain
from tfcompat._src.ops.sparse.serialize import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.queue_runner import QueueRunner, add_queue_runner

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- sparse tensors: they wait in a map of the Session, and their numbers there go through the queue ----


@dataclass
class SparseSlot:
    """One place of the list of tensors: for a SparseTensor, the operation that stores it and the rank of an example."""

    map_op: Operation | None = None
    rank: int | None = None

    def merged(self, other: SparseSlot) -> SparseSlot:
        """This slot, and what is known of the rank elsewhere; ValueError where the two do not fit."""
        ranks = {r for r in (self.rank, other.rank) if r is not None}
        if (self.map_op is None) != (other.map_op is None) or len(ranks) > 1:
            raise ValueError(f"SparseMetaData objects are incompatible: {self} vs. {other}")
        return SparseSlot(self.map_op, max(ranks, default=None))


def store(tensors: list, slots: list[SparseSlot], enqueue_many: bool, keep_input: Tensor) -> tuple[list, list[SparseSlot]]:
    """The tensors, sparse ones replaced by the numbers of what was stored, and their slots; `slots` are those to share."""
    stored = [_stored(t, s, enqueue_many, keep_input) if isinstance(t, SparseTensor) else t for t, s in zip(tensors, slots)]
    found = []
    for tensor, handle, slot in zip(tensors, stored, slots):
        if not isinstance(tensor, SparseTensor):
            found.append(SparseSlot())
            continue
        size = tensor.dense_shape.shape.with_rank(1).as_list()[0]
        rank = size - 1 if enqueue_many and size is not None else size
        found.append(SparseSlot(slot.map_op or _storing_op(handle), rank))
    return [expand_dims(h, [-1]) if s.map_op else h for h, s in zip(stored, found)], found


def _storing_op(stored: Tensor) -> Operation:
    storing = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")
    return next((t.op for t in stored.op.inputs if t.op.type in storing), stored.op)


def _stored(tensor: SparseTensor, slot: SparseSlot, enqueue_many: bool, keep_input: Tensor) -> Tensor:
    """The numbers under which the examples of a sparse tensor are stored; -1 where they are not kept."""
    shared_name = slot.map_op.name if slot.map_op else None

    if keep_input.shape.ndims == 1:
        kept = sparse_retain(tensor, gather(keep_input, tensor.indices[:, 0]))
        return add_many_sparse_to_tensors_map(kept, shared_name=shared_name)
    if not enqueue_many:
        return smart_cond(
            keep_input, lambda: add_sparse_to_tensors_map(tensor, shared_name=shared_name),
            lambda: constant(-1, dtypes.int64),
        )  # fmt: skip
    found = smart_cond(
        keep_input, lambda: add_many_sparse_to_tensors_map(tensor, shared_name=shared_name),
        lambda: -1 * ones(shape(tensor)[0:1], dtypes.int64),
    )  # fmt: skip
    found.set_shape([None])
    return found


def restored(stored: object, slots: list[SparseSlot]) -> Any:
    """What came from the queue, numbers of stored tensors replaced by the sparse batch."""
    is_list = isinstance(stored, Sequence)
    tensors = [
        take_many_sparse_from_tensors_map(s.map_op, squeeze(t, [1]), None if s.rank is None else s.rank + 1) if s.map_op else t
        for t, s in zip(stored if is_list else [stored], slots)
    ]
    if any(s.map_op for s in slots):
        values = [t.values if isinstance(t, SparseTensor) else t for t in tensors]
        tensors = [_after(values, t) for t in tensors]
    return tensors if is_list else tensors[0]


def _after(values: list, tensor: object) -> Any:
    if not isinstance(tensor, SparseTensor):
        return with_dependencies(values, tensor)
    return SparseTensor(
        indices=with_dependencies(values, tensor.indices), values=with_dependencies(values, tensor.values),
        dense_shape=with_dependencies(values, tensor.dense_shape),
    )  # fmt: skip


# ---- lists of tensors ----


def _as_tensor_list(tensors: Any) -> list:
    return [tensors[k] for k in sorted(tensors, key=str)] if isinstance(tensors, dict) else tensors


def _as_tensor_list_list(tensors_list: Any) -> list:
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    first = tensors_list[0]
    if isinstance(first, dict) and any(set(t) != set(first) for t in tensors_list):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [_as_tensor_list(t) for t in tensors_list]


def _as_original_type(tensors: Any, batch: Any) -> Any:
    """The batch in the structure of an example."""
    if not isinstance(tensors, dict):
        return batch
    return dict(zip(sorted(tensors, key=str), [batch] if len(tensors) == 1 else batch))


def checked_keep_input(keep_input: TensorLike, enqueue_many: bool) -> Tensor:
    keep_input = convert_to_tensor(keep_input)
    rank = keep_input.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def types_of(lists: list[list[Tensor]]) -> list[dtypes.DType]:
    types = [t.dtype for t in lists[0]]
    for other in lists[1:]:
        others = [t.dtype for t in other]
        if others != types:
            names = (", ".join(t.name for t in kinds) for kinds in (types, others))
            raise TypeError("Expected types to be consistent: {} vs. {}.".format(*names))
    return types


def shapes_of(lists: list[list[Tensor]], enqueue_many: bool) -> list[list]:
    """The shape of each component, as far as the first list has it; ValueError where another list does not fit."""
    for tensor in (t for tensors in lists for t in tensors):
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    found = []
    for tensors in zip(*lists):
        shapes = [t.shape.with_rank_at_least(1)[1:] if enqueue_many else t.shape for t in tensors]
        for other in shapes[1:]:
            TensorShape(shapes[0]).merge_with(other)
        found.append(shapes[0].as_list())
    return found


# ---- the pipeline ----


@dataclass
class _Pipeline:
    """What the functions of this file have in common.

    `kind` is the default name scope; `make_queue(types, shapes)` the queue; `summarize(queue)` makes the summary of how full it is.
    """

    kind: str
    make_queue: Callable[[list, list], QueueBase]
    summarize: Callable[[QueueBase], Any]
    batch_size: Any
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    name: str | None

    def build(self, lists: list, keep_input: Any, threads: int = 1, check: Callable[[], None] = lambda: None) -> Any:
        """The nodes: one enqueue per list, each run by `threads` threads, and the batch.

        Args:
          lists: of tensors, one list per enqueue.
          keep_input: bool scalar or vector: what is enqueued at all.
          check: called inside the name scope.
        """
        if executing_eagerly():
            raise ValueError(
                "Input pipelines based on Queues are not supported when eager execution is enabled. Please use tf.data to "
                "ingest data into your model instead."
            )
        with name_scope(self.name, self.kind, [t for tensors in lists for t in tensors] + [keep_input]) as scope:
            check()
            lists = [convert_n_to_tensor_or_indexed_slices(tensors) for tensors in lists]
            if not lists[0]:
                raise ValueError("Expected at least one tensor in batch().")
            keep_input = checked_keep_input(keep_input, self.enqueue_many)
            lists, slots = self._stored_lists(lists, keep_input)
            types = types_of(lists)
            shapes = shapes_of(lists, self.enqueue_many) if self.shapes is None else self.shapes
            queue = self.make_queue(types, shapes)
            enqueues = [self._enqueue(queue, tensors, keep_input) for tensors in lists]
            add_queue_runner(QueueRunner(queue, enqueues * threads))
            self.summarize(queue)
            dequeue = queue.dequeue_up_to if self.allow_smaller_final_batch else queue.dequeue_many
            return restored(dequeue(self.batch_size, name=scope), slots)

    def _stored_lists(self, lists: list, keep_input: Tensor) -> tuple[list, list[SparseSlot]]:
        stored, slots = store(lists[0], [SparseSlot()] * len(lists[0]), self.enqueue_many, keep_input)
        found = [stored]
        for tensors in lists[1:]:
            stored, others = store(tensors, slots, self.enqueue_many, keep_input)
            slots = [slot.merged(other) for slot, other in zip(slots, others)]
            found.append(stored)
        return found, slots

    def _enqueue(self, queue: QueueBase, tensors: list, keep_input: Tensor) -> Operation:
        enqueue = queue.enqueue_many if self.enqueue_many else queue.enqueue
        if keep_input.shape.ndims == 1:
            side = cast(keep_input, dtypes.int32)
            return enqueue([dynamic_partition(t, side, num_partitions=2)[1] for t in tensors])
        return smart_cond(keep_input, lambda: enqueue(tensors), no_op)


def _first_in_first_out(
    kind: str, capacity: int, dynamic_pad: bool, shared_name: str | None, *common: Any
) -> _Pipeline:
    queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue

    def make_queue(types: list, shapes: list) -> QueueBase:
        return queue_class(capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name)

    def summarize(queue: QueueBase) -> Tensor:
        return scalar(f"fraction_of_{capacity}_full", cast(queue.size(), dtypes.float32) * (1.0 / capacity))

    return _Pipeline(kind, make_queue, summarize, *common)


def _shuffling(
    kind: str, capacity: int, min_after_dequeue: int, seed: int | None, shared_name: str | None, *common: Any
) -> _Pipeline:
    def make_queue(types: list, shapes: list) -> QueueBase:
        return RandomShuffleQueue(
            capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed, dtypes=types, shapes=shapes,
            shared_name=shared_name,
        )  # fmt: skip

    def summarize(queue: QueueBase) -> Tensor:
        room = capacity - min_after_dequeue
        full = cast(maximum(0, queue.size() - min_after_dequeue), dtypes.float32) * (1.0 / room)
        return scalar(f"fraction_over_{min_after_dequeue}_of_{room}_full", full)

    return _Pipeline(kind, make_queue, summarize, *common)


def _check_room(capacity: int, min_after_dequeue: int) -> Callable[[], None]:
    def check() -> None:
        if capacity <= min_after_dequeue:
            raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")

    return check


# ---- public functions ----


@export("train.batch")
def batch(
    tensors: object, batch_size: object, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes: object = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of examples, in order, from a queue that a QueueRunner fills.

    Args:
      tensors: list or dict of tensors: one example, or several along dimension 0 with `enqueue_many`.
      batch_size: int or int32 scalar.
      num_threads: how many threads compute `tensors`; with more than one, examples come in any order.
      capacity: largest number of examples in the queue.
      enqueue_many: see `tensors`.
      shapes: of one example of each tensor; by default those of `tensors`.
      dynamic_pad: whether examples of a batch are padded to one size.
      allow_smaller_final_batch: whether the last batch may be smaller.
      shared_name: under which several nodes of a Session share the queue.
      name: name scope, and name of the dequeue node.

    Returns:
      tensors with a new dimension 0, in the structure of `tensors`. In a run: OutOfRangeError at the end of the input.

    Raises:
      ValueError: a shape is not known, or no tensor is given.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


@export("train.maybe_batch")
def maybe_batch(
    tensors: object, keep_input: object, batch_size: object, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    shapes: object = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `batch`, of the examples for which `keep_input` is true (a bool scalar, or with `enqueue_many` a vector)."""
    pipeline = _first_in_first_out(
        "batch", capacity, dynamic_pad, shared_name, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name
    )
    return _as_original_type(tensors, pipeline.build([_as_tensor_list(tensors)], keep_input, num_threads))


@export("train.batch_join")
def batch_join(
    tensors_list: object, batch_size: object, capacity: int = 32, enqueue_many: bool = False, shapes: object = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `batch`, of examples from several lists or dicts of tensors, each computed by a thread of its own."""
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


@export("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any, keep_input: Any, batch_size: Any, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `batch_join`, of the examples for which `keep_input` is true (see `maybe_batch`)."""
    lists = _as_tensor_list_list(tensors_list)
    pipeline = _first_in_first_out(
        "batch_join", capacity, dynamic_pad, shared_name, batch_size, enqueue_many, shapes, allow_smaller_final_batch, name
    )
    return _as_original_type(tensors_list[0], pipeline.build(lists, keep_input))


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: object, batch_size: object, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
    enqueue_many: bool = False, shapes: object = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `batch`, of random examples among those in the queue, which keeps `min_after_dequeue` of them to choose from."""
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: object, batch_size: object, capacity: int, min_after_dequeue: int, keep_input: object, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: object = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `shuffle_batch`, of the examples for which `keep_input` is true (see `maybe_batch`)."""
    pipeline = _shuffling(
        "shuffle_batch", capacity, min_after_dequeue, seed, shared_name, batch_size, enqueue_many, shapes,
        allow_smaller_final_batch, name,
    )  # fmt: skip
    check = _check_room(capacity, min_after_dequeue)
    return _as_original_type(tensors, pipeline.build([_as_tensor_list(tensors)], keep_input, num_threads, check))


@export("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: object, batch_size: object, capacity: int, min_after_dequeue: int, seed: int | None = None,
    enqueue_many: bool = False, shapes: object = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `shuffle_batch`, of examples from several lists or dicts of tensors, each computed by a thread of its own."""
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `shuffle_batch_join`, of the examples for which `keep_input` is true (see `maybe_batch`)."""
    lists = _as_tensor_list_list(tensors_list)
    pipeline = _shuffling(
        "shuffle_batch_join", capacity, min_after_dequeue, seed, shared_name, batch_size, enqueue_many, shapes,
        allow_smaller_final_batch, name,
    )  # fmt: skip
    check = _check_room(capacity, min_after_dequeue)
    return _as_original_type(tensors_list[0], pipeline.build(lists, keep_input, check=check))
