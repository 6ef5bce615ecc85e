"""`tensorflow.python.pywrap_tensorflow`: operations that run at once, as TensorFlow's generated functions call them."""

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


def TFE_Py_RegisterExceptionClass(e: object) -> None:
    """Says what is raised where an operation fails, with a message and a code.

    Raises:
      TypeError: it is no class of exceptions.
    """
    if not isinstance(e, type) or not issubclass(e, Exception):
        raise TypeError("TFE_Py_RegisterExceptionClass: Registered class should be subclass of Exception.")
    globals()["exception_class"] = e


def TFE_Py_RegisterForwardGradientFunction(e: object) -> None:
    """Says which function differentiates operations forward for ForwardGradientAccumulator, with the arguments of `_forward_gradient`.

    Raises:
      TypeError: it is not callable.
    """
    if not callable(e):
        raise TypeError("TFE_Py_RegisterForwardGradientFunction: Registered object should be function.")
    forwardprop.REGISTERED[0] = e


def _failed(error: Exception) -> Exception:
    """What to raise for an operation that fails, or whose arguments do not fit its type."""
    if isinstance(error, errors.OpError):
        return exception_class(error.message, error.error_code)
    return exception_class(str(error), errors.INVALID_ARGUMENT)


def _on(device_name: str | None, op_name: str) -> contextlib.AbstractContextManager[None]:
    """Places an operation on a device, or on another one of its task where that has none of this kind.

    Raises:
      The registered class: the name is none of a device, or its task is not there.
    """
    graph = get_default_graph()
    if not device_name or not isinstance(graph, EagerGraph):
        return contextlib.nullcontext()
    if not device_name.startswith("/"):
        raise exception_class(f"Malformed device specification '{device_name}' in eager op: Name: {op_name}", errors.INVALID_ARGUMENT)
    task = device_lib.DeviceSpec.from_string(device_lib.canonical_name(device_name)).replace(device_type=None, device_index=None)
    for wanted in (device_name, task.to_string()):
        with contextlib.suppress(RuntimeError):
            return device(graph.found(wanted))
    raise exception_class(f"Could not satisfy device specification '{device_name}' in eager op: Name: {op_name}", errors.INVALID_ARGUMENT)


def TFE_Py_Execute(
    ctx: object, device_name: str | None, op_name: str, inputs: Sequence[Any], attrs: Sequence[Any] | None, num_outputs: int
) -> list[Any]:
    """Runs an operation on its flat inputs; the list of its outputs.

    Args:
      ctx: unused, as there is one context. device_name: where it runs; None or empty for what the device scopes say.
      attrs: names and values of attributes in turn.

    Raises:
      TypeError: an input is no EagerTensor. The registered class: the operation fails.
    """
    try:
        with _on(device_name, op_name):
            return eager_execute.run(op_name, inputs, attrs)[:num_outputs]
    except errors.OpError as e:
        raise _failed(e) from None


def TFE_Py_FastPathExecute(
    ctx: object, device_name: str | None, op_name: str, name: str | None, callbacks: Sequence[Callable[..., Any]] | None, *args: Any
) -> Any:  # fmt: skip
    """Runs an operation; its one output, the list of several, or None.

    Args:
      ctx: unused, as there is one context. device_name: where it runs; None or empty for what the device scopes say.
      callbacks: are called after the operation, besides those that were added.
      *args: one argument for each input, a list for a list of tensors, then names and values of attributes in turn.

    Raises:
      ValueError: an input lacks. _FallbackException: an input is no EagerTensor. The registered class: the operation fails.
    """
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
    with execution_callbacks.also_calling(callbacks or ()), _on(device_name, op_name):
        try:
            found = apply_op(spec, inputs, dict(zip(rest[::2], rest[1::2])), name)
        except (TypeError, errors.OpError) as e:
            raise _failed(e) from None
    if found is None or isinstance(found, Operation):
        return None
    return list(found) if isinstance(found, tuple) else found
