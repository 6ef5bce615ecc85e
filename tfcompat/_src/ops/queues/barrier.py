"""Barriers: elements whose components come one by one, by key, and can be taken when they are complete."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import DType, int64, string
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, WAITING, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.queues import state
from tfcompat._src.ops.queues.queue import as_shape_list, as_type_list
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE, NO_GRADIENT, type_list_text
from tfcompat._src.ops.queues.resource import SharedResource, cancelled, invalid, shared_resource

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_FIRST_INDEX = -(2**63)


class BarrierState(SharedResource):
    """Incomplete elements by key, and a queue of the complete ones, by the order in which their keys were first seen."""

    def __init__(self, component_types: list[DType], shapes: list[tuple]) -> None:
        super().__init__()
        self.component_types = component_types
        self.queue = state.PriorityQueue(-1, [string, *component_types], [(), *shapes])
        self.incomplete: dict[bytes, list] = {}
        self._index = _FIRST_INDEX
        self._closed = self._cancelled_enqueues = False

    def cancel(self) -> None:
        super().cancel()
        self.queue.cancel()

    def wake(self) -> None:
        super().wake()
        self.queue.wake()

    def insert(self, component: int, keys: Any, values: Any) -> None:
        """Gives values to one component of the elements with these keys.

        Raises:
          errors.CancelledError: the barrier is closed, and a key is new or enqueues are cancelled.
          errors.InvalidArgumentError: a key has a value for the component.
        """
        if not values.ndim or len(values) < keys.size:
            raise invalid(f"Expected a value for each of {keys.size} keys, but received shape {shape_text(values.shape)}")
        if keys.size and not values.size:
            raise invalid(f"Tensors with no elements are not supported {self.name}: received shape {shape_text(values.shape)}")
        with self.lock:
            if self._closed and (self._cancelled_enqueues or (keys.size and not self.incomplete)):
                raise cancelled(
                    f"Barrier {self.name} is closed.  Pending enqueues cancelled: {int(self._cancelled_enqueues)}.  Number "
                    f"of new insertions: {keys.size}.  Number of incomplete keys: {len(self.incomplete)}."
                )
            before = self._index
            ready = []
            for place, key in enumerate(keys.tolist()):
                element = self._element(key, place, before)
                if element[2 + component] is not None:
                    raise invalid(f"Key {key.decode('latin-1')} already has a value for component {component} in barrier {self.name}")
                element[2 + component] = values[place].copy() if values.ndim > 1 else values[place]
                if all(part is not None for part in element):
                    ready.append(self._complete(key))
            self.queue.enqueue(ready)
            if self._closed and not self.incomplete and not self.queue.closed:
                self.queue.close(False)

    def _element(self, key: bytes, place: int, index: int) -> list:
        if key not in self.incomplete:
            if self._closed:
                raise cancelled(
                    f"Barrier {self.name} is closed, but attempted to insert a brand new key: {key.decode('latin-1')}.  "
                    f"Pending enqueues cancelled: {int(self._cancelled_enqueues)}.  Insertion index: {place}.  Number of "
                    f"incomplete keys: {len(self.incomplete)}."
                )
            self.incomplete[key] = [index, key] + [None] * len(self.component_types)
            self._index = index + 1
        return self.incomplete[key]

    def _complete(self, key: bytes) -> tuple:
        element = self.incomplete.pop(key)
        for place, (value, wanted) in enumerate(zip(element[2:], self.queue.shapes[2:]), start=2):
            state.require_shape(place, value.shape if hasattr(value, "shape") else (), wanted)
        return tuple(element)

    def take(self, count: int, allow_small_batch: bool) -> list[tuple]:
        """`count` complete elements; waits for them. OutOfRangeError where the barrier is closed and there will be fewer."""
        with self.lock:
            if self._closed:
                available = len(self.queue.elements)
                if allow_small_batch:
                    count = min(count, available)
                else:
                    available += len(self.incomplete)
                if available < max(count, 1):
                    raise errors.OutOfRangeError(
                        None, None, f"Barrier '{self.name}' is closed and has insufficient elements (requested {count}, "
                        f"total size {available})"
                    )  # fmt: skip
        return self.queue.dequeue(count, allow_small_batch)

    def close(self, cancel_pending_enqueues: bool) -> None:
        """No new keys from here on; with `cancel_pending_enqueues`, nothing more for the incomplete ones either."""
        with self.lock:
            if self._closed and (self._cancelled_enqueues or not cancel_pending_enqueues):
                raise cancelled(f"Barrier '{self.name}' is already closed.")
            self._closed, self._cancelled_enqueues = True, cancel_pending_enqueues
            if cancel_pending_enqueues:
                self.incomplete.clear()
            if not self.incomplete and not self.queue.closed:
                self.queue.close(cancel_pending_enqueues)


# ---- ops ----

_add = functools.partial(op, side=HOST, gradient=NO_GRADIENT)
_HANDLE = "handle: Ref(string)"


def _make(context):
    node = context.op
    kinds, shapes = list(node.attrs["component_types"]), [s.sizes for s in node.attrs["shapes"]]
    if len(shapes) != len(kinds):
        raise invalid("All of the component shapes must be specified")
    for sizes in shapes:
        if sizes is not None and None in sizes:
            raise invalid(f"Shape {shape_text(sizes)} is not fully defined")
    if node.attrs["capacity"] != -1:
        raise invalid(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited capacity."
        )

    def check(barrier: BarrierState) -> None:
        if barrier.component_types != kinds:
            raise invalid(
                f"Shared barrier '{barrier.name}' has component types {type_list_text(barrier.component_types)} but "
                f"requested component types were {type_list_text(kinds)}"
            )
        if barrier.queue.shapes[2:] != shapes:
            raise invalid(
                f"Shared barrier '{barrier.name}' has component shapes {_listed(barrier.queue.shapes[2:])} but requested "
                f"component shapes were {_listed(shapes)}"
            )

    return shared_resource(context, "barrier", lambda: BarrierState(kinds, shapes), check)


def _listed(shapes: list[tuple]) -> str:
    return "[" + ", ".join(map(shape_text, shapes)) + "]"


def _insert(context, barrier, keys, values, *, component_index):
    kinds = barrier.component_types
    if not 0 <= component_index < len(kinds):
        raise invalid(f"The component ID is out of range {component_index} > num_components (= {len(kinds)})")
    given = context.op.attrs["T"]
    if given != kinds[component_index]:
        found, wanted = (type_list_text([string, k]) for k in (given, kinds[component_index]))
        raise invalid(f"Signature mismatch, have: string_ref, {found}-> expected: string_ref, {wanted}->")
    barrier.insert(component_index, keys.reshape(-1), values)
    return ()


def _take(context, barrier, count, *, allow_small_batch, timeout_ms):
    wanted, kinds = context.op.attrs["component_types"], barrier.component_types
    if list(wanted) != kinds:
        have, expected = (f"string_ref, int32->{type_list_text([int64, string, *k])}" for k in (wanted, kinds))
        raise invalid(f"Signature mismatch, have: {have} expected: {expected}")
    if timeout_ms != -1:
        raise invalid("Timeout not supported yet.")
    if count.ndim:
        raise invalid("num_elements must be a scalar.")
    if count < 0:
        raise invalid(f"num_elements must be >= 0, got {int(count)}")
    indices, keys, *values = state.batch_of(barrier.take(int(count), allow_small_batch), barrier.queue)
    return indices, keys, tuple(values)


def _close(barrier, *, cancel_pending_enqueues):
    barrier.close(cancel_pending_enqueues)
    return ()


def _insert_shape(c):
    keys, values = si.with_rank(c.inputs[1], 1), si.with_rank_at_least(c.inputs[2], 1)
    si.merge(keys, (values[0] if values else None,))
    return []


_add(
    "Barrier",
    '(*, component_types: list(type) >= 1, shapes: list(shape) >= 0 = [], capacity: int = -1, container: string = "", '
    'shared_name: string = "") -> (handle: Ref(string))',
    shape=lambda c: [(2,)], kernel=_make, effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE,
)  # fmt: skip
_add("BarrierInsertMany", f"({_HANDLE}, keys: string, values: T, *, T: type, component_index: int) -> ()",
     shape=_insert_shape, kernel=_insert, effects=EXTERNAL, context=True)  # fmt: skip
_add(
    "BarrierTakeMany",
    f"({_HANDLE}, num_elements: int32, *, component_types: list(type) >= 1, allow_small_batch: bool = False, "
    "wait_for_incomplete: bool = False, timeout_ms: int = -1) -> (indices: int64, keys: string, values: component_types)",
    shape=si.unknown, kernel=_take, effects=WAITING, context=True,
)  # fmt: skip
_add("BarrierClose", f"({_HANDLE}, *, cancel_pending_enqueues: bool = False) -> ()", shape=si.no_outputs, kernel=_close,
     effects=EXTERNAL)  # fmt: skip
_add("BarrierReadySize", f"({_HANDLE}) -> (size: int32)", shape=si.scalar, effects=EXTERNAL,
     kernel=lambda barrier: len(barrier.queue.elements))  # fmt: skip
_add("BarrierIncompleteSize", f"({_HANDLE}) -> (size: int32)", shape=si.scalar, effects=EXTERNAL,
     kernel=lambda barrier: len(barrier.incomplete))  # fmt: skip


class Barrier:
    """Collects elements whose components are inserted one by one, under a key, and gives the complete ones in order.

    Args:
      types: a DType or one per component.
      shapes: fully defined shapes with elements, one per component.
      shared_name: under which several nodes of a Session share the barrier.
      name: node name.
    """

    def __init__(self, types: object, shapes: object = None, shared_name: str | None = None, name: str = "barrier") -> None:
        self._types = as_type_list(types)
        if shapes is None:
            self._shapes = [TensorShape(None) for _ in self._types]
        else:
            self._shapes = as_shape_list(shapes)
            for place, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {place}")
        self._barrier_ref = raw.Barrier(component_types=self._types, shapes=self._shapes, shared_name=shared_name, name=name)
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        return self._barrier_ref

    @property
    def name(self) -> str:
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Gives component number `component_index` of the elements with `keys` (string vector) the rows of `values`."""
        name = name or f"{self._name}_BarrierInsertMany"
        return raw.BarrierInsertMany(self._barrier_ref, keys, values, component_index=component_index, name=name)

    def take_many(
        self, num_elements: TensorLike, allow_small_batch: bool = False, timeout: int | None = None, name: str | None = None
    ) -> Any:
        """Takes complete elements, those first whose key came first; a run waits for them.

        Returns:
          (indices, keys, values): int64 and string vectors, and a list with one tensor per component.
        """
        found = raw.BarrierTakeMany(
            self._barrier_ref, num_elements, component_types=self._types, allow_small_batch=allow_small_batch,
            timeout_ms=timeout, name=name or f"{self._name}_BarrierTakeMany",
        )  # fmt: skip
        node = found[0].op
        size = None if allow_small_batch else constant_value(node.inputs[1])
        for output, shape in zip(node.outputs, [TensorShape([])] * 2 + self._shapes):
            output.set_shape(TensorShape([size]).concatenate(shape))
        return found

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """No new keys from here on; with `cancel_pending_enqueues`, no values for incomplete elements either."""
        return raw.BarrierClose(
            self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_BarrierClose"
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """The number of complete elements, an int32 scalar."""
        return raw.BarrierReadySize(self._barrier_ref, name=name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of incomplete elements, an int32 scalar."""
        return raw.BarrierIncompleteSize(self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize")
