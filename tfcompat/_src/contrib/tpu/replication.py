"""tf.tpu: a computation once per TPU core, or per accelerator or device that stands in for one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.distribute.cross_device_ops import ReductionToOneDevice
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.replica_threads import call_for_each_replica
from tfcompat._src.distribute.values import PerReplica
from tfcompat._src.gradients.custom_gradient import gradient_of_tensors
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat, split, stack
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.runtime.devices.devices import accelerator_count

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class TpuContext(threading.local):
    """How many shards the computation that is being built has; None where none is."""

    def __init__(self) -> None:
        self._number_of_shards: int | None = None

    @property
    def number_of_shards(self) -> int | None:
        return self._number_of_shards

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        self._number_of_shards = number_of_shards


_CONTEXT = TpuContext()


def get_tpu_context() -> TpuContext:
    """The context of this thread."""
    return _CONTEXT


@contextlib.contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """A block that builds a computation of so many shards; NotImplementedError inside another."""
    if _CONTEXT.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested.")
    _CONTEXT.set_number_of_shards(number_of_shards)
    try:
        yield
    finally:
        _CONTEXT.set_number_of_shards(None)


class _Replicated:
    """What stands for a strategy while a computation is replicated: variables are shared, optimizers work as ever."""

    def __init__(self, devices: list[str]) -> None:
        self._scale_loss_for_estimator = False
        self.extended = StrategyExtended(self, devices, ReductionToOneDevice())
        self.extended._is_default = True
        self.num_replicas_in_sync = len(devices)


def _devices(count: int) -> list[str]:
    """The devices of so many shards: TPUs or GPUs where there are enough, else all on the default device."""
    for kind in ("TPU", "GPU"):
        if accelerator_count(kind) >= count:
            return [f"/device:{kind}:{i}" for i in range(count)]
    return [""] * count


@export("tpu.replicate", "contrib.tpu.replicate")
def replicate(
    computation: Callable, inputs: list[list[Any]] | None = None, infeed_queue: object = None, device_assignment: object = None,
    name: str | None = None, maximum_shapes: object = None,
) -> list[Any]:  # fmt: skip
    """Builds a computation once for each replica.

    Args:
      computation: takes tensors; gives tensors, operations, or a structure of them.
      inputs: for each replica a list of its arguments; by default one replica without any.
      name: what 1.15 calls the cluster; nodes have the names that the computation gives them.
      infeed_queue, device_assignment, maximum_shapes: None; see below.

    Returns:
      for each replica the list, or structure, of its outputs, or an operation where it has none.

    Raises:
      TypeError: `inputs` is no list of lists. ValueError: the lists differ in length.
      NotImplementedError: one of the arguments that must be None is given, or a replica writes variables by itself, which the
        other replicas would do too: use CrossShardOptimizer.
    """
    for key, value in (("infeed_queue", infeed_queue), ("device_assignment", device_assignment), ("maximum_shapes", maximum_shapes)):
        if value is not None:
            raise NotImplementedError(f"tfcompat has no tpu.replicate with the argument {key}.")
    inputs = [[]] if inputs is None else inputs
    if not isinstance(inputs, list) or any(not isinstance(i, (list, tuple)) for i in inputs):
        raise TypeError("tpu.replicate() inputs must be a list of lists/tuples or `None`")
    if len({len(i) for i in inputs}) > 1:
        raise ValueError(f"Different numbers of inputs to the replicas: {[len(i) for i in inputs]}.")
    return _replicate(computation, inputs)


def _replicate(computation: Callable, inputs: list) -> list[Any]:
    count, graph = len(inputs), get_default_graph()
    if count == 1:
        with tpu_shard_context(1):
            return [_outputs(computation(*[convert_to_tensor(x) for x in inputs[0]]))]
    strategy, before = _Replicated(_devices(count)), len(graph.get_operations())
    columns = [PerReplica(range(count), [convert_to_tensor(x) for x in column]) for column in zip(*inputs)]

    def shard_computation(*args: Any) -> Any:
        with tpu_shard_context(count):
            return (_outputs(computation(*args)),)

    (found,) = call_for_each_replica(strategy, strategy.extended.worker_devices, shard_computation, tuple(columns), {})
    _check_writes(graph.get_operations()[before:])
    return [_of_replica(found, i) for i in range(count)]


def _of_replica(structured: object, i: int) -> Any:
    return nest.map_structure(lambda v: v.values[i] if isinstance(v, PerReplica) else v, structured)


def _check_writes(ops: list[Operation]) -> None:
    scope = get_default_graph().get_name_scope()
    inside = f"{scope}/replica_" if scope else "replica_"
    for op in ops:
        if op.name.startswith(inside) and op.spec.effects.writes:
            raise NotImplementedError(
                f"tpu.replicate: the node {op.name} ({op.type}) writes a variable, and each replica would do so. Update "
                "variables by a CrossShardOptimizer, or outside of the computation."
            )


def _outputs(result: object) -> Any:
    """What a computation gives, with tensors that wait for its operations; an operation where there is no tensor."""
    flat = isinstance(result, (list, tuple)) and not any(nest.is_nested(v) for v in result)
    values = list(result) if flat else [] if result is None else nest.flatten(result)
    operations = [v for v in values if isinstance(v, Operation)]
    tensors = [convert_to_tensor(v) for v in values if v is not None and not isinstance(v, Operation)]
    if not tensors:
        return group(*operations)
    with control_dependencies(operations):
        tensors = [raw.Identity(t) for t in tensors]
    if flat or not nest.is_nested(result):
        return tensors
    return nest.pack_sequence_as(result, tensors)


@export("tpu.rewrite", "contrib.tpu.rewrite")
def rewrite(
    computation: Callable, inputs: list[Any] | None = None, infeed_queue: object = None, device_assignment: object = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `replicate`, for one replica with the list `inputs` of arguments; gives its outputs."""
    arguments = [[] if inputs is None else list(inputs)]
    return replicate(computation, arguments, infeed_queue, device_assignment, name)[0]


