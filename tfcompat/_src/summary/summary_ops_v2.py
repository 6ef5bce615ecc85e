"""tf.contrib.summary: summaries that are written by nodes of the graph, where a writer and a condition are set."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.framework import dtypes, raw
from tfcompat._src.framework.convert import constant, convert_to_tensor
from tfcompat._src.framework.default_stack import SESSIONS
from tfcompat._src.framework.export import export
from tfcompat._src.framework.graph import Graph
from tfcompat._src.framework.graph_collections import GraphKeys
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.scopes import (
    add_to_collection,
    control_dependencies,
    device,
    get_collection,
    get_default_graph,
    name_scope,
)
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.array.constant import identity, placeholder
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.platform import logging
from tfcompat._src.summary.scope import summary_scope
from tfcompat._src.train.training_util import get_or_create_global_step

_SUMMARY_WRITER_INIT_COLLECTION_NAME = "_SUMMARY_WRITER_V2"
_CPU = "cpu:0"
_EXPERIMENT_NAME = re.compile(r"^[^\x00-\x1F<>]{0,256}$")
_RUN_NAME = re.compile(r"^[^\x00-\x1F<>]{0,512}$")
_USER_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,29}[a-z0-9])?$", re.IGNORECASE)


class _ThreadState(threading.local):
    """The writer and the condition of the present thread."""

    writer: Any = None
    recording: Any = None


_STATE = _ThreadState()


# ---- whether summaries are written ----


@export("contrib.summary.should_record_summaries", "contrib.summary.summary.should_record_summaries")
def should_record_summaries() -> Tensor:
    """A bool scalar, whether summaries are written; false where no condition is set."""
    condition = _STATE.recording() if callable(_STATE.recording) else _STATE.recording
    return logical_and(True, False if condition is None else condition)


@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A block in which summaries are written where `condition`, a bool, bool Tensor or function giving one, is true."""
    before, _STATE.recording = _STATE.recording, condition
    try:
        yield
    finally:
        _STATE.recording = before


@export("contrib.summary.always_record_summaries", "contrib.summary.summary.always_record_summaries")
def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A block in which all summaries are written."""
    return record_if(True)


@export("contrib.summary.never_record_summaries", "contrib.summary.summary.never_record_summaries")
def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A block in which no summaries are written."""
    return record_if(False)


