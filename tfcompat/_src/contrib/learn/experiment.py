"""tf.contrib.learn.Experiment: an estimator with what trains and evaluates it."""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.learn import run_config as run_config_lib
from tfcompat._src.contrib.learn.export_strategy import ExportStrategy
from tfcompat._src.contrib.learn.interfaces import Evaluable, Trainable
from tfcompat._src.contrib.learn.monitors import ValidationMonitor, replace_monitors_with_hooks
from tfcompat._src.estimator.estimator import Estimator as CoreEstimator
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.platform import compat, logging
from tfcompat._src.train import checkpoint_management
from tfcompat._src.train.basic_session_run_hooks import GlobalStepWaiterHook
from tfcompat._src.train.cluster import Server
from tfcompat._src.train.saving_hooks import CheckpointSaverHook, CheckpointSaverListener

_WARNING_INTERVAL_SECS = 600


def _get_standardized_predicate_fn(predicate_fn: Callable | None) -> Callable:
    """A predicate of `eval_results` and `checkpoint_path`; always true without one."""
    if predicate_fn is None:
        return lambda eval_results, checkpoint_path: True
    if not callable(predicate_fn):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in fn_args(predicate_fn):
        return predicate_fn
    return lambda eval_results, checkpoint_path: predicate_fn(eval_results)


class _EvalAndExportListener(CheckpointSaverListener):
    """Evaluates and exports each checkpoint.

    Args:
      eval_fn: function of `name` and `checkpoint_path` to results.
      export_fn: function of results and `checkpoint_path`.
      model_dir: folder of the checkpoints.
    """

    def __init__(self, eval_fn: Callable, export_fn: Callable, model_dir: str) -> None:
        self._eval_fn, self._export_fn, self._model_dir = eval_fn, export_fn, model_dir
        self._latest_path = self._eval_result = self._export_results = None

    def after_save(self, session: SessionLike, global_step_value: int) -> None:
        logging.info("Checking for checkpoint in %s", self._model_dir)
        latest_path = checkpoint_management.latest_checkpoint(self._model_dir)
        if not latest_path:
            logging.warning("Skipping evaluation and export since model has not been saved yet.")
        elif latest_path == self._latest_path:
            logging.warning("Skipping evaluation due to same latest checkpoint %s.", latest_path)
        else:
            self._latest_path = latest_path
            self._eval_result = self._eval_fn(name="intermediate_export", checkpoint_path=latest_path)
            self._export_results = self._export_fn(self._eval_result, checkpoint_path=latest_path)

    @property
    def eval_result(self) -> Any:
        return self._eval_result

    @property
    def export_results(self) -> Any:
        return self._export_results


def _check_estimator(estimator: object, eval_metrics: object, saving_listeners: object) -> bool:
    """Whether it is a tf.estimator.Estimator; ValueError where it is none of either kind, or gets what it cannot use."""
    if isinstance(estimator, CoreEstimator):
        if eval_metrics is not None:
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. "
                "Use `eval_metric_ops` in `tf.estimator.EstimatorSpec` instead."
            )
        return True
    for kind in (Evaluable, Trainable):
        if not isinstance(estimator, kind):
            raise ValueError(f"`estimator` must implement `tf.contrib.learn.{kind.__name__}` or `tf.estimator.Estimator`.")
    if saving_listeners is not None:
        raise ValueError("`saving_listeners` must be `None` with `tf.contrib.learn.Estimator`.")
    return False


