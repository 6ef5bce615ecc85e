"""Comparisons, logic, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import Facts, NotDifferentiable, op
from tfcompat._src.graph.shape_inference import (
    broadcast,
    broadcast_inputs,
    divide_size,
    merge,
    merged_inputs,
    unchanged,
    with_rank,
    with_rank_at_least,
)
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.binary import broadcasting, full
from tfcompat._src.ops.math.extremes import larger, smaller

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_PREDICATE = NotDifferentiable("a predicate has no derivative")
_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)
_COMPARABLE = (
    "{bfloat16, float16, float32, float64, uint8, int8, int16, int32, int64, complex64, quint8, qint8, qint32, string, "
    "bool, complex128}"
)


def _comparison(name: str, types: str, function: Callable, fold: Callable, **fields: object) -> None:
    text = f"(x: T, y: T, *, T: {types}) -> (z: bool)"
    op(name, text, shape=broadcast_inputs, kernel=broadcasting(function), gradient=_PREDICATE, fold=fold, depth=2, **fields)


def _equality(name: str, function: Callable, fold: Callable, unlike: bool) -> None:
    """An op that gives the scalar `unlike` for shapes that do not fit, where incompatible_shape_error is false."""

    def shape(c):
        if c.attr("incompatible_shape_error"):
            return broadcast_inputs(c)
        try:
            return broadcast_inputs(c) if None not in c.inputs and all(None not in s for s in c.inputs) else [None]
        except ValueError:
            return [()]

    def guarded(function: Callable) -> Callable:
        def kernel(x, y, *, incompatible_shape_error):
            if not incompatible_shape_error and not _fit(x.shape, y.shape):
                return np.asarray(unlike)
            return function(x, y)

        return kernel

    text = f"(x: T, y: T, *, T: {_COMPARABLE}, incompatible_shape_error: bool = True) -> (z: bool)"
    op(
        name,
        text,
        shape=shape,
        kernel=guarded(broadcasting(function)),
        gradient=_PREDICATE,
        fold=guarded(fold),
        depth=2,
    )


def _fit(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1]))


def _logical(name: str, function: Callable, fold: Callable, **fields: object) -> None:
    text = "(x: bool, y: bool) -> (z: bool)"
    op(name, text, shape=broadcast_inputs, kernel=broadcasting(function), gradient=_PREDICATE, fold=fold, depth=2, **fields)


_equality("Equal", lax.eq, np.equal, False)
_equality("NotEqual", lax.ne, np.not_equal, True)
_comparison("Less", "REAL", lax.lt, np.less, facts=Facts(compares=(1, 0)))
_comparison("LessEqual", "REAL", lax.le, np.less_equal, facts=Facts(compares=(1, 1)))
_comparison("Greater", "REAL", lax.gt, np.greater, facts=Facts(compares=(-1, 0)))
_comparison("GreaterEqual", "REAL", lax.ge, np.greater_equal, facts=Facts(compares=(-1, 1)))
_logical("LogicalAnd", lax.bitwise_and, np.logical_and, facts=Facts(conjoins=True))
_logical("LogicalOr", lax.bitwise_or, np.logical_or)
op(
    "LogicalNot",
    "(x: bool) -> (y: bool)",
    shape=unchanged,
    kernel=lax.bitwise_not,
    gradient=_PREDICATE,
    fold=np.logical_not,
)


@op("ApproximateEqual", "(x: T, y: T, *, T: NUMBER, tolerance: float = 1e-05) -> (z: bool)",
    shape=merged_inputs, gradient=_PREDICATE)  # fmt: skip
def _approximate_equal(x, y, *, tolerance):
    checks.same_shape(x, y)
    difference = lax.abs(lax.sub(x, y))
    return lax.lt(difference, difference.dtype.type(tolerance))


# ---- Select ----


def _select_shape(c: InferenceContext) -> list:
    condition, output = c.inputs[0], merge(c.inputs[1], c.inputs[2])
    if condition is None or output is None or len(condition) == 0:
        return [output]
    if len(condition) == 1 and output:
        merge(condition, output[:1])
        return [output]
    return [merge(output, condition)]


def _check_select(condition: Any, t: Any, e: Any) -> None:
    """Demands that the values have one shape, and the condition that shape, its first dimension alone, or none."""
    if condition.ndim and (condition.ndim > 1 or t.ndim == 1):
        checks.same_shapes_of_node(condition, t, e)
    if condition.ndim:
        if not t.ndim:
            raise errors.InvalidArgumentError(None, None, "'then' must be at least a vector, but saw shape: []")
        if t.shape[0] != condition.shape[0]:
            text = f"Number of batches of 'then' must match size of 'cond', but saw: {t.shape[0]} vs. {condition.shape[0]}"
            raise errors.InvalidArgumentError(None, None, text)
    if t.shape != e.shape:
        text = f"'then' and 'else' must have the same size.  but received: {shape_text(t.shape)} vs. {shape_text(e.shape)}"
        raise errors.InvalidArgumentError(None, None, text)


def _select(condition, t, e):
    _check_select(condition, t, e)
    if condition.ndim and condition.ndim < t.ndim:
        condition = lax.broadcast_in_dim(condition, t.shape, (0,))
    return lax.select(condition, t, e)


def _select_numpy(condition, t, e):
    _check_select(condition, t, e)
    return np.where(condition.reshape(condition.shape + (1,) * (t.ndim - condition.ndim)), t, e)


def _select_grad(op: Operation, g: Tensor) -> list:
    condition, zeros = op.inputs[0], zeros_like(op.inputs[1])
    return [None, raw.Select(condition, g, zeros), raw.Select(condition, zeros, g)]


op("Select", "(condition: bool, t: T, e: T, *, T: type) -> (output: T)",
   shape=_select_shape, kernel=_select, exact=True, gradient=_select_grad, fold=_select_numpy)  # fmt: skip


def _select_v2_grad(op: Operation, g: Tensor) -> list:
    condition, t, e = op.inputs
    nothing = zeros([], g.dtype)
    gt = raw.SelectV2(condition, g, nothing)
    sizes, result_sizes = shape(t), shape(op.outputs[0])
    axes = raw.BroadcastGradientArgs(sizes, result_sizes).r0
    gt = raw.Reshape(raw.Sum(gt, axes, keep_dims=True), sizes)
    ge = raw.SelectV2(condition, nothing, g)
    sizes = shape(e)
    axes = raw.BroadcastGradientArgs(sizes, result_sizes).r0
    return [None, gt, raw.Reshape(raw.Sum(ge, axes, keep_dims=True), sizes)]


def _common_shape_of_select(condition: Any, t: Any, e: Any) -> tuple[int, ...]:
    then, other = shape_text(t.shape), shape_text(e.shape)
    try:
        values = np.broadcast_shapes(t.shape, e.shape)
    except ValueError:
        raise errors.InvalidArgumentError(None, None, f"then {then} and else {other} must be broadcastable") from None
    try:
        return np.broadcast_shapes(condition.shape, values)
    except ValueError:
        text = f"condition {shape_text(condition.shape)}, then {then}, and else {other} must be broadcastable"
        raise errors.InvalidArgumentError(None, None, text) from None


def _select_v2_numpy(condition, t, e):
    _common_shape_of_select(condition, t, e)
    return np.where(condition, t, e)


@op("SelectV2", "(condition: bool, t: T, e: T, *, T: type) -> (output: T)",
    shape=lambda c: [broadcast(c.inputs[0], broadcast(c.inputs[1], c.inputs[2]))], exact=True, gradient=_select_v2_grad,
    fold=_select_v2_numpy)  # fmt: skip
def _select_v2(condition, t, e):
    shape = _common_shape_of_select(condition, t, e)
    return lax.select(full(condition, shape), full(t, shape), full(e, shape))


# ---- clipping and buckets ----


@op("ClipByValue", "(t: T, clip_value_min: T, clip_value_max: T, *, T: NUMBER) -> (output: T)",
    shape=unchanged, gradient=_UNDEFINED)  # fmt: skip
def _clip_by_value(t, low, high):
    if any(limit.ndim and limit.shape != t.shape for limit in (low, high)):
        raise errors.InvalidArgumentError(
            None, None,
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. "
            f"input shape: {shape_text(t.shape)}clip_value_min shape: {shape_text(low.shape)}clip_value_max shape: {shape_text(high.shape)}",
        )  # fmt: skip
    return larger(smaller(t, high), low)


@op("Bucketize", "(input: T, *, T: {int32, int64, float32, float64}, boundaries: list(float)) -> (output: int32)",
    shape=unchanged, gradient=_UNDEFINED)  # fmt: skip
def _bucketize(x, *, boundaries):
    limits = np.asarray(boundaries, np.float32)
    if np.any(limits[1:] < limits[:-1]):
        raise errors.InvalidArgumentError(None, None, "Expected sorted boundaries")
    if not len(limits):
        return lax.full(x.shape, 0, np.dtype(np.int32))
    compared = np.float64 if x.dtype.itemsize == 8 else np.float32
    wide = lax.broadcast_in_dim(lax.convert_element_type(x, compared), x.shape + limits.shape, range(x.ndim))
    below = lax.lt(wide, lax.broadcast_in_dim(limits.astype(compared), wide.shape, (x.ndim,)))
    return lax.reduce_sum(lax.convert_element_type(lax.bitwise_not(below), np.int32), (x.ndim,))


def _bitpack_shape(c: InferenceContext) -> list:
    with_rank(c.inputs[1], 0)
    sizes = with_rank_at_least(c.inputs[0], 1)
    return [None if sizes is None else (*sizes[:-1], divide_size(sizes[-1], 8))]


@op("CompareAndBitpack",
    "(input: T, threshold: T, *, T: {bool, float16, float32, float64, int8, int16, int32, int64}) -> (output: uint8)",
    shape=_bitpack_shape, gradient=_UNDEFINED)  # fmt: skip
def _compare_and_bitpack(x, threshold):
    checks.scalar("Compare", threshold, "must be a scalar, but saw shape: {}")
    if not x.ndim or x.shape[-1] % 8:
        text = f"Inner dimension of input should be divisible by 8, but saw shape: {list(x.shape)}"
        raise errors.InvalidArgumentError(None, None, text)
    bits = lax.convert_element_type(lax.gt(x, threshold), np.uint8)
    bytes_of_bits = lax.reshape(bits, x.shape[:-1] + (x.shape[-1] // 8, 8))
    weights = np.array([128, 64, 32, 16, 8, 4, 2, 1], np.uint8)
    return lax.reduce_sum(lax.mul(bytes_of_bits, full(weights, bytes_of_bits.shape)), (x.ndim,))


# ---- public functions ----


def _function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `name(x, y, name=None)` that adds one node of `op_type`."""
    apply = raw.function(op_type)

    def function(x, y, name=None):
        return apply(x, y, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element with broadcasting; a bool Tensor."
    return function


equal = export("equal", "math.equal")(_function("equal", "Equal", "x == y"))
not_equal = export("not_equal", "math.not_equal")(_function("not_equal", "NotEqual", "x != y"))
less = export("less", "math.less")(_function("less", "Less", "x < y"))
less_equal = export("less_equal", "math.less_equal")(_function("less_equal", "LessEqual", "x <= y"))
greater = export("greater", "math.greater")(_function("greater", "Greater", "x > y"))
greater_equal = export("greater_equal", "math.greater_equal")(_function("greater_equal", "GreaterEqual", "x >= y"))
logical_and = export("logical_and", "math.logical_and")(_function("logical_and", "LogicalAnd", "x and y"))
logical_or = export("logical_or", "math.logical_or")(_function("logical_or", "LogicalOr", "x or y"))


@export("logical_not", "math.logical_not")
def logical_not(x, name=None):
    """not x, element by element; a bool Tensor."""
    return raw.LogicalNot(x, name=name)


@export("logical_xor", "math.logical_xor")
def logical_xor(x, y, name="LogicalXor"):
    """Whether exactly one of the bools x and y is true, element by element with broadcasting; a bool Tensor."""
    return raw.LogicalAnd(raw.LogicalOr(x, y), raw.LogicalNot(raw.LogicalAnd(x, y)), name=name)