@export("tpu.shard", "contrib.tpu.shard")
def shard(
    computation: Callable, inputs: list[Any] | None = None, num_shards: int = 1, input_shard_axes: list[int] | None = None,
    outputs_from_all_shards: Any = True, output_shard_axes: list[int] | None = None, infeed_queue: object = None,
    device_assignment: object = None, name: str | None = None,
) -> list[Any]:  # fmt: skip
    """Splits tensors, computes each part in a replica, and joins the outputs.

    Args:
      computation: see `replicate`.
      inputs: tensors to split; by default none.
      num_shards: into how many parts.
      input_shard_axes: the dimension of each input to split; by default 0.
      outputs_from_all_shards: whether each output is joined from all shards, or the first shard's: a bool or a list.
      output_shard_axes: the dimension of each output to join; by default 0; scalars are stacked.

    Raises:
      ValueError: there is no shard, or a list has the wrong length. TypeError: `inputs` is no list.
    """
    if num_shards <= 0:
        raise ValueError("num_shards must be a positive integer.")
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise TypeError("tpu.shard()'s inputs must be a list of Tensors or None.")
    tensors = [convert_to_tensor(x) for x in inputs]
    axes = [0] * len(tensors) if input_shard_axes is None else input_shard_axes
    if len(axes) != len(tensors):
        raise ValueError("Length of input_shard_axes must be equal to the number of inputs.")
    parts = [split(x, num_shards, axis=axis) for x, axis in zip(tensors, axes)]
    rows = [list(row) for row in zip(*parts)] if parts else [[]] * num_shards
    outputs = replicate(computation, rows, infeed_queue, device_assignment, name)
    if isinstance(outputs[0], Operation):
        return [outputs[0]]
    count = len(outputs[0])
    out_axes = [0] * count if output_shard_axes is None else output_shard_axes
    if len(out_axes) != count:
        raise ValueError("Length of output_shard_axes must be equal to the number of outputs.")
    everywhere = [outputs_from_all_shards] * count if isinstance(outputs_from_all_shards, bool) else outputs_from_all_shards
    if len(everywhere) != count:
        raise ValueError("Length of outputs_from_all_shards must be equal to the number of outputs.")
    return [_joined(list(x), axis) if whole else x[0] for axis, whole, x in zip(out_axes, everywhere, zip(*outputs))]


def _joined(parts: list[Tensor], axis: int) -> Tensor:
    return stack(parts) if parts[0].shape.rank == 0 else concat(parts, axis=axis)


@export("tpu.batch_parallel", "contrib.tpu.batch_parallel")
def batch_parallel(
    computation: Callable, inputs: list[Any] | None = None, num_shards: int = 1, infeed_queue: object = None,
    device_assignment: object = None, name: str | None = None,
) -> list[Any]:  # fmt: skip
    """`shard` along the first dimension of all inputs and outputs."""
    return shard(computation, inputs, num_shards, infeed_queue=infeed_queue, device_assignment=device_assignment, name=name)


@export("tpu.cross_replica_sum", "contrib.tpu.cross_replica_sum")
def cross_replica_sum(x: TensorLike, group_assignment: list[list[int]] | None = None, name: str | None = None) -> Tensor:
    """The sum of `x` over the replicas of a computation, or over those of this replica's group.

    Args:
      x: a tensor.
      group_assignment: lists of replica numbers, by default one of all.
      name: a name scope.

    Raises:
      ValueError: no computation is being replicated.
    """
    shards = _CONTEXT.number_of_shards
    if shards is None:
        raise ValueError("cross_replica_sum must be called in a computation of tpu.replicate, tpu.shard or tpu.rewrite.")
    if shards == 1:
        return raw.Identity(convert_to_tensor(x), name=name)
    replica = distribution_context.current().replica_context

    def merge(strategy: object, value: PerReplica) -> PerReplica:
        groups = group_assignment or [list(range(shards))]
        totals = {i: add_n([value.values[k] for k in members]) for members in groups for i in members}
        return PerReplica(range(shards), [totals[i] for i in range(shards)])

    @gradient_of_tensors
    def summed(value: Tensor) -> tuple:
        total = replica.merge_call(merge, args=(value,))
        return raw.Identity(total), lambda slope: cross_replica_sum(slope, group_assignment)

    with name_scope(name, "CrossReplicaSum"):
        return summed(x)


@export("tpu.core", "contrib.tpu.core")
def core(num: int) -> str:
    """The device of a TPU core."""
    return f"device:TPU_REPLICATED_CORE:{num}"


@export("tpu.outside_compilation", "contrib.tpu.outside_compilation")
def outside_compilation(computation: Callable, *args: Any, **kwargs: Any) -> Any:
    """A part of a computation that runs on the host.

    Raises:
      NotImplementedError: always. Nodes that cannot be compiled run on the host by themselves; leave the call out.
    """
    raise NotImplementedError(
        "tfcompat has no tpu.outside_compilation: nodes that cannot be compiled run on the host by themselves. Call the function directly."
    )
