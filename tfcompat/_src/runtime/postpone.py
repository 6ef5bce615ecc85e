"""Operations that would wait for another thread run after all that does not need them: a queue may be filled, and another
operation may fail, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfcompat._src.base.run_limits import MustWait, without_waiting
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.plan import Step


def run_apart(steps: list[Step], sources: Mapping[Item, list[Item]], run: Callable[[Step], None]) -> None:
    """Runs steps in order; one that would wait, and those that need it, when the others are done or nothing else can run.

    Args:
      steps: of a plan. sources: the items behind which each item runs. run: runs a step.
    """
    while steps:
        left = _run_without_waiting(steps, sources, run)
        if len(left) == len(steps):
            run(left.pop(0))
        steps = left


def _run_without_waiting(steps: list[Step], sources: Mapping[Item, list[Item]], run: Callable[[Step], None]) -> list[Step]:
    """Runs steps in order; returns those that would wait, and those that need them."""
    postponed: list[Step] = []
    for step in steps:
        if postponed and _needs(step, postponed, sources):
            postponed.append(step)
        elif not step.waits:
            run(step)
        else:
            try:
                with without_waiting():
                    run(step)
            except MustWait:
                postponed.append(step)
    return postponed


def _needs(step: Step, others: list[Step], sources: Mapping[Item, list[Item]]) -> bool:
    """Whether a step uses what others give, must come after them, or touches variables as one of them does."""
    before = {item for other in others for item in other.items}
    if any(source in before for item in step.items for source in sources.get(item, ())):
        return True
    return _touches_state(step) and any(map(_touches_state, others))


def _touches_state(step: Step) -> bool:
    return any(not isinstance(i, OpItem) or i.effects.random or i.reads or i.writes for i in step.items)
