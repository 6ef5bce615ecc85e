"""`tensorflow.python.eager.profiler`: profiles of this process by JAX's profiler, written as `local.trace` files for TensorBoard."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import jax

from tfcompat._src.io.events import EventsWriter
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages

_EVENT_FILE_SUFFIX = ".profile-empty"
_PICOSECONDS = 1_000_000
"""Picoseconds in a microsecond."""


class ProfilerAlreadyRunningError(Exception):
    """`start` was called while a profile is being recorded."""


class ProfilerNotRunningError(Exception):
    """`stop` was called while no profile is being recorded."""


class _Running:
    """The folder that JAX records into; None while no profile is recorded."""

    folder: str | None = None
    lock = threading.Lock()


def start() -> None:
    """Starts recording a profile.

    Raises:
      ProfilerAlreadyRunningError: one is being recorded, by this module or by JAX.
    """
    with _Running.lock:
        if _Running.folder is not None:
            raise ProfilerAlreadyRunningError("Another profiler is running.")
        folder = tempfile.mkdtemp()
        try:
            jax.profiler.start_trace(folder, create_perfetto_trace=False)
        except RuntimeError as e:
            shutil.rmtree(folder)
            raise ProfilerAlreadyRunningError(f"Another profiler is running: {e}") from e
        _Running.folder = folder


def stop() -> bytes:
    """Stops recording.

    Returns:
      a serialized Trace message with JAX's events of host threads and devices.

    Raises:
      ProfilerNotRunningError: no profile is being recorded.
    """
    with _Running.lock:
        folder, _Running.folder = _Running.folder, None
        if folder is None:
            raise ProfilerNotRunningError("Cannot stop profiling. No profiler is running.")
        try:
            jax.profiler.stop_trace()
            return _trace(folder)
        finally:
            shutil.rmtree(folder)


def is_running() -> bool:
    """Returns whether a profile is being recorded."""
    return _Running.folder is not None


def _trace(folder: str) -> bytes:
    """Returns the events of JAX's JSON files below a folder as a serialized Trace."""
    trace = messages.profiler.Trace()
    # JAX writes gzipped JSON in Chrome's trace event format.
    for path in sorted(Path(folder).rglob("*.trace.json.gz")):
        for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
            _add(trace, event)
    written: bytes = trace.SerializeToString()
    return written


def _add(trace: Any, event: dict[str, Any]) -> None:
    """Adds an event in Chrome's trace event format: metadata (phase M) names a process or thread, a complete event (X) has a duration."""
    kind, arguments = event.get("ph"), event.get("args", {})
    if kind == "M" and event["name"] == "process_name":
        trace.devices[event["pid"]].name, trace.devices[event["pid"]].device_id = arguments["name"], event["pid"]
    elif kind == "M" and event["name"] == "thread_name":
        resource = trace.devices[event["pid"]].resources[event["tid"]]
        resource.name, resource.resource_id = arguments["name"], event["tid"]
    elif kind == "X":
        resource = trace.devices[event["pid"]].resources[event["tid"]]
        resource.name, resource.resource_id = resource.name or str(event["tid"]), event["tid"]
        trace.trace_events.add(
            device_id=event["pid"], resource_id=event["tid"], name=event["name"],
            timestamp_ps=round(event["ts"] * _PICOSECONDS), duration_ps=round(event.get("dur", 0) * _PICOSECONDS),
            args={key: str(value) for key, value in arguments.items()},
        )  # fmt: skip


def maybe_create_event_file(logdir: str) -> None:
    """Writes an empty event file `.profile-empty` into a folder that has none: by it TensorBoard recognizes a folder with profiles."""
    if not any(name.endswith(_EVENT_FILE_SUFFIX) for name in file_io.listdir(logdir)):
        EventsWriter(os.path.join(logdir, "events")).InitWithSuffix(_EVENT_FILE_SUFFIX)


def save(logdir: str, result: bytes) -> None:
    """Writes the result of `stop` below a log directory, as plugins/profile/<time>/local.trace, where TensorBoard looks for it."""
    folder = os.path.join(logdir, "plugins", "profile", datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    file_io.makedirs(folder)
    maybe_create_event_file(logdir)
    with file_io.FileIO(os.path.join(folder, "local.trace"), "wb") as file:
        file.write(result)


class Profiler:
    """A block whose profile is written below `logdir`."""

    def __init__(self, logdir: str) -> None:
        self._logdir = logdir

    def __enter__(self) -> None:
        start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        save(self._logdir, stop())


def start_profiler_server(port: int) -> NoReturn:
    """Raises NotImplementedError: JAX's profiler server does not speak the protocol of 1.15's clients."""
    raise NotImplementedError(f"tfcompat has no start_profiler_server (port {port}). Use jax.profiler.start_server and its tools, or start and stop.")
