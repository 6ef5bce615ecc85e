"""Python functions as operations: py_func, numpy_function."""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import array_memory, dtypes, errors, nest, promotion
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, PURE, Effects, NotDifferentiable, op
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

_ERRORS = (
    ((ValueError, TypeError), errors.InvalidArgumentError), (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError), (NotImplementedError, errors.UnimplementedError),
)  # fmt: skip


class Registered:
    """A function that a graph calls; the graph keeps it alive."""

    def __init__(self, function: Callable) -> None:
        self.function = function


class _Functions(weakref.WeakValueDictionary):
    """The functions of all graphs that are alive, by token."""

    def size(self) -> int:
        return len(self)


PY_FUNCTIONS: _Functions = _Functions()
_numbers = itertools.count()


def register(kind: str, function: Callable) -> str:
    """Lets the default graph call a function; the token that its nodes name it by."""
    token, registered = f"{kind}_{next(_numbers)}", Registered(function)
    PY_FUNCTIONS[token] = registered
    get_default_graph().__dict__.setdefault("_py_funcs_used_in_graph", []).append(registered)
    return token


def _as_array(value: Any) -> np.ndarray:
    array = np.asarray(value, order="C")
    if array.dtype.kind == "U":
        flat = [v.encode() for v in array.reshape(-1).tolist()]
    elif array.dtype.kind == "S":
        flat = array.reshape(-1).tolist()
    else:
        return array
    found = np.empty(len(flat), object)
    found[:] = flat
    return found.reshape(array.shape)


def _argument(value: Any) -> Any:
    """What the function gets: an array of its own, which it may change, or a NumPy scalar."""
    return np.array(value, order="C") if np.ndim(value) else np.asarray(value)[()]


def _returned(value: Any) -> list[np.ndarray]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [_as_array(v) for v in value]
    return [_as_array(value)]


def _kernel_name(dtype: Any) -> str:
    try:
        name = dtypes.as_dtype(dtype).name
    except TypeError:
        name = str(dtype)
    return dtypes.cpp_name(name)


def error_of_python(error: Exception) -> type[errors.OpError]:
    """As which error of tf.errors an exception of a Python function comes out of the run."""
    return next((kind for causes, kind in _ERRORS if isinstance(error, causes)), errors.UnknownError)


def _call(context, inputs, *, token, Tout):
    node = context.op.node_def, context.op
    registered = PY_FUNCTIONS.get(token)
    if registered is None:
        raise errors.InvalidArgumentError(*node, f"ValueError: callback {token} is not found")
    try:
        with promotion.OfProgram():
            results = _returned(registered.function(*[_argument(x) for x in inputs]))
    except Exception as e:
        raise error_of_python(e)(*node, f"{type(e).__name__}: {e}\n{traceback.format_exc()}") from e
    results = [array_memory.private(results, i) for i in range(len(results))]
    for item in (item for r in results if r.dtype == object for item in r.reshape(-1).tolist()):
        if not isinstance(item, (bytes, str)):
            raise errors.InternalError(*node, f"Unsupported object type {type(item).__name__}")
    if len(results) != len(Tout):
        raise errors.InvalidArgumentError(
            *node, f"{token} returns {len(results)} values, but expects to see {len(Tout)} values."
        )
    for i, (result, wanted) in enumerate(zip(results, Tout)):
        if result.dtype != wanted:
            raise errors.InvalidArgumentError(
                *node,
                f"{i}-th value returned by {token} is {_kernel_name(result.dtype)}, but expects {_kernel_name(wanted)}",
            )
    return tuple(results)


for _name, _effects in (("PyFunc", Effects(external=True, copies=True)), ("PyFuncStateless", PURE)):
    op(
        _name, "(input: Tin, *, token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> (output: "
               "Tout)", shape=si.unknown,
        gradient=NotDifferentiable("a Python function has no "
                                   "gradient"), kernel=_call, effects=_effects, place=HOST, context=True,
    )  # fmt: skip


@export("py_func")
def py_func(func: Callable, inp: list, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """Calls a Python function on NumPy arrays each time the operation runs.

    Args:
      func: takes one array (or NumPy scalar) per input; returns one array or a list of them.
      inp: list of tensors.
      Tout: DType of the result, or list of them.
      stateful: whether the function must be called in every run, even with equal inputs.
      name: node name.

    Returns:
      a Tensor of unknown shape, a list of them where `Tout` is a list, or the Operation where it is empty. Where operations
      run at once, as in 1.15: what `func` gives, of its own dtypes; a list only where these are several.

    Raises:
      ValueError: `func` cannot be called. When run: InvalidArgumentError for results of other number or dtype, and for
        ValueError and TypeError in `func`; OutOfRangeError, ResourceExhaustedError,
        UnimplementedError or UnknownError for others.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    kinds = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    if executing_eagerly():
        return _called_now(func, inp)
    token = register("pyfunc", func)
    make = raw.PyFunc if stateful else raw.PyFuncStateless
    result = make(inp, token=token, Tout=kinds, name=name)
    return result if isinstance(Tout, (list, tuple)) else result[0]


def _called_now(func: Callable, inp: list) -> Any:
    """What a function gives where operations run at once: a tensor, or a list of those in a nest, of the dtypes that they have."""
    found = [r if r is None else convert_to_tensor(r) for r in nest.flatten(func(*[convert_to_tensor(x).numpy() for x in inp]))]
    return found[0] if len(found) == 1 else found


@export("numpy_function")
def numpy_function(func: Callable, inp: list, Tout: Any, name: str | None = None) -> Any:
    """`py_func` of a stateful function."""
    return py_func(func, inp, Tout, stateful=True, name=name)
