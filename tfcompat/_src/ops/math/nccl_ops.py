"""Reductions and copies among devices, under the names of 1.15's `nccl_ops`.

A reduction over devices is one node and copies of its result; sums are AddN, which a plan over several devices runs as an all-reduce.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp

from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.shape_inference import unchanged
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_TYPES = "T: {float16, float32, float64, int32, int64}"
_COMBINE = {"sum": jnp.add, "prod": jnp.multiply, "min": jnp.minimum, "max": jnp.maximum}


def _reduce_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    if op.get_attr("reduction") != b"sum":
        raise LookupError("No gradient defined for NcclReduce except sum.")
    return [grad] * len(op.inputs)


@op(
    "NcclReduce",
    '(input: num_devices*T, *, reduction: {"min", "max", "prod", "sum"}, ' + _TYPES + ", num_devices: int >= 1) -> (data: T)",
    shape=lambda c: [c.inputs[0]], gradient=_reduce_grad,
)  # fmt: skip
def _nccl_reduce(values, *, reduction):
    return functools.reduce(_COMBINE[reduction], values)


@op("NcclBroadcast", "(input: T, *, " + _TYPES + ", shape: shape) -> (output: T)", shape=unchanged, gradient=lambda op, grad: [grad])
def _nccl_broadcast(value):
    return value


def _check(tensors: Sequence[Tensor], what: str) -> None:
    if not tensors:
        raise ValueError(f"Must pass >0 tensors to {what} operations")
    if not all(t.device for t in tensors):
        raise ValueError("Device assignment required for nccl collective ops")


def reduced(tensors: Sequence[Tensor], reduction: str) -> Tensor:
    """One tensor with the "sum", "prod", "min" or "max" of several, on the current device."""
    if reduction == "sum":
        return raw.AddN(list(tensors))
    return raw.NcclReduce(list(tensors), reduction=reduction)


def _everywhere(reduction: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    _check(tensors, "all reduce")
    with device(tensors[0].device):
        total = reduced(tensors, reduction)
    found = []
    for t in tensors:
        with device(t.device):
            found.append(raw.Identity(total))
    return found


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sum of tensors, on the device of each of them; ValueError where there is none, or one without a device."""
    return _everywhere("sum", tensors)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The product of tensors, on the device of each; errors as for `all_sum`."""
    return _everywhere("prod", tensors)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The minimum of tensors, on the device of each; errors as for `all_sum`."""
    return _everywhere("min", tensors)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The maximum of tensors, on the device of each; errors as for `all_sum`."""
    return _everywhere("max", tensors)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors on the current device.

    Raises:
      ValueError: there is no tensor, or one without a device, or none of them is on the current device.
    """
    _check(tensors, "reduce")
    total = reduced(tensors, "sum")
    if all(t.device != total.device for t in tensors):
        raise ValueError("One input tensor must be assigned to current device")
    return total


def broadcast(tensor: Tensor) -> Tensor:
    """The tensor, for use on other devices; ValueError where it has no device."""
    _check([tensor], "broadcast")
    with device(tensor.device):
        return raw.NcclBroadcast(tensor, shape=tensor.shape)
