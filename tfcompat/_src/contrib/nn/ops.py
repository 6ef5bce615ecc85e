"""tf.contrib.nn: scaled softplus, alpha dropout, forward gradients, losses with swapped arguments."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.function.defun import Defun
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity, identity_n
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import exp, log
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

_ALPHA = -1.7580993408473766
"""What dropped elements become: -1.0507 * 1.6733 (Klambauer et al. 2017)."""


def _summed_to(grad: Tensor, like: Tensor) -> Tensor:
    """The sum of a gradient over what `like` was broadcast along."""
    shape = shape_of(like)
    broadcast, _ = raw.BroadcastGradientArgs(shape, shape_of(grad))
    return reshape(reduce_sum(grad, broadcast), shape)


@export("contrib.nn.scaled_softplus")
def scaled_softplus(x: TensorLike, alpha: TensorLike, clip: TensorLike | None = None, name: str | None = None) -> Tensor:
    """min(clip, alpha * log(1 + exp(x / alpha))).

    Args:
      x: floating Tensor.
      alpha: Tensor that broadcasts with x.
      clip: Tensor that broadcasts with x, or None.
      name: name scope, "scaled_softplus" by default.
    """
    given = [x, alpha] if clip is None else [x, alpha, clip]
    with name_scope(name, "scaled_softplus", given):
        x = convert_to_tensor(x, name="x")
        alpha = convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        result = alpha * softplus(x / alpha)
        inputs = [result, x, alpha]
        if clip is not None:
            clip = convert_to_tensor(clip, dtype=x.dtype, name="clip")
            inputs = [minimum(result, clip), x, alpha, clip]
        suffix = x.dtype.name if clip is None else f"clip_{x.dtype.name}"
        helper = Defun(
            *([x.dtype] * len(inputs)), func_name=f"ScaledSoftplusHelper_{suffix}",
            shape_func=lambda op: [op.inputs[0].shape], python_grad_func=_scaled_softplus_grad,
        )(lambda y, *others: y)  # fmt: skip
        return helper(*inputs)


def _scaled_softplus_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """The gradients for x, alpha and the limit; none for the value itself."""
    y, x, alpha, *limits = op.inputs
    with control_dependencies([grad]):
        y = identity(y)
    clipped = []
    if limits:
        below = cast(y < limits[0], grad.dtype)
        clipped = [_summed_to(grad * (1.0 - below), limits[0])]
        grad = grad * below
    y = y / alpha
    decay = exp(-y)
    slope = 1.0 - decay
    slope_of_alpha = y * decay - slope * log(slope + 1e-8)
    return [None, _summed_to(grad * slope, x), _summed_to(grad * slope_of_alpha, alpha), *clipped]


@export("contrib.nn.alpha_dropout")
def alpha_dropout(
    x: TensorLike, keep_prob: TensorLike, noise_shape: object = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Dropout that keeps mean and variance of activations of SELU (Klambauer et al. 2017, arXiv:1706.02515).

    Args:
      x: floating Tensor.
      keep_prob: part of the elements that is kept, in (0, 1].
      noise_shape: shape of the random decisions, by default that of x.
      seed: op seed.
      name: name scope, "alpha_dropout" by default.

    Raises:
      ValueError: `keep_prob` is outside of its range.
    """
    with name_scope(name, "alpha_dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, Real) and not 0 < keep_prob <= 1.0:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}")
        keep_prob = convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep_prob.get_shape().assert_has_rank(0)
        if constant_value(keep_prob) == 1:
            return x
        shape = shape_of(x) if noise_shape is None else noise_shape
        random = random_uniform(shape, seed=seed, dtype=x.dtype)
        kept = cast(greater_equal(random, 1 - keep_prob), x.dtype)
        x = x * kept + _ALPHA * (1 - kept)
        scale = (keep_prob + keep_prob * (1 - keep_prob) * _ALPHA**2) ** -0.5
        offset = -scale * _ALPHA * (1 - keep_prob)
        return scale * x + offset


def fwd_gradients(
    ys: Sequence[Tensor], xs: Sequence[Tensor], grad_xs: Sequence[Any] | None = None, assert_unused: bool = False
) -> list[Tensor | None]:
    """The derivatives of `ys` along a direction of `xs`, by two reverse walks.

    Args:
      ys, xs: Tensors.
      grad_xs: the direction, by default ones.
      assert_unused: whether computing the first walk is an error.
    """
    directions = [zeros_like(y) + float("nan") for y in ys]
    first = [None if grad is None else convert_to_tensor(grad) for grad in gradients(ys, xs, grad_ys=directions)]
    if assert_unused:
        with control_dependencies(first):
            used = Assert(False, [1], name="fwd_gradients")
        with control_dependencies([used]):
            first = identity_n(first)
    first = [zeros_like(x) if grad is None else grad for x, grad in zip(xs, first, strict=True)]
    for x, grad in zip(xs, first, strict=True):
        grad.set_shape(x.shape)
    return gradients(first, directions, grad_ys=grad_xs)


@export("contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits")
def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, dim: int = -1, name: str | None = None
) -> Tensor:
    """tf.nn.softmax_cross_entropy_with_logits with logits first."""
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


@export("contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits")
def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """tf.nn.sparse_softmax_cross_entropy_with_logits with logits first."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export("contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits")
def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits: TensorLike, targets: TensorLike, name: str | None = None) -> Tensor:
    """tf.nn.sigmoid_cross_entropy_with_logits with logits first."""
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
