"""Assertions about elements and types: tf.assert_equal, tf.assert_positive, tf.assert_type and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import reshape, shape, size
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math import compare
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.unary import absolute

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NUMERIC = frozenset((
    dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.qint8,
    dtypes.qint32, dtypes.quint8, dtypes.complex64,
))  # fmt: skip


# ---- comparison of two tensors ----


def _shown(value: object) -> str:
    """A piece of a message: the value of a tensor where it is known while building."""
    known = constant_value(value) if isinstance(value, Tensor) else None
    return str(value if known is None else known)


def label(tensor: Tensor) -> str:
    """What messages call a tensor: its name, or its shape and dtype where it has none."""
    return f"shape={tensor.shape} dtype={tensor.dtype.name}" if executing_eagerly() else tensor.name


def _first(value: Any, count: int) -> np.ndarray:
    flat = np.reshape(value, [-1])
    return flat[: count if count >= 0 else None]


def _listed(value: object, count: int) -> str:
    """A piece of an eager message: the first elements of a tensor."""
    if not isinstance(value, Tensor):
        return str(value)
    array = value.numpy()
    if not np.ndim(array):
        return str(array)
    found = [str(v) for v in _first(array, count)]
    return str(found + ["..."] * (len(found) < np.size(array)))


def _difference_lines(sign: str, x: Any, y: Any, unequal: np.ndarray, count: int) -> list[str]:
    """An eager message about `x sign y`."""
    lines = [f"Condition x {sign} y did not hold."]
    if np.shape(x) == np.shape(y) != ():
        places = np.argwhere(unequal)[: count if count >= 0 else None]
        lines += [
            f"Indices of first {len(places)} different values:", places,
            "Corresponding x values:", _first(x[unequal], count), "Corresponding y values:", _first(y[unequal], count),
        ]  # fmt: skip
    for name, value in (("x", _first(x, count)), ("y", _first(y, count))):
        lines += [f"First {len(value)} elements of {name}:", value]
    return lines


def _compared_now(
    sign: str, relation: Callable, x: Any, y: Any, data: Any, summarize: int | None, message: str | None
) -> None:
    condition = relation(x, y).numpy()
    if np.all(condition):
        return
    count = 3 if summarize is None else summarize
    if data is None:
        lines = _difference_lines(sign, x.numpy(), y.numpy(), ~condition, count)
    else:
        lines = [_listed(v, count) for v in data]
    raise errors.InvalidArgumentError(None, None, "\n".join(map(str, [message, *lines] if message else lines)))


def _compared(
    sign: str, relation: Callable, holds: Callable, x: TensorLike, y: TensorLike, data: Any, summarize: int | None,
    message: str | None,
) -> Operation | None:  # fmt: skip
    """Asserts `x sign y`; raises at once where both are known and it does not hold."""
    x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
    if executing_eagerly():
        return _compared_now(sign, relation, x, y, data, summarize, message)
    if data is None:
        data = [
            f"Condition x {sign} y did not hold element-wise:", f"x ({label(x)}) = ", x, f"y ({label(y)}) = ", y,
        ]  # fmt: skip
    if message is not None:
        data = [message, *data]
    condition = reduce_all(relation(x, y))
    known_x, known_y = constant_value(x), constant_value(y)
    if known_x is not None and known_y is not None and not np.all(holds(known_x, known_y)):
        raise errors.InvalidArgumentError(None, None, "\n".join(_shown(v) for v in data))
    return Assert(condition, data, summarize=summarize)


def _binary(name: str, sign: str, relation: Callable, holds: Callable) -> Callable:
    """The public function that asserts `x sign y`."""
    default_name = name

    def function(x, y, data=None, summarize=None, message=None, name=None):
        if relation is compare.equal:
            with name_scope(name, default_name, [x, y, data]):
                if x is y:
                    return None if executing_eagerly() else no_op()
        with name_scope(name, default_name, [x, y, data]):
            return _compared(sign, relation, holds, x, y, data, summarize, message)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""An operation that demands x {sign} y for every pair of elements, with broadcasting.

    Args:
      x, y: tensors of one dtype.
      data: list of tensors to show where it does not hold; by default x and y.
      summarize: how many entries of each to show, 3 by default.
      message: text before `data`.
      name: name scope.

    Raises:
      InvalidArgumentError: in a run, or at once where x and y are known while building and the condition does not hold.
    """
    return function


