"""All-reduce graphs under the names of 1.15's algorithms.

Each computes the reduction of one tensor per device, on each of these devices. Which devices send which parts to which others is
up to the compiler, so all of them make the same nodes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import colocate_with, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.math.binary import add
from tfcompat._src.ops.math.nccl_ops import reduced
from tfcompat._src.ops.math.scan import add_n

_ADDITIONS = (add, operator.add, add_n)


def _all_reduce(tensors: Sequence[Tensor], red_op: Callable, un_op: Callable | None) -> list[Tensor]:
    """`un_op` of the tensors combined by `red_op`, on the device of each tensor."""
    with device(tensors[0].device):
        total = _combined(tensors, red_op)
        total = un_op(total) if un_op else total
    found = []
    for t in tensors:
        with device(t.device):
            found.append(raw.Identity(total))
    return found


def _combined(tensors: Sequence[Tensor], red_op: Callable) -> Tensor:
    if red_op in _ADDITIONS:
        return reduced(tensors, "sum")
    return functools.reduce(red_op, tensors)


def _flatten_tensors(tensors: Sequence[Tensor]) -> tuple[list[Tensor], TensorShape]:
    """The tensors as vectors, and the shape that they have in common.

    Raises:
      ValueError: there are none, or they have different shapes or one that is not known.
    """
    shape = _common_shape(tensors)
    if shape.ndims == 1:
        return list(tensors), shape
    found = []
    for t in tensors:
        with colocate_with(t):
            found.append(reshape(t, [-1]))
    return found, shape


def _common_shape(tensors: Sequence[Tensor]) -> TensorShape:
    if not tensors:
        raise ValueError("tensors cannot be empty")
    shape = functools.reduce(TensorShape.merge_with, [t.shape for t in tensors])
    if not shape.is_fully_defined():
        raise ValueError("Tensors must have statically known shape.")
    return shape


def _checked(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, if they are of one known shape; ValueError where not."""
    _common_shape(tensors)
    return list(tensors)