@export("contrib.summary.record_summaries_every_n_global_steps", "contrib.summary.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> contextlib.AbstractContextManager[None]:
    """A block in which summaries are written at each `n`-th step of `global_step`, by default that of the graph."""
    if global_step is None:
        global_step = get_or_create_global_step()
    with device(_CPU):
        return record_if(raw.Equal(global_step % n, 0))


# ---- writers ----


@export("contrib.summary.SummaryWriter", "contrib.summary.summary.SummaryWriter")
class SummaryWriter:
    """Writes the summaries of a graph.

    Args:
      shared_name: name under which a Session holds the writer.
      init_op_fn: makes the operation that opens it, given the handle.
      name: name of the node of the handle.
    """

    def __init__(self, shared_name: str, init_op_fn: Callable[[Tensor], Operation], name: str | None = None) -> None:
        self._resource = raw.SummaryWriter(shared_name=shared_name, name=name)
        self._init_op_fn = init_op_fn
        add_to_collection(_SUMMARY_WRITER_INIT_COLLECTION_NAME, init_op_fn(self._resource))

    def set_as_default(self) -> None:
        """Makes this the writer of the present thread."""
        _STATE.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A block with this as the writer; a node that flushes it is made at the end."""
        before, _STATE.writer = _STATE.writer, self
        try:
            yield self
            self.flush()
        finally:
            _STATE.writer = before

    def init(self) -> Operation:
        """An operation that opens the writer."""
        return self._init_op_fn(self._resource)

    def flush(self) -> Operation:
        """An operation that hands what was written to the operating system."""
        return flush(writer=self)

    def close(self) -> Operation:
        """An operation that flushes and closes the writer."""
        with control_dependencies([self.flush()]), device(_CPU):
            return raw.CloseSummaryWriter(self._resource)


ResourceSummaryWriter = SummaryWriter


class NoopSummaryWriter:
    """A writer that writes nothing."""

    def set_as_default(self) -> None:
        """Does nothing."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        """A block that changes nothing."""
        yield

    def init(self) -> None:
        """Does nothing."""

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


@export("contrib.summary.create_file_writer", "contrib.summary.summary.create_file_writer")
def create_file_writer(
    logdir: str | None,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> Any:
    """A writer of event files.

    Args:
      logdir: the folder; None for a writer that does nothing.
      max_queue: how many summaries wait in memory, 10 by default.
      flush_millis: milliseconds between flushes, 120,000 by default.
      filename_suffix: the end of the file's name, ".v2" by default.
      name: name under which a Session holds the writer, "logdir:" and the folder by default; writers of one name are one.

    Returns:
      a SummaryWriter; its `init()`, or `summary_writer_initializer_op()`, must run before summaries are written.
    """
    if logdir is None:
        return NoopSummaryWriter()
    logdir = str(logdir)
    with device(_CPU):
        max_queue = constant(10) if max_queue is None else max_queue
        flush_millis = constant(2 * 60 * 1000) if flush_millis is None else flush_millis
        filename_suffix = constant(".v2") if filename_suffix is None else filename_suffix
        make = functools.partial(
            raw.CreateSummaryFileWriter, logdir=logdir, max_queue=max_queue, flush_millis=flush_millis,
            filename_suffix=filename_suffix,
        )  # fmt: skip
        return SummaryWriter("logdir:" + logdir if name is None else name, make)


@export("contrib.summary.create_summary_file_writer", "contrib.summary.summary.create_summary_file_writer")
def create_summary_file_writer(*args: Any, **kwargs: Any) -> Any:
    """The old name of `create_file_writer`."""
    logging.warning("Deprecation Warning: create_summary_file_writer was renamed to create_file_writer")
    return create_file_writer(*args, **kwargs)


@export("contrib.summary.create_db_writer", "contrib.summary.summary.create_db_writer")
def create_db_writer(
    db_uri: Any, experiment_name: Any = None, run_name: Any = None, user_name: Any = None, name: str | None = None
) -> Any:
    """A writer to an SQLite database.

    Raises:
      ValueError: a name has characters that none may have. NotImplementedError: otherwise.
    """
    for kind, pattern, value in (
        ("experiment_name", _EXPERIMENT_NAME, experiment_name), ("run_name", _RUN_NAME, run_name), ("user_name", _USER_NAME, user_name)
    ):  # fmt: skip
        if isinstance(value, str) and pattern.search(value) is None:
            raise ValueError(f"{kind} ({value}) must match {pattern.pattern}")
    raise NotImplementedError("tfcompat does not write summaries to a database (tf.contrib.summary.create_db_writer)")


@export("contrib.summary.flush", "contrib.summary.summary.flush")
def flush(writer: Any = None, name: str | None = None) -> Operation:
    """An operation that hands what a writer (by default the thread's; a handle will do) wrote to the operating system."""
    writer = _STATE.writer if writer is None else writer
    if writer is None:
        return no_op()
    with device(_CPU):
        return raw.FlushSummaryWriter(writer._resource if isinstance(writer, SummaryWriter) else writer, name=name)


@export("contrib.summary.summary_writer_initializer_op", "contrib.summary.summary.summary_writer_initializer_op")
def summary_writer_initializer_op() -> list[Operation]:
    """The operations that open all writers of the default graph."""
    return get_collection(_SUMMARY_WRITER_INIT_COLLECTION_NAME)


@export("summary.initialize", "contrib.summary.initialize", "contrib.summary.summary.initialize")
def initialize(graph: Any = None, session: Any = None) -> None:
    """Opens the writers of the default graph.

    Args:
      graph: a Graph or GraphDef that is then written.
      session: the Session, by default the default one.

    Raises:
      RuntimeError: the thread has no writer. ValueError: there is no session.
    """
    if _STATE.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or SESSIONS.top()
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        fed = placeholder(dtypes.string)
        session.run(graph_summary(fed, 0), feed_dict={fed: message.SerializeToString()})


# ---- summaries ----


@export("summary.all_v2_summary_ops", "contrib.summary.all_summary_ops", "contrib.summary.summary.all_summary_ops")
def all_v2_summary_ops() -> list[Any]:
    """The nodes of the default graph that write summaries, but those of `graph` and `import_event`."""
    return get_collection(GraphKeys._SUMMARY_COLLECTION)


def _choose_step(step: Any) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtypes.int64)


def summary_writer_function(name: str, tensor: Any, function: Callable, family: str | None = None) -> Any:
    """A node that writes a summary where that is wanted.

    Args:
      name, family: as for `tf.summary.scalar`.
      tensor: what is written.
      function: makes the writing operation, given tag and name scope.

    Returns:
      a bool Tensor, or a `no_op` where the thread has no writer.
    """
    scope_name = get_default_graph().get_name_scope()

    def record() -> Tensor:
        with name_scope(scope_name + "/" if scope_name else ""), summary_scope(name, family, values=[tensor]) as (tag, scope):
            with control_dependencies([function(tag, scope)]):
                return constant(True)

    if _STATE.writer is None:
        return no_op()
    with device(_CPU):
        found = smart_cond(should_record_summaries(), record, lambda: constant(False), name="")
        add_to_collection(GraphKeys._SUMMARY_COLLECTION, found)
    return found


@export("contrib.summary.generic", "contrib.summary.summary.generic")
def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Writes a whole tensor.

    Args:
      name, family: as for `tf.summary.scalar`.
      tensor: of any dtype and shape.
      metadata: a SummaryMetadata message, or it serialized.
      step: int64 scalar, by default the global step.

    Returns:
      a node that writes it where summaries are recorded; a `no_op` where the thread has no writer.
    """

    def function(tag: str, scope: str) -> Operation:
        if metadata is None or hasattr(metadata, "SerializeToString"):
            serialized = constant("" if metadata is None else metadata.SerializeToString())
        else:
            serialized = metadata
        handle, at = _STATE.writer._resource, _choose_step(step)
        return raw.WriteSummary(handle, at, identity(tensor), tag, serialized, name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.scalar", "contrib.summary.summary.scalar")
def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes a number; arguments and result as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteScalarSummary(_STATE.writer._resource, _choose_step(step), tag, identity(tensor), name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.histogram", "contrib.summary.summary.histogram")
def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes the distribution of the elements of a tensor; arguments and result as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteHistogramSummary(_STATE.writer._resource, _choose_step(step), tag, identity(tensor), name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.image", "contrib.summary.summary.image")
def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None
) -> Any:
    """Writes images as `tf.summary.image` does; `bad_color`, uint8 [channels], stands for pixels that are not finite.

    Other arguments and the result are as for `generic`.
    """

    def function(tag: str, scope: str) -> Operation:
        color = constant([255, 0, 0, 255], dtype=dtypes.uint8) if bad_color is None else bad_color
        handle, at = _STATE.writer._resource, _choose_step(step)
        return raw.WriteImageSummary(handle, at, tag, identity(tensor), color, max_images, name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.audio", "contrib.summary.summary.audio")
def audio(name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None) -> Any:
    """Writes sounds as `tf.summary.audio` does; `family`, `step` and the result are as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteAudioSummary(
            _STATE.writer._resource, _choose_step(step), tag, identity(tensor), sample_rate=sample_rate,
            max_outputs=max_outputs, name=scope,
        )  # fmt: skip

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.graph", "contrib.summary.summary.graph")
def graph_summary(param: Tensor, step: Any = None, name: str | None = None) -> Operation:
    """An operation that writes a graph, whether or not summaries are recorded.

    Args:
      param: string scalar, a serialized GraphDef.
      step: int64 scalar, by default the global step.
      name: node name.

    Raises:
      TypeError: `param` is no Tensor.
    """
    if not isinstance(param, Tensor):
        raise TypeError(f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}")
    if _STATE.writer is None:
        return no_op()
    with device(_CPU):
        serialized = identity(param)
        return raw.WriteGraphSummary(_STATE.writer._resource, _choose_step(step), serialized, name=name)


@export("contrib.summary.import_event", "contrib.summary.summary.import_event")
def import_event(tensor: Any, name: str | None = None) -> Operation:
    """An operation that writes a serialized Event, a string scalar, whether or not summaries are recorded."""
    return raw.ImportEvent(_STATE.writer._resource, tensor, name=name)


@export("contrib.summary.eval_dir", "contrib.summary.summary.eval_dir")
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder of the summaries of an evaluation."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")
