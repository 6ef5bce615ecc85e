"""tf.contrib.tpu.RunConfig: how a TPUEstimator runs."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.estimator import run_config
from tfcompat._src.estimator.tpu import util
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import ConfigProto

_CORES_OF_A_REPLICA = [1, 2, 4, 8, 16, 32, 64, 128]


@export("estimator.tpu.InputPipelineConfig", "contrib.tpu.InputPipelineConfig")
class InputPipelineConfig:
    """How often the input function is called on TPUs."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _TPUFields(NamedTuple):
    iterations_per_loop: Any
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: int
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Any
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


@export("estimator.tpu.TPUConfig", "contrib.tpu.TPUConfig")
class TPUConfig(_TPUFields):
    """How TPUs are used.

    Args:
      iterations_per_loop: steps of one run on the TPU, or a time such as "5m".
      num_shards: how many copies of the model there are.
      num_cores_per_replica: TPU cores of each copy.
      per_host_input_for_training: an InputPipelineConfig; True and False mean PER_HOST_V1 and PER_SHARD_V1.
      tpu_job_name: the job of the TPU workers.
      initial_infeed_sleep_secs: seconds before the first input.
      input_partition_dims: how inputs are split among the cores of a copy.
      eval_training_input_configuration: PER_HOST_V1 or SLICED.
      experimental_host_call_every_n_steps: steps between host calls.

    Raises:
      ValueError: a value is out of range. TypeError: a number is no int.
    """

    def __new__(
        cls, iterations_per_loop: Any = 2, num_shards: int | None = None, num_cores_per_replica: int | None = None,
        per_host_input_for_training: Any = True, tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None, input_partition_dims: object = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:  # fmt: skip
        util.parse_iterations_per_loop(iterations_per_loop)
        if num_shards is not None:
            util.check_positive_integer(num_shards, "TPUConfig num_shards")
        if input_partition_dims is not None:
            _check_partition_dims(input_partition_dims, per_host_input_for_training, num_cores_per_replica)
        if num_cores_per_replica is not None and num_cores_per_replica not in _CORES_OF_A_REPLICA:
            raise ValueError(f"num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; got {num_cores_per_replica}")
        if eval_training_input_configuration not in (InputPipelineConfig.PER_HOST_V1, InputPipelineConfig.SLICED):
            raise ValueError(
                "eval_training_input_configuration must be PER_HOST_V1 or SLICED; got "
                f"{eval_training_input_configuration}"
            )
        if isinstance(per_host_input_for_training, bool):
            per_host = (
                InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training else InputPipelineConfig.PER_SHARD_V1
            )
        else:
            per_host = per_host_input_for_training
        if initial_infeed_sleep_secs:
            util.check_positive_integer(initial_infeed_sleep_secs, "TPUConfig initial_infeed_sleep_secs")
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host,
            tpu_job_name or _get_tpu_job_name_from_tf_config(), initial_infeed_sleep_secs, input_partition_dims,
            eval_training_input_configuration, experimental_host_call_every_n_steps,
        )  # fmt: skip


def _check_partition_dims(dims: Any, per_host_input: object, num_cores_per_replica: int | None) -> None:
    if len(dims) not in (1, 2):
        raise ValueError("input_partition_dims must be a list/tuple with one or two elements.")
    if per_host_input != InputPipelineConfig.PER_HOST_V2:
        raise ValueError("input_partition_dims is only supported in PER_HOST_V2 mode.")
    if num_cores_per_replica is None:
        raise ValueError("input_partition_dims requires setting num_cores_per_replica.")


def _get_tpu_job_name_from_tf_config() -> str | None:
    service = json.loads(os.environ.get("TF_CONFIG", "{}")).get("service", {})
    name = service.get("tpu_worker_job_name")
    if name:
        logging.info("Load TPU job name from TF_CONFIG: %s", name)
    return name


@export("estimator.tpu.RunConfig", "contrib.tpu.RunConfig")
class RunConfig(run_config.RunConfig):
    """How a TPUEstimator runs.

    Args:
      tpu_config: a TPUConfig, by default a new one.
      evaluation_master: target of the sessions that evaluate, by default `master`.
      master: target of the other sessions.
      cluster: a cluster resolver, in place of `master`.
      **kwargs: arguments of tf.estimator.RunConfig.

    Raises:
      ValueError: both `master` and `cluster`, or `session_config` has a cluster already; and as tf.estimator.RunConfig.
    """

    def __init__(
        self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None, master: str | None = None,
        cluster: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        if master is not None:
            self._master = master
        elif cluster:
            self._master = cluster.master()
        if evaluation_master is not None:
            self._evaluation_master = evaluation_master
        elif not self._evaluation_master and self.task_type != run_config.TaskType.EVALUATOR:
            self._evaluation_master = self._master
        if cluster:
            self._take_cluster(cluster)

    def _take_cluster(self, cluster: Any) -> None:
        self._cluster_spec = cluster.cluster_spec()
        if self._session_config is None:
            self._session_config = ConfigProto(allow_soft_placement=True, isolate_session_state=True)
        if self._session_config.HasField("cluster_def"):
            raise ValueError("You cannot provide a ClusterResolver and session_config.cluster_def.")
        if self._cluster_spec:
            self._session_config.cluster_def.CopyFrom(self._cluster_spec.as_cluster_def())

    def _maybe_overwrite_session_config_for_distributed_training(self) -> None:
        """Sessions with TPUs see all devices."""

    tpu_config = property(lambda self: self._tpu_config)
    cluster = property(lambda self: self._cluster)

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other values of `tpu_config` or of arguments of tf.estimator.RunConfig; ValueError for other
        names.
        """
        made = super().replace(**{name: value for name, value in kwargs.items() if name != "tpu_config"})
        if "tpu_config" in kwargs:
            made._tpu_config = kwargs["tpu_config"]
        return made
