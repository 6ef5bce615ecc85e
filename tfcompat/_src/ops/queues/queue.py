"""tf.queue: first-in first-out, padding, priority and shuffling queues of a graph."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes as dtypes_lib
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape, dimension_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.random.seeds import get_seed

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def as_type_list(dtypes: object) -> list:
    """A DType or a list of them, as a list."""
    if dtypes is None:
        raise AssertionError("dtypes must be given")
    return list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]


def as_shape_list(shapes: object, unknown_sizes: bool = False) -> list[TensorShape] | None:
    """Component shapes as a list; one shape stands for a list of one.

    Raises:
      TypeError: not a shape or a list of them. ValueError: a shape is not fully defined (or, with `unknown_sizes`, has no
        known rank, or no list is given).
    """

    def is_shape(value: Any) -> bool:
        return all(s is None or isinstance(s, int) for s in value)

    if unknown_sizes and (not isinstance(shapes, Sequence) or not shapes or any(s is None or isinstance(s, int) for s in shapes)):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    found = [TensorShape(s) for s in ([shapes] if is_shape(shapes) else shapes)]
    if not unknown_sizes and not all(s.is_fully_defined() for s in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if any(s.ndims is None for s in found):
        raise ValueError(f"All shapes must have a defined rank: {found}")
    return found


def _as_name_list(names: object, dtypes: list) -> list | None:
    if names is None:
        return None
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(names) != len(dtypes):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return names


def _common_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The sizes in which two shapes agree."""
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


def component_values(values: object) -> list:
    """The values of an enqueue, whether given alone, as a list or as a dict."""
    if isinstance(values, dict):
        return list(values.values())
    return values if isinstance(values, (list, tuple)) else [values]


