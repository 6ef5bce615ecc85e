"""Rounding to what a quantized tensor of `num_bits` could hold, in floating point."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.shape_inference import merge, merge_size, unchanged, with_rank, with_rank_at_least
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_ARGS = "*, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False"
_VARS = "*, num_bits: int = 8, narrow_range: bool = False"
_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def _steps(num_bits: int, narrow_range: bool) -> tuple[np.float32, np.float32]:
    """The least and the greatest quantized number."""
    if not 2 <= num_bits <= 16:
        raise errors.InvalidArgumentError(None, None, f"num_bits must be between 2 and 16, inclusive, got {num_bits}")
    return np.float32(narrow_range), np.float32(2**num_bits - 1)


def _is_known(*limits: object) -> bool:
    return all(isinstance(limit, (np.ndarray, np.generic)) for limit in limits)


def _nudged(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """The range moved so that 0 is one of the steps, and the width of a step.

    Where 0 is halfway between two steps the last bit of the width decides, so the compiler may not join the divisions:
    a known range is computed with in NumPy.
    """
    first, last = _steps(num_bits, narrow_range)
    xp, keep = (np, np.asarray) if _is_known(low, high) else (jnp, lax.optimization_barrier)
    scale = keep(_quotient(high - low, keep(last - first)))
    zero = first - _quotient(low, scale)
    zero = xp.where(zero < first, first, xp.where(zero > last, last, xp.floor(zero + np.float32(0.5))))
    return (first - zero) * scale, (last - zero) * scale, scale


def _quotient(a: Any, b: Any) -> Any:
    """The float32 next to a / b, which XLA's division of float32 on a GPU misses by up to two units in the last place."""
    return a / b if isinstance(a, (np.ndarray, np.generic)) else (a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)


def _fixed_range(low: float, high: float) -> tuple[np.float32, np.float32]:
    if not low < high:
        raise errors.InvalidArgumentError(None, None, f"min has to be smaller than max, was: {low:g} >= {high:g}")
    return np.float32(low), np.float32(high)


def _rounded(x: Any, low: object, high: object, num_bits: int, narrow_range: bool) -> Any:
    least, most, scale = _nudged(low, high, num_bits, narrow_range)
    shifted = jnp.maximum(jnp.minimum(x, most), least) - least
    return jnp.floor(shifted * (np.float32(1) / scale) + np.float32(0.5)) * scale + least


def _spread(g: Any, x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """`g` where x is within the range, below it and above it; elsewhere 0, or NaN where `g` is not finite."""
    least, most, _ = _nudged(low, high, num_bits, narrow_range)
    return tuple(g * where.astype(g.dtype) for where in ((x >= least) & (x <= most), x < least, x > most))


def _options(op: Operation, *names: str) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in (*names, "num_bits", "narrow_range")}


# ---- a range that is an attribute ----


def _args_gradient(op: Operation, g: Tensor) -> list:
    return [raw.FakeQuantWithMinMaxArgsGradient(g, op.inputs[0], **_options(op, "min", "max"))]


@op("FakeQuantWithMinMaxArgs", f"(inputs: float32, {_ARGS}) -> (outputs: float32)", shape=unchanged,
    gradient=_args_gradient)  # fmt: skip
def _args(x, *, min, max, num_bits, narrow_range):
    return _rounded(x, *_fixed_range(min, max), num_bits, narrow_range)


@op("FakeQuantWithMinMaxArgsGradient", f"(gradients: float32, inputs: float32, {_ARGS}) -> (backprops: float32)",
    shape=unchanged, gradient=_UNDEFINED)  # fmt: skip
def _args_backward(g, x, *, min, max, num_bits, narrow_range):
    checks.same_shape(g, x)
    return _spread(jnp.asarray(g), x, *_fixed_range(min, max), num_bits, narrow_range)[0]


# ---- a range that is a tensor: scalars, or one per channel ----


def _limits_shape(c: InferenceContext, first: int, per_channel: bool) -> tuple:
    """The sizes of min and max, which are scalars or as long as the last dimension."""
    sizes = c.inputs[first - 1]
    low, high = (with_rank(c.inputs[i], int(per_channel)) for i in (first, first + 1))
    if not per_channel:
        return ()
    sizes = with_rank_at_least(sizes, 1)
    length = merge_size(low[0], high[0])
    return (length if sizes is None else merge_size(length, sizes[-1]),)


