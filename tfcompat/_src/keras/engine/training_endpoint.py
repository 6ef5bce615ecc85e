"""What a compiled model has for each output: loss, target, weights of samples, and metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import tf2
from tfcompat._src.keras import losses
from tfcompat._src.keras.backend.config import floatx, image_data_format
from tfcompat._src.keras.backend.values import is_placeholder, is_sparse, placeholder
from tfcompat._src.keras.engine.node import int_shape
from tfcompat._src.keras.metrics import identifiers as metrics
from tfcompat._src.keras.metrics.metric import MeanMetricWrapper, Metric
from tfcompat._src.keras.utils import generic_utils, losses_utils
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import placeholder_with_default
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

ACCURACY, CROSSENTROPY = ("accuracy", "acc"), ("crossentropy", "ce")


@dataclasses.dataclass
class TrainingTarget:
    """What an output is compared with.

    Attributes:
      target: tensor, or None for an output without loss.
      feedable: whether the user feeds it.
      skip_target_weights: whether samples have no weights.
    """

    target: Any
    feedable: bool = False
    skip_target_weights: bool = True


class TrainingEndpoint:
    """An output of a compiled model, with its name and loss function (None: it is not trained)."""

    def __init__(self, output: Any, output_name: str, loss_fn: Any) -> None:
        self.output, self.output_name, self.loss_fn = output, output_name, loss_fn
        self.loss_weight: Any = None
        self.training_target: TrainingTarget | None = None
        self.output_loss_metric: Any = None
        self.sample_weight: Any = None
        self.sample_weight_mode: str | None = None

    shape = property(lambda self: int_shape(self.output))

    def create_training_target(self, target: Any, runs_eagerly: bool = False) -> None:
        """Takes `target`, or makes a placeholder; where operations run when they are called, the user gives each."""
        if self.should_skip_target():
            self.training_target = TrainingTarget(None)
        elif runs_eagerly:
            self.training_target = TrainingTarget(None, feedable=True, skip_target_weights=False)
        elif target is not None and not is_placeholder(target):
            self.training_target = TrainingTarget(target)
        else:
            if target is None:
                dtype = losses.LABEL_DTYPES_FOR_LOSSES.get(self.loss_fn, self.output.dtype.base_dtype.name)
                target = placeholder(
                    ndim=len(self.shape), name=f"{self.output_name}_target", sparse=is_sparse(self.output), dtype=dtype
                )
            self.training_target = TrainingTarget(target, feedable=True, skip_target_weights=False)

    def should_skip_target(self) -> bool:
        """Whether the output has no loss."""
        return self.loss_fn is None

    def should_skip_target_weights(self) -> bool:
        """Whether samples of the output have no weights."""
        return self.should_skip_target() or self.training_target is None or self.training_target.skip_target_weights

    def has_training_target(self) -> bool:
        """Whether the target was made."""
        return self.training_target is not None

    def has_feedable_training_target(self) -> bool:
        """Whether the user feeds the target."""
        return not self.should_skip_target() and self.training_target is not None and self.training_target.feedable

    def loss_name(self) -> str | None:
        """What the loss of this output is called."""
        return None if self.loss_fn is None else f"{self.output_name}_loss"

    @property
    def feed_output_shape(self) -> Any:
        """The shape that targets have to fit; None for any."""
        if not self.has_feedable_training_target():
            return None
        loss = self.loss_fn
        if is_loss(loss, losses.sparse_categorical_crossentropy, losses.SparseCategoricalCrossentropy):
            if image_data_format() == "channels_first":
                return (self.shape[0], 1, *self.shape[2:])
            return (*self.shape[:-1], 1)
        custom = isinstance(loss, losses.LossFunctionWrapper) and not hasattr(losses, loss.fn.__name__)
        return None if custom or not isinstance(loss, losses.Loss) else self.shape

    def sample_weights_mismatch(self) -> bool:
        """Whether weights are wanted and lack, or are there and not wanted."""
        return (self.sample_weight_mode is None) != (self.sample_weight is None)

    def populate_sample_weight(self, sample_weight: Any) -> None:
        """Takes the weights of samples, or makes a placeholder for them where the mode wants them.

        Raises:
          ValueError: the shape does not fit the mode. AssertionError: weights are given and no mode wants them.
        """
        if sample_weight is None and (self.should_skip_target_weights() or self.sample_weight_mode is None):
            self.sample_weight = None
            return
        if self.sample_weight_mode not in ("temporal", "samplewise"):
            raise AssertionError(f"weights of samples with sample_weight_mode={self.sample_weight_mode!r}")
        default, shape = ([[1.0]], [None, None]) if self.sample_weight_mode == "temporal" else ([1.0], [None])
        if sample_weight is None:
            sample_weight = placeholder_with_default(
                constant(default, dtype=floatx()), shape=shape, name=f"{self.output_name}_sample_weights"
            )
        elif not sample_weight.shape.is_compatible_with(shape):
            raise ValueError(
                f"Received sample weight with shape {sample_weight.shape}. Expected shape {shape}."
            )
        self.sample_weight = sample_weight


def is_loss(loss: object, function: object, cls: type) -> bool:
    """Whether a loss is one of Keras's, as a function or as a class."""
    return isinstance(loss, cls) or (isinstance(loss, losses.LossFunctionWrapper) and loss.fn is function)


