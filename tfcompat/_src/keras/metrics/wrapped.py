"""Accuracies, and the metrics that are means of functions of labels and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import losses
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.math import reduce_mean
from tfcompat._src.keras.backend.values import dtype as dtype_name
from tfcompat._src.keras.backend.values import int_shape
from tfcompat._src.keras.metrics.metric import MeanMetricWrapper
from tfcompat._src.keras.utils import metrics_utils
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.ops.nn.top_k import in_top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def accuracy(y_true: object, y_pred: object) -> Tensor:
    """1 where `y_pred` equals `y_true`, and 0 elsewhere."""
    (y_pred, y_true), _ = metrics_utils.ragged_assert_compatible_and_get_flat_values([y_pred, y_true])
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    if y_true.dtype != y_pred.dtype:
        y_pred = cast(y_pred, y_true.dtype)
    return cast(equal(y_true, y_pred), floatx())


@export("keras.metrics.binary_accuracy")
def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """The share of predictions, along the last dimension, that are on the right side of `threshold`."""
    limit = cast(threshold, y_pred.dtype)
    return reduce_mean(equal(y_true, cast(y_pred > limit, y_pred.dtype)), axis=-1)


@export("keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true: object, y_pred: object) -> Tensor:
    """1 where the class of the largest prediction is that of the one-hot label, and 0 elsewhere."""
    return cast(equal(argmax(y_true, axis=-1), argmax(y_pred, axis=-1)), floatx())


def _class_numbers(y_true: TensorLike, y_pred: object) -> Any:
    """Labels [batch, ...] also where [batch, ..., 1] were given."""
    ranks = [convert_to_tensor(y).shape.ndims for y in (y_pred, y_true)]
    if None not in ranks and len(int_shape(y_true)) == len(int_shape(y_pred)):
        return squeeze(y_true, [-1])
    return y_true


@export("keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true: TensorLike, y_pred: object) -> Tensor:
    """1 where the class of the largest prediction is the label, and 0 elsewhere."""
    y_true = _class_numbers(y_true, y_pred)
    y_pred = argmax(y_pred, axis=-1)
    if dtype_name(y_pred) != dtype_name(y_true):
        y_pred = cast(y_pred, dtype_name(y_true))
    return cast(equal(y_true, y_pred), floatx())


@export("keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true: object, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where the class of the one-hot label is among the `k` largest predictions, and 0 elsewhere."""
    return cast(in_top_k(y_pred, argmax(y_true, axis=-1), k), floatx())


@export("keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where the label is among the classes of the `k` largest predictions, and 0 elsewhere."""
    labels = cast(_class_numbers(y_true, y_pred), dtypes.int32)
    return cast(in_top_k(y_pred, labels, k), floatx())


@export("keras.metrics.Accuracy")
class Accuracy(MeanMetricWrapper):
    """How often predictions equal labels."""

    def __init__(self, name: str = "accuracy", dtype: object = None) -> None:
        super().__init__(accuracy, name, dtype=dtype)


@export("keras.metrics.BinaryAccuracy")
class BinaryAccuracy(MeanMetricWrapper):
    """See `binary_accuracy`."""

    def __init__(self, name: str = "binary_accuracy", dtype: object = None, threshold: float = 0.5) -> None:
        super().__init__(binary_accuracy, name, dtype=dtype, threshold=threshold)


@export("keras.metrics.CategoricalAccuracy")
class CategoricalAccuracy(MeanMetricWrapper):
    """See `categorical_accuracy`."""

    def __init__(self, name: str = "categorical_accuracy", dtype: object = None) -> None:
        super().__init__(categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.SparseCategoricalAccuracy")
class SparseCategoricalAccuracy(MeanMetricWrapper):
    """See `sparse_categorical_accuracy`."""

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: object = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanMetricWrapper):
    """See `top_k_categorical_accuracy`."""

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: object = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype=dtype, k=k)


