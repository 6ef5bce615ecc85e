"""`tensorflow.python.grappler.cluster`: measures an item on the devices of this process, or estimates it on given ones."""

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
from tfcompat._src.runtime.devices import Device, describe, session_devices
from tfcompat._src.runtime.session import Session
from tfcompat._src.shim.internal import grappler_costs as costs
from tfcompat._src.shim.internal.grappler_item import BuiltItem, Item, properties
from tfcompat._src.shim.internal.kernels import get_registered_kernels_for_op
from tfcompat._src.shim.internal.op_def_registry import get_registered_ops

_RUNS = 10
_Usage = dict[str, tuple[int, list[tuple[object, ...]]]]


class _Devices:
    """Devices by name with their properties; `is_real` where they are those of this process, of which one cluster at a time may hold them."""

    held = False

    def __init__(self, devices: Iterable[messages.NamedDevice] | None) -> None:
        self.is_real = devices is None
        if devices is None:
            if _Devices.held:
                raise errors.UnavailableError(None, None, "Can't provision more than one single cluster at a time")
            found = session_devices(messages.ConfigProto())
            self.by_name = {d.name: _real_properties(d, about.memory_limit_bytes) for d, about in zip(found, describe(found), strict=True)}
            _Devices.held = True
        else:
            self.by_name = {device.name: device.properties for device in devices}

    def release(self) -> None:
        if self.is_real:
            _Devices.held = False

    def place(self, op: Operation) -> str:
        """The device of an operation: the one that it names, else the first GPU, else the first CPU, else the first of all."""
        wanted = DeviceSpecV2.from_string(op.device)
        names = list(self.by_name)
        named = [name for name in names if wanted.device_type and _same_device(wanted, DeviceSpecV2.from_string(name))]
        of_kind = [name for kind in ("GPU", "CPU") for name in names if self.by_name[name].type == kind]
        return (named or of_kind or names)[0]


