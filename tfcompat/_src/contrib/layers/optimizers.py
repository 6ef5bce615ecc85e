"""tf.contrib.layers.optimize_loss: a training operation of a loss, with clipping, noise, decay and summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.composed.check_ops import assert_scalar
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_global_norm, global_norm
from tfcompat._src.ops.math.unary import exp, log, sqrt, square
from tfcompat._src.ops.random.stateful import truncated_normal
from tfcompat._src.summary import summary
from tfcompat._src.train.adagrad import AdagradOptimizer
from tfcompat._src.train.adam import AdamOptimizer
from tfcompat._src.train.ftrl import FtrlOptimizer
from tfcompat._src.train.gradient_descent import GradientDescentOptimizer
from tfcompat._src.train.momentum import MomentumOptimizer
from tfcompat._src.train.moving_averages import assign_moving_average
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.rmsprop import RMSPropOptimizer
from tfcompat._src.variables.collections import trainable_variables
from tfcompat._src.variables.initializers import Constant, Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope
from tfcompat._src.variables.training_util import assert_global_step, get_global_step

Pairs = list[tuple[Any, Any]]

OPTIMIZER_CLS_NAMES = export("contrib.layers.OPTIMIZER_CLS_NAMES", "contrib.slim.OPTIMIZER_CLS_NAMES")({
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
})  # fmt: skip
OPTIMIZER_SUMMARIES = export("contrib.layers.OPTIMIZER_SUMMARIES", "contrib.slim.OPTIMIZER_SUMMARIES")(
    ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
)


@export("contrib.layers.optimize_loss", "contrib.slim.optimize_loss")
def optimize_loss(
    loss: object, global_step: object, learning_rate: object, optimizer: object, gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None, clip_gradients: float | Callable[[Pairs], Pairs] | None = None,
    learning_rate_decay_fn: Callable | None = None, update_ops: Any = None, variables: Sequence[Any] | None = None,
    name: str | None = None, summaries: Sequence[str] | None = None, colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:  # fmt: skip
    """The loss, as a tensor that trains when it is computed.

    Args:
      loss: scalar Tensor.
      global_step: variable that counts steps, by default that of the graph.
      learning_rate: float or scalar Tensor, or None.
      optimizer: a name of OPTIMIZER_CLS_NAMES, an Optimizer or its class, or a function from a rate to an Optimizer.
      gradient_noise_scale: standard deviation of noise on the gradients.
      gradient_multipliers: dict from variables or names to factors of their gradients.
      clip_gradients: largest global norm, or a function of pairs of gradient and variable.
      learning_rate_decay_fn: function of learning rate and global step.
      update_ops: what runs before the loss, by default the collection UPDATE_OPS.
      variables: what is trained, by default all trainable variables.
      name: variable scope, "OptimizeLoss" by default.
      summaries: names of OPTIMIZER_SUMMARIES, by default loss, learning_rate and global_gradient_norm.
      colocate_gradients_with_ops: as in tf.gradients.
      increment_global_step: whether the step counts.

    Raises:
      ValueError: an argument does not fit.
    """
    loss = convert_to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        if updates:
            loss = with_dependencies(list(dict.fromkeys(updates)), loss)
        rate = _learning_rate(learning_rate)
        wanted = _wanted_summaries(summaries)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in wanted:
                summary.scalar("learning_rate", rate)
        found = _optimizer(optimizer, rate, learning_rate is not None)
        targets = trainable_variables() if variables is None else variables
        pairs = found.compute_gradients(loss, targets, colocate_gradients_with_ops=colocate_gradients_with_ops)
        pairs = _processed(pairs, gradient_noise_scale, gradient_multipliers, clip_gradients, wanted)
        _summarize(loss, pairs, wanted, clipped=clip_gradients is not None)
        step = global_step if increment_global_step else None
        return with_dependencies([found.apply_gradients(pairs, global_step=step, name="train")], loss)


def _learning_rate(learning_rate: object) -> Any:
    if learning_rate is None or (isinstance(learning_rate, Tensor) and learning_rate.get_shape().ndims == 0):
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError("Invalid learning_rate %s.", learning_rate)
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))


def _wanted_summaries(summaries: Sequence[str] | None) -> Sequence[str]:
    if summaries is None:
        return ["loss", "learning_rate", "global_gradient_norm"]
    for each in summaries:
        if each not in OPTIMIZER_SUMMARIES:
            known = ", ".join(OPTIMIZER_SUMMARIES)
            raise ValueError(f"Summaries should be one of [{known}], you provided {each}.")
    return summaries


def _optimizer(optimizer: Any, rate: Any, rated: bool) -> Optimizer:
    """The Optimizer that a name, a class, an instance or a function means."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    named, is_class = isinstance(optimizer, str), isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if (named or is_class) and rate is None:
        kind = "string" if named else "class"
        raise ValueError(f"Learning rate is None, but should be specified if optimizer is {kind} ({optimizer}).")
    if named:
        if optimizer not in OPTIMIZER_CLS_NAMES:
            known = ", ".join(OPTIMIZER_CLS_NAMES)
            raise ValueError(f"Optimizer name should be one of [{known}], you provided {optimizer}.")
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if is_class:
        return optimizer(learning_rate=rate)
    if not callable(optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
            f"function with one argument. Got {optimizer}."
        )
    found = optimizer(rate) if rated else optimizer()
    if not isinstance(found, Optimizer):
        raise ValueError(f"Unrecognized optimizer: function should return subclass of Optimizer. Got {found}.")
    return found


