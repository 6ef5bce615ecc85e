"""Metrics of the counts of a confusion matrix: precision, recall, areas below curves, intersection over union."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import epsilon
from tfcompat._src.keras.metrics.metric import Metric
from tfcompat._src.keras.utils import metrics_utils
from tfcompat._src.keras.utils.metrics_utils import AUCCurve, AUCSummationMethod, ConfusionMatrix
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import diag_part
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.composed.confusion_matrix import confusion_matrix
from tfcompat._src.ops.math.binary import div_no_nan, maximum, minimum, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and, not_equal
from tfcompat._src.ops.math.reduce import argmin, reduce_sum
from tfcompat._src.ops.math.unary import absolute, log
from tfcompat._src.variables.initializers import Zeros

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation


class _ConfusionMatrixConditionCount(Metric):
    """One count of the confusion matrix, at one or more thresholds."""

    _confusion_matrix_cond: ConfusionMatrix

    def __init__(self, thresholds: object = None, name: str | None = None, dtype: object = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = metrics_utils.parse_init_thresholds(thresholds)
        self.accumulator = self.add_weight("accumulator", shape=(len(self.thresholds),), initializer=Zeros)

    def update_state(self, y_true: object, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Operation | None:
        """Adds labels 0 and 1 and predictions from 0 to 1."""
        return metrics_utils.update_confusion_matrix_variables(
            {self._confusion_matrix_cond: self.accumulator}, y_true, y_pred, thresholds=self.thresholds,
            sample_weight=sample_weight,
        )  # fmt: skip

    def result(self) -> Tensor:
        return convert_to_tensor(self.accumulator[0] if len(self.thresholds) == 1 else self.accumulator)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.init_thresholds}


@export("keras.metrics.FalsePositives")
class FalsePositives(_ConfusionMatrixConditionCount):
    """The number of negatives taken for positives."""

    _confusion_matrix_cond = ConfusionMatrix.FALSE_POSITIVES


@export("keras.metrics.FalseNegatives")
class FalseNegatives(_ConfusionMatrixConditionCount):
    """The number of positives taken for negatives."""

    _confusion_matrix_cond = ConfusionMatrix.FALSE_NEGATIVES


@export("keras.metrics.TrueNegatives")
class TrueNegatives(_ConfusionMatrixConditionCount):
    """The number of negatives taken for negatives."""

    _confusion_matrix_cond = ConfusionMatrix.TRUE_NEGATIVES


@export("keras.metrics.TruePositives")
class TruePositives(_ConfusionMatrixConditionCount):
    """The number of positives taken for positives."""

    _confusion_matrix_cond = ConfusionMatrix.TRUE_POSITIVES


class _ShareOfPositives(Metric):
    """True positives over themselves and another count."""

    _other: ConfusionMatrix
    _other_name: str

    def __init__(
        self, thresholds: object = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None,
        dtype: object = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        default = 0.5 if top_k is None else metrics_utils.NEG_INF
        self.thresholds = metrics_utils.parse_init_thresholds(thresholds, default_threshold=default)
        for count in ("true_positives", self._other_name):
            setattr(self, count, self.add_weight(count, shape=(len(self.thresholds),), initializer=Zeros))

    def update_state(self, y_true: object, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Operation | None:
        """Adds labels 0 and 1 and predictions from 0 to 1."""
        counts = {
            ConfusionMatrix.TRUE_POSITIVES: self.true_positives,
            self._other: getattr(self, self._other_name),
        }
        return metrics_utils.update_confusion_matrix_variables(
            counts, y_true, y_pred, thresholds=self.thresholds, top_k=self.top_k, class_id=self.class_id,
            sample_weight=sample_weight,
        )  # fmt: skip

    def result(self) -> Tensor:
        share = div_no_nan(self.true_positives, self.true_positives + getattr(self, self._other_name))
        return share[0] if len(self.thresholds) == 1 else share

    def get_config(self) -> dict[str, Any]:
        settings = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **settings}


@export("keras.metrics.Precision")
class Precision(_ShareOfPositives):
    """The share of true ones among the predicted positives.

    Args:
      thresholds: number or list in [0, 1] that a positive prediction exceeds; 0.5 by default.
      top_k: only this many largest predictions may be positive.
      class_id: only this class counts.
      name, dtype: see tf.keras.metrics.Metric.
    """

    _other, _other_name = ConfusionMatrix.FALSE_POSITIVES, "false_positives"


@export("keras.metrics.Recall")
class Recall(_ShareOfPositives):
    """The share of the positives that were found; arguments are those of Precision."""

    _other, _other_name = ConfusionMatrix.FALSE_NEGATIVES, "false_negatives"


class _AllCounts(Metric):
    """A metric of all four counts at `thresholds`."""

    thresholds: list[float]

    def _add_counts(self) -> None:
        for count in ("true_positives", "true_negatives", "false_positives", "false_negatives"):
            setattr(self, count, self.add_weight(count, shape=(len(self.thresholds),), initializer=Zeros))

    def update_state(self, y_true: object, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Operation | None:
        """Adds labels 0 and 1 and predictions from 0 to 1."""
        counts = {
            ConfusionMatrix.TRUE_POSITIVES: self.true_positives,
            ConfusionMatrix.TRUE_NEGATIVES: self.true_negatives,
            ConfusionMatrix.FALSE_POSITIVES: self.false_positives,
            ConfusionMatrix.FALSE_NEGATIVES: self.false_negatives,
        }
        return metrics_utils.update_confusion_matrix_variables(
            counts, y_true, y_pred, thresholds=self.thresholds, sample_weight=sample_weight
        )


class SensitivitySpecificityBase(_AllCounts):
    """One of sensitivity and specificity, at the threshold where the other one is nearest to `value`."""

    def __init__(
        self, value: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        self.value = value
        self.thresholds = [0.0, *metrics_utils.evenly_spaced(num_thresholds), 1.0] if num_thresholds > 1 else [0.5]
        self._add_counts()

    def _nearest(self, shares: Tensor) -> Tensor:
        return cast(argmin(absolute(shares - self.value), axis=0), dtypes.int32)


def _checked_share(value: float, name: str) -> float:
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1].")
    return value


@export("keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(SensitivitySpecificityBase):
    """The share of positives found, at the threshold where the share of negatives found is nearest to `specificity`.

    Raises:
      ValueError: `specificity` is not in [0, 1], or there is no threshold.
    """

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: object = None
    ) -> None:
        value = _checked_share(specificity, "specificity")
        super().__init__(value, num_thresholds=num_thresholds, name=name, dtype=dtype)
        self.specificity, self.num_thresholds = specificity, num_thresholds

    def result(self) -> Tensor:
        i = self._nearest(div_no_nan(self.true_negatives, self.true_negatives + self.false_positives))
        return div_no_nan(self.true_positives[i], self.true_positives[i] + self.false_negatives[i])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_thresholds": self.num_thresholds, "specificity": self.specificity}


@export("keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(SensitivitySpecificityBase):
    """The share of negatives found, at the threshold where the share of positives found is nearest to `sensitivity`.

    Raises:
      ValueError: `sensitivity` is not in [0, 1], or there is no threshold.
    """

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: object = None
    ) -> None:
        value = _checked_share(sensitivity, "sensitivity")
        super().__init__(value, num_thresholds=num_thresholds, name=name, dtype=dtype)
        self.sensitivity, self.num_thresholds = sensitivity, num_thresholds

    def result(self) -> Tensor:
        i = self._nearest(div_no_nan(self.true_positives, self.true_positives + self.false_negatives))
        return div_no_nan(self.true_negatives[i], self.true_negatives[i] + self.false_positives[i])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}


@export("keras.metrics.AUC")
class AUC(_AllCounts):
    """The area below the ROC or precision-recall curve, as a Riemann sum over thresholds.

    Args:
      num_thresholds: how many, evenly spaced.
      curve: "ROC" or "PR".
      summation_method: "interpolation" (for PR as in Davis and Goadrich 2006), "minoring" or "majoring".
      name, dtype: see tf.keras.metrics.Metric.
      thresholds: in place of evenly spaced ones; -1e-7 and 1 + 1e-7 are added.

    Raises:
      ValueError: the curve or the method is unknown, or there are less than two thresholds.
    """

    def __init__(
        self, num_thresholds: int = 200, curve: Any = "ROC", summation_method: Any = "interpolation",
        name: str | None = None, dtype: object = None, thresholds: Any = None,
    ) -> None:  # fmt: skip
        if thresholds is not None:
            inner = sorted(thresholds)
        elif num_thresholds <= 1:
            raise ValueError("`num_thresholds` must be > 1.")
        else:
            inner = metrics_utils.evenly_spaced(num_thresholds)
        is_member = isinstance(summation_method, AUCSummationMethod)
        curve = curve if isinstance(curve, AUCCurve) else AUCCurve.from_str(curve)
        method = summation_method if is_member else AUCSummationMethod.from_str(summation_method)
        super().__init__(name=name, dtype=dtype)
        self.thresholds = [0.0 - epsilon(), *inner, 1.0 + epsilon()]
        self.num_thresholds, self.curve, self.summation_method = len(self.thresholds), curve, method
        self._add_counts()

    def interpolate_pr_auc(self) -> Tensor:
        """The area below the precision-recall curve, true positives taken as linear between thresholds."""
        last = self.num_thresholds - 1
        dtp = self.true_positives[:last] - self.true_positives[1:]
        p = self.true_positives + self.false_positives
        dp = p[:last] - p[1:]
        slope = div_no_nan(dtp, maximum(dp, 0), name="prec_slope")
        intercept = self.true_positives[1:] - multiply(slope, p[1:])
        both_positive = logical_and(p[:last] > 0, p[1:] > 0)
        ratio = div_no_nan(p[:last], maximum(p[1:], 0), name="recall_relative_ratio")
        safe_ratio = where(both_positive, ratio, ones_like(p[1:]))
        slices = div_no_nan(
            slope * (dtp + intercept * log(safe_ratio)),
            maximum(self.true_positives[1:] + self.false_negatives[1:], 0),
            name="pr_auc_increment",
        )
        return reduce_sum(slices, name="interpolate_pr_auc")

    def result(self) -> Tensor:
        interpolated = self.summation_method == AUCSummationMethod.INTERPOLATION
        if self.curve == AUCCurve.PR and interpolated:
            return self.interpolate_pr_auc()
        recall = div_no_nan(self.true_positives, self.true_positives + self.false_negatives)
        if self.curve == AUCCurve.ROC:
            x, y = div_no_nan(self.false_positives, self.false_positives + self.true_negatives), recall
        else:
            x, y = recall, div_no_nan(self.true_positives, self.true_positives + self.false_positives)
        last = self.num_thresholds - 1
        if interpolated:
            heights = (y[:last] + y[1:]) / 2.0
        else:
            choose = minimum if self.summation_method == AUCSummationMethod.MINORING else maximum
            heights = choose(y[:last], y[1:])
        return reduce_sum(multiply(x[:last] - x[1:], heights), name=self.name)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve.value,
            "summation_method": self.summation_method.value,
            "thresholds": self.thresholds[1:-1],
        }


@export("keras.metrics.MeanIoU")
class MeanIoU(Metric):
    """The mean over classes of true positives over true positives, false positives and false negatives.

    Args:
      num_classes: the number of classes.
      name, dtype: see tf.keras.metrics.Metric.
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: object = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight(
            "total_confusion_matrix", shape=(num_classes, num_classes), initializer=Zeros, dtype=dtypes.float64
        )

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: Any = None) -> Any:
        """Adds class numbers of labels and predictions."""
        y_true, y_pred = cast(y_true, self._dtype), cast(y_pred, self._dtype)
        y_pred, y_true = (reshape(y, [-1]) if y.shape.ndims > 1 else y for y in (y_pred, y_true))
        if sample_weight is not None and sample_weight.shape.ndims > 1:
            sample_weight = reshape(sample_weight, [-1])
        counts = confusion_matrix(y_true, y_pred, self.num_classes, weights=sample_weight, dtype=dtypes.float64)
        return self.total_cm.assign_add(counts)

    def result(self) -> Tensor:
        rows = cast(reduce_sum(self.total_cm, axis=0), self._dtype)
        columns = cast(reduce_sum(self.total_cm, axis=1), self._dtype)
        found = cast(diag_part(self.total_cm), self._dtype)
        union = rows + columns - found
        classes = reduce_sum(cast(not_equal(union, 0), self._dtype))
        return div_no_nan(reduce_sum(div_no_nan(found, union), name="mean_iou"), classes)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}
