"""tf.compat.v2.summary.trace_on, trace_export, trace_off: graphs of functions, and profiles, for TensorBoard."""

from __future__ import annotations

import threading
from typing import NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.eager import profiler as eager_profiler
from tfcompat._src.eager.run_metadata import (
    disable_run_metadata,
    enable_graph_collection,
    enable_run_metadata,
    export_run_metadata,
)
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary_ops_v2 import run_metadata, run_metadata_graphs


class _Trace(NamedTuple):
    """What a trace records."""

    graph: bool
    profiler: bool


class _Current:
    """The trace that is on, None where none is."""

    trace: _Trace | None = None
    lock = threading.Lock()


def _refuses(in_function: str, in_graph: str) -> bool:
    """Whether the caller builds a function or graph, which a warning then says."""
    if get_default_graph().building_function:
        logging.warning(in_function)
    elif not executing_eagerly():
        logging.warning(in_graph)
    else:
        return False
    return True


@export("compat.v2.summary.trace_on")
def trace_on(graph: bool = True, profiler: bool = False) -> None:
    """Begins to collect the graphs of functions that run for the first time, in all threads; in eager mode alone.

    Args:
      graph: whether to collect graphs. profiler: whether to record a profile by JAX's profiler, and graphs too.
    """
    if _refuses("Cannot enable trace inside a tf.function.", "Must enable trace in eager mode."):
        return
    with _Current.lock:
        if _Current.trace is not None:
            logging.warning("Trace already enabled")
            return
        if graph and not profiler:
            enable_graph_collection()
        if profiler:
            enable_run_metadata()
            eager_profiler.start()
        _Current.trace = _Trace(graph, profiler)


@export("compat.v2.summary.trace_export")
def trace_export(name: str, step: object = None, profiler_outdir: str | None = None) -> None:
    """Writes what was collected as a summary `name` with the writer of this thread, and ends the trace.

    Args:
      name: tag of the summary. step: int64 scalar, by default what `set_step` set.
      profiler_outdir: TensorBoard's folder, into which the profile is written; needed where one is recorded.

    Raises:
      ValueError: no trace is on; `profiler_outdir` or a step is missing.
    """
    if _refuses("Cannot export trace inside a tf.function.", "Can only export trace while executing eagerly."):
        return
    with _Current.lock:
        trace = _Current.trace
        if trace is None:
            raise ValueError("Must enable trace before export.")
        if trace.profiler and profiler_outdir is None:
            raise ValueError("Required profiler_outdir is not specified")
    write = run_metadata_graphs if trace.graph and not trace.profiler else run_metadata
    write(name, export_run_metadata(), step)
    if profiler_outdir is not None and trace.profiler:
        eager_profiler.save(profiler_outdir, eager_profiler.stop())
    trace_off()


@export("compat.v2.summary.trace_off")
def trace_off() -> None:
    """Ends the trace and forgets what it collected."""
    with _Current.lock:
        _Current.trace = None
    disable_run_metadata()
    if eager_profiler.is_running():
        eager_profiler.stop()
