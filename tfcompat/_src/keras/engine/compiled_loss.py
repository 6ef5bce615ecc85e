"""The loss, the metrics and the functions that `compile` makes of a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.keras.backend.function import function
from tfcompat._src.keras.backend.session import symbolic_learning_phase
from tfcompat._src.keras.engine.eager_step import make_step
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.engine.training_endpoint import (
    TrainingEndpoint,
    call_metric_function,
    collect_per_output_metric_info,
    weights_with_mask,
)
from tfcompat._src.keras.metrics.metric import Mean
from tfcompat._src.keras.utils import losses_utils
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys
from tfcompat._src.train.trackable_layers import layers_below


class CompiledLoss(Network):
    """A network with losses and metrics of its outputs."""

    # ---- metrics ----

    @property
    def metrics(self) -> list[Any]:
        """The metrics of `compile`, and those of the model and its layers."""
        compiled = self._compile_metric_functions if self._is_compiled else []
        return [*compiled, *self._metrics, *_metrics_of_layers(self._layers)]

    @property
    def metrics_names(self) -> list[str]:
        """What `evaluate` returns, by name."""
        names = ["loss"]
        if self._is_compiled:
            if len(self._training_endpoints) > 1:
                names += [e.loss_name() for e in self._training_endpoints if not e.should_skip_target()]
            names += [m.name for m in self._compile_metric_functions]
        for layer in self.layers:
            names += [m.name for m in layer._metrics]
        return names + [m.name for m in self._metrics]

    @property
    def _output_loss_metrics(self) -> list[Any]:
        endpoints = getattr(self, "_training_endpoints", ())
        return [e.output_loss_metric for e in endpoints if e.output_loss_metric is not None]

    def _get_training_eval_metrics(self) -> list[Any]:
        return self._output_loss_metrics + self.metrics

    def reset_metrics(self) -> None:
        """Starts the metrics anew."""
        for metric in self._get_training_eval_metrics():
            metric.reset_states()

    def _cache_output_metric_attributes(self, metrics: Any, weighted_metrics: Any) -> None:
        shapes = [None if x is None or x.shape.ndims is None else x.shape.as_list() for x in self.outputs]
        known = (self.output_names, shapes, self.loss_functions)
        self._per_output_metrics = collect_per_output_metric_info(metrics, *known)
        self._per_output_weighted_metrics = collect_per_output_metric_info(weighted_metrics, *known, is_weighted=True)

    def _add_unique_metric_name(self, metric_name: str, output_index: int) -> str:
        base = metric_name
        if len(self.output_names) > 1:
            base = metric_name = f"{self.output_names[output_index]}_{metric_name}"
        number = 0
        while metric_name in self.metrics_names:
            number += 1
            metric_name = f"{base}_{number}"
        return metric_name

    def _named_metrics(self, metrics: dict[str, Any], output_index: int) -> dict[str, Any]:
        named = {}
        for name, metric in metrics.items():
            metric._name = self._add_unique_metric_name(name, output_index)
            named[metric._name] = metric
            self._compile_metric_functions.append(metric)
        return named

    def _set_metric_attributes(self) -> None:
        for i, endpoint in enumerate(self._training_endpoints):
            if not endpoint.should_skip_target():
                for per_output in (self._per_output_metrics, self._per_output_weighted_metrics):
                    per_output[i] = self._named_metrics(per_output[i], i)
        if len(self._training_endpoints) > 1:
            for endpoint in self._training_endpoints:
                if not endpoint.should_skip_target():
                    endpoint.output_loss_metric = Mean(name=endpoint.loss_name())

    def _handle_metrics(self, weighted: bool = False) -> None:
        """Computes the metrics of the outputs, those with weights or those without."""
        per_output = self._per_output_weighted_metrics if weighted else self._per_output_metrics
        with name_scope("metrics"):
            for endpoint, metrics, mask in zip(self._training_endpoints, per_output, self._prepare_output_masks()):
                if endpoint.should_skip_target():
                    continue
                weights = endpoint.sample_weight if weighted else None
                for name, metric in metrics.items():
                    with name_scope(name):
                        call_metric_function(
                            metric, endpoint.training_target.target, endpoint.output, weights=weights, mask=mask
                        )

    # ---- weights of samples ----

    def _update_sample_weight_modes(self, sample_weights: Any = None) -> None:
        if not self._is_compiled:
            return
        weighted = bool(sample_weights) and any(s is not None for s in sample_weights)
        for endpoint in self._training_endpoints:
            endpoint.sample_weight_mode = (endpoint.sample_weight_mode or "samplewise") if weighted else None

    def _recompile_weights_loss_and_weighted_metrics(self) -> bool:
        """Makes the loss anew where weights of samples come or go; whether it did."""
        if not self._is_compiled or not any(e.sample_weights_mismatch() for e in self._training_endpoints):
            return False
        self._compile_weights_loss_and_weighted_metrics()
        return True

    @no_automatic_dependency_tracking
    def _compile_weights_loss_and_weighted_metrics(self, sample_weights: Any = None) -> None:
        if sample_weights is not None:
            self._update_sample_weight_modes(sample_weights)
        self._prepare_sample_weights(sample_weights)
        self._handle_metrics(weighted=True)
        self.total_loss = self._prepare_total_loss(self._prepare_output_masks())

    @no_automatic_dependency_tracking
    def _prepare_sample_weights(self, sample_weights: Any = None) -> None:
        endpoints = self._training_endpoints
        if sample_weights is not None and len(sample_weights) != len(endpoints):
            raise ValueError(
                "Provided sample weights must have same length as the number of outputs. "
                f"Expected: {len(endpoints)}, got: {len(sample_weights)}."
            )
        for endpoint, weight in zip(endpoints, sample_weights or [None] * len(endpoints)):
            endpoint.populate_sample_weight(weight)

    # ---- loss ----

    def _prepare_output_masks(self) -> list[Any]:
        return [getattr(x, "_keras_mask", None) for x in self.outputs]

    def _prepare_total_loss(self, masks: list[Any]) -> Any:
        """The weighted sum of the losses of the outputs, and of those that were added to the model.

        Raises:
          ValueError: there is none.
        """
        total: Any = None
        with name_scope("loss"):
            for endpoint, mask in zip(self._training_endpoints, masks):
                if endpoint.should_skip_target():
                    continue
                target = endpoint.training_target.target
                mean, loss = self._output_loss(endpoint, target, endpoint.output, endpoint.sample_weight, mask)
                if endpoint.output_loss_metric is not None:
                    endpoint.output_loss_metric(mean)
                total = endpoint.loss_weight * loss if total is None else total + endpoint.loss_weight * loss
            if total is None:
                if not self.losses:
                    raise ValueError("The model cannot be compiled because it has no loss to optimize.")
                total = 0.0
            added = self.get_losses_for(None) + self.get_losses_for(self.inputs)
            if added:
                total += losses_utils.scale_loss_for_distribution(add_n(added))
        return total

    def _output_loss(
        self, endpoint: TrainingEndpoint, y_true: Any, y_pred: Any, sample_weight: Any, mask: Any
    ) -> tuple[Any, Any]:  # fmt: skip
        """The loss of an output, and what it is for the replicas of a strategy together."""
        loss_fn, reduction = endpoint.loss_fn, losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
        with name_scope(endpoint.loss_name()):
            weights = weights_with_mask(mask, sample_weight, y_pred.dtype)
            if hasattr(loss_fn, "reduction"):
                weighted = losses_utils.compute_weighted_loss(
                    loss_fn.call(y_true, y_pred), sample_weight=weights, reduction=losses_utils.ReductionV2.NONE
                )
                if loss_fn.reduction != losses_utils.ReductionV2.AUTO:
                    reduction = loss_fn.reduction
                loss = losses_utils.reduce_weighted_loss(weighted, reduction=reduction)
            else:
                loss = loss_fn(y_true, y_pred, sample_weight=weights)
        is_mean = reduction == losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
        return loss, losses_utils.scale_loss_for_distribution(loss) if is_mean else loss

    # ---- functions ----

    def _check_trainable_weights_consistency(self) -> None:
        collected = getattr(self, "_collected_trainable_weights", None)
        if collected is not None and len(self._unique_trainable_weights) != len(collected):
            logging.warning(
                "Discrepancy between trainable weights and collected trainable weights, did you set `model.trainable` "
                "without calling `model.compile` after ?"
            )

    def _fed(self) -> list[Any]:
        return self._feed_inputs + self._feed_targets + self._feed_sample_weights

    def _loss_and_metrics(self) -> list[Any]:
        metrics = self._get_training_eval_metrics()
        return [self.total_loss, *(m._call_result for m in metrics if hasattr(m, "_call_result"))]

    def _check_optimizer(self) -> None:
        if isinstance(self.optimizer, list):
            raise ValueError("The `optimizer` in `compile` should be a single optimizer.")

    def _gradient_updates(self) -> list[Any]:
        return self.optimizer.get_updates(params=self._collected_trainable_weights, loss=self.total_loss)

    def _make_train_function(self) -> None:
        recompiled = self._recompile_weights_loss_and_weighted_metrics()
        self._check_trainable_weights_consistency()
        self._check_optimizer()
        if getattr(self, "train_function", None) is not None and not recompiled:
            return
        trainable_now = self._get_trainable_state()
        self._set_trainable_state(self._compiled_trainable_state)
        fed = self._fed()
        if not isinstance(symbolic_learning_phase(), int):
            fed += [symbolic_learning_phase()]
        with name_scope("training"):
            updates = self._gradient_updates()
            updates += self.get_updates_for(None)
            updates += self.get_updates_for(self.inputs)
        outputs = self._loss_and_metrics()
        with name_scope("training"):
            self._set_function("train_function", fed, outputs, updates)
        self._set_trainable_state(trainable_now)

    def _make_test_function(self) -> None:
        recompiled = self._recompile_weights_loss_and_weighted_metrics()
        if getattr(self, "test_function", None) is None or recompiled:
            outputs = self._loss_and_metrics()
            with name_scope("evaluation"):
                self._set_function("test_function", self._fed(), outputs, self.state_updates)

    def _make_predict_function(self) -> None:
        if getattr(self, "predict_function", None) is None:
            with name_scope(ModeKeys.PREDICT):
                self._set_function("predict_function", self._feed_inputs, self.outputs, self.state_updates)

    @no_automatic_dependency_tracking
    def _set_function(self, name: str, inputs: list[Any], outputs: list[Any], updates: list[Any]) -> None:
        settings = getattr(self, "_function_kwargs", {})
        setattr(self, name, function(inputs, outputs, updates=updates, name=name, **settings))

    def _make_execution_function(self, mode: str) -> Any:
        """The function of a mode, made where it is not."""
        if executing_eagerly():
            if mode not in self._eager_steps:
                self._eager_steps[mode] = make_step(self, mode)
            return self._eager_steps[mode]
        getattr(self, f"_make_{mode}_function")()
        return getattr(self, f"{mode}_function")

    def _batch_function(self, mode: str, inputs: Any, targets: Any, weights: Any) -> Callable[[list[Any]], Any]:
        """A function of the arrays of a batch, one after the other, which are nested like `inputs`, `targets`, `weights`."""
        if mode != ModeKeys.PREDICT:
            self._update_sample_weight_modes(sample_weights=weights)
        run = self._make_execution_function(mode)
        if executing_eagerly():
            return lambda arrays: run(*nest.pack_sequence_as((inputs, targets or [], weights or []), arrays))
        feeds_phase = mode == ModeKeys.TRAIN and not isinstance(symbolic_learning_phase(), int)
        return lambda arrays: run([*arrays, True] if feeds_phase else arrays)

    def _get_callback_model(self) -> Any:
        return getattr(self, "callback_model", None) or self

    # ---- lists over the outputs ----

    _targets = property(
        lambda self: [e.training_target.target for e in self._training_endpoints if e.has_training_target()]
    )
    _fed_endpoints = property(lambda self: [e for e in self._training_endpoints if e.has_feedable_training_target()])
    _feed_targets = property(lambda self: [e.training_target.target for e in self._fed_endpoints])
    _feed_output_names = property(lambda self: [e.output_name for e in self._fed_endpoints])
    _feed_output_shapes = property(lambda self: [e.feed_output_shape for e in self._fed_endpoints])
    _feed_loss_fns = property(lambda self: [e.loss_fn for e in self._fed_endpoints])
    _loss_weights_list = property(lambda self: [e.loss_weight for e in self._training_endpoints])
    sample_weights = property(lambda self: [e.sample_weight for e in self._training_endpoints])
    _sample_weight_modes = property(lambda self: [e.sample_weight_mode for e in self._training_endpoints])
    _feed_sample_weights = property(lambda self: [w for w in self.sample_weights if w is not None])


def _metrics_of_layers(layers: list[Any]) -> list[Any]:
    found = []
    for layer in layers_below(layers):
        if isinstance(layer, CompiledLoss):
            found += [*layer._metrics, *_metrics_of_layers(layer.layers)]
        else:
            found += layer.metrics
    return found
