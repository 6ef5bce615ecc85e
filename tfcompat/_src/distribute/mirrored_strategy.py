"""tf.distribute.MirroredStrategy: a copy of each variable on each device, gradients summed among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.cluster_resolver.tfconfig import TFConfigClusterResolver
from tfcompat._src.distribute.cross_device_ops import (
    CrossDeviceOps,
    MultiWorkerAllReduce,
    NcclAllReduce,
    choose_the_best,
)
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.multi_worker_util import normalize_cluster_spec
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.replica_threads import call_for_each_replica
from tfcompat._src.distribute.values import select_device_mirrored, update_regroup
from tfcompat._src.distribute.variables import DistributedVariable, SyncOnReadVariable, create_mirrored_variable
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import (
    device,
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_default_graph,
    name_scope,
)
from tfcompat._src.ops.array.constant import identity

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor


def all_local_devices(num_gpus: int | None = None) -> tuple[str, ...]:
    """Device strings of so many GPUs of this process, of all by default; of the CPU where there is none."""
    return device_util.local_devices() if num_gpus is None else device_util.local_devices_from_num_gpus(num_gpus)


def all_devices() -> tuple[str, ...]:
    """Device strings of all workers of the cluster that TF_CONFIG names; of this process where it names none."""
    cluster = TFConfigClusterResolver().cluster_spec().as_dict()
    return tuple(_devices_of_cluster(cluster, len(_gpus(device_util.local_devices())))) if cluster else all_local_devices()


def _gpus(devices: Sequence[str]) -> list[str]:
    return [d for d in devices if DeviceSpec.from_string(d).device_type == "GPU"]


def _devices_of_cluster(cluster_spec: object, gpus_per_worker: int) -> Iterator[str]:
    """Device strings of the GPUs of each chief and worker; of its CPU where there are none."""
    jobs = normalize_cluster_spec(cluster_spec).as_dict()
    for job in ("chief", "worker"):
        for task in range(len(jobs.get(job, []))):
            where = f"/job:{job}/task:{task}"
            yield from [f"{where}/device:GPU:{i}" for i in range(gpus_per_worker)] or [where]


def is_local(devices: Sequence[str]) -> bool:
    """Whether devices are of this process, and not of tasks of a cluster; ValueError where some are and others are not."""
    specs = [DeviceSpec.from_string(d) for d in devices]
    local = [spec.job in (None, "localhost") for spec in specs]
    if local[0] and not all(local):
        raise ValueError("Local device string cannot have job specified other than 'localhost'")
    if any(local) and not all(local):
        raise ValueError("Remote device string must have job specified.")
    if not all(local) and any(spec.task is None for spec in specs):
        raise ValueError("Remote device string must have task specified.")
    return all(local)


def _cross_device_ops_of(devices: Sequence[str], given: CrossDeviceOps | None) -> CrossDeviceOps:
    """How values are reduced among devices.

    Raises:
      ValueError: the devices are of several workers, among which the given way does not reduce.
    """
    if is_local(devices):
        return given or choose_the_best(devices)
    specs = [DeviceSpec.from_string(d) for d in devices]
    if len({spec.job for spec in specs}) == 1 and not any(spec.task for spec in specs):
        return given or NcclAllReduce()
    if not isinstance(given, MultiWorkerAllReduce):
        raise ValueError("In-graph multi-worker training with `MirroredStrategy` is not supported.")
    return given


def _resolved(devices: Sequence[str]) -> tuple[str, ...]:
    """Canonical device strings; AssertionError where there is one twice."""
    found = tuple(device_util.resolve(d) for d in devices)
    if len(set(found)) != len(found):
        raise AssertionError(f"No duplicates allowed in `devices` argument: {found}")
    return found


class MirroredExtended(StrategyExtended):
    """What MirroredStrategy does.

    Args:
      container_strategy: the strategy.
      devices: device strings, by default those of all GPUs, or of the CPU.
      cross_device_ops: how values are reduced.
    """

    def __init__(
        self, container_strategy: Any, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:  # fmt: skip
        self._given_cross_device_ops = cross_device_ops
        if not executing_eagerly():
            devices = devices or all_devices()
        elif devices and not is_local(devices):
            raise RuntimeError("In-graph multi-worker training with `MirroredStrategy` is not supported in eager mode.")
        super().__init__(container_strategy)
        self._use(devices or all_local_devices())
        if executing_eagerly_outside_functions():
            self.experimental_enable_get_next_as_optional = True

    def _use(self, devices: Sequence[str]) -> None:
        """Puts replicas on devices."""
        self._devices = _resolved(devices)
        self._cross_device_ops = self._inferred_cross_device_ops = _cross_device_ops_of(self._devices, self._given_cross_device_ops)
        first = DeviceSpec.from_string(self._devices[0])
        self._default_device = None if is_local(self._devices) else f"/job:{first.job}/task:{first.task}"

    def _configure(self, session_config: Any, cluster_spec: Any, task_type: str | None, task_id: int | None) -> None:
        super()._configure(session_config, None, task_type, task_id)
        if cluster_spec:
            self._use(tuple(_devices_of_cluster(cluster_spec, len(_gpus(self._devices)))))

    def _create_variable(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)
        devices = self._devices if beside is None else beside.devices

        def components(**kwargs: Any) -> list:
            made: list = []
            for i, where in enumerate(devices):
                with device(where):
                    if not made:
                        kwargs["initial_value"] = self._first_initial_value(kwargs["initial_value"], where, kwargs.get("dtype"))
                    else:
                        kwargs["name"] = f"{made[0].name.split(':')[0]}/replica_{i}/"
                        kwargs["initial_value"] = _copy_of_initial_value(made[0], where)
                    made.append(next_creator(*args, **kwargs))
            return made

        return create_mirrored_variable(self._strategy, devices, components, kwargs)

    def _first_initial_value(self, initial_value: Any, where: str, dtype: Any) -> Any:
        """The initial value of the first component of a variable."""
        return initial_value

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        return call_for_each_replica(self._strategy, self._devices, fn, args, kwargs)

    def _update(self, var: object, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        if not isinstance(var, DistributedVariable):
            raise AssertionError(f"{var!r} was not made under this strategy.")
        return self._on_each(var.devices, var.values, fn, args, kwargs, group)

    def _update_non_slot(self, colocate_with: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        return self._on_each(colocate_with, None, fn, args, kwargs, group)

    def _on_each(self, devices: Sequence[str], components: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        updates = []
        for i, where in enumerate(devices):
            mine = (components[i],) if components is not None else ()
            with device(where), distribution_context.updating(where), name_scope(f"update_{i}"):
                updates.append(fn(*mine, *select_device_mirrored(where, args), **select_device_mirrored(where, kwargs)))
        return update_regroup(self._local_results, devices, updates, group)

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: list[tuple]) -> list:
        return self._cross_device_ops.batch_reduce(reduce_op, pairs)

    def read_var(self, v: Any) -> Any:
        """The value of a variable for all replicas: reduced where it is synchronized on read."""
        if isinstance(v, SyncOnReadVariable):
            return v.get()
        return identity(v.get().value())

    def non_slot_devices(self, var_list: object) -> tuple[str, ...]:
        return self._devices

    def _input_contexts(self, count: int) -> list[InputContext]:
        return [InputContext(count, place, self._num_replicas_in_sync) for place in range(count)]

    def _update_config_proto(self, config_proto: Any) -> Any:
        made = super()._update_config_proto(config_proto)
        made.isolate_session_state = True
        return made


def _copy_of_initial_value(first: Any, where: str) -> Callable[[], Any]:
    def initial_value() -> Tensor:
        with device(where):
            has_value = executing_eagerly() or get_default_graph().building_function
            return identity(first.value() if has_value else first.initial_value)

    return initial_value


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Trains on several devices of one machine, each with a copy of the variables.

    Args:
      devices: device strings, by default those of all GPUs, or of the CPU where there is none.
      cross_device_ops: a CrossDeviceOps, by default by the kind of the devices.

    Raises:
      AssertionError: a device is named twice. NotImplementedError: a device is of another process.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        super().__init__(MirroredExtended(self, devices=devices, cross_device_ops=cross_device_ops))
