"""Steps that would wait for others: they come later in the same run, or go on in threads of their own.

A queue that is empty may be filled, in the same run, by a step behind the one that asks it. A function of the program may wait for
another one of the run: TensorFlow calls both in threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Set

from tfcompat._src.base import jax_compat, jax_threads
from tfcompat._src.base.helper_threads import Work
from tfcompat._src.base.run_limits import MustWait, without_waiting
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.plan import Step, touches_state

PATIENCE = 0.1
"""Seconds that a function of the program runs alone, so that functions are called in the same order each time; longer ones may wait."""


def run_apart(steps: list[Step], sources: Mapping[Item, list[Item]], beside: Set[Item], run: Callable[[Step], None]) -> None:
    """Runs steps in order; one that would wait, and those that need it, when the others are done or nothing else can run.

    Args:
      steps: of a plan. sources: the items behind which each item runs. run: runs a step.
      beside: the items that call functions of the program for which later ones may wait. They run in helper threads.
    """
    apart = _Apart(sources, beside, run)
    try:
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
    """Runs steps, some of them in helper threads; `going` are those that have not ended.

    `helped` says whether a step that acts was run behind one that would wait: it may have given what that waits for.
    """

    def __init__(self, sources: Mapping[Item, list[Item]], beside: Set[Item], run: Callable[[Step], None]) -> None:
        self._sources, self._beside, self._run = sources, beside, run
        self.going: dict[Step, Work] = {}
        self.helped = False

    def run_without_waiting(self, steps: list[Step]) -> list[Step]:
        """Runs steps in order; returns those that would wait, and those that need them or what is going."""
        postponed: list[Step] = []
        self.helped = False
        for step in steps:
            if (postponed or self.going) and _needs(step, (*postponed, *self.going), self._sources):
                postponed.append(step)
                continue
            if not self._beside.isdisjoint(step.items):
                self._begin(step)
            elif not step.waits:
                self._run(step)
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
        """Runs a step in a helper thread, and lets it go on there when it takes long."""

        def run() -> None:
            with jax_compat.x64():
                self._run(step)

        work = self.going[step] = Work(run)
        with jax_threads.Waiting():
            is_over = work.is_over_within(PATIENCE)
        if is_over:
            self._end(step)

    def _end(self, step: Step) -> None:
        work = self.going.pop(step)
        with jax_threads.Waiting():
            work.wait()

    def ended_one(self) -> bool:
        """Waits for the end of a step that is going, the first that was begun; False where there is none."""
        for step in self.going:
            self._end(step)
            return True
        return False

    def join(self) -> None:
        """Waits for the steps that are going, whatever they raise."""
        with jax_threads.Waiting():
            for work in self.going.values():
                work.join()


def _first_to_wait(steps: list[Step], sources: Mapping[Item, list[Item]]) -> int:
    """Which of the steps waits: the first, or the last of those that only gather, so that a thread which gives to all wakes this one once."""
    gathering = itertools.takewhile(lambda i: _gathers(steps[i]) and not _needs(steps[i], steps[:i], sources), range(len(steps)))
    return max(gathering, default=0)


def _gathers(step: Step) -> bool:
    return all(op.spec.facts.gathers for item in step.items for op in item.operations)


def _needs(step: Step, others: Iterable[Step], sources: Mapping[Item, list[Item]]) -> bool:
    """Whether a step uses what others give, must come after them, or touches variables as one of them does."""
    before = {item for other in others for item in other.items}
    if any(source in before for item in step.items for source in sources.get(item, ())):
        return True
    return any(map(touches_state, step.items)) and any(map(touches_state, before))


def _acts(step: Step) -> bool:
    return any(not isinstance(i, OpItem) or i.writes or i.effects.external and not i.effects.creates for i in step.items)
