"""Reductions over dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.graph.op_spec import FROM_KERNEL, Facts, NotDifferentiable, op
from tfcompat._src.graph.shape_inference import Sizes, num_elements, with_rank, with_rank_at_most
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.extremes import larger, smaller

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


# ---- shapes ----


def _reduction_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return axis % rank


def _reduced_shape(c: Any) -> list:
    sizes, axes = c.inputs[0], c.value(1)
    with_rank_at_most(c.inputs[1], 1)
    keep_dims = c.attr("keep_dims")
    if sizes is None:
        return [None]
    if axes is None:
        return [(None,) * len(sizes) if keep_dims else None]
    reduced = {_reduction_axis(int(a), len(sizes)) for a in np.atleast_1d(axes)}
    if keep_dims:
        return [tuple(1 if i in reduced else s for i, s in enumerate(sizes))]
    return [tuple(s for i, s in enumerate(sizes) if i not in reduced)]


# ---- kernels ----


def reduction_axes(axes: np.ndarray, rank: int) -> tuple[int, ...]:
    """The dimensions that `axes` name, in order, each once; InvalidArgumentError where one is outside."""
    found = set()
    for axis in np.ravel(axes).tolist():
        if not -rank <= axis < rank:
            raise errors.InvalidArgumentError(
                None, None, f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            )
        found.add(axis % rank)
    return tuple(sorted(found))


def _reduced(shape: tuple[int, ...], axes: tuple[int, ...], keep_dims: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else s for i, s in enumerate(shape) if keep_dims or i not in axes)


def _one_each(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether one element makes each result, which 1.15 copies then: NaN, and a sign under EuclideanNorm, stay."""
    return all(shape[a] == 1 for a in axes)


def _reducing(function: Callable) -> Callable:
    """A kernel from `function(x, axes)` of lax, which drops the dimensions."""

    def kernel(x, axes, *, keep_dims):
        axes = reduction_axes(axes, x.ndim)
        if _one_each(x.shape, axes):
            return lax.reshape(x, _reduced(x.shape, axes, keep_dims))
        found = function(x, axes)
        return lax.reshape(found, _reduced(x.shape, axes, True)) if keep_dims else found

    return kernel


def _reducing_numpy(function: Callable) -> Callable:
    def kernel(x, axes, *, keep_dims):
        axes = reduction_axes(axes, x.ndim)
        if _one_each(x.shape, axes):
            return np.reshape(x, _reduced(x.shape, axes, keep_dims))
        return function(x, axis=axes, keepdims=keep_dims)

    return kernel


def _mean(x, axes):
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    total = lax.reduce_sum(x, axes)
    if x.dtype.kind in "iu" and not count:
        return lax.full_like(total, 0)
    return lax.div(total, np.asarray(count).astype(x.dtype))


def _extreme(integers: Callable, start: float, choose: Callable) -> Callable:
    """A reduction that begins with `start` and keeps one of two numbers by `choose`, so that it passes over NaN."""

    def reduce(x, axes):
        return integers(x, axes) if x.dtype.kind in "iu" else lax.reduce(x, np.asarray(start, x.dtype), choose, axes)

    return reduce


def _euclidean_norm(x, axes):
    if x.dtype.kind == "c":
        square = lax.mul(x, lax.conj(x))
        return lax.sqrt(lax.reduce_sum(square, axes))
    total = lax.reduce_sum(lax.mul(x, x), axes)
    if x.dtype.kind not in "iu":
        return lax.sqrt(total)
    return lax.convert_element_type(lax.sqrt(lax.convert_element_type(total, np.float64)), x.dtype)


def _integer_numpy(function: Callable, identity: Any = None) -> Callable:
    """The NumPy twin for shape arithmetic: sums in the dtype of the input."""

    def reduce(x, axis, keepdims):
        extra = {} if identity is None else {"dtype": x.dtype}
        return function(x, axis=axis, keepdims=keepdims, **extra)

    return _reducing_numpy(reduce)


