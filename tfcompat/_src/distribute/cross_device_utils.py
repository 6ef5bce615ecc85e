"""Nodes that reduce and join tensors over devices and workers, and the keys by which those of the workers meet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math import collective_ops
from tfcompat._src.ops.math.scan import add_n

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


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


# ---- tensors and IndexedSlices ----


def contains_indexed_slices(value: Any) -> bool:
    """Whether a value, or one in a list or of a replica, is IndexedSlices."""
    if isinstance(value, (list, tuple)):
        return any(map(contains_indexed_slices, value))
    return contains_indexed_slices(value.values) if hasattr(value, "_is_distributed") else isinstance(value, IndexedSlices)


def aggregate_tensors_or_indexed_slices(values: Sequence[Any], accumulation_fn: Callable[[list[Any]], Any] = add_n) -> Any:
    """The sum of tensors, by `accumulation_fn`; of IndexedSlices, the rows of all one after the other.

    Raises:
      ValueError: some are tensors and others IndexedSlices.
    """
    if not any(isinstance(v, IndexedSlices) for v in values):
        return accumulation_fn(list(values))
    if not all(isinstance(v, IndexedSlices) for v in values):
        raise ValueError("Some replicas give a Tensor and others IndexedSlices for one value.")
    rows, indices = concat([v.values for v in values], axis=0), concat([v.indices for v in values], axis=0)
    return IndexedSlices(rows, indices, values[0].dense_shape)


def divide_by_n_tensors_or_indexed_slices(value: Any, n: int) -> Any:
    """A tensor or IndexedSlices divided by a number."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values / n, value.indices, value.dense_shape)
    return value / n


def copy_tensor_or_indexed_slices_to_device(value: TensorLike, where: str) -> IndexedSlices | Tensor:
    """A copy of a tensor or IndexedSlices on a device."""
    with device(where):
        if not isinstance(value, IndexedSlices):
            return raw.Identity(convert_to_tensor(value))
        parts = [raw.Identity(value.values), raw.Identity(value.indices)]
        return IndexedSlices(*parts, dense_shape=None if value.dense_shape is None else raw.Identity(value.dense_shape))
