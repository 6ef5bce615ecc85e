"""Padding with a value or with mirrored elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import invalid, rank, shape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _checked_rank(c) -> tuple[Any, int | None, Any]:
    """The input's sizes and rank, and the paddings where they are known."""
    table, known = si.with_rank(c.inputs[1], 2), c.value(1)
    si.merge(table, (None, 2))
    sizes = c.inputs[0]
    if table[0] is not None:
        sizes = si.with_rank(sizes, table[0])
    if known is not None and (known < 0).any():
        raise ValueError("Paddings must be non-negative")
    return sizes, None if sizes is None else len(sizes), known


def _mirror_pad_gradient_shape(c):
    if si.with_rank(c.inputs[1], 2)[0] is None:
        return [None]
    sizes, rank, paddings = _checked_rank(c)
    if paddings is None:
        return [(None,) * rank]
    return [tuple(None if s is None else si.subtract_size(s, sum(pair)) for s, pair in zip(sizes, paddings.tolist()))]


def _pad_shape(c):
    sizes, rank, paddings = _checked_rank(c)
    if rank is None or paddings is None:
        return [None if rank is None else (None,) * rank]
    added = [sum(pair) for pair in paddings.tolist()]
    for s, count in zip(sizes, added):
        if s is not None and count > np.iinfo(paddings.dtype).max:
            wrapped = count - 2 ** (8 * paddings.dtype.itemsize)
            raise ValueError(f"Dimension size overflow from adding {s} and {wrapped}")
    return [tuple(None if s is None else s + count for s, count in zip(sizes, added))]


def _pairs(x: Any, paddings: np.ndarray) -> list[tuple[int, int]]:
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        raise invalid(f"paddings must be a matrix with 2 columns: {shape_text(paddings.shape)}")
    if len(paddings) != x.ndim:
        raise invalid(
            f"The first dimension of paddings must be the rank of inputs{shape_text(paddings.shape)} "
            f"{shape_text(tuple(x.shape))}"
        )
    for before, after in paddings:
        if before < 0 or after < 0:
            raise invalid(f"Paddings must be non-negative: {before} {after}")
    return [(int(b), int(a)) for b, a in paddings]


def _pad_gradient(op, grad):
    x, paddings = op.inputs[0], op.inputs[1]
    begin = raw.Reshape(raw.Slice(paddings, [0, 0], stack([rank(x), 1])), [-1])
    sizes = shape(x)
    return [raw.Slice(grad, begin, sizes)] + [None] * (len(op.inputs) - 1)


def _padded(x, paddings, value):
    return lax.pad(jnp.asarray(x), jnp.asarray(value, x.dtype), [(b, a, 0) for b, a in _pairs(x, paddings)])


def _numpy_padded(x, paddings, value):
    pairs = _pairs(x, paddings)
    padded = np.full([before + size + after for size, (before, after) in zip(x.shape, pairs)], value, x.dtype)
    padded[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, pairs))] = x
    return padded


def _zero(dtype: np.dtype) -> Any:
    return b"" if dtype.kind == "O" else np.zeros((), dtype)


op(
    "Pad", "(input: T, paddings: Tpaddings, *, T: type, Tpaddings: INDEX = int32) -> (output: T)", shape=_pad_shape,
    exact=True, gradient=_pad_gradient, constants=("paddings",), kernel=lambda x, paddings: _padded(x, paddings, 0),
    fold=lambda x, paddings: _numpy_padded(x, paddings, _zero(x.dtype)),
)  # fmt: skip

op(
    "PadV2", "(input: T, paddings: Tpaddings, constant_values: T, *, T: type, Tpaddings: INDEX = int32) -> (output: T)",
    shape=_pad_shape, gradient=_pad_gradient, constants=("paddings",), kernel=_padded, fold=_numpy_padded,
)  # fmt: skip

# ---- MirrorPad ----


def _mirrored(x: TensorLike, pairs: list[tuple[int, int]], mode: str, pad: Callable = jnp.pad) -> Any:
    return pad(x, pairs, mode="reflect" if mode == "REFLECT" else "symmetric")


def _check_mirror(sizes: tuple, pairs: list[tuple[int, int]], mode: str) -> None:
    for size, (before, after) in zip(sizes, pairs):
        if mode == "SYMMETRIC" and max(before, after) > size:
            raise invalid(f"paddings must be no greater than the dimension size: {before}, {after} greater than {size}")
        if mode == "REFLECT" and max(before, after) >= size:
            raise invalid(f"paddings must be less than the dimension size: {before}, {after} not less than {size}")


_MIRROR = (
    '(input: T, paddings: Tpaddings, *, T: type, Tpaddings: INDEX = int32, mode: {"REFLECT", "SYMMETRIC"}) '
    "-> (output: T)"
)


@op(
    "MirrorPad", _MIRROR, shape=_pad_shape, constants=("paddings",),
    gradient=lambda op, grad: [raw.MirrorPadGrad(grad, op.inputs[1], mode=op.get_attr("mode")), None],
    fold=lambda x, paddings, *, mode: _mirror_pad(x, paddings, mode=mode, pad=np.pad),
)  # fmt: skip
def _mirror_pad(x, paddings, *, mode, pad=jnp.pad):
    pairs = _pairs(x, paddings)
    _check_mirror(x.shape, pairs, mode)
    return _mirrored(x, pairs, mode, pad)


@op(
    "MirrorPadGrad", _MIRROR, shape=_mirror_pad_gradient_shape, constants=("paddings",),
    gradient=lambda op, grad: [raw.MirrorPad(grad, op.inputs[1], mode=op.get_attr("mode")), None],
)  # fmt: skip
def _mirror_pad_grad(x, paddings, *, mode):
    pairs = _pairs(x, paddings)
    sizes = tuple(s - b - a for s, (b, a) in zip(x.shape, pairs))
    _check_mirror(sizes, pairs, mode)
    spread = jax.linear_transpose(lambda t: _mirrored(t, pairs, mode), jax.ShapeDtypeStruct(sizes, x.dtype))
    return spread(jnp.asarray(x))[0]


@export("pad")
def pad(
    tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """`tensor` with elements added before and after it in each dimension.

    Args:
      tensor: a tensor of rank n.
      paddings: int [n, 2], how many elements before and after.
      mode: "CONSTANT", "REFLECT" (mirrored without the border) or "SYMMETRIC" (with it), in any case.
      name: node name.
      constant_values: scalar, the value of added elements in "CONSTANT" mode.

    Raises:
      ValueError: another mode, or negative paddings.
    """
    kind = mode.upper()
    if kind == "CONSTANT":
        if not isinstance(constant_values, Tensor) and np.ndim(constant_values) == 0 and constant_values == 0:
            result = raw.Pad(tensor, paddings, name=name)
        else:
            result = raw.PadV2(tensor, paddings, constant_values, name=name)
    elif kind in ("REFLECT", "SYMMETRIC"):
        result = raw.MirrorPad(tensor, paddings, mode=kind, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {kind}")
    _set_partly_known_shape(result)
    return result


def _set_partly_known_shape(result: Tensor) -> None:
    """Uses the rows of the paddings that are known where others are not."""
    if result.shape.is_fully_defined():
        return
    sizes, paddings = result.op.inputs[0]._sizes, result.op.inputs[1]
    if sizes is None or paddings.op.type != "Pack":
        return
    rows = constant_value(paddings, partial=True)
    if rows is None:
        return
    result.set_shape(
        [None if row is None or size is None else size + int(np.sum(row)) for row, size in zip(rows, sizes)]
    )
