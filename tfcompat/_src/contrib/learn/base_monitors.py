"""The base classes of contrib.learn's monitors."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export


@export("contrib.learn.monitors.BaseMonitor")
class BaseMonitor:
    """What is told of each step of a training; subclasses override what they need."""

    def __init__(self) -> None:
        self._begun = False
        self._current_epoch = self._current_step = self._max_steps = self._estimator = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether workers that are not the chief run it."""
        return False

    def set_estimator(self, estimator) -> None:
        """Says whose training it is; ValueError for None."""
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps=None) -> None:
        """Before the first step; `max_steps` is the last step, where it is known. ValueError where it has begun."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps, self._begun = max_steps, True

    def end(self, session=None) -> None:
        """After the last step; ValueError where it has not begun."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps, self._begun = None, False

    def epoch_begin(self, epoch) -> None:
        """Before an epoch; ValueError where one has not ended, or the number is negative."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch) -> None:
        """After an epoch; ValueError where it has not begun."""
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step) -> list[Any]:
        """Before a step: the tensors, or their names, that are wanted. ValueError where the number is out of range."""
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step, output) -> Any:
        """After a step, with the values that were wanted: whether to stop. ValueError where it has not begun."""
        if self._current_step != step:
            raise ValueError(f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step, session) -> None:
        """After `step_end` of all monitors."""


def extract_output(outputs: dict[Any, Any], request: Any) -> Any:
    """The value of a tensor that was wanted as such or by name."""
    return outputs[request] if request in outputs else outputs[request.name]


@export("contrib.learn.monitors.EveryN")
class EveryN(BaseMonitor):
    """Acts every so many steps.

    Args:
      every_n_steps: steps between actions.
      first_n_steps: how many first steps are acted on all.
    """

    def __init__(self, every_n_steps=100, first_n_steps=1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_successful_step, self._last_active_step = None, 0
        self._every_n_step_begin_called = False

    def every_n_step_begin(self, step) -> list[Any]:
        """As `step_begin`, for the steps that are acted on."""
        return []

    def every_n_step_end(self, step, outputs) -> Any:
        """As `step_end`, for the steps that are acted on."""
        return False

    def every_n_post_step(self, step, session) -> None:
        """As `post_step`, for the steps that are acted on, and the last one."""

    def step_begin(self, step) -> list[Any]:
        super().step_begin(step)
        self._every_n_step_begin_called = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        return self.every_n_step_begin(step) if self._every_n_step_begin_called else []

    def step_end(self, step, output) -> bool:
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._every_n_step_begin_called else False

    def post_step(self, step, session) -> None:
        super().post_step(step, session)
        if self._every_n_step_begin_called:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session=None) -> None:
        super().end(session=session)
        if self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)
