"""Runs the steps of a plan of which some may block: a blocking step is postponed, or continues in a thread of its own.

TensorFlow runs operations in parallel, so that a dequeue may wait for an enqueue of the same run, and one py_func for another. Steps run one
after another here: a step that would block comes after the steps that do not need it, and calls that may wait for each other run in threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Set

from tfcompat._src.base import jax_compat, jax_threads
from tfcompat._src.base.helper_threads import Work
from tfcompat._src.base.run_limits import MustWait, without_waiting
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.plan import Step, touches_state

PATIENCE = 0.1
"""Seconds that a call of a Python function runs alone before the next step starts, so that short functions are called in a fixed order."""


def run_apart(steps: list[Step], sources: Mapping[Item, list[Item]], beside: Set[Item], run: Callable[[Step], None]) -> None:
    """Runs steps in order, but postpones those that would block and those that need them.

    Args:
      steps: of a plan. sources: the items that must run before each item. run: runs a step.
      beside: the items that call Python functions for which later calls may wait; they run in helper threads.

    Raises:
      Exception: that of the first step that failed, after the steps in helper threads have ended.
    """
    apart = _Apart(sources, beside, run)
    try:
        # Rounds over the remaining steps. If a round had no effect that could unblock one, a thread is awaited; without threads, the
        # first blocking step waits for other threads of the program.
        while steps:
            left = apart.run_without_waiting(steps)
            if left and not apart.helped and not apart.ended_one():
                run(left.pop(_first_to_wait(left, sources)))
            steps = left
        while apart.ended_one():
            pass
    except Exception:
        apart.join()
        raise


class _Apart:
    """Runs steps, some of them in helper threads.

    Attributes:
      going: the steps in helper threads that have not ended.
      helped: whether a step with effects ran after a postponed one in the last round, so that this one may not block any more.
    """

    def __init__(self, sources: Mapping[Item, list[Item]], beside: Set[Item], run: Callable[[Step], None]) -> None:
        self._sources, self._beside, self._run = sources, beside, run
        self.going: dict[Step, Work] = {}
        self.helped = False

    def run_without_waiting(self, steps: list[Step]) -> list[Step]:
        """Runs steps in order; returns those that would block, and those that need them or a step in a helper thread."""
        postponed: list[Step] = []
        self.helped = False
        for step in steps:
            # A step that needs an unfinished one comes in a later round.
            if (postponed or self.going) and _needs(step, (*postponed, *self.going), self._sources):
                postponed.append(step)
                continue
            if not self._beside.isdisjoint(step.items):
                self._begin(step)
            elif not step.waits:
                self._run(step)
            # A step that may block is tried in a mode in which blocking raises MustWait, before it has any effect.
            else:
                try:
                    with without_waiting():
                        self._run(step)
                except MustWait:
                    postponed.append(step)
                    continue
            self.helped = self.helped or bool(postponed) and _acts(step)
        return postponed

    def _begin(self, step: Step) -> None:
        """Starts a step in a helper thread; returns when it has ended, or after PATIENCE seconds."""

        def run() -> None:
            with jax_compat.x64():
                self._run(step)

        work = self.going[step] = Work(run)
        with jax_threads.Waiting():
            is_over = work.is_over_within(PATIENCE)
        if is_over:
            self._end(step)

    def _end(self, step: Step) -> None:
        """Waits for the end of a step in a helper thread, and raises its error."""
        work = self.going.pop(step)
        with jax_threads.Waiting():
            work.wait()

    def ended_one(self) -> bool:
        """Waits for the step that was started first in a helper thread; returns False if there is none."""
        for step in self.going:
            self._end(step)
            return True
        return False

    def join(self) -> None:
        """Waits for all steps in helper threads and ignores their errors; another error is being raised."""
        with jax_threads.Waiting():
            for work in self.going.values():
                work.join()


def _first_to_wait(steps: list[Step], sources: Mapping[Item, list[Item]]) -> int:
    """Returns the index of the step to wait in: the first, or the last of the leading steps that gather from queues.

    A thread that feeds all of these queues then wakes this one only once.
    """
    gathering = itertools.takewhile(lambda i: _gathers(steps[i]) and not _needs(steps[i], steps[:i], sources), range(len(steps)))
    return max(gathering, default=0)


def _gathers(step: Step) -> bool:
    return all(op.spec.facts.gathers for item in step.items for op in item.operations)


def _needs(step: Step, others: Iterable[Step], sources: Mapping[Item, list[Item]]) -> bool:
    """Whether a step depends on one of `others`, or uses variables or random numbers as one of them does."""
    # Dependencies of data, control and variables first; then the order of all items that use state.
    before = {item for other in others for item in other.items}
    if any(source in before for item in step.items for source in sources.get(item, ())):
        return True
    return any(map(touches_state, step.items)) and any(map(touches_state, before))


def _acts(step: Step) -> bool:
    return any(not isinstance(i, OpItem) or i.writes or i.effects.external and not i.effects.creates for i in step.items)
