"""tf.train.ClusterSpec and tf.train.Server: the tasks of a cluster, and the server of one."""

from __future__ import annotations

import threading
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.platform import compat
from tfcompat._src.proto.messages import ClusterDef, ServerDef
from tfcompat._src.runtime.devices.local_servers import LocalServer


@export("train.ClusterSpec")
class ClusterSpec:
    """The jobs of a cluster and the network addresses of their tasks.

    Args:
      cluster: dict of job names to lists of addresses, or to dicts of addresses by task index; a ClusterDef; a ClusterSpec.

    Raises:
      TypeError: it is none of these, or a name or address is no string.
    """

    def __init__(self, cluster: object) -> None:
        if isinstance(cluster, dict):
            self._cluster_spec = {job: _tasks_by_index(job, tasks) for job, tasks in cluster.items()}
            self._cluster_def = _cluster_def(self._cluster_spec)
        elif isinstance(cluster, (ClusterDef, ClusterSpec)):
            given = cluster.as_cluster_def() if isinstance(cluster, ClusterSpec) else cluster
            self._cluster_def = ClusterDef()
            self._cluster_def.CopyFrom(given)
            self._cluster_spec = {job.name: dict(job.tasks) for job in given.job}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                "`ClusterDef` protocol buffer"
            )

    def __bool__(self) -> bool:
        return bool(self._cluster_spec)

    def __eq__(self, other: object) -> bool:
        return self._cluster_spec == (other._cluster_spec if isinstance(other, ClusterSpec) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return (
            "ClusterSpec({" + ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items())) + "})"
        )

    def as_dict(self) -> dict[str, Any]:
        """The addresses by job: a list, or a dict by task index where indices are left out."""
        found: dict[str, Any] = {}
        for job in self.jobs:
            tasks = dict(sorted(self._cluster_spec[job].items()))
            found[job] = list(tasks.values()) if tasks and max(tasks) + 1 == len(tasks) else tasks
        return found

    def as_cluster_def(self) -> Any:
        """The ClusterDef message."""
        return self._cluster_def

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._cluster_spec)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has; ValueError where there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of the tasks of a job, sorted; ValueError where there is no such job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task; ValueError where there is no such one."""
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return job[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job by task index, None where there is none; ValueError where there is no such job."""
        job = self._job(job_name)
        return [job.get(i) for i in range(max(job) + 1)]

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._cluster_spec:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._cluster_spec[job_name]


def _tasks_by_index(job: str, tasks: object) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        return dict(enumerate(tasks))
    if isinstance(tasks, dict):
        return dict(tasks)
    raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")


def _cluster_def(jobs: dict[str, dict[int, str]]) -> Any:
    found = ClusterDef()
    for name, tasks in sorted(jobs.items()):
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Job name {name!r} must be bytes or unicode")
        job = found.job.add(name=compat.as_text(name))
        for index, address in sorted(tasks.items()):
            if not isinstance(address, (str, bytes)):
                raise TypeError(f"Task address {address!r} must be bytes or unicode")
            job.tasks[index] = compat.as_text(address)
    return found


@export("train.Server", "distribute.Server")
class Server:
    """The server of one task: sessions with its `target`, of this or another process, share what is placed on tasks of its cluster.

    It listens at the address of its task: "localhost:2222" can be reached from this machine alone.

    Args:
      server_or_cluster_def: a ServerDef, ClusterDef or ClusterSpec, or what ClusterSpec takes.
      job_name, task_index: the task; not needed where there is only one.
      protocol: "grpc", the default.
      config: a ConfigProto with defaults of its sessions.
      start: start it at once.

    Raises:
      TypeError: `server_or_cluster_def` is none of these. ValueError: there is no such job, or the task is not clear.
      errors.InvalidArgumentError: there is no such task, or its address has no port.
      errors.NotFoundError: another protocol. errors.UnknownError: it cannot listen at its address.
    """

    def __init__(
        self, server_or_cluster_def: object, job_name: str | None = None, task_index: int | None = None,
        protocol: str | None = None, config: object = None, start: bool = True,
    ) -> None:  # fmt: skip
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        _check_address(self._server_def)
        task = (self._server_def.job_name, self._server_def.task_index)
        jobs = self._server_def.cluster.job
        addresses = {(job.name, index): address for job in jobs for index, address in job.tasks.items()}
        self._server = LocalServer(*task, self._server_def.default_session_config, addresses)
        if start:
            self.start()

    def start(self) -> None:
        """Starts it; nothing where it runs."""
        self._server.start()

    def join(self) -> None:
        """Waits for ever, as a server runs until its process ends."""
        threading.Event().wait()

    @property
    def server_def(self) -> Any:
        """The ServerDef message."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target of sessions, "grpc://localhost:PORT"."""
        return self._server.target

    @staticmethod
    def create_local_server(config: object = None, start: bool = True) -> Server:
        """A server of a cluster of one task, on a free port; arguments as for Server."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(given: object, job_name: str | None, task_index: int | None, protocol: str | None, config: object) -> Any:
    if isinstance(given, ServerDef):
        found = ServerDef()
        found.CopyFrom(given)
        for field, value in (("job_name", job_name), ("task_index", task_index), ("protocol", protocol)):
            if value is not None:
                setattr(found, field, value)
    else:
        try:
            spec = ClusterSpec(given)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or `tf.train.ClusterSpec`."
            ) from None
        job_name = _only(spec.jobs, "job_name") if job_name is None else job_name
        indices = spec.task_indices(job_name)
        task_index = _only(indices, "task_index") if task_index is None else task_index
        found = ServerDef(
            cluster=spec.as_cluster_def(), job_name=job_name, task_index=task_index, protocol=protocol or "grpc"
        )
    if config is not None:
        found.default_session_config.MergeFrom(config)
    return found


def _only(values: list, argument: str) -> Any:
    if len(values) != 1:
        raise ValueError(f"Must specify an explicit `{argument}`.")
    return values[0]


def _check_address(server_def: Any) -> None:
    """Checks the address of a server's task; see Server for what is raised."""
    if server_def.protocol != "grpc":
        raise errors.NotFoundError(
            None, None,
            f"No server factory registered for the given ServerDef: {server_def}\nThe available server factories are: [ GRPC_SERVER ]",
        )  # fmt: skip
    tasks = {job.name: job.tasks for job in server_def.cluster.job}.get(server_def.job_name, {})
    if server_def.task_index not in tasks:
        raise errors.InvalidArgumentError(
            None, None, f'Task {server_def.task_index} was not defined in job "{server_def.job_name}"'
        )
    address = tasks[server_def.task_index]
    port = address.rpartition(":")[2] if ":" in address else ""
    if not port.isdigit():
        raise errors.InvalidArgumentError(None, None, f'Could not parse port for local server from "{address}".')
