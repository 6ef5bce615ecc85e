"""Runs that only ask whether a tensor has an infinity or a NaN: compiled as others, and undone where one has.

What a debugged run needs then is the state from before, so not every run can be asked this way: only the last compiled call may change
variables, and what runs on the host is single operations. What these gave is kept, so that none of them acts twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfcompat._src.base import errors, this_run
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime import not_finite, trace
from tfcompat._src.runtime.execute import run_step
from tfcompat._src.runtime.item import OpItem
from tfcompat._src.runtime.lower import Replan
from tfcompat._src.runtime.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.run_context import RunContext
from tfcompat._src.runtime.towers import TowersItem

Values = dict[Tensor, object]
Done = dict[Operation, Values]
"""What operations on the host have given that have run."""


class FlaggedRun:
    """A plan whose calls fail where a watched tensor is infinite or NaN.

    Args:
      context: of its runs. plan: one that no other run uses.
      ops: the operations of the run. fed: the tensors that are fed. is_watched: says so of a tensor.

    Attributes:
      plan: the plan. obstacle: why such runs cannot be asked, or "".
    """

    def __init__(
        self, context: RunContext, plan: Plan, ops: Sequence[Operation], fed: Sequence[Tensor], is_watched: Callable[[Tensor], bool]
    ) -> None:  # fmt: skip
        self._context, self.plan, self._fed = context, plan, fed
        everything = (t for op in ops for t in op.outputs)
        self._watched = not_finite.with_sources(filter(is_watched, (*everything, *fed)))
        infinite = [t for t, value in plan.known.items() if not _is_finite(value)]
        always = next(filter(is_watched, infinite), None)
        self.obstacle = _obstacle(plan, self._watched) if always is None else f"{always.name} has an infinity or a NaN in every run"
        looking = {t for cluster in plan.clusters for t in cluster.inputs}
        self._looked_at = [i for i, t in enumerate(fed) if t in self._watched and t not in looking]
        self._steps = [part for step in plan.steps for part in ([step] if isinstance(step, Cluster) else step.apart())]
        if not self.obstacle:
            for cluster in plan.clusters:
                cluster.watched = not_finite.looked_at(cluster, self._watched, infinite)

    @property
    def is_stale(self) -> bool:
        return self.plan.is_stale

    def run(self, feeds: Sequence[object]) -> tuple[Values | None, Done]:
        """Runs all; the values there are then, or None where a tensor is not finite or the run fails: all is then as before, but for operations
        on the host that have run. What those gave comes second.

        Raises:
          errors.OpError: an operation on the host has failed that must not run twice.
        """
        plan, context = self.plan, self._context
        values: Values = {**plan.known, **dict(zip(self._fed, feeds))}
        values.update({plan.feeds[i]: np.array(feeds[i]) for i in plan.kept})
        before, done = context.random_state.positions(), Done()
        outer = this_run.begin()
        try:
            may_begin = all(key in context.variable_state.values for key, _ in plan.required_keys)
            may_begin = may_begin and all(_is_finite(feeds[i]) for i in self._looked_at)
            if may_begin and all(self._step(step, values, done) for step in self._steps):
                return values, done
        except Replan as change:
            plan.findings.add(change.finding)
            plan.is_stale = True
        finally:
            this_run.end(outer)
        context.random_state.rewind([op for cluster in plan.clusters for op in cluster.randoms], before)
        return None, done

    def _step(self, step: Cluster | HostStep, values: Values, done: Done) -> bool:
        """Runs a step; whether what it gives is finite, as far as its own call has not looked."""
        recorder = trace.current()
        run = run_step if recorder is None else recorder.timed(run_step)
        try:
            run(step, self.plan, values, self._context)
        except errors.OpError:
            if isinstance(step, HostStep) and any(item.effects.external or item.effects.calls for item in step.items):
                raise
            return False  # the run that follows fails the same way, and shows where
        if isinstance(step, Cluster):
            return True
        found = {t: values[t] for item in step.items for t in item.outputs if t in values}
        done.update((op, found) for item in step.items for op in item.operations)
        return all(t not in self._watched or _is_finite(value) for t, value in found.items())


def _is_finite(value: object) -> bool:
    array = np.asarray(value)
    return not np.issubdtype(array.dtype, np.number) or bool(np.isfinite(array).all())


def _obstacle(plan: Plan, watched: set[Tensor]) -> str:
    """Why what a run of a plan has done cannot be undone; "" where it can."""
    clusters = plan.clusters
    writing = next((c for c in clusters[:-1] if c.updates or c.overwrites), None)
    if writing is not None:
        return "several compiled calls, of which not only the last changes variables"
    if plan.guarded or plan.steps_apart is not None or any(isinstance(i, TowersItem) for c in clusters for i in c.items):
        return "operations that wait for other threads, or several devices"
    is_after = False
    for step in plan.steps:
        if isinstance(step, Cluster):
            is_after = step is clusters[-1] and bool(step.updates or step.overwrites)
            continue
        for item in step.items:
            if not isinstance(item, OpItem) or item.writes or item.effects.random:
                return f"{item.name} ({item.type}) on the host"
            if is_after and not watched.isdisjoint(item.outputs):
                return f"{item.name} ({item.type}) on the host, after variables have changed"
    return ""