def _processed(pairs: Pairs, noise: Any, multipliers: Any, clip: object, wanted: Sequence[str]) -> Pairs:
    """The gradients with noise, multiplied and clipped, in this order."""
    if noise is not None:
        pairs = [(_noisy(grad, noise), variable) for grad, variable in pairs]
    if multipliers is not None:
        pairs = _multiplied(pairs, multipliers)
        if not pairs:
            raise ValueError(
                "Empty list of (gradient, var) pairs encountered. This is most likely to be caused by an improper "
                "value of gradient_multipliers."
            )
    if _norms(wanted):
        summary.scalar("global_norm/gradient_norm", global_norm([grad for grad, _ in pairs]))
    if isinstance(clip, float):
        grads, _ = clip_by_global_norm([grad for grad, _ in pairs], clip)
        return [(grad, variable) for grad, (_, variable) in zip(grads, pairs, strict=True)]
    if callable(clip):
        return clip(pairs)
    if clip is not None:
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    return pairs


def _norms(wanted: Sequence[str]) -> bool:
    return "global_gradient_norm" in wanted or "gradient_norm" in wanted


def _summarize(loss: Tensor, pairs: Pairs, wanted: Sequence[str], clipped: bool) -> None:
    if "loss" in wanted:
        summary.scalar("loss", loss)
    for grad, variable in pairs:
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in wanted:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in wanted:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))
    if clipped and _norms(wanted):
        summary.scalar("global_norm/clipped_gradient_norm", global_norm([grad for grad, _ in pairs]))


def _noisy(grad: Any, scale: float) -> Any:
    if grad is None:
        return None
    shape = grad.dense_shape if isinstance(grad, IndexedSlices) else grad.get_shape()
    return grad + truncated_normal(shape) * scale


def _scaled(grad: Any, factor: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return None if grad is None else grad * factor


def _multiplied(pairs: Pairs, multipliers: Mapping[Any, Any]) -> Pairs:
    """Gradients times the factors of their variables, given by variable or by name."""
    done = []
    for grad, variable in pairs:
        key = variable if variable in multipliers else variable.name
        if grad is not None and key in multipliers:
            factor = multipliers[key]
            grad = _scaled(grad, factor if isinstance(grad, IndexedSlices) else cast(factor, grad.dtype))
        done.append((grad, variable))
    return done


def _adaptive_max_norm(
    norm: Tensor, std_factor: float, decay: object, global_step: object, epsilon: float, name: str | None
) -> tuple[Tensor, Tensor]:
    """The largest norm that is usual, and the mean of the logarithms of norms."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        log_norm = log(norm + epsilon)

        def average(name: str, value: Tensor, decay: object) -> Tensor:
            variable = get_variable(
                name, shape=value.get_shape(), dtype=value.dtype, initializer=Zeros(), trainable=False
            )
            return assign_moving_average(variable, value, decay, zero_debias=False)

        if global_step is not None:
            steps = cast(global_step, dtypes.float32)
            decay = minimum(decay, steps / (steps + 1.0))
        mean = average("mean", log_norm, decay)
        mean_square = average("sq_mean", square(log_norm), decay)
        deviation = sqrt(maximum(epsilon, mean_square - square(mean)))
        return exp(mean + std_factor * deviation), mean


@export("contrib.slim.adaptive_clipping_fn")
def adaptive_clipping_fn(
    std_factor: float = 2.0, decay: float = 0.95, static_max_norm: float | None = None, global_step: object = None,
    report_summary: bool = False, epsilon: float = 1e-8, name: str | None = None,
) -> Callable[[Pairs], Pairs]:  # fmt: skip
    """A function for `clip_gradients` that clips norms above their usual range.

    Args:
      std_factor: number of standard deviations above the mean of the logarithms of norms.
      decay: of the moving averages.
      static_max_norm: largest norm at any time.
      global_step: variable by which the decay grows to `decay`.
      report_summary: whether the largest norm is a summary.
      epsilon: added to the norms.
      name: variable scope, "AdaptiveMaxNorm" by default.
    """

    def clip(grads_and_vars: Pairs) -> Pairs:
        grads = [grad for grad, _ in grads_and_vars]
        norm = global_norm(grads)
        max_norm, log_mean = _adaptive_max_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", max_norm)
        factor = where(norm < max_norm, ones_like(norm), exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = minimum(static_max_norm / norm, factor)
        return [(_scaled(grad, factor), variable) for grad, variable in grads_and_vars]

    return clip
