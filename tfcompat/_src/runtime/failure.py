"""What a failure in a compiled call becomes: the error class of 1.15, the node, and the values."""

from __future__ import annotations

import jax

from tfcompat._src.base import errors
from tfcompat._src.base.node_like import NodeLike
from tfcompat._src.graph.tensor import Tensor


def out_of_memory(largest: tuple[Tensor, tuple[int, ...]], bytes_needed: int, bytes_there: int) -> errors.ResourceExhaustedError:
    """The error of a compiled call that needs more memory than its device has; it names the largest tensor of the call."""
    tensor, sizes = largest
    dims = ",".join(map(str, sizes))
    return errors.ResourceExhaustedError(
        tensor.op.node_def, tensor.op,
        f"OOM when allocating tensor with shape[{dims}] and type {tensor.dtype.name}: the compiled call needs {bytes_needed} bytes, "
        f"and the device has {bytes_there}. {tensor.name} is the largest tensor in it.",
    )  # fmt: skip


def of_jax(error: jax.errors.JaxRuntimeError, op: NodeLike) -> errors.OpError:
    """The error that a device reported while it ran a compiled call that computes `op`."""
    text = str(error)
    code = getattr(errors, text.partition(":")[0], errors.INTERNAL)
    return errors.of_code(code if isinstance(code, int) and code else errors.INTERNAL, op.node_def, op, text)