@export("contrib.learn.Experiment")
class Experiment:
    """An estimator with what trains and evaluates it.

    Args:
      estimator: a tf.contrib.learn.Estimator or tf.estimator.Estimator.
      train_input_fn, eval_input_fn: functions that give features and labels.
      eval_metrics: dict of MetricSpec.
      train_steps: the global step to stop at; None for none.
      eval_steps: batches of an evaluation; None for all.
      train_monitors: monitors or hooks of the training.
      eval_hooks: hooks of evaluations.
      local_eval_frequency: steps between evaluations of `local_run`.
      eval_delay_secs: seconds before the first evaluation.
      continuous_eval_throttle_secs: least seconds between evaluations.
      min_eval_frequency: steps between evaluations of `train_and_evaluate`; 0 for none.
      delay_workers_by_global_step: whether workers wait for global steps, not seconds.
      export_strategies: an ExportStrategy or several.
      train_steps_per_iteration: steps between evaluations of `continuous_train_and_eval`.
      checkpoint_and_export: whether each checkpoint is evaluated and exported.
      saving_listeners: listeners of checkpoints, for a tf.estimator.Estimator.
      check_interval_secs: seconds between looks for a checkpoint.

    Raises:
      ValueError: an argument is of another kind.
    """

    def __init__(
        self, estimator, train_input_fn, eval_input_fn, eval_metrics=None, train_steps=None, eval_steps=100,
        train_monitors=None, eval_hooks=None, local_eval_frequency=None, eval_delay_secs=120,
        continuous_eval_throttle_secs=60, min_eval_frequency=None, delay_workers_by_global_step=False,
        export_strategies=None, train_steps_per_iteration=None, checkpoint_and_export=False, saving_listeners=None,
        check_interval_secs=5,
    ) -> None:  # fmt: skip
        self._core_estimator_used = _check_estimator(estimator, eval_metrics, saving_listeners)
        self._estimator, self._train_input_fn, self._eval_input_fn = estimator, train_input_fn, eval_input_fn
        self._eval_metrics, self._train_steps, self._eval_steps = eval_metrics, train_steps, eval_steps
        self._local_eval_frequency, self._eval_delay_secs = local_eval_frequency, eval_delay_secs
        self._continuous_eval_throttle_secs = continuous_eval_throttle_secs
        self._checkpoint_and_export, self._saving_listeners = checkpoint_and_export, saving_listeners
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._check_interval_secs, self._delay_workers_by_global_step = check_interval_secs, delay_workers_by_global_step
        self._train_monitors, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._set_export_strategies(export_strategies)
        self._train_steps_per_iteration = train_steps_per_iteration
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise ValueError("`train_steps_per_iteration` must be an integer.")

    @property
    def estimator(self) -> Any:
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        return self._eval_steps

    def _set_export_strategies(self, values: Any) -> None:
        strategies = [values] if isinstance(values, ExportStrategy) else list(values or ())
        for value in strategies:
            if not isinstance(value, ExportStrategy):
                raise ValueError(
                    "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, "
                    f"found {value}."
                )
        self._export_strategies = tuple(strategies)

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Adds hooks of the training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: object = None) -> tuple[ExportStrategy, ...]:
        """Sets other export strategies, and gives those of before."""
        old = self._export_strategies
        self._set_export_strategies(new_export_strategies)
        return old

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains; a worker waits `delay_secs` before, by default 5 for each worker before it, at most 60.

        Raises:
          ValueError: there is a cluster, and the estimator's RunConfig is none of contrib.learn.
        """
        self._serve_where_distributed()
        extra_hooks = []
        if delay_secs is None:
            task_id = self._estimator.config.task_id or 0
            delay_secs = min(60, task_id * 5)
            if self._delay_workers_by_global_step:
                extra_hooks.append(GlobalStepWaiterHook(int(8000.0 * math.log(task_id + 1))))
                delay_secs = 0
        if delay_secs > 0:
            logging.info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        return self._call_train(
            input_fn=self._train_input_fn, max_steps=self._train_steps, hooks=self._train_monitors + extra_hooks,
            saving_listeners=self._saving_listeners,
        )  # fmt: skip

    def _serve_where_distributed(self) -> None:
        config = self._estimator.config
        distributed = config.cluster_spec and config.master
        if not isinstance(config, run_config_lib.RunConfig):
            if distributed:
                raise ValueError(
                    "For distributed runtime, Experiment class only works with tf.contrib.learn.RunConfig for now, "
                    f"but provided {type(config)}"
                )
            return
        local = config.environment == run_config_lib.Environment.LOCAL
        if distributed and local:
            logging.warning(
                "ClusterSpec and master are provided, but environment is set to 'local'. "
                "Set environment to 'cloud' if you intend to use the distributed runtime."
            )
        if distributed and not local and config.environment != run_config_lib.Environment.GOOGLE:
            self._start_server()

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluates once, after `delay_secs`."""
        self._wait(self._eval_delay_secs if delay_secs is None else delay_secs)
        return self._evaluation(name=name or "one_pass")

    @staticmethod
    def _wait(seconds: float) -> None:
        if seconds:
            logging.info("Waiting %s secs before starting eval.", seconds)
            time.sleep(seconds)

    def _evaluation(self, name: str | None, **settings: Any) -> Any:
        return self._call_evaluate(
            input_fn=self._eval_input_fn, steps=self._eval_steps, metrics=self._eval_metrics, name=name,
            hooks=self._eval_hooks, **settings,
        )  # fmt: skip

    def local_run(self) -> Any:
        """train_and_evaluate, with evaluations every `local_eval_frequency` steps."""
        saved, self._min_eval_frequency = self._min_eval_frequency, self._local_eval_frequency
        try:
            return self.train_and_evaluate()
        finally:
            self._min_eval_frequency = saved

    def _continuous_eval(
        self, input_fn: Callable, name: str, delay_secs: float | None, throttle_delay_secs: float | None,
        evaluate_checkpoint_only_once: bool = True, continuous_eval_predicate_fn: Callable | None = None,
        export: bool = True,
    ) -> None:  # fmt: skip
        predicate = _get_standardized_predicate_fn(continuous_eval_predicate_fn)
        throttle = self._continuous_eval_throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        self._wait(self._eval_delay_secs if delay_secs is None else delay_secs)
        previous_path, result, last_warning = None, None, 0.0
        while predicate(result, checkpoint_path=previous_path):
            if self._has_training_stopped(result):
                logging.info(
                    "Exiting continuous eval, global_step=%s >= train_step=%s", result[GraphKeys.GLOBAL_STEP],
                    self._train_steps,
                )  # fmt: skip
                return
            start = time.time()
            path = checkpoint_management.latest_checkpoint(self._estimator.model_dir)
            problem = None
            if not path:
                problem = "Estimator is not fitted yet. Will start an evaluation when a checkpoint is ready."
            elif evaluate_checkpoint_only_once and path == previous_path:
                problem = "No new checkpoint ready for evaluation."
            if problem:
                result = {}
                if time.time() - last_warning > _WARNING_INTERVAL_SECS:
                    logging.warning(problem)
                    last_warning = time.time()
            else:
                result = self._call_evaluate(
                    input_fn=input_fn, steps=self._eval_steps, metrics=self._eval_metrics, name=name,
                    checkpoint_path=path, hooks=self._eval_hooks,
                ) or {}  # fmt: skip
                if export:
                    self._maybe_export(result, checkpoint_path=path)
                previous_path, last_warning = path, 0.0
            rest = throttle - (time.time() - start)
            if rest > 0:
                logging.info("Waiting %f secs before starting next eval run.", rest)
                time.sleep(rest)

    def _has_training_stopped(self, eval_result: Any) -> bool:
        step = (eval_result or {}).get(GraphKeys.GLOBAL_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def continuous_eval(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True, continuous_eval_predicate_fn: Callable | None = None,
        name: str = "continuous",
    ) -> None:  # fmt: skip
        """Evaluates each new checkpoint until the training has ended.

        Args:
          delay_secs: seconds before the first evaluation.
          throttle_delay_secs: least seconds between evaluations.
          evaluate_checkpoint_only_once: whether only new checkpoints are evaluated.
          continuous_eval_predicate_fn: function of the last results, and perhaps `checkpoint_path`: whether to go on.
          name: name of the evaluation.
        """
        self._continuous_eval(
            self._eval_input_fn, name, delay_secs, throttle_delay_secs, evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn,
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable | None = None, name: str = "continuous_on_train_data",
    ) -> None:  # fmt: skip
        """continuous_eval on the data of the training, without exports."""
        self._continuous_eval(
            self._train_input_fn, name, delay_secs, throttle_delay_secs, True, continuous_eval_predicate_fn, export=False
        )

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Trains with evaluations in between, evaluates and exports.

        Returns:
          the last results, and what the export strategies gave.
        """
        config, listener = self._estimator.config, None
        if self._checkpoint_and_export and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            evaluate = functools.partial(
                self._call_evaluate, input_fn=self._eval_input_fn, steps=self._eval_steps, metrics=self._eval_metrics,
                hooks=self._eval_hooks,
            )  # fmt: skip
            listener = _EvalAndExportListener(evaluate, self._maybe_export, self._estimator.model_dir)
            extra = [
                CheckpointSaverHook(
                    checkpoint_dir=self._estimator.model_dir, save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps, listeners=[listener],
                )
            ]  # fmt: skip
        else:
            extra = [self._validation_monitor()] if self._min_eval_frequency else []
        saved, self._train_monitors = self._train_monitors, self._train_monitors + extra
        try:
            self.train(delay_secs=0)
        finally:
            self._train_monitors = saved
        if listener:
            return listener.eval_result, listener.export_results
        result = self._evaluation(name=None)
        return result, self._maybe_export(result)

    def _validation_monitor(self) -> ValidationMonitor:
        return ValidationMonitor(
            input_fn=self._eval_input_fn, eval_steps=self._eval_steps, metrics=self._eval_metrics,
            every_n_steps=self._min_eval_frequency, check_interval_secs=self._check_interval_secs, hooks=self._eval_hooks,
        )  # fmt: skip

    def continuous_train_and_eval(self, continuous_eval_predicate_fn: Callable | None = None) -> tuple[Any, Any]:
        """Trains and evaluates in turns.

        Args:
          continuous_eval_predicate_fn: function of the last results, and perhaps `checkpoint_path`: whether to go on.

        Returns:
          the last results, and what the export strategies gave.
        """
        predicate = _get_standardized_predicate_fn(continuous_eval_predicate_fn)
        steps = self._train_steps_per_iteration
        if steps is None:
            steps = 1000 if self._train_steps is None else int(self._train_steps / 10)
        exported = result = path = None
        while predicate(result, checkpoint_path=path if result else None):
            if self._has_training_stopped(result):
                logging.info("Stop training model as max steps reached")
                break
            logging.info("Training model for %s steps", steps)
            self._call_train(
                input_fn=self._train_input_fn, steps=steps, hooks=self._train_monitors,
                saving_listeners=self._saving_listeners,
            )  # fmt: skip
            logging.info("Evaluating model now.")
            path = checkpoint_management.latest_checkpoint(self._estimator.model_dir)
            result = self._evaluation(name="one_pass", checkpoint_path=path)
            exported = self._maybe_export(result)
        return result, exported

    def _maybe_export(self, eval_result: object, checkpoint_path: object = None) -> list[Any]:
        base = os.path.join(compat.as_bytes(self._estimator.model_dir), b"export")
        return [
            strategy.export(
                self._estimator, os.path.join(base, compat.as_bytes(strategy.name)), checkpoint_path=checkpoint_path,
                eval_result=eval_result,
            )
            for strategy in self._export_strategies
        ]  # fmt: skip

    def run_std_server(self) -> None:
        """Runs the server of the task for ever."""
        self._start_server().join()

    def test(self) -> Any:
        """Trains one step, evaluates one batch and exports; the results."""
        self._call_train(
            input_fn=self._train_input_fn, steps=1, hooks=self._train_monitors, saving_listeners=self._saving_listeners
        )
        result = self._call_evaluate(
            input_fn=self._eval_input_fn, steps=1, metrics=self._eval_metrics, name="one_pass"
        )
        self._maybe_export(result)
        return result

    def _start_server(self) -> Any:
        config = self._estimator.config
        if not config.cluster_spec or not config.task_type or not config.master or config.task_id is None:
            raise ValueError(
                "Could not start server; be sure to specify cluster_spec, task_type, master, and task in RunConfig or set "
                "the TF_CONFIG environment variable."
            )
        server = Server(
            config.cluster_spec, job_name=config.task_type, task_index=config.task_id, config=config.tf_config, start=False
        )
        server.start()
        return server

    def _call_train(
        self, _sentinel: object = None, input_fn: object = None, steps: object = None, hooks: object = None, max_steps: object = None,
        saving_listeners: object = None,
    ) -> Any:  # fmt: skip
        if _sentinel is not None:
            raise ValueError("_call_train should be called with keyword args only")
        hooks = replace_monitors_with_hooks(hooks, self._estimator)
        if self._core_estimator_used:
            return self._estimator.train(
                input_fn=input_fn, steps=steps, max_steps=max_steps, hooks=hooks, saving_listeners=saving_listeners
            )
        return self._estimator.fit(input_fn=input_fn, steps=steps, max_steps=max_steps, monitors=hooks)

    def _call_evaluate(
        self, _sentinel: object = None, input_fn: object = None, steps: object = None, metrics: object = None, name: object = None,
        checkpoint_path: object = None, hooks: object = None,
    ) -> Any:  # fmt: skip
        if _sentinel is not None:
            raise ValueError("_call_evaluate should be called with keyword args only")
        common = {
            "input_fn": input_fn, "steps": steps, "name": name, "checkpoint_path": checkpoint_path, "hooks": hooks,
        }  # fmt: skip
        if not self._core_estimator_used:
            return self._estimator.evaluate(metrics=metrics, **common)
        if metrics is not None:
            raise ValueError("`eval_metrics` must be `None` with `tf.estimator.Estimator`")
        return self._estimator.evaluate(**common)
