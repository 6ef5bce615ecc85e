"""What stands for Python's built-in functions and operators in converted code."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.autograph.utils import is_tensor_list, wrap_py_func
from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor_like import is_dense_tensor_like, is_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.unary import absolute

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor

_MISSING = object()


# ---- operators ----


def if_exp(test: TensorLike, body: Callable, orelse: Callable) -> Any:
    if is_dense_tensor_like(test):
        return cond(test, body, orelse)
    return body() if test else orelse()


def and_(a: Callable, b: Callable) -> Any:
    """`a() and b()`."""
    left = a()
    if is_dense_tensor_like(left):
        return cond(left, b, lambda: left)
    return left and b()


def or_(a: Callable, b: Callable) -> Any:
    """`a() or b()`."""
    left = a()
    if is_dense_tensor_like(left):
        return cond(left, lambda: left, b)
    return left or b()


def not_(a: TensorLike) -> Any:
    return raw.LogicalNot(a) if is_dense_tensor_like(a) else not a


def eq(a: TensorLike, b: TensorLike) -> Any:
    return raw.Equal(a, b) if is_tensor(a) or is_tensor(b) else a == b


def not_eq(a: TensorLike, b: TensorLike) -> Any:
    return raw.NotEqual(a, b) if is_tensor(a) or is_tensor(b) else a != b


# ---- functions ----


def tensor_length(tensor: Any) -> Any:
    """The size of the first dimension: a number where it is known, else a tensor.

    Raises:
      ValueError: a scalar.
    """
    if tensor.shape.ndims and tensor.shape.as_list()[0] is not None:
        return tensor.shape.as_list()[0]
    if tensor.shape.ndims is not None:
        if tensor.shape.ndims == 0:
            raise ValueError(f"len requires a non-scalar tensor, got one of shape {raw.Shape(tensor)}")
        return raw.Shape(tensor)[0]
    rank = raw.Rank(tensor)

    def no_length() -> Tensor:
        with control_dependencies([Assert(False, [raw.StringJoin(["len requires non-zero rank, got ", raw.AsString(rank)])])]):
            return constant(0)

    return cond(rank > 0, lambda: raw.Shape(tensor)[0], no_length)


def len_(s: Any) -> Any:
    if isinstance(s, TensorArray):
        return s.size()
    if not is_tensor(s):
        return len(s)
    return raw.TensorListLength(s) if is_tensor_list(s) else tensor_length(s)


def abs_(x: Any) -> Tensor:
    return absolute(x) if is_tensor(x) else abs(x)


def float_(x: Any = 0) -> Tensor | float:
    return _number(x, dtypes.float32) if is_tensor(x) else float(x)


def int_(x: Any = 0, base: Any = _MISSING) -> Tensor | int:
    if not is_tensor(x):
        return int(x) if base is _MISSING else int(x, base)
    if base not in (10, _MISSING):
        raise NotImplementedError(f"base {base} not supported for int")
    return _number(x, dtypes.int32)


def _number(x: Any, kind: dtypes.DType) -> Tensor:
    return raw.StringToNumber(x, out_type=kind) if x.dtype == dtypes.string else raw.Cast(x, DstT=kind)


def range_(start_or_stop: Any, stop: Any = _MISSING, step: Any = _MISSING) -> Any:
    given = [each for each in (start_or_stop, stop, step) if each is not _MISSING]
    if not any(map(is_tensor, given)):
        return range(*given)
    start, limit = (0, start_or_stop) if stop is _MISSING else (start_or_stop, stop)
    if step is _MISSING:
        return raw.Range(start, raw.Maximum(start, limit), 1)
    return raw.Range(start, limit, step)


@functools.singledispatch
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`; of a dataset, a dataset of pairs."""
    return enumerate(iterable, start)


@functools.singledispatch
def zip_items(*iterables: object) -> Any:
    """`zip`; of datasets alone, a dataset of tuples."""
    return zip(*iterables)


def zip_(*iterables: object) -> Any:
    return zip_items(*iterables) if iterables else zip()


def print_(*objects: Any, **kwargs: Any) -> Any:
    """`print`; of tensors, an operation that prints when it runs."""
    if not any(map(is_tensor, objects)):
        return print(*objects, **kwargs)
    unknown = tuple(sorted(kwargs.keys() - {"sep", "end", "file", "flush"}))
    if unknown:
        raise ValueError(f"invalid keyword arguments: {unknown}")

    def run(*values: Any) -> None:
        shown = [each.numpy() if is_tensor(each) else each for each in values]
        print(*(each.decode() if isinstance(each, bytes) else each for each in shown), **{"flush": True, **kwargs})

    return wrap_py_func(run, None, objects, use_dummy_return=True)


# ---- functions that look at the frame of their caller ----


def _frames_of(scope: Any, caller: types.FrameType | None) -> list[types.FrameType]:
    """The frames from `caller` on that hold a FunctionScope in the variable that it is named after, inner ones first."""
    found, frame = [], caller
    while frame is not None:
        if frame.f_locals.get(scope.name) is scope:
            found.append(frame)
        frame = frame.f_back
    if not found:
        raise AssertionError("the conversion process should ensure the caller_fn_scope is always found somewhere on the call stack")
    return found


def eval_in_original_context(f: Callable, args: tuple, caller_fn_scope: object) -> Any:
    """Calls `eval` with the names that the innermost function of a FunctionScope sees.

    Args:
      f: the function. args: its arguments, of which the globals and the locals may lack. caller_fn_scope: the FunctionScope.
    """
    frame = _frames_of(caller_fn_scope, sys._getframe(1))[0]
    return f(*args, *(frame.f_globals, frame.f_locals)[len(args) - 1 :])


def super_in_original_context(f: Callable, args: tuple, caller_fn_scope: object) -> Any:
    """Calls `super`, without arguments for the class and the object of the outermost function of a FunctionScope.

    Args:
      f: the function. args: its arguments. caller_fn_scope: the FunctionScope.
    """
    if args:
        return f(*args)
    frame = _frames_of(caller_fn_scope, sys._getframe(1))[-1]
    return f(frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]])


OVERLOADS: dict[Any, Callable] = {
    builtins.abs: abs_, builtins.float: float_, builtins.int: int_, builtins.len: len_, builtins.range: range_, builtins.enumerate: enumerate_,
    builtins.zip: zip_,
}  # fmt: skip
