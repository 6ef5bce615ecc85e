"""What heads check: shapes of labels, weights and logits, ranges of labels, loss functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.feature_column.inputs import _LazyBuilder
from tfcompat._src.feature_column.numeric import NumericColumn, _NumericColumn, numeric_column
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater, assert_less_equal, assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_all, reduce_any

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LABELS_ARE_NONE = (
    "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contain your label "
    "feature. Check that your input_fn properly parses and returns labels."
)
_LOGITS_SHAPE = "logits shape must be [D0, D1, ... DN, logits_dimension]"


def _one_less_rank(tensor: Tensor, logits: Tensor) -> bool:
    """Whether both ranks are known and a last dimension is missing."""
    ranks = tensor.shape.ndims, logits.shape.ndims
    return None not in ranks and ranks[0] == ranks[1] - 1


def dense_labels(labels: TensorLike, logits: Tensor, dimension: int, shapes_first: bool = True) -> Tensor:
    """Labels as [D0, ..., DN, dimension], the shape of the logits but for its last dimension; ValueError where it cannot be.

    Heads of the second API take the shapes after the check of the rank.
    """
    if labels is None:
        raise ValueError(LABELS_ARE_NONE)
    with name_scope(None, "labels", (labels, logits)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            raise ValueError(
                f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], e.g. "
                f"[batch_size, {dimension}]. Suggested Fix (1): Check the label feature in your data. Each example must contain "
                f"{dimension} value(s). If not, your choice of label was probably incorrect. Suggested Fix (2): In your "
                "input_fn, use tf.sparse_tensor_to_dense() to turn labels into a Tensor."
            )
        if _one_less_rank(labels, logits):
            labels = expand_dims(labels, -1)
        if shapes_first:
            labels_shape, logits_shape = shape(labels), shape(logits)
        message = (
            f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your n_classes argument to the estimator "
            "and/or the shape of your label."
        )
        with control_dependencies([assert_rank_at_least(labels, 2, message=message)]):
            last = labels.shape.ndims and labels.shape.as_list()[-1]
            if last is not None and last != dimension:
                raise ValueError(
                    f"Mismatched label shape. Expected labels dimension={dimension}.  Received {last}. Suggested Fix:"
                    "If your classifier expects one-hot encoding label,check your n_classes argument to the estimator and/or "
                    "the shape of your label. Otherwise, check the shape of your label."
                )
            if not shapes_first:
                logits_shape = shape(logits)
            expected = concat([logits_shape[:-1], [dimension]], axis=0)
            if not shapes_first:
                labels_shape = shape(labels)
            data = ["expected_labels_shape: ", expected, "labels_shape: ", labels_shape]
            with control_dependencies([assert_equal(expected, labels_shape, message=message, data=data)]):
                return identity(labels, name=scope)


def _raw_weights(features: dict[str, Any], weight_column: object) -> Tensor:
    if isinstance(weight_column, str):
        weight_column = numeric_column(key=weight_column, shape=(1,))
    if not isinstance(weight_column, (NumericColumn, _NumericColumn)):
        raise TypeError(f"Weight column must be either a string or _NumericColumn. Given type: {type(weight_column)}.")
    weights = weight_column._get_dense_tensor(_LazyBuilder(features))
    if not (weights.dtype.is_floating or weights.dtype.is_integer):
        raise ValueError(f"Weight column should be castable to float. Given dtype: {weights.dtype}")
    return cast(weights, dtypes.float32, name="weights")


def example_weights(features: dict[str, Any] | None, weight_column: object, logits: Tensor, per_logit: bool = False) -> Tensor | float:
    """The weights of the examples as [D0, ..., DN, 1], or of the logits' shape where `per_logit`; 1.0 without a column."""
    kinds = "[D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"
    message = "weights shape must be " + (kinds if per_logit else "[D0, D1, ... DN] or [D0, D1, ... DN, 1]")
    with name_scope(None, "weights", (*(features or {}).values(), logits)) as scope:
        if weight_column is None:
            return 1.0
        weights = _raw_weights(features, weight_column)
        weights_shape, logits_shape = shape(weights, name="weights_shape"), shape(logits, name="logits_shape")
        data = ["logits_shape: ", logits_shape, "weights_shape: ", weights_shape]
        if _one_less_rank(weights, logits):
            with control_dependencies([assert_equal(logits_shape[:-1], weights_shape, message=message, data=data)]):
                return expand_dims(weights, -1, name=scope)
        supported = concat([logits_shape[:-1], [1]], axis=0)
        if per_logit:
            fits = reduce_any([reduce_all(equal(known, weights_shape)) for known in (logits_shape, supported)])
            check = Assert(condition=fits, data=[message, *data])
        else:
            check = assert_equal(supported, weights_shape, message=message, data=data)
        with control_dependencies([check]):
            return identity(weights, name=scope)


