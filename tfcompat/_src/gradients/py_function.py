"""tf.py_function: Python functions of eager tensors as operations of a graph, differentiated with a GradientTape.

Each call of the function is recorded on a tape, which the operation EagerPyFuncGradient asks for the gradients in the same run.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors, promotion, run_limits
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
from tfcompat._src.ops.control.py_func import error_of_python, register, registered_as, require_callable
from tfcompat._src.proto import messages


class _TooFewError(Exception):
    """A function returned fewer values than its Tout declares."""


class _EagerFunction:
    """A Python function that a graph calls, with the tapes of its calls.

    The gradient uses the tape of the last call by the same caller, once. A caller is the state of a session's runs; all eager calls share one.
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
        """Calls the function and converts its results to tensors of the declared dtypes; surplus results are dropped.

        Raises:
          _TooFewError: it returns fewer values than Tout declares.
        """
        result = self._function(*inputs)
        results = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if len(results) < len(self._kinds):
            text = f"{self._function} returns {len(results)} values, but expects to see {len(self._kinds)} values."
            raise _TooFewError(text)
        return [convert_to_tensor(r, dtype=kind) for r, kind in zip(results, self._kinds)]

    def gradient(self, caller: HostRun | _EagerFunction, grads: list[Tensor]) -> list[Tensor]:
        """Returns the gradients of the inputs of the caller's last call, with zeros where nothing flows.

        Raises:
          KeyError: that call's gradient was taken before, or there was no call.
        """
        if caller not in self._calls:
            raise KeyError(f"the derivative of {self._function} can be taken once, for its last call")
        # As in TensorFlow 1.15 the tape is released with its first use.
        tape, inputs, outputs = self._calls.pop(caller)
        input_grads = tape.gradient(outputs, inputs, output_gradients=grads)
        return [raw.ZerosLike(x) if g is None else convert_to_tensor(g) for x, g in zip(inputs, input_grads)]


@contextlib.contextmanager
def _errors_of(node_def: messages.NodeDef | None, node: Operation | None) -> Iterator[None]:
    """Turns the exceptions of its block, which calls the function of a node (None for an eager call), into those of tf.errors."""
    try:
        yield
    except _TooFewError as e:
        raise errors.InvalidArgumentError(node_def, node, str(e)) from None
    except Exception as e:
        raise error_of_python(e, node_def, node) from e


def _run(context: HostContext, inputs: tuple[NDArray, ...], token: str, method: str) -> tuple[NDArray, ...]:
    """Calls a method of the function registered under `token` on eager tensors of NumPy inputs, and returns NumPy results."""
    registered = registered_as(token, context.op).function
    graph = get_eager_graph()
    device = graph.found("CPU:0")
    kinds = [t.dtype.base_dtype for t in context.op.inputs]
    # The function runs eagerly on the CPU, whatever graph or device the caller uses.
    with GRAPHS.entered(graph):
        tensors = [EagerTensor.of(np.asarray(x), kind, graph, device) for x, kind in zip(inputs, kinds)]
        with promotion.OfProgram(), _errors_of(context.op.node_def, context.op):
            results = getattr(registered, method)(registered if context.op.graph.is_program else context.run, tensors)
        run_limits.require_time()  # the function may have slept past the run's deadline
        return tuple(np.asarray(t._numpy()) for t in results)


def _eager_py_func(context: HostContext, inputs: tuple[NDArray, ...], *, token: str) -> tuple[NDArray, ...]:
    return _run(context, inputs, token, "__call__")


def _eager_py_func_gradient(context: HostContext, inputs: tuple[NDArray, ...], *, token: str) -> tuple[NDArray, ...]:
    return _run(context, inputs, token, "gradient")


def _gradient(node: Operation, *grads: Tensor) -> list[Tensor | None]:
    kinds = node.get_attr("Tin")
    ready = [raw.Identity(g) for g in grads]
    graph = get_default_graph()
    # The gradient finds a tape only after the call: without the control edge it could run first. In the gradient function of another
    # graph the edge goes to the captured result.
    with graph.control_dependencies([graph.capture(node.outputs[0]) if isinstance(graph, FuncGraph) and node.graph is not graph else node]):
        input_grads = raw.EagerPyFuncGradient(ready, token=node.get_attr("token"), Tout=kinds)
    return [g if kind.is_floating or kind.is_complex else None for g, kind in zip(input_grads, kinds)]


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
    """Adds an operation that calls a Python function of eager tensors whenever it runs, and that is differentiable.

    Args:
      func: takes one eager tensor per input; returns values that are converted to `Tout`.
      inp: list of tensors. Tout: DType of the result, or list of them. name: node name.

    Returns:
      a Tensor of unknown shape; a list of them if `Tout` is a list; the Operation if `Tout` is empty.

    Raises:
      ValueError: `func` is not callable. When it runs: errors.InvalidArgumentError: `func` returns fewer values than `Tout` has;
        other exceptions become the errors of tf.errors that `py_func` lists.
    """
    kinds = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
    function = _EagerFunction(func, kinds)
    require_callable(func)
    if executing_eagerly():
        inputs = [convert_to_tensor(x) for x in inp]
        with _errors_of(None, None):
            results = function.outputs(inputs)
        return results if isinstance(Tout, (list, tuple)) else results[0]
    # The node holds a token only, as TensorFlow 1.15's does: the graph can be serialized, but runs in this process alone.
    token = register("pyfunc_eager", function)
    results = raw.EagerPyFunc(inp, token=token, Tout=kinds, name=name)
    return results if isinstance(Tout, (list, tuple)) else results[0]
