"""Writers of summaries that nodes write: handles of event files."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    add_to_collection,
    control_dependencies,
    device,
    executing_eagerly,
    get_collection,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.platform import logging
from tfcompat._src.summary.recording import CPU, STATE

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_INIT_COLLECTION = "_SUMMARY_WRITER_V2"
_EXPERIMENT_NAME = re.compile(r"^[^\x00-\x1F<>]{0,256}$")
_RUN_NAME = re.compile(r"^[^\x00-\x1F<>]{0,512}$")
_USER_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,29}[a-z0-9])?$", re.IGNORECASE)
_NUMBERS = itertools.count()


@export("compat.v2.summary.SummaryWriter", "contrib.summary.SummaryWriter", "contrib.summary.summary.SummaryWriter")
class SummaryWriter:
    """What every writer of summaries can do."""

    def set_as_default(self) -> None:
        """Makes this the writer of the present thread."""
        raise NotImplementedError("a summary writer has set_as_default")

    def as_default(self) -> contextlib.AbstractContextManager[Any]:
        """A block with this as the writer."""
        raise NotImplementedError("a summary writer has as_default")

    def init(self) -> Any:
        """Opens the writer."""
        raise NotImplementedError("a summary writer has init")

    def flush(self) -> Any:
        """Hands what was written to the operating system."""
        raise NotImplementedError("a summary writer has flush")

    def close(self) -> Any:
        """Flushes and closes the writer."""
        raise NotImplementedError("a summary writer has close")


class ResourceSummaryWriter(SummaryWriter):
    """Writes summaries to the event file behind a handle.

    Args:
      shared_name: name under which a session, or the process where operations run at once, holds the writer.
      init_op_fn: makes the operation that opens it, given the handle.
      name: name of the node of the handle.
      v2: whether it is opened once, and cannot be used after it was closed.
    """

    def __init__(self, shared_name: str, init_op_fn: Callable[[Tensor], Operation], name: str | None = None, v2: bool = False) -> None:
        self._resource = raw.SummaryWriter(shared_name=shared_name, name=name)
        self._init_op_fn, self._v2, self._closed = init_op_fn, v2, False
        self._init_op = init_op_fn(self._resource)
        if isinstance(self._resource, EagerTensor):
            weakref.finalize(self, self._resource._value.destroy)
        else:
            add_to_collection(_INIT_COLLECTION, self._init_op)

    def _is_closed(self) -> bool:
        return self._v2 and self._closed and executing_eagerly()

    def _check_open(self) -> None:
        if self._is_closed():
            raise RuntimeError("SummaryWriter is already closed")

    def set_as_default(self) -> None:
        """Makes this the writer of the present thread; RuntimeError where it is closed."""
        self._check_open()
        STATE.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A block with this as the writer, which is flushed at the end; RuntimeError where it is closed."""
        self._check_open()
        before, STATE.writer = STATE.writer, self
        try:
            yield self
            self.flush()
        finally:
            STATE.writer = before

    def init(self) -> Operation:
        """An operation that opens the writer; RuntimeError where it is closed."""
        self._check_open()
        return self._init_op if self._v2 else self._init_op_fn(self._resource)

    def flush(self) -> Operation | None:
        """An operation that hands what was written to the operating system."""
        return None if self._is_closed() else flush(writer=self)

    def close(self) -> Operation | None:
        """An operation that flushes and closes the writer."""
        if self._is_closed():
            return None
        self._closed = executing_eagerly()
        with control_dependencies([flush(writer=self)]), device(CPU):
            return raw.CloseSummaryWriter(self._resource)


class NoopSummaryWriter(SummaryWriter):
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
    max_queue: object = None,
    flush_millis: object = None,
    filename_suffix: object = None,
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
    with device(CPU):
        max_queue = constant(10) if max_queue is None else max_queue
        flush_millis = constant(2 * 60 * 1000) if flush_millis is None else flush_millis
        filename_suffix = constant(".v2") if filename_suffix is None else filename_suffix
        make = functools.partial(
            raw.CreateSummaryFileWriter, logdir=logdir, max_queue=max_queue, flush_millis=flush_millis,
            filename_suffix=filename_suffix,
        )  # fmt: skip
        return ResourceSummaryWriter("logdir:" + logdir if name is None else name, make)


