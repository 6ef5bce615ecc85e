"""tf.contrib.learn.RunConfig: how an Estimator of contrib.learn runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator import run_config as core
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import ConfigProto, GPUOptions
from tfcompat._src.train.cluster import ClusterSpec

_DEFAULT_UID_WHITE_LIST = (
    "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config",
    "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
)  # fmt: skip


class Environment:
    """Where a cluster runs."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


@export("contrib.learn.TaskType")
class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


def _tf_config() -> dict[str, Any]:
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


class ClusterConfig:
    """The cluster of the environment variable TF_CONFIG, and the task in it.

    Args:
      master: address of the master; by default the task's own address.
      evaluation_master: address of the master of evaluations.

    Raises:
      ValueError: the task is not in the cluster.
    """

    def __init__(self, master: str | None = None, evaluation_master: str | None = None) -> None:
        config = _tf_config()
        self._task_type = config.get("task", {}).get("type")
        self._task_id = self.get_task_id()
        self._cluster_spec = ClusterSpec(config.get("cluster", {}))
        if master is None:
            master = _get_master(self._cluster_spec, self._task_type, self._task_id)
        self._master = master
        jobs = {job: len(tasks) for job, tasks in self._cluster_spec.as_dict().items()}
        self._num_ps_replicas = jobs.get("ps", 0)
        self._num_worker_replicas = jobs.get("worker", 0) + jobs.get("master", 0)
        self._environment = config.get("environment", Environment.LOCAL)
        chief = TaskType.MASTER if self._environment == Environment.CLOUD else TaskType.WORKER
        self._is_chief = self._task_id == 0 and self._task_type in (None, chief)
        self._evaluation_master = evaluation_master or ""

    @property
    def cluster_spec(self) -> ClusterSpec:
        return self._cluster_spec

    @property
    def environment(self) -> str:
        return self._environment

    @property
    def evaluation_master(self) -> str:
        return self._evaluation_master

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def master(self) -> str:
        return self._master

    @property
    def num_ps_replicas(self) -> int:
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        return self._num_worker_replicas

    @property
    def task_id(self) -> int:
        return self._task_id

    @property
    def task_type(self) -> str | None:
        return self._task_type

    @staticmethod
    def get_task_id() -> int:
        """The number of the task in its job, 0 where TF_CONFIG has none."""
        return int(_tf_config().get("task", {}).get("index") or 0)


@export("contrib.learn.RunConfig")
class RunConfig(ClusterConfig, core.RunConfig):
    """How an Estimator of contrib.learn runs.

    Args:
      master, evaluation_master: addresses of masters.
      num_cores: threads of the session, 0 for all cores.
      log_device_placement: whether sessions log devices.
      gpu_memory_fraction: fraction of a GPU's memory that a session takes.
      tf_random_seed: seed of the graphs.
      save_summary_steps: steps between summaries.
      save_checkpoints_secs, save_checkpoints_steps: seconds or steps between checkpoints; by default 600 seconds.
      keep_checkpoint_max: how many checkpoints are kept.
      keep_checkpoint_every_n_hours: hours between checkpoints that are kept for ever.
      log_step_count_steps: steps between lines of the speed.
      protocol: of the server.
      model_dir: folder of the model.
      session_config: ConfigProto of the sessions.
      session_creation_timeout_secs: seconds that a worker waits at most for its session.

    Raises:
      ValueError: TF_CONFIG is not consistent.
    """

    _USE_DEFAULT = 0

    def __init__(
        self, master=None, num_cores=0, log_device_placement=False, gpu_memory_fraction=1, tf_random_seed=None,
        save_summary_steps=100, save_checkpoints_secs=_USE_DEFAULT, save_checkpoints_steps=None, keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000, log_step_count_steps=100, protocol=None, evaluation_master="", model_dir=None,
        session_config=None, session_creation_timeout_secs=7200,
    ) -> None:  # fmt: skip
        ClusterConfig.__init__(self, master=master, evaluation_master=evaluation_master)
        if save_checkpoints_secs == RunConfig._USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        self._train_distribute = self._eval_distribute = None
        self._experimental_max_worker_delay_secs = self._device_fn = None
        self._tf_config = ConfigProto(
            log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )  # fmt: skip
        self._tf_random_seed, self._save_summary_steps = tf_random_seed, save_summary_steps
        self._save_checkpoints_secs, self._save_checkpoints_steps = save_checkpoints_secs, save_checkpoints_steps
        self._log_step_count_steps, self._protocol, self._session_config = log_step_count_steps, protocol, session_config
        self._keep_checkpoint_max = keep_checkpoint_max
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._model_dir = _get_model_dir(model_dir)
        self._session_creation_timeout_secs = session_creation_timeout_secs

    def uid(self, whitelist: Iterable[str] | None = None) -> str:
        """A text that differs where settings differ that are not in `whitelist`."""
        left_out = {"_" + name for name in (_DEFAULT_UID_WHITE_LIST if whitelist is None else whitelist)}
        state = {key: value for key, value in sorted(vars(self).items()) if key not in left_out}
        if "_cluster_spec" in state:
            state["_cluster_spec"] = dict(sorted(state["_cluster_spec"].as_dict().items()))
        return ", ".join(f"{key}={value!r}" for key, value in state.items())

    @property
    def tf_config(self) -> ConfigProto:
        return self._tf_config


def _get_master(cluster_spec: ClusterSpec, task_type: str | None, task_id: int) -> str:
    """The address of the task's server; empty where there is one task only."""
    jobs = cluster_spec.jobs if cluster_spec else []
    if not jobs or (len(jobs) == 1 and len(cluster_spec.job_tasks(jobs[0])) == 1) or not task_type:
        return ""
    if task_type not in jobs:
        raise ValueError(
            f"{task_type} is not a valid task_type in the cluster_spec:\n{cluster_spec}\n\n"
            "Note that these values may be coming from the TF_CONFIG environment variable."
        )
    addresses = cluster_spec.job_tasks(task_type)
    if not 0 <= task_id < len(addresses):
        raise ValueError(
            f"{task_id} is not a valid task_id for task_type {task_type} in the cluster_spec:\n{cluster_spec}\n\n"
            "Note that these value may be coming from the TF_CONFIG environment variable."
        )
    return "grpc://" + addresses[task_id]


def _get_model_dir(model_dir: str | None) -> str | None:
    configured = _tf_config().get("model_dir")
    if configured is not None:
        if model_dir is not None and configured != model_dir:
            raise ValueError(
                "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in TF_CONFIG. "
                f'model_dir: {model_dir}\nTF_CONFIG["model_dir"]: {configured}.\n'
            )
        logging.info("Using model_dir in TF_CONFIG: %s", configured)
    return model_dir or configured
