"""Device maps: which device each component of a distributed value is on, and which component a replica uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tfcompat._src.distribute import device_util
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.tensor import Tensor


def replica_number(replica_context: Any) -> int:
    """The number of the replica that a context is of, where it is known while the graph is built.

    Raises:
      ValueError: it is not known.
    """
    number = replica_context.replica_id_in_sync_group
    number = constant_value(number) if isinstance(number, Tensor) else number
    if number is None:
        raise ValueError("The number of the replica is not known while the graph is built.")
    return int(number)


class DeviceMap:
    """Base class of device maps: one logical device, numbered 0, that is a device for each component.

    Args:
      devices: canonical device strings, one for each component.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = tuple(devices)

    @property
    def all_devices(self) -> tuple[str, ...]:
        """Every device of the map."""
        return self._devices

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        """The devices of each replica; ValueError where components do not belong to replicas."""
        raise self._no_replicas()

    @property
    def num_logical_devices(self) -> int:
        """The number of logical devices: 1."""
        return 1

    @property
    def num_replicas_in_graph(self) -> int:
        """The number of components."""
        return len(self._devices)

    def logical_device_from_values(self, values: Sequence[Any]) -> int:
        """The logical device that components are on: 0."""
        return 0

    def logical_to_actual_devices(self, logical_device_id: int) -> tuple[str, ...]:
        """The device of each component on a logical device.

        Raises:
          AssertionError: there is no logical device of that number.
        """
        if logical_device_id != 0:
            raise AssertionError(f"A {type(self).__name__} has logical device 0 only, not {logical_device_id}.")
        return self._devices

    def select_for_current_replica(self, values: Sequence[Any], replica_context: Any) -> Any:
        """The component that a replica uses.

        Args:
          values: one component for each device. replica_context: the replica's, None without a strategy.
        """
        raise NotImplementedError("must be implemented in descendants")

    def replica_for_device(self, device: str) -> int | None:
        """The number of the replica on a device, None where there is none; ValueError where components do not belong to replicas."""
        raise self._no_replicas()

    def select_for_device(self, values: Sequence[Any], device: str) -> Any:
        """The component on a canonical device; ValueError where there is none, AssertionError for another number of components."""
        if len(values) != len(self._devices):
            raise AssertionError(f"{len(values)} values for {len(self._devices)} devices")
        if device not in self._devices:
            raise ValueError(f"Device {device} not found in {self._devices} (current device {device_util.current()})")
        return values[self._devices.index(device)]

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        """Whether a replica uses a device; ValueError where components do not belong to replicas."""
        raise self._no_replicas()

    def _no_replicas(self) -> ValueError:
        return ValueError(f"{type(self).__name__} not indexed by replicas")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self._devices))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._devices)!r})"


def _distinct(devices: Sequence[str]) -> tuple[str, ...]:
    found = tuple(device_util.canonicalize(d) for d in devices)
    if len(set(found)) != len(found):
        raise ValueError(f"Duplicate devices in {devices}, after canonicalization: {found}")
    return found


class SingleDeviceMap(DeviceMap):
    """The map of one device that is not a replica's.

    Args:
      device: its device string.

    Raises:
      AssertionError: `device` is no string.
    """

    def __init__(self, device: str) -> None:
        if not isinstance(device, str):
            raise AssertionError(f"A SingleDeviceMap takes a device string, not {device!r}.")
        super().__init__((device_util.canonicalize(device),))

    def select_for_current_replica(self, values: Sequence[Any], replica_context: object) -> Any:
        (only,) = values
        return only

    def __repr__(self) -> str:
        return f"SingleDeviceMap({self._devices[0]!r})"


class ReplicaDeviceMap(DeviceMap):
    """The map of one device for each replica.

    Args:
      devices: device strings, by the replica's number.

    Raises:
      ValueError: a device is named twice.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        super().__init__(_distinct(devices))

    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        return ((d,) for d in self._devices)

    def select_for_current_replica(self, values: Sequence[Any], replica_context: object) -> Any:
        return values[0 if replica_context is None or len(values) == 1 else replica_number(replica_context)]

    def replica_for_device(self, device: str) -> int | None:
        return self._devices.index(device) if device in self._devices else None

    def is_device_in_replica(self, device: str, replica_id: int) -> bool:
        return device_util.canonicalize(device) == device_util.canonicalize(self._devices[replica_id])

    def __str__(self) -> str:
        return f"[{', '.join(self._devices)}]"


class WorkerDeviceMap(DeviceMap):
    """The map of one device for each worker, whose replicas share a component.

    Args:
      devices: a device string of each worker. num_replicas_per_worker: how many replicas share one.

    Raises:
      ValueError: a device is named twice.
    """

    def __init__(self, devices: Sequence[str], num_replicas_per_worker: int) -> None:
        super().__init__(_distinct(devices))
        self._num_replicas_per_worker = num_replicas_per_worker

    # 1.15 words this error in three ways.
    @property
    def devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        raise ValueError("`WorkerDeviceMap` is not indexed by replicas")

    def replica_for_device(self, device: str) -> int | None:
        raise ValueError("`WorkerDeviceMap` not indexed by replicas")

    def select_for_current_replica(self, values: Sequence[Any], replica_context: object) -> Any:
        return values[0 if replica_context is None else replica_number(replica_context) // self._num_replicas_per_worker]

    def __repr__(self) -> str:
        return f"WorkerDeviceMap({self._devices!r}, num_replicas_per_worker={self._num_replicas_per_worker})"


class LogicalDeviceSpec(NamedTuple):
    """A logical device of a map."""

    device_map: DeviceMap
    logical_device: int


def of_replicas(devices: Sequence[str]) -> ReplicaDeviceMap:
    """The map of devices whose strings are canonical already, as they are."""
    made = ReplicaDeviceMap(())
    DeviceMap.__init__(made, devices)
    return made