def float_logits(logits: TensorLike, dimension: object, cast_name: str | None = "ToFloat") -> Tensor:
    """Logits as float32 [D0, ..., DN, dimension]; ValueError where they are known to have another shape."""
    with name_scope(None, "logits", (logits,)) as scope:
        logits = cast(logits, dtypes.float32, name=cast_name)
        logits_shape = shape(logits)
        with control_dependencies([assert_rank_at_least(logits, 2, data=[logits_shape], message=_LOGITS_SHAPE)]):
            last = logits.shape.ndims and logits.shape.as_list()[-1]
            if last is not None:
                if isinstance(dimension, int) and last != dimension:
                    raise ValueError(f"{_LOGITS_SHAPE}, got {logits.shape}.")
                return logits
            check = assert_equal(dimension, logits_shape[-1], data=[logits_shape], message=_LOGITS_SHAPE)
            with control_dependencies([check]):
                return identity(logits, name=scope)


def labels_in_range(labels: Tensor, n_classes: Any, message: str | None = None, scope: str = "assert_range") -> Tensor:
    """Labels in [0, n_classes), which a run checks; `scope` is "check_label_range" in heads of the second API."""
    must = "Labels must be" if scope == "check_label_range" else "Labels must"
    with name_scope(None, scope, (labels,)):
        largest = convert_to_tensor(n_classes - 1, dtype=labels.dtype)
        below = assert_less_equal(labels, largest, message=message or f"{must} <= n_classes - 1")
        above = assert_non_negative(labels, message=message or f"{must} >= 0")
        with control_dependencies((below, above)):
            return identity(labels)


def checked_n_classes(n_classes: TensorLike) -> Any:
    """A number of classes above 2, an int or a tensor; ValueError where it is None or an int that is too small."""
    if n_classes is None:
        raise ValueError("n_classes cannot be None")
    if isinstance(n_classes, int) and n_classes <= 2:
        raise ValueError(f"n_classes must be > 2: {n_classes}.")
    check = assert_greater(convert_to_tensor(n_classes), 2, message="n_classes must be greater than 2")
    with control_dependencies([check]):
        no_op()
    return n_classes


def check_loss_fn(loss_fn: Callable | None, known: Iterable[str] = ("labels", "logits", "features")) -> None:
    """ValueError where a loss function lacks `labels` or `logits`, or takes what heads do not give."""
    if not loss_fn:
        return
    names = fn_args(loss_fn)
    for required in ("labels", "logits"):
        if required not in names:
            raise ValueError(f"loss_fn must contain argument: {required}. Given arguments: {names}")
    unknown = list(set(names) - set(known))
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")


def call_loss_fn(loss_fn: Callable, labels: Tensor, logits: Tensor, features: Any, last_dimension: int = 1) -> Tensor:
    """The losses [D0, ..., DN, last_dimension] of a loss function; a run checks their shape."""
    given = {"features": features} if "features" in fn_args(loss_fn) else {}
    with name_scope(None, "call_loss_fn", [labels, logits, *(features or {}).values()]):
        losses = loss_fn(labels=labels, logits=logits, **given)
        logits_shape = shape(logits, name="logits_shape")
        expected = concat([logits_shape[:-1], [last_dimension]], axis=0, name="expected_loss_shape")
        loss_shape = shape(losses, name="loss_shape")
        check = Assert(
            reduce_all(equal(loss_shape, expected)),
            data=[
                f"loss_fn must return Tensor of shape [D0, D1, ... DN, {last_dimension}]. ",
                "logits_shape: ", logits_shape, "loss_shape: ", loss_shape,
            ],
            name="check_loss_shape",
        )  # fmt: skip
        with control_dependencies([check]):
            return identity(losses)


def checked_thresholds(thresholds: Iterable[float] | None) -> tuple[float, ...]:
    """Thresholds as a tuple; ValueError where one is not between 0 and 1."""
    thresholds = tuple(thresholds or ())
    if any(threshold <= 0.0 or threshold >= 1.0 for threshold in thresholds):
        raise ValueError(f"thresholds not in (0, 1): {(thresholds,)}.")
    return thresholds


def check_vocabulary(label_vocabulary: object, error: type[Exception] = ValueError) -> None:
    """`error` where the vocabulary is neither None nor a list or tuple."""
    if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
        raise error(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")


def checked_metric_classes(classes: Any, n_classes: int, label_vocabulary: Any) -> tuple[int, ...]:
    """The ids of the classes that have metrics of their own, given as ids or names; ValueError where one is unknown."""
    classes = tuple(classes or ())
    if classes and isinstance(classes[0], str):
        if not label_vocabulary:
            raise ValueError("label_vocabulary must be provided when classes_for_class_based_metrics are sting.")
        return tuple(label_vocabulary.index(name) for name in classes)
    for class_id in classes:
        if class_id < 0 or class_id >= n_classes:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. Given: {class_id}"
            )
    return classes


def check_multi_label(
    n_classes: Any, thresholds: Any, label_vocabulary: object, what: str = "multi-class"
) -> tuple[float, ...]:
    """The thresholds of a head of several labels as a tuple; ValueError where an argument is out of range."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for {what} classification. Given: {n_classes}")
    thresholds = tuple(thresholds or ())
    for threshold in thresholds:
        if threshold <= 0.0 or threshold >= 1.0:
            raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
    if label_vocabulary is not None:
        if not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary must be a list or tuple. Given type: {type(label_vocabulary)}")
        if len(label_vocabulary) != n_classes:
            raise ValueError(f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}")
    return thresholds
