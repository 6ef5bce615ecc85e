"""The value of a tensor as a run returns it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tfcompat._src.base import array_memory, errors, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray, HostArray
from tfcompat._src.proto import messages
from tfcompat._src.runtime.ir.routed_item import DEAD
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_in, variable_key

_ARRAYS = {np.ndarray, jax_compat.ArrayImpl}
"""The types of nearly all values. A lookup here is faster than `isinstance` with jax.Array, which has to check for tracers."""


def fetched_value(tensor: Tensor, values: dict[Tensor, Any], context: RunContext) -> object:
    """Returns the value of a fetched tensor as `Session.run` returns it: a NumPy array or scalar, or an object of the host.

    Raises:
      errors.InvalidArgumentError: the tensor has no value, because its branch was not taken.
    """
    value = values.get(tensor)
    if value is DEAD:
        raise _without_value(tensor)
    # A ref is an alias of its variable: the fetch returns the variable's value at the end of the run.
    if tensor.dtype._is_ref_dtype and (value is None or isinstance(value, Operation)):
        op = variable_in(tensor, values) or required_variable_op(tensor)
        value = context.variable_state.read(op, variable_key(op))
        values = {tensor: value}
    if type(value) in _ARRAYS or isinstance(value, (np.ndarray, jax.Array)):
        # `private` copies an array that others refer to, by its reference count: this function must not hold a reference.
        del value
        array = array_memory.private(values, tensor)
        # Quantized values are structured arrays with one field; 1.15 returns its integers.
        if array.dtype.names:
            array = array[array.dtype.names[0]]
        return array if array.ndim else array[()]
    variable = variable_in(tensor, values) if tensor.dtype.name == "resource" and (value is None or isinstance(value, Operation)) else None
    if variable is not None:
        return _handle_value(variable, context)
    if value is None:
        raise _without_value(tensor)
    # The flow of a TensorArray is a float32 scalar in 1.15; only its data edges matter.
    if isinstance(value, (DeviceArray, HostArray)):
        return np.float32(0)
    return value


def _without_value(tensor: Tensor) -> errors.InvalidArgumentError:
    op = tensor.op
    return errors.InvalidArgumentError(op.node_def, op, f"Retval[0] does not have value: {tensor.name} is in a branch that was not taken.")


def _handle_value(variable: Operation, context: RunContext) -> NDArray:
    """Returns the handle of a variable as a fetch shows it: the bytes of a serialized ResourceHandleProto."""
    container, _, name = variable_key(variable).partition("/")
    handle = messages.ResourceHandleProto(
        device=context.placer.device_of(variable).name, container=container or "localhost", name=name, maybe_type_name="N10tensorflow3VarE"
    )
    return np.frombuffer(bytearray(handle.SerializeToString()), np.dtype([("resource", np.uint8)]))
