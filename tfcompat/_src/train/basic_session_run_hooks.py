"""Hooks that log, stop, feed, wait and check; those that write files are in `saving_hooks`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.train.hook_timers import NeverTriggerTimer, SecondOrStepTimer
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables import training_util
from tfcompat._src.variables.initializers import Ones
from tfcompat._src.variables.scope import AUTO_REUSE, get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor

_HOOKS, _STEPS_PER_RUN = "hooks", "steps_per_run"
_SECONDS_BETWEEN_LOOKS = 0.5
_STEPS_BETWEEN_LINES = 1000


def global_step_read(user: str) -> Tensor:
    """The tensor that reads the global step of the default graph; RuntimeError where a hook, `user`, finds none."""
    found = training_util._get_or_create_global_step_read()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    return found


@export("train.LoggingTensorHook", "estimator.LoggingTensorHook", "compat.v2.estimator.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs values at level INFO, every so many runs or seconds, or at the end.

    Args:
      tensors: dict of tensors or their names by tag, or a list of names.
      every_n_iter: runs between two lines. every_n_secs: seconds between two lines.
      at_end: log at the end too, or only then where no interval is given.
      formatter: function of the dict of values by tag that gives the text of a line.

    Raises:
      ValueError: not exactly one interval is given, and not `at_end` alone; or `every_n_iter` is not positive.
    """

    def __init__(
        self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None, at_end: bool = False,
        formatter: Callable[[dict], str] | None = None,
    ) -> None:  # fmt: skip
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        is_dict = isinstance(tensors, dict)
        self._tag_order = sorted(tensors) if is_dict else tensors
        self._tensors = tensors if is_dict else {tensor: tensor for tensor in tensors}
        self._formatter = formatter
        self._timer: Any = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._log_at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: as_graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: SessionLike) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, tensor_values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter:
                logging.info(self._formatter(tensor_values))
                return
            text = ", ".join(f"{tag} = {tensor_values[tag]!s}" for tag in self._tag_order)
        logging.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def as_graph_element(obj: object) -> Any:
    """The tensor or operation of the default graph that an object is or a name means; "x" means "x:0"."""
    graph = get_default_graph()
    if not isinstance(obj, str):
        if getattr(obj, "graph", None) is not graph:
            raise ValueError(f"Passed {obj} should have graph attribute that is equal to current graph {graph}.")
        return obj
    if ":" in obj:
        return graph.as_graph_element(obj)
    element = graph.as_graph_element(obj + ":0")
    if len(element.op.outputs) > 1:
        raise ValueError(f"Name {obj} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return element


def _check_limit(num_steps: int | None, last_step: int | None) -> None:
    if num_steps is None and last_step is None:
        raise ValueError("One of num_steps or last_step must be specified.")
    if num_steps is not None and last_step is not None:
        raise ValueError("Only one of num_steps or last_step can be specified.")


@export("train.StopAtStepHook", "estimator.StopAtStepHook", "compat.v2.estimator.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Asks for a stop when the global step has come to a number.

    Args:
      num_steps: how many steps from when the session is first made. last_step: the number itself.

    Raises:
      ValueError: not exactly one of them is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        _check_limit(num_steps, last_step)
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._global_step_tensor = global_step_read("StopAtStepHook")

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # The value was read before the run's update. The run may not have been a step, so the value now decides.
        if run_values.results + 1 < self._last_step:
            return
        if run_context.session.run(self._global_step_tensor) >= self._last_step:
            run_context.request_stop()


def get_or_create_steps_per_run_variable() -> Any:
    """The local variable "hooks/steps_per_run": how many steps a run makes on accelerators that loop by themselves.

    Raises:
      RuntimeError: the collection of its name holds several.
    """
    collection = f"{_HOOKS}_{_STEPS_PER_RUN}"
    found = get_default_graph().get_collection(collection)
    if len(found) > 1:
        raise RuntimeError("Multiple steps_per_run_var in collection.")
    if found:
        return found[0]
    with variable_scope(_HOOKS, reuse=AUTO_REUSE):
        return get_variable(
            _STEPS_PER_RUN, initializer=Ones(), shape=[], dtype=dtypes.int32, trainable=False, use_resource=True,
            collections=[collection, GraphKeys.LOCAL_VARIABLES],
        )  # fmt: skip


class _MultiStepStopAtStepHook(SessionRunHook):
    """A StopAtStepHook for runs of several steps: it sets the steps of each run so that the last one ends at the number.

    Args:
      num_steps, last_step: as for StopAtStepHook.
      steps_per_run: how many steps a run makes at most.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None, steps_per_run: int = 1) -> None:
        _check_limit(num_steps, last_step)
        if steps_per_run is None or steps_per_run < 1:
            raise ValueError("steps_per_run should be greater than 0")
        self._num_steps, self._last_step = num_steps, last_step
        self._steps_per_run_initial_value = steps_per_run

    def begin(self) -> None:
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")
        self._steps_per_run_variable = get_or_create_steps_per_run_variable()

    def _update_steps_per_run_variable(self, global_step: int, session: SessionLike) -> None:
        steps = min(self._last_step - global_step, self._steps_per_run_initial_value)
        self._steps_per_run_variable.load(steps, session=session)

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        global_step = session.run(self._global_step_tensor)
        if self._last_step is None:
            self._last_step = global_step + self._num_steps
        self._update_steps_per_run_variable(global_step, session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        global_step = run_context.session.run(self._global_step_tensor)
        if global_step >= self._last_step:
            run_context.request_stop()
        else:
            self._update_steps_per_run_variable(global_step, run_context.session)


@export(
    "train.NanLossDuringTrainingError",
    "estimator.NanLossDuringTrainingError",
    "compat.v2.estimator.NanLossDuringTrainingError",
)
class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


@export("train.NanTensorHook", "estimator.NanTensorHook", "compat.v2.estimator.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops when the loss is NaN.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: raise NanLossDuringTrainingError; otherwise ask for a stop.
    """

    def __init__(self, loss_tensor: object, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        text = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(text)
            raise NanLossDuringTrainingError
        logging.warning(text)
        run_context.request_stop()


@export("train.GlobalStepWaiterHook", "estimator.GlobalStepWaiterHook", "compat.v2.estimator.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until the global step, which others increase, has come to `wait_until_step`."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._global_step_tensor = global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        if not self._worker_is_started and self._wait_until_step > 0:
            self._wait(run_context.session)
        self._worker_is_started = True

    def _wait(self, session: SessionLike) -> None:
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        last_logged_step = 0
        while (step := session.run(self._global_step_tensor)) < self._wait_until_step:
            if step - last_logged_step > _STEPS_BETWEEN_LINES:
                logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step, step,
                )  # fmt: skip
                last_logged_step = step
            time.sleep(_SECONDS_BETWEEN_LOOKS)


@export("train.FinalOpsHook", "estimator.FinalOpsHook", "compat.v2.estimator.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs something at the end of a session; `final_ops_values` holds what it gave.

    Args:
      final_ops: fetches as for `Session.run`. final_ops_feed_dict: feeds for them.
    """

    def __init__(self, final_ops: object, final_ops_feed_dict: dict | None = None) -> None:
        self._final_ops, self._final_ops_feed_dict = final_ops, final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        return self._final_ops_values

    def end(self, session: SessionLike) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (errors.OutOfRangeError, StopIteration):
            logging.warning(
                "An OutOfRangeError or StopIteration exception is raised by the ops of FinalOpsHook: they have a dependency back "
                "to some input source, and that has ended. Final ops should read variables only, as the value of a metric does; "
                "its update reads the input."
            )
            raise


@export("train.FeedFnHook", "estimator.FeedFnHook", "compat.v2.estimator.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds each run with what `feed_fn()`, called before it, gives: a feed_dict."""

    def __init__(self, feed_fn: Callable[[], dict]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
