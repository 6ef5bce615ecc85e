"""How values of replicas are brought together and sent to devices, as nodes of the graph.

A sum is one AddN and copies of it, whatever the algorithm is called: a plan over several devices runs it as an all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.cross_device_utils import (
    CollectiveKeys,
    aggregate_tensors_or_indexed_slices,
    build_collective_gather,
    build_collective_reduce,
    copy_tensor_or_indexed_slices_to_device,
    divide_by_n_tensors_or_indexed_slices,
)
from tfcompat._src.distribute.reduce_util import ReduceOp, as_reduce_op
from tfcompat._src.distribute.values import DistributedValues, Mirrored, PerReplica, regroup
from tfcompat._src.graph.scopes import control_dependencies, device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def devices_of(destinations: object) -> tuple[str, ...]:
    """The devices of a distributed value, a variable, a tensor or a device string.

    Raises:
      ValueError: it is none of these, or empty.
    """
    if isinstance(destinations, DistributedValues):
        return destinations.devices
    if isinstance(destinations, str):
        return (device_util.resolve(destinations),)
    if not isinstance(destinations, (Variable, Tensor)):
        raise ValueError("destinations must be one of a `DistributedValues` object, a tf.Variable object, or a device string.")
    return (device_util.resolve(destinations.device),)


def simple_broadcast(value: TensorLike, destinations: object) -> Any:
    """Copies of `value` on the devices of `destinations`; the copy itself where it is one."""
    devices = devices_of(destinations)
    copies = [copy_tensor_or_indexed_slices_to_device(value, d) for d in devices]
    return copies[0] if len(copies) == 1 else regroup(devices, copies, Mirrored)


def _simple_reduce(per_replica: DistributedValues, where: str, accumulate: Callable, reduce_op: ReduceOp) -> Any:
    values = [v if isinstance(v, IndexedSlices) else convert_to_tensor(v) for v in per_replica.values]
    if len(values) == 1 and values[0].device == where:
        return values[0]
    with device(where):
        total = aggregate_tensors_or_indexed_slices(values, accumulate)
        return divide_by_n_tensors_or_indexed_slices(total, len(values)) if reduce_op is ReduceOp.MEAN else total


def reduce_non_distributed_value(reduce_op: object, replicas: int, value: TensorLike, destinations: object) -> Any:
    """The reduction of a value that all replicas share.

    Raises:
      ValueError: it would be summed over several replicas.
    """
    if not isinstance(value, (Tensor, Variable, IndexedSlices)) and value == 0:
        return 0
    if as_reduce_op(reduce_op) is ReduceOp.MEAN:
        return value
    devices_of(destinations)
    if replicas != 1:
        raise ValueError(f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {reduce_op}.")
    return simple_broadcast(value, destinations)


def _as_per_replica(value: object) -> DistributedValues:
    if isinstance(value, DistributedValues):
        return value
    where = getattr(value, "device", None)
    if where is None:
        raise ValueError(f"Cannot convert `input_tensor` to a `PerReplica` object because it doesn't have device set: {value!r}")
    return PerReplica((device_util.canonicalize(where) if where else where,), (value,))


@export("distribute.CrossDeviceOps", "contrib.distribute.CrossDeviceOps")
class CrossDeviceOps:
    """Base class of the ways to reduce and broadcast values.

    A subclass defines `reduce_implementation` and `batch_reduce_implementation`.
    """

    def reduce(self, reduce_op: object, per_replica_value: object, destinations: object) -> Any:
        """The sum or mean of the replicas' values, on the devices of `destinations`.

        Args:
          reduce_op: a ReduceOp.
          per_replica_value: a PerReplica, or a tensor with a device.
          destinations: a distributed value, variable or device string.

        Raises:
          ValueError: an argument is of another kind.
        """
        devices_of(destinations)
        return self.reduce_implementation(as_reduce_op(reduce_op), _as_per_replica(per_replica_value), destinations)

    def batch_reduce(self, reduce_op: object, value_destination_pairs: Iterable[tuple]) -> list[Any]:
        """`reduce` for each pair of a value and its destinations; ValueError where an element is no pair."""
        pairs = list(value_destination_pairs)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ValueError("Each element of `value_destination_pairs` should be a tuple of size 2.")
        for _, destinations in pairs:
            devices_of(destinations)
        return self.batch_reduce_implementation(as_reduce_op(reduce_op), [(_as_per_replica(v), d) for v, d in pairs])

    def broadcast(self, tensor: object, destinations: object) -> Any:
        """Copies of a tensor on the devices of `destinations`."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any) -> Any:
        """`reduce`, with checked arguments."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(self, reduce_op: ReduceOp, value_destination_pairs: list[tuple]) -> list[Any]:
        """`batch_reduce`, with checked arguments."""
        raise NotImplementedError("batch_reduce_implementation method must be implemented in descendants.")

    def broadcast_implementation(self, tensor: TensorLike, destinations: object) -> Any:
        """`broadcast`, with checked arguments."""
        return simple_broadcast(tensor, destinations)


@export("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """Sums on one device, and copies to the others.

    Args:
      reduce_to_device: where; by default the first destination.
      accumulation_fn: adds a list of tensors up, by default tf.add_n.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Callable | None = None) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn or add_n

    def reduce_implementation(self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any) -> Any:
        where = self.reduce_to_device or devices_of(destinations)[0]
        return self.broadcast(_simple_reduce(per_replica_value, where, self.accumulation_fn, reduce_op), destinations)

    def batch_reduce_implementation(self, reduce_op: ReduceOp, value_destination_pairs: list[tuple]) -> list[Any]:
        return [self.reduce_implementation(reduce_op, v, destinations) for v, destinations in value_destination_pairs]


