"""A thread that writes events to an event file, so that training does not wait for the disk."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from collections.abc import Callable

from tfcompat._src.base import errors
from tfcompat._src.io.events import EventsWriter
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto.messages import Event

_OPEN: set[_EventLoggerThread] = set()
"""Threads of writers that are not closed: what they hold is written when the process ends."""


class _EventLoggerThread(threading.Thread):
    """Writes the events of a queue until the end mark comes."""

    def __init__(self, events: queue.Queue, writer: EventsWriter, flush_secs: float, end_mark: Event) -> None:
        super().__init__(daemon=True)
        self._queue, self._writer, self._flush_secs, self._end_mark = events, writer, flush_secs, end_mark
        self._next_flush = 0.0
        self._process = os.getpid()

    def run(self) -> None:
        while True:
            event = self._queue.get()
            try:
                if event is self._end_mark:
                    return
                self._write(event)
            finally:
                self._queue.task_done()

    def _write(self, event: Event) -> None:
        try:
            self._writer.WriteEvent(event)
            now = time.time()
            if now > self._next_flush:
                self._next_flush = now + self._flush_secs
                self._writer.Flush()
        except (errors.OpError, TypeError) as error:
            logging.error(f"An event was not written: {error}")

    def drain(self) -> None:
        """Waits until every event is on its way to the file; not in a forked process, which has no such thread."""
        if self._process == os.getpid():
            self._queue.join()
            _attempt(self._writer.Flush)


@atexit.register
def _drain_all() -> None:
    for worker in list(_OPEN):
        worker.drain()


def _attempt(action: Callable[[], None]) -> None:
    """Flushes or closes an event file; as in 1.15 a program goes on where that fails."""
    try:
        action()
    except errors.OpError as error:
        logging.error(f"Events were not written: {error}")


class EventFileWriter:
    """Writes Event messages to a new event file of a folder, by a thread of its own.

    Args:
      logdir: the folder, which is made if needed.
      max_queue: how many events may wait before `add_event` blocks.
      flush_secs: seconds between flushes.
      filename_suffix: the end of the file's name.

    Raises:
      OpError: the folder or the file cannot be made.
    """

    def __init__(self, logdir: object, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None) -> None:
        self._logdir = str(logdir)
        if not file_io.isdir(self._logdir):
            file_io.makedirs(self._logdir)
        self._event_queue: queue.Queue = queue.Queue(max_queue)
        self._ev_writer = EventsWriter(os.path.join(self._logdir, "events"))
        self._flush_secs = flush_secs
        self._sentinel_event = self._get_sentinel_event()
        if filename_suffix:
            self._ev_writer.InitWithSuffix(filename_suffix)
        self._start()

    def _get_sentinel_event(self) -> Event:
        """The event that ends the thread."""
        return Event()

    def _start(self) -> None:
        self._closed = False
        self._worker = _EventLoggerThread(self._event_queue, self._ev_writer, self._flush_secs, self._sentinel_event)
        self._worker.start()
        _OPEN.add(self._worker)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def reopen(self) -> None:
        """After `close`, goes on with a new file; otherwise does nothing."""
        if self._closed:
            self._start()

    def add_event(self, event: Event) -> None:
        """Hands an event to the thread; dropped where the writer is closed."""
        if not self._closed:
            self._event_queue.put(event)

    def flush(self) -> None:
        """Waits until all events so far are in the file."""
        self._event_queue.join()
        _attempt(self._ev_writer.Flush)

    def close(self) -> None:
        """Writes all events, ends the thread and closes the file."""
        if self._closed:
            return
        self.add_event(self._sentinel_event)
        self.flush()
        self._worker.join()
        _OPEN.discard(self._worker)
        _attempt(self._ev_writer.Close)
        self._closed = True