def _extreme_numpy(ufunc: np.ufunc, lowest: bool) -> Callable:
    def reduce(x, axis, keepdims):
        if x.dtype.kind in "iu":
            limits = np.iinfo(x.dtype)
            initial = limits.min if lowest else limits.max
        else:
            initial = x.dtype.type(-np.inf if lowest else np.inf)
        return ufunc.reduce(x, axis=axis, keepdims=keepdims, initial=initial)

    return _reducing_numpy(reduce)


# ---- gradients ----


def reduced_shape(input_shape: Any, axes: Any) -> Any:
    """The shape tensor `input_shape` with 1 at `axes`: what a reduction with keep_dims gives."""
    input_shape = raw.Cast(input_shape, DstT=dtypes.int32) if input_shape.dtype is not dtypes.int32 else input_shape
    axes = raw.Cast(axes, DstT=dtypes.int32) if axes.dtype is not dtypes.int32 else axes
    rank = raw.Size(input_shape)
    axes = raw.FloorMod(raw.AddV2(axes, rank), rank)
    ones = raw.Fill(raw.Shape(axes), np.int32(1))
    return raw.DynamicStitch([raw.Range(np.int32(0), rank, np.int32(1)), axes], [input_shape, ones])


def _static_axes(op: Any) -> tuple[int, ...] | None:
    """The reduced dimensions of a node, where they are known."""
    sizes, axes = op.inputs[0]._sizes, known_value(op.inputs[1])
    return None if sizes is None or axes is None else reduction_axes(axes, len(sizes))


def with_reduced_dims(op: Any, tensor: Any) -> Any:
    """An output-shaped tensor of a reduction with the reduced dimensions of size 1."""
    if op.get_attr("keep_dims"):
        return tensor
    axes = _static_axes(op)
    if axes is None:
        return raw.Reshape(tensor, reduced_shape(raw.Shape(op.inputs[0]), op.inputs[1]))
    rank = len(op.inputs[0]._sizes)
    if axes == tuple(range(len(axes))) and len(axes) < rank or len(axes) == rank:
        return tensor
    for axis in axes:
        tensor = raw.ExpandDims(tensor, np.int32(axis))
    return tensor


def _repeat(op: Any, g: Any) -> Any:
    """A gradient of the output repeated to the shape of the input."""
    x = op.inputs[0]
    sizes = x._sizes
    known = sizes is not None and None not in sizes
    return raw.BroadcastTo(with_reduced_dims(op, g), np.array(sizes, np.int32) if known else raw.Shape(x))


def _sum_grad(op: Any, g: Any) -> list:
    return [_repeat(op, g), None]


