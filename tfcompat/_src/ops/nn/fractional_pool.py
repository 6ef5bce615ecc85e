"""Fractional max and average pooling: windows of two sizes in random order.

Definition: B. Graham, "Fractional max-pooling", 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.seeds import get_seed
from tfcompat._src.ops.random.words import Words

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_TYPES = "{float32, float64, int32, int64}"
_ATTRS = (
    "pooling_ratio: list(float) >= 4, pseudo_random: bool = False, overlapping: bool = False, "
    f"deterministic: bool = False, seed: int = 0, seed2: int = 0, T: {_TYPES}"
)
_OUTPUTS = "(output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)"
_NONE = NotDifferentiable("1.15 has no gradient of this one", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- static shapes ----


def _pooled_shape(c):
    sizes, ratio = si.with_rank(c.inputs[0], 4), c.attr("pooling_ratio")
    if len(ratio) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    for r in ratio:
        if r < 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {r:g}")
    out = tuple(None if n is None else math.floor(np.float32(n) / np.float32(r)) for n, r in zip(sizes, ratio))
    return [out, (out[1],), (out[2],)]


def _unpooled_shape(c):
    return [(None,) * 4 if c.value(0) is None else c.shape_value(0)]


# ---- windows ----


def _pseudo_random(size: int, count: int, words: Words) -> list[int]:
    """Window sizes that differ as little as can be from a line of slope size / count with a random start."""
    alpha, least = size / count, size // count
    start = words.double() * min((least + 2) / alpha - 1, (size + 1 - least) / alpha - (count - 1))
    edges = [1, *(math.ceil(alpha * (i + start)) for i in range(1, count)), size + 1]
    return [b - a for a, b in zip(edges, edges[1:])]


def _shuffled(size: int, count: int, words: Words) -> list[int]:
    """The larger windows, then the smaller ones, in random order."""
    found = [size // count + 1] * (size % count) + [size // count] * (count - size % count)
    for i in range(count - 1):
        j = i + words.word() % (count - i)
        found[i], found[j] = found[j], found[i]
    return found


def _edges(size: int, count: int, is_pseudo_random: bool, generator: list) -> np.ndarray:
    """Where windows begin, and the end; takes its draws from `generator`, [key, counter]."""
    words = Words(*generator)
    sizes = (_pseudo_random if is_pseudo_random else _shuffled)(size, count, words)
    generator[1] = philox.advance(generator[1], 1 if is_pseudo_random else -(-count // 4))
    return np.cumsum([0, *sizes], dtype=np.int64)


def _windows(edges: np.ndarray, size: int, overlapping: bool) -> list[tuple[int, int]]:
    """[begin, end) of each window; overlapping ones take in the first element of the next."""
    ends = edges[1:] + 1 if overlapping else edges[1:]
    return [(int(a), min(int(b), size)) for a, b in zip(edges, ends)]


# ---- kernels ----


def _pool(reduce: Callable, what: str) -> Callable:
    def kernel(x, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
        if not deterministic and (seed or seed2):
            raise _invalid("Both seed and seed2 should be 0 if deterministic is false.")
        if pooling_ratio[0] != 1 and pooling_ratio[3] != 1:
            text = f"Fractional {what} pooling is not yet supported on the batch nor channel dimension."
            raise errors.UnimplementedError(None, None, text)
        if x.ndim != 4:
            raise _invalid("tensor_in must be 4-dimensional")
        for i, (n, r) in enumerate(zip(x.shape, pooling_ratio)):
            if n < r:
                raise _invalid(
                    f"Pooling ratio is higher than input dimension size for dimension {i}. Input dim size: {n} "
                    f"pooling ratio: {r:g}"
                )
        generator = list(philox.seed_to_key_counter(seed, seed2))
        edges = []
        for axis in (1, 2):
            count = math.floor(np.float32(x.shape[axis]) / np.float32(pooling_ratio[axis]))
            edges.append(_edges(x.shape[axis], count, pseudo_random, generator))
        windows = [_windows(e, x.shape[axis], overlapping) for axis, e in enumerate(edges, 1)]
        return reduce(x, *windows), *edges

    return kernel


def _maximum(x: np.ndarray, rows: list, columns: list) -> np.ndarray:
    x = np.stack([x[:, a:b].max(1) for a, b in rows], 1)
    return np.stack([x[:, :, a:b].max(2) for a, b in columns], 2)


def _average(x: np.ndarray, rows: list, columns: list) -> np.ndarray:
    x = np.stack([x[:, a:b].sum(1, dtype=x.dtype) for a, b in rows], 1)
    x = np.stack([x[:, :, a:b].sum(2, dtype=x.dtype) for a, b in columns], 2)
    counts = np.outer([b - a for a, b in rows], [b - a for a, b in columns])[:, :, None].astype(x.dtype)
    if x.dtype.kind == "i":
        return np.sign(x) * (np.abs(x) // counts)
    return x / counts


def _sequence_windows(edges: np.ndarray, size: int, overlapping: bool, what: str) -> list[tuple[int, int]]:
    if edges.size and (edges[:-1] < 0).any():
        raise _invalid(f"{what} sequence tensor values must not be negative, got {edges}")
    return _windows(edges, size, overlapping)


def _check_windows(grads: np.ndarray, windows: list) -> None:
    for axis, found in enumerate(windows, 1):
        if len(found) != grads.shape[axis]:
            raise _invalid(f"out_backprop has {grads.shape[axis]} elements in dimension {axis}, the sequence {len(found)}")


def _average_grad(sizes, grads, rows, columns, *, overlapping):
    if sizes.shape != (4,):
        raise _invalid("original input tensor shape must be1-dimensional and 4 elements")
    for n, what in zip(sizes, ("Batch", "Rows", "Columns", "Depth")):
        if n == 0:
            raise _invalid(f"{what} dimension of input must not be 0")
    windows = [
        _sequence_windows(e, int(sizes[axis]), overlapping, what)
        for axis, e, what in ((1, rows, "Row"), (2, columns, "Column"))
    ]
    if (int(sizes[0]), int(sizes[3])) != (grads.shape[0], grads.shape[3]):
        wanted = f"{sizes[0]} images of {sizes[3]} channels"
        raise _invalid(f"out_backprop must have {wanted}, but has shape {shape_text(grads.shape)}")
    _check_windows(grads, windows)
    shares = []
    for axis, found in enumerate(windows, 1):
        share = np.zeros((len(found), int(sizes[axis])))
        for line, (a, b) in zip(share, found):
            line[a:b] = 1 / max(1, b - a)  # a window may be empty
        shares.append(share)
    return np.einsum("ri,brcd,cj->bijd", shares[0], grads.astype(np.float64), shares[1], optimize=True).astype(grads.dtype)


def _max_grad(x, y, grads, rows, columns, *, overlapping):
    windows = [
        _sequence_windows(e, x.shape[axis], overlapping, what)
        for axis, e, what in ((1, rows, "Row"), (2, columns, "Column"))
    ]
    _check_windows(grads, windows)
    if y.shape != grads.shape:
        raise _invalid(f"out_backprop must have the shape of the output {list(y.shape)}, but got {list(grads.shape)}")
    found = np.zeros_like(x)
    batch, depth = np.arange(x.shape[0])[:, None], np.arange(x.shape[3])
    for r, (top, bottom) in enumerate(windows[0]):
        for c, (left, right) in enumerate(windows[1]):
            cell = x[:, top:bottom, left:right].reshape(x.shape[0], -1, x.shape[3])
            row, column = np.divmod(cell.argmax(1), right - left)
            found[batch, top + row, left + column, depth] += grads[:, r, c]
    return found


def _max_gradient(op, g, *_):
    args = (op.inputs[0], op.outputs[0], g, op.outputs[1], op.outputs[2])
    return [raw.FractionalMaxPoolGrad(*args, overlapping=op.get_attr("overlapping"))]


def _average_gradient(op, g, *_):
    sizes = op.inputs[0].shape
    sizes = sizes.as_list() if sizes.is_fully_defined() else raw.Shape(op.inputs[0], out_type="int64")
    args = (sizes, g, op.outputs[1], op.outputs[2])
    return [raw.FractionalAvgPoolGrad(*args, overlapping=op.get_attr("overlapping"))]


for _name, _reduce, _what, _gradient in (
    ("FractionalMaxPool", _maximum, "max", _max_gradient), ("FractionalAvgPool", _average, "average", _average_gradient),
):  # fmt: skip
    op(
        _name, f"(value: T, *, {_ATTRS}) -> {_OUTPUTS}", shape=_pooled_shape, gradient=_gradient,
        kernel=_pool(_reduce, _what), side=HOST,
    )  # fmt: skip

_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"
op(
    "FractionalMaxPoolGrad",
    f"(orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES}, *, overlapping: bool = False, T: {_TYPES}) -> (output: T)",
    shape=lambda c: [si.with_rank(c.inputs[0], 4)], gradient=_NONE, kernel=_max_grad, side=HOST,
)  # fmt: skip
op(
    "FractionalAvgPoolGrad",
    f"(orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES}, *, overlapping: bool = False, T: {_TYPES}) -> "
    "(output: T)",
    shape=_unpooled_shape, gradient=_NONE, kernel=_average_grad, side=HOST,
)  # fmt: skip


# ---- public functions ----


@export("nn.fractional_max_pool")
def fractional_max_pool(
    value: TensorLike, pooling_ratio: object, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
    seed: int = 0, seed2: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """Max pooling by a ratio that is no whole number.

    Args:
      value: [batch, height, width, channels].
      pooling_ratio: four numbers >= 1, input by output size; 1 for batch and channels.
      pseudo_random: whether windows follow a line with a random start; else their sizes are shuffled.
      overlapping: whether a window takes in the first element of the next.
      deterministic: whether each run draws the same windows, by `seed` and `seed2`.
      seed, seed2: 0 where not deterministic.
      name: node name.

    Returns:
      the pooled Tensor, and the edges of the windows in height and width, int64.
    """
    return raw.FractionalMaxPool(
        value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
        deterministic=deterministic, seed=seed, seed2=seed2, name=name,
    )  # fmt: skip


@export("nn.fractional_avg_pool")
def fractional_avg_pool(
    value: TensorLike, pooling_ratio: object, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False,
    seed: int = 0, seed2: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """Average pooling by a ratio that is no whole number; arguments and results are those of `fractional_max_pool`."""
    return raw.FractionalAvgPool(
        value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
        deterministic=deterministic, seed=seed, seed2=seed2, name=name,
    )  # fmt: skip


def _seed_arguments(seed: int) -> dict[str, Any]:
    if seed == 0:
        return {"deterministic": False, "seed": 0, "seed2": 0}
    first, second = get_seed(seed)
    return {"deterministic": True, "seed": first, "seed2": second}


def _ratios(value: object) -> list:
    """Four ratios from one number, from those of height and width, or as they are."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(values) == 1:
        values *= 2
    return [1, *values, 1] if len(values) == 2 else values


@export("compat.v2.nn.fractional_max_pool")
def fractional_max_pool_v2(
    value: TensorLike, pooling_ratio: object, pseudo_random: bool = False, overlapping: bool = False, seed: int = 0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool` that is deterministic where `seed` is not 0."""
    return fractional_max_pool(
        value, _ratios(pooling_ratio), pseudo_random, overlapping, name=name, **_seed_arguments(seed)
    )


@export("compat.v2.nn.fractional_avg_pool")
def fractional_avg_pool_v2(
    value: TensorLike, pooling_ratio: object, pseudo_random: bool = False, overlapping: bool = False, seed: int = 0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`fractional_avg_pool` that is deterministic where `seed` is not 0."""
    return fractional_avg_pool(value, pooling_ratio, pseudo_random, overlapping, name=name, **_seed_arguments(seed))
