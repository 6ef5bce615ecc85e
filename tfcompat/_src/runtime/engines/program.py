"""A cluster's program: a cache of executables by input shapes, each prepared by an engine (compiled, or interpreted)."""

from __future__ import annotations

import functools
from typing import Any

from tfcompat._src.base import jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.helper_threads import Work, is_interruptible
from tfcompat._src.base.recent import Recent
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY
from tfcompat._src.runtime.engines import choice, compile_notice
from tfcompat._src.runtime.engines.engine import Executable
from tfcompat._src.runtime.ir.plan import Cluster
from tfcompat._src.runtime.latency.trace_family import TraceFamily
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Shapes, Tracing


class Program:
    """A cluster with the values of its compile-time inputs.

    Attributes:
      known: tensors with a value before the run, compile-time inputs included. capacity: elements reserved for growing TensorArrays.
      executables: by input shapes; a bounded number of the most recently used is kept. traces: number of traces so far.
    """

    def __init__(self, cluster: Cluster, known: dict[Any, NDArray], statics: list[NDArray], capacity: int = FIRST_CAPACITY) -> None:
        self.known = {**known, **dict(zip(cluster.statics, statics))}
        self.capacity = capacity
        self.executables: Recent[Shapes, Executable] = Recent()
        self.traces = 0
        self._family = TraceFamily()
        self._begun: dict[Shapes, Work] = {}

    def executable_for(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> Executable:
        """Returns the executable for arguments whose inputs have these shapes, and prepares one if there is none that fits.

        Raises:
          errors.ResourceExhaustedError: it needs more memory than the device has; nothing has been donated then.
        """
        executable = self.executables.get(shapes)
        while executable is None or executable.is_used_up or not executable.fits(arguments):
            self._prepare(cluster, shapes, arguments)
            executable = self.executables.get(shapes)
        return executable

    def _prepare(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> None:
        """Prepares an executable. Where a signal handler may interrupt, a helper thread does it, and the next run waits for the same work."""
        if not is_interruptible():
            self._prepare_here(cluster, shapes, arguments)
            return
        # Compiling takes long: work that an interrupted run began is not thrown away.
        work = self._begun.get(shapes)
        if work is None:
            work = self._begun[shapes] = jax_compat.work_apart(functools.partial(self._prepare_here, cluster, shapes, arguments))
        try:
            work.wait()
        finally:
            if work.is_over:
                self._begun.pop(shapes, None)

    def _prepare_here(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> None:
        """Prepares an executable with the engine that fits best now; one that replaces another for the same shapes reuses its trace."""
        # Variables of other shapes need a new trace; an executable that is only used up is replaced with the same one.
        before = self.executables.get(shapes)
        if before is not None and not before.fits(arguments):
            before = None
        if before is None:
            self.traces += 1
        tracing = before.tracing if before is not None else Tracing(cluster, self.known, self.capacity, self._family)
        with compile_notice.timed(cluster):
            engine = choice.engine_for(tracing, arguments, was_used_up=before is not None)
            self.executables[shapes] = engine.prepare(tracing, arguments)
