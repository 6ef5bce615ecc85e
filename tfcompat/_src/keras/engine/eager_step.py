"""A batch of training, test or prediction where operations run when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.function.def_function import defun
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import eager_learning_phase_scope
from tfcompat._src.keras.engine import training_data
from tfcompat._src.keras.engine.training_datasets import numpy_of
from tfcompat._src.keras.engine.training_endpoint import call_metric_function
from tfcompat._src.keras.optimizers.loss_scale_optimizer import LossScaleOptimizer
from tfcompat._src.keras.utils import losses_utils
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys


def make_step(model: Any, mode: str) -> Callable[[Any, Any, Any], list[Any]]:
    """A function of inputs, targets and weights of samples that gives the results of a batch as arrays.

    Args:
      model: the model, compiled for training and test.
      mode: train, test or predict.
    """

    def step(inputs: object, targets: object, weights: object) -> list[Tensor]:
        if mode == ModeKeys.PREDICT:
            with eager_learning_phase_scope(0):
                return nest.flatten(_call(model, inputs, training=False))
        return _loss_and_metrics(model, inputs, targets, weights, trains=mode == ModeKeys.TRAIN)

    run = step if model.run_eagerly else defun(step)
    return lambda inputs, targets, weights: numpy_of(run(inputs, targets, weights))


def _call(model: Any, inputs: Any, training: bool) -> Any:
    inputs = training_data.cast_to_model_input_dtypes(inputs, model)
    inputs = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
    return model(inputs, training=training) if model._expects_training_arg else model(inputs)


def _loss_and_metrics(model: Any, inputs: object, targets: object, weights: object, trains: bool) -> list[Tensor]:
    """The loss and the results of the metrics; in training, the weights of the model take a step."""
    with eager_learning_phase_scope(int(trains)):
        trainable_now = model._get_trainable_state()
        if trains:
            model._set_trainable_state(model._compiled_trainable_state)
        with GradientTape() as tape:
            outputs = nest.flatten(_call(model, inputs, training=trains))
            rows = _rows(model, outputs, targets, weights)
            total, output_losses = _total_loss(model, rows)
            scaled = total
            if trains and isinstance(model.optimizer, LossScaleOptimizer):
                scaled = model.optimizer.get_scaled_loss(total)
        if trains:
            _train(model, tape, scaled)
            model._set_trainable_state(trainable_now)
    return [total, *output_losses, *_metrics(model, rows)]


def _rows(model: Any, outputs: list[Tensor], targets: Any, weights: Any) -> list[tuple[int, Any, Tensor, Tensor, Any]]:
    """(number, endpoint, output, target, weights) of each output that is trained."""
    trained = [i for i, e in enumerate(model._training_endpoints) if not e.should_skip_target()]
    targets = training_data.cast_if_floating_dtype_and_mismatch(nest.flatten(targets), [outputs[i] for i in trained])
    given = weights or [None] * len(trained)
    given = [None if w is None else training_data.cast_single_tensor(convert_to_tensor(w)) for w in given]
    return [(i, model._training_endpoints[i], outputs[i], y, w) for i, y, w in zip(trained, targets, given)]


def _total_loss(model: Any, rows: list[tuple]) -> tuple[Any, list[Tensor]]:
    """The weighted sum of all losses, and the mean loss of each of several outputs."""
    total, means = 0.0, []
    for _, endpoint, output, target, weights in rows:
        loss, scaled = model._output_loss(endpoint, target, output, weights, getattr(output, "_keras_mask", None))
        if endpoint.output_loss_metric is not None:
            means.append(endpoint.output_loss_metric(loss))
        total += endpoint.loss_weight * scaled
    if model.losses:
        total += losses_utils.scale_loss_for_distribution(add_n(model.losses))
    elif not rows:
        raise ValueError("The model cannot be run because it has no loss to optimize.")
    return total, means


def _train(model: Any, tape: GradientTape, loss: object) -> None:
    weights = model._unique_trainable_weights
    if not weights:
        logging.warning(
            "The list of trainable weights is empty. Make sure that you are not setting model.trainable to False before "
            "compiling the model."
        )
    elif hasattr(model, "_backwards"):
        model._backwards(tape, loss)
    else:
        grads = tape.gradient(loss, weights)
        if isinstance(model.optimizer, LossScaleOptimizer):
            grads = model.optimizer.get_unscaled_gradients(grads)
        model.optimizer.apply_gradients(zip(grads, weights))


def _metrics(model: Any, rows: list[tuple]) -> list[Tensor]:
    """The results of the metrics of `compile` on a batch, and of those of the layers."""
    results = []
    for i, _, output, target, weights in rows:
        mask = getattr(output, "_keras_mask", None)
        for metric in model._per_output_metrics[i].values():
            results.append(call_metric_function(metric, target, output, mask=mask))
        for metric in model._per_output_weighted_metrics[i].values():
            results.append(call_metric_function(metric, target, output, weights=weights, mask=mask))
    return results + [m.result() for m in model.metrics if not any(m is c for c in model._compile_metric_functions)]
