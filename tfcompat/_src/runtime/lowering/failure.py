"""Converts failures of compiled calls to 1.15's error classes, at a node of the graph."""

from __future__ import annotations

import jax

from tfcompat._src.base import errors
from tfcompat._src.base.node_like import NodeLike
from tfcompat._src.graph.tensor import Tensor


def out_of_memory(largest: tuple[Tensor, tuple[int, ...]], bytes_needed: int, bytes_there: int) -> errors.ResourceExhaustedError:
    """The error of a compiled call that needs more memory than its device has, at the node of the call's largest tensor.

    Args:
      largest: that tensor and its shape. bytes_needed: by the call. bytes_there: on the device.
    """
    tensor, sizes = largest
    dims = ",".join(map(str, sizes))
    return errors.ResourceExhaustedError(
        tensor.op.node_def, tensor.op,
        f"OOM when allocating tensor with shape[{dims}] and type {tensor.dtype.name}: the compiled call needs {bytes_needed} bytes, "
        f"and the device has {bytes_there}. {tensor.name} is the largest tensor in it.",
    )  # fmt: skip


def of_jax(error: jax.errors.JaxRuntimeError, op: NodeLike) -> errors.OpError:
    """Converts an error that XLA reported for a call that computes `op`. Its text begins with a status code ("INTERNAL: ...")."""
    text = str(error)
    code = getattr(errors, text.partition(":")[0], errors.INTERNAL)
    return errors.of_code(code if isinstance(code, int) and code else errors.INTERNAL, op.node_def, op, text)