@export("contrib.distribute.AllReduceCrossDeviceOps")
class AllReduceCrossDeviceOps(ReductionToOneDevice):
    """Reduces by an all-reduce among the devices.

    Args:
      all_reduce_alg: "nccl", "hierarchical_copy" or another name of an algorithm of 1.15; which messages are sent is
        up to the compiler, so the name changes nothing in what is computed.
      num_packs: in how many parts values are sent; here a plan sends them in buckets of 32 MiB, so that only its range is checked.
      agg_small_grads_max_bytes, agg_small_grads_max_group: which small values are sent together; not used, as above.

    Raises:
      ValueError: `num_packs` is negative.
    """

    def __init__(
        self, all_reduce_alg: str = "nccl", num_packs: int = 1, agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_packs < 0:
            raise ValueError(f"{type(self).__name__} requires num_packs >= 0, but {num_packs} is specified")
        self._all_reduce_alg, self._num_packs = all_reduce_alg, num_packs
        self._agg_small_grads_max_bytes = agg_small_grads_max_bytes
        self._agg_small_grads_max_group = agg_small_grads_max_group


@export("distribute.NcclAllReduce")
class NcclAllReduce(AllReduceCrossDeviceOps):
    """The all-reduce that MirroredStrategy uses on GPUs; see AllReduceCrossDeviceOps for `num_packs` and what is raised."""

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("nccl", num_packs)


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """The all-reduce for GPUs in two groups; see AllReduceCrossDeviceOps for `num_packs` and what is raised."""

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("hierarchical_copy", num_packs)


_WORKER_ALGORITHMS = ("nccl", "nccl/xring", "nccl/rechd", "nccl/pscpu", "xring", "pscpu", "psgpu", "pscpu/pscpu")


class _AllReduceSpec(NamedTuple):
    """Which algorithm sums tensors of up to `limit` bytes, in how many parts; -1: of any size."""

    alg: str
    shards: int = 1
    limit: int = -1


@export("contrib.distribute.MultiWorkerAllReduce")
class MultiWorkerAllReduce(AllReduceCrossDeviceOps):
    """Reduces by an all-reduce among the devices of several workers.

    Args:
      worker_devices: device strings of the workers. num_gpus_per_worker: how many GPUs each has.
      all_reduce_spec: the name of an algorithm, or (name, parts, bytes up to which it serves), or a list of such tuples in rising order of
        bytes, which ends with -1. As for AllReduceCrossDeviceOps, the compiler says which messages are sent: what is computed is the same.
      num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: as for AllReduceCrossDeviceOps.

    Raises:
      ValueError: `all_reduce_spec` is something else, or `num_packs` is negative.
    """

    def __init__(
        self, worker_devices: Sequence[str], num_gpus_per_worker: int, all_reduce_spec: object = ("pscpu/pscpu", 2, -1), num_packs: int = 0,
        agg_small_grads_max_bytes: int = 0, agg_small_grads_max_group: int = 10,
    ) -> None:  # fmt: skip
        super().__init__("pscpu/pscpu", num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group)
        self._worker_devices, self._num_gpus_per_worker = worker_devices, num_gpus_per_worker
        specs = all_reduce_spec if isinstance(all_reduce_spec, list) else [all_reduce_spec]
        self._all_reduce_spec = [_all_reduce_spec((spec,) if isinstance(spec, str) else spec) for spec in specs]


def _all_reduce_spec(spec: object) -> _AllReduceSpec:
    if not isinstance(spec, tuple):
        raise ValueError(f"A tuple is expected for all-reduce spec: {spec!r}")
    if not 1 <= len(spec) <= 3:
        raise ValueError(f"An all-reduce spec has one to three elements, (algorithm, parts, bytes), not {spec!r}.")
    if spec[0] not in _WORKER_ALGORITHMS:
        raise ValueError(f"Unknown all-reduce algorithm {spec[0]!r}: it must be one of {', '.join(_WORKER_ALGORITHMS)}.")
    return _AllReduceSpec(*spec)


class CollectiveAllReduce(CrossDeviceOps):
    """Reduces over all devices of all workers, by nodes that meet those of the other workers.

    Args:
      num_workers: how many workers make the same graph. num_gpus_per_worker: GPUs of each.
      all_reduce_merge_scope: how many tensors stand in one name scope.
      collective_keys: the CollectiveKeys of this worker, by default new ones.
    """

    def __init__(
        self, num_workers: int = 1, num_gpus_per_worker: int = 0, all_reduce_merge_scope: int = 32,
        collective_keys: CollectiveKeys | None = None,
    ) -> None:  # fmt: skip
        self._num_workers, self._merge_scope = num_workers, all_reduce_merge_scope
        self._keys = collective_keys or CollectiveKeys()

    def reduce_implementation(self, reduce_op: ReduceOp, per_replica_value: object, destinations: object) -> Any:
        reduced = self._reduced(reduce_op, [per_replica_value])[0]
        devices = devices_of(destinations)
        if isinstance(reduced, Mirrored) and reduced.devices == devices:
            return reduced
        values = dict(zip(reduced.devices, reduced.values)) if isinstance(reduced, Mirrored) else {}
        first = next(iter(values.values()), reduced)
        with control_dependencies(list(values.values()) or [reduced]):
            copies = [copy_tensor_or_indexed_slices_to_device(values.get(d, first), d) for d in devices]
        return regroup(devices, copies, Mirrored)

    def batch_reduce_implementation(self, reduce_op: ReduceOp, value_destination_pairs: list[tuple]) -> list[Any]:
        if all(value.devices == devices_of(destinations) for value, destinations in value_destination_pairs):
            return self._reduced(reduce_op, [value for value, _ in value_destination_pairs])
        return [self.reduce_implementation(reduce_op, value, destinations) for value, destinations in value_destination_pairs]

    def _reduced(self, reduce_op: ReduceOp, values: list[Any]) -> list[Any]:
        """The reductions of distributed values, dense ones first, in name scopes of a limited number each."""
        found: dict[int, Any] = {}
        is_sparse = [isinstance(value.values[0], IndexedSlices) for value in values]
        for kind, reduce in ((False, self._dense), (True, self._sparse)):
            chosen = [i for i, sparse in enumerate(is_sparse) if sparse is kind]
            for start in range(0, len(chosen), self._merge_scope):
                with name_scope("allreduce"):
                    for i in chosen[start : start + self._merge_scope]:
                        found[i] = reduce([v if kind else convert_to_tensor(v) for v in values[i].values])
        return [self._mirrored(reduce_op, values[i].devices, found[i]) for i in range(len(values))]

    def _dense(self, tensors: list[Tensor]) -> list[Any]:
        return build_collective_reduce(tensors, self._num_workers, self._keys)

    def _sparse(self, slices: list[IndexedSlices]) -> list[Any]:
        rows = build_collective_gather([s.values for s in slices], self._num_workers, self._keys)
        indices = build_collective_gather([s.indices for s in slices], self._num_workers, self._keys)
        return [IndexedSlices(r, i, dense_shape=s.dense_shape) for r, i, s in zip(rows, indices, slices)]

    def _mirrored(self, reduce_op: ReduceOp, devices: Sequence[str], values: list[Any]) -> Any:
        if reduce_op is ReduceOp.MEAN:
            parts = []
            for value in values:
                with device(value.device):
                    parts.append(divide_by_n_tensors_or_indexed_slices(value, len(devices) * self._num_workers))
            values = parts
        return regroup(devices, values, Mirrored)


def choose_the_best(devices: Sequence[str]) -> CrossDeviceOps:
    """NcclAllReduce where all devices are GPUs, else ReductionToOneDevice."""
    kinds = {DeviceSpec.from_string(d).device_type for d in devices}
    return NcclAllReduce(num_packs=1) if kinds == {"GPU"} else ReductionToOneDevice()
