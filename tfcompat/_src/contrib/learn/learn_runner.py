"""tf.contrib.learn.learn_runner: runs an Experiment as its cluster says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn import run_config as run_config_lib
from tfcompat._src.contrib.learn.experiment import Experiment
from tfcompat._src.contrib.training.hparam import HParams
from tfcompat._src.platform import logging


def _execute_schedule(experiment: object, schedule: str) -> Any:
    """Calls a method of an experiment; ValueError where there is none, TypeError where it cannot be called."""
    task = getattr(experiment, schedule, None)
    if callable(task):
        return task()
    problem = "non-callable member" if hasattr(experiment, schedule) else "non-existent task"
    logging.error("Schedule references %s %s", problem, schedule)
    valid = [name for name in dir(experiment) if not name.startswith("_") and callable(getattr(experiment, name))]
    logging.error("Allowed values for this experiment are: %s", valid)
    error = TypeError if hasattr(experiment, schedule) else ValueError
    raise error(f"Schedule references {problem} {schedule}")


def _check_experiment(experiment: object) -> Experiment:
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead.")
    return experiment


def _wrapped_experiment_fn_with_uid_check(experiment_fn: Callable, require_hparams: bool = False) -> Callable:
    """`experiment_fn`, with checks of its arguments and that the estimator has the same RunConfig."""

    def wrapped_experiment_fn(run_config: object, hparams: object) -> Experiment:
        if not isinstance(run_config, run_config_lib.RunConfig):
            raise ValueError("`run_config` must be `tf.contrib.learn.RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        if hparams is not None and not isinstance(hparams, HParams):
            raise ValueError("`hparams` must be `HParams` instance")
        if require_hparams and hparams is None:
            raise ValueError("`hparams` cannot be `None`.")
        expected = run_config.uid()
        experiment = _check_experiment(experiment_fn(run_config, hparams))
        config = experiment.estimator.config
        if not hasattr(config, "uid"):
            raise RuntimeError(
                "Pass `run_config` argument of the `experiment_fn` to the Estimator in Experiment. It is likely a different "
                "`RunConfig` is passed to `Estimator` or the `config` constructor argument in `Estimator` is not set."
            )
        if config.uid() != expected:
            raise RuntimeError(
                "`RunConfig` instance is expected to be used by the `Estimator` inside the `Experiment`. "
                f"expected {expected}, but got {config.uid()}"
            )
        return experiment

    return wrapped_experiment_fn


@export("contrib.learn.learn_runner.run")
def run(
    experiment_fn: Callable, output_dir: str | None = None, schedule: str | None = None, run_config: object = None,
    hparams: object = None,
) -> Any:  # fmt: skip
    """Makes an Experiment and calls one of its methods.

    Args:
      experiment_fn: function of a RunConfig and HParams, or of `output_dir`, that gives an Experiment.
      output_dir: folder of the model.
      schedule: name of the method; by default what the task in the cluster does, alone "train_and_evaluate".
      run_config: a RunConfig, instead of `output_dir`.
      hparams: HParams, with `run_config`.

    Returns:
      what the method gives.

    Raises:
      ValueError: not exactly one of `output_dir` and `run_config` is given, or there is no such method.
      TypeError: `experiment_fn` gives no Experiment. RuntimeError: its estimator has another RunConfig.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _wrapped_experiment_fn_with_uid_check(experiment_fn)(run_config=run_config, hparams=hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = _check_experiment(experiment_fn(output_dir=output_dir))
    return _execute_schedule(experiment, schedule or _get_default_schedule(run_config or experiment.estimator.config))


@export("contrib.learn.learn_runner.tune")
def tune(experiment_fn: Callable, tuner: Any) -> None:
    """Runs an experiment for each trial of a tuner, with its hyperparameters."""
    while tuner.next_trial():
        tuner.run_experiment(_wrapped_experiment_fn_with_uid_check(experiment_fn, require_hparams=True))


def _is_distributed(config: Any) -> bool:
    cluster = config.cluster_spec
    return bool(cluster) and sum(len(cluster.job_tasks(job)) for job in cluster.jobs) > 1


def _get_default_schedule(config: Any) -> str:
    """What a task does; ValueError where its type is unknown."""
    if not config or not _is_distributed(config):
        return "train_and_evaluate"
    if not config.task_type:
        raise ValueError("Must specify a schedule")
    schedules = {
        run_config_lib.TaskType.MASTER: "train_and_evaluate",
        run_config_lib.TaskType.PS: "run_std_server",
        run_config_lib.TaskType.WORKER: "train",
    }
    if config.task_type not in schedules:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return schedules[config.task_type]