@export("compat.v2.summary.create_file_writer")
def create_file_writer_v2(
    logdir: TensorLike, max_queue: object = None, flush_millis: object = None, filename_suffix: TensorLike | None = None, name: str | None = None
) -> ResourceSummaryWriter:
    """A writer of an event file of its own, which is opened where operations run at once.

    Args:
      logdir: the folder. max_queue, flush_millis, filename_suffix: as for `tf.contrib.summary.create_file_writer`.
      name: node name.

    Raises:
      ValueError: `logdir` is None, or an argument is a tensor of a graph where operations run at once.
    """
    if logdir is None:
        raise ValueError("logdir cannot be None")
    given = {"logdir": logdir, "max_queue": max_queue, "flush_millis": flush_millis, "filename_suffix": filename_suffix}
    is_inside = get_default_graph().building_function
    with name_scope(name, "create_file_writer") as scope, device(CPU), init_scope():
        if executing_eagerly():
            _check_values(given, is_inside)
        suffix = constant(".v2") if filename_suffix is None else convert_to_tensor(filename_suffix)
        number = next(_NUMBERS)
        make = functools.partial(
            raw.CreateSummaryFileWriter, logdir=convert_to_tensor(logdir, dtypes.string),
            max_queue=constant(10) if max_queue is None else max_queue,
            flush_millis=constant(2 * 60 * 1000) if flush_millis is None else flush_millis,
            filename_suffix=raw.Add(constant(f".{os.getpid()}.{number}"), suffix),
        )  # fmt: skip
        shared_name = f"summary_writer_{number}" if executing_eagerly() else scope.rstrip("/")
        return ResourceSummaryWriter(shared_name, make, name=name, v2=True)


def _check_values(given: dict[str, Any], is_inside: bool) -> None:
    for name, value in given.items():
        if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
            where = (
                "create_file_writer() inside an @tf.function. The create call will be lifted into the outer eager execution context, "
                "so it cannot consume graph tensors defined inside the function body."
                if is_inside
                else "eagerly executed create_file_writer()."
            )
            raise ValueError(f'Invalid graph Tensor argument "{name}={value}" to {where}')


@export("compat.v2.summary.create_noop_writer")
def create_noop_writer() -> NoopSummaryWriter:
    """A writer that writes nothing."""
    return NoopSummaryWriter()


@export("contrib.summary.create_summary_file_writer", "contrib.summary.summary.create_summary_file_writer")
def create_summary_file_writer(*args: Any, **kwargs: Any) -> Any:
    """The old name of `create_file_writer`."""
    logging.warning("Deprecation Warning: create_summary_file_writer was renamed to create_file_writer")
    return create_file_writer(*args, **kwargs)


@export("contrib.summary.create_db_writer", "contrib.summary.summary.create_db_writer")
def create_db_writer(
    db_uri: object, experiment_name: object = None, run_name: object = None, user_name: object = None, name: str | None = None
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


@export("compat.v2.summary.flush", "contrib.summary.flush", "contrib.summary.summary.flush")
def flush(writer: object = None, name: str | None = None) -> Operation:
    """An operation that hands what a writer (by default the thread's; a handle will do) wrote to the operating system."""
    writer = STATE.writer if writer is None else writer
    if writer is None:
        return no_op()
    with device(CPU):
        return raw.FlushSummaryWriter(writer._resource if isinstance(writer, ResourceSummaryWriter) else writer, name=name)


@export("contrib.summary.summary_writer_initializer_op", "contrib.summary.summary.summary_writer_initializer_op")
def summary_writer_initializer_op() -> list[Operation]:
    """The operations that open all writers of the default graph; RuntimeError where operations run at once."""
    if executing_eagerly():
        raise RuntimeError("tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode.")
    return get_collection(_INIT_COLLECTION)
