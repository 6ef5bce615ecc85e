"""tf.* functions and Python's operators on ragged tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dispatch, dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.dispatch import OpDispatcher
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.nodes.convert import register_tensor_conversion_function
from tfcompat._src.ops.math import binary, compare, unary
from tfcompat._src.ops.ragged import array, math, rows
from tfcompat._src.ops.ragged.broadcast import apply_elementwise
from tfcompat._src.ops.ragged.partition import assert_splits_match
from tfcompat._src.ops.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
)  # fmt: skip


class _ElementwiseDispatcher(OpDispatcher):
    """A function whose first `count` arguments are tensors of the same rows, or one list of them."""

    def __init__(self, function: Callable, count: int) -> None:
        self._function = function.__wrapped__
        self._names = list(inspect.signature(function).parameters)[:count]

    def handle(self, args: tuple, kwargs: dict) -> Any:
        kwargs = dict(kwargs)
        values = [*args[: len(self._names)]]
        values += [kwargs.pop(name, None) for name in self._names[len(values) :]]
        rest = args[len(self._names) :]
        return self._apply(values, lambda *given: self._function(*given, *rest, **kwargs))

    def _apply(self, values: list, function: Callable) -> Any:
        raise NotImplementedError


class _Unary(_ElementwiseDispatcher):
    def _apply(self, values: list, function: Callable) -> Any:
        if not is_ragged(values[0]):
            return self.NOT_SUPPORTED
        x = convert_to_tensor_or_ragged_tensor(values[0])
        return x.with_flat_values(function(x.flat_values))


class _UnaryList(_ElementwiseDispatcher):
    def _apply(self, values: list, function: Callable) -> Any:
        entries = values[0]
        if not isinstance(entries, (list, tuple)) or not any(map(is_ragged, entries)):
            return self.NOT_SUPPORTED
        entries = match_row_splits_dtypes(*(convert_to_tensor_or_ragged_tensor(e) for e in entries))
        nested = [e.nested_row_splits for e in entries if is_ragged(e)]
        with control_dependencies(assert_splits_match(nested)):
            found = function([e.flat_values if is_ragged(e) else e for e in entries])
            return RaggedTensor.from_nested_row_splits(found, nested[0], validate=False)


class _Binary(_ElementwiseDispatcher):
    def _apply(self, values: list, function: Callable) -> Any:
        x, y = values
        if not is_ragged(x) and not is_ragged(y):
            return self.NOT_SUPPORTED
        dtype = convert_to_tensor_or_ragged_tensor(x if is_ragged(x) else y).dtype
        try:
            x = convert_to_tensor_or_ragged_tensor(x, preferred_dtype=dtype, name=self._names[0])
            y = convert_to_tensor_or_ragged_tensor(y, preferred_dtype=dtype, name=self._names[1])
        except (TypeError, ValueError):
            return self.NOT_SUPPORTED
        return apply_elementwise(function, *match_row_splits_dtypes(x, y))


class _Structural(OpDispatcher):
    """A function that another one with the same parameters stands in for where one of the first `count` is ragged."""

    def __init__(self, function: Callable, stand_in: Callable, count: int) -> None:
        self._stand_in = stand_in
        self._names = list(inspect.signature(function).parameters)[:count]

    def handle(self, args: tuple, kwargs: dict) -> Any:
        values = [args[i] if i < len(args) else kwargs.get(name) for i, name in enumerate(self._names)]
        entries = [e for v in values for e in (v if isinstance(v, (list, tuple)) else (v,))]
        return self._stand_in(*args, **kwargs) if any(map(is_ragged, entries)) else self.NOT_SUPPORTED


def _reduction(function: Callable) -> Callable:
    def stand_in(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
        return function(input_tensor, axis, deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims), name)

    return stand_in


def _dynamic_partition(data, partitions, num_partitions, name=None):
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    found = array.stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [found[i] for i in range(num_partitions)]


def _expand_dims(input, axis=None, name=None, dim=None):
    return array.expand_dims(input, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def _gather(params, indices, validate_indices=None, name=None, axis=0, batch_dims=0):
    return rows.gather(params, indices, validate_indices, axis, batch_dims, name)


def _squeeze(input, axis=None, name=None, squeeze_dims=None):
    return array.squeeze(input, deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims), name)


_STAND_INS: dict[str, tuple[Callable, int]] = {
    "batch_gather": (rows.batch_gather, 2),
    "concat": (rows.concat, 1),
    "dynamic_partition": (_dynamic_partition, 2),
    "expand_dims": (_expand_dims, 1),
    "gather": (_gather, 2),
    "gather_nd": (lambda params, indices, name=None, batch_dims=0: rows.gather_nd(params, indices, batch_dims, name), 2),
    "one_hot": (array.ragged_one_hot, 1),
    "rank": (array.rank, 1),
    "size": (lambda input, name=None, out_type=dtypes.int32: array.size(input, out_type, name), 1),
    "squeeze": (_squeeze, 1),
    "stack": (rows.stack, 1),
    "tile": (array.tile, 1),
    "where": (array.where, 3),
    **{f"reduce_{n}": (_reduction(getattr(math, f"reduce_{n}")), 1) for n in ("all", "any", "max", "mean", "min", "prod", "sum")},
    **{
        f"math.unsorted_segment_{n}": (getattr(math, f"segment_{n}"), 2)
        for n in ("max", "mean", "min", "prod", "sqrt_n", "sum")
    },
}


def _add_dispatcher(name: str, function: Callable) -> None:
    if name in dispatch.UNARY:
        _Unary(function, 1).register(function)
    elif name in dispatch.UNARY_LIST:
        _UnaryList(function, 1).register(function)
    elif name in dispatch.BINARY:
        _Binary(function, 2).register(function)
    elif name in _STAND_INS:
        stand_in, count = _STAND_INS[name]
        _Structural(function, stand_in, count).register(function)


def _no_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(f"Failed to convert a {type(value).__name__} to a Tensor; use its to_tensor(). Contents: {value}.")


def _set_operators() -> None:
    """Python's operators: those of Tensor, with broadcasting between rows."""
    operators = {
        "add": binary.add, "sub": binary.subtract, "mul": binary.multiply, "div": binary.div, "truediv": binary.truediv,
        "floordiv": binary.floordiv, "mod": binary.floormod, "pow": binary.power, "and": compare.logical_and,
        "or": compare.logical_or, "xor": compare.logical_xor,
    }  # fmt: skip
    for name, function in operators.items():
        setattr(RaggedTensor, f"__{name}__", lambda x, y, f=function: f(x, y))
        setattr(RaggedTensor, f"__r{name}__", lambda y, x, f=function: f(x, y))
    direct = {
        "__neg__": unary.negative, "__abs__": unary.absolute, "__invert__": compare.logical_not, "__lt__": compare.less,
        "__le__": compare.less_equal, "__gt__": compare.greater, "__ge__": compare.greater_equal,
    }  # fmt: skip
    for name, function in direct.items():
        setattr(RaggedTensor, name, function)

    def no_truth(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    RaggedTensor.__bool__ = no_truth


register_tensor_conversion_function(RaggedTensor, _no_tensor, 10)
dispatch.watch(_add_dispatcher)
_set_operators()
