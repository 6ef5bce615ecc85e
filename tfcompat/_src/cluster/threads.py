"""Threads for calls that may block for long: an unbounded pool of daemon threads, which are reused and end when idle."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from tfcompat._src.base import confinement

_IDLE_SECONDS = 30.0


class WaitingThreads(Executor):
    """An executor without a limit on threads.

    Calls may wait for each other, as parts of a step do: with a limit, those that hold the threads could wait for calls in the queue.
    Daemon threads do not delay the end of the process.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function in a thread; returns the Future of its result."""
        future: Future[Any] = Future()
        # An idle thread is reserved for this call before the call is queued, so that none is counted twice.
        with self._lock:
            needs_thread = self._idle == 0
            self._idle -= not needs_thread
        self._calls.put((future, confinement.bound(function), args, kwargs))
        if needs_thread:
            threading.Thread(target=self._serve, name="tfcompat-cluster", daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=_IDLE_SECONDS)
            # The thread ends only if it is not reserved: a submit may have counted on it just now.
            except queue.Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return
                continue
            _run(*call)
            # The arguments and the result are not kept alive while the thread is idle.
            del call
            with self._lock:
                self._idle += 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does nothing: idle threads end by themselves."""


def _run(future: Future[Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Calls a function, unless its future was cancelled, and completes the future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*args, **kwargs)
    except BaseException as e:  # noqa: BLE001  (whoever waits for the result raises it)
        future.set_exception(e)
    else:
        future.set_result(result)


THREADS = WaitingThreads()