def _mean_grad(op: Any, g: Any) -> list:
    x = op.inputs[0]
    elements, results = num_elements(x._sizes), num_elements(op.outputs[0]._sizes)
    axes = _static_axes(op)
    if axes is not None and None not in (reduced := [x._sizes[a] for a in axes]):
        factor = np.asarray(max(int(np.prod(reduced, dtype=np.int64)), 1)).astype(x.dtype.as_numpy_dtype)
    elif elements is not None and results is not None:
        factor = np.asarray(elements // max(results, 1)).astype(x.dtype.as_numpy_dtype)
    else:
        count = raw.FloorDiv(raw.Size(x), raw.Maximum(raw.Size(op.outputs[0]), np.int32(1)))
        factor = raw.Cast(count, DstT=x.dtype.base_dtype)
    return [_repeat(op, raw.RealDiv(g, factor)), None]


def _extreme_grad(op: Any, g: Any) -> list:
    x = op.inputs[0]
    y = with_reduced_dims(op, op.outputs[0])
    chosen = raw.Cast(raw.Equal(y, x), DstT=g.dtype.base_dtype)
    count = raw.Sum(chosen, op.inputs[1], keep_dims=op.get_attr("keep_dims"))
    return [raw.Mul(raw.RealDiv(chosen, with_reduced_dims(op, count)), with_reduced_dims(op, g)), None]


def _reduction(name: str, types: str, function: Callable, gradient: Any, fold: Callable | None = None, **fields: Any) -> None:
    value, attr = ("bool", "") if types == "bool" else ("T", f"T: {types}, ")
    text = f"(input: {value}, reduction_indices: Tidx, *, keep_dims: bool = False, {attr}Tidx: INDEX = int32) -> (output: {value})"
    op(name, text, shape=_reduced_shape, kernel=_reducing(function), gradient=gradient, constants=("reduction_indices",),
       fold=fold, depth=2, **fields)  # fmt: skip


def _near_mean(x: Any, axes: Any, *, keep_dims: bool) -> Any:
    return np.mean(x, axis=tuple(np.ravel(axes).tolist()), keepdims=keep_dims, dtype=x.dtype)


_reduction("Sum", "NUMBER", lax.reduce_sum, _sum_grad, _integer_numpy(np.sum, 0), facts=Facts(reduces="sum"))
_reduction("Mean", "NUMBER", _mean, _mean_grad, near=_near_mean, facts=Facts(reduces="mean"))
_reduction("Prod", "NUMBER", lax.reduce_prod, FROM_KERNEL, _integer_numpy(np.prod, 1))
_reduction("Max", "NUMBER", _extreme(lax.reduce_max, -np.inf, larger), _extreme_grad, _extreme_numpy(np.fmax, lowest=True))
_reduction("Min", "NUMBER", _extreme(lax.reduce_min, np.inf, smaller), _extreme_grad, _extreme_numpy(np.fmin, lowest=False))
_reduction("All", "bool", lax.reduce_and, _UNDEFINED, _integer_numpy(np.all))
_reduction("Any", "bool", lax.reduce_or, _UNDEFINED, _integer_numpy(np.any))
_reduction("EuclideanNorm", "NUMBER", _euclidean_norm, NotDifferentiable("1.15 defines no gradient"))


# ---- ArgMax, ArgMin ----


def _arg_shape(c: Any) -> list:
    with_rank(c.inputs[1], 0)
    sizes: Sizes = c.inputs[0]
    axis = c.value(1)
    if sizes is None:
        return [None]
    if len(sizes) <= 1:
        return [()]
    if axis is None:
        return [(None,) * (len(sizes) - 1)]
    rank = len(sizes)
    if not -rank <= int(axis) < rank:
        raise ValueError(f"Dimension ({int(axis)}) must be in the range [{-rank}, {rank}), where {rank} is the number of "
                         "dimensions in the input.")  # fmt: skip
    position = int(axis) % rank
    return [sizes[:position] + sizes[position + 1 :]]


def _arg(function: Callable, worst: float) -> Callable:
    def kernel(x, axis, *, output_type):
        checks.scalar("dim", axis, "must be a scalar, but received tensor of shape: {}")
        axis = int(axis)
        if not -x.ndim <= axis < x.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {axis}"
            )
        if not x.shape[axis]:
            raise errors.InvalidArgumentError(None, None, f"Reduction axis {axis} is empty in shape {shape_text(x.shape)}")
        if x.dtype.kind not in "iu":
            x = lax.select(lax.ne(x, x), lax.full_like(x, worst), x)
        return function(x, axis % x.ndim, output_type)

    return kernel


_ARG = "(input: T, dimension: Tidx, *, T: NUMBER, Tidx: INDEX = int32, output_type: INDEX = int64) -> (output: output_type)"
_INDEX = NotDifferentiable("an index has no derivative")
op("ArgMax", _ARG, shape=_arg_shape, kernel=_arg(lax.argmax, -np.inf), gradient=_INDEX, constants=("dimension",))
op("ArgMin", _ARG, shape=_arg_shape, kernel=_arg(lax.argmin, np.inf), gradient=_INDEX, constants=("dimension",))
