"""The tasks that take part in a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.cluster.remote_worker import worker_at
from tfcompat._src.runtime import local_servers


@dataclass(frozen=True)
class Member:
    """A task: its name in device names, its address, and its server where that is of this process."""

    task: str
    address: str
    server: Any

    def worker(self, own: Any) -> Any:
        """What runs parts of graphs on it: `own`, the worker of the master's server, or another process's."""
        return own if own.server is self.server else worker_at(self.address)


def members_of(server: Any, config: Any) -> list[Member]:
    """The tasks of a session with the target of `server` that pass its filters, in the order in which nodes without a device take them.

    The server's own always passes. It comes first where the config names the cluster.

    Raises:
      errors.InvalidArgumentError: the config names a cluster that cannot be the session's.
    """
    problem = local_servers.cluster_error(server, config)
    if problem is not None:
        raise problem
    addresses = local_servers.addresses_of(server, config) or server.addresses
    found, named = [], bool(config.cluster_def.job)
    for (job, index), address in sorted(addresses.items()):
        task = local_servers.task_name(job, index)
        is_own = (task == server.task_name and not named) or local_servers.find(f"grpc://{address}") is server
        if is_own or passes(task, config.device_filters):
            found.append(Member(task, address, server if is_own else local_servers.find(f"grpc://{address}")))
    return sorted(found, key=lambda m: (named and m.server is not server, m.task))


def passes(task: str, filters: Any) -> bool:
    """Whether a task is one that device filters such as "/job:ps" and "/job:worker/task:1" let through; all are where there is none."""
    have = DeviceSpec.from_string(task)
    return not filters or any(_fits(DeviceSpec.from_string(text), have) for text in filters)


def _fits(wanted: DeviceSpec, have: DeviceSpec) -> bool:
    pairs = ((wanted.job, have.job), (wanted.replica, have.replica), (wanted.task, have.task))
    return all(w is None or w == h for w, h in pairs)
