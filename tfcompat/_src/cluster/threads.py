"""Threads for calls that may wait long: as many as there are calls, kept for the next ones, none that holds up the end of the process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_IDLE_SECONDS = 30.0


class WaitingThreads(Executor):
    """An executor that never has a call wait for another one's thread."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Calls a function in a thread; the Future of its result."""
        future: Future[Any] = Future()
        with self._lock:
            needs_thread = self._idle == 0
            self._idle -= not needs_thread
        self._calls.put((future, function, args, kwargs))
        if needs_thread:
            threading.Thread(target=self._serve, name="tfcompat-cluster", daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return
                continue
            _run(*call)
            del call
            with self._lock:
                self._idle += 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: idle threads end by themselves."""


def _run(future: Future[Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*args, **kwargs)
    except BaseException as e:  # noqa: BLE001  (whoever waits for the result raises it)
        future.set_exception(e)
    else:
        future.set_result(result)


THREADS = WaitingThreads()
