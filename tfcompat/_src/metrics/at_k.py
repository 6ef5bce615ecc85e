"""tf.metrics of the k best predictions: recall, precision and average precision at k."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import aggregated, collected, graph_only, metric_variable
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor, is_sparse
from tfcompat._src.ops.array.fill import fill, ones_like, zeros_like
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.partition import dynamic_stitch
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape, size
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.weights_broadcast import assert_broadcastable, broadcast_weights
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.binary import add, div, div_no_nan, minimum, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater_equal
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.ops.sets.sets import set_difference, set_intersection, set_size
from tfcompat._src.ops.sparse.combine import sparse_concat
from tfcompat._src.ops.sparse.convert import sparse_retain
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.variables.assign import assign_add

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Metric = tuple[Tensor, Tensor]

_KINDS: dict[str, Callable] = {
    "true_positive": lambda ids, labels: set_intersection(ids, labels),
    "false_negative": lambda ids, labels: set_difference(ids, labels, aminusb=False),
    "false_positive": lambda ids, labels: set_difference(ids, labels, aminusb=True),
}
"""What is counted -> the set of a row that holds it, of the predicted and the true classes."""


def at_k_name(name: str, k: int | None = None, class_id: int | None = None) -> str:
    """The default scope of a metric at `k`, of one class where that is given."""
    scope = f"{name}_at_{'k' if k is None else k}"
    return scope if class_id is None else f"{scope}_class{class_id}"


def _with_last_dimension(labels: TensorLike, predictions: Tensor) -> Any:
    """`labels` with a last dimension of 1 where they have one dimension less than `predictions`."""
    with name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return cond(
                equal(rank(predictions), size(labels.dense_shape) + 1),
                lambda: sparse_reshape(labels, shape=concat((labels.dense_shape, (1,)), 0), name=scope),
                lambda: labels,
            )
        have, wanted = labels.shape.ndims, predictions.shape.ndims
        if have is not None and wanted is not None:
            if have == wanted:
                return labels
            if have + 1 == wanted:
                return expand_dims(labels, -1, name=scope)
            raise ValueError(f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}.")
        return cond(
            equal(rank(predictions), rank(labels) + 1), lambda: expand_dims(labels, -1, name=scope), lambda: labels
        )


def _with_size_one(sizes: Tensor, axes: Tensor) -> Tensor:
    """The shape tensor `sizes` with 1 at `axes`."""
    sizes, axes = cast(sizes, dtypes.int32), cast(axes, dtypes.int32)
    count = size(sizes)
    axes = (axes + count) % count
    axes_shape = shape(axes)
    return dynamic_stitch([arange(count), axes], [sizes, fill(axes_shape, 1)])


def _of_class(ids: TensorLike, class_id: int) -> SparseTensor:
    """The entries of `ids` that are `class_id`."""
    ids = convert_to_tensor_or_sparse_tensor(ids)
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, class_id))
    ids_shape = shape(ids, out_type=dtypes.int64)
    last = size(ids_shape) - 1
    filled = fill(_with_size_one(ids_shape, reshape(last, [1])), cast(class_id, dtypes.int64))
    found = set_intersection(filled, ids)
    return SparseTensor(indices=found.indices, values=found.values, dense_shape=ids_shape)


def _count(kind: str, labels: TensorLike, ids: TensorLike, class_id: int | None, weights: TensorLike, name: str | None = None) -> Tensor:
    """The weighted number in each row of what `kind` says, float64."""
    with name_scope(name, f"{kind}s", (ids, labels, weights)):
        if class_id is not None:
            labels, ids = _of_class(labels, class_id), _of_class(ids, class_id)
        count = cast(set_size(_KINDS[kind](ids, labels)), dtypes.float64)
        if weights is not None:
            with control_dependencies((assert_broadcastable(weights, count),)):
                count = multiply(count, cast(weights, dtypes.float64))
        return count


def _streaming_count(kind: str, labels: TensorLike, ids: TensorLike, k: int | None, class_id: int | None, weights: TensorLike) -> tuple[Any, Tensor]:
    """The variable of a count over all batches, and the operation that adds one."""
    with name_scope(None, at_k_name(kind, k, class_id), (ids, labels, weights)) as scope:
        added = cast(reduce_sum(_count(kind, labels, ids, class_id, weights)), dtypes.float64)
        total = metric_variable([], dtypes.float64, name=scope)
        return total, assign_add(total, added, name="update")


def _share_at_top_k(
    what: str, missed: str, labels: Any, ids: Any, k: int | None, class_id: int | None, weights: TensorLike,
    metrics_collections: object, updates_collections: object, name: str | None,
) -> Metric:  # fmt: skip
    """True positives / (true positives + `missed`)."""
    with name_scope(name, at_k_name(what, k, class_id), (ids, labels, weights)) as scope:
        labels = _with_last_dimension(labels, ids)
        ids = cast(ids, dtypes.int64)
        found, new_found = _streaming_count("true_positive", labels, ids, k, class_id, weights)
        other, new_other = _streaming_count(missed, labels, ids, k, class_id, weights)
        value = aggregated(lambda: div(found, add(found, other), name=scope), metrics_collections)
        update = div(new_found, add(new_found, new_other), name="update")
        return value, collected(update, updates_collections)


@export("metrics.recall_at_top_k")
@graph_only
def recall_at_top_k(
    labels: TensorLike, predictions_idx: TensorLike, k: int | None = None, class_id: int | None = None, weights: TensorLike | None = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The share of the true classes that are among the predicted ones, in all batches.

    Args:
      labels: int64 Tensor or SparseTensor [..., labels] of true classes, or [...] for one each.
      predictions_idx: integer Tensor [..., k] of predicted classes.
      k: number of predictions, which only names the scope.
      class_id: counts this class alone.
      weights: what each row counts, 1 by default; its shape can be broadcast to [...].
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: name scope.

    Returns:
      (value, update_op): scalars float64; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit.
    """
    return _share_at_top_k(
        "recall", "false_negative", labels, predictions_idx, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@export("metrics.precision_at_top_k")
@graph_only
def precision_at_top_k(
    labels: TensorLike, predictions_idx: TensorLike, k: int | None = None, class_id: int | None = None, weights: TensorLike | None = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The share of the predicted classes that are true; arguments, result and errors are those of `recall_at_top_k`."""
    return _share_at_top_k(
        "precision", "false_positive", labels, predictions_idx, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def _share_at_k(
    kind: str, share_at_top_k: Callable, labels: object, predictions: TensorLike, k: int, class_id: int | None, weights: object,
    metrics_collections: object, updates_collections: object, name: str | None,
) -> Metric:  # fmt: skip
    with name_scope(name, at_k_name(kind, k, class_id), (predictions, labels, weights)) as scope:
        ids = top_k(predictions, k)[1]
        return share_at_top_k(labels, ids, k, class_id, weights, metrics_collections, updates_collections, scope)


@export("metrics.recall_at_k")
@graph_only
def recall_at_k(
    labels: object, predictions: TensorLike, k: int, class_id: int | None = None, weights: object = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`recall_at_top_k` of the `k` classes with the largest scores `predictions`, [..., classes]."""
    return _share_at_k(
        "recall", recall_at_top_k, labels, predictions, k, class_id, weights, metrics_collections, updates_collections,
        name,
    )  # fmt: skip


@export("metrics.precision_at_k")
@graph_only
def precision_at_k(
    labels: object, predictions: TensorLike, k: int, class_id: int | None = None, weights: object = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """`precision_at_top_k` of the `k` classes with the largest scores `predictions`, [..., classes]."""
    return _share_at_k(
        "precision", precision_at_top_k, labels, predictions, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@export("metrics.sparse_precision_at_k")
@graph_only
def sparse_precision_at_k(
    labels: object, predictions: TensorLike, k: int, class_id: int | None = None, weights: object = None,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The old name of `precision_at_k`."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


# ---- average precision ----


def _repeated_last(x: TensorLike, count: int, name: str) -> SparseTensor | Tensor:
    """`x` with a new dimension of `count` equal entries before the last one."""
    with name_scope(name, "expand_and_tile", (x, count, -1)) as scope:
        x = convert_to_tensor_or_sparse_tensor(x)
        if isinstance(x, SparseTensor):
            before = reshape(size(x.dense_shape) + -1, [1])
            parts = (slice_(x.dense_shape, [0], before), [1], slice_(x.dense_shape, before, [-1]))
            expanded = sparse_reshape(x, shape=concat(parts, 0, name="expanded_shape"), name="expand")
            return expanded if count == 1 else sparse_concat(-2, [expanded] * count, name=scope)
        expanded = expand_dims(x, -2, name="expand")
        if count == 1:
            return expanded
        ones = ones_like(shape(x))
        return tile(expanded, concat((ones[:-1], (count,), ones[-1:]), 0, name="multiples"), name=scope)


def _num_relevant(labels: TensorLike, k: int) -> Tensor:
    """The number of labels of each row, at most `k`; negative ones do not count."""
    with name_scope(None, "num_relevant", (labels,)) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return minimum(set_size(labels), k, name=scope)
        is_label = greater_equal(labels, 0)
        count = reduce_sum(where_v2(is_label, ones_like(labels), zeros_like(labels)), axis=-1)
        return minimum(count, k, name=scope)


def _average_precision(labels: TensorLike, ids: TensorLike) -> Tensor:
    """The average precision of each row: sum of precision at i over relevant i, over the number of labels."""
    with name_scope(None, "average_precision", (ids, labels)) as scope:
        ids = cast(ids, dtypes.int64, name="predictions_idx")
        if ids.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = ids.shape.as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = _with_last_dimension(labels, ids)
        ids_per_k = expand_dims(ids, -1, name="predictions_idx_per_k")
        labels_per_k = _repeated_last(labels, k, name="labels_per_k")
        relevant = _count("true_positive", labels_per_k, ids_per_k, None, None, name="relevant_per_k")
        found = cumsum(relevant, axis=-1, name="tp_per_k")
        retrieved = cumsum(ones_like(relevant), axis=-1, name="retrieved_per_k")
        precision = div(cast(found, dtypes.float64), cast(retrieved, dtypes.float64), name="precision_per_k")
        relevant_precision = multiply(precision, cast(relevant, dtypes.float64), name="relevant_precision_per_k")
        total = reduce_sum(relevant_precision, axis=(-1,), name="precision_sum")
        return div(total, cast(_num_relevant(labels, k), dtypes.float64), name=scope)


def average_precision_at_top_k(
    labels: TensorLike, predictions_idx: TensorLike, weights: object = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean over all rows seen of the average precision of predicted classes; see `average_precision_at_k`."""
    with name_scope(name, "average_precision_at_top_k", (predictions_idx, labels, weights)) as scope:
        average = _average_precision(labels, predictions_idx)
        if weights is not None:
            weights = broadcast_weights(cast(weights, dtypes.float64), average)
            average = multiply(average, weights)
        with name_scope(None, "max", (average,)) as max_scope:
            largest = metric_variable([], dtypes.float64, name=max_scope)
            if weights is None:
                batch = cast(size(average, name="batch_max"), dtypes.float64)
            else:
                batch = reduce_sum(weights, name="batch_max")
            new_largest = assign_add(largest, batch, name="update")
        with name_scope(None, "total", (average,)) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            new_total = assign_add(total, reduce_sum(average, name="batch_total"), name="update")
        value = aggregated(lambda: div_no_nan(total, largest, name="mean"), metrics_collections)
        return value, collected(div_no_nan(new_total, new_largest, name=scope), updates_collections)


def _without_large(labels: Any, num_classes: Tensor) -> Any:
    """`labels` with -1 in place of classes that are out of range."""

    def cleaned(values: Tensor) -> Tensor:
        return where_v2(greater_equal(values, num_classes), -1 * ones_like(values), values)

    if not is_sparse(labels):
        return cond(greater_equal(reduce_max(labels), num_classes), lambda: cleaned(labels), lambda: labels)
    labels = convert_to_tensor_or_sparse_tensor(labels)
    return cond(
        greater_equal(reduce_max(labels.values), num_classes),
        lambda: SparseTensor(labels.indices, cleaned(labels.values), labels.dense_shape),
        lambda: labels,
    )


@export("metrics.average_precision_at_k")
@graph_only
def average_precision_at_k(
    labels: TensorLike, predictions: TensorLike, k: int, weights: object = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The mean over all rows seen of the average precision of their `k` classes with the largest scores.

    Args:
      labels: int64 Tensor or SparseTensor [..., labels] of true classes, or [...] for one each.
      predictions: float Tensor [..., classes] of scores.
      k: how many of the largest scores count.
      weights: what each row counts, 1 by default; its shape can be broadcast to [...].
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: name scope.

    Returns:
      (value, update_op): scalars float64; running the second adds a batch and gives the new value.

    Raises:
      ValueError: `k` is below 1, or the shapes do not fit.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, at_k_name("average_precision", k), (predictions, labels, weights)) as scope:
        ids = top_k(predictions, k)[1]
        labels = _without_large(labels, cast(shape(predictions)[-1], dtypes.int64))
        return average_precision_at_top_k(labels, ids, weights, metrics_collections, updates_collections, scope)


@export("metrics.sparse_average_precision_at_k")
@graph_only
def sparse_average_precision_at_k(
    labels: TensorLike, predictions: TensorLike, k: int, weights: object = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The old name of `average_precision_at_k`."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)
