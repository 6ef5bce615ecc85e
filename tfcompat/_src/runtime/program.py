"""What a cluster becomes: a program with one executable for each set of input shapes, which an engine has prepared."""

from __future__ import annotations

import functools
from typing import Any

from tfcompat._src.base import jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.helper_threads import Work, is_interruptible
from tfcompat._src.base.recent import Recent
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY
from tfcompat._src.runtime import compile_notice
from tfcompat._src.runtime.cluster_trace import Arguments, Shapes, Tracing
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.engines.engine import Executable
from tfcompat._src.runtime.plan import Cluster
from tfcompat._src.runtime.trace_family import TraceFamily


class Program:
    """A cluster for one set of compile-time values.

    Attributes:
      known: tensors with a value before the run. capacity: the room of growing TensorArrays.
      executables: by input shapes; those that were used last are kept. traces: how many were traced so far.
    """

    def __init__(self, cluster: Cluster, known: dict[Any, NDArray], statics: list[NDArray], capacity: int = FIRST_CAPACITY) -> None:
        self.known = {**known, **dict(zip(cluster.statics, statics))}
        self.capacity = capacity
        self.executables: Recent[Shapes, Executable] = Recent()
        self.traces = 0
        self._family = TraceFamily()
        self._begun: dict[Shapes, Work] = {}

    def executable_for(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> Executable:
        """What computes the cluster, which keeps this program, for arguments whose inputs have these shapes; prepared where none is left.

        Raises:
          errors.ResourceExhaustedError: it needs more memory than the device has, which is found out before anything is donated.
        """
        found = self.executables.get(shapes)
        while found is None or found.is_used_up or not found.fits(arguments):
            self._prepare(cluster, shapes, arguments)
            found = self.executables.get(shapes)
        return found

    def _prepare(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> None:
        """Prepares an executable, or waits where a run that a signal's handler has ended began with that."""
        if not is_interruptible():
            self._prepare_here(cluster, shapes, arguments)
            return
        work = self._begun.get(shapes)
        if work is None:
            work = self._begun[shapes] = jax_compat.work_apart(functools.partial(self._prepare_here, cluster, shapes, arguments))
        try:
            work.wait()
        finally:
            if work.is_over:
                self._begun.pop(shapes, None)

    def _prepare_here(self, cluster: Cluster, shapes: Shapes, arguments: Arguments) -> None:
        before = self.executables.get(shapes)
        if before is not None and not before.fits(arguments):
            before = None
        if before is None:
            self.traces += 1
        tracing = before.tracing if before is not None else Tracing(cluster, self.known, self.capacity, self._family)
        with compile_notice.timed(cluster):
            engine = choice.engine_for(tracing, arguments, was_used_up=before is not None)
            self.executables[shapes] = engine.prepare(tracing, arguments)
