"""`tensorflow.python.grappler.cluster`: costs of a graph, measured on the devices of this process or estimated for described devices."""

from __future__ import annotations

import contextlib
import os
import pathlib
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.device import DeviceSpecV2
from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import Device, describe, session_devices
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.shim.internal import grappler_costs as costs
from tfcompat._src.shim.internal.grappler_item import BuiltItem, Item, properties
from tfcompat._src.shim.internal.kernels import get_registered_kernels_for_op
from tfcompat._src.shim.internal.op_def_registry import get_registered_ops

_RUNS = 10
"""The time of an item is the median of this number of runs."""
_Usage = dict[str, tuple[int, list[tuple[object, ...]]]]


class _Devices:
    """The devices of a cluster: properties by name. `is_real` tells that they are those of this process, which one cluster can hold at a time."""

    held = False

    def __init__(self, devices: Iterable[messages.NamedDevice] | None) -> None:
        self.is_real = devices is None
        # As in 1.15, one cluster at a time holds the real devices.
        if devices is None:
            if _Devices.held:
                raise errors.UnavailableError(None, None, "Can't provision more than one single cluster at a time")
            real = session_devices(messages.ConfigProto())
            self.by_name = {d.name: _real_properties(d, about.memory_limit_bytes) for d, about in zip(real, describe(real), strict=True)}
            _Devices.held = True
        else:
            self.by_name = {device.name: device.properties for device in devices}

    def release(self) -> None:
        """Lets another cluster take the devices of this process."""
        if self.is_real:
            _Devices.held = False

    def place(self, op: Operation) -> str:
        """Returns the device of an operation: the first that fits its device name, else the first GPU, else the first CPU, else the first."""
        # A device name without a type, such as "/job:worker", leaves the choice open.
        wanted = DeviceSpecV2.from_string(op.device)
        names = list(self.by_name)
        named = [name for name in names if wanted.device_type and _same_device(wanted, DeviceSpecV2.from_string(name))]
        of_kind = [name for kind in ("GPU", "CPU") for name in names if self.by_name[name].type == kind]
        return (named or of_kind or names)[0]


class Cluster:
    """Devices on which items are measured. If `devices` describes them, nothing runs: costs are Grappler's estimates from their properties."""

    def __init__(
        self, allow_soft_placement: bool = True, disable_detailed_stats: bool = True, disable_timeline: bool = True,
        devices: Iterable[messages.NamedDevice] | None = None,
    ) -> None:  # fmt: skip
        """Takes the devices of this process, or describes a cluster that need not exist.

        Args:
          allow_soft_placement: whether a node whose device is missing runs on another one.
          disable_detailed_stats: whether measured costs have no entries for single nodes.
          disable_timeline: whether MeasureCosts returns empty step statistics.
          devices: NamedDevice messages that describe a cluster; None for the devices of this process.

        Raises:
          errors.UnavailableError: another cluster on the devices of this process was not shut down.
        """
        # Set first, for `__del__` if the next line raises.
        self._tf_cluster: _Devices | None = None
        self._tf_cluster = _Devices(devices)
        self._soft, self._detailed, self._timeline = allow_soft_placement, not disable_detailed_stats, not disable_timeline

    def Shutdown(self) -> None:  # noqa: N802  # TensorFlow's name
        """Releases the devices."""
        if self._tf_cluster is not None:
            self._tf_cluster.release()
        self._tf_cluster = None

    def __del__(self) -> None:
        self.Shutdown()

    @property
    def tf_cluster(self) -> _Devices | None:
        """The devices; None after Shutdown."""
        return self._tf_cluster

    def _devices(self) -> _Devices:
        """Returns the devices; raises ValueError after Shutdown."""
        if self._tf_cluster is None:
            raise ValueError("The cluster was shut down. Make another one.")
        return self._tf_cluster

    def ListDevices(self) -> list[messages.NamedDevice]:  # noqa: N802  # TensorFlow's name
        """Returns the devices as NamedDevice messages; [] after Shutdown."""
        return [messages.NamedDevice(name=n, properties=p) for n, p in self._tf_cluster.by_name.items()] if self._tf_cluster else []

    def ListAvailableOps(self) -> list[str]:  # noqa: N802  # TensorFlow's name
        """Returns the names of all op types, sorted."""
        return sorted(get_registered_ops())

    def GetSupportedDevices(self, item: Item) -> dict[str, list[str]]:  # noqa: N802  # TensorFlow's name
        """Returns, by node name, the devices with a kernel for the node; for described devices, all of them."""
        devices = self._devices()
        supported = {}
        for op in item.tf_item.graph.get_operations():
            kinds = {kernel.device_type for kernel in get_registered_kernels_for_op(op.type).kernel} if devices.is_real else None
            names = [name for name, about in devices.by_name.items() if kinds is None or about.type in kinds]
            supported[op.name] = sorted(names, key=lambda name: devices.by_name[name].type)
        return supported

    def EstimatePerformance(self, device: messages.NamedDevice) -> float:  # noqa: N802  # TensorFlow's name
        """Returns the speed of a device by its properties, in 1e9 operations per second."""
        return float(np.float32(costs.gigaops(device.properties)))

    def MeasureCosts(self, item: Item) -> tuple[list[messages.OpPerformance], float, messages.StepStats]:  # noqa: N802  # TensorFlow's name
        """Measures or estimates a run of an item.

        Returns:
          OpPerformance messages of its nodes, the seconds of a run, and a StepStats message.

        Raises:
          NotImplementedError: tfcompat does not estimate such an item, or placeholders have unknown shapes if it is to run.
        """
        devices, built = self._devices(), item.tf_item
        # Times of estimates are in nanoseconds; 1.15 reports whole microseconds.
        if not devices.is_real:
            name, steps = _estimate(built, devices)
            _check_memory(name, devices, steps)
            return _performances(steps, devices), max((s.end for s in steps), default=0) // 1000 / 1e6, _timeline(name, steps) if self._timeline else messages.StepStats()
        with _Runner(built, self._soft) as runner:
            # The time comes from runs without a trace, which slows them.
            seconds = statistics.median(runner.seconds() for _ in range(_RUNS))
            stats = runner.trace() if self._detailed else messages.StepStats()
        return _performances(_steps_of_trace(built, stats), devices), seconds, stats if self._timeline else messages.StepStats()

    def DeterminePeakMemoryUsage(self, item: Item) -> _Usage:  # noqa: N802  # TensorFlow's name
        """Returns, by device name, the peak of the memory in bytes, and the tensors that are live then.

        A live tensor is (node, output, bytes, from, until), with times in nanoseconds. The schedule is that of a traced run if the cluster is on
        the devices of this process and has detailed statistics, else the estimated one. A device without nodes has (-1, []).
        """
        devices, built = self._devices(), item.tf_item
        if devices.is_real and self._detailed:
            with _Runner(built, self._soft) as runner:
                steps = _steps_of_trace(built, runner.trace())
        else:
            steps = costs.in_microseconds(_estimate(built, devices)[1])
        # Each device has its own memory.
        usage: _Usage = {}
        for name in devices.by_name:
            most, live = costs.peak_memory(costs.held_tensors([s for s in steps if devices.place(s.op) == name]))
            usage[name] = (most, [tuple(tensor) for tensor in live])
        return usage