@export("queue.QueueBase", "io.QueueBase", "QueueBase")
class QueueBase:
    """What all queues have: elements are tuples of tensors that one run puts in and another takes out.

    Args:
      dtypes: one DType per component.
      shapes: one shape per component, or None where they are unknown.
      names: one name per component, or None; with names, elements are dicts.
      queue_ref: the handle, a resource Tensor.

    Attributes: `queue_ref`, `name`, `dtypes`, `shapes`, `names`.
    """

    def __init__(self, dtypes: list, shapes: list | None, names: list | None, queue_ref: Tensor) -> None:
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        self._dtypes = dtypes
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None) for _ in dtypes]
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: TensorLike, queues: list[QueueBase]) -> QueueBase:
        """The queue at place `index` (int32 scalar Tensor) of a list of queues with equal component types and names.

        Raises:
          TypeError: not a list of queues, or they have other types or names.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_common_shape, s) for s in zip(*(q.shapes for q in queues))]
        chosen = gather(stack([q.queue_ref for q in queues]), index)
        return QueueBase(dtypes=first.dtypes, shapes=shapes, names=first.names, queue_ref=chosen)

    @property
    def queue_ref(self) -> Tensor:
        return self._queue_ref

    @property
    def name(self) -> str:
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> list | None:
        return self._names

    def _components(self, vals: object) -> list[Tensor]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: ({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        pairs = enumerate(zip(component_values(vals), self._dtypes))
        return [convert_to_tensor(value, dtype=dtype, name=f"component_{i}") for i, (value, dtype) in pairs]

    def _structured(self, tensors: list[Tensor], shapes: list[TensorShape]) -> Any:
        for tensor, shape in zip(tensors, shapes):
            tensor.set_shape(shape)
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def _batched(self, size: object) -> list[TensorShape]:
        return [TensorShape([size]).concatenate(s) for s in self._shapes]

    @property
    def _is_v2(self) -> bool:
        return self._queue_ref.dtype == dtypes_lib.resource

    def enqueue(self, vals: object, name: str | None = None) -> Operation:
        """Adds one element; a run waits while the queue is full.

        Args:
          vals: a tensor, or a list or (with names) dict of one per component.
          name: node name.

        Returns:
          the Operation. In a run: CancelledError where the queue is closed.
        """
        with name_scope(name, f"{self._name}_enqueue", component_values(vals)) as scope:
            components = self._components(vals)
            for value, shape in zip(components, self._shapes):
                value.shape.assert_is_compatible_with(shape)
            make = raw.QueueEnqueueV2 if self._is_v2 else raw.QueueEnqueue
            return make(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals: object, name: str | None = None) -> Operation:
        """Adds the elements along dimension 0 of every component; a run waits while the queue is full.

        Args:
          vals: a tensor, or a list or (with names) dict of one per component, all with the same size of dimension 0.
          name: node name.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", component_values(vals)) as scope:
            components = self._components(vals)
            size = Dimension(None)
            for value, shape in zip(components, self._shapes):
                sizes = value.shape.with_rank_at_least(1)
                size = size.merge_with(Dimension(dimension_value(sizes[0])))
                sizes[1:].assert_is_compatible_with(shape)
            return raw.QueueEnqueueManyV2(self._queue_ref, components, name=scope)

    def dequeue(self, name: str | None = None) -> Any:
        """One element: a tensor, list or (with names) dict of tensors; a run waits while the queue is empty.

        In a run: OutOfRangeError where the queue is closed and empty.
        """
        make = raw.QueueDequeueV2 if self._is_v2 else raw.QueueDequeue
        return self._structured(make(self._queue_ref, self._dtypes, name=name or f"{self._name}_Dequeue"), self._shapes)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """`n` elements (int32 scalar) stacked along dimension 0; a run waits until there are as many.

        In a run: OutOfRangeError where the queue is closed and has fewer.
        """
        found = raw.QueueDequeueManyV2(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueMany"
        )
        return self._structured(found, self._batched(constant_value(found[0].op.inputs[1])))

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """`n` elements (int32 scalar) stacked along dimension 0, or those that are left where the queue is closed."""
        found = raw.QueueDequeueUpToV2(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueUpTo"
        )
        return self._structured(found, self._batched(None))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Ends enqueueing: what waits to be enqueued still gets in, or fails with `cancel_pending_enqueues`."""
        make = raw.QueueCloseV2 if self._is_v2 else raw.QueueClose
        return make(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close"
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, a bool scalar."""
        make = raw.QueueIsClosedV2 if self._is_v2 else raw.QueueIsClosed
        return make(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        make = raw.QueueSizeV2 if self._is_v2 else raw.QueueSize
        return make(self._queue_ref, name=name or f"{self._name}_Size")


@export("queue.FIFOQueue", "FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue that gives the oldest element first.

    Args:
      capacity: the largest number of elements; negative for no limit.
      dtypes: a DType or one per component.
      shapes: fully defined shapes, one per component; without them elements may differ and batches cannot be taken.
      names: one name per component.
      shared_name: under which several nodes of a Session share the queue.
      name: node name.
    """

    def __init__(
        self, capacity: int, dtypes: object, shapes: object = None, names: object = None, shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:  # fmt: skip
        dtypes = as_type_list(dtypes)
        shapes = as_shape_list(shapes)
        names = _as_name_list(names, dtypes)
        handle = raw.FIFOQueueV2(
            component_types=dtypes, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(dtypes, shapes, names, handle)


@export("queue.PaddingFIFOQueue", "io.PaddingFIFOQueue", "PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose shapes may have unknown sizes; `dequeue_many` pads with 0 or "" to the largest element.

    Args: as of FIFOQueue; `shapes` must be given, with known ranks.
    """

    def __init__(
        self, capacity: int, dtypes: object, shapes: object, names: object = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        dtypes = as_type_list(dtypes)
        shapes = as_shape_list(shapes, unknown_sizes=True)
        names = _as_name_list(names, dtypes)
        if len(dtypes) != len(shapes):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and {len(shapes)} shapes."
            )
        handle = raw.PaddingFIFOQueueV2(
            component_types=dtypes, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(dtypes, shapes, names, handle)


@export("queue.PriorityQueue", "io.PriorityQueue", "PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue that gives the element with the lowest priority first.

    Args: as of FIFOQueue, where `types` and `shapes` are those of the components behind the priority, which is an int64
      scalar and the first component of every element.
    """

    def __init__(
        self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:  # fmt: skip
        types = as_type_list(types)
        shapes = as_shape_list(shapes)
        handle = raw.PriorityQueueV2(
            component_types=types, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__([dtypes_lib.int64, *types], [(), *shapes] if shapes else shapes, names, handle)


@export("queue.RandomShuffleQueue", "io.RandomShuffleQueue", "RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue that gives a random element.

    Args: as of FIFOQueue, and
      min_after_dequeue: how many elements an open queue keeps to choose from.
      seed: together with the graph's seed, fixes the order.
    """

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: object, shapes: object = None, names: object = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        dtypes = as_type_list(dtypes)
        shapes = as_shape_list(shapes)
        names = _as_name_list(names, dtypes)
        seed1, seed2 = get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            digest = hashlib.md5(f"{seed1}{shared_name}".encode()).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        handle = raw.RandomShuffleQueueV2(
            component_types=dtypes, shapes=shapes, capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed1,
            seed2=seed2, shared_name=shared_name, name=name,
        )  # fmt: skip
        super().__init__(dtypes, shapes, names, handle)