@export("keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """See `sparse_top_k_categorical_accuracy`."""

    def __init__(self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: object = None) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)


@export("keras.metrics.CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between labels and predictions along `axis`."""

    def __init__(self, name: str = "cosine_similarity", dtype: object = None, axis: int = -1) -> None:
        super().__init__(losses.cosine_similarity, name, dtype=dtype, axis=axis)


@export("keras.metrics.MeanAbsoluteError")
class MeanAbsoluteError(MeanMetricWrapper):
    """See tf.keras.losses.mean_absolute_error."""

    def __init__(self, name: str = "mean_absolute_error", dtype: object = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype=dtype)


@export("keras.metrics.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(MeanMetricWrapper):
    """See tf.keras.losses.mean_absolute_percentage_error."""

    def __init__(self, name: str = "mean_absolute_percentage_error", dtype: object = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype=dtype)


@export("keras.metrics.MeanSquaredError")
class MeanSquaredError(MeanMetricWrapper):
    """See tf.keras.losses.mean_squared_error."""

    def __init__(self, name: str = "mean_squared_error", dtype: object = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype=dtype)


@export("keras.metrics.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """See tf.keras.losses.mean_squared_logarithmic_error."""

    def __init__(self, name: str = "mean_squared_logarithmic_error", dtype: object = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype=dtype)


@export("keras.metrics.Hinge")
class Hinge(MeanMetricWrapper):
    """See tf.keras.losses.hinge."""

    def __init__(self, name: str = "hinge", dtype: object = None) -> None:
        super().__init__(losses.hinge, name, dtype=dtype)


@export("keras.metrics.SquaredHinge")
class SquaredHinge(MeanMetricWrapper):
    """See tf.keras.losses.squared_hinge."""

    def __init__(self, name: str = "squared_hinge", dtype: object = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype=dtype)


@export("keras.metrics.CategoricalHinge")
class CategoricalHinge(MeanMetricWrapper):
    """See tf.keras.losses.categorical_hinge."""

    def __init__(self, name: str = "categorical_hinge", dtype: object = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype=dtype)


@export("keras.metrics.LogCoshError")
class LogCoshError(MeanMetricWrapper):
    """See tf.keras.losses.logcosh."""

    def __init__(self, name: str = "logcosh", dtype: object = None) -> None:
        super().__init__(losses.logcosh, name, dtype=dtype)


@export("keras.metrics.Poisson")
class Poisson(MeanMetricWrapper):
    """See tf.keras.losses.poisson."""

    def __init__(self, name: str = "poisson", dtype: object = None) -> None:
        super().__init__(losses.poisson, name, dtype=dtype)


@export("keras.metrics.KLDivergence")
class KLDivergence(MeanMetricWrapper):
    """See tf.keras.losses.kullback_leibler_divergence."""

    def __init__(self, name: str = "kullback_leibler_divergence", dtype: object = None) -> None:
        super().__init__(losses.kullback_leibler_divergence, name, dtype=dtype)


@export("keras.metrics.BinaryCrossentropy")
class BinaryCrossentropy(MeanMetricWrapper):
    """See tf.keras.losses.binary_crossentropy."""

    def __init__(
        self, name: str = "binary_crossentropy", dtype: object = None, from_logits: bool = False, label_smoothing: float = 0
    ) -> None:
        settings = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.binary_crossentropy, name, dtype=dtype, **settings)


@export("keras.metrics.CategoricalCrossentropy")
class CategoricalCrossentropy(MeanMetricWrapper):
    """See tf.keras.losses.categorical_crossentropy."""

    def __init__(
        self, name: str = "categorical_crossentropy", dtype: object = None, from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:  # fmt: skip
        settings = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.categorical_crossentropy, name, dtype=dtype, **settings)


@export("keras.metrics.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """See tf.keras.losses.sparse_categorical_crossentropy."""

    def __init__(
        self, name: str = "sparse_categorical_crossentropy", dtype: object = None, from_logits: bool = False, axis: int = -1
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy, name, dtype=dtype, from_logits=from_logits, axis=axis
        )
