"""tf.estimator.experimental: hooks that need an Estimator."""

from __future__ import annotations

import time
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.estimator.estimator import Estimator, _load_global_step_from_checkpoint_dir
from tfcompat._src.estimator.evaluation_steps import _check_hooks_type
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.control.groups import group
from tfcompat._src.train.basic_session_run_hooks import StopAtStepHook, global_step_read
from tfcompat._src.train.hook_timers import SecondOrStepTimer
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.assign import assign


@export("estimator.experimental.InMemoryEvaluatorHook", "compat.v2.estimator.experimental.InMemoryEvaluatorHook")
class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates the model while it trains, with the values of its variables and without a checkpoint.

    Args:
      estimator: the Estimator that trains.
      input_fn: the input function of the evaluation.
      steps: how many batches; by default until the input ends.
      hooks: SessionRunHooks of the evaluation.
      name: names the folder of the summaries.
      every_n_iter: steps between evaluations; there is one at the beginning and one at the end, too.

    Raises:
      ValueError: `every_n_iter` is not positive, or the Estimator runs in a cluster.
    """

    def __init__(
        self, estimator: Estimator, input_fn: Any, steps: int | None = None, hooks: object = None, name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:  # fmt: skip
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator, self._input_fn = estimator, input_fn
        self._eval_dir = estimator.eval_dir(name)
        self._hooks = [*_check_hooks_type(hooks), *estimator._convert_eval_steps_to_hooks(steps)]
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        self._graph = Graph()
        with self._graph.as_default():
            self._scaffold, self._update_op, self._eval_dict, self._all_hooks = self._estimator._evaluate_build_graph(
                self._input_fn, self._hooks, checkpoint_path=None
            )
            for part in ("saver", "init_fn"):
                if getattr(self._scaffold, part) is not None:
                    raise ValueError(f"InMemoryEvaluator does not support custom {part}")
            self._eval_variables = {v.name: v for v in get_collection(GraphKeys.GLOBAL_VARIABLES)}
            self._placeholders = {name: placeholder(v.dtype) for name, v in self._eval_variables.items()}

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        if get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError("InMemoryEvaluator does not support saveables other than global variables.")
        trained = {v.name: v for v in get_collection(GraphKeys.GLOBAL_VARIABLES)}
        self._train_variables = {name: trained[name] for name in self._placeholders if name in trained}
        with self._graph.as_default():
            self._feed_op = group(
                [assign(self._eval_variables[name], self._placeholders[name]) for name in self._train_variables]
            )
        self._evaluate(session)

    def _evaluate(self, train_session: Any) -> None:
        values = train_session.run(self._train_variables)
        feeds = {self._placeholders[name]: value for name, value in values.items()}

        def feed_variables(scaffold: Scaffold, session: SessionLike) -> None:
            session.run(self._feed_op, feed_dict=feeds)

        scaffold = Scaffold(init_fn=feed_variables, copy_from_scaffold=self._scaffold)
        with self._graph.as_default():
            self._estimator._evaluate_run(
                checkpoint_path=None, scaffold=scaffold, update_op=self._update_op, eval_dict=self._eval_dict,
                all_hooks=self._all_hooks, output_dir=self._eval_dir,
            )  # fmt: skip
        self._timer.update_last_triggered_step(self._iter_count)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._iter_count += 1
        if self._timer.should_trigger_for_step(self._iter_count):
            self._evaluate(run_context.session)

    def end(self, session: SessionLike) -> None:
        self._evaluate(session)


class _StopAtCheckpointStepHook(SessionRunHook):
    """Stops a worker when the latest checkpoint has reached a global step.

    Args:
      model_dir: the folder of checkpoints. last_step: the step.
      wait_after_file_check_secs: seconds to wait where there is no such checkpoint yet.

    Raises:
      ValueError: no folder or no step.
    """

    def __init__(self, model_dir: str, last_step: int, wait_after_file_check_secs: float = 30) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        if model_dir is None:
            raise ValueError("model_dir must be specified.")
        self._model_dir, self._last_step = model_dir, last_step
        self._wait_after_file_check_secs = wait_after_file_check_secs

    def begin(self) -> None:
        self._global_step_tensor = global_step_read("StopAtCheckpointStepHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results + 1 < self._last_step:
            return
        if _load_global_step_from_checkpoint_dir(self._model_dir) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_after_file_check_secs)


@export(
    "estimator.experimental.make_stop_at_checkpoint_step_hook",
    "compat.v2.estimator.experimental.make_stop_at_checkpoint_step_hook",
)
def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """A hook that stops at a global step; workers other than the chief wait until the checkpoint of that step is there.

    Args:
      estimator: the Estimator that trains.
      last_step: the step.
      wait_after_file_check_secs: seconds between looks at the folder.
    """
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