def _checked_limits(x: Any, low: Any, high: Any, per_channel: bool) -> tuple[Any, Any]:
    """`low` and `high`, of shape [channels] or []; 1.15's kernels do not look at the rank of a single number."""
    if not per_channel and low.size == high.size == 1:
        return low.reshape(()), high.reshape(())
    wanted = x.shape[-1:] if per_channel else ()
    for label, limit in (("min", low), ("max", high)):
        if limit.shape != wanted:
            raise errors.InvalidArgumentError(
                None, None, f"{label} has incorrect size, expected {shape_text(wanted)} was {shape_text(limit.shape)}"
            )
    return low, high


def _some_range(low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Where the range is [0, 0], and the limits with another range in its place."""
    xp = np if _is_known(low, high) else jnp
    empty = (low == 0) & (high == 0)
    return empty, xp.where(empty, np.float32(-1), low), xp.where(empty, np.float32(1), high)


def _vars(per_channel, x, low, high, *, num_bits, narrow_range):
    low, high = _checked_limits(x, low, high, per_channel)
    empty, low, high = _some_range(low, high)
    return jnp.where(empty, np.float32(0), _rounded(x, low, high, num_bits, narrow_range))


def _vars_backward(per_channel, g, x, low, high, *, num_bits, narrow_range):
    checks.same_shape(g, x)
    low, high = _checked_limits(x, low, high, per_channel)
    g = jnp.asarray(g)
    empty, low, high = _some_range(low, high)
    inside, below, above = _spread(g, x, low, high, num_bits, narrow_range)
    zeros = jnp.zeros_like(g)
    axes = tuple(range(g.ndim - low.ndim))
    sums = (jnp.sum(jnp.where(empty, zeros, part), axes, dtype=g.dtype) for part in (below, above))
    return (jnp.where(empty, g, inside), *sums)


def _add(name: str, per_channel: bool) -> None:
    backward = raw.function(name + "Gradient")

    def shape(c: InferenceContext) -> list:
        _limits_shape(c, 1, per_channel)
        return [c.inputs[0]]

    def backward_shape(c: InferenceContext) -> list:
        limits = _limits_shape(c, 2, per_channel)
        return [merge(c.inputs[0], c.inputs[1]), limits, limits]

    def gradient(op: Operation, g: Tensor) -> list:
        return list(backward(g, *op.inputs, **_options(op)))

    op(
        name, f"(inputs: float32, min: float32, max: float32, {_VARS}) -> (outputs: float32)", shape=shape,
        kernel=functools.partial(_vars, per_channel), gradient=gradient, depth=2,
    )  # fmt: skip
    ends = "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32"
    op(
        name + "Gradient",
        f"(gradients: float32, inputs: float32, min: float32, max: float32, {_VARS}) -> ({ends})",
        shape=backward_shape, kernel=functools.partial(_vars_backward, per_channel), gradient=_UNDEFINED, depth=2,
    )  # fmt: skip


_add("FakeQuantWithMinMaxVars", per_channel=False)
_add("FakeQuantWithMinMaxVarsPerChannel", per_channel=True)


# ---- public functions ----


@export("quantization.fake_quant_with_min_max_args", "fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: TensorLike, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`inputs` rounded to the steps that `num_bits` bits hold between `min` and `max`.

    Args:
      inputs: a float32 tensor.
      min, max: numbers, the range; it is moved a little so that 0 is a step.
      num_bits: 2 to 16.
      narrow_range: whether the least step is left out.
      name: node name.
    """
    return raw.FakeQuantWithMinMaxArgs(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export("quantization.fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike, inputs: TensorLike, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of `fake_quant_with_min_max_args`: `gradients` where `inputs` is within the range."""
    return raw.FakeQuantWithMinMaxArgsGradient(
        gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export("quantization.fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """As `fake_quant_with_min_max_args`, with float32 scalar tensors `min` and `max`."""
    return raw.FakeQuantWithMinMaxVars(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export("quantization.fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of `fake_quant_with_min_max_vars` for its inputs, min and max."""
    return raw.FakeQuantWithMinMaxVarsGradient(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export("quantization.fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """As `fake_quant_with_min_max_vars`, with one `min` and `max` for each index of the last dimension."""
    return raw.FakeQuantWithMinMaxVarsPerChannel(
        inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export(
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient", "fake_quant_with_min_max_vars_per_channel_gradient"
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradients of `fake_quant_with_min_max_vars_per_channel` for its inputs, min and max."""
    return raw.FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )
