"""Python's operators on Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.math import binary, compare, matmul, unary


def _add(x: Any, y: Any, name: str) -> Tensor:
    return (raw.Add if x.dtype is dtypes.string else raw.AddV2)(x, y, name=name)


def _mul_dispatch(x: Any, y: Any, name: str | None = None) -> Any:
    """The product of two tensors, or of a tensor and a SparseTensor, which is sparse."""
    if isinstance(y, Tensor):
        return raw.Mul(x, y, name=name)
    return type(y)(y.indices, raw.SparseDenseCwiseMul(y.indices, y.values, y.dense_shape, x, name=name), y.dense_shape)


def _override(operator: str, function: Callable) -> None:
    """Sets `x operator y` and its reflected form to `function(x, y, name)`, in a name scope called as the operator."""

    def left(x: Any, y: object) -> Any:
        with name_scope(None, operator, [x, y]) as scope:
            if not isinstance(y, (Tensor, SparseTensor)):
                try:
                    y = to_tensor(y, name="y", preferred_dtype=x.dtype.base_dtype)
                except TypeError:
                    if hasattr(type(y), f"__r{operator}__"):
                        return NotImplemented
                    raise
            return function(x, y, name=scope)

    def right(y: Any, x: object) -> Any:
        with name_scope(None, operator, [x, y]) as scope:
            return function(to_tensor(x, y.dtype.base_dtype, "x"), y, name=scope)

    for reflected, method in (("", left), ("r", right)):
        name = f"__{reflected}{operator}__"
        method.__name__, method.__doc__ = name, function.__doc__
        Tensor._override_operator(name, method)


_BINARY = {
    "add": _add,
    "sub": binary.subtract,
    "mul": _mul_dispatch,
    "div": binary.div,
    "truediv": binary.truediv,
    "floordiv": binary.floordiv,
    "mod": binary.floormod,
    "pow": binary.power,
    "and": compare.logical_and,
    "or": compare.logical_or,
    "xor": compare.logical_xor,
    "matmul": matmul.matmul,
}
_DIRECT = {
    "__neg__": unary.negative,
    "__abs__": unary.absolute,
    "__invert__": compare.logical_not,
    "__lt__": compare.less,
    "__le__": compare.less_equal,
    "__gt__": compare.greater,
    "__ge__": compare.greater_equal,
}

for _operator, _function in _BINARY.items():
    _override(_operator, _function)
for _operator, _function in _DIRECT.items():
    Tensor._override_operator(_operator, _function)
Tensor.OVERLOADABLE_OPERATORS.update(_DIRECT, (f"__{r}{o}__" for o in _BINARY for r in ("", "r")))
