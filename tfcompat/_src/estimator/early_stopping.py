"""Hooks that stop a training early, by what evaluations found."""

from __future__ import annotations

import collections
import operator
import os
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.exporter import scalar_results
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.platform import file_io, logging
from tfcompat._src.train.hook_timers import SecondOrStepTimer
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.initializers import Constant
from tfcompat._src.variables.scope import AUTO_REUSE, get_variable, variable_scope
from tfcompat._src.variables.training_util import get_global_step

_EVENT_FILE_GLOB_PATTERN = "events.out.tfevents.*"


@export("estimator.experimental.make_early_stopping_hook", "compat.v2.estimator.experimental.make_early_stopping_hook")
def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that stops all workers when a function of the chief says so.

    Args:
      estimator: the Estimator that trains.
      should_stop_fn: function without arguments that gives whether to stop.
      run_every_secs, run_every_steps: seconds or steps between its calls; one of them is None.

    Raises:
      TypeError: no Estimator or no function. ValueError: both intervals are given.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


@export("estimator.experimental.stop_if_higher_hook", "compat.v2.estimator.experimental.stop_if_higher_hook")
def stop_if_higher_hook(
    estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
    run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """A hook that stops when a metric of an evaluation is above a threshold.

    Args:
      estimator: the Estimator that trains.
      metric_name: the metric. threshold: the threshold.
      eval_dir: folder of the evaluations' summaries, by default that of `estimator.evaluate`.
      min_steps: evaluations at smaller global steps do not count.
      run_every_secs, run_every_steps: seconds or steps between checks; one of them is None.

    Raises:
      TypeError: no Estimator. ValueError: both intervals are given.
    """
    decide = _threshold_crossed(estimator, metric_name, threshold, True, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, decide, run_every_secs, run_every_steps)


@export("estimator.experimental.stop_if_lower_hook", "compat.v2.estimator.experimental.stop_if_lower_hook")
def stop_if_lower_hook(
    estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
    run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """A hook that stops when a metric of an evaluation is below a threshold; see `stop_if_higher_hook`."""
    decide = _threshold_crossed(estimator, metric_name, threshold, False, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, decide, run_every_secs, run_every_steps)


@export("estimator.experimental.stop_if_no_increase_hook", "compat.v2.estimator.experimental.stop_if_no_increase_hook")
def stop_if_no_increase_hook(
    estimator: Estimator, metric_name: str, max_steps_without_increase: int, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """A hook that stops when a metric has not increased for `max_steps_without_increase` steps; see
    `stop_if_higher_hook`.
    """
    decide = _no_improvement(estimator, metric_name, max_steps_without_increase, True, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, decide, run_every_secs, run_every_steps)


@export("estimator.experimental.stop_if_no_decrease_hook", "compat.v2.estimator.experimental.stop_if_no_decrease_hook")
def stop_if_no_decrease_hook(
    estimator: Estimator, metric_name: str, max_steps_without_decrease: int, eval_dir: str | None = None,
    min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None,
) -> SessionRunHook:  # fmt: skip
    """A hook that stops when a metric has not decreased for `max_steps_without_decrease` steps; see
    `stop_if_higher_hook`.
    """
    decide = _no_improvement(estimator, metric_name, max_steps_without_decrease, False, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, decide, run_every_secs, run_every_steps)


def read_eval_metrics(eval_dir: str) -> collections.OrderedDict[int, dict[str, float]]:
    """The metrics in the event files of a folder: dicts by name, by global step in ascending order."""
    found: dict[int, dict[str, float]] = collections.defaultdict(dict)
    files = file_io.glob(os.path.join(eval_dir, _EVENT_FILE_GLOB_PATTERN)) if file_io.exists(eval_dir) else []
    for path in files:
        for event in summary_iterator(path):
            metrics = scalar_results(event)
            if metrics:
                found[event.step].update(metrics)
    return collections.OrderedDict(sorted(found.items()))


def _threshold_crossed(
    estimator: Estimator, metric_name: str, threshold: float, is_higher: bool, eval_dir: str | None, min_steps: int
) -> Callable[[], bool]:
    """A function that says whether some evaluation found the metric beyond the threshold."""
    eval_dir = estimator.eval_dir() if eval_dir is None else eval_dir
    is_beyond, words = (operator.gt, "greater than") if is_higher else (operator.lt, "less than")

    def stop_if_threshold_crossed_fn() -> bool:
        for step, metrics in read_eval_metrics(eval_dir).items():
            if step >= min_steps and is_beyond(metrics[metric_name], threshold):
                logging.info(
                    'At step %s, metric "%s" has value %s which is %s the configured threshold (%s) for early stopping.',
                    step, metric_name, metrics[metric_name], words, threshold,
                )  # fmt: skip
                return True
        return False

    return stop_if_threshold_crossed_fn


def _no_improvement(
    estimator: Estimator, metric_name: str, max_steps: int, is_higher_better: bool, eval_dir: str | None, min_steps: int
) -> Callable[[], bool]:
    """A function that says whether some evaluation was `max_steps` or more after the best one before it."""
    eval_dir = estimator.eval_dir() if eval_dir is None else eval_dir
    is_better, word = (operator.gt, "increase") if is_higher_better else (operator.lt, "decrease")

    def stop_if_no_metric_improvement_fn() -> bool:
        best, best_step = None, 0
        for step, metrics in read_eval_metrics(eval_dir).items():
            if step < min_steps:
                continue
            if best is None or is_better(metrics[metric_name], best):
                best, best_step = metrics[metric_name], step
            if step - best_step >= max_steps:
                logging.info(
                    'No %s in metric "%s" for %s steps, which is greater than or equal to max steps (%s) configured '
                    "for early stopping.", word, metric_name, step - best_step, max_steps,
                )  # fmt: skip
                return True
        return False

    return stop_if_no_metric_improvement_fn


def _get_or_create_stop_var() -> Any:
    """The variable by which the chief tells the workers to stop."""
    with variable_scope("signal_early_stopping", values=[], reuse=AUTO_REUSE):
        return get_variable(
            "STOP", shape=[], dtype=dtypes.bool, initializer=Constant(False), collections=[GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )  # fmt: skip


class _StopOnPredicateHook(SessionRunHook):
    """Calls a function now and then, and stops all workers when it says so; arguments as `make_early_stopping_hook`."""

    def __init__(
        self, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60, run_every_steps: int | None = None
    ) -> None:
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self) -> None:
        self._global_step_tensor = get_global_step()
        self._stop_var = _get_or_create_stop_var()
        self._stop_op = assign(self._stop_var, True)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            logging.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop_op)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """Stops a worker when the chief says so."""

    def begin(self) -> None:
        self._stop_var = _get_or_create_stop_var()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._stop_var)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()
