"""tf.train.Coordinator: threads that stop together, and hand on the first error."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.platform import logging

_SECONDS_BETWEEN_LOOKS = 0.05


@export("train.Coordinator")
class Coordinator:
    """Coordinates the end of a set of threads: any of them may ask all to stop, and `join` raises the error that it gave.

    Args:
      clean_stop_exception_types: exceptions that mean a normal end, by default (tf.errors.OutOfRangeError,).
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        types = (errors.OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean_stop_exception_types = tuple(types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    def request_stop(self, ex: object = None) -> None:
        """Asks all threads to stop; after that `should_stop()` is true.

        Args:
          ex: the exception that is the reason, as an object or as of sys.exc_info(); `join` raises the first one that is
            not of `clean_stop_exception_types`. Where `join` has returned it is raised here.
        """
        with self._lock:
            value = ex[1] if isinstance(ex, tuple) else ex
            if isinstance(value, self._clean_stop_exception_types):
                ex = None
            if self._joined and ex is not None:
                raise _raised(ex)
            if not self._stop_event.is_set():
                if ex and self._error is None:
                    logging.info("Error reported to Coordinator: %s, %s", type(value), value)
                    self._error = _raised(ex)
                self._stop_event.set()

    def clear_stop(self) -> None:
        """Forgets that a stop was asked for, and why."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A context whose exceptions, of any kind, become `request_stop` calls."""
        try:
            yield
        except BaseException:  # noqa: BLE001
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits, at most `timeout` seconds, until a stop is asked for; whether it was."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self, threads: Iterable[threading.Thread] | None = None, stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Waits until threads have ended; once a stop is asked for, at most `stop_grace_period_secs` longer.

        Args:
          threads: threads to wait for besides the registered ones.
          stop_grace_period_secs: seconds.
          ignore_live_threads: whether threads that do not end are logged only.

        Raises:
          RuntimeError: a thread did not end. The exception that was given to `request_stop` comes first.
        """
        with self._lock:
            waited_for = list(self._registered_threads.union(threads or ()))
        while _alive(waited_for) and not self.wait_for_stop(_SECONDS_BETWEEN_LOOKS):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in _alive(waited_for):
            thread.join(max(deadline - time.monotonic(), 0))
        stragglers = " ".join(t.name for t in _alive(waited_for))
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._error is not None:
                raise self._error
            if stragglers:
                text = f"Coordinator stopped with threads still running: {stragglers}"
                if not ignore_live_threads:
                    raise RuntimeError(text)
                logging.info("%s", text)

    @property
    def joined(self) -> bool:
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the exception that `join` would raise, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _alive(threads: list[threading.Thread]) -> list[threading.Thread]:
    return [t for t in threads if t.is_alive()]


def _raised(ex: object) -> BaseException:
    """The exception to raise for what was given to `request_stop`."""
    info = ex if isinstance(ex, tuple) else sys.exc_info()
    if len(info) != 3 or not info[0] or not info[1]:
        return ValueError(f"ex must be a tuple or sys.exc_info must return the current exception: {info}")
    return info[1].with_traceback(info[2])


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls something again and again until its coordinator stops.

    Args:
      coord: a Coordinator, which gets the exceptions.
      timer_interval_secs: seconds from one call to the next; None for calls without a pause.
      target: what is called, instead of `run_loop`. args, kwargs: what it is called with.
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Callable | None = None,
        args: Iterable[Any] | None = None, kwargs: dict | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if not target and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._target = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        self._coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator, timer_interval_secs: float | None, target: Callable, args: Iterable[Any] | None = None,
        kwargs: dict | None = None,
    ) -> LooperThread:  # fmt: skip
        """A started LooperThread."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def isAlive(self) -> bool:
        """As `is_alive`, which threads of older Python versions have under this name too."""
        return self.is_alive()

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                following = time.monotonic()
                while not self._coord.wait_for_stop(following - time.monotonic()):
                    following += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once, before the loop."""

    def stop_loop(self) -> None:
        """Called once, after the loop."""

    def run_loop(self) -> None:
        """Called in each round."""
        if self._target:
            self._target(*self._args, **self._kwargs)
