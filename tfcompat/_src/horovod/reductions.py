"""Horovod's reductions and broadcasts as a program calls them: of tensors, slices, gradients and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfcompat._src.function.def_function import function
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, executing_eagerly, name_scope
from tfcompat._src.horovod.collectives import _allreduce, allgather, broadcast
from tfcompat._src.horovod.compression import Compression
from tfcompat._src.horovod.processes import (
    Adasum,
    Average,
    Sum,
    check_num_rank_power_of_2,
    handle_average_backwards_compatibility,
    size,
)
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.variables.collections import global_variables
from tfcompat._src.variables.variable import Variable


def allreduce(
    tensor: Any, average: bool | None = None, device_dense: str = "", device_sparse: str = "", compression: Any = Compression.none,
    op: int | None = None,
) -> Any:  # fmt: skip
    """What becomes of the tensors of all processes, in each of them.

    Args:
      tensor: of this process, of the same shape and dtype in all; of IndexedSlices all rows are joined.
      average: the older name of `op`: True means Average and False Sum.
      device_dense, device_sparse: where tensors and IndexedSlices are reduced.
      compression: a Compressor. op: Average (also None), Sum or Adasum.

    Raises:
      ValueError: `op` and `average` are given. NotImplementedError: Adasum of IndexedSlices, or of a number of processes that is no
        power of two.
    """
    op = handle_average_backwards_compatibility(op, average)
    if isinstance(tensor, IndexedSlices):
        if op == Adasum:
            raise NotImplementedError("Adasum takes no IndexedSlices: pass sparse_as_dense=True to DistributedOptimizer")
        with device(device_sparse):
            count = cast(size(), tensor.values.dtype)
            rows, indices = allgather(tensor.values), allgather(tensor.indices)
            return IndexedSlices(rows / count if op == Average else rows, indices, dense_shape=tensor.dense_shape)
    if op == Adasum and not check_num_rank_power_of_2(size()):
        raise NotImplementedError(f"Adasum needs a number of processes that is a power of two, not {size()}.")
    with device(device_dense):
        count = cast(size(), tensor.dtype.base_dtype)
        sent, context = compression.compress(tensor)
        total = compression.decompress(_allreduce(sent, op=Sum if op == Average else op), context)
        return total / count if op == Average else total


def broadcast_variables(variables: Iterable[Variable], root_rank: int) -> Operation | None:
    """Gives variables the values that they have in the process `root_rank`: an operation, or at once in eager mode."""
    if executing_eagerly():
        for variable in variables:
            variable.assign(broadcast(variable, root_rank))
        return None
    updates = [variable.assign(broadcast(variable, root_rank)) for variable in variables]
    found: Operation = group(*updates)
    return found


def broadcast_global_variables(root_rank: int) -> Operation | None:
    """The operation that gives all global variables the values that they have in the process `root_rank`.

    Raises:
      RuntimeError: in eager mode, where there is no list of all variables.
    """
    if executing_eagerly():
        raise RuntimeError("hvd.broadcast_global_variables() does not support eager execution. Please use `hvd.broadcast_variables`.")
    return broadcast_variables(global_variables(), root_rank)


def reduced_gradients(
    name: str, device_dense: str, device_sparse: str, compression: object, sparse_as_dense: bool, op: int
) -> Callable[[Sequence[Any]], list[Any]]:
    """What reduces a list of gradients over all processes; some may be None."""

    def reduce(gradients: Sequence[Any]) -> list[Any]:
        with name_scope(f"{name}_Allreduce"):
            dense = [convert_to_tensor(g) if sparse_as_dense and isinstance(g, IndexedSlices) else g for g in gradients]
            return [
                None if g is None else allreduce(g, None, device_dense, device_sparse, compression, op) for g in dense
            ]

    traced = function(reduce)
    return lambda gradients: traced(list(gradients)) if executing_eagerly() else reduce(gradients)