def get_loss_function(loss: object) -> Any:
    """A loss as an object; a callable object without a name and None as they are."""
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    loss = losses.get(loss) if isinstance(loss, Mapping) else loss
    if isinstance(loss, losses.Loss) or (callable(loss) and not hasattr(loss, "__name__")):
        return loss
    function = losses.get(loss)
    return losses.LossFunctionWrapper(
        function, name=function.__name__, reduction=losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
    )


def prepare_loss_functions(loss: object, output_names: list[str]) -> list[Any]:
    """The loss of each output.

    Raises:
      ValueError: the list has another length, or the dict has unknown names.
    """
    if isinstance(loss, Mapping):
        generic_utils.check_for_unexpected_keys("loss", loss, output_names)
        for name in output_names:
            if name not in loss:
                logging.warning(
                    f"Output {name} missing from loss dictionary. We assume this was done on purpose. The fit and "
                    f"evaluate APIs will not be expecting any data to be passed to {name}."
                )
        return [get_loss_function(loss.get(name)) for name in output_names]
    if isinstance(loss, Sequence) and not isinstance(loss, str):
        if len(loss) != len(output_names):
            raise ValueError(
                "When passing a list as loss, it should have one entry per model outputs. "
                f"The model has {len(output_names)} outputs, but you passed loss={loss}"
            )
        return [get_loss_function(one) for one in loss]
    return [get_loss_function(loss) for _ in output_names]


def prepare_loss_weights(endpoints: list[TrainingEndpoint], loss_weights: object = None) -> None:
    """Gives each output the weight of its loss; ValueError, TypeError where they do not fit."""
    if loss_weights is None:
        loss_weights = [1.0] * len(endpoints)
    elif isinstance(loss_weights, Mapping):
        generic_utils.check_for_unexpected_keys("loss_weights", loss_weights, [e.output_name for e in endpoints])
        loss_weights = [loss_weights.get(e.output_name, 1.0) for e in endpoints]
    elif not isinstance(loss_weights, list):
        raise TypeError(f"Could not interpret loss_weights argument: {loss_weights} - expected a list of dicts.")
    elif len(loss_weights) != len(endpoints):
        raise ValueError(
            "When passing a list as loss_weights, it should have one entry per model output. "
            f"The model has {len(endpoints)} outputs, but you passed loss_weights={loss_weights}"
        )
    for endpoint, weight in zip(endpoints, loss_weights):
        endpoint.loss_weight = weight


def prepare_sample_weight_modes(endpoints: list[TrainingEndpoint], mode: Any) -> None:
    """Gives each output its mode of weights; ValueError where they do not fit."""
    weighted = [e for e in endpoints if not e.should_skip_target_weights()]
    if isinstance(mode, Mapping):
        generic_utils.check_for_unexpected_keys("sample_weight_mode", mode, [e.output_name for e in endpoints])
        for endpoint in weighted:
            if endpoint.output_name not in mode:
                raise ValueError(f"Output {endpoint.output_name}missing from `_sample_weight_modes` dictionary")
            endpoint.sample_weight_mode = mode[endpoint.output_name]
        return
    if isinstance(mode, (list, tuple)) and len(mode) != len(endpoints):
        raise ValueError(
            "When passing a list as sample_weight_mode, it should have one entry per model output. "
            f"The model has {len(endpoints)} outputs, but you passed {len(mode)}_sample_weight_modes."
        )
    modes = dict(zip(map(id, endpoints), mode)) if isinstance(mode, (list, tuple)) else {}
    for endpoint in weighted:
        endpoint.sample_weight_mode = modes.get(id(endpoint)) if modes else mode