@contextlib.contextmanager
def Provision(  # noqa: N802  # TensorFlow's name
    allow_soft_placement: bool = True, disable_detailed_stats: bool = True, disable_timeline: bool = True,
    devices: Iterable[messages.NamedDevice] | None = None,
) -> Iterator[Cluster]:  # fmt: skip
    """Context manager: yields a Cluster with these arguments and shuts it down, unless the block raises."""
    # As in 1.15, which has no `finally` here either; `__del__` releases the devices later.
    cluster = Cluster(allow_soft_placement, disable_detailed_stats, disable_timeline, devices)
    yield cluster
    cluster.Shutdown()


# ---- estimates ----


def _estimate(built: BuiltItem, devices: _Devices) -> tuple[str, list[costs.Step]]:
    """Returns the device of an item and its estimated schedule.

    Raises:
      NotImplementedError: the item is on several devices.
    """
    needed = built.operations(built.fetches)
    names = {devices.place(op) for op in needed}
    if len(names) > 1:
        raise NotImplementedError(
            f"Cluster: this item is on {', '.join(sorted(names))}. Costs are estimated for items on one device only, as transfers are not estimated."
        )
    name = names.pop()
    return name, costs.schedule(needed, devices.by_name[name])


def _check_memory(name: str, devices: _Devices, steps: list[costs.Step]) -> None:
    """Raises ResourceExhaustedError if a schedule needs more memory than its device has; 0 means an unknown size."""
    available = devices.by_name[name].memory_size
    needed = costs.needed_memory(steps)
    if 0 < available <= needed:
        raise errors.ResourceExhaustedError(
            None, None, f"Graph requires {needed} bytes of memory on device {name} to run  but device only has {available} available."
        )


