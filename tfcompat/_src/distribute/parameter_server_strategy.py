"""Strategies whose variables are on one device and whose replicas are on several: CentralStorageStrategy and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.device import canonical_name
from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.cluster_resolver.tfconfig import TFConfigClusterResolver
from tfcompat._src.distribute.cross_device_ops import ReductionToOneDevice
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.mirrored_strategy import check_local
from tfcompat._src.distribute.replica_threads import call_for_each_replica
from tfcompat._src.distribute.values import Mirrored, PerReplica
from tfcompat._src.distribute.variables import AggregatingVariable, in_collections
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with as colocated
from tfcompat._src.graph.scopes import device
from tfcompat._src.ops.array.constant import identity

_LOCAL_CPU = "/device:CPU:0"


class CentralStorageExtended(StrategyExtended):
    """What CentralStorageStrategy does.

    Args:
      container_strategy: the strategy.
      compute_devices: of the replicas; by default all GPUs, or the CPU.
      parameter_device: of the variables; by default the only GPU, else the CPU.
    """

    def __init__(
        self, container_strategy: Any, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        devices = device_util.local_devices() if compute_devices is None else compute_devices
        check_local(devices)
        super().__init__(container_strategy, [device_util.canonicalize(d) for d in devices], ReductionToOneDevice(_LOCAL_CPU))
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 and compute_devices is None else _LOCAL_CPU
        self._variable_device = canonical_name(parameter_device)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._variable_device,)

    def _allow_variable_partition(self) -> bool:
        return True

    def _create_variable(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)

        def create(**kwargs: Any) -> Any:
            if beside is not None:
                with device(None), colocated(beside.op):
                    return next_creator(*args, **kwargs)
            with colocated(None, ignore_existing=True), device(self._variable_device):
                return next_creator(*args, **kwargs)

        return in_collections(kwargs, lambda aggregation: AggregatingVariable(self._strategy, [create(**kwargs)], aggregation))

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

    def read_var(self, v: Any) -> Any:
        return identity(v.get().value() if isinstance(v, AggregatingVariable) else v)

    def non_slot_devices(self, var_list: Any) -> Any:
        return min(var_list, key=lambda v: v.name)

    def _input_context(self) -> InputContext:
        return InputContext(1, 0, self._num_replicas_in_sync)


def _single(structured: Any) -> Any:
    """A nest with the component in place of each mirrored value of one component.

    Raises:
      ValueError: there is a value per replica, or of several components.
    """

    def get(x: Any) -> Any:
        if isinstance(x, PerReplica) or (isinstance(x, Mirrored) and len(x.devices) > 1):
            raise ValueError(f"A variable on one device cannot be updated with one value for each of several devices: {x!r}")
        return x.primary if isinstance(x, Mirrored) else x

    return nest.map_structure(get, structured)


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """Trains on several devices of one machine, with the variables on one device.

    Args:
      compute_devices: device strings of the replicas; by default all GPUs, or the CPU.
      parameter_device: of the variables; by default the only GPU, else the CPU.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(CentralStorageExtended(self, compute_devices, parameter_device))


def check_one_process(name: str, cluster_resolver: Any) -> None:
    """Raises NotImplementedError where a cluster has more than one task."""
    spec = cluster_resolver.cluster_spec()
    tasks = spec.as_dict() if spec else {}
    if sum(len(addresses) for addresses in tasks.values()) > 1:
        raise NotImplementedError(f"tfcompat has no {name} over several processes; this cluster has the tasks {tasks}.")


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """CentralStorageStrategy with the variables on the CPU, as 1.15's strategy is with one worker.

    Args:
      cluster_resolver: a ClusterResolver, by default of the environment variable TF_CONFIG.

    Raises:
      NotImplementedError: the cluster has more than one task.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        check_one_process("ParameterServerStrategy", cluster_resolver or TFConfigClusterResolver())
        super().__init__(CentralStorageExtended(self))