# ---- metrics ----


def get_metric_name(metric: object, weighted: bool = False) -> str:
    """What a metric is called before its name is made unique: with the behavior of TensorFlow 2, as the program calls it."""
    if tf2.enabled():
        found = metrics.get(metric)
        return metric if isinstance(metric, str) else found.name if hasattr(found, "name") else found.__name__
    if metric in ACCURACY:
        suffix = "acc"
    elif metric in CROSSENTROPY:
        suffix = "ce"
    else:
        found = metrics.get(metric)
        suffix = found.name if hasattr(found, "name") else found.__name__
    return f"weighted_{suffix}" if weighted else suffix


def get_metric_function(metric: object, output_shape: Any = None, loss_fn: Any = None) -> Any:
    """The function of a metric's name; "acc" and "ce" mean what fits the loss and the output."""
    if metric not in (*ACCURACY, *CROSSENTROPY):
        return metrics.get(metric)
    kind = "accuracy" if metric in ACCURACY else "crossentropy"
    if output_shape[-1] == 1 or is_loss(loss_fn, losses.binary_crossentropy, losses.BinaryCrossentropy):
        return metrics.get(f"binary_{kind}")
    if is_loss(loss_fn, losses.sparse_categorical_crossentropy, losses.SparseCategoricalCrossentropy):
        return metrics.get(f"sparse_categorical_{kind}")
    return metrics.get(f"categorical_{kind}")


def collect_per_output_metric_info(
    given: object, output_names: list[str], output_shapes: list[Any], loss_fns: list[Any], is_weighted: bool = False
) -> list[dict[str, Any]]:
    """The metric objects of each output, by name.

    Raises:
      ValueError: lists of another length or unknown names. TypeError: neither a list nor a dict.
    """
    if not given:
        return [{} for _ in output_names]
    if isinstance(given, Mapping):
        generic_utils.check_for_unexpected_keys("metrics", given, output_names)
        nested = [generic_utils.to_list(given.get(name, [])) for name in output_names]
    elif not isinstance(given, list):
        raise TypeError(f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {given}")
    elif any(isinstance(m, list) for m in given):
        if len(given) != len(output_names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model output. "
                f"The model has {len(output_names)} outputs, but you passed metrics={given}"
            )
        nested = [generic_utils.to_list(m) for m in given]
    elif len(output_names) > 1:
        nested = [[metrics.clone_metric(m) for m in given] for _ in output_names]
    else:
        nested = [given]
    return [
        {get_metric_name(m, is_weighted): _metric_object(m, is_weighted, shape, loss) for m in of_output}
        for of_output, shape, loss in zip(nested, output_shapes, loss_fns)
    ]


def _metric_object(metric: object, weighted: bool, output_shape: object, loss_fn: object) -> Any:
    found = get_metric_function(metric, output_shape=output_shape, loss_fn=loss_fn)
    if isinstance(found, Metric):
        return found
    return MeanMetricWrapper(found, name=get_metric_name(metric, weighted))


def weights_with_mask(mask: object, weights: TensorLike, dtype: object) -> Any:
    """Weights of samples, 0 where the mask says so."""
    if mask is None:
        return weights
    mask = cast(mask, dtype)
    if weights is None:
        return mask
    mask, _, weights = losses_utils.squeeze_or_expand_dimensions(mask, sample_weight=weights)
    return weights * mask


def call_metric_function(metric_fn: Any, y_true: Any, y_pred: Any = None, weights: object = None, mask: Any = None) -> Any:
    """The result of a metric on an output."""
    if y_pred is None:
        return metric_fn(y_true, sample_weight=weights)
    return metric_fn(y_true, y_pred, sample_weight=weights_with_mask(mask, weights, y_pred.dtype))
