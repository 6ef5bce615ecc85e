"""tf.distribute.cluster_resolver: which tasks a cluster has. The base class, and resolvers of given clusters."""

from __future__ import annotations

import abc
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.cluster import ClusterSpec


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """The address with the protocol before it, where there is one."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


def get_accelerator_devices(master: str, config_proto: object) -> list[Any]:
    """Lists the devices of a session with a target and a ConfigProto; in eager mode without CPUs, as in 1.15."""
    leaves_out = ("CPU",) if executing_eagerly() else ()
    with Graph().as_default(), Session(master, config=config_proto) as session:
        return [device for device in session.list_devices() if device.device_type not in leaves_out]


@export("distribute.cluster_resolver.ClusterResolver", "contrib.cluster_resolver.ClusterResolver")
class ClusterResolver(abc.ABC):
    """Base class: a subclass defines `cluster_spec`, `master`, and the attributes task_type, task_id and rpc_layer."""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The cluster as it is now."""
        raise NotImplementedError

    @abc.abstractmethod
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of a Session: of the given task, by default of this one."""
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:  # fmt: skip
        """How many devices of each kind a session on the master has; of one task where both are given."""
        found: dict[str, int] = {}
        for device in get_accelerator_devices(self.master(task_type, task_id), config_proto):
            if task_type is None or task_id is None or (f"/job:{task_type}" in device.name and f"/task:{task_id}" in device.name):
                found[device.device_type] = found.get(device.device_type, 0) + 1
        return found

    @property
    def environment(self) -> str:
        """Where the cluster is: "" outside of Google."""
        return ""


@export("distribute.cluster_resolver.SimpleClusterResolver", "contrib.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """The resolver of a given cluster.

    Args:
      cluster_spec: a ClusterSpec.
      master: target of a Session where no task is given.
      task_type, task_id: this task.
      environment: what `environment` says.
      num_accelerators: dict of devices per worker, by kind.
      rpc_layer: protocol, put before addresses.

    Raises:
      TypeError: `cluster_spec` is no ClusterSpec, or `master` no str.
    """

    def __init__(
        self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None,
        environment: str = "", num_accelerators: dict | None = None, rpc_layer: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master, self._environment = cluster_spec, master, environment
        self._num_accelerators = num_accelerators
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        given = task_type is not None and task_id is not None
        address = self._cluster_spec.task_address(task_type, task_id) if given else self._master
        return format_master_url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:  # fmt: skip
        """The dict that was given; the arguments do not matter."""
        return {} if self._num_accelerators is None else self._num_accelerators

    @property
    def environment(self) -> str:
        return self._environment


@export("distribute.cluster_resolver.UnionResolver", "contrib.cluster_resolver.UnionClusterResolver")
class UnionClusterResolver(ClusterResolver):
    """The union of clusters; what concerns this task is the first resolver's.

    Args:
      *args: ClusterResolvers.
      **kwargs: `rpc_layer`, `task_type`, `task_id`, in place of the first resolver's.

    Raises:
      ValueError: there is none, or an unknown keyword. TypeError: an argument is none.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        self._own = {key: kwargs.pop(key, None) for key in ("rpc_layer", "task_type", "task_id")}
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args

    def cluster_spec(self) -> ClusterSpec:
        """Tasks of equal jobs one after another where all are lists, else by their numbers.

        Raises:
          KeyError: two tasks of one job have one number.
        """
        given = [resolver.cluster_spec().as_dict() for resolver in self._resolvers]
        merged: dict[str, Any] = {}
        for job in dict.fromkeys(job for jobs in given for job in jobs):
            parts = [jobs[job] for jobs in given if job in jobs]
            merged[job] = [a for part in parts for a in part] if all(isinstance(p, list) for p in parts) else _numbered(parts)
        return ClusterSpec(merged)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        if task_type is not None and task_id is not None:
            return format_master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self._own["rpc_layer"])
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:  # fmt: skip
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> str:
        return self._resolvers[0].environment


def _numbered(parts: list[Any]) -> dict[int, str]:
    found: dict[int, str] = {}
    for part in parts:
        tasks = dict(enumerate(part)) if isinstance(part, list) else part
        if not found.keys().isdisjoint(tasks):
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {found.keys() & tasks.keys()!r}")
        found.update(tasks)
    return found


def _of_first(name: str) -> property:
    def get(self: UnionClusterResolver) -> Any:
        return self._own[name] or getattr(self._resolvers[0], name)

    def set_(self: UnionClusterResolver, value: object) -> None:
        self._own[name] = value

    return property(get, set_)


for _name in ("task_type", "task_id", "rpc_layer"):
    setattr(UnionClusterResolver, _name, _of_first(_name))
