"""Ops that write summaries to an event file that the session, or its server, holds: SummaryWriter, CreateSummaryFileWriter, Write*Summary."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Effects, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.io.events import EventsWriter
from tfcompat._src.ops.queues.resource import SharedResource
from tfcompat._src.ops.summary import values
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto.messages import Event, GraphDef, Summary

_NO_GRADIENT = NotDifferentiable("writing is not differentiable", raises=True)
_writing_op = functools.partial(op, shape=si.no_outputs, gradient=_NO_GRADIENT, side=HOST, effects=EXTERNAL)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class _OpenFile:
    """An event file whose last events wait in memory."""

    def __init__(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        if not file_io.isdir(logdir):
            file_io.makedirs(logdir)
        self._writer = EventsWriter(os.path.join(logdir, "events"))
        self._writer.InitWithSuffix(suffix)
        self._max_queue, self._flush_secs = max_queue, flush_millis / 1000
        self._queue: list[Event] = []
        self._last_flush = time.time()

    def write(self, event: Event) -> None:
        self._queue.append(event)
        if len(self._queue) > self._max_queue or time.time() - self._last_flush > self._flush_secs:
            self.flush()

    def flush(self) -> None:
        for event in self._queue:
            self._writer.WriteEvent(event)
        self._queue.clear()
        self._writer.Flush()
        self._last_flush = time.time()

    def close(self) -> None:
        self.flush()
        self._writer.Close()


class SummaryWriterResource(SharedResource):
    """What a handle of a summary writer points to: a file once it is created, none after it is closed.

    Args:
      name: the shared name. forget: removes the resource from the table that holds it.
    """

    def __init__(self, name: str, forget: Callable[[], object]) -> None:
        super().__init__()
        self.name, self._forget = name, forget
        self._file: _OpenFile | None = None

    def create(self, make: Callable[[], _OpenFile]) -> None:
        """Opens a file, unless one is open."""
        with self.lock:
            if self._file is None:
                self._file = make()

    def _opened(self) -> _OpenFile:
        if self._file is None:
            raise errors.NotFoundError(
                None, None, f"Resource localhost/{self.name}/SummaryWriter does not exist: run the writer's init() first."
            )
        return self._file

    def write(self, event: Event) -> None:
        with self.lock:
            self._opened().write(event)

    def flush(self) -> None:
        with self.lock:
            self._opened().flush()

    def close(self) -> None:
        with self.lock:
            self._opened().close()
            self._file = None

    def destroy(self) -> None:
        """Closes the file, and lets the session hold the resource no longer."""
        self.cancel()
        self._forget()

    def cancel(self) -> None:
        """Closes the file, when the session is closed or the server is reset; events that cannot be written are lost, with a warning."""
        super().cancel()
        with self.lock:
            if self._file is not None:
                try:
                    self._file.close()
                except errors.OpError as error:
                    # As in TensorFlow, closing a session does not fail for a file that is gone.
                    logging.warning("%s", error.message)
                self._file = None


@op(
    "SummaryWriter", '(*, shared_name: string = "", container: string = "") -> (writer: resource)', shape=si.scalar,
    gradient=_NO_GRADIENT, side=HOST, effects=Effects(creates=True), context=True,
)  # fmt: skip
def _summary_writer(context, *, shared_name, container):
    # As in TensorFlow 1.15 the shared name alone names a writer: nodes without one share a writer too.
    key = f"{container}/SummaryWriter/{shared_name}"
    made = SummaryWriterResource(shared_name, functools.partial(context.resources.pop, key, None))
    found = context.resources.setdefault(key, made)
    # A writer of a server outlives the session that made it.
    if found is made and context.resources is context.run.resources:
        context.run.resources_life.on_close(found.cancel)
    return found


@_writing_op(
    "CreateSummaryFileWriter",
    "(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string) -> ()",
)
def _create_file_writer(writer, logdir, max_queue, flush_millis, filename_suffix):
    for name, value in (
        ("logdir", logdir), ("max_queue", max_queue), ("flush_millis", flush_millis), ("filename_suffix", filename_suffix)
    ):  # fmt: skip
        if value.ndim:
            raise _invalid(f"{name} must be a scalar")
    folder, suffix = logdir.item().decode(), filename_suffix.item().decode()
    writer.create(lambda: _OpenFile(folder, int(max_queue), int(flush_millis), suffix))
    return ()


@_writing_op("FlushSummaryWriter", "(writer: resource) -> ()")
def _flush_writer(writer):
    writer.flush()
    return ()


@_writing_op("CloseSummaryWriter", "(writer: resource) -> ()")
def _close_writer(writer):
    writer.close()
    return ()


def _write(writer: SummaryWriterResource, step: np.ndarray, summary: Summary) -> tuple:
    writer.write(Event(wall_time=time.time(), step=int(step), summary=summary))
    return ()


@_writing_op(
    "WriteSummary",
    "(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string, *, T: type) -> ()",
)
def _write_summary(writer, step, tensor, tag, summary_metadata):
    summary = Summary()
    value = summary.value.add(tag=tag.item().decode())
    values.add_tensor(value, tensor)
    if summary_metadata.item():
        values.set_metadata(value, summary_metadata.item())
    return _write(writer, step, summary)


@_writing_op("WriteScalarSummary", "(writer: resource, step: int64, tag: string, value: T, *, T: REAL) -> ()")
def _write_scalar(writer, step, tag, value):
    summary = Summary()
    values.add_scalar(summary, tag.item(), value.ravel()[0])
    return _write(writer, step, summary)


@_writing_op(
    "WriteHistogramSummary", "(writer: resource, step: int64, tag: string, values: T, *, T: REAL = float32) -> ()"
)
def _write_histogram(writer, step, tag, numbers):
    summary = Summary()
    values.add_histogram(summary, tag.item(), numbers, named=tag.item().decode())
    return _write(writer, step, summary)


@_writing_op(
    "WriteImageSummary",
    "(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8, *, max_images: int >= 1 = 3, "
    "T: {uint8, float32, float16} = float32) -> ()",
)
def _write_image(writer, step, tag, images, bad_color, *, max_images):
    if bad_color.ndim != 1:
        raise _invalid(f"bad_color must be a vector, got shape {shape_text(bad_color.shape)}")
    summary = Summary()
    values.add_images(summary, tag.item(), images, max_images, bad_color)
    return _write(writer, step, summary)


@_writing_op(
    "WriteAudioSummary",
    "(writer: resource, step: int64, tag: string, tensor: float32, sample_rate: float32, *, max_outputs: int >= 1 = 3) -> ()",
)
def _write_audio(writer, step, tag, audio, sample_rate, *, max_outputs):
    summary = Summary()
    values.add_audio(summary, tag.item(), audio, sample_rate.item(), max_outputs)
    return _write(writer, step, summary)


@_writing_op("WriteRawProtoSummary", "(writer: resource, step: int64, tensor: string) -> ()")
def _write_raw(writer, step, serialized):
    if step.ndim:
        raise _invalid(f"step must be scalar, got shape {shape_text(step.shape)}")
    summary = Summary()
    for i, text in enumerate(serialized.flat):
        try:
            summary.MergeFromString(text)
        except DecodeError:
            text = f"Bad tf.compat.v1.Summary binary proto tensor string at index {i}"
            raise errors.DataLossError(None, None, text) from None
    return _write(writer, step, summary)


@_writing_op("WriteGraphSummary", "(writer: resource, step: int64, tensor: string) -> ()")
def _write_graph(writer, step, serialized):
    try:
        graph = GraphDef.FromString(serialized.item())
    except DecodeError:
        raise errors.DataLossError(None, None, "Bad tf.GraphDef binary proto tensor string") from None
    writer.write(Event(wall_time=time.time(), step=int(step), graph_def=graph.SerializeToString()))
    return ()


@_writing_op("ImportEvent", "(writer: resource, event: string) -> ()")
def _import_event(writer, event):
    try:
        found = Event.FromString(event.item())
    except DecodeError:
        raise errors.DataLossError(None, None, "Bad tf.Event binary proto tensor string") from None
    writer.write(found)
    return ()
