"""Strategies whose variables are on one device, or on parameter servers: CentralStorageStrategy and ParameterServerStrategy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util, multi_worker_util
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver
from tfcompat._src.distribute.cluster_resolver.tfconfig import gpus_per_worker
from tfcompat._src.distribute.cross_device_ops import ReductionToOneDevice, devices_of
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.replica_threads import call_for_each_replica
from tfcompat._src.distribute.values import Mirrored, PerReplica
from tfcompat._src.distribute.variables import AggregatingVariable, in_collections
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with as colocated
from tfcompat._src.graph.scopes import device
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.train.cluster import ClusterSpec
from tfcompat._src.train.device_setter import replica_device_setter
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor

_LOCAL_CPU = "/device:CPU:0"


class ParameterServerExtended(StrategyExtended):
    """What ParameterServerStrategy and CentralStorageStrategy do.

    Args:
      container_strategy: the strategy.
      cluster_resolver: says the cluster, this task, and the GPUs of each worker; by default there is no cluster, and all GPUs of this process.
      compute_devices: of the replicas, where there is no cluster; by default all GPUs, or the CPU.
      parameter_device: of the variables, where there is no cluster; by default the device of the only replica, else the CPU.
    """

    def __init__(
        self, container_strategy: Any, cluster_resolver: ClusterResolver | None = None, compute_devices: Sequence[str] | None = None,
        parameter_device: str | None = None,
    ) -> None:  # fmt: skip
        self._num_gpus = gpus_per_worker(cluster_resolver)
        devices = device_util.local_devices_from_num_gpus(self._num_gpus) if compute_devices is None else compute_devices
        super().__init__(container_strategy, [device_util.canonicalize(d) for d in devices], ReductionToOneDevice(_LOCAL_CPU))
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 else _LOCAL_CPU
        self._variable_device: Any = parameter_device
        self._parameter_devices: tuple[str, ...] = (parameter_device,)
        self._cluster_spec: ClusterSpec | None = None
        self._is_chief = True
        self._task_type: str | None = None
        self._task_id: int | None = None
        spec = cluster_resolver.cluster_spec() if cluster_resolver is not None else None
        if cluster_resolver is not None and spec and spec.as_dict():
            self._join(spec, cluster_resolver.task_type, cluster_resolver.task_id)

    def _join(self, cluster_spec: object, task_type: str | None, task_id: int | None) -> None:
        """Makes this the strategy of a task of a cluster: variables are on the parameter servers in turn, replicas on the task's devices.

        Raises:
          ValueError: the task is not known, or the cluster has no such task, or no parameter servers.
        """
        if not task_type or task_id is None:
            raise ValueError("When `cluster_spec` is given, you must also specify `task_type` and `task_id`")
        cluster = multi_worker_util.normalize_cluster_spec(cluster_spec)
        servers = len(cluster.as_dict().get("ps", ()))
        if servers == 0:
            raise ValueError("The cluster spec needs to have `ps` jobs.")
        task = f"/job:{task_type}/task:{task_id}"
        here = device_util.local_devices_from_num_gpus(self._num_gpus)
        self._devices = tuple(device_util.canonicalize(d, default=task) for d in here)
        self._variable_device = replica_device_setter(ps_tasks=servers, worker_device=task, merge_devices=True, cluster=cluster)
        self._parameter_devices = tuple(f"/job:ps/task:{i}" for i in range(servers))
        self._default_device = task
        self._is_chief = multi_worker_util.is_chief(cluster, task_type, task_id)
        self._cluster_spec, self._task_type, self._task_id = cluster, task_type, task_id
        logging.info("ParameterServerStrategy as %s of %s with %s", task, cluster, self._devices)

    # ---- properties ----

    def _in_multi_worker_mode(self) -> bool:
        return self._cluster_spec is not None

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._parameter_devices

    @property
    def experimental_between_graph(self) -> bool:
        """True: each worker makes a graph of its own."""
        return True

    @property
    def experimental_should_init(self) -> bool:
        """Whether this worker initializes the variables."""
        return self._is_chief

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints."""
        return self._is_chief

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries."""
        return self._is_chief

    # ---- values ----

    def _allow_variable_partition(self) -> bool:
        return True

    def _create_variable(self, next_creator: Callable[..., Variable], *args: Any, **kwargs: Any) -> Variable:
        beside = kwargs.pop("colocate_with", None)

        def create(**kwargs: Any) -> Variable:
            if beside is not None:
                with device(None), colocated(beside.op):
                    return next_creator(*args, **kwargs)
            with colocated(None, ignore_existing=True), device(self._variable_device):
                return next_creator(*args, **kwargs)

        if self._num_replicas_in_sync > 1:
            return in_collections(kwargs, lambda aggregation: AggregatingVariable(self._strategy, create(**kwargs), aggregation))
        made = create(**kwargs)
        made._strategy = self._strategy
        return made

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        return call_for_each_replica(self._strategy, self._devices, fn, args, kwargs)

    def _update(self, var: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        component = var.primary if isinstance(var, AggregatingVariable) else var
        with colocated(component.op), distribution_context.updating(component.device):
            result = fn(component, *_single(args), **_single(kwargs))
        return result if group else nest.map_structure(self._local_results, result)

    def _update_non_slot(self, colocate_with: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        with device(colocate_with.device), distribution_context.updating(colocate_with.device):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    def read_var(self, v: object) -> Tensor:
        return identity(v.get().value() if isinstance(v, AggregatingVariable) else v)

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda v: v.name)

    def _reduce_to(self, reduce_op: ReduceOp, value: object, destinations: object) -> object:
        self._require_own(destinations)
        return super()._reduce_to(reduce_op, value, destinations)

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[tuple]) -> list:
        for _, destinations in pairs:
            self._require_own(destinations)
        return self._cross_device_ops.batch_reduce(reduce_op, pairs)

    def _require_own(self, destinations: object) -> None:
        """Raises ValueError where a value would go to another worker."""
        for name in devices_of(destinations) if self._cluster_spec is not None and destinations is not None else ():
            spec = DeviceSpec.from_string(name)
            if spec.job == self._task_type and spec.task not in (None, self._task_id):
                raise ValueError(f"Cannot reduce to another worker: {name!r}, current worker is {self._default_device!r}")

    # ---- input ----

    def _input_contexts(self, count: int) -> list[InputContext]:
        if self._cluster_spec is None:
            return [InputContext(1, 0, self._num_replicas_in_sync)]
        workers = multi_worker_util.worker_count(self._cluster_spec, self._task_type)
        pipeline = multi_worker_util.id_in_cluster(self._cluster_spec, self._task_type, self._task_id)
        return [InputContext(workers, pipeline, self._num_replicas_in_sync)]

    # ---- configuration ----

    def _configure(
        self, session_config: messages.ConfigProto | None, cluster_spec: object, task_type: str | None, task_id: int | None
    ) -> None:
        if cluster_spec:
            self._join(cluster_spec, task_type, task_id)
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: messages.ConfigProto) -> messages.ConfigProto:
        """A ConfigProto for sessions: workers talk to parameter servers, not to each other."""
        found = copy.deepcopy(config_proto)
        found.isolate_session_state = self._cluster_spec is None
        if self._cluster_spec is not None:
            del found.device_filters[:]
            own = f"/job:{self._task_type}/task:{self._task_id}"
            found.device_filters.extend({"chief": [own, "/job:ps"], "worker": [own, "/job:ps"], "evaluator": [own]}.get(self._task_type or "", []))
        return found


def _single(structured: object) -> Any:
    """A nest with the component in place of each mirrored value of one component.

    Raises:
      ValueError: there is a value per replica, or of several components.
    """

    def get(x: object) -> Any:
        if isinstance(x, PerReplica) or (isinstance(x, Mirrored) and len(x.devices) > 1):
            raise ValueError(f"A variable on one device cannot be updated with one value for each of several devices: {x!r}")
        return x.primary if isinstance(x, Mirrored) else x

    return nest.map_structure(get, structured)


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """Trains on several devices of one machine, with the variables on one device.

    Args:
      compute_devices: device strings of the replicas; by default all GPUs, or the CPU.
      parameter_device: of the variables; by default the device of the only replica, else the CPU.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(ParameterServerExtended(self, None, compute_devices, parameter_device))

    @classmethod
    def _from_num_gpus(cls, num_gpus: int) -> CentralStorageStrategy:
        """The strategy over so many GPUs, or the CPU where there is none."""
        return cls(device_util.local_devices_from_num_gpus(num_gpus))


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Trains with the variables on parameter servers, which workers update without waiting for each other.

    All tasks run one program, whose TF_CONFIG says the cluster and the task; tf.estimator.train_and_evaluate starts the server of the task.
    Until then, and without a cluster, it is CentralStorageStrategy.

    Args:
      cluster_resolver: a ClusterResolver, which makes it the strategy of that task at once.

    Raises:
      ValueError: the task is not known, or the cluster has no such task, or no parameter servers.
    """

    def __init__(self, cluster_resolver: ClusterResolver | None = None) -> None:
        super().__init__(ParameterServerExtended(self, cluster_resolver))
