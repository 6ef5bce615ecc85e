"""Reductions over dimensions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.arrays import as_array
from tfcompat._src.graph.constant_value import constant_value, known_value
from tfcompat._src.graph.op_spec import Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import colocate_with, device, executing_eagerly, get_default_graph
from tfcompat._src.graph.shape_inference import Sizes, num_elements, with_rank, with_rank_at_most
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, shape, size
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj
from tfcompat._src.ops.math.extremes import larger, smaller
from tfcompat._src.ops.math.scan import cumprod
from tfcompat._src.ops.math.sequence import all_dimensions, arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


# ---- shapes ----


def _reduction_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return axis % rank


def _reduced_shape(c: InferenceContext) -> list:
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
    for axis in as_array(axes).reshape(-1).tolist():
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
            return x.reshape(_reduced(x.shape, axes, keep_dims))
        return as_array(function(x, axis=axes, keepdims=keep_dims))

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


def _integer_numpy(function: Callable, identity: object = None) -> Callable:
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


def reduced_shape(input_shape: TensorLike, axes: TensorLike) -> Tensor:
    """The shape tensor `input_shape` with 1 at `axes`: what a reduction with keep_dims gives."""
    input_shape, axes = cast(input_shape, dtypes.int32), cast(axes, dtypes.int32)
    rank = size(input_shape)
    axes = (axes + rank) % rank
    axes_shape = shape(axes)
    return raw.DynamicStitch([arange(rank), axes], [input_shape, raw.Fill(axes_shape, 1)])


def _repetitions(sizes: object, kept: TensorLike) -> Tensor:
    """How often each dimension of `kept` stands in `sizes`; 0 / 0 is 0."""
    return sizes // raw.Maximum(kept, 1)


_KNOWN_REPETITIONS: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()


def _known_repetitions(sizes: tuple[int, ...], axes: tuple[int, ...]) -> tuple:
    """The sizes of a reduction that keeps dimensions, and how often each is repeated; a graph computes them once."""
    cache = _KNOWN_REPETITIONS.setdefault(get_default_graph(), {})
    if (sizes, axes) not in cache:
        kept = reduced_shape(sizes, axes)
        kept_sizes = tuple(known_value(kept).tolist())
        cache[sizes, axes] = kept_sizes, tuple(known_value(_repetitions(sizes, kept_sizes)).tolist())
    return cache[sizes, axes]


def _repeat(op: Any, g: Any) -> Tensor:
    """A gradient of the output repeated to the shape of the input."""
    x = op.inputs[0]
    axes = None if x._sizes is None else constant_value(op.inputs[1])
    if axes is not None and np.array_equal(axes, np.arange(len(x._sizes))):
        g = raw.Reshape(g, [1] * len(x._sizes))
        return raw.Tile(g, shape(x) if None in x._sizes else constant(x._sizes, dtype=dtypes.int32))
    if axes is not None and None not in x._sizes and not executing_eagerly():
        kept, repetitions = _known_repetitions(x._sizes, tuple(axes.reshape(-1).tolist()))
        return raw.Tile(raw.Reshape(g, kept), repetitions)
    sizes = shape(x)
    with colocate_with(sizes):
        kept = reduced_shape(sizes, op.inputs[1])
        repetitions = _repetitions(sizes, kept)
    return raw.Tile(raw.Reshape(g, kept), repetitions)


def _sum_grad(op: Operation, g: Tensor) -> list:
    return [_repeat(op, g), None]


def _mean_grad(op: Operation, g: Tensor) -> list:
    repeated = _repeat(op, g)
    elements, results = num_elements(op.inputs[0]._sizes), num_elements(op.outputs[0]._sizes)
    if elements is not None and results is not None:
        factor = constant(elements // max(results, 1), dtype=repeated.dtype)
    else:
        sizes = [shape(op.inputs[0]), shape(op.outputs[0])]
        factor = _repetitions(*[raw.Prod(s, constant([0])) for s in sizes])
    return [repeated / cast(factor, repeated.dtype), None]


def _extreme_grad(op: Operation, g: Tensor) -> list:
    x = op.inputs[0]
    kept = reduced_shape(shape(x), op.inputs[1])
    y, g = raw.Reshape(op.outputs[0], kept), raw.Reshape(g, kept)
    chosen = cast(raw.Equal(y, x), g.dtype)
    count = raw.Reshape(raw.Sum(chosen, op.inputs[1]), kept)
    return [chosen / count * g, None]


def _prod_grad(op: Operation, g: Tensor) -> list:
    """Each element gets the product of those before it and those behind it, so that no element is divided by."""
    x = op.inputs[0]
    sizes = shape(x)
    axes = raw.Reshape(op.inputs[1], [-1])
    kept = reduced_shape(sizes, op.inputs[1])
    repetitions = _repetitions(sizes, kept)
    g = raw.Tile(raw.Reshape(g, kept), repetitions)
    perm, matrix_sizes = _reduced_first(x, sizes, axes)
    permuted = transpose(x, perm)
    permuted_sizes = shape(permuted)
    rows = raw.Reshape(permuted, matrix_sizes)
    before = cumprod(rows, axis=0, exclusive=True)
    behind = cumprod(rows, axis=0, exclusive=True, reverse=True)
    others = raw.Reshape(conj(before) * conj(behind), permuted_sizes)
    found = g * transpose(others, raw.InvertPermutation(perm))
    return [raw.Reshape(found, sizes), None]


def _reduced_first(x: TensorLike, sizes: TensorLike, axes: Any) -> tuple[Any, tuple]:
    """The permutation that puts the reduced dimensions first, and how many elements they and the others have."""
    with device("/cpu:0"):
        dimensions = rank(x)
        reduced = cast((axes + dimensions) % dimensions, dtypes.int32)
        others = raw.ListDiff(arange(0, dimensions), reduced).out
        perm = concat([reduced, others], 0)
        counts = []
        for chosen in (reduced, others):
            chosen_sizes = raw.GatherV2(sizes, chosen, 0)
            counts.append(raw.Prod(chosen_sizes, all_dimensions(chosen_sizes)))
        return perm, tuple(counts)


def _reduction(name: str, types: str, function: Callable, gradient: Any, fold: Callable | None = None, **fields: object) -> None:
    value, attr = ("bool", "") if types == "bool" else ("T", f"T: {types}, ")
    text = f"(input: {value}, reduction_indices: Tidx, *, keep_dims: bool = False, {attr}Tidx: INDEX = int32) -> (output: {value})"
    op(name, text, shape=_reduced_shape, kernel=_reducing(function), gradient=gradient, constants=("reduction_indices",),
       fold=fold, depth=2, **fields)  # fmt: skip


def _near_mean(x: Any, axes: Any, *, keep_dims: bool) -> Any:
    return np.mean(x, axis=tuple(np.ravel(axes).tolist()), keepdims=keep_dims, dtype=x.dtype)


_reduction("Sum", "NUMBER", lax.reduce_sum, _sum_grad, _integer_numpy(np.sum, 0), exact=True, facts=Facts(reduces="sum"))
_reduction("Mean", "NUMBER", _mean, _mean_grad, exact=True, near=_near_mean, facts=Facts(reduces="mean"))
_reduction("Prod", "NUMBER", lax.reduce_prod, _prod_grad, _integer_numpy(np.multiply.reduce, 1), facts=Facts(reduces="product"))
_reduction("Max", "NUMBER", _extreme(lax.reduce_max, -np.inf, larger), _extreme_grad, _extreme_numpy(np.fmax, lowest=True))
_reduction("Min", "NUMBER", _extreme(lax.reduce_min, np.inf, smaller), _extreme_grad, _extreme_numpy(np.fmin, lowest=False))
_reduction("All", "bool", lax.reduce_and, _UNDEFINED, _integer_numpy(np.all))
_reduction("Any", "bool", lax.reduce_or, _UNDEFINED, _integer_numpy(np.any))
_reduction("EuclideanNorm", "NUMBER", _euclidean_norm, NotDifferentiable("1.15 defines no gradient"))


# ---- ArgMax, ArgMin ----


def _arg_shape(c: InferenceContext) -> list:
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
        # Outside x64 mode, as in to_jax, JAX cannot lower an index in int64.
        return function(x, axis % x.ndim, np.dtype(np.int32)).astype(output_type)

    return kernel


_ARG = "(input: T, dimension: Tidx, *, T: NUMBER, Tidx: INDEX = int32, output_type: INDEX = int64) -> (output: output_type)"
_INDEX = NotDifferentiable("an index has no derivative")
op("ArgMax", _ARG, shape=_arg_shape, kernel=_arg(lax.argmax, -np.inf), gradient=_INDEX, constants=("dimension",))
op("ArgMin", _ARG, shape=_arg_shape, kernel=_arg(lax.argmin, np.inf), gradient=_INDEX, constants=("dimension",))
