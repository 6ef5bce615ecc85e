"""Adds to the error of a failed `tf.check_numerics` which node made the NaN or the infinity, at which line, and from which inputs.

The part of the graph that the check depends on runs once more, one operation at a time (`debugging/debugged_run.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfcompat._src.base import errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.debugging.debugged_run import DebuggedRun
from tfcompat._src.runtime.ir.item import as_items
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, Plan
from tfcompat._src.runtime.passes.prune import prune

if TYPE_CHECKING:
    from tfcompat._src.runtime.session.session import BaseSession


def explained(error: errors.OpError, session: BaseSession, plan: Plan, feeds: Sequence[object]) -> errors.OpError | None:
    """The error of a run, with the origin of the value that a CheckNumerics has rejected; None where the origin cannot be found.

    The repetition must give the same values and have no side effects. So there is none if the run has changed a variable before the
    check, or if the check depends on a Python function, a queue or a file. Random operations draw the numbers of the failed run.

    Args:
      error: that of the run. session: the session. plan: the plan of the run. feeds: the values of its fed tensors.
    """
    check = error.op
    # A server returns TensorFlow's message to its client.
    if not isinstance(check, Operation) or not check.spec.facts.checks_numbers or session.context.shares_state:
        return None
    # Inside a conditional or a loop, the check alone is not a valid fetch.
    if check.graph is not session.graph or check._get_control_flow_context() is not None:
        return None
    has_changed = any(_writes(step, check) for step in plan.steps)
    needed = as_items(prune((), [check], plan.feeds), plan.feeds)
    acts = any(i.writes or i.effects.external or i.effects.calls or i.effects.waits for i in needed)
    draws = any(i.effects.random for i in needed)
    if has_changed or acts or (draws and error.drew_from is None):
        return None
    origin = DebuggedRun(session, (), [check], plan.feeds).first_not_finite(feeds, error.drew_from or {})
    if origin is None:
        return None
    return errors.InvalidArgumentError(error.node_def, check, f"{errors.with_node(error.message, check)}\n{origin.message}")


def _writes(step: Cluster | HostStep, check: Operation) -> bool:
    """Whether a step of a plan may have written variables when the check failed."""
    if isinstance(step, Cluster):
        # A cluster writes at its end, which that of the check has not reached.
        return bool(step.updates or step.overwrites) and all(check not in item.operations for item in step.items)
    before = itertools.takewhile(lambda item: check not in item.operations, step.items)
    return any(item.writes for item in before)
