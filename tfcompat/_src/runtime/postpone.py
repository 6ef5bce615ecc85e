"""Operations that would wait for another thread run after all that does not need them: a queue may be filled, and another
operation may fail, in the same run."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.run_limits import MustWait, without_waiting
from tfcompat._src.runtime.lower_control import leaf_operations
from tfcompat._src.runtime.plan import Cluster, HostStep
from tfcompat._src.runtime.variable_state import accesses

Step = HostStep | Cluster


def run_apart(steps: list[Step], run: Callable[[Step], None]) -> None:
    """Runs steps in order; one that would wait, and those that need it, when the others are done."""
    postponed: list[Step] = []
    for step in steps:
        if postponed and _needs(step, postponed):
            postponed.append(step)
        elif not step.waits:
            run(step)
        else:
            try:
                with without_waiting():
                    run(step)
            except MustWait:
                postponed.append(step)
    for step in postponed:
        run(step)


def _needs(step: Step, others: list[Step]) -> bool:
    """Whether a step uses what others give, must come after them, or touches variables as one of them does."""
    before = {op for other in others for item in other.items for op in (item, *leaf_operations(item))}
    for item in step.items:
        if any(t.op in before for t in item._inputs):
            return True
        if any(c in before for op in leaf_operations(item) for c in (*op._control_inputs, *item._control_inputs)):
            return True
    return _touches_state(step) and any(map(_touches_state, others))


def _touches_state(step: Step) -> bool:
    return any(not isinstance(item, Operation) or item.spec.effects.random or any(accesses(item)) for item in step.items)
