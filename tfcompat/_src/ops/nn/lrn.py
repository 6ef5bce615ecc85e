"""Local response normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ATTRS = (
    "depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, "
    "T: {float16, bfloat16, float32} = float32"
)


def _lrn_shape(c):
    return [si.with_rank(c.inputs[0], 4)]


def _lrn_grad_shape(c):
    sizes = si.with_rank(c.inputs[0], 4)
    return [si.merge(si.merge(sizes, c.inputs[1]), c.inputs[2])]


def _lrn_gradient(op, g):
    attrs = {n: op.get_attr(n) for n in ("depth_radius", "bias", "alpha", "beta")}
    return [raw.LRNGrad(g, op.inputs[0], op.outputs[0], **attrs)]


def _sum_of_neighbours(x, radius: int):
    """For each channel the sum over those at most `radius` away."""
    radius = max(0, min(radius, x.shape[3] - 1))
    padding = [(0, 0), (0, 0), (0, 0), (radius, radius)]
    return lax.reduce_window(x, x.dtype.type(0), lax.add, (1, 1, 1, 2 * radius + 1), (1, 1, 1, 1), padding)


def _require_radius(depth_radius: int) -> None:
    if not 0 <= depth_radius < 2**31:
        raise errors.InvalidArgumentError(None, None, f"depth_radius = {depth_radius} larger than int max")


def _norms(x, radius: int, bias: float, alpha: float):
    """bias + alpha * sum of squares of neighbouring channels."""
    squares = _sum_of_neighbours(lax.mul(x, x), radius)
    return lax.add(lax.mul(squares, x.dtype.type(alpha)), x.dtype.type(bias))


def _require_images(x: Any, text: str) -> None:
    if x.ndim != 4:
        raise errors.InvalidArgumentError(None, None, text)


@op("LRN", f"(input: T, *, {_ATTRS}) -> (output: T)", shape=_lrn_shape, gradient=_lrn_gradient)
def _lrn(x, *, depth_radius, bias, alpha, beta):
    _require_images(x, "in must be 4-dimensional")
    _require_radius(depth_radius)
    return lax.mul(x, lax.pow(_norms(x, depth_radius, bias, alpha), x.dtype.type(-beta)))


@op(
    "LRNGrad", f"(input_grads: T, input_image: T, output_image: T, *, {_ATTRS}) -> (output: T)", shape=_lrn_grad_shape,
    gradient=NotDifferentiable("1.15 has no second derivative of LRN", raises=True),
)  # fmt: skip
def _lrn_grad(grads, x, y, *, depth_radius, bias, alpha, beta):
    _require_images(grads, "inputs must be 4-dimensional")
    checks.same_shape(grads, x, y)
    _require_radius(depth_radius)
    norms = _norms(x, depth_radius, bias, alpha)
    direct = lax.mul(grads, lax.pow(norms, x.dtype.type(-beta)))
    shared = _sum_of_neighbours(lax.div(lax.mul(grads, y), norms), depth_radius)
    return lax.sub(direct, lax.mul(lax.mul(x, shared), x.dtype.type(2 * alpha * beta)))


def lrn(
    input: TensorLike, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Tensor:
    """input / (bias + alpha * sum of squares over neighbouring channels) ** beta (Krizhevsky et al., 2012).

    Args:
      input: Tensor [batch, height, width, channels] of float32, float16 or bfloat16.
      depth_radius: how far neighbours reach on each side.
      bias, alpha, beta: of the formula.
      name: node name.
    """
    return raw.LRN(input, depth_radius, bias, alpha, beta, name=name)


lrn = export("nn.local_response_normalization", "nn.lrn")(lrn)
