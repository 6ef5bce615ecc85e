"""The resolver of the cluster that the environment variable TF_CONFIG describes."""

from __future__ import annotations

import json
import os
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver, format_master_url
from tfcompat._src.runtime.devices.devices import accelerator_count
from tfcompat._src.train.cluster import ClusterSpec


def _tf_config() -> dict[str, Any]:
    return json.loads(os.environ.get("TF_CONFIG", "{}"))


@export("distribute.cluster_resolver.TFConfigClusterResolver", "contrib.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """Reads TF_CONFIG: JSON with the keys cluster, task, rpc_layer and session_master.

    Args:
      task_type, task_id, rpc_layer, environment: in place of what TF_CONFIG says.
    """

    def __init__(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:  # fmt: skip
        self._task_type, self._task_id, self._rpc_layer, self._environment = task_type, task_id, rpc_layer, environment

    @property
    def task_type(self) -> str | None:
        if self._task_type is not None:
            return str(self._task_type)
        task = _tf_config().get("task", {})
        return str(task["type"]) if "type" in task else None

    @task_type.setter
    def task_type(self, value: str) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        if self._task_type is not None:
            return int(self._task_id)
        task = _tf_config().get("task", {})
        return int(task["index"]) if "index" in task else None

    @task_id.setter
    def task_id(self, value: int) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        return _tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, value: str) -> None:
        self._rpc_layer = value

    @property
    def environment(self) -> str | None:
        return self._environment

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:  # fmt: skip
        mine = (self.task_type if task_type is None else task_type, self.task_id if task_id is None else task_id)
        return super().num_accelerators(*mine, config_proto)

    def cluster_spec(self) -> ClusterSpec:
        return ClusterSpec(_tf_config().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The key session_master; "" for a cluster of one task; else the address of the task."""
        master = _tf_config().get("session_master")
        if master is not None:
            return master
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1):
            return ""
        mine = (self.task_type if task_type is None else task_type, self.task_id if task_id is None else task_id)
        return format_master_url(spec.task_address(*mine), self.rpc_layer)


def gpus_per_worker(cluster_resolver: ClusterResolver | None) -> int:
    """Returns how many GPUs of each worker have a replica: as the resolver says; all of this process where it reads TF_CONFIG, or is None."""
    if cluster_resolver is None or isinstance(cluster_resolver, TFConfigClusterResolver):
        return accelerator_count("GPU")
    return cluster_resolver.num_accelerators().get("GPU", 0)
