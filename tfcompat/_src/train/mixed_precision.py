"""tf.train.experimental.enable_mixed_precision_graph_rewrite: loss scaling, and Sessions that ask for float16."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import mixed_precision_state as state
from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.config import set_optimizer_experimental_options
from tfcompat._src.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from tfcompat._src.train.optimizer import Optimizer


def _scaled(opt: object, loss_scale: object) -> Any:
    for name in ("MixedPrecisionLossScaleOptimizer", "LossScaleOptimizer"):
        if type(opt).__name__ == name:
            raise ValueError(
                f'"opt" must not already be an instance of a {name}. `enable_mixed_precision_graph_rewrite` will automatically wrap '
                f"the optimizer with a {name}."
            )
    if isinstance(opt, Optimizer):
        return MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    if state.scaled_keras_optimizer is not None and any(kind.__name__ == "OptimizerV2" for kind in type(opt).__mro__):
        return state.scaled_keras_optimizer(opt, loss_scale)
    raise ValueError(f'"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, but got: {opt}')


@export("train.experimental.enable_mixed_precision_graph_rewrite")
def enable_mixed_precision_graph_rewrite(opt: object, loss_scale: object = "dynamic") -> Any:
    """Scales the loss of an optimizer, and has new Sessions ask for float16 where that is faster.

    The ConfigProto of these Sessions has `auto_mixed_precision`. As in 1.15 that changes nothing on CPUs; on accelerators
    tfcompat computes in the dtypes of the graph too, and its compiler chooses the precision of products.

    Args:
      opt: a tf.train.Optimizer or tf.keras.optimizers.Optimizer.
      loss_scale: a LossScale, "dynamic", or a number.

    Returns:
      The optimizer with its loss scaled.

    Raises:
      ValueError: `opt` is no optimizer or scales its loss already, or a Keras policy was set.
    """
    if not state.using_default_mixed_precision_policy:
        raise ValueError(
            "The mixed precision graph rewrite cannot be enabled, because a keras mixed precision Policy has been set: call "
            "tf.keras.mixed_precision.experimental.set_policy() or this function, not both."
        )
    if state.non_mixed_precision_session_created:
        logging.warn(
            "You already have existing Sessions that do not use mixed precision. enable_mixed_precision_graph_rewrite() will not "
            "affect these Sessions."
        )
    found = _scaled(opt, loss_scale)
    set_optimizer_experimental_options({"auto_mixed_precision": True})
    state.mixed_precision_graph_rewrite_is_enabled = True
    return found


@export("train.experimental.disable_mixed_precision_graph_rewrite")
def disable_mixed_precision_graph_rewrite() -> None:
    """New Sessions ask for float16 no more; optimizers scale their loss as before."""
    if not state.mixed_precision_graph_rewrite_is_enabled:
        logging.warn("disable_mixed_precision_graph_rewrite() called when mixed precision is already disabled.")
    set_optimizer_experimental_options({"auto_mixed_precision": False})
    state.mixed_precision_graph_rewrite_is_enabled = False
