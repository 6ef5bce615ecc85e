"""tf.contrib.labeled_tensor: tensors with named axes, and their operations on elements."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.labeled_tensor.axes import Axes, as_axis, described, require
from tfcompat._src.graph.scopes import get_collection_ref, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor, register_tensor_conversion_function
from tfcompat._src.ops.array import constant, reorder, shape
from tfcompat._src.ops.math import binary, compare, special, unary

_ORDER = ("__axis_order",)
"""The collection that holds the order of axes in force."""


@export("contrib.labeled_tensor.AxisOrderError")
class AxisOrderError(ValueError):
    """Axes have no order, or one that does not fit."""


@export("contrib.labeled_tensor.LabeledTensor")
class LabeledTensor:
    """A Tensor with one axis for each dimension.

    Args:
      tensor: the Tensor.
      axes: Axes, or a collection of Axis, tuples (name, value) and names, whose sizes are then those of the Tensor.

    Raises:
      ValueError: the axes do not fit the Tensor's shape.
      TypeError: the first argument is no Tensor.
    """

    def __init__(self, tensor: Tensor, axes: Any) -> None:
        self._tensor = require(tensor, Tensor, "a labeled tensor")
        sizes = tensor.get_shape()
        if not isinstance(axes, Axes):
            axes = Axes([(each, sizes[i]) if isinstance(each, str) else each for i, each in enumerate(axes)])
        if len(sizes) != len(axes):
            raise ValueError(f"Tensor rank was not equal to the number of axes: {sizes!r}, {axes!r}")
        for size, axis in zip(sizes.as_list(), axes.values()):
            if size != axis.size:
                raise ValueError(
                    f"Provided axis size {axis.size} does not match tensor dimension size {size} in tensor {tensor!r}"
                )
        self._axes = axes

    @property
    def tensor(self) -> Tensor:
        """The Tensor without labels."""
        return self._tensor

    @property
    def axes(self) -> Axes:
        """The axes, by name."""
        return self._axes

    @property
    def dtype(self) -> Any:
        """The Tensor's dtype."""
        return self._tensor.dtype

    @property
    def shape(self) -> Any:
        """The Tensor's static shape."""
        return self._tensor.shape

    @property
    def name(self) -> str:
        """The Tensor's name."""
        return self._tensor.name

    def get_shape(self) -> Any:
        """The Tensor's static shape."""
        return self._tensor.get_shape()

    def _as_graph_element(self) -> Tensor:
        return self._tensor

    def __repr__(self) -> str:
        axes = described(self.axes, len(" axes=["))
        return (
            f"<{type(self).__name__} '{self.tensor.name}' shape={self.tensor.get_shape()} "
            f"dtype={self.tensor.dtype.name}\n axes=[{axes}]>"
        )

    def __getitem__(self, key: object) -> LabeledTensor:
        key = key if isinstance(key, tuple) else (key,)
        if len(key) != len(self.axes):
            raise ValueError(f"indexer {key!r} must have the same length as the Tensor rank ({len(self.axes)!r})")
        return slice_function(self, dict(zip(self.axes, key)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabeledTensor) and self.tensor is other.tensor and self.axes == other.axes

    def __hash__(self) -> int:
        return hash((id(self.tensor), self.axes))

    def __pos__(self) -> LabeledTensor:
        return self


def _as_tensor(value: LabeledTensor, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return convert_to_tensor(value.tensor, dtype=dtype, name=name)


register_tensor_conversion_function(LabeledTensor, _as_tensor)


@export("contrib.labeled_tensor.convert_to_labeled_tensor")
def convert_to_labeled_tensor(value: object, dtype: Any = None, name: str | None = None) -> LabeledTensor:
    """A LabeledTensor itself, or a scalar as one without axes.

    Args:
      value: LabeledTensor, or a scalar Tensor, array or Python value.
      dtype: the dtype wanted, by default the value's.
      name: of the constant that is made.

    Raises:
      ValueError: the value has dimensions and no labels.
      TypeError: it is no tensor, array or scalar.
    """
    require(value, (LabeledTensor, Tensor, np.ndarray, numbers.Number, bool, bytes, str), "a labeled tensor")
    axes = list(value.axes.values()) if isinstance(value, LabeledTensor) else []
    plain = value.tensor if isinstance(value, LabeledTensor) else value
    tensor = convert_to_tensor(plain, dtype=dtype, name=name)
    if len(tensor.get_shape()) != len(axes):
        raise ValueError(
            f"cannot automatically convert unlabeled arrays or tensors with rank>0 into LabeledTensors: {value!r}"
        )
    return LabeledTensor(tensor, axes)


@contextlib.contextmanager
def converted(name: str | None, default_name: str, *values: object) -> Iterator[tuple[Any, ...]]:
    """Opens a name scope; gives its name and the values as LabeledTensors."""
    with name_scope(name, default_name, list(values)) as scope:
        yield (scope, *map(convert_to_labeled_tensor, values))


@export("contrib.labeled_tensor.identity")
def identity(labeled_tensor: object, name: str | None = None) -> LabeledTensor:
    """A copy of the tensor, as a node of its own."""
    with converted(name, "lt_identity", labeled_tensor) as (scope, x):
        return LabeledTensor(constant.identity(x.tensor, name=scope), x.axes)


@export("contrib.labeled_tensor.slice")
def slice_function(labeled_tensor: object, selection: dict[str, Any], name: str | None = None) -> LabeledTensor:
    """A part of the tensor.

    Args:
      labeled_tensor: the tensor.
      selection: dict from names of axes to an int, whose axis goes away, or a slice.
      name: of the operation.
    """
    with converted(name, "lt_slice", labeled_tensor) as (scope, x):
        parts = [require(selection.get(axis, slice(None)), (int, slice), "a selection") for axis in x.axes]
        part = x.tensor[tuple(parts)]
        kept = [(axis, each) for axis, each in zip(x.axes.values(), parts) if isinstance(each, slice)]
        axes = [axis.name if axis.labels is None else (axis.name, axis.labels[each]) for axis, each in kept]
        return LabeledTensor(constant.identity(part, name=scope), axes)


@export("contrib.labeled_tensor.transpose")
def transpose(labeled_tensor: object, axis_order: Collection[str] | None = None, name: str | None = None) -> LabeledTensor:
    """The tensor with its axes in another order, by default the reverse one.

    Raises:
      ValueError: the order has other names than the tensor.
    """
    with converted(name, "lt_transpose", labeled_tensor) as (scope, x):
        names = list(x.axes)
        order = names[::-1] if axis_order is None else list(axis_order)
        if sorted(order) != sorted(names):
            raise ValueError(
                "The new axis order must have the same names as the original axes, but the new order is "
                f"{axis_order!r} while the original order is {names!r}"
            )
        found = reorder.transpose(x.tensor, [names.index(each) for each in order], name=scope)
        return LabeledTensor(found, [x.axes[each] for each in order])


@export("contrib.labeled_tensor.expand_dims")
def expand_dims(labeled_tensor: object, axes: Collection[Any], name: str | None = None) -> LabeledTensor:
    """The tensor with axes of size 1 put in.

    Args:
      labeled_tensor: the tensor.
      axes: all axes of the result in order: names of the tensor's, and for new ones names or tuples (name, label).
      name: of the operation.

    Raises:
      AxisOrderError: the tensor's axes do not stand there in their order.
    """
    with converted(name, "lt_expand_dims", labeled_tensor) as (scope, x):
        check_axis_order(x, [each if isinstance(each, str) else each[0] for each in axes])
        found = [_axis_to_be(x.axes, each) for each in axes]
        sizes = [-1 if each.size is None else each.size for each in found]
        return LabeledTensor(shape.reshape(x.tensor, sizes, name=scope), found)


def _axis_to_be(axes: Axes, wanted: Any) -> Any:
    """The axis of that name, or a new one of size 1, given by its name or (name, label)."""
    if isinstance(wanted, str):
        return axes[wanted] if wanted in axes else as_axis((wanted, 1))
    return as_axis((wanted[0], (wanted[1],)))


# ---- the order of axes ----


def get_axis_order() -> list[str] | None:
    """The order that the innermost `axis_order_scope` gives, or None."""
    found = get_collection_ref(_ORDER)
    return found[0] if found else None


@export("contrib.labeled_tensor.axis_order_scope")
@contextlib.contextmanager
def axis_order_scope(axis_order: list[str] | None = None) -> Iterator[list[str] | None]:
    """Inside, axes of results of operations on two tensors come in this order; None: in the order of the tensors."""
    if axis_order is not None:
        require(axis_order, list, "an order of axes")
    before = get_axis_order()
    get_collection_ref(_ORDER)[:] = [axis_order]
    try:
        yield axis_order
    finally:
        get_collection_ref(_ORDER)[:] = [before]


def _given_order(axis_order: Collection[str] | None) -> Collection[str]:
    order = get_axis_order() if axis_order is None else axis_order
    if order is None:
        raise AxisOrderError(
            "an explicit axis order must be provided with the axis_order argument or by using an axis_order_scope"
        )
    return order


@export("contrib.labeled_tensor.check_axis_order")
def check_axis_order(labeled_tensor: object, axis_order: Collection[str] | None = None) -> None:
    """Checks that the axes come in an order, by default that of the `axis_order_scope`.

    Raises:
      AxisOrderError: there is no order, it lacks an axis, or the tensor has another one.
    """
    x = convert_to_labeled_tensor(labeled_tensor)
    order = _given_order(axis_order)
    wanted = [each for each in order if each in x.axes]
    if len(wanted) < len(x.axes):
        raise AxisOrderError(f"not all axis names appear in the required axis order {order!r}: {x!r}")
    if wanted != list(x.axes):
        raise AxisOrderError(
            f"axes on a labeled tensor do not appear in the same order as the required axis order {order!r}: {x!r}"
        )


@export("contrib.labeled_tensor.impose_axis_order")
def impose_axis_order(labeled_tensor: object, axis_order: Collection[str] | None = None, name: str | None = None) -> LabeledTensor:
    """The tensor with its axes in an order, by default that of the `axis_order_scope`.

    Raises:
      AxisOrderError: there is no order.
      ValueError: it lacks an axis.
    """
    with converted(name, "lt_impose_axis_order", labeled_tensor) as (scope, x):
        return transpose(x, [each for each in _given_order(axis_order) if each in x.axes], name=scope)


def _find_consistent_ordering(first: list[str], second: list[str]) -> list[str] | None:
    """All names in an order that both lists keep, those of the first as far left as they may be; None: there is none."""
    order: list[str] = []
    first, second = list(first), list(second)
    while first and second:
        if first[0] not in second:
            order.append(first.pop(0))
        elif second[0] == first[0]:
            order.append(first.pop(0))
            second.pop(0)
        elif second[0] in first:
            return None
        else:
            order.append(second.pop(0))
    return order + first + second


@export("contrib.labeled_tensor.align")
def align(labeled_tensor_0: object, labeled_tensor_1: object, name: str | None = None) -> tuple[LabeledTensor, LabeledTensor, Axes]:
    """Both tensors with axes of size 1 put in, so that they broadcast, and the axes of the result.

    Raises:
      ValueError: axes of one name differ.
      AxisOrderError: a tensor would have to be transposed.
    """
    with converted(name, "lt_align", labeled_tensor_0, labeled_tensor_1) as (scope, x, y):
        for each in x.axes:
            if each in y.axes and x.axes[each] != y.axes[each]:
                raise ValueError(f"Mismatched {each!r} axis on input tensors: {x.axes[each]!r} and {y.axes[each]!r}")
        order = get_axis_order()
        if order is not None:
            check_axis_order(x, order)
            check_axis_order(y, order)
            names = [each for each in order if each in x.axes or each in y.axes]
        else:
            names = _find_consistent_ordering(list(x.axes), list(y.axes))
        if names is None:
            raise AxisOrderError(
                f"No consistent axis order allows for aligning tensors with axis orders {list(x.axes)!r} and "
                f"{list(y.axes)!r} without copying data. Use transpose or impose_axis_order to reorder axes on one of "
                "more of the inputs."
            )
        aligned = [expand_dims(each, names, name=f"{scope}{i}") for i, each in enumerate((x, y))]
        return (*aligned, Axes([x.axes[each] if each in x.axes else y.axes[each] for each in names]))


# ---- operations on elements ----


@export("contrib.labeled_tensor.define_unary_op")
def define_unary_op(op_name: str, elementwise_function: Callable) -> Callable:
    """A function of a labeled tensor that computes `elementwise_function(tensor, name)` and keeps the axes.

    Args:
      op_name: its name; nodes are called "lt_" + op_name.
      elementwise_function: function of a Tensor and a name.
    """

    def op(labeled_tensor: object, name: str | None = None) -> LabeledTensor:
        with converted(name, f"lt_{op_name}", labeled_tensor) as (scope, x):
            return LabeledTensor(elementwise_function(x.tensor, name=scope), x.axes)

    op.__name__, op.__doc__ = op_name, f"`tf.{op_name}` of a labeled tensor."
    return op


@export("contrib.labeled_tensor.define_binary_op")
def define_binary_op(op_name: str, elementwise_function: Callable) -> Callable:
    """A function of two labeled tensors that computes `elementwise_function(x, y, name)` of them aligned.

    Args:
      op_name: its name; nodes are called "lt_" + op_name.
      elementwise_function: function of two Tensors and a name.
    """

    def op(labeled_tensor_0: object, labeled_tensor_1: object, name: str | None = None) -> LabeledTensor:
        with name_scope(name, f"lt_{op_name}", [labeled_tensor_0, labeled_tensor_1]) as scope:
            x, y, axes = align(labeled_tensor_0, labeled_tensor_1)
            return LabeledTensor(elementwise_function(x.tensor, y.tensor, name=scope), axes)

    op.__name__, op.__doc__ = op_name, f"`tf.{op_name}` of two labeled tensors, which are aligned by their axes."
    return op


abs_function = export("contrib.labeled_tensor.abs")(define_unary_op("abs", unary.absolute))
neg = export("contrib.labeled_tensor.neg")(define_unary_op("neg", unary.negative))
sign = export("contrib.labeled_tensor.sign")(define_unary_op("sign", unary.sign))
reciprocal = export("contrib.labeled_tensor.reciprocal")(define_unary_op("reciprocal", unary.reciprocal))
square = export("contrib.labeled_tensor.square")(define_unary_op("square", unary.square))
round_function = export("contrib.labeled_tensor.round")(define_unary_op("round", unary.round_half_to_even))
sqrt = export("contrib.labeled_tensor.sqrt")(define_unary_op("sqrt", unary.sqrt))
rsqrt = export("contrib.labeled_tensor.rsqrt")(define_unary_op("rsqrt", unary.rsqrt))
exp = export("contrib.labeled_tensor.exp")(define_unary_op("exp", unary.exp))
log = export("contrib.labeled_tensor.log")(define_unary_op("log", unary.log))
ceil = export("contrib.labeled_tensor.ceil")(define_unary_op("ceil", unary.ceil))
floor = export("contrib.labeled_tensor.floor")(define_unary_op("floor", unary.floor))
cos = export("contrib.labeled_tensor.cos")(define_unary_op("cos", unary.cos))
sin = export("contrib.labeled_tensor.sin")(define_unary_op("sin", unary.sin))
tan = export("contrib.labeled_tensor.tan")(define_unary_op("tan", unary.tan))
acos = export("contrib.labeled_tensor.acos")(define_unary_op("acos", unary.acos))
asin = export("contrib.labeled_tensor.asin")(define_unary_op("asin", unary.asin))
atan = export("contrib.labeled_tensor.atan")(define_unary_op("atan", unary.atan))
lgamma = export("contrib.labeled_tensor.lgamma")(define_unary_op("lgamma", special.lgamma))
digamma = export("contrib.labeled_tensor.digamma")(define_unary_op("digamma", special.digamma))
erf = export("contrib.labeled_tensor.erf")(define_unary_op("erf", special.erf))
erfc = export("contrib.labeled_tensor.erfc")(define_unary_op("erfc", special.erfc))
logical_not = export("contrib.labeled_tensor.logical_not")(define_unary_op("logical_not", compare.logical_not))
tanh = export("contrib.labeled_tensor.tanh")(define_unary_op("tanh", unary.tanh))
sigmoid = export("contrib.labeled_tensor.sigmoid")(define_unary_op("sigmoid", unary.sigmoid))
add = export("contrib.labeled_tensor.add")(define_binary_op("add", binary.add))
sub = export("contrib.labeled_tensor.sub")(define_binary_op("sub", binary.subtract))
mul = export("contrib.labeled_tensor.mul")(define_binary_op("mul", binary.multiply))
div = export("contrib.labeled_tensor.div")(define_binary_op("div", binary.div))
mod = export("contrib.labeled_tensor.mod")(define_binary_op("mod", binary.floormod))
pow_function = export("contrib.labeled_tensor.pow")(define_binary_op("pow", binary.power))
equal = export("contrib.labeled_tensor.equal")(define_binary_op("equal", compare.equal))
greater = export("contrib.labeled_tensor.greater")(define_binary_op("greater", compare.greater))
greater_equal = export("contrib.labeled_tensor.greater_equal")(define_binary_op("greater_equal", compare.greater_equal))
not_equal = export("contrib.labeled_tensor.not_equal")(define_binary_op("not_equal", compare.not_equal))
less = export("contrib.labeled_tensor.less")(define_binary_op("less", compare.less))
less_equal = export("contrib.labeled_tensor.less_equal")(define_binary_op("less_equal", compare.less_equal))
logical_and = export("contrib.labeled_tensor.logical_and")(define_binary_op("logical_and", compare.logical_and))
logical_or = export("contrib.labeled_tensor.logical_or")(define_binary_op("logical_or", compare.logical_or))
logical_xor = export("contrib.labeled_tensor.logical_xor")(define_binary_op("logical_xor", compare.logical_xor))
maximum = export("contrib.labeled_tensor.maximum")(define_binary_op("maximum", binary.maximum))
minimum = export("contrib.labeled_tensor.minimum")(define_binary_op("minimum", binary.minimum))
squared_difference = export("contrib.labeled_tensor.squared_difference")(
    define_binary_op("squared_difference", binary.squared_difference)
)
igamma = export("contrib.labeled_tensor.igamma")(define_binary_op("igamma", special.igamma))
igammac = export("contrib.labeled_tensor.igammac")(define_binary_op("igammac", special.igammac))
zeta = export("contrib.labeled_tensor.zeta")(define_binary_op("zeta", special.zeta))
polygamma = export("contrib.labeled_tensor.polygamma")(define_binary_op("polygamma", special.polygamma))

OPERATORS = {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "div": div, "mod": mod, "pow": pow_function,
}  # fmt: skip
"""Operators with a form for the tensor on the right."""
for _name, _function in OPERATORS.items():
    setattr(LabeledTensor, f"__{_name}__", _function)
    setattr(LabeledTensor, f"__r{_name}__", lambda self, other, function=_function: function(other, self))
for _name, _function in {
    "abs": abs_function, "neg": neg, "invert": logical_not, "and": logical_and, "or": logical_or, "xor": logical_xor,
    "lt": less, "le": less_equal, "gt": greater, "ge": greater_equal,
}.items():  # fmt: skip
    setattr(LabeledTensor, f"__{_name}__", _function)
