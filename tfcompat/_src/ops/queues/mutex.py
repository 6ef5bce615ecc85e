"""Mutexes: locks that operations hold from MutexLock to ConsumeMutexLock, or until what the lock gave is forgotten."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NAMES_RESOURCE, WAITING, op
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE, NO_GRADIENT
from tfcompat._src.ops.queues.resource import SharedResource, shared_resource


class Held:
    """That a mutex is locked; the mutex is free when this is released or gone, as after a run that failed."""

    def __init__(self, mutex: Mutex) -> None:
        self._mutex, self.thread, self.is_released = mutex, threading.get_ident(), False

    def release(self) -> None:
        with self._mutex.lock:
            self.is_released = True
            self._mutex.changed.notify_all()

    __del__ = release


class Mutex(SharedResource):
    """A lock of a Session. A thread that asks again for what a failed run of its own has locked gets it."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._held: Any = None

    def _is_free(self) -> bool:
        held = self._held() if self._held is not None else None
        return held is None or held.is_released or held.thread == threading.get_ident()

    def acquire(self) -> Held:
        with self.lock:
            self.wait(self._is_free, "MutexLock")
            held = Held(self)
            self._held = weakref.ref(held)
            return held


@op(
    "MutexV2", '(*, container: string = "", shared_name: string = "") -> (resource: resource)', shape=si.scalar,
    gradient=NO_GRADIENT, side=HOST, effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE,
)  # fmt: skip
def _mutex(context):
    return shared_resource(context, "mutex", Mutex, by_node_name=True)


@op("MutexLock", "(mutex: resource) -> (mutex_lock: variant)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST, effects=WAITING)
def _lock(mutex):
    return variant(mutex.acquire())


@op("ConsumeMutexLock", "(mutex_lock: variant) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, side=HOST, effects=WAITING)
def _consume(lock):
    lock[()].release()
    return ()
