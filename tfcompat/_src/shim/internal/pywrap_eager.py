"""`tensorflow.python.pywrap_tensorflow`: the TFE_Py_* functions, by which TensorFlow's generated functions run eager operations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import device as device_lib
from tfcompat._src.base import errors
from tfcompat._src.eager import execution_callbacks
from tfcompat._src.eager.graph import EagerGraph
from tfcompat._src.gradients import forwardprop
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device, get_default_graph
from tfcompat._src.nodes.apply_op import apply_op
from tfcompat._src.shim.internal import eager_execute
from tfcompat._src.shim.internal.eager_core import _FallbackException, _NotOkStatusException

exception_class: type[Exception] = _NotOkStatusException
"""The class that is raised if an operation fails."""


def TFE_Py_RegisterExceptionClass(e: object) -> None:
    """Registers the exception class that is raised, with a message and an error code, if an operation fails.

    Raises:
      TypeError: `e` is not a subclass of Exception.
    """
    if not isinstance(e, type) or not issubclass(e, Exception):
        raise TypeError("TFE_Py_RegisterExceptionClass: Registered class should be subclass of Exception.")
    globals()["exception_class"] = e


def TFE_Py_RegisterForwardGradientFunction(e: object) -> None:
    """Registers the function, with the arguments of `_forward_gradient`, by which ForwardGradientAccumulator differentiates operations.

    Raises:
      TypeError: `e` is not callable.
    """
    if not callable(e):
        raise TypeError("TFE_Py_RegisterForwardGradientFunction: Registered object should be function.")
    forwardprop.REGISTERED[0] = e


def _failed(error: Exception) -> Exception:
    """Converts the error of an operation to the registered class; a TypeError becomes INVALID_ARGUMENT."""
    if isinstance(error, errors.OpError):
        return exception_class(error.message, error.error_code)
    return exception_class(str(error), errors.INVALID_ARGUMENT)


def _on(device_name: str | None, op_name: str) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that places an operation on a device, or on another device of its task if the task has none of this type.

    Raises:
      The registered class: the name is malformed, or its task does not exist.
    """
    graph = get_default_graph()
    if not device_name or not isinstance(graph, EagerGraph):
        return contextlib.nullcontext()
    if not device_name.startswith("/"):
        raise exception_class(f"Malformed device specification '{device_name}' in eager op: Name: {op_name}", errors.INVALID_ARGUMENT)
    # Soft placement: first the device itself, then any device of the task.
    task = device_lib.DeviceSpec.from_string(device_lib.canonical_name(device_name)).replace(device_type=None, device_index=None)
    for wanted in (device_name, task.to_string()):
        with contextlib.suppress(RuntimeError):
            return device(graph.found(wanted))
    raise exception_class(f"Could not satisfy device specification '{device_name}' in eager op: Name: {op_name}", errors.INVALID_ARGUMENT)


def TFE_Py_Execute(
    ctx: object, device_name: str | None, op_name: str, inputs: Sequence[Any], attrs: Sequence[Any] | None, num_outputs: int
) -> list[Any]:
    """Runs an operation on its flat inputs, and returns the list of its outputs.

    Args:
      ctx: unused, as there is one context. device_name: the device; None or "" means that of the device scopes.
      attrs: names and values of attributes, alternating.

    Raises:
      TypeError: an input is not an EagerTensor. The registered class: the operation fails.
    """
    try:
        with _on(device_name, op_name):
            return eager_execute.run(op_name, inputs, attrs)[:num_outputs]
    except errors.OpError as e:
        raise _failed(e) from None


def TFE_Py_FastPathExecute(
    ctx: object, device_name: str | None, op_name: str, name: str | None, callbacks: Sequence[Callable[..., Any]] | None, *args: Any
) -> Any:  # fmt: skip
    """Runs an operation, and returns its output, the list of several outputs, or None if it has none.

    Args:
      ctx: unused, as there is one context. device_name: the device; None or "" means that of the device scopes.
      callbacks: functions that are called after the operation, in addition to the registered execution callbacks.
      *args: one argument for each input (a list for a list of tensors), then names and values of attributes, alternating.

    Raises:
      ValueError: an input is missing. _FallbackException: an input is not an EagerTensor. The registered class: the operation fails.
    """
    # The checks of 1.15's fast path. Its callers convert the inputs and try again after a _FallbackException; numbers are converted here.
    try:
        spec = eager_execute.find_spec(op_name)
        count = len(spec.signature.inputs)
        if len(args) < count:
            raise ValueError(f"Tuple size smaller than intended. Expected to be at least {5 + count}, was {5 + len(args)}")
        inputs, rest = list(args[:count]), args[count:]
        leaves = [leaf for value in inputs for leaf in (value if isinstance(value, (list, tuple)) else [value])]
        if not all(isinstance(leaf, EagerTensor) for leaf in leaves if not isinstance(leaf, (int, float))):
            raise _FallbackException("This function does not handle the case of the path where all inputs are not already EagerTensors.")
    except errors.OpError as e:
        raise _failed(e) from None
    # `rest` alternates names and values of attributes.
    with execution_callbacks.also_calling(callbacks or ()), _on(device_name, op_name):
        try:
            results = apply_op(spec, inputs, dict(zip(rest[::2], rest[1::2])), name)
        except (TypeError, errors.OpError) as e:
            raise _failed(e) from None
    if results is None or isinstance(results, Operation):
        return None
    return list(results) if isinstance(results, tuple) else results
