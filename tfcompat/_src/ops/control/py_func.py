"""Python functions as operations: py_func, numpy_function."""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import array_memory, confinement, dtypes, errors, nest, promotion, run_limits
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, Effects, NotDifferentiable, op
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.graph.operation import Operation

_ERRORS = (
    ((ValueError, TypeError), errors.InvalidArgumentError), (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError), (NotImplementedError, errors.UnimplementedError),
)  # fmt: skip

_UNSUPPORTED = {"M": "NPY_DATETIME", "m": "NPY_TIMEDELTA", "g": "NPY_LONGDOUBLE", "G": "NPY_CLONGDOUBLE"}
"""The names, in C, of NumPy's types that no dtype of tensors has, by kind or character."""


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


def registered_as(token: str, op: Operation) -> Registered:
    """Returns the function that a node calls, by its token.

    Raises:
      errors.InvalidArgumentError: there is none. errors.PermissionDeniedError: the run is for a client of a server, see `base/confinement`.
    """
    confinement.require_unconfined("Python functions")
    registered = PY_FUNCTIONS.get(token)
    if registered is None:
        raise errors.InvalidArgumentError(op.node_def, op, f"ValueError: callback {token} is not found")
    return registered


def _as_array(value: object) -> np.ndarray:
    """A result as an array; strings are bytes objects, with the NULs at their end that an array of NumPy's kind "S" drops."""
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "USO":
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    flat = (np.asarray(value, object) if array.dtype.kind == "S" else array).reshape(-1).tolist()
    found = np.empty(len(flat), object)
    found[:] = [v.encode() if isinstance(v, str) else v for v in flat]
    return found.reshape(array.shape)


def _unsupported(array: np.ndarray) -> str | None:
    """What 1.15 says of an array that no dtype of tensors holds; None for others."""
    if array.dtype == object:
        others = (type(item).__name__ for item in array.reshape(-1).tolist() if not isinstance(item, bytes))
        return next((f"Unsupported object type {name}" for name in others), None)
    if array.dtype.kind in _UNSUPPORTED:
        return f"Unsupported numpy type: {_UNSUPPORTED[array.dtype.kind]}"
    if array.dtype.char in _UNSUPPORTED:
        return f"Unsupported numpy type: {_UNSUPPORTED[array.dtype.char]}"
    is_quantized = array.dtype.names is not None and any(array.dtype == kind.as_numpy_dtype for kind in dtypes.QUANTIZED_DTYPES)
    return "Unsupported numpy data type" if array.dtype.kind == "V" and array.dtype.names is not None and not is_quantized else None


def _argument(value: Any) -> Any:
    """What the function gets: an array of its own, which it may change, or a NumPy scalar."""
    return np.array(value, order="C") if np.ndim(value) else np.asarray(value)[()]


def _returned(value: object) -> list[np.ndarray]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [_as_array(v) for v in value]
    return [_as_array(value)]


def _kernel_name(dtype: DTypeLike) -> str:
    try:
        name = dtypes.as_dtype(dtype).name
    except TypeError:
        name = str(dtype)
    return dtypes.cpp_name(name)


def error_of_python(error: Exception, *node: Any) -> errors.OpError:
    """As which error of tf.errors an exception of a Python function comes out of a node (its NodeDef and Operation, or None twice)."""
    kind = next((kind for causes, kind in _ERRORS if isinstance(error, causes)), errors.UnknownError)
    return kind(*node, f"{type(error).__name__}: {error}\n{traceback.format_exc()}")


def _call(context, inputs, *, token, Tout):
    node = context.op.node_def, context.op
    registered = registered_as(token, context.op)
    try:
        with promotion.OfProgram():
            results = _returned(registered.function(*[_argument(x) for x in inputs]))
    except Exception as e:
        raise error_of_python(e, *node) from e
    run_limits.require_time()  # the function may have slept past the run's deadline
    results = [array_memory.private(results, i) for i in range(len(results))]
    for result in results:
        if (fault := _unsupported(result)) is not None:
            raise errors.InternalError(*node, fault)
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


for _name, _effects in (("PyFunc", Effects(external=True, copies=True, calls=True)), ("PyFuncStateless", Effects(calls=True))):
    op(
        _name, "(input: Tin, *, token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> (output: "
               "Tout)", shape=si.unknown,
        gradient=NotDifferentiable("a Python function has no "
                                   "gradient"), kernel=_call, effects=_effects, side=HOST, context=True,
    )  # fmt: skip


@export("py_func")
def py_func(func: Callable, inp: list, Tout: object, stateful: bool = True, name: str | None = None) -> Any:
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
      ValueError: `func` cannot be called (TypeError where operations run at once). When run: InvalidArgumentError for results of other number or dtype, and for
        ValueError and TypeError in `func`; OutOfRangeError, ResourceExhaustedError,
        UnimplementedError or UnknownError for others; InternalError for arrays that no dtype of tensors holds.
    """
    if executing_eagerly():
        return _called_now(func, inp)
    require_callable(func)
    kinds = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    token = register("pyfunc", func)
    make = raw.PyFunc if stateful else raw.PyFuncStateless
    result = make(inp, token=token, Tout=kinds, name=name)
    return result if isinstance(Tout, (list, tuple)) else result[0]


def require_callable(func: object) -> None:
    """Raises ValueError for what cannot be called."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")


def _called_now(func: Callable, inp: list) -> Any:
    """What a function gives where operations run at once: a tensor, or a list of those in a nest, of the dtypes that they have."""
    found = [r if r is None else convert_to_tensor(r) for r in nest.flatten(func(*[convert_to_tensor(x).numpy() for x in inp]))]
    return found[0] if len(found) == 1 else found


@export("numpy_function")
def numpy_function(func: Callable, inp: list, Tout: object, name: str | None = None) -> Any:
    """`py_func` of a stateful function."""
    return py_func(func, inp, Tout, stateful=True, name=name)
