"""Sums of many tensors, and running sums and products along a dimension."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.op_spec import Facts, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import merge, pass_handle, unchanged
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_n_to_tensor_or_indexed_slices, to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

# ---- AddN ----


def _check_same_shape(values):
    checks.same_shape(*[v for v in values if isinstance(v, (np.ndarray, jax.Array))])


def _sum_all(values):
    _check_same_shape(values)
    return functools.reduce(operator.add, values)


def _numpy_sum(values):
    _check_same_shape(values)
    if all(isinstance(v, (np.ndarray, np.generic)) for v in values):
        return np.asarray(functools.reduce(np.add, values))
    return functools.reduce(operator.add, values)  # flows that carry the elements of TensorArrays, and lists


def _summed_shape(c: InferenceContext) -> list:
    sizes = c.inputs[-1]
    for i in range(len(c.inputs) - 2, -1, -1):
        try:
            sizes = merge(c.inputs[i], sizes)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    pass_handle(c)
    return [sizes]


def _repeat_grad(op: Operation, g: Tensor) -> list:
    return [g] * len(op.inputs)


op("AddN",
   "(inputs: N*T, *, N: int >= 1, T: {float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
   "bfloat16, uint16, complex128, float16, uint32, uint64, variant}) -> (sum: T)",
   shape=_summed_shape, kernel=_sum_all, exact=True, gradient=_repeat_grad, fold=_numpy_sum, facts=Facts(adds_all=True))  # fmt: skip
op("AccumulateNV2", "(inputs: N*T, *, N: int >= 1, T: NUMBER, shape: shape) -> (sum: T)",
   shape=lambda c: [c.attr("shape").sizes], kernel=_sum_all, gradient=_repeat_grad)  # fmt: skip


@export("add_n", "math.add_n")
def add_n(inputs, name=None):
    """The sum of a list of Tensors or IndexedSlices of one shape and dtype.

    Raises:
      ValueError: `inputs` is empty, no list, or its dtypes or shapes differ.
    """
    message = "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    values = convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(v, Tensor) or hasattr(v, "dense_shape") for v in values):
        raise ValueError(message)
    if len(values) > 1:
        return raw.AddN(values, name=name)
    value = to_tensor(values[0])
    return raw.Identity(value, name=name) if name else value


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of a list of Tensors of one shape and dtype.

    Args:
      inputs: list of Tensors.
      shape: their shape; by default inferred.
      tensor_dtype: their dtype, checked where given.
      name: node name.

    Raises:
      ValueError: `inputs` is empty, no list, or shapes or dtypes differ. TypeError: `tensor_dtype` is not theirs.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    values = convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(v, Tensor) and v.dtype == values[0].dtype for v in values):
        raise ValueError(message)
    merged = TensorShape(None) if shape is None else as_shape(shape)
    for value in values:
        merged = merged.merge_with(value.get_shape())
    if tensor_dtype is not None and tensor_dtype != values[0].dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {values[0].dtype}")
    if len(values) > 1:
        return raw.AccumulateNV2(values, shape=merged, name=name)
    return values[0] if name is None else raw.Identity(values[0], name=name)


# ---- cumulative ops ----


def _axis(x: Any, axis: Any) -> int:
    if axis.ndim:
        raise errors.InvalidArgumentError(None, None, f"ScanOp: axis must be a scalar, not {shape_text(axis.shape)}")
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise errors.InvalidArgumentError(
            None, None, f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}"
        )
    return axis % x.ndim


def _shifted(x: Any, axis: int, reverse: bool, first: Any) -> Array:
    """`x` moved by one along `axis`, away from where the scan starts, with `first` put in."""
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return lax.pad(x, x.dtype.type(first), padding)


def _cumulative(name: str, types: str, function: Callable, identity: Callable, gradient: Any, **fields: Any) -> None:
    def kernel(x, axis, *, exclusive, reverse):
        axis = _axis(x, axis)
        if exclusive and x.shape[axis]:
            x = _shifted(x, axis, reverse, identity(x.dtype))
        return function(x, axis, reverse)

    text = f"(x: T, axis: Tidx, *, exclusive: bool = False, reverse: bool = False, T: {types}, Tidx: INDEX = int32) -> (out: T)"
    op(name, text, shape=unchanged, kernel=kernel, gradient=gradient, constants=("axis",), depth=2, **fields)


def _flags(op: Operation) -> tuple[bool, bool]:
    return op.get_attr("exclusive"), op.get_attr("reverse")


def _cumsum_grad(op: Operation, g: Tensor) -> list:
    exclusive, reverse = _flags(op)
    return [cumsum(g, op.inputs[1], exclusive=exclusive, reverse=not reverse), None]


def _cumprod_grad(op: Operation, g: Tensor) -> list:
    x, axis = op.inputs
    exclusive, reverse = _flags(op)
    product = cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    return [cumsum(product * g, axis, exclusive=exclusive, reverse=not reverse) / x, None]


def _cumulative_logsumexp_grad(op: Operation, g: Tensor) -> list:
    """Summed in logarithms, of the positive elements of `g` and of the negative ones apart."""
    x, axis = op.inputs
    exclusive, reverse = _flags(op)
    lowest = g.dtype.min
    logs = [raw.SelectV2(raw.Greater(g, 0), raw.Log(g), lowest), raw.SelectV2(raw.Less(g, 0), raw.Log(-g), lowest)]
    positive, negative = (
        raw.Exp(cumulative_logsumexp(log - op.outputs[0], axis, exclusive=exclusive, reverse=not reverse) + x) for log in logs
    )
    return [positive - negative, None]


def _near_cumsum(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    turned = np.flip(x, int(axis)) if reverse else x
    total = np.cumsum(turned, axis=int(axis), dtype=x.dtype)
    total = total - turned if exclusive else total
    return np.flip(total, int(axis)) if reverse else total


_cumulative("Cumsum", "NUMBER", lax.cumsum, lambda dtype: 0, _cumsum_grad, near=_near_cumsum)
_cumulative("Cumprod", "NUMBER", lax.cumprod, lambda dtype: 1, _cumprod_grad)
_cumulative(
    "CumulativeLogsumexp",
    "{float16, float32, float64}",
    lax.cumlogsumexp,
    lambda dtype: np.finfo(dtype).min,
    _cumulative_logsumexp_grad,
)


def _scan(op_type: str, x: TensorLike, axis: object, exclusive: bool, reverse: bool, name: str | None) -> Tensor:
    with name_scope(name, op_type, [x]) as scope:
        return raw.function(op_type)(to_tensor(x, name="x"), axis, exclusive, reverse, name=scope)


@export("cumsum", "math.cumsum")
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """The running sum along `axis`.

    Args:
      x: a numeric Tensor.
      axis: the dimension.
      exclusive: whether element i is the sum of those before it, without itself.
      reverse: whether the sum runs from the end.
      name: node name.

    Returns:
      a Tensor like `x`.
    """
    return _scan("Cumsum", x, axis, exclusive, reverse, name)


@export("cumprod", "math.cumprod")
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """The running product along `axis`; arguments are those of `cumsum`."""
    return _scan("Cumprod", x, axis, exclusive, reverse, name)


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """log of the running sum of exp(x) along `axis`; arguments are those of `cumsum`."""
    return _scan("CumulativeLogsumexp", x, axis, exclusive, reverse, name)
