"""Losses of logistic and Poisson regression, and half the sum of squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jax import lax

from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import scalar
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.nn.softmax import check_cross_entropy_arguments

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _l2_loss_gradient(op, g):
    return [op.inputs[0] * g]


@op("L2Loss", "(t: T, *, T: FLOAT) -> (output: T)", shape=scalar, gradient=_l2_loss_gradient)
def _l2_loss(t):
    flat = lax.reshape(t, (t.size,))
    return lax.mul(lax.dot(flat, flat), t.dtype.type(0.5))


@export("nn.l2_loss")
def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """sum(t * t) / 2, a scalar of the dtype of `t`."""
    return raw.L2Loss(t, name=name)


def _check_same_shape(names: tuple[str, str], first: Tensor, second: Tensor) -> None:
    try:
        second.shape.merge_with(first.shape)
    except ValueError:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same shape ({first.shape} vs {second.shape})"
        ) from None


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    _sentinel: object = None, labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Cross entropy of independent events and sigmoid(logits): max(x, 0) - x * z + log(1 + exp(-|x|)).

    Args:
      labels: Tensor of the shape and dtype of `logits`, in [0, 1].
      logits: floating Tensor.
      name: node name.

    Raises:
      ValueError: a positional argument, a missing one, or shapes that differ.
    """
    check_cross_entropy_arguments("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits, labels = to_tensor(logits, name="logits"), to_tensor(labels, name="labels")
        _check_same_shape(("logits", "labels"), logits, labels)
        zero = zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zero
        above = where(positive, logits, zero)
        below = where(positive, -logits, logits)
        return raw.Add(above - logits * labels, raw.Log1p(raw.Exp(below)), name=name)


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: object = None, logits: TensorLike | None = None, pos_weight: Any = None, name: str | None = None, targets: object = None
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits` where the positive part counts `pos_weight` times.

    Args:
      labels: Tensor of the shape and dtype of `logits`.
      logits: floating Tensor.
      pos_weight: weight of the positive examples.
      name: node name.
      targets: old name of `labels`.

    Raises:
      ValueError: shapes that differ.
    """
    labels = deprecated_argument_lookup("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits, labels = to_tensor(logits, name="logits"), to_tensor(labels, name="labels")
        _check_same_shape(("logits", "labels"), logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        negative = (1 - labels) * logits
        return raw.Add(negative, weight * (raw.Log1p(raw.Exp(-abs(logits))) + raw.Relu(-logits)), name=name)


@export("nn.log_poisson_loss")
def log_poisson_loss(targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """Minus the log likelihood of counts under Poisson distributions: exp(c) - z * c, without the constant log(z!).

    Args:
      targets: Tensor of the shape and dtype of `log_input`, the counts z.
      log_input: floating Tensor, the logarithms c of the rates.
      compute_full_loss: adds Stirling's approximation of log(z!) where z > 1.
      name: name scope.

    Raises:
      ValueError: shapes that differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input, targets = to_tensor(log_input, name="log_input"), to_tensor(targets, name="targets")
        _check_same_shape(("log_input", "targets"), log_input, targets)
        found = raw.Exp(log_input) - log_input * targets
        return found + _log_factorial(targets) if compute_full_loss else found


def _log_factorial(z: Tensor) -> Tensor:
    half, circle = constant(0.5, dtype=z.dtype), constant(2 * math.pi, dtype=z.dtype)
    stirling = z * raw.Log(z) - z + half * raw.Log(circle * z)
    zero, one = zeros_like(z, dtype=z.dtype), ones_like(z, dtype=z.dtype)
    return where(logical_and(z >= zero, z <= one), zero, stirling)
