"""Event files: TFRecord files of Event messages that TensorBoard reads, named `PREFIX.out.tfevents.TIME.HOST` and a suffix."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.io.tfrecord import TFRecordWriter, tf_record_iterator
from tfcompat._src.platform import compat, logging
from tfcompat._src.platform.file_io import ERROR_OF_ERRNO, local
from tfcompat._src.proto.messages import Event

VERSION = "brain.Event:2"


@export("train.summary_iterator")
def summary_iterator(path: object) -> Iterator[Event]:
    """Yields the Event messages of an event file.

    Raises:
      NotFoundError: there is no such file. DataLossError: it is damaged; the events before the damage were yielded.
    """
    for record in tf_record_iterator(path):
        yield Event.FromString(record)


class EventsWriter:
    """Writes event files; the file is made when the first event comes, and a new one after `Close`.

    Args:
      file_prefix: path and beginning of the names.
    """

    def __init__(self, file_prefix: object) -> None:
        self._prefix = local(file_prefix)
        self._suffix = ""
        self._path = ""
        self._writer: TFRecordWriter | None = None
        self._pending = 0

    def InitWithSuffix(self, suffix: object) -> None:
        """Makes the file, with `suffix` at the end of its name."""
        self._suffix = compat.as_text(suffix)
        if self._writer is not None and not os.path.exists(self._path):
            logging.warning(f"The events file {self._path} is gone: {self._pending} events are lost, a new file is made.")
            self._writer, self._pending = None, 0
        self._opened()

    def FileName(self) -> bytes:
        """The path of the file, which is made if there is none."""
        if not self._path:
            self._opened()
        return self._path.encode()

    def _opened(self) -> TFRecordWriter:
        """The file, which is made if there is none."""
        if self._writer is None:
            seconds = int(time.time())
            self._path = self._free_path(seconds)
            self._writer = TFRecordWriter(self._path)
            self._writer.write(Event(wall_time=seconds, file_version=VERSION).SerializeToString())
            self._writer.flush()
            self._pending = 0
        return self._writer

    def _free_path(self, seconds: int) -> str:
        """A path that is not taken: a second writer of the same second has the next second in its name."""
        while True:
            path = local(f"{self._prefix}.out.tfevents.{seconds:010d}.{socket.gethostname()}{self._suffix}")
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return path
            except FileExistsError:
                seconds += 1
            except OSError as error:
                error_class = ERROR_OF_ERRNO.get(error.errno or 0, errors.UnknownError)
                text = f"Creating writable file {path}\n\t{path}; {error.strerror}"
                raise error_class(None, None, text) from error

    def WriteEvent(self, event: Event) -> None:
        """Appends an event.

        Raises:
          TypeError: it is no Event message.
        """
        if not isinstance(event, Event):
            raise TypeError(f"Expected an event_pb2.Event proto,  but got {type(event)}")
        self._WriteSerializedEvent(event.SerializeToString())

    def _WriteSerializedEvent(self, event: bytes) -> None:
        self._opened().write(event)
        self._pending += 1

    def Flush(self) -> None:
        """Hands what was written to the operating system.

        Raises:
          UnknownError: the file is gone, and with it the events.
        """
        if self._writer is None or not self._pending:
            return
        self._writer.flush()
        if not os.path.exists(self._path):
            text = f"The events file {self._path} has disappeared.\n\tFailed to flush {self._pending} events to {self._path}"
            raise errors.UnknownError(None, None, text)
        self._pending = 0

    def Close(self) -> None:
        """Writes what is left and closes the file."""
        try:
            self.Flush()
        finally:
            writer, self._writer, self._pending = self._writer, None, 0
            if writer is not None:
                writer.close()
