"""The resolver of the tasks that the Slurm workload manager started."""

from __future__ import annotations

import os
import subprocess

from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver, format_master_url
from tfcompat._src.train.cluster import ClusterSpec


@export("distribute.cluster_resolver.SlurmClusterResolver", "contrib.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """Assigns the tasks that Slurm started to jobs, in the order of their names.

    Args:
      jobs: dict of job names to numbers of tasks.
      port_base: port of the first task of a node.
      gpus_per_node, gpus_per_task: GPUs.
      tasks_per_node: by default SLURM_NTASKS_PER_NODE.
      auto_set_gpu: whether `cluster_spec` sets CUDA_VISIBLE_DEVICES to this task's GPUs.
      rpc_layer: protocol.

    Raises:
      RuntimeError: there are more tasks or GPUs asked for than there are, or the tasks per node are not known.
    """

    def __init__(
        self, jobs: dict[str, int], port_base: int = 8888, gpus_per_node: int = 1, gpus_per_task: int = 1,
        tasks_per_node: int | None = None, auto_set_gpu: bool = True, rpc_layer: str | None = "grpc",
    ) -> None:  # fmt: skip
        launcher = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
        if launcher[0] not in os.environ:
            launcher = ("SLURM_PROCID", "SLURM_NTASKS")
        self._rank, tasks = (int(os.environ[key]) for key in launcher)
        if tasks_per_node is None and "SLURM_NTASKS_PER_NODE" not in os.environ:
            raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
        self._tasks_per_node = int(os.environ["SLURM_NTASKS_PER_NODE"]) if tasks_per_node is None else tasks_per_node
        self._jobs, self._port_base = dict(sorted(jobs.items())), port_base
        self._gpus_per_node, self._gpus_per_task, self._auto_set_gpu = gpus_per_node, gpus_per_task, auto_set_gpu
        self.task_type: str | None = None
        self.task_id: int | None = None
        self.rpc_layer = rpc_layer
        if self._tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError("Requested more GPUs per node then available.")
        if sum(self._jobs.values()) != tasks:
            raise RuntimeError("Requested more tasks then assigned tasks.")

    def _resolve_hostnames(self) -> list[str]:
        return subprocess.check_output(["scontrol", "show", "hostname"]).decode().strip().split("\n")

    def cluster_spec(self) -> ClusterSpec:
        """The cluster, from the names of the nodes that `scontrol` prints; finds out which task this one is."""
        places = [
            (f"{host}:{self._port_base + i}", first)
            for host in self._resolve_hostnames()
            for i, first in zip(range(self._tasks_per_node), range(0, self._gpus_per_node, self._gpus_per_task))
        ]
        found, start = {}, 0
        for job, tasks in self._jobs.items():
            found[job] = [address for address, _ in places[start : start + tasks]]
            if start <= self._rank < start + tasks:
                self.task_type, self.task_id = job, self._rank - start
            start += tasks
        if self._auto_set_gpu is True:
            first = places[self._rank][1]
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(first, first + self._gpus_per_task)))
        return ClusterSpec(found)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """This task's job and number, None before `cluster_spec` was called."""
        return self.task_type, self.task_id

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return format_master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:  # fmt: skip
        """The GPUs per node."""
        return {"GPU": self._gpus_per_node}
