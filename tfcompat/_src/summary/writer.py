"""tf.summary.FileWriter: summaries, graphs, session logs and run metadata as events of an event file."""

from __future__ import annotations

import os
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes.meta_graph import create_meta_graph_def
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto.messages import Event, GraphDef, MetaGraphDef, Summary, TaggedRunMetadata
from tfcompat._src.summary.event_file_writer import EventFileWriter
from tfcompat._src.summary.event_file_writer_v2 import EventFileWriterV2
from tfcompat._src.summary.plugin_asset import get_all_plugin_assets

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_PLUGINS_DIR = "plugins"


class SummaryToEventTransformer:
    """Makes Event messages and hands them to `event_writer`, an EventFileWriter or the like.

    `graph` (or `graph_def`, deprecated) is written first, with its MetaGraphDef.
    """

    def __init__(self, event_writer: Any, graph: Any = None, graph_def: Any = None) -> None:
        self.event_writer = event_writer
        self._session_run_tags: set[str] = set()
        self._seen_summary_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            written = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
            self.add_meta_graph(create_meta_graph_def(graph_def=graph_def or written))

    def add_summary(self, summary: Any, global_step: object = None) -> None:
        """Writes a Summary, a message or serialized; only the first value of each tag keeps its metadata.

        Args:
          summary: what a summary op gave, or a message.
          global_step: a number that is written with it.
        """
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        seen = self._seen_summary_tags
        for value in summary.value:
            if value.tag in seen:
                value.ClearField("metadata")
            else:
                seen.add(value.tag)
        self._add_event(Event(summary=summary), global_step)

    def add_session_log(self, session_log: object, global_step: object = None) -> None:
        """Writes a SessionLog message, at step `global_step`."""
        self._add_event(Event(session_log=session_log), global_step)

    def add_graph(self, graph: object, global_step: object = None, graph_def: messages.GraphDef | None = None) -> None:
        """Writes a graph with its static shapes, and the files of its plugins.

        Args:
          graph: a Graph; a GraphDef here or as `graph_def` is deprecated.
          global_step: a number that is written with it.

        Raises:
          ValueError: both are given. TypeError: it is no graph.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, Graph):
            if graph is None:
                logging.warning(
                    "When passing a `Graph` object, please use the `graph` named argument instead of `graph_def`."
                )
            message = given.as_graph_def(add_shapes=True)
            self._write_plugin_assets(given)
        elif isinstance(given, GraphDef):
            logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as `sess.graph`."
            )
            message = given
        else:
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add_event(Event(graph_def=message.SerializeToString()), global_step)

    def _write_plugin_assets(self, graph: Graph) -> None:
        for plugin in get_all_plugin_assets(graph):
            folder = os.path.join(self.event_writer.get_logdir(), _PLUGINS_DIR, plugin.plugin_name)
            file_io.makedirs(folder)
            for name, content in plugin.assets().items():
                file_io.write_string_to_file(os.path.join(folder, name), content)

    def add_meta_graph(self, meta_graph_def: object, global_step: object = None) -> None:
        """Writes a MetaGraphDef, at step `global_step`; TypeError where it is none."""
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add_event(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: messages.RunMetadata, tag: str, global_step: object = None) -> None:
        """Writes the RunMetadata of one run under a name, `tag`; ValueError where that was used before."""
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add_event(Event(tagged_run_metadata=tagged), global_step)

    def _add_event(self, event: Event, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


@export("summary.FileWriter")
class FileWriter(SummaryToEventTransformer):
    """Writes events to an event file of a folder, which TensorBoard shows; usable in a `with` block.

    Args:
      logdir: the folder, which is made if needed.
      graph: a Graph that is written first.
      max_queue: how many events may wait for the disk before a call waits.
      flush_secs: seconds between flushes.
      graph_def: deprecated, use `graph`.
      filename_suffix: the end of the file's name.
      session: a Session whose writer resource of that folder is shared (tf.contrib.summary); by default the writer has
        a thread of its own.
    """

    def __init__(
        self,
        logdir: object,
        graph: object = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: messages.GraphDef | None = None,
        filename_suffix: str | None = None,
        session: SessionLike | None = None,
    ) -> None:
        if session is not None:
            writer: Any = EventFileWriterV2(session, logdir, max_queue, flush_secs, filename_suffix)
        else:
            writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        super().__init__(writer, graph, graph_def)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def _warn_if_event_writer_is_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly reopened.",
                stacklevel=3,
            )

    def _add_event(self, event: Event, step: object) -> None:
        self._warn_if_event_writer_is_closed()
        super()._add_event(event, step)

    def add_event(self, event: Event) -> None:
        """Writes an Event message."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Waits until all events so far are in the file."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what is left and closes the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """After `close`, goes on with a new file; otherwise does nothing."""
        self.event_writer.reopen()
        self._closed = False


@export("summary.FileWriterCache")
class FileWriterCache:
    """FileWriters, one for each folder."""

    _cache: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes and forgets them all."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache = {}

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """The FileWriter of the folder `logdir`, made with the default graph if there is none."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]
