"""The tasks of a session: those of the cluster that pass the session's device filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.cluster.remote_worker import worker_at
from tfcompat._src.runtime.devices import local_servers


@dataclass(frozen=True)
class Member:
    """A task: its name in device names, its address, and its server if that is in this process, else None."""

    task: str
    address: str
    server: Any

    def worker(self, own: Any) -> Any:
        """Returns the task's worker: `own`, the worker of the master's server, for its own task, else a RemoteWorker."""
        return own if own.server is self.server else worker_at(self.address)


def members_of(server: Any, config: Any) -> list[Member]:
    """Returns the tasks of a session of `server`, in the order in which nodes without a device prefer them.

    The task of the server always takes part, whatever the filters. It comes first if the config names the cluster; otherwise tasks are sorted
    by name.

    Raises:
      errors.InvalidArgumentError: the config names a cluster that cannot be the session's, see `local_servers.cluster_error`.
    """
    problem = local_servers.cluster_error(server, config)
    if problem is not None:
        raise problem
    addresses = local_servers.addresses_of(server, config) or server.addresses
    found, named = [], bool(config.cluster_def.job)
    for (job, index), address in sorted(addresses.items()):
        task = local_servers.task_name(job, index)
        # A cluster of the session's config may name the server's task otherwise: it is known by its address then.
        is_own = (task == server.task_name and not named) or local_servers.find(f"grpc://{address}") is server
        if is_own or passes(task, config.device_filters):
            found.append(Member(task, address, server if is_own else local_servers.find(f"grpc://{address}")))
    return sorted(found, key=lambda m: (named and m.server is not server, m.task))


def passes(task: str, filters: Any) -> bool:
    """Whether a task matches one of the device filters, such as "/job:ps" or "/job:worker/task:1". Every task passes if there are none."""
    have = DeviceSpec.from_string(task)
    return not filters or any(_fits(DeviceSpec.from_string(text), have) for text in filters)


def _fits(wanted: DeviceSpec, have: DeviceSpec) -> bool:
    """Whether job, replica and task of a device match, as far as `wanted` names them."""
    pairs = ((wanted.job, have.job), (wanted.replica, have.replica), (wanted.task, have.task))
    return all(w is None or w == h for w, h in pairs)
