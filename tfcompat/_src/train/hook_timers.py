"""When a hook acts: every so many steps or seconds."""

from __future__ import annotations

import time
from typing import Any

from tfcompat._src.base.export import export


@export("train.SecondOrStepTimer", "estimator.SecondOrStepTimer", "compat.v2.estimator.SecondOrStepTimer")
class SecondOrStepTimer:
    """Triggers at the first step it is asked about, then whenever an interval has passed since it last did.

    Args:
      every_secs: the interval in seconds. every_steps: the interval in steps.

    Raises:
      ValueError: not exactly one of them is given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it triggered."""
        self._last_triggered_step: Any = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time to act at `step`; never twice at the same step."""
        if self._last_triggered_step is None or self._last_triggered_time is None:
            return True
        if step == self._last_triggered_step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that the hook acted at `step`; gives the seconds and the steps since it did before, None at first."""
        now = time.time()
        elapsed: tuple[Any, Any] = (None, None)
        if self._last_triggered_time is not None:
            elapsed = (now - self._last_triggered_time, step - self._last_triggered_step)
        self._last_triggered_time, self._last_triggered_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step at which the hook last acted, None before."""
        return self._last_triggered_step


class NeverTriggerTimer:
    """A timer whose time never comes."""

    def reset(self) -> None:
        """Nothing is kept."""

    def should_trigger_for_step(self, step: int) -> bool:
        return False

    def update_last_triggered_step(self, step: int) -> tuple[None, None]:
        return None, None

    def last_triggered_step(self) -> None:
        return None
