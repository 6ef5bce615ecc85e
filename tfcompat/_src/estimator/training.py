"""tf.estimator.train_and_evaluate: trains, evaluates each new checkpoint and exports."""

from __future__ import annotations

import copy
import json
import os
import time
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.distribute.distribute_coordinator import CoordinatorMode, run_distribute_coordinator
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.run_config import RunConfig, TaskType
from tfcompat._src.estimator.specs import EvalSpec, TrainSpec, _assert_eval_spec, _validate_hooks
from tfcompat._src.platform import compat, logging
from tfcompat._src.proto.messages import ConfigProto
from tfcompat._src.train.cluster import Server
from tfcompat._src.train.hook_timers import SecondOrStepTimer
from tfcompat._src.train.saving_hooks import CheckpointSaverListener
from tfcompat._src.train.worker_context import get_current_worker_context

_MAX_DELAY_SECS = 60
_DELAY_SECS_PER_WORKER = 5
_SECONDS_BETWEEN_WARNINGS = 600
_TRAINER_JOBS = (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER)


@export("estimator.train_and_evaluate", "compat.v2.estimator.train_and_evaluate")
def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains, and evaluates and exports checkpoints; in a cluster, does the part of this task.

    Args:
      estimator: the Estimator.
      train_spec: what to train with.
      eval_spec: what to evaluate with, and the Exporters.

    Returns:
      in a program that runs alone, the results of the last evaluation and a list of what the Exporters gave; else None.

    Raises:
      TypeError: an argument of another type. ValueError: the task cannot do this.
    """
    _assert_eval_spec(eval_spec)
    executor = _TrainingExecutor(estimator, train_spec, eval_spec)
    config = estimator.config
    if getattr(config, "_distribute_coordinator_mode", None) is not None and config.cluster_spec:
        return _train_and_evaluate_by_coordinator(estimator, train_spec, eval_spec)
    logging.info("Not using Distribute Coordinator.")
    if config.task_type == TaskType.EVALUATOR and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id "
            f"{config.task_id}"
        )
    return executor.run()


def _train_and_evaluate_by_coordinator(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """As `train_and_evaluate`, where a strategy trains on the tasks of a cluster."""
    config = estimator.config

    def of_task(kind: str, strategy: object) -> Estimator:
        """A copy of the estimator that has the strategy and knows the task of this thread."""
        made = copy.deepcopy(estimator)
        setattr(made._config, f"_{kind}_distribute", strategy)
        setattr(made, f"_{kind}_distribution", strategy)
        made._config._follow_worker_context(get_current_worker_context())
        made._config._distribute_coordinator_mode = None
        return made

    def train(strategy: object) -> None:
        of_task("train", strategy).train(train_spec.input_fn, max_steps=train_spec.max_steps, hooks=list(train_spec.hooks))

    def evaluate(strategy: object) -> None:
        _TrainingExecutor(of_task("eval", strategy), train_spec, eval_spec)._start_continuous_evaluation()

    return run_distribute_coordinator(
        train, config.train_distribute, evaluate, config.eval_distribute, CoordinatorMode.INDEPENDENT_WORKER,
        session_config=config.session_config,
    )  # fmt: skip


class _EvalStatus:
    """What came of a wish to evaluate."""

    EVALUATED = "evaluated"
    MISSING_CHECKPOINT = "missing checkpoint"
    NO_NEW_CHECKPOINT = "no new checkpoint"


class _EvalFields(NamedTuple):
    status: str
    metrics: dict[str, Any] | None = None
    checkpoint_path: str | None = None


class _EvalResult(_EvalFields):
    """An _EvalStatus, and where a checkpoint was evaluated its results and path.

    Raises:
      ValueError: a part is missing, or is there without an evaluation. TypeError: the results are no dict.
    """

    def __new__(cls, status: str, metrics: Any = None, checkpoint_path: str | None = None) -> _EvalResult:
        if status != _EvalStatus.EVALUATED:
            for name, value in (("metrics", metrics), ("checkpoint", checkpoint_path)):
                if value:
                    raise ValueError(
                        f"{name} must be `None` if status is not {_EvalStatus.EVALUATED}; got status {status}, {value}"
                    )
        elif not metrics:
            raise ValueError("Internal error: `Estimator.evaluate` should never return empty metrics.")
        elif not isinstance(metrics, dict):
            raise TypeError(f"`Estimator.evaluate` should return dict. Given {type(metrics)}.")
        elif GraphKeys.GLOBAL_STEP not in metrics:
            raise ValueError(
                f"Internal error: `Estimator.evaluate` result should have `global_step` in result. Given {metrics}"
            )
        elif not checkpoint_path:
            raise ValueError("Internal error: `checkpoint_path` should never be empty.")
        return super().__new__(cls, status, metrics, checkpoint_path)


class _ContinuousEvalListener:
    """Base class of what decides whether evaluations go on: a false answer ends them."""

    def before_eval(self) -> bool:
        return True

    def after_eval(self, eval_result: _EvalResult) -> bool:
        return True


class _NewCheckpointListenerForEvaluate(CheckpointSaverListener):
    """Evaluates checkpoints when they are saved; the first one of a training is left out.

    Args:
      evaluator: a _TrainingExecutor._Evaluator.
      eval_throttle_secs: seconds between evaluations.
      continuous_eval_listener: decides whether they go on.
    """

    def __init__(
        self, evaluator: Any, eval_throttle_secs: float, continuous_eval_listener: _ContinuousEvalListener
    ) -> None:
        self._evaluator, self._eval_throttle_secs = evaluator, eval_throttle_secs
        self._continuous_eval_listener = continuous_eval_listener
        self.eval_result: _EvalResult | None = None
        self.export_results: list | None = None

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(every_secs=self._eval_throttle_secs)
        self._is_first_run = True

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        if self._is_first_run:
            self._is_first_run = False
            return None
        if not self._continuous_eval_listener.before_eval():
            logging.info("Exiting training and evaluation loop, as requested by _ContinuousEvalListener.before_eval.")
            return True
        if not self._timer.should_trigger_for_step(global_step_value):
            logging.info(f"Skip the current checkpoint eval due to throttle secs ({self._eval_throttle_secs} secs).")
            return None
        self._evaluate(global_step_value)
        if not self._continuous_eval_listener.after_eval(self.eval_result):
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.after_eval.")
            return True
        return None

    def end(self, session: SessionLike, global_step_value: int) -> None:
        if global_step_value != self._timer.last_triggered_step() and self._continuous_eval_listener.before_eval():
            self._evaluate(global_step_value)
            self._continuous_eval_listener.after_eval(self.eval_result)

    def _evaluate(self, global_step_value: int) -> None:
        self._timer.update_last_triggered_step(global_step_value)
        self.eval_result, self.export_results = self._evaluator.evaluate_and_export()
        if self.eval_result.status != _EvalStatus.EVALUATED:
            raise RuntimeError(
                f"There was no new checkpoint after the training. Eval status: {self.eval_result.status}"
            )


class _TrainingExecutor:
    """Does what train_and_evaluate does.

    Args:
      estimator, train_spec, eval_spec: as for train_and_evaluate; `eval_spec` may be None for tasks that only train.
      train_hooks: further SessionRunHooks of the training.
      continuous_eval_listener: a _ContinuousEvalListener.

    Raises:
      TypeError: an argument of another type.
    """

    def __init__(
        self,
        estimator: Any,
        train_spec: Any,
        eval_spec: Any,
        train_hooks: Any = None,
        continuous_eval_listener: Any = None,
    ) -> None:
        if not isinstance(estimator, Estimator):
            raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
        if not isinstance(train_spec, TrainSpec):
            raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`. Got: {type(train_spec)}")
        if eval_spec and not isinstance(eval_spec, EvalSpec):
            raise TypeError(
                f"`eval_spec` must be either `None` or have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}"
            )
        if continuous_eval_listener and not isinstance(continuous_eval_listener, _ContinuousEvalListener):
            raise TypeError("`continuous_eval_listener` must have type `_ContinuousEvalListener`.")
        self._estimator, self._train_spec, self._eval_spec = estimator, train_spec, eval_spec
        self._train_hooks = _validate_hooks(train_hooks)
        self._continuous_eval_listener = continuous_eval_listener or _ContinuousEvalListener()

    @property
    def estimator(self) -> Estimator:
        return self._estimator

    def run(self) -> Any:
        """Does the part of this task, see `run_local`, `run_chief` and so on; ValueError where it has none."""
        config = self._estimator.config
        if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
            logging.info("Running training and evaluation locally (non-distributed).")
            return self.run_local()
        if not config.task_type:
            raise ValueError(
                "`estimator.config` must have task_type set. This usually means TF_CONFIG environment is not set "
                "correctly."
            )
        if config.task_type == "local":
            raise ValueError(
                "`task.type` in TF_CONFIG cannot be `local`. Leaving `cluster` and `task` properties in TF_CONFIG "
                "absent triggers train and evaluate `Estimator` locally (non-distributed)."
            )
        tasks = [
            name
            for name in dir(self)
            if name.startswith("run_") and name != "run_local" and callable(getattr(self, name))
        ]
        if "run_" + config.task_type not in tasks:
            supported = [name.removeprefix("run_") for name in tasks]
            raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are {supported}")
        getattr(self, "run_" + config.task_type)()
        return None

    def run_chief(self) -> None:
        """Trains as the chief of a cluster."""
        self._start_distributed_training()

    def run_worker(self) -> None:
        """Trains as a worker of a cluster."""
        self._start_distributed_training()

    def run_master(self) -> None:
        """Trains as the master of a cluster, which evaluates, too."""
        _assert_eval_spec(self._eval_spec)
        listener = self._evaluating_listener(_ContinuousEvalListener())
        self._start_distributed_training(saving_listeners=[listener])

    def run_evaluator(self) -> None:
        """Evaluates checkpoints of a cluster until training is over."""
        self._start_continuous_evaluation()

    def run_ps(self) -> None:
        """Serves variables, without an end."""
        self._start_std_server(self._estimator.config).join()

    def run_local(self) -> tuple[Any, Any]:
        """Trains, and evaluates after each checkpoint; gives the last results and what Exporters gave."""
        _assert_eval_spec(self._eval_spec)
        config = self._estimator.config
        logging.info(
            "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is "
            f"determined based on RunConfig arguments: save_checkpoints_steps {config.save_checkpoints_steps} or "
            f"save_checkpoints_secs {config.save_checkpoints_secs}."
        )
        listener = self._evaluating_listener(self._continuous_eval_listener)
        self._train([listener])
        result = listener.eval_result or _EvalResult(_EvalStatus.MISSING_CHECKPOINT)
        return result.metrics, listener.export_results

    def _evaluating_listener(self, continue_listener: _ContinuousEvalListener) -> _NewCheckpointListenerForEvaluate:
        evaluator = _TrainingExecutor._Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        return _NewCheckpointListenerForEvaluate(evaluator, self._eval_spec.throttle_secs, continue_listener)

    def _train(self, saving_listeners: list | None) -> None:
        self._estimator.train(
            input_fn=self._train_spec.input_fn, max_steps=self._train_spec.max_steps,
            hooks=[*self._train_spec.hooks, *self._train_hooks], saving_listeners=saving_listeners,
        )  # fmt: skip

    def _start_std_server(self, config: RunConfig) -> Any:
        """Starts the server of this task; None where the cluster has one task only."""
        if not config.cluster_spec or not config.task_type or config.task_id is None:
            raise RuntimeError(
                "Could not start server; be sure to specify cluster_spec, task_type, and task in RunConfig or set the "
                "TF_CONFIG environment variable."
            )
        if not config.master:
            jobs = config.cluster_spec.jobs
            if len(jobs) == 1 and config.cluster_spec.num_tasks(jobs[0]) == 1 and config.task_type in _TRAINER_JOBS:
                logging.info("Skip starting Tensorflow server as there is only one node in the cluster.")
                return None
            raise RuntimeError(
                "Could not start server; be sure to specify master in RunConfig or set the TF_CONFIG environment "
                "variable."
            )
        logging.info("Start Tensorflow server.")
        given = config.session_config
        session_config = ConfigProto(log_device_placement=False, gpu_options=given.gpu_options if given else None)
        server = Server(
            config.cluster_spec, job_name=config.task_type, task_index=config.task_id, config=session_config,
            start=False, protocol=config.protocol,
        )  # fmt: skip
        server.start()
        return server

    def _start_distributed_training(self, saving_listeners: list | None = None) -> None:
        """Trains with the other tasks of a cluster; workers begin one after another."""
        config = self._estimator.config
        if not _is_google_env():
            self._start_std_server(config)
        if config.task_type == TaskType.WORKER:
            longest = config.experimental_max_worker_delay_secs
            longest = _MAX_DELAY_SECS if longest is None else int(longest)
            delay = min(longest, (config.task_id + 1) * _DELAY_SECS_PER_WORKER)
            if delay > 0:
                logging.info("Waiting %d secs before starting training.", delay)
                time.sleep(delay)
        self._train(saving_listeners)

    def _start_continuous_evaluation(self) -> None:
        """Evaluates the latest checkpoint again and again, until it has reached the last step."""
        _assert_eval_spec(self._eval_spec)
        delay, last_step = self._eval_spec.start_delay_secs, self._train_spec.max_steps
        if delay:
            logging.info("Waiting %f secs before starting eval.", delay)
            time.sleep(delay)
        evaluator = _TrainingExecutor._Evaluator(self._estimator, self._eval_spec, last_step)
        result, should_stop = None, False
        while not should_stop:
            if result and result.status == _EvalStatus.EVALUATED:
                step = result.metrics.get(GraphKeys.GLOBAL_STEP)
                if step and last_step and step >= last_step:
                    logging.info("Exiting evaluation, global_step=%s >= train max_steps=%s", step, last_step)
                    return
            throttle_secs = self._eval_spec.throttle_secs
            result, should_stop = self._execute_evaluator_once(evaluator, self._continuous_eval_listener, throttle_secs)

    def _execute_evaluator_once(
        self, evaluator: Any, continuous_eval_listener: _ContinuousEvalListener, throttle_secs: float
    ) -> tuple[_EvalResult | None, bool]:
        """Evaluates and then waits; gives the result and whether evaluations end."""
        _assert_eval_spec(self._eval_spec)
        start = time.time()
        if not continuous_eval_listener.before_eval():
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.before_eval.")
            return None, True
        result, _ = evaluator.evaluate_and_export()
        if not self._continuous_eval_listener.after_eval(result):
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.after_eval.")
            return result, True
        left = throttle_secs - (time.time() - start)
        if left > 0:
            logging.info("Waiting %f secs before starting next eval run.", left)
            time.sleep(left)
        elif throttle_secs == 0 and result.status != _EvalStatus.EVALUATED:
            logging.warning(
                "EvalSpec.throttle_secs is set as 0. This might overload the job before finding (next) new "
                "checkpoint. Please consider to increase it."
            )
        return result, False

    class _Evaluator:
        """Evaluates and exports each checkpoint once.

        Args:
          estimator, eval_spec: as for train_and_evaluate.
          max_training_steps: the global step at which training is over, None for no such step.
        """

        def __init__(self, estimator: Any, eval_spec: EvalSpec, max_training_steps: int | None) -> None:
            _assert_eval_spec(eval_spec)
            self._estimator, self._eval_spec, self._max_training_steps = estimator, eval_spec, max_training_steps
            self._is_final_export_triggered = False
            self._previous_ckpt_path: str | None = None
            self._last_warning_time = 0.0

        @property
        def is_final_export_triggered(self) -> bool:
            return self._is_final_export_triggered

        def evaluate_and_export(self) -> tuple[_EvalResult, list]:
            """Evaluates the latest checkpoint, where it is new; gives the result and what Exporters gave."""
            path = self._estimator.latest_checkpoint()
            if not path:
                self._log_err_msg("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
                return _EvalResult(_EvalStatus.MISSING_CHECKPOINT), []
            if path == self._previous_ckpt_path:
                self._log_err_msg(
                    "No new checkpoint ready for evaluation. Skip the current evaluation pass as evaluation results "
                    "are expected to be same for the same checkpoint."
                )
                return _EvalResult(_EvalStatus.NO_NEW_CHECKPOINT), []
            spec = self._eval_spec
            metrics = self._estimator.evaluate(
                input_fn=spec.input_fn, steps=spec.steps, name=spec.name, checkpoint_path=path, hooks=spec.hooks
            )
            result = _EvalResult(_EvalStatus.EVALUATED, metrics, path)
            last = self._max_training_steps
            is_final = bool(last) and result.metrics[GraphKeys.GLOBAL_STEP] >= last
            exported = self._export_eval_result(result, is_final)
            if is_final:
                logging.debug("Calling exporter with the `is_the_final_export=True`.")
                self._is_final_export_triggered = True
            self._last_warning_time, self._previous_ckpt_path = 0.0, path
            return result, exported

        def _log_err_msg(self, message: str) -> None:
            now = time.time()
            if now - self._last_warning_time > _SECONDS_BETWEEN_WARNINGS:
                logging.warning(message)
                self._last_warning_time = now

        def _export_eval_result(self, eval_result: _EvalResult, is_the_final_export: bool) -> list:
            folder = os.path.join(compat.as_str_any(self._estimator.model_dir), "export")
            return [
                exporter.export(
                    estimator=self._estimator, export_path=os.path.join(folder, compat.as_str_any(exporter.name)),
                    checkpoint_path=eval_result.checkpoint_path, eval_result=eval_result.metrics,
                    is_the_final_export=is_the_final_export,
                )
                for exporter in self._eval_spec.exporters
            ]  # fmt: skip


def _is_google_env() -> bool:
    """Whether servers of the cluster run already, as TF_CONFIG says."""
    tf_config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if not tf_config:
        logging.warning("TF_CONFIG should not be empty in distributed environment.")
    return tf_config.get("environment") == "google"
