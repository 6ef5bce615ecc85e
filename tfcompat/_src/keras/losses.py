"""tf.keras.losses: losses of predictions, one number for each example, and classes that weight and reduce them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.default_strategy import has_strategy
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend import nn
from tfcompat._src.keras.backend.config import epsilon, floatx
from tfcompat._src.keras.backend.math import clip, reduce_mean
from tfcompat._src.keras.backend.values import evaluate
from tfcompat._src.keras.utils import losses_utils
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.losses.losses import huber, sparse_softmax_cross_entropy
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.math import binary, unary
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_or
from tfcompat._src.ops.math.reduce import reduce_all, reduce_max, reduce_sum
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.nn.moments import l2_normalize
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_AUTO = losses_utils.ReductionV2.AUTO


def _alike(y_true: object, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Labels and predictions as tensors of the predictions' type."""
    y_pred = convert_to_tensor(y_pred)
    return cast(y_true, y_pred.dtype), y_pred


@export(
    "keras.losses.mean_squared_error", "keras.losses.mse", "keras.losses.MSE",
    "keras.metrics.mean_squared_error", "keras.metrics.mse", "keras.metrics.MSE",
)  # fmt: skip
def mean_squared_error(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of (y_pred - y_true) ** 2 along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(binary.squared_difference(y_pred, y_true), axis=-1)


@export(
    "keras.losses.mean_absolute_error", "keras.losses.mae", "keras.losses.MAE",
    "keras.metrics.mean_absolute_error", "keras.metrics.mae", "keras.metrics.MAE",
)  # fmt: skip
def mean_absolute_error(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of |y_pred - y_true| along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(unary.absolute(y_pred - y_true), axis=-1)


@export(
    "keras.losses.mean_absolute_percentage_error", "keras.losses.mape", "keras.losses.MAPE",
    "keras.metrics.mean_absolute_percentage_error", "keras.metrics.mape", "keras.metrics.MAPE",
)  # fmt: skip
def mean_absolute_percentage_error(y_true: object, y_pred: TensorLike) -> Tensor:
    """100 times the mean of |(y_true - y_pred) / y_true| along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    error = (y_true - y_pred) / clip(unary.absolute(y_true), epsilon(), None)
    return 100.0 * reduce_mean(unary.absolute(error), axis=-1)


@export(
    "keras.losses.mean_squared_logarithmic_error", "keras.losses.msle", "keras.losses.MSLE",
    "keras.metrics.mean_squared_logarithmic_error", "keras.metrics.msle", "keras.metrics.MSLE",
)  # fmt: skip
def mean_squared_logarithmic_error(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of (log(1 + y_pred) - log(1 + y_true)) ** 2 along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    logs = [unary.log(clip(y, epsilon(), None) + 1.0) for y in (y_pred, y_true)]
    return reduce_mean(binary.squared_difference(*logs), axis=-1)


def _as_signs(y_true: Tensor) -> Tensor:
    """Labels -1 and 1, also where 0 and 1 were given."""
    are_zeros, are_ones = equal(y_true, 0), equal(y_true, 1)
    return smart_cond(reduce_all(logical_or(are_zeros, are_ones)), lambda: 2.0 * y_true - 1.0, lambda: y_true)


@export("keras.losses.squared_hinge", "keras.metrics.squared_hinge")
def squared_hinge(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0) ** 2 along the last dimension, for labels -1 and 1, or 0 and 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _as_signs(y_true)
    return reduce_mean(unary.square(binary.maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


@export("keras.losses.hinge", "keras.metrics.hinge")
def hinge(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0) along the last dimension, for labels -1 and 1, or 0 and 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true = _as_signs(y_true)
    return reduce_mean(binary.maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


@export("keras.losses.categorical_hinge")
def categorical_hinge(y_true: object, y_pred: TensorLike) -> Tensor:
    """max(0, 1 + largest prediction of a wrong class - prediction of the right one), for one-hot labels."""
    y_true, y_pred = _alike(y_true, y_pred)
    right = reduce_sum(y_true * y_pred, axis=-1)
    wrong = reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return binary.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: object, y_pred: object, delta: float = 1.0) -> Tensor:
    """error ** 2 / 2, and linear where |error| is above `delta` (Huber 1964), for each element."""
    y_pred, y_true = cast(y_pred, floatx()), cast(y_true, floatx())
    return huber(y_pred, y_true, delta)


@export("keras.losses.logcosh")
def logcosh(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of log(cosh(y_pred - y_true)) along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    error = y_pred - y_true
    return reduce_mean(error + softplus(-2.0 * error) - unary.log(2.0), axis=-1)


@export("keras.losses.categorical_crossentropy", "keras.metrics.categorical_crossentropy")
def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """The cross entropy of one-hot labels.

    Args:
      y_true, y_pred: tensors [batch, ..., classes].
      from_logits: whether `y_pred` are logits instead of probabilities.
      label_smoothing: weight, from 0 to 1, of equal shares of all classes.
    """
    y_true, y_pred = _alike(y_true, y_pred)
    weight = convert_to_tensor(label_smoothing, dtype=floatx())

    def smoothed() -> Tensor:
        classes = cast(shape(y_true)[1], y_pred.dtype)
        return y_true * (1.0 - weight) + (weight / classes)

    labels = smart_cond(weight, smoothed, lambda: y_true)
    return nn.categorical_crossentropy(labels, y_pred, from_logits=from_logits)


@export("keras.losses.sparse_categorical_crossentropy", "keras.metrics.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(y_true: TensorLike, y_pred: object, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of class numbers; `from_logits` says that `y_pred` are logits along `axis`."""
    return nn.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


@export("keras.losses.binary_crossentropy", "keras.metrics.binary_crossentropy")
def binary_crossentropy(y_true: object, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0) -> Tensor:
    """The mean cross entropy of independent classes along the last dimension.

    Args:
      y_true, y_pred: tensors [batch, ..., classes].
      from_logits: whether `y_pred` are logits instead of probabilities.
      label_smoothing: weight, from 0 to 1, of 1/2 for every class.
    """
    y_true, y_pred = _alike(y_true, y_pred)
    weight = convert_to_tensor(label_smoothing, dtype=floatx())
    labels = smart_cond(weight, lambda: y_true * (1.0 - weight) + 0.5 * weight, lambda: y_true)
    return reduce_mean(nn.binary_crossentropy(labels, y_pred, from_logits=from_logits), axis=-1)


@export(
    "keras.losses.kullback_leibler_divergence", "keras.losses.kld", "keras.losses.KLD",
    "keras.metrics.kullback_leibler_divergence", "keras.metrics.kld", "keras.metrics.KLD",
)  # fmt: skip
def kullback_leibler_divergence(y_true: object, y_pred: TensorLike) -> Tensor:
    """The sum of y_true * log(y_true / y_pred) along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    y_true, y_pred = clip(y_true, epsilon(), 1), clip(y_pred, epsilon(), 1)
    return reduce_sum(y_true * unary.log(y_true / y_pred), axis=-1)


@export("keras.losses.poisson", "keras.metrics.poisson")
def poisson(y_true: object, y_pred: TensorLike) -> Tensor:
    """The mean of y_pred - y_true * log(y_pred) along the last dimension."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(y_pred - y_true * unary.log(y_pred + epsilon()), axis=-1)


@export(
    "keras.losses.cosine_similarity", "keras.losses.cosine_proximity", "keras.losses.cosine",
    "keras.metrics.cosine_proximity", "keras.metrics.cosine",
)  # fmt: skip
def cosine_proximity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """The cosine of the angle between labels and predictions along `axis`."""
    return reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis=axis)


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine_similarity = cosine_proximity


# ---- classes ----


@export("keras.losses.Loss")
class Loss:
    """A loss that weights and reduces what `call(y_true, y_pred)` of a subclass gives for each example.

    Args:
      reduction: "auto", "none", "sum" or "sum_over_batch_size".
      name: name scope.

    Raises:
      ValueError: the reduction is unknown.
    """

    def __init__(self, reduction: str = _AUTO, name: str | None = None) -> None:
        losses_utils.ReductionV2.validate(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: object, y_pred: object, sample_weight: object = None) -> Tensor:
        """The reduced loss.

        Args:
          y_true, y_pred: tensors [batch, ...].
          sample_weight: a scalar, or what can be broadcast to the losses of the examples.

        Raises:
          ValueError: the weights do not fit, or the mean is asked for in a tf.distribute strategy.
        """
        scope = "lambda" if self.name == "<lambda>" else self.name
        with name_scope(scope or type(self).__name__):
            losses = self.call(y_true, y_pred)
            return losses_utils.compute_weighted_loss(losses, sample_weight, reduction=self._get_reduction())

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """A loss from what `get_config` gave."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"reduction": self.reduction, "name": self.name}

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def _get_reduction(self) -> str:
        reduction = losses_utils.ReductionV2
        if self.reduction not in (reduction.AUTO, reduction.SUM_OVER_BATCH_SIZE):
            return self.reduction
        if has_strategy():
            raise ValueError(
                "Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` for loss reduction "
                "when losses are used with `tf.distribute.Strategy` outside of the built-in training loops: divide "
                "the sum by the global batch size."
            )
        return reduction.SUM_OVER_BATCH_SIZE


class LossFunctionWrapper(Loss):
    """A function of labels and predictions as a Loss; `kwargs` are its other arguments."""

    def __init__(self, fn: Callable, reduction: str = _AUTO, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **evaluated(self._fn_kwargs)}


def evaluated(settings: dict[str, Any]) -> dict[str, Any]:
    """`settings` with the values of tensors and variables."""
    return {k: evaluate(v) if isinstance(v, (Tensor, Variable)) else v for k, v in settings.items()}


@export("keras.losses.MeanSquaredError")
class MeanSquaredError(LossFunctionWrapper):
    """See `mean_squared_error`."""

    def __init__(self, reduction: str = _AUTO, name: str = "mean_squared_error") -> None:
        super().__init__(mean_squared_error, name=name, reduction=reduction)


@export("keras.losses.MeanAbsoluteError")
class MeanAbsoluteError(LossFunctionWrapper):
    """See `mean_absolute_error`."""

    def __init__(self, reduction: str = _AUTO, name: str = "mean_absolute_error") -> None:
        super().__init__(mean_absolute_error, name=name, reduction=reduction)


@export("keras.losses.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(LossFunctionWrapper):
    """See `mean_absolute_percentage_error`."""

    def __init__(self, reduction: str = _AUTO, name: str = "mean_absolute_percentage_error") -> None:
        super().__init__(mean_absolute_percentage_error, name=name, reduction=reduction)


@export("keras.losses.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """See `mean_squared_logarithmic_error`."""

    def __init__(self, reduction: str = _AUTO, name: str = "mean_squared_logarithmic_error") -> None:
        super().__init__(mean_squared_logarithmic_error, name=name, reduction=reduction)


@export("keras.losses.BinaryCrossentropy")
class BinaryCrossentropy(LossFunctionWrapper):
    """See `binary_crossentropy`."""

    def __init__(
        self, from_logits: bool = False, label_smoothing: float = 0, reduction: str = _AUTO,
        name: str = "binary_crossentropy",
    ) -> None:  # fmt: skip
        super().__init__(
            binary_crossentropy, name=name, reduction=reduction, from_logits=from_logits, label_smoothing=label_smoothing
        )
        self.from_logits = from_logits


@export("keras.losses.CategoricalCrossentropy")
class CategoricalCrossentropy(LossFunctionWrapper):
    """See `categorical_crossentropy`."""

    def __init__(
        self, from_logits: bool = False, label_smoothing: float = 0, reduction: str = _AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:  # fmt: skip
        super().__init__(
            categorical_crossentropy, name=name, reduction=reduction, from_logits=from_logits,
            label_smoothing=label_smoothing,
        )  # fmt: skip


@export("keras.losses.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """See `sparse_categorical_crossentropy`."""

    def __init__(
        self, from_logits: bool = False, reduction: str = _AUTO, name: str = "sparse_categorical_crossentropy"
    ) -> None:
        super().__init__(sparse_categorical_crossentropy, name=name, reduction=reduction, from_logits=from_logits)


@export("keras.losses.Hinge")
class Hinge(LossFunctionWrapper):
    """See `hinge`."""

    def __init__(self, reduction: str = _AUTO, name: str = "hinge") -> None:
        super().__init__(hinge, name=name, reduction=reduction)


@export("keras.losses.SquaredHinge")
class SquaredHinge(LossFunctionWrapper):
    """See `squared_hinge`."""

    def __init__(self, reduction: str = _AUTO, name: str = "squared_hinge") -> None:
        super().__init__(squared_hinge, name=name, reduction=reduction)


@export("keras.losses.CategoricalHinge")
class CategoricalHinge(LossFunctionWrapper):
    """See `categorical_hinge`."""

    def __init__(self, reduction: str = _AUTO, name: str = "categorical_hinge") -> None:
        super().__init__(categorical_hinge, name=name, reduction=reduction)


@export("keras.losses.Poisson")
class Poisson(LossFunctionWrapper):
    """See `poisson`."""

    def __init__(self, reduction: str = _AUTO, name: str = "poisson") -> None:
        super().__init__(poisson, name=name, reduction=reduction)


@export("keras.losses.LogCosh")
class LogCosh(LossFunctionWrapper):
    """See `logcosh`."""

    def __init__(self, reduction: str = _AUTO, name: str = "logcosh") -> None:
        super().__init__(logcosh, name=name, reduction=reduction)


@export("keras.losses.KLDivergence")
class KLDivergence(LossFunctionWrapper):
    """See `kullback_leibler_divergence`."""

    def __init__(self, reduction: str = _AUTO, name: str = "kullback_leibler_divergence") -> None:
        super().__init__(kullback_leibler_divergence, name=name, reduction=reduction)


@export("keras.losses.Huber")
class Huber(LossFunctionWrapper):
    """error ** 2 / 2, and linear where |error| is above `delta` (Huber 1964)."""

    def __init__(self, delta: float = 1.0, reduction: str = _AUTO, name: str = "huber_loss") -> None:
        super().__init__(huber_loss, name=name, reduction=reduction, delta=delta)


@export("keras.losses.CosineSimilarity")
class CosineSimilarity(LossFunctionWrapper):
    """See `cosine_similarity`."""

    def __init__(self, axis: int = -1, reduction: str = _AUTO, name: str = "cosine_similarity") -> None:
        super().__init__(cosine_similarity, reduction=reduction, name=name, axis=axis)


# ---- names ----


def is_categorical_crossentropy(loss: object) -> bool:
    """Whether a loss, function or name is the cross entropy of one-hot labels."""
    if isinstance(loss, LossFunctionWrapper):
        return isinstance(loss, CategoricalCrossentropy) or loss.fn == categorical_crossentropy
    return "categorical_crossentropy" in (loss, getattr(loss, "__name__", None))


@export("keras.losses.serialize")
def serialize(loss: object) -> Any:
    """The name of a loss function, or the configuration of a loss."""
    return serialize_keras_object(loss)


@export("keras.losses.deserialize")
def deserialize(name: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The loss that `serialize` gave `name` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        name, module_objects=globals(), custom_objects=custom_objects, printable_module_name="loss function"
    )


@export("keras.losses.get")
def get(identifier: object) -> Any:
    """The loss of a name or configuration, a function itself, or None; ValueError for anything else."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError("Could not interpret loss function identifier:", identifier)


LABEL_DTYPES_FOR_LOSSES = {sparse_softmax_cross_entropy: "int32", sparse_categorical_crossentropy: "int32"}