class Cluster:
    """Devices on which items are measured. With `devices`, nothing runs: costs are Grappler's estimates for their properties."""

    def __init__(
        self, allow_soft_placement: bool = True, disable_detailed_stats: bool = True, disable_timeline: bool = True,
        devices: Iterable[messages.NamedDevice] | None = None,
    ) -> None:  # fmt: skip
        """Takes the devices of this process, or makes up a cluster.

        Args:
          allow_soft_placement: whether nodes run elsewhere where their device is missing.
          disable_detailed_stats: whether measured costs have no entries for nodes.
          disable_timeline: whether MeasureCosts gives empty step statistics.
          devices: NamedDevice messages of a cluster that need not exist; None for the devices of this process.

        Raises:
          errors.UnavailableError: another cluster of this process's devices was not shut down.
        """
        self._tf_cluster: _Devices | None = None
        self._tf_cluster = _Devices(devices)
        self._soft, self._detailed, self._timeline = allow_soft_placement, not disable_detailed_stats, not disable_timeline

    def Shutdown(self) -> None:  # noqa: N802  # TensorFlow's name
        """Gives the devices back."""
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
        if self._tf_cluster is None:
            raise ValueError("The cluster was shut down.")
        return self._tf_cluster

    def ListDevices(self) -> list[messages.NamedDevice]:  # noqa: N802  # TensorFlow's name
        """The devices as NamedDevice messages; [] after Shutdown."""
        return [messages.NamedDevice(name=n, properties=p) for n, p in self._tf_cluster.by_name.items()] if self._tf_cluster else []

    def ListAvailableOps(self) -> list[str]:  # noqa: N802  # TensorFlow's name
        """The names of all op types, sorted."""
        return sorted(get_registered_ops())

    def GetSupportedDevices(self, item: Item) -> dict[str, list[str]]:  # noqa: N802  # TensorFlow's name
        """Names of nodes to the devices that have a kernel for them: all of a cluster that was made up."""
        devices = self._devices()
        found = {}
        for op in item.tf_item.graph.get_operations():
            kinds = {kernel.device_type for kernel in get_registered_kernels_for_op(op.type).kernel} if devices.is_real else None
            names = [name for name, about in devices.by_name.items() if kinds is None or about.type in kinds]
            found[op.name] = sorted(names, key=lambda name: devices.by_name[name].type)
        return found

    def EstimatePerformance(self, device: messages.NamedDevice) -> float:  # noqa: N802  # TensorFlow's name
        """Thousand million operations a second of a device, by its properties."""
        return float(np.float32(costs.gigaops(device.properties)))

    def MeasureCosts(self, item: Item) -> tuple[list[messages.OpPerformance], float, messages.StepStats]:  # noqa: N802  # TensorFlow's name
        """The costs of running an item: OpPerformance messages of its nodes, the seconds of a run, and a StepStats message.

        Raises:
          NotImplementedError: an estimate that tfcompat does not make, or placeholders of unknown shape where the item is to run.
        """
        devices, built = self._devices(), item.tf_item
        if not devices.is_real:
            name, steps = _estimate(built, devices)
            _check_memory(name, devices, steps)
            return _performances(steps, devices), max((s.end for s in steps), default=0) // 1000 / 1e6, _timeline(name, steps) if self._timeline else messages.StepStats()
        with _Runner(built, self._soft) as runner:
            seconds = statistics.median(runner.seconds() for _ in range(_RUNS))
            stats = runner.trace() if self._detailed else messages.StepStats()
        return _performances(_steps_of_trace(built, stats), devices), seconds, stats if self._timeline else messages.StepStats()

    def DeterminePeakMemoryUsage(self, item: Item) -> _Usage:  # noqa: N802  # TensorFlow's name
        """Names of devices to the most bytes held at once and the tensors held then: (node, output, bytes, from, until), in nanoseconds.

        Devices of this process run the item if the cluster has detailed statistics; else, as on a cluster that was made up, the
        schedule is estimated. A device with no nodes has (-1, []).
        """
        devices, built = self._devices(), item.tf_item
        if devices.is_real and self._detailed:
            with _Runner(built, self._soft) as runner:
                steps = _steps_of_trace(built, runner.trace())
        else:
            steps = costs.in_microseconds(_estimate(built, devices)[1])
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
    """A block with a Cluster of these arguments, which is shut down where the block ends without an error."""
    cluster = Cluster(allow_soft_placement, disable_detailed_stats, disable_timeline, devices)
    yield cluster
    cluster.Shutdown()


# ---- estimates ----


def _estimate(built: BuiltItem, devices: _Devices) -> tuple[str, list[costs.Step]]:
    """The one device that an item is on, and its estimated schedule."""
    needed = built.operations(built.fetches)
    names = {devices.place(op) for op in needed}
    if len(names) > 1:
        raise NotImplementedError(f"Cluster: the cost of an item on several devices is not estimated, as transfers are not: {', '.join(sorted(names))}.")
    name = names.pop()
    return name, costs.schedule(needed, devices.by_name[name])


def _check_memory(name: str, devices: _Devices, steps: list[costs.Step]) -> None:
    available = devices.by_name[name].memory_size
    needed = costs.needed_memory(steps)
    if 0 < available <= needed:
        raise errors.ResourceExhaustedError(
            None, None, f"Graph requires {needed} bytes of memory on device {name} to run  but device only has {available} available."
        )


