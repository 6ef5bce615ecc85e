"""Nodes that reduce and join tensors over all workers of a cluster, and the keys by which those of the workers meet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math import collective_ops


class CollectiveKeys:
    """Numbers of groups of devices, and of what these exchange: all workers make their nodes in one order, and so get the same ones.

    Args:
      group_key_start, op_instance_key_start, variable_instance_key_start: the first numbers.
    """

    def __init__(
        self, group_key_start: int = 1, op_instance_key_start: int = 100, variable_instance_key_start: int = 1000000
    ) -> None:
        if op_instance_key_start == variable_instance_key_start:
            raise AssertionError("operations and variables need numbers of their own")
        self._first_op = op_instance_key_start
        self._next_group, self._next_variable = group_key_start, variable_instance_key_start
        self._groups: dict[str, int] = {}
        self._of_thread = threading.local()
        self._lock = threading.Lock()

    def get_group_key(self, devices: Sequence[str]) -> int:
        """The number of a group, by the kind and number that its devices have on their task."""
        specs = [DeviceSpec.from_string(d) for d in devices]
        names = ",".join(sorted(f"{spec.device_type}:{spec.device_index}" for spec in specs))
        with self._lock:
            if names not in self._groups:
                self._groups[names] = self._next_group
                self._next_group += 1
            return self._groups[names]

    def get_op_instance_key(self) -> int:
        """A new number for the nodes of an operation; each thread counts for itself."""
        found: int = getattr(self._of_thread, "next_op", self._first_op)
        self._of_thread.next_op = found + 1
        return found

    def get_variable_instance_key(self) -> int:
        """A new number for the first value of a variable."""
        self._next_variable += 1
        return self._next_variable - 1


def _on_each_device(tensors: Sequence[Tensor], workers: int, keys: CollectiveKeys, make: Callable[[Tensor, int, int, int], Tensor]) -> list[Tensor]:
    size = len(tensors) * workers
    if size < 2:
        return list(tensors)
    group, instance = keys.get_group_key([t.device for t in tensors]), keys.get_op_instance_key()
    made = []
    for tensor in tensors:
        with device(tensor.device):
            made.append(make(tensor, size, group, instance))
    return made


def build_collective_reduce(
    input_tensors: Sequence[Tensor], num_workers: int, collective_keys: CollectiveKeys, reduction_op: str = "Add", unary_op: str = "Id"
) -> list[Tensor]:
    """The sum or product of tensors of all devices of all workers, on each device of this one.

    Args:
      input_tensors: one for each device of this worker. num_workers: how many workers do the same.
      collective_keys: the CollectiveKeys of this worker.
      reduction_op: "Add" or "Mul". unary_op: what is done with the outcome: "Id", or "Div" by their number.
    """

    def make(tensor: Tensor, size: int, group: int, instance: int) -> Tensor:
        return collective_ops.all_reduce(tensor, size, group, instance, reduction_op, unary_op)

    return _on_each_device(input_tensors, num_workers, collective_keys, make)


def build_collective_gather(input_tensors: Sequence[Tensor], num_workers: int, collective_keys: CollectiveKeys) -> list[Tensor]:
    """The tensors of all devices of all workers, joined along the first dimension, on each device of this one; arguments as above."""
    return _on_each_device(input_tensors, num_workers, collective_keys, collective_ops.all_gather)
