"""tf.contrib.metrics that keep all values seen: streaming_concat, and the areas under curves from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import collected, fitted
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import unique_with_counts, where
from tfcompat._src.ops.array.shape import reshape, shape, shape_internal, size
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_less_equal
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.binary import add, minimum, multiply, subtract, truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, less, logical_or
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.unary import absolute, ceil, log
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

Metric = tuple[Tensor, Any]


def _growing_variable(sizes: list, dtype: DTypeLike, name: str) -> Variable:
    """A metric variable whose shape may change."""
    return Variable(
        lambda: zeros(sizes, dtype), trainable=False, validate_shape=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.SUM, name=name,
    )  # fmt: skip


def next_array_size(required_size: object, growth_factor: float = 1.5) -> Tensor:
    """The smallest power of `growth_factor`, rounded up, that is at least `required_size`; int32."""
    exponent = ceil(log(cast(required_size, dtypes.float32)) / log(cast(growth_factor, dtypes.float32)))
    return cast(ceil(growth_factor**exponent), dtypes.int32)


@export("contrib.metrics.streaming_concat")
def streaming_concat(
    values: Any, axis: int = 0, max_size: int | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """All values seen, one after another along `axis`.

    Args:
      values: Tensor whose dimensions are known but for `axis`.
      axis: dimension along which they are joined.
      max_size: how many are kept at most; all by default.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): the joined tensor, and the operation that appends a batch.

    Raises:
      ValueError: the rank or another dimension of `values` is unknown, or it lacks `axis`.
    """
    with variable_scope(name, "streaming_concat", (values,)):
        if values.shape.ndims is None:
            raise ValueError("`values` must have known statically known rank")
        rank = values.shape.ndims
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise ValueError(f"axis = {axis!r} not in [0, {rank!r})")
        fixed = [each for i, each in enumerate(values.shape.as_list()) if i != axis]
        if None in fixed:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must have statically known size"
            )
        array = _growing_variable([max_size or 0, *fixed], values.dtype, "array")
        length = _growing_variable([], dtypes.int32, "size")
        filled = array[:length]
        filled.set_shape([None, *fixed])
        value = transpose(filled, [0 if i == axis else i + 1 if i < axis else i for i in range(rank)], name="concat")
        count = shape(values)[axis]
        if max_size is not None:
            count = minimum(count, max_size - length)
        batch = transpose(values, [axis, *(i for i in range(rank) if i != axis)])[:count]

        def grown() -> Any:
            """Moves the values to an array that has room for them."""
            sizes = stack([next_array_size(new_length), *fixed])
            empty, old = zeros(sizes, dtype=values.dtype), array.value()
            with control_dependencies([old]):
                moved = assign(array, empty, validate_shape=False)
            with control_dependencies([moved]):
                copied = array[:length].assign(old[:length])
            with control_dependencies([copied]):
                return no_op()

        new_length = length + count
        room = shape_internal(array, optimize=False)[0]
        with control_dependencies([cond(new_length > room, grown, no_op)]):
            appended = array[length:new_length].assign(batch)
        with control_dependencies([appended]):
            update = length.assign(new_length)
        return collected(value, metrics_collections), collected(update, updates_collections)


# ---- the area under a curve at every score seen ----


def require_binary(labels: Tensor) -> list[Any]:
    """The checks that int64 labels are 0 or 1."""
    none, one = (lambda: zeros_like(labels, dtypes.int64)), (lambda: ones_like(labels, dtypes.int64))
    return [
        assert_greater_equal(labels, none(), message="labels must be 0 or 1, at least one is <0"),
        assert_less_equal(labels, one(), message="labels must be 0 or 1, at least one is >1"),
    ]


def _running_totals(chosen: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
    """The sums of the weights of chosen elements up to each of `ends`."""
    values = where(chosen, weights, zeros_like(weights, dtype=dtypes.float64))
    return gather(pad(cumsum(values), paddings=[[1, 0]]), ends)


def _area_under_curve(labels: Tensor, predictions: Tensor, curve: str, weights: TensorLike) -> Tensor:
    count = size(predictions)
    if weights is None:
        weights = ones_like(labels, dtype=dtypes.float64)
    labels, predictions, weights = fitted(labels, predictions, weights)
    total = reduce_sum(weights)
    positive = reduce_sum(where(greater(labels, 0), weights, zeros_like(labels, dtype=dtypes.float64)))

    def area() -> Tensor:
        ordered, order = top_k(predictions, k=count)
        ordered_labels, ordered_weights = gather(labels, order), gather(weights, order)
        _, _, repeats = unique_with_counts(ordered)
        ends = cast(pad(cumsum(repeats), paddings=[[1, 0]]), dtypes.int32)
        found = _running_totals(greater(ordered_labels, 0), ordered_weights, ends)
        if curve == "ROC":
            wrong = _running_totals(less(ordered_labels, 1), ordered_weights, ends)
            x, y = truediv(wrong, total - positive), truediv(found, positive)
        else:
            x = truediv(found, positive)
            chosen = gather(pad(cumsum(ordered_weights), paddings=[[1, 0]]), ends)
            y = where(greater(ends, 0), truediv(found, chosen), ones_like(found, dtype=dtypes.float64))
        heights = add(y[1:], y[:-1]) / 2.0
        widths = absolute(subtract(x[1:], x[:-1]))
        return reduce_sum(multiply(heights, widths))

    one_class = logical_or(equal(positive, 0), equal(positive, total))
    return cond(one_class, lambda: constant(0, dtypes.float64), area)


@export("contrib.metrics.streaming_dynamic_auc")
def streaming_dynamic_auc(
    labels: Any, predictions: Any, curve: str = "ROC", metrics_collections: object = (), updates_collections: object = (),
    name: str | None = None, weights: TensorLike | None = None,
) -> Metric:  # fmt: skip
    """The area under the ROC or precision-recall curve with every score seen as threshold, by the trapezoidal rule.

    Args:
      labels: tensor of 0 and 1.
      predictions: scores of any range, of the shape of `labels`.
      curve: "ROC" or "PR".
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.
      weights: what each score counts, 1 by default; of the shape of `labels`.

    Returns:
      (value, update_op): a float64 scalar, 0 where all labels are equal, and the operation that adds a batch.

    Raises:
      ValueError: `curve` is another, or shapes differ. InvalidArgumentError: a run has other labels.
    """
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, default_name="dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        predictions = reshape(cast(predictions, dtypes.float64), [-1])
        labels = reshape(cast(labels, dtypes.int64), [-1])
        with control_dependencies(require_binary(labels)):
            all_predictions, new_predictions = streaming_concat(predictions, name="concat_preds")
            all_labels, new_labels = streaming_concat(labels, name="concat_labels")
            updates, all_weights = [new_labels, new_predictions], None
            if weights is not None:
                weights = reshape(cast(weights, dtypes.float64), [-1])
                all_weights, new_weights = streaming_concat(weights, name="concat_weights")
                updates.append(new_weights)
            update = collected(group(*updates), updates_collections)
            value = _area_under_curve(all_labels, all_predictions, curve, all_weights)
            return collected(value, metrics_collections), update
