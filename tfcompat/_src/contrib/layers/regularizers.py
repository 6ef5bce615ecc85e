"""tf.contrib.layers regularizers: functions of weights that give a loss."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection, get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.ops.nn.loss import l2_loss
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _no_loss(_: object) -> None:
    return None


def _require_scale(scale: object, name: str = "scale") -> None:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{name} cannot be an integer: {scale}")


def _regularizer(scale: object, scope: str | None, kind: str, norm: Callable) -> Callable:
    """A function `weights -> scale * norm(weights)`; one that gives None where `scale` is 0."""
    _require_scale(scale)
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}{'.' if kind == 'l2' else ''}")
        if scale == 0.0:
            logging.info("Scale of 0 disables regularizer.")
            return _no_loss

    def regularizer(weights: Any, name: str | None = None) -> Tensor:
        with name_scope(scope, f"{kind}_regularizer", [weights]) as name:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return multiply(factor, norm(weights), name=name)

    regularizer.__name__ = kind
    return regularizer


@export("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer")
def l1_regularizer(scale: TensorLike, scope: str | None = None) -> Callable:
    """A regularizer `scale * sum(|weights|)`.

    Args:
      scale: a float of 0 (no loss) or more, or a scalar tensor.
      scope: name scope.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    return _regularizer(scale, scope, "l1", lambda weights: reduce_sum(absolute(weights)))


@export("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer")
def l2_regularizer(scale: TensorLike, scope: str | None = None) -> Callable:
    """A regularizer `scale * sum(weights^2) / 2`.

    Args:
      scale: a float of 0 (no loss) or more, or a scalar tensor.
      scope: name scope.

    Returns:
      a function of the weights that gives a scalar Tensor, or None where `scale` is 0.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    return _regularizer(scale, scope, "l2", l2_loss)


@export("contrib.layers.l1_l2_regularizer", "contrib.slim.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1: TensorLike = 1.0, scale_l2: TensorLike = 1.0, scope: str | None = None) -> Callable:
    """The sum of both regularizers; just one where the other's scale is 0."""
    _require_scale(scale_l1, "scale_l1")
    _require_scale(scale_l2, "scale_l2")
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, numbers.Real) and scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, numbers.Real) and scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


@export("contrib.layers.sum_regularizer", "contrib.slim.sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Callable | None:
    """The sum of several regularizers, of which those that are None are left out; None where none is left."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def sum_reg(weights: object) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            losses = [loss for loss in (r(weights) for r in regularizers) if loss is not None]
            return add_n(losses, name=name) if losses else None

    return sum_reg


@export("contrib.layers.apply_regularization", "contrib.slim.apply_regularization")
def apply_regularization(regularizer: Callable, weights_list: Any = None) -> Tensor:
    """The sum of a regularizer over weights, which joins the collection REGULARIZATION_LOSSES.

    Args:
      regularizer: function of a weight.
      weights_list: the weights; by default the collection WEIGHTS.

    Raises:
      ValueError: there are no weights, or the regularizer gives no scalar.
    """
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [constant(0.0) if p is None else p for p in penalties]
        for penalty in penalties:
            if penalty.get_shape().ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.get_shape().ndims}."
                )
        total = add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
