"""tf.contrib.tpu.Topology and DeviceAssignment: where the cores of a TPU system are, and which replica runs on which."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

_RANK = 3


@export("contrib.tpu.Topology")
class Topology:
    """The mesh of cores of a TPU system.

    Args:
      serialized: a serialized TopologyProto, as `initialize_system` gives; else the two others.
      mesh_shape: three positive sizes.
      device_coordinates: [tasks, devices of a task, 3], where in the mesh each device is.

    Raises:
      ValueError: the mesh has not three positive sizes, or the coordinates do not fit it.
    """

    def __init__(self, serialized: bytes | None = None, mesh_shape: object = None, device_coordinates: object = None) -> None:
        self._serialized = serialized
        if serialized:
            mesh_shape, device_coordinates = _read(serialized)
        self.mesh_shape = np.asarray(mesh_shape, np.int32)
        if self.mesh_shape.shape != (_RANK,) or (self.mesh_shape < 1).any():
            raise ValueError(f"`mesh_shape` must be a sequence of 3 positive entries; got {self.mesh_shape}")
        self.device_coordinates = np.asarray(device_coordinates, np.int32)
        if self.device_coordinates.ndim != _RANK or self.device_coordinates.shape[2] != _RANK:
            raise ValueError("`device_coordinates` must be a rank 3 int32 array with minor dimension equal to the mesh shape rank")
        self._tasks, self._devices = (np.full(self.mesh_shape, -1, np.int32) for _ in range(2))
        for task, devices in enumerate(self.device_coordinates):
            for device, place in enumerate(devices):
                self._tasks[tuple(place)], self._devices[tuple(place)] = task, device

    @property
    def mesh_rank(self) -> int:
        return _RANK

    @property
    def num_tasks(self) -> int:
        return self.device_coordinates.shape[0]

    @property
    def num_tpus_per_task(self) -> int:
        return self.device_coordinates.shape[1]

    def task_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The task of the device at a place of the mesh."""
        return self._tasks[tuple(device_coordinates)]

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The number, in its task, of the device at a place of the mesh."""
        return self._devices[tuple(device_coordinates)]

    def cpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The CPU of the task of a device."""
        return f"{self._task_name(device_coordinates, job)}/device:CPU:0"

    def tpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The name of the device at a place of the mesh."""
        number = self.tpu_device_ordinal_at_coordinates(device_coordinates)
        return f"{self._task_name(device_coordinates, job)}/device:TPU:{number}"

    def _task_name(self, device_coordinates: Sequence[int], job: str | None) -> str:
        task = f"/task:{self.task_ordinal_at_coordinates(device_coordinates)}"
        return task if job is None else f"/job:{job}{task}"

    def serialized(self) -> bytes:
        """The topology as a serialized TopologyProto."""
        if self._serialized is None:
            found = messages.tpu.TopologyProto(
                mesh_shape=self.mesh_shape.tolist(), num_tasks=self.num_tasks, num_tpu_devices_per_task=self.num_tpus_per_task,
                device_coordinates=self.device_coordinates.reshape(-1).tolist(),
            )  # fmt: skip
            self._serialized = found.SerializeToString()
        return self._serialized


def _read(serialized: bytes) -> tuple[list[int], np.ndarray]:
    """The mesh and the coordinates of a serialized TopologyProto."""
    proto = messages.tpu.TopologyProto.FromString(serialized)
    tasks, devices, mesh = proto.num_tasks, proto.num_tpu_devices_per_task, list(proto.mesh_shape)
    if len(mesh) != _RANK or min(mesh) < 1:
        raise ValueError(f"`mesh_shape` must be a vector of size 3 with positive entries; got {mesh}")
    if tasks < 0:
        raise ValueError(f"`num_tasks` must be >= 0; got {tasks}")
    if devices < 0:
        raise ValueError(f"`num_tpu_devices_per_task` must be >= 0; got {devices}")
    if len(proto.device_coordinates) != tasks * devices * _RANK:
        raise ValueError(
            f"`device_coordinates` must have shape num_tasks ({tasks}) * num_tpu_devices_per_task ({devices}) * len(mesh_shape) "
            f"({mesh}); got shape {len(proto.device_coordinates)}"
        )
    if any(c < 0 for c in proto.device_coordinates):
        raise ValueError("`device_coordinates` must be >= 0")
    return mesh, np.array(proto.device_coordinates, np.int32).reshape(tasks, devices, _RANK)


@export("tpu.experimental.DeviceAssignment", "contrib.tpu.DeviceAssignment")
class DeviceAssignment:
    """Which core of the mesh each core of each replica of a computation is.

    Args:
      topology: a Topology.
      core_assignment: coordinates [replicas, cores of a replica, 3].

    Raises:
      ValueError: `topology` is none, or the array has another shape.
    """

    def __init__(self, topology: Topology, core_assignment: object) -> None:
        if not isinstance(topology, Topology):
            raise ValueError(f"topology must be a Topology object, got {type(topology)}")
        self._topology, self._core_assignment = topology, np.asarray(core_assignment, np.int32)
        shape = self.core_assignment.shape
        if len(shape) != _RANK:
            raise ValueError(f"core_assignment must be a rank 3 numpy array, got shape {shape}")
        if shape[-1] != topology.mesh_rank:
            raise ValueError(
                f"minor dimension of core_assignment must have size equal to topology rank ({topology.mesh_rank}), got shape {shape}"
            )
        self._replicas: dict[tuple[int, int], list[int]] = defaultdict(list)
        for replica, cores in enumerate(self.core_assignment):
            for core, place in enumerate(cores):
                self._replicas[int(topology.task_ordinal_at_coordinates(place)), core].append(replica)

    @property
    def topology(self) -> Topology:
        """The mesh of cores."""
        return self._topology

    @property
    def core_assignment(self) -> np.ndarray:
        """Coordinates in the mesh, int32 [replicas, cores of a replica, 3]."""
        return self._core_assignment

    @property
    def num_replicas(self) -> int:
        return self.core_assignment.shape[0]

    @property
    def num_cores_per_replica(self) -> int:
        return self.core_assignment.shape[1]

    def coordinates(self, replica: int, logical_core: int) -> tuple:
        """Where in the mesh a core of a replica is."""
        return tuple(self.core_assignment[replica, logical_core, :])

    def lookup_replicas(self, task_id: int, logical_core: int) -> list[int]:
        """The replicas that have this core of theirs in a task; ValueError where there is none."""
        if (task_id, logical_core) not in self._replicas:
            raise ValueError(f"Can not find any replica in task: {task_id} contains logical_core: {logical_core} ")
        return self._replicas[task_id, logical_core]

    def tpu_ordinal(self, replica: int = 0, logical_core: int = 0) -> int:
        """The number, in its task, of the device of a core."""
        return self.topology.tpu_device_ordinal_at_coordinates(self.coordinates(replica, logical_core))

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The CPU of the task of a core."""
        return self.topology.cpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The name of the device of a core."""
        return self.topology.tpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)

    @staticmethod
    def build(topology: Any, computation_shape: Any = None, computation_stride: Any = None, num_replicas: int = 1) -> DeviceAssignment:
        """`device_assignment`."""
        return device_assignment(topology, computation_shape, computation_stride, num_replicas)


def _ring(height: int, width: int) -> list[tuple[int, int]]:
    """The places (y, x) of a mesh in an order where each is next to the last, and the last next to the first."""
    if height == 1 or width == 1:
        return [(y, x) for y in range(height) for x in range(width)]
    if height % 2:
        logging.warning("Odd dimension")
        return [(i % height, i // height) for i in range(width * height)]
    snake = [(y, x) for y in range(height) for x in (range(1, width) if y % 2 == 0 else range(width - 1, 0, -1))]
    return [(0, 0), *snake, *((y, 0) for y in range(height - 1, 0, -1))]


def _blocks(num_replicas: int, most: np.ndarray) -> list[int]:
    """How many replicas stand along each axis: as near to a cube as fits."""
    found, left = [0] * _RANK, num_replicas
    for dims, axis in zip(range(_RANK, 0, -1), sorted(range(_RANK), key=lambda i: (most[i], -i))):
        found[axis] = min(math.ceil(left ** (1.0 / dims)), int(most[axis]))
        left = -(-left // found[axis])
    return found


def _checked(name: str, value: object) -> np.ndarray:
    found = np.ones(_RANK, np.int32) if value is None else np.asarray(value, np.int32)
    if found.shape != (_RANK,):
        raise ValueError(f"{name} must have shape [{_RANK}]; got {found.shape}")
    if (found < 1).any():
        raise ValueError(f"{name} must be positive; got {name}={found}")
    return found


@export("contrib.tpu.device_assignment")
def device_assignment(
    topology: object, computation_shape: object = None, computation_stride: object = None, num_replicas: int = 1
) -> DeviceAssignment:
    """Spreads the replicas of a computation over a mesh of cores.

    Args:
      topology: a Topology, or a serialized TopologyProto.
      computation_shape: the block of cores of a replica, three sizes; by default one core.
      computation_stride: how far apart its cores are; by default next to each other.
      num_replicas: how many replicas there are.

    Raises:
      ValueError: `topology` is none, sizes are not three positive numbers, or the replicas do not fit into the mesh.
    """
    if isinstance(topology, bytes):
        topology = Topology(serialized=topology)
    if not isinstance(topology, Topology):
        raise ValueError(f"`topology` is not a Topology object; got {type(topology)}")
    mesh = topology.mesh_shape
    shape, stride = _checked("computation_shape", computation_shape), _checked("computation_stride", computation_stride)
    footprint = shape * stride
    if (footprint > mesh).any():
        raise ValueError(f"computation footprint {footprint} does not fit in TPU topology shape {mesh}")
    most = mesh // footprint * stride
    if num_replicas > np.prod(most):
        raise ValueError(
            f"requested {num_replicas} replicas but only {np.prod(most)} replicas with shape {shape} and computation_stride {stride} "
            f"fit in a TPU mesh of shape {mesh}"
        )
    blocks = _blocks(num_replicas, most) if num_replicas > 0 else [0] * _RANK
    if shape[-1] == 2 and np.prod(stride) == 1 and num_replicas == np.prod(most):
        inner, outer = _ring(shape[0], shape[1]), _ring(blocks[0], blocks[1])
        places = [
            [(y * shape[0] + inner[i // 2][0], x * shape[1] + inner[i // 2][1], i % 2) for i in range(np.prod(shape))]
            for y, x in outer[:num_replicas]
        ]
        return DeviceAssignment(topology, places)
    at = np.stack(np.unravel_index(np.arange(num_replicas), blocks), axis=-1) if num_replicas else np.zeros((0, _RANK), np.int64)
    offsets = at // stride * footprint + at % stride
    within = np.stack(np.meshgrid(*map(np.arange, [0] * _RANK, footprint, stride), indexing="ij"), axis=-1).reshape(-1, _RANK)
    return DeviceAssignment(topology, within + offsets[:, None, :])
