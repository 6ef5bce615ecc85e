"""The ops of Horovod: tensors of all processes are summed, joined, or those of one process.

Nodes of one name meet. A node that is reached begins to send, and the run goes on with others; it waits where nothing else can run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors, this_run
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.run_limits import MustWait, may_wait
from tfcompat._src.cluster.exchange import Pending
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, MEETS_OTHERS, WAITING, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.horovod import processes
from tfcompat._src.horovod.processes import Adasum, Sum
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.join import split
from tfcompat._src.ops.array.shape import reshape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NUMBERS = "T: {int32, int64, float16, float32, float64}"
_ANY = "T: {uint8, int8, uint16, int16, int32, int64, float16, float32, float64, bool}"


def _met(context: HostContext, begin: Callable[[str], Pending]) -> Any:
    """What all processes make of a node's tensors; `begin` is called with its name when it is reached."""
    notes, key = this_run.notes(), ("horovod", context.op)
    if key not in notes:
        notes[key] = begin(context.op.name)
    if not may_wait() and not notes[key].is_done():
        raise MustWait
    try:
        return notes.pop(key).result()
    except errors.UnavailableError as e:
        raise errors.UnknownError(None, None, f"Horovod has been shut down: a process has ended before this one. {e.message}") from None
    except errors.InvalidArgumentError as e:
        raise errors.FailedPreconditionError(None, None, e.message) from None


def _sum_kernel(context, tensor, *, reduce_op):
    group = processes.group()
    if reduce_op == Adasum:
        return _met(context, lambda name: group.merged(name, tensor, f"Adasum of {tensor.dtype.name}{list(tensor.shape)}", _adasum))
    if reduce_op != Sum:
        raise errors.InvalidArgumentError(None, None, f"reduce_op must be Sum ({Sum}) or Adasum ({Adasum}), not {reduce_op}")
    return _met(context, lambda name: group.all_reduce(name, tensor, "Add"))


def _adasum(arrays: list[NDArray]) -> NDArray:
    """Adasum (Maleki et al. 2020, arXiv:2006.02924): neighbours are combined, then neighbouring pairs, and so on.

    Two gradients are added where they are orthogonal and averaged where they are parallel.
    """
    while len(arrays) > 1:
        arrays = [_adasum_of(a, b) for a, b in zip(arrays[::2], arrays[1::2])]
    return arrays[0]


def _adasum_of(a: NDArray, b: NDArray) -> NDArray:
    x, y = a.astype(np.float64), b.astype(np.float64)
    both, x_square, y_square = (x * y).sum(), (x * x).sum(), (y * y).sum()
    x_share = 1 - both / (2 * x_square) if x_square else 1.0
    y_share = 1 - both / (2 * y_square) if y_square else 1.0
    return (x_share * x + y_share * y).astype(a.dtype)


def _gathered_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    return [None if sizes is None else (None, *sizes[1:])]


def _gather_kernel(context, tensor):
    return _met(context, lambda name: processes.group().all_gather(name, tensor))


def _broadcast_kernel(context, tensor, *, root_rank):
    group = processes.group()
    if not 0 <= root_rank < group.size:
        raise errors.InvalidArgumentError(None, None, f"root_rank must be in [0, {group.size}), not {root_rank}")
    return _met(context, lambda name: group.broadcast(name, tensor, root_rank))


def _sum_gradient(node: Operation, grad: Tensor) -> Tensor:
    return _allreduce(grad)


def _gather_gradient(node: Operation, grad: Tensor) -> Tensor:
    """The part of the summed gradient that belongs to this process's rows."""
    total = _allreduce(grad)
    with device("/cpu:0"):
        known = node.inputs[0].shape[0].value
        rows = reshape(raw.Shape(node.inputs[0])[0], [1]) if known is None else constant([known])
        counts = reshape(allgather(rows), [processes.size()])
        return split(total, num_or_size_splits=counts, axis=0)[processes.rank()]


def _broadcast_gradient(node: Operation, grad: Tensor) -> Tensor:
    total = _allreduce(grad)
    return total if processes.rank() == node.attrs["root_rank"] else total * 0


op("HorovodAllreduce", f"(tensor: T, *, {_NUMBERS}, reduce_op: int) -> (sum: T)", shape=si.unchanged, kernel=_sum_kernel,
   gradient=_sum_gradient, side=HOST, effects=WAITING, context=True, facts=MEETS_OTHERS)  # fmt: skip
op("HorovodAllgather", f"(tensor: T, *, {_ANY}) -> (output: T)", shape=_gathered_shape, kernel=_gather_kernel,
   gradient=_gather_gradient, side=HOST, effects=WAITING, context=True, facts=MEETS_OTHERS)  # fmt: skip
op("HorovodBroadcast", f"(tensor: T, *, {_ANY}, root_rank: int) -> (output: T)", shape=si.unchanged, kernel=_broadcast_kernel,
   gradient=_broadcast_gradient, side=HOST, effects=WAITING, context=True, facts=MEETS_OTHERS)  # fmt: skip


def _named(kind: str, name: str | None, tensor: Tensor) -> str | None:
    """The name of a node: nodes of several processes meet by it, so it comes from that of the tensor."""
    if name is not None or executing_eagerly():
        return name
    return f"Horovod{kind}_{re.sub('[^a-zA-Z0-9_]', '_', tensor.name)}"


def _allreduce(tensor: TensorLike, name: str | None = None, op: int = Sum) -> Tensor:
    """The sum of the tensors of all processes, or their Adasum.

    Args:
      tensor: of this process, of the same shape and dtype in all.
      name: of the node, by which the processes' nodes meet. op: Sum or Adasum.
    """
    tensor = convert_to_tensor(tensor)
    return raw.HorovodAllreduce(tensor, reduce_op=op, name=_named("Allreduce", name, tensor))


def allgather(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The tensors of all processes, joined along the first dimension.

    Args:
      tensor: of this process; only its first dimension may be another one than in other processes.
      name: of the node, by which the processes' nodes meet.
    """
    tensor = convert_to_tensor(tensor)
    return raw.HorovodAllgather(tensor, name=_named("Allgather", name, tensor))


def broadcast(tensor: Any, root_rank: int, name: str | None = None) -> Tensor:
    """The tensor of the process `root_rank`.

    Args:
      tensor: of this process, of the same shape and dtype in all.
      root_rank: whose tensor it is. name: of the node, by which the processes' nodes meet.
    """
    found = convert_to_tensor(tensor)
    return raw.HorovodBroadcast(found, root_rank=root_rank, name=_named("Broadcast", name, tensor if hasattr(tensor, "name") else found))
