"""tf.py_function: Python functions of tensors that run at once, as operations that have derivatives."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors, promotion
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.default_stack import GRAPHS, get_eager_graph
from tfcompat._src.base.export import export
from tfcompat._src.base.host_context import HostContext, HostRun
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Effects, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.ops.control.py_func import PY_FUNCTIONS, error_of_python, register, require_callable
from tfcompat._src.proto import messages


class _TooFewError(Exception):
    """A function has given fewer values than was said."""


class _EagerFunction:
    """A function that a graph calls.

    The derivative of a call takes the tape of the last call from the same session, once; all operations that run at once share one tape.
    """

    def __init__(self, function: Callable[..., Any], kinds: list[dtypes.DType]) -> None:
        self._function, self._kinds = function, kinds
        self._calls: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()

    def __call__(self, caller: HostRun | _EagerFunction, inputs: list[Tensor]) -> list[Tensor]:
        with GradientTape(persistent=True) as tape:
            for tensor in inputs:
                if tensor.dtype.is_floating or tensor.dtype.is_complex:
                    tape.watch(tensor)
            outputs = self.outputs(inputs)
        self._calls[caller] = (tape, inputs, outputs)
        return outputs

    def outputs(self, inputs: list[Tensor]) -> list[Tensor]:
        """What the function gives, as tensors; _TooFewError where these are fewer than was said."""
        result = self._function(*inputs)
        results = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if len(results) < len(self._kinds):
            text = f"{self._function} returns {len(results)} values, but expects to see {len(self._kinds)} values."
            raise _TooFewError(text)
        return [convert_to_tensor(r, dtype=kind) for r, kind in zip(results, self._kinds)]

    def gradient(self, caller: HostRun | _EagerFunction, grads: list[Tensor]) -> list[Tensor]:
        if caller not in self._calls:
            raise KeyError(f"the derivative of {self._function} can be taken once, for its last call")
        tape, inputs, outputs = self._calls.pop(caller)
        found = tape.gradient(outputs, inputs, output_gradients=grads)
        return [raw.ZerosLike(x) if g is None else convert_to_tensor(g) for x, g in zip(inputs, found)]


@contextlib.contextmanager
def _errors_of(node_def: messages.NodeDef | None, node: Operation | None) -> Iterator[None]:
    """A block in which the function of a node (None where there is none) is called: exceptions become those of tf.errors."""
    try:
        yield
    except _TooFewError as e:
        raise errors.InvalidArgumentError(node_def, node, str(e)) from None
    except Exception as e:
        raise error_of_python(e, node_def, node) from e


def _run(context: HostContext, inputs: tuple[NDArray, ...], token: str, method: str) -> tuple[NDArray, ...]:
    registered = PY_FUNCTIONS[token].function
    graph = get_eager_graph()
    device = graph.found("CPU:0")
    kinds = [t.dtype.base_dtype for t in context.op.inputs]
    with GRAPHS.entered(graph):
        tensors = [EagerTensor.of(np.asarray(x), kind, graph, device) for x, kind in zip(inputs, kinds)]
        with promotion.OfProgram(), _errors_of(context.op.node_def, context.op):
            found = getattr(registered, method)(registered if context.op.graph.is_program else context.run, tensors)
        return tuple(np.asarray(t._numpy()) for t in found)


def _eager_py_func(context: HostContext, inputs: tuple[NDArray, ...], *, token: str) -> tuple[NDArray, ...]:
    return _run(context, inputs, token, "__call__")


def _eager_py_func_gradient(context: HostContext, inputs: tuple[NDArray, ...], *, token: str) -> tuple[NDArray, ...]:
    return _run(context, inputs, token, "gradient")


def _gradient(node: Operation, *grads: Tensor) -> list[Tensor | None]:
    kinds = node.get_attr("Tin")
    ready = [raw.Identity(g) for g in grads]
    graph = get_default_graph()
    with graph.control_dependencies([graph.capture(node.outputs[0]) if isinstance(graph, FuncGraph) and node.graph is not graph else node]):
        found = raw.EagerPyFuncGradient(ready, token=node.get_attr("token"), Tout=kinds)
    return [g if kind.is_floating or kind.is_complex else None for g, kind in zip(found, kinds)]


op(
    "EagerPyFunc", "(input: Tin, *, token: string, Tin: list(type) >= 0, Tout: list(type) >= 0, is_async: bool = False) -> (output: Tout)",
    shape=si.unknown, gradient=_gradient, kernel=_eager_py_func, effects=Effects(external=True, calls=True), side=HOST, context=True,
)  # fmt: skip
op(
    "EagerPyFuncGradient", "(input: Tin, *, token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> (output: Tout)",
    shape=si.unknown, gradient=NotDifferentiable("the tape of a call is asked once", raises=True), kernel=_eager_py_func_gradient, effects=EXTERNAL, side=HOST, context=True,
)  # fmt: skip


@export("py_function", "contrib.eager.py_func")
def py_function(func: Callable[..., Any], inp: list[Any], Tout: object, name: str | None = None) -> Any:
    """Calls a Python function of tensors each time the operation runs; derivatives go through it.

    Args:
      func: takes one eager tensor per input; gives what becomes tensors of `Tout`.
      inp: list of tensors. Tout: DType of the result, or list of them. name: node name.

    Returns:
      a Tensor of unknown shape, a list of them where `Tout` is a list, or the Operation where it is empty.

    Raises:
      ValueError: `func` cannot be called. Where it runs: errors.InvalidArgumentError: `func` gives fewer values than `Tout` says,
        and the errors of tf.errors for exceptions that `py_func` names.
    """
    kinds = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
    function = _EagerFunction(func, kinds)
    require_callable(func)
    if executing_eagerly():
        inputs = [convert_to_tensor(x) for x in inp]
        with _errors_of(None, None):
            found = function.outputs(inputs)
        return found if isinstance(Tout, (list, tuple)) else found[0]
    token = register("pyfunc_eager", function)
    found = raw.EagerPyFunc(inp, token=token, Tout=kinds, name=name)
    return found if isinstance(Tout, (list, tuple)) else found[0]