def _performances(steps: list[costs.Step], devices: _Devices) -> list[messages.OpPerformance]:
    """The costs of nodes in the order of the graph, in whole microseconds, in nanoseconds."""
    found = []
    for step in sorted(steps, key=lambda step: step.op._id):
        op = step.op
        attrs = {key: value for key, value in op.node_def.attr.items() if not key.startswith("_")}
        info = messages.OpInfo(op=op.type, attr=attrs, inputs=[properties(t) for t in op.inputs], device=devices.by_name[devices.place(op)])
        compute, memory, total = (nanos // 1000 * 1000 for nanos in step.cost)
        performance = messages.OpPerformance(op=info, node=op.name, compute_cost=total, compute_time=compute, memory_time=memory)
        performance.op_memory.output_memory.extend(0 if t.dtype._is_ref_dtype else costs.size_of(t) for t in op.outputs)
        found.append(performance)
    return found


def _timeline(name: str, steps: list[costs.Step]) -> messages.StepStats:
    stats = messages.StepStats()
    nodes = stats.dev_stats.add(device=name).node_stats
    for step in costs.in_microseconds(steps):
        micros = (step.end - step.start) // 1000
        node = nodes.add(node_name=step.op.name, timeline_label=step.op.type, all_start_micros=step.start // 1000, op_end_rel_micros=micros, all_end_rel_micros=micros)
        if step.op.type in costs.HELD:
            node.memory_stats.persistent_memory_size = sum(map(costs.size_of, step.op.outputs))
        for slot, tensor in enumerate(step.op.outputs):
            described = properties(tensor)
            node.output.add(slot=slot).tensor_description.MergeFrom(messages.TensorDescription(dtype=described.dtype, shape=described.shape))
    return stats


# ---- runs ----


class _Runner:
    """A session that runs the fetches of an item, once before anything is measured."""

    def __init__(self, built: BuiltItem, soft: bool) -> None:
        if built.enqueues:
            raise NotImplementedError("Cluster: an item with queue runners is not measured, as no threads fill its queues.")
        self._session = Session(graph=built.graph, config=messages.ConfigProto(allow_soft_placement=soft))
        self._fetches = [built.graph.get_operation_by_name(name) for name in built.fetches]
        self._feeds = {}
        for op in built.operations(built.fetches):
            if op.type in ("Placeholder", "PlaceholderV2"):
                tensor = op.outputs[0]
                if not tensor.shape.is_fully_defined():
                    raise NotImplementedError(f"Cluster: an item with a placeholder of unknown shape is not measured: {op.name!r}.")
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
        start = time.perf_counter()
        self._session.run(self._fetches, self._feeds)
        return time.perf_counter() - start

    def trace(self) -> messages.StepStats:
        metadata = messages.RunMetadata()
        self._session.run(self._fetches, self._feeds, messages.RunOptions(trace_level=messages.RunOptions.FULL_TRACE), metadata)
        return metadata.step_stats


def _steps_of_trace(built: BuiltItem, stats: messages.StepStats) -> list[costs.Step]:
    """The nodes of the graph that a trace has times of."""
    operations = {op.name: op for op in built.graph.get_operations()}
    found = []
    for node in (node for device in stats.dev_stats for node in device.node_stats):
        if node.node_name in operations:
            end = node.all_start_nanos + node.op_end_rel_nanos
            found.append(costs.Step(operations[node.node_name], node.all_start_nanos, end, costs.Cost(0, 0, node.op_end_rel_nanos)))
    return found


# ---- devices ----


def _same_device(wanted: DeviceSpecV2, device: DeviceSpecV2) -> bool:
    """Whether a name that leaves parts open can name a device."""
    parts = ((wanted.job, device.job), (wanted.replica, device.replica), (wanted.task, device.task), (wanted.device_type, device.device_type), (wanted.device_index, device.device_index))
    return all(asked is None or given is None or asked == given for asked, given in parts)


def _real_properties(device: Device, memory: int) -> messages.DeviceProperties:
    """What the machine tells of a device. Of an accelerator JAX tells the cores and the architecture; no clock."""
    if device.kind == "CPU":
        told = _cpu_info()
        return messages.DeviceProperties(
            type="CPU", vendor=told.get("vendor_id", ""), model=told.get("model", ""), frequency=int(float(told.get("cpu MHz", 0))),
            num_cores=os.cpu_count() or 0, memory_size=memory,
        )  # fmt: skip
    found = messages.DeviceProperties(
        type=device.kind, vendor=device.jax_device.client.platform_version.split("\n")[0], model=device.jax_device.device_kind,
        num_cores=getattr(device.jax_device, "core_count", 0) or 0, memory_size=memory,
    )  # fmt: skip
    architecture = getattr(device.jax_device, "compute_capability", None)
    if architecture:
        found.environment["architecture"] = str(architecture)
    return found


def _cpu_info() -> dict[str, str]:
    """What the first entry of /proc/cpuinfo says; {} where there is no such file."""
    path = pathlib.Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    lines = path.read_text().split("\n\n")[0].split("\n")
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
