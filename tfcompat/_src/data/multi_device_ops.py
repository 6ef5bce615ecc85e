"""The op types of MultiDeviceIterator, whose elements go to the shards (devices) round-robin."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.iterator_resources import IteratorValue, component_shapes, end_of_sequence
from tfcompat._src.data.values import (
    NO_GRADIENT,
    OUTPUTS,
    DatasetValue,
    Element,
    Next,
    Scope,
    begun,
    dataset_of,
    deleted,
    text,
)
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, op
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource
from tfcompat._src.runtime.state.run_context import RunContext, context_of

_NUMBERS = itertools.count()
_HANDLES = "iterators of several devices by handle"


class MultiDeviceIteratorValue(SharedResource):
    """The resource behind the iterator: element i of the dataset belongs to shard i modulo `count`.

    Elements that come before their shard asks for them wait in a queue for that shard. The incarnation counts the iterations, so that a
    shard of an earlier iteration is refused.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.handle = f"multi_device_iterator_{next(_NUMBERS)}".encode()
        self._queues: list[deque[Element]] = [deque() for _ in range(count)]
        self._incarnation, self._next_shard = 0, 0
        self.registry: dict[bytes, MultiDeviceIteratorValue] = {}
        self._scope: Scope | None = None
        self._following: Next | None = None

    def begin(self, dataset: DatasetValue, context: RunContext) -> int:
        """Starts an iteration over a dataset, ends the current one, and returns the new incarnation."""
        # The new iteration starts before the current one ends, so that an error leaves the iterator unchanged.
        scope = Scope(context)
        following = begun(dataset, scope)
        with self.lock:
            old, self._scope, self._following = self._scope, scope, following
            self._incarnation += 1
            self._next_shard = 0
            for waiting in self._queues:
                waiting.clear()
            number = self._incarnation
        if old is not None:
            old.end()
        return number

    def take(self, shard: int, incarnation: int) -> Element:
        """Returns the next element of a shard.

        Raises:
          errors.OutOfRangeError: the dataset has no more elements.
          errors.InvalidArgumentError: the shard does not exist, or `incarnation` is not that of the current iteration.
        """
        if not 0 <= shard < len(self._queues):
            raise invalid(f"shard_num must be from 0 to {len(self._queues) - 1}, as there are {len(self._queues)} devices, but is {shard}.")
        with self.lock:
            if incarnation != self._incarnation or self._following is None:
                raise invalid("Invalid incarnation id provided: the iterator was initialized again.")
            # The elements of other shards that come first are queued, without a limit.
            while not self._queues[shard]:
                try:
                    element = self._following()
                except StopIteration:
                    raise end_of_sequence() from None
                self._queues[self._next_shard].append(element)
                self._next_shard = (self._next_shard + 1) % len(self._queues)
            return self._queues[shard].popleft()

    def cancel(self) -> None:
        """Ends the iteration, when the session is closed or the iterator is destroyed."""
        super().cancel()
        self.registry.pop(self.handle, None)
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.end()


def _named(context: HostContext) -> MultiDeviceIteratorValue:
    """Makes an iterator and registers it under its string handle."""
    iterator = MultiDeviceIteratorValue(len(context.op.attrs["devices"]))
    iterator.registry = context.resources.setdefault(_HANDLES, {})
    iterator.registry[iterator.handle] = iterator
    return iterator


def _made(context: HostContext) -> MultiDeviceIteratorValue:
    return shared_resource(context, "multi-device iterator", lambda: _named(context))


def _anonymous(context: HostContext) -> tuple[MultiDeviceIteratorValue, NDArray]:
    made = _named(context)
    return made, variant(made)


def _delete(multi_device_iterator: MultiDeviceIteratorValue, iterators: tuple[IteratorValue, ...], deleter: object) -> tuple[()]:
    for each in (multi_device_iterator, *iterators):
        deleted(each)
    return ()


def _init(context: HostContext, dataset: NDArray, multi_device_iterator: MultiDeviceIteratorValue, max_buffer_size: NDArray) -> np.int64:
    return np.int64(multi_device_iterator.begin(dataset_of(dataset), context_of(context)))


def _from_string_handle(context: HostContext, string_handle: NDArray) -> MultiDeviceIteratorValue:
    iterator: MultiDeviceIteratorValue | None = context.resources.get(_HANDLES, {}).get(string_handle.item())
    if iterator is None:
        raise errors.NotFoundError(None, None, f"Resource {string_handle.item()!r} of type MultiDeviceIterator does not exist.")
    return iterator


def _next(multi_device_iterator: MultiDeviceIteratorValue, shard_num: NDArray, incarnation_id: NDArray) -> Element:
    return multi_device_iterator.take(int(shard_num), int(incarnation_id))


op("MultiDeviceIterator", f"(*, devices: list(string) >= 1, shared_name: string, container: string, {OUTPUTS}) -> (handle: resource)",
   shape=si.scalar, gradient=NO_GRADIENT, kernel=_made, side=HOST, effects=MAKES_HANDLE, context=True,
   facts=NAMES_RESOURCE)  # fmt: skip
op("AnonymousMultiDeviceIterator", f"(*, devices: list(string) >= 1, {OUTPUTS}) -> (handle: resource, deleter: variant)",
   shape=lambda c: [(), ()], gradient=NO_GRADIENT, kernel=_anonymous, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip
op("DeleteMultiDeviceIterator", "(multi_device_iterator: resource, iterators: N*resource, deleter: variant, *, N: int >= 0) -> ()",
   shape=si.no_outputs, gradient=NO_GRADIENT, kernel=_delete, side=HOST, effects=EXTERNAL)  # fmt: skip
op("MultiDeviceIteratorInit", "(dataset: variant, multi_device_iterator: resource, max_buffer_size: int64) -> (incarnation_id: int64)",
   shape=si.scalar, gradient=NO_GRADIENT, kernel=_init, side=HOST, effects=EXTERNAL, context=True)  # fmt: skip
op("MultiDeviceIteratorToStringHandle", "(multi_device_iterator: resource) -> (string_handle: string)", shape=si.scalar,
   gradient=NO_GRADIENT, kernel=lambda multi_device_iterator: text(multi_device_iterator.handle), side=HOST, effects=EXTERNAL)  # fmt: skip
op("MultiDeviceIteratorFromStringHandle",
   "(string_handle: string, *, output_types: list(type) >= 0 = [], output_shapes: list(shape) >= 0 = []) -> (multi_device_iterator: resource)",
   shape=si.scalar, gradient=NO_GRADIENT, kernel=_from_string_handle, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip
op("MultiDeviceIteratorGetNextFromShard",
   f"(multi_device_iterator: resource, shard_num: int32, incarnation_id: int64, *, {OUTPUTS}) -> (components: output_types)",
   shape=component_shapes, gradient=NO_GRADIENT, kernel=_next, side=HOST, effects=EXTERNAL)  # fmt: skip
