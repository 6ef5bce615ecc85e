"""Which hosts read the input of which replicas."""

from __future__ import annotations

from collections.abc import Sequence

from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.device_map import DeviceMap


class InputWorkers:
    """The hosts that read input, and the devices that each of them feeds.

    Args:
      device_map: of the devices of all replicas.
      worker_device_pairs: (host, devices that it feeds), which in order are all of the map's; one host, the CPU, feeds all by default.
      logical_device: which of the devices of a replica are fed.

    Raises:
      AssertionError: the devices that are fed are not those of the map.
    """

    def __init__(self, device_map: DeviceMap, worker_device_pairs: Sequence[tuple[str, Sequence[str]]] | None = None, logical_device: int = 0) -> None:
        wanted = device_map.logical_to_actual_devices(logical_device)
        pairs = worker_device_pairs or [(device_util.canonicalize("/device:CPU:0"), wanted)]
        self._device_map, self._logical_device = device_map, logical_device
        self._input_worker_devices = tuple(host for host, _ in pairs)
        self._fed_devices = tuple(tuple(map(device_util.canonicalize, fed)) for _, fed in pairs)
        found = tuple(each for fed in self._fed_devices for each in fed)
        if found != wanted:
            raise AssertionError(f"flattened: {found} logical device {logical_device}: {wanted}")

    @property
    def device_map(self) -> DeviceMap:
        """The map of the devices of all replicas."""
        return self._device_map

    @property
    def logical_device(self) -> int:
        """Which of the devices of a replica are fed."""
        return self._logical_device

    @property
    def num_workers(self) -> int:
        """How many hosts read input."""
        return len(self._input_worker_devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The hosts."""
        return self._input_worker_devices

    def compute_devices_for_worker(self, worker_index: int) -> tuple[str, ...]:
        """The devices that a host feeds."""
        return self._fed_devices[worker_index]

    def __repr__(self) -> str:
        rows = ",\n".join(f"  {i} {host}: {fed}" for i, (host, fed) in enumerate(zip(self._input_worker_devices, self._fed_devices)))
        return f"{type(self).__name__}:{{\n{rows}\n  device_map: {self._device_map}}}"
