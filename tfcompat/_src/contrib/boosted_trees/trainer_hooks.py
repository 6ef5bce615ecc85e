"""Hooks of the training of tf.contrib.boosted_trees."""

from __future__ import annotations

from typing import Any

from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.platform import logging
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.training_util import get_global_step


def _global_step(hook: str) -> Any:
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return step


class FeedFnHook(SessionRunHook):
    """Feeds what a function gives, or a dict."""

    def __init__(self, feed_fn: object) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn)


class StopAfterNTrees(SessionRunHook):
    """Stops when there are enough trees, or twice as many were tried.

    Args:
      n: how many are enough.
      num_attempted_trees_tensor, num_finalized_trees_tensor: int64 scalars.
      override_global_step_value: what the global step becomes then; None leaves it.
    """

    def __init__(
        self, n: int, num_attempted_trees_tensor: object, num_finalized_trees_tensor: object, override_global_step_value: object = None
    ) -> None:
        self._num_trees, self._override = n, override_global_step_value
        self._numbers = [num_attempted_trees_tensor, num_finalized_trees_tensor]

    def begin(self) -> None:
        step = _global_step("StopAfterNTrees")
        if self._override is not None:
            self._override_op = assign(step, self._override)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"num_attempted_trees": self._numbers[0], "num_finalized_trees": self._numbers[1]})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        attempted, finished = (run_values.results[key] for key in ("num_attempted_trees", "num_finalized_trees"))
        if finished >= self._num_trees or attempted > 2 * self._num_trees:
            logging.info("Requesting stop since we have reached %d trees.", finished)
            if self._override is not None:
                run_context.session.run(self._override_op)
            run_context.request_stop()


class SwitchTrainOp(SessionRunHook):
    """Runs an operation in the first steps, and another one after them.

    Args:
      first_train_op, second_train_op: operations.
      train_steps: how many steps the first is for.
    """

    def __init__(self, first_train_op: object, train_steps: int, second_train_op: object) -> None:
        self._first, self._second, self._train_steps = first_train_op, second_train_op, train_steps

    def begin(self) -> None:
        self._step, self._current = _global_step("SwitchTrainOp"), no_op()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"global_step": self._step, "train_op": self._current})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._current = self._first if run_values.results["global_step"] < self._train_steps else self._second
