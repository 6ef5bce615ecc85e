"""A writer of events by nodes of a session's graph, shared by all writers of that session and folder."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import placeholder_with_default
from tfcompat._src.platform import file_io
from tfcompat._src.summary.recording import always_record_summaries
from tfcompat._src.summary.summary_ops_v2 import import_event
from tfcompat._src.summary.summary_writers import create_file_writer


class EventFileWriterV2:
    """Writes Event messages to the event file that a session holds for a folder.

    Args:
      session: the Session; nodes are added to its graph.
      logdir: the folder, which is made if needed.
      max_queue, flush_secs, filename_suffix: as for EventFileWriter; what the first writer of the folder is given counts.
    """

    def __init__(
        self, session: SessionLike, logdir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = ""
    ) -> None:
        self._session, self._logdir, self._closed = session, logdir, False
        if not file_io.isdir(logdir):
            file_io.makedirs(logdir)
        with session.graph.as_default():
            with name_scope("filewriter"):
                writer = create_file_writer(
                    logdir, max_queue=max_queue, flush_millis=int(flush_secs * 1000), filename_suffix=filename_suffix
                )
                with always_record_summaries(), writer.as_default():
                    self._event_placeholder = placeholder_with_default(constant("unused", dtypes.string), shape=[])
                    self._add_event_op = import_event(self._event_placeholder)
                self._init_op, self._flush_op, self._close_op = writer.init(), writer.flush(), writer.close()
            session.run(self._init_op)

    def get_logdir(self) -> Any:
        """The folder."""
        return self._logdir

    def reopen(self) -> None:
        """After `close`, goes on with a new file; otherwise does nothing."""
        if self._closed:
            self._closed = False
            self._session.run(self._init_op)

    def add_event(self, event: Any) -> None:
        """Writes an event; dropped where the writer is closed."""
        if not self._closed:
            self._session.run(self._add_event_op, feed_dict={self._event_placeholder: event.SerializeToString()})

    def flush(self) -> None:
        """Writes all events so far to the file."""
        self._session.run(self._flush_op)

    def close(self) -> None:
        """Writes all events and closes the file."""
        if not self._closed:
            self.flush()
            self._session.run(self._close_op)
            self._closed = True