def _ring_permutations(num_workers: int, num_subchunks: int, gpu_perm: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Where each device stands in the ring of each subchunk.

    Args:
      num_workers: tasks. num_subchunks: parts of what a device sends at once; each has a ring of its own. gpu_perm: the order of the GPUs
        of each worker, which the rings rotate.

    Returns:
      for each subchunk and device the device before it, and its place in the ring; device i of worker j is i + j * len(gpu_perm).

    Raises:
      ValueError: there are more subchunks than GPUs.
    """
    gpus = len(gpu_perm)
    if num_workers * gpus == 0:
        return [], []
    if num_subchunks > gpus:
        raise ValueError(f"num_subchunks {num_subchunks} must be <= num_gpus {gpus}")
    before, places = [], []
    for start in range(0, num_subchunks * (gpus // num_subchunks), gpus // num_subchunks):
        turned = [*gpu_perm[start:], *gpu_perm[:start]]
        ring = [worker * gpus + i for worker in range(num_workers) for i in turned]
        place = {device: i for i, device in enumerate(ring)}
        places.append([place[d] for d in range(len(ring))])
        before.append([ring[place[d] - 1] for d in range(len(ring))])
    return before, places


def _padded_split(tensor: Tensor, pieces: int) -> tuple[list[Tensor], int]:
    """A vector in as many parts of equal length, and how many zeros were put behind the last one's numbers.

    Raises:
      ValueError: it is no vector of known length.
    """
    if tensor.shape.ndims != 1 or not tensor.shape.is_fully_defined():
        raise ValueError("input tensor must be 1D")
    length = tensor.shape.num_elements()
    padding = -length % pieces
    padded = raw.Pad(tensor, [[0, padding]]) if padding else tensor
    return list(raw.Split(0, padded, num_split=pieces)), padding


def _build_ring_gather(
    input_tensors: Sequence[Tensor], devices: Sequence[str], num_subchunks: int, pred_by_s_d: list[list[int]], rank_by_s_d: list[list[int]],
    red_op: Callable,
) -> tuple[list[list[Tensor]], int] | Sequence[Tensor]:  # fmt: skip
    """The first pass of a ring all-reduce: sends chunks round the ring, and combines each with the chunk of every device that it reaches.

    Args:
      input_tensors: one vector for each device, of one length. devices: their names.
      num_subchunks: how many chunks a device sends at once.
      pred_by_s_d, rank_by_s_d: what `_ring_permutations` gives.
      red_op: combines two tensors.

    Returns:
      the chunks of each device, of which `num_subchunks` are combined from all, and how many zeros the last chunk has at its end; for fewer
      than two devices `input_tensors` alone, as in 1.15.

    Raises:
      ValueError: an input is no vector.
    """
    count = len(input_tensors)
    if count < 2:
        return input_tensors
    if input_tensors[0].shape.ndims != 1:
        raise ValueError("input tensors must be 1D")
    chunks, padding = [], 0
    for tensor, name in zip(input_tensors, devices):
        with device(name):
            parts, padding = _padded_split(tensor, count * num_subchunks)
        chunks.append(parts)
    for tick in range(count - 1):
        places = [(d, s, (rank_by_s_d[s][d] - 2 - tick) % count * num_subchunks + s) for d in range(count) for s in range(num_subchunks)]
        combined = []
        for d, s, place in places:
            with device(devices[d]):
                combined.append(red_op(chunks[pred_by_s_d[s][d]][place], chunks[d][place]))
        for (d, _, place), value in zip(places, combined):
            chunks[d][place] = value
    return chunks, padding


def build_ring_all_reduce(
    input_tensors: Sequence[Tensor], num_workers: int, num_subchunks: int, gpu_perm: Sequence[int], red_op: Callable,
    un_op: Callable | None = None,
) -> list[Tensor]:  # fmt: skip
    """An all-reduce in a ring of devices.

    Args:
      input_tensors: one per device, of one known shape.
      num_workers, num_subchunks, gpu_perm: which parts are sent when; they must fit the number of devices.
      red_op: combines two tensors. un_op: applied to the result.

    Raises:
      ValueError: there are fewer than two tensors, a shape is not known, or the parts do not fit.
    """
    if len(input_tensors) < 2:
        raise ValueError("input_tensors must be length 2 or longer")
    if len(gpu_perm) * num_workers != len(input_tensors) or num_subchunks > len(gpu_perm):
        raise ValueError(
            f"num_subchunks ({num_subchunks}) and gpu_perm {list(gpu_perm)} do not fit {len(input_tensors)} devices of {num_workers} workers"
        )
    return _all_reduce(_checked(input_tensors), red_op, un_op)


def build_recursive_hd_all_reduce(input_tensors: Sequence[Tensor], red_op: Callable, un_op: Callable | None = None) -> list[Tensor]:
    """An all-reduce by halving and doubling; ValueError where the number of devices is no power of 2."""
    if len(input_tensors) & (len(input_tensors) - 1):
        raise ValueError("num_devices must be a power of 2")
    return _all_reduce(_checked(input_tensors), red_op, un_op)


def build_shuffle_all_reduce(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], red_op: Callable, un_op: Callable | None = None
) -> list[Tensor]:
    """An all-reduce by parts that are gathered on `gather_devices`; ValueError where a shape is not known."""
    return _all_reduce(_checked(input_tensors), red_op, un_op)


def build_nccl_all_reduce(input_tensors: Sequence[Tensor], red_op: Callable, un_op: Callable | None = None) -> list[Tensor]:
    """An all-reduce that sums; ValueError where `red_op` is no addition."""
    if red_op not in _ADDITIONS:
        raise ValueError("red_op not supported by NCCL all-reduce: ", red_op)
    return _all_reduce(_checked(input_tensors), red_op, un_op)


def build_nccl_then_ring(input_tensors: Sequence[Tensor], subdiv: int, red_op: Callable, un_op: Callable | None = None) -> list[Tensor]:
    """An all-reduce in each worker, then among workers."""
    return build_nccl_all_reduce(input_tensors, red_op, un_op)


def build_nccl_then_recursive_hd(input_tensors: Sequence[Tensor], red_op: Callable, un_op: Callable | None = None) -> list[Tensor]:
    """An all-reduce in each worker, then among workers."""
    return build_nccl_all_reduce(input_tensors, red_op, un_op)


def build_nccl_then_shuffle(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], nccl_red_op: Callable, shuffle_red_op: Callable,
    un_op: Callable | None = None,
) -> list[Tensor]:  # fmt: skip
    """An all-reduce in each worker, then among workers."""
    return build_nccl_all_reduce(input_tensors, nccl_red_op, un_op)


def build_shuffle_then_ring(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], subdiv: int, red_n_op: Callable, red_op: Callable,
    un_op: Callable | None = None,
) -> list[Tensor]:  # fmt: skip
    """An all-reduce in each worker, then among workers."""
    return _all_reduce(_checked(input_tensors), red_op, un_op)


def build_shuffle_then_shuffle(
    input_tensors: Sequence[Tensor], first_gather_devices: Sequence[str], second_gather_devices: Sequence[str], red_op: Callable,
    un_op: Callable | None = None,
) -> list[Tensor]:  # fmt: skip
    """An all-reduce in each worker, then among workers."""
    return _all_reduce(_checked(input_tensors), red_op, un_op)