def _performances(steps: list[costs.Step], devices: _Devices) -> list[messages.OpPerformance]:
    """Returns OpPerformance messages of the nodes, in the order of the graph; costs are nanoseconds, rounded down to microseconds."""
    performances = []
    for step in sorted(steps, key=lambda step: step.op._id):
        op = step.op
        attrs = {key: value for key, value in op.node_def.attr.items() if not key.startswith("_")}
        info = messages.OpInfo(op=op.type, attr=attrs, inputs=[properties(t) for t in op.inputs], device=devices.by_name[devices.place(op)])
        compute, memory, total = (nanos // 1000 * 1000 for nanos in step.cost)
        performance = messages.OpPerformance(op=info, node=op.name, compute_cost=total, compute_time=compute, memory_time=memory)
        # A ref is no memory of its node: the variable has it.
        performance.op_memory.output_memory.extend(0 if t.dtype._is_ref_dtype else costs.size_of(t) for t in op.outputs)
        performances.append(performance)
    return performances


def _timeline(name: str, steps: list[costs.Step]) -> messages.StepStats:
    """Returns an estimated schedule on a device as the step statistics of a run."""
    stats = messages.StepStats()
    nodes = stats.dev_stats.add(device=name).node_stats
    for step in costs.in_microseconds(steps):
        micros = (step.end - step.start) // 1000
        node = nodes.add(node_name=step.op.name, timeline_label=step.op.type, all_start_micros=step.start // 1000, op_end_rel_micros=micros, all_end_rel_micros=micros)
        # Constants and variables count as persistent memory.
        if step.op.type in costs.HELD:
            node.memory_stats.persistent_memory_size = sum(map(costs.size_of, step.op.outputs))
        for slot, tensor in enumerate(step.op.outputs):
            described = properties(tensor)
            node.output.add(slot=slot).tensor_description.MergeFrom(messages.TensorDescription(dtype=described.dtype, shape=described.shape))
    return stats


# ---- runs ----


class _Runner:
    """Context manager: a session that runs the fetches of an item, once at the beginning, so that no compilation is measured."""

    def __init__(self, built: BuiltItem, soft: bool) -> None:
        if built.enqueues:
            raise NotImplementedError("Cluster: an item with queue runners cannot be measured, as no threads fill its queues. Remove the queue runners.")
        self._session = Session(graph=built.graph, config=messages.ConfigProto(allow_soft_placement=soft))
        self._fetches = [built.graph.get_operation_by_name(name) for name in built.fetches]
        self._feeds = {}
        # Placeholders are fed zeros of their static shapes.
        for op in built.operations(built.fetches):
            if op.type in ("Placeholder", "PlaceholderV2"):
                tensor = op.outputs[0]
                if not tensor.shape.is_fully_defined():
                    raise NotImplementedError(
                        f"Cluster: the placeholder {op.name!r} has the shape {tensor.shape}, so that no value can be made for it. Give it a full shape."
                    )
                self._feeds[tensor] = np.zeros([size or 0 for size in tensor.shape.as_list()], tensor.dtype.as_numpy_dtype)
        self._initializers = [built.graph.get_operation_by_name(name) for name in built.initializers]

    def __enter__(self) -> _Runner:
        self._session.__enter__()
        self._session.run(self._initializers)
        self._session.run(self._fetches, self._feeds)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._session.__exit__(*exc)
        self._session.close()

    def seconds(self) -> float:
        """Returns the wall-clock time of a run."""
        start = time.perf_counter()
        self._session.run(self._fetches, self._feeds)
        return time.perf_counter() - start

    def trace(self) -> messages.StepStats:
        """Returns the step statistics of a run with a full trace."""
        metadata = messages.RunMetadata()
        self._session.run(self._fetches, self._feeds, messages.RunOptions(trace_level=messages.RunOptions.FULL_TRACE), metadata)
        return metadata.step_stats


def _steps_of_trace(built: BuiltItem, stats: messages.StepStats) -> list[costs.Step]:
    """Returns the steps of the nodes of the graph that a trace has times for."""
    operations = {op.name: op for op in built.graph.get_operations()}
    steps = []
    # A trace also has entries that are no node of the graph.
    for node in (node for device in stats.dev_stats for node in device.node_stats):
        if node.node_name in operations:
            end = node.all_start_nanos + node.op_end_rel_nanos
            steps.append(costs.Step(operations[node.node_name], node.all_start_nanos, end, costs.Cost(0, 0, node.op_end_rel_nanos)))
    return steps


# ---- devices ----


def _same_device(wanted: DeviceSpecV2, device: DeviceSpecV2) -> bool:
    """Whether a device fits a specification, which may leave parts open."""
    parts = ((wanted.job, device.job), (wanted.replica, device.replica), (wanted.task, device.task), (wanted.device_type, device.device_type), (wanted.device_index, device.device_index))
    return all(asked is None or given is None or asked == given for asked, given in parts)


def _real_properties(device: Device, memory: int) -> messages.DeviceProperties:
    """Returns the properties of a device of this process: of a CPU from /proc/cpuinfo, of an accelerator from JAX, which tells no clock rate."""
    if device.kind == "CPU":
        told = _cpu_info()
        return messages.DeviceProperties(
            type="CPU", vendor=told.get("vendor_id", ""), model=told.get("model", ""), frequency=int(float(told.get("cpu MHz", 0))),
            num_cores=os.cpu_count() or 0, memory_size=memory,
        )  # fmt: skip
    about = messages.DeviceProperties(
        type=device.kind, vendor=device.jax_device.client.platform_version.split("\n")[0], model=device.jax_device.device_kind,
        num_cores=getattr(device.jax_device, "core_count", 0) or 0, memory_size=memory,
    )  # fmt: skip
    architecture = getattr(device.jax_device, "compute_capability", None)
    if architecture:
        about.environment["architecture"] = str(architecture)
    return about


def _cpu_info() -> dict[str, str]:
    """Returns the fields of the first entry of /proc/cpuinfo; {} if there is no such file."""
    path = pathlib.Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    lines = path.read_text().split("\n\n")[0].split("\n")
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
