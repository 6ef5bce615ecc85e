"""tf.estimator.RunConfig: how an Estimator runs."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Collection
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.distribute_coordinator import CoordinatorMode
from tfcompat._src.estimator import cluster_settings
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import ConfigProto
from tfcompat._src.train.cluster import ClusterSpec

TaskType = cluster_settings.TaskType
_USE_DEFAULT = object()
_DEFAULT_SAVE_CHECKPOINTS_SECS = 600
_SAVE_CKPT_ERR = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
_DEFAULT_REPLACEABLE_LIST = [
    "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
    "train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute",
    "experimental_max_worker_delay_secs", "session_creation_timeout_secs",
]  # fmt: skip
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    "save_summary_steps": (lambda v: v >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda v: v >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda v: v >= 0, "save_checkpoints_secs should be >= 0"),
    "session_config": (lambda v: isinstance(v, ConfigProto), "session_config must be instance of ConfigProto"),
    "keep_checkpoint_max": (lambda v: v >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (lambda v: v > 0, "keep_checkpoint_every_n_hours should be > 0"),
    "log_step_count_steps": (lambda v: v > 0, "log_step_count_steps should be > 0"),
    "tf_random_seed": (lambda v: isinstance(v, int), "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        lambda v: isinstance(v, int), "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "session_creation_timeout_secs": (lambda v: v > 0, "session_creation_timeout_secs should be > 0"),
    "device_fn": (
        lambda v: callable(v) and set(fn_args(v)) == {"op"},
        'device_fn must be callable with exactly one argument "op".',
    ),
    "protocol": (lambda v: v in ("grpc", "grpc+verbs"), "protocol should be grpc or grpc+verbs"),
}  # fmt: skip


def get_default_session_config() -> Any:
    """The ConfigProto of the sessions of an Estimator that is given none."""
    return cluster_settings.session_config()


@export("estimator.RunConfig", "compat.v2.estimator.RunConfig")
class RunConfig:
    """How an Estimator runs; the cluster and the task in it come from the environment variable TF_CONFIG.

    Args:
      model_dir: folder of checkpoints and summaries.
      tf_random_seed: seed of the graphs.
      save_summary_steps: steps between summaries, 0 for none.
      save_checkpoints_steps, save_checkpoints_secs: steps or seconds between checkpoints; by default 600 seconds; None,
        and 0, for none.
      session_config: ConfigProto of the sessions.
      keep_checkpoint_max: how many checkpoints are kept, 0 for all.
      keep_checkpoint_every_n_hours: hours between checkpoints that are kept for ever.
      log_step_count_steps: steps between lines of loss and speed, None for none.
      train_distribute, eval_distribute: a tf.distribute.Strategy.
      device_fn: function of an Operation `op` that gives its device.
      protocol: of the server: "grpc".
      experimental_distribute: a tf.contrib.distribute.DistributeConfig in place of the two strategies.
      experimental_max_worker_delay_secs: seconds that a worker waits at most before it begins.
      session_creation_timeout_secs: seconds that a worker waits at most for its session.

    Raises:
      ValueError: a value is out of range, both intervals of checkpoints are given, or TF_CONFIG is not consistent.
    """

    def __init__(
        self, model_dir: Any = None, tf_random_seed: int | None = None, save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _USE_DEFAULT, save_checkpoints_secs: Any = _USE_DEFAULT,
        session_config: Any = None, keep_checkpoint_max: int = 5, keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100, train_distribute: Any = None, device_fn: Callable | None = None,
        protocol: str | None = None, eval_distribute: Any = None, experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None, session_creation_timeout_secs: float = 7200,
    ) -> None:  # fmt: skip
        if save_checkpoints_steps is _USE_DEFAULT and save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = _DEFAULT_SAVE_CHECKPOINTS_SECS
        save_checkpoints_steps = None if save_checkpoints_steps is _USE_DEFAULT else save_checkpoints_steps
        save_checkpoints_secs = None if save_checkpoints_secs is _USE_DEFAULT else save_checkpoints_secs
        tf_config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        if tf_config:
            logging.info("TF_CONFIG environment variable: %s", tf_config)
        model_dir = cluster_settings.model_dir(tf_config, None if model_dir is None else os.fspath(model_dir))
        given = locals()
        RunConfig._replace(self, _DEFAULT_REPLACEABLE_LIST, **{name: given[name] for name in _DEFAULT_REPLACEABLE_LIST})
        if not (_is_strategy(train_distribute) or _is_strategy(eval_distribute) or experimental_distribute):
            self._init_distributed_setting_from_environment_var(tf_config)
            return
        logging.info("Initializing RunConfig with distribution strategies.")
        self._take_strategies(experimental_distribute)
        self._distribute_coordinator_mode = self._mode_of_coordinator(tf_config)
        if self._distribute_coordinator_mode is None:
            self._init_distributed_setting_from_environment_var(tf_config)
            logging.info("Not using Distribute Coordinator.")
            return
        self._init_distributed_setting_from_environment_var({})
        self._cluster_spec = ClusterSpec(tf_config["cluster"])
        logging.info("RunConfig initialized for Distribute Coordinator with INDEPENDENT_WORKER mode")

    def _take_strategies(self, experimental_distribute: Any) -> None:
        """The strategies of a DistributeConfig become the two of this RunConfig."""
        for name in ("train_distribute", "eval_distribute"):
            strategy = getattr(experimental_distribute, name, None)
            if strategy and getattr(self, "_" + name):
                raise ValueError(f"Either `{name}` or`experimental_distribute.{name}` can be set.")
            if strategy:
                setattr(self, "_" + name, strategy)

    def _mode_of_coordinator(self, tf_config: dict[str, Any]) -> str | None:
        """How tasks of a cluster come to train by a strategy; None where they do not.

        Raises:
          NotImplementedError: by a client of their servers.
        """
        if self._train_distribute and getattr(self._experimental_distribute, "remote_cluster", None):
            raise NotImplementedError("tfcompat has no `remote_cluster`: start the program as each task of the cluster, with TF_CONFIG.")
        cluster = tf_config.get("cluster", {})
        is_used = cluster and TaskType.MASTER not in cluster and self._train_distribute
        return CoordinatorMode.INDEPENDENT_WORKER if is_used else None

    def _follow_worker_context(self, context: Any) -> None:
        """Takes over what a coordinator says of this task."""
        self._service = None
        self._task_type, self._task_id, self._is_chief = context.task_type, context.task_id, context.is_chief
        self._master = self._evaluation_master = context.master_target
        cluster = context.cluster_spec
        jobs = cluster.as_dict() if cluster and context.task_type != TaskType.EVALUATOR else {}
        self._cluster_spec = ClusterSpec(jobs)
        self._num_ps_replicas, self._num_worker_replicas = len(jobs.get(TaskType.PS, ())), context.num_workers if jobs else 0
        self._global_id_in_cluster = None
        if jobs and context.task_type:
            self._global_id_in_cluster = cluster_settings.global_id(self._cluster_spec, context.task_type, context.task_id, TaskType.CHIEF)

    def _init_distributed_setting_from_environment_var(self, tf_config: dict[str, Any]) -> None:
        for name, value in cluster_settings.cluster_settings(tf_config).items():
            setattr(self, "_" + name, value)
        self._maybe_overwrite_session_config_for_distributed_training()

    def _maybe_overwrite_session_config_for_distributed_training(self) -> None:
        if not self._session_config and self._cluster_spec:
            self._session_config = cluster_settings.session_config_of_task(self._task_type, self._task_id)

    cluster_spec = property(lambda self: self._cluster_spec)
    device_fn = property(lambda self: self._device_fn)
    evaluation_master = property(lambda self: self._evaluation_master)
    is_chief = property(lambda self: self._is_chief)
    master = property(lambda self: self._master)
    num_ps_replicas = property(lambda self: self._num_ps_replicas)
    num_worker_replicas = property(lambda self: self._num_worker_replicas)
    task_id = property(lambda self: self._task_id)
    global_id_in_cluster = property(lambda self: self._global_id_in_cluster)
    experimental_max_worker_delay_secs = property(lambda self: self._experimental_max_worker_delay_secs)
    task_type = property(lambda self: self._task_type)
    tf_random_seed = property(lambda self: self._tf_random_seed)
    save_summary_steps = property(lambda self: self._save_summary_steps)
    save_checkpoints_secs = property(lambda self: self._save_checkpoints_secs)
    session_config = property(lambda self: self._session_config)
    save_checkpoints_steps = property(lambda self: self._save_checkpoints_steps)
    keep_checkpoint_max = property(lambda self: self._keep_checkpoint_max)
    session_creation_timeout_secs = property(lambda self: self._session_creation_timeout_secs)
    keep_checkpoint_every_n_hours = property(lambda self: self._keep_checkpoint_every_n_hours)
    log_step_count_steps = property(lambda self: self._log_step_count_steps)
    model_dir = property(lambda self: self._model_dir)
    service = property(lambda self: self._service)
    train_distribute = property(lambda self: self._train_distribute)
    eval_distribute = property(lambda self: self._eval_distribute)
    protocol = property(lambda self: self._protocol)

    def replace(self, **kwargs: Any) -> Any:
        """A copy with other values of the constructor's arguments; ValueError for another name, or as the
        constructor.
        """
        return RunConfig._replace(copy.deepcopy(self), _DEFAULT_REPLACEABLE_LIST, **kwargs)

    @staticmethod
    def _replace(config: Any, allowed_properties_list: Collection[str] = (), **kwargs: Any) -> Any:
        """Changes properties of `config`, and checks all; gives `config`."""
        for name, value in kwargs.items():
            if name not in allowed_properties_list:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are {allowed_properties_list}."
                )
            setattr(config, "_" + name, value)
        _keep_one_interval(config, kwargs)
        for name, (is_valid, message) in _CHECKS.items():
            value = getattr(config, "_" + name)
            if value is not None and not is_valid(value):
                raise ValueError(message)
        return config


def _is_strategy(strategy: object) -> bool:
    """Whether there is a strategy that is told about the cluster; that of TPUs is not."""
    return strategy is not None and not type(strategy).__name__.startswith("TPUStrategy")


def _keep_one_interval(config: RunConfig, replaced: Collection[str]) -> None:
    """An interval of checkpoints that was replaced by one of the other kind becomes None."""
    steps, secs = config._save_checkpoints_steps, config._save_checkpoints_secs
    if "save_checkpoints_steps" in replaced and "save_checkpoints_secs" in replaced:
        if steps is not None and secs is not None:
            raise ValueError(_SAVE_CKPT_ERR)
    elif "save_checkpoints_steps" in replaced and steps is not None:
        config._save_checkpoints_secs = None
    elif "save_checkpoints_secs" in replaced and secs is not None:
        config._save_checkpoints_steps = None
