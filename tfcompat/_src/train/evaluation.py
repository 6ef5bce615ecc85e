"""One evaluation of a checkpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.platform import logging
from tfcompat._src.train.basic_session_run_hooks import FinalOpsHook, get_or_create_steps_per_run_variable
from tfcompat._src.train.monitored_session import ChiefSessionCreator, MonitoredSession
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor

_MANY, _LINES_FOR_MANY = 20, 10


@export("contrib.training.get_or_create_eval_step")
def _get_or_create_eval_step() -> Any:
    """The local variable that counts the steps of an evaluation; ValueError where the graph has several."""
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step", shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )  # fmt: skip


def _get_latest_eval_step_value(update_ops: Any) -> Tensor:
    """The value of the eval step after operations have run."""
    if isinstance(update_ops, dict):
        update_ops = list(update_ops.values())
    with control_dependencies(update_ops):
        return identity(_get_or_create_eval_step().read_value())


class _EvalsHook(SessionRunHook):
    """Asks for a stop after `num_evals` steps of an evaluation; never where it is None."""

    def __init__(self, num_evals: int | None) -> None:
        self._num_evals = num_evals
        self._evals_completed: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: object) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        completed = run_values.results["evals_completed"]
        self._after_evals(completed, run_context.session)
        if self._num_evals is not None and completed >= self._num_evals:
            run_context.request_stop()

    def _after_evals(self, completed: int, session: SessionLike) -> None:
        """Called after a run, with the number of steps so far."""

    def _log(self, completed: int) -> None:
        if self._num_evals is None:
            logging.info("Evaluation [%d]", completed)
        else:
            logging.info("Evaluation [%d/%d]", completed, self._num_evals)


class _MultiStepStopAfterNEvalsHook(_EvalsHook):
    """Sets the steps of each run so that the last one ends at `num_evals`.

    Args:
      num_evals: when to stop, None for never.
      steps_per_run: how many steps a run makes at most.
    """

    def __init__(self, num_evals: int | None, steps_per_run: int = 1) -> None:
        super().__init__(num_evals)
        self._steps_per_run_initial_value = steps_per_run

    def begin(self) -> None:
        self._steps_per_run_variable = get_or_create_steps_per_run_variable()

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        self._load_steps(0, session)

    def _after_evals(self, completed: int, session: SessionLike) -> None:
        self._load_steps(completed, session)
        self._log(completed)

    def _load_steps(self, completed: int, session: SessionLike) -> None:
        steps = self._steps_per_run_initial_value
        if self._num_evals is not None:
            steps = min(steps, self._num_evals - completed)
        self._steps_per_run_variable.load(steps, session=session)


@export("contrib.training.StopAfterNEvalsHook")
class _StopAfterNEvalsHook(_EvalsHook):
    """Asks for a stop after a number of steps of an evaluation.

    Args:
      num_evals: the number, None for no stop.
      log_progress: whether to log the number so far.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        super().__init__(num_evals)
        self._log_progress = log_progress
        self._log_frequency = 1 if num_evals is None or num_evals < _MANY else num_evals // _LINES_FOR_MANY

    def _after_evals(self, completed: int, session: SessionLike) -> None:
        if self._log_progress and (completed % self._log_frequency == 0 or completed == self._num_evals):
            self._log(completed)


def add_eval_step(eval_ops: object, update_eval_step: object) -> Any:
    """`eval_ops` with the operation that counts the steps: the same dict, or a list."""
    if isinstance(eval_ops, dict):
        eval_ops["update_eval_step"] = update_eval_step
        return eval_ops
    return [*(eval_ops if isinstance(eval_ops, (tuple, list)) else [eval_ops]), update_eval_step]


def tell_eval_step(hooks: list[SessionRunHook], eval_step: object) -> None:
    """Gives the hooks that count evaluations the tensor of the count."""
    for hook in hooks:
        if isinstance(hook, _EvalsHook):
            hook._set_evals_completed_tensor(eval_step)


@export("contrib.training.evaluate_once")
def _evaluate_once(
    checkpoint_path: str, master: str = "", scaffold: Any = None, eval_ops: object = None, feed_dict: dict | None = None,
    final_ops: object = None, final_ops_feed_dict: dict | None = None, hooks: Any = None, config: Any = None,
) -> Any:  # fmt: skip
    """Evaluates a checkpoint: runs `eval_ops` until a hook stops, then `final_ops`.

    Args:
      checkpoint_path: the checkpoint.
      master: target of the session. scaffold: a Scaffold. config: a ConfigProto.
      eval_ops: fetches of each step, None for no steps. feed_dict: feeds for them.
      final_ops: fetches at the end. final_ops_feed_dict: feeds for them.
      hooks: SessionRunHooks, such as a StopAfterNEvalsHook.

    Returns:
      what `final_ops` gave, None where there are none.
    """
    eval_step = _get_or_create_eval_step()
    hooks = list(hooks or ())
    if eval_ops is not None:
        steps: Any = 1
        if any(isinstance(hook, _MultiStepStopAfterNEvalsHook) for hook in hooks):
            steps = cast(get_or_create_steps_per_run_variable(), dtype=eval_step.dtype)
        eval_ops = add_eval_step(eval_ops, assign_add(eval_step, steps, use_locking=True))
        tell_eval_step(hooks, _get_latest_eval_step_value(eval_ops))
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    final_ops_hook = FinalOpsHook(final_ops, final_ops_feed_dict)
    with MonitoredSession(session_creator=creator, hooks=[*hooks, final_ops_hook]) as session:
        run_until_stopped(session, eval_ops, feed_dict)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return final_ops_hook.final_ops_values


def run_until_stopped(session: MonitoredSession, eval_ops: object, feed_dict: dict | None) -> None:
    """Runs `eval_ops`, where there are some, until the session stops."""
    if eval_ops is not None:
        while not session.should_stop():
            session.run(eval_ops, feed_dict)
