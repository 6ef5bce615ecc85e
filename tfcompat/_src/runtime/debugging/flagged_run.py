"""Compiled runs with a check that every watched tensor is finite.

If one is not, the run has changed nothing, and a debugged run starts from the same state to find the origin. Therefore not every
plan qualifies: only its last compiled call may change variables, and host steps must be single operations without writes or random
numbers. Results of operations on the host are kept and passed to the debugged run, so that none of them runs twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfcompat._src.base import errors, this_run
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.debugging import not_finite
from tfcompat._src.runtime.ir.item import OpItem
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.lowering.lower import Replan
from tfcompat._src.runtime.passes.plan_guards import Guard
from tfcompat._src.runtime.passes.towers import TowersItem
from tfcompat._src.runtime.session import run_metadata as trace
from tfcompat._src.runtime.session.execute import run_step
from tfcompat._src.runtime.state.run_context import RunContext

Values = dict[Tensor, object]
Done = dict[Operation, Values]
"""The outputs of operations on the host that have run."""


class FlaggedRun:
    """A plan whose compiled calls fail if a watched tensor is infinite or NaN.

    Args:
      context: of its runs. plan: a plan that no other run uses; it is modified.
      ops: the operations of the run. fed: the fed tensors. is_watched: whether a tensor is watched.

    Attributes:
      plan: the plan. obstacle: why it does not qualify (see the module), or "".
    """

    def __init__(
        self, context: RunContext, plan: Plan, ops: Sequence[Operation], fed: Sequence[Tensor], is_watched: Callable[[Tensor], bool]
    ) -> None:  # fmt: skip
        self._context, self.plan, self._fed = context, plan, fed
        everything = (t for op in ops for t in op.outputs)
        self._watched = not_finite.with_sources(filter(is_watched, (*everything, *fed)))
        # A known value that is not finite fails the check of every run, so that this run could only be in vain.
        infinite = [t for t, value in plan.known.items() if not _is_finite(value)]
        always = next(filter(is_watched, infinite), None)
        self.obstacle = _obstacle(plan, self._watched) if always is None else f"{always.name} has an infinity or a NaN in every run"
        # Fed tensors that enter a cluster are checked there; the others are checked here, before the run.
        looking = {t for cluster in plan.clusters for t in cluster.inputs}
        self._looked_at = [i for i, t in enumerate(fed) if t in self._watched and t not in looking]
        self._steps = [part for step in plan.steps for part in ([step] if isinstance(step, Cluster) else step.apart())]
        if not self.obstacle:
            for cluster in plan.clusters:
                cluster.watched = not_finite.looked_at(cluster, self._watched, infinite)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.plan.guards

    @property
    def is_stale(self) -> bool:
        return self.plan.is_stale

    def run(self, feeds: Sequence[object]) -> tuple[Values | None, Done]:
        """Runs the plan.

        Returns:
          the values of the run, or None if a tensor is not finite or the run has failed, and changed no variable or random counter; and
          the outputs of operations on the host that have run.

        Raises:
          errors.OpError: an operation on the host that must not run twice has failed.
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
        # The debugged run proceeds without a plan for the whole graph; the next flagged run uses the new one.
        except Replan as change:
            plan.findings.add(change.finding)
            plan.is_stale = True
        finally:
            this_run.end(outer)
        context.random_state.rewind([op for cluster in plan.clusters for op in cluster.randoms], before)
        return None, done

    def _step(self, step: Cluster | HostStep, values: Values, done: Done) -> bool:
        """Runs a step; returns whether it has succeeded with finite results. The checks inside a cluster look at its tensors."""
        recorder = trace.current()
        run = run_step if recorder is None else recorder.timed(run_step)
        try:
            run(step, self.plan, values, self._context)
        except errors.OpError:
            if isinstance(step, HostStep) and any(item.effects.external or item.effects.calls for item in step.items):
                raise
            # The debugged run fails in the same way, and raises an error that names the origin.
            return False
        if isinstance(step, Cluster):
            return True
        outputs = {t: values[t] for item in step.items for t in item.outputs if t in values}
        done.update((op, outputs) for item in step.items for op in item.operations)
        return all(t not in self._watched or _is_finite(value) for t, value in outputs.items())


def _is_finite(value: object) -> bool:
    """Whether a value has no infinity or NaN; true for values that are not numbers."""
    array = np.asarray(value)
    return not np.issubdtype(array.dtype, np.number) or bool(np.isfinite(array).all())


def _obstacle(plan: Plan, watched: set[Tensor]) -> str:
    """Why a run of a plan could not be repeated after a failed check; "" if it can."""
    # A failed call changes no variable, but calls before it have changed theirs.
    clusters = plan.clusters
    writing = next((c for c in clusters[:-1] if c.updates or c.overwrites), None)
    if writing is not None:
        return "the run has several compiled calls, of which not only the last changes variables"
    if plan.guarded or plan.steps_apart is not None or any(isinstance(i, TowersItem) for c in clusters for i in c.items):
        return "the run has operations that wait for other threads, or several devices"
    # Host steps run between calls. Their operations must have no effects on the session, and those after the last change of variables
    # must not be watched, as it would be too late.
    is_after = False
    for step in plan.steps:
        if isinstance(step, Cluster):
            is_after = step is clusters[-1] and bool(step.updates or step.overwrites)
            continue
        for item in step.items:
            if not isinstance(item, OpItem) or item.writes or item.effects.random:
                return f"{item.name} ({item.type}) runs on the host"
            if is_after and not watched.isdisjoint(item.outputs):
                return f"{item.name} ({item.type}) runs on the host, after variables have changed"
    return ""