assert_equal = export("assert_equal", "debugging.assert_equal")(_binary("assert_equal", "==", compare.equal, np.equal))
assert_none_equal = export("assert_none_equal", "debugging.assert_none_equal")(
    _binary("assert_none_equal", "!=", compare.not_equal, np.not_equal)
)
assert_less = export("assert_less", "debugging.assert_less")(_binary("assert_less", "<", compare.less, np.less))
assert_less_equal = export("assert_less_equal", "debugging.assert_less_equal")(
    _binary("assert_less_equal", "<=", compare.less_equal, np.less_equal)
)
assert_greater = export("assert_greater", "debugging.assert_greater")(
    _binary("assert_greater", ">", compare.greater, np.greater)
)
assert_greater_equal = export("assert_greater_equal", "debugging.assert_greater_equal")(
    _binary("assert_greater_equal", ">=", compare.greater_equal, np.greater_equal)
)


@export("assert_near", "debugging.assert_near")
def assert_near(
    x: TensorLike, y: TensorLike, rtol: object = None, atol: object = None, data: Any = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> Operation:  # fmt: skip
    """An operation that demands |x - y| < atol + rtol * |y| for every pair of elements.

    Args:
      x, y: floating tensors of one dtype.
      rtol, atol: tolerances, 10 times the machine epsilon of the dtype by default.
      data, summarize, message, name: those of `assert_equal`.

    Raises:
      InvalidArgumentError: in a run where the condition does not hold.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype)
        epsilon = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        rtol = convert_to_tensor(epsilon if rtol is None else rtol, name="rtol", dtype=x.dtype)
        atol = convert_to_tensor(epsilon if atol is None else atol, name="atol", dtype=x.dtype)
        if data is None:
            data = [
                message or "", f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}", f"x ({label(x)}) = ", x,
                f"y ({label(y)}) = ", y,
            ]  # fmt: skip
        tolerance = atol + rtol * absolute(y)
        condition = reduce_all(compare.less(absolute(x - y), tolerance))
        return Assert(condition, data, summarize=summarize)


# ---- comparison with zero ----


def _signed(name: str, sign: str, check: Callable, zero_first: bool) -> Callable:
    """The public function that asserts `x sign 0`."""
    joined = sign == "<="

    def function(x, data=None, summarize=None, message=None, name=None):
        with name_scope(name, function.__name__, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                condition, shown = f"Condition x {sign} 0 did not hold element-wise:", f"x ({label(x)}) = "
                data = [message or "", *([condition + shown] if joined else [condition, shown]), x]
            zero = convert_to_tensor(0, dtype=x.dtype)
            pair = (zero, x) if zero_first else (x, zero)
            return check(*pair, data=data, summarize=summarize)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""An operation that demands x {sign} 0 for every element.

    Args:
      x: numeric tensor.
      data, summarize, message, name: those of `assert_equal`.

    Raises:
      InvalidArgumentError: in a run, or at once where x is known while building and the condition does not hold.
    """
    return function


assert_negative = export("assert_negative", "debugging.assert_negative")(
    _signed("assert_negative", "<", assert_less, False)
)
assert_positive = export("assert_positive", "debugging.assert_positive")(
    _signed("assert_positive", ">", assert_less, True)
)
assert_non_negative = export("assert_non_negative", "debugging.assert_non_negative")(
    _signed("assert_non_negative", ">=", assert_less_equal, True)
)
assert_non_positive = export("assert_non_positive", "debugging.assert_non_positive")(
    _signed("assert_non_positive", "<=", assert_less_equal, False)
)


# ---- types ----


def _name(tensor: Tensor) -> str:
    return "tensor" if executing_eagerly() else tensor.name


@export("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values: object) -> None:
    """Demands that `values` is iterable and no tensor, array or string, which iterate by accident; raises TypeError."""
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, bytes, str)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("assert_integer", "debugging.assert_integer")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Demands an integer dtype; TypeError where `x` has another."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message or ""}  Expected "x" to be integer type.  Found: {_name(x)} of dtype {x.dtype}')
        return no_op("statically_determined_was_integer")


@export("assert_type", "debugging.assert_type")
def assert_type(tensor: TensorLike, tf_type: object, message: str | None = None, name: str | None = None) -> Operation:
    """Demands that `tensor` has the dtype `tf_type`; TypeError where it has another."""
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            raise TypeError(f"{message or ''}{'' if executing_eagerly() else ' '} {_name(tensor)} must be of type {tf_type}")
        return no_op("statically_determined_correct_type")


@export("assert_scalar", "debugging.assert_scalar")
def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """`tensor` as a Tensor, which must be known to be a scalar; ValueError where it is not."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.ndims != 0:
            which = "" if executing_eagerly() else f" for {tensor.name}"
            raise ValueError(f"{message or ''}Expected scalar shape{which}, saw shape: {tensor.shape}.")
        return tensor


def _called(item: Any) -> str:
    return str(item) if executing_eagerly() else getattr(item, "name", item)


def assert_same_base_type(items: Iterable[Any], expected_type: object = None) -> Any:
    """The base dtype that all of `items` (tensors or None) have; ValueError where one has another than `expected_type`."""
    first = None
    for item in items:
        if item is None:
            continue
        found = item.dtype.base_dtype
        if not expected_type:
            expected_type, first = found, item
        elif found != expected_type:
            same_as = f" as {_called(first)}" if first is not None else ""
            raise ValueError(
                f"{_called(item)}, type={found}, must be of the same type ({expected_type}){same_as}."
            )
    return expected_type


@export("assert_same_float_dtype", "debugging.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> dtypes.DType:
    """The floating dtype that all of `tensors` have, and `dtype` where given; float32 where there is nothing to go by.

    Raises:
      ValueError: the dtypes differ or are not floating.
    """
    if tensors:
        dtype = assert_same_base_type(tensors, dtype)
    if not dtype:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


@export("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: object) -> bool:
    """Whether `tensor` is a Tensor of a numeric dtype (one of those that 1.15 lists: no float16, no complex128)."""
    return isinstance(tensor, Tensor) and tensor.dtype in _NUMERIC


# ---- order ----


def _differences(x: TensorLike) -> Tensor:
    """Neighbouring differences of the flattened `x`, none where it has fewer than two elements."""
    x = reshape(x, [-1])
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    is_short = compare.less(size(x), 2)
    count = shape(x) - 1
    return cond(
        is_short,
        lambda: convert_to_tensor([], dtype=x.dtype),
        lambda: strided_slice(x, [1], [1] + count) - strided_slice(x, [0], count),
    )


@export("math.is_non_decreasing", "debugging.is_non_decreasing", "is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element of the flattened numeric `x` is less than the one before; a scalar bool."""
    with name_scope(name, "is_non_decreasing", [x]):
        step = _differences(x)
        return reduce_all(compare.less_equal(convert_to_tensor(0, dtype=step.dtype), step))


@export("math.is_strictly_increasing", "debugging.is_strictly_increasing", "is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether every element of the flattened numeric `x` is more than the one before; a scalar bool."""
    with name_scope(name, "is_strictly_increasing", [x]):
        step = _differences(x)
        return reduce_all(compare.less(convert_to_tensor(0, dtype=step.dtype), step))
