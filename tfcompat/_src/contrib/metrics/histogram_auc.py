"""tf.contrib.metrics.auc_using_histogram: the area under the ROC curve from histograms of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.tensor_util import remove_squeezable_dimensions
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_not
from tfcompat._src.ops.math.histogram import histogram_fixed_width
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.nn.conv_functions import conv2d
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.metrics.auc_using_histogram")
def auc_using_histogram(
    boolean_labels: TensorLike, scores: TensorLike, score_range: TensorLike, nbins: int = 100, collections: object = None, check_shape: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Operation]:  # fmt: skip
    """The area under the ROC curve of all batches so far, from two histograms of scores (Bouckaert 2006).

    Args:
      boolean_labels: bool vector. scores: vector of as many numbers.
      score_range: [lowest, highest] score, of the scores' dtype; scores outside count as these.
      nbins: number of bins; the more, the more exact.
      collections: where the histograms' variables go; by default the local variables.
      check_shape: whether both are checked to be vectors when it runs.
      name: variable scope.

    Returns:
      the area as a float32 scalar, and the operation that takes the batch in.

    Raises:
      ValueError: the labels are not bool.
    """
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        scores, boolean_labels = remove_squeezable_dimensions(scores, boolean_labels)
        score_range = convert_to_tensor(score_range, name="score_range")
        labels, scores = _checked(boolean_labels, scores, check_shape)
        batch = _histograms(labels, scores, score_range, nbins)
        totals, update = _accumulated(batch, nbins, [GraphKeys.LOCAL_VARIABLES] if collections is None else collections)
        return _area(*totals, nbins), update


def _checked(labels: TensorLike, scores: TensorLike, check_shape: bool) -> tuple[Tensor, Tensor]:
    with name_scope("_check_labels_and_scores", values=[labels, scores]):
        labels = convert_to_tensor(labels, name="boolean_labels")
        scores = convert_to_tensor(scores, name="scores")
        if labels.dtype != dtypes.bool:
            raise ValueError("Argument boolean_labels should have dtype bool.  Found: %s", labels.dtype)
        if not check_shape:
            return labels, scores
        checks = [
            Assert(equal(1, rank(x)), [f"Argument {argument} should have rank 1.  Found: ", x.name, shape(x)])
            for argument, x in (("boolean_labels", labels), ("scores", scores))
        ]
        with control_dependencies(checks):
            return labels, scores


def _histograms(labels: Tensor, scores: Tensor, score_range: Tensor, nbins: int) -> tuple[Tensor, Tensor]:
    """How many scores of true and of false labels fall into each bin."""
    with variable_scope(None, "make_auc_histograms", [labels, scores, nbins]):
        is_true = histogram_fixed_width(boolean_mask(scores, labels), score_range, nbins, dtypes.int64, "hist_true")
        others = boolean_mask(scores, logical_not(labels))
        return is_true, histogram_fixed_width(others, score_range, nbins, dtypes.int64, "hist_false")


def _accumulated(batch: tuple[Tensor, Tensor], nbins: int, collections: object) -> tuple[list[Any], Operation]:
    """Variables with the sums of histograms, and what adds those of the batch."""
    with variable_scope(None, "hist_accumulate", list(batch)):
        totals = [
            get_variable(f"hist_{kind}_acc", [nbins], batch[0].dtype, Zeros(), collections=collections, trainable=False)
            for kind in ("true", "false")
        ]
        return totals, group(*(total.assign_add(h) for total, h in zip(totals, batch)), name="update_op")


def _area(is_true: object, is_false: object, nbins: int) -> Tensor:
    """The integral over the bins, from the highest scores down, by trapezoids."""
    shares = [truediv(h, reduce_sum(h)) for h in (is_true, is_false)]
    steps = [reverse(share, [0], name=name) for share, name in zip(shares, ("delta_y_t", "delta_x_t"))]
    rise, run = (cast(step, dtypes.float32) for step in steps)
    height = _strict_1d_cumsum(rise, nbins)
    first = run[0] * height[0] / 2.0
    others = run[1:] * (height[1:] + height[: nbins - 1]) / 2.0
    return raw.Add(first, reduce_sum(others), name="auc")


def _strict_1d_cumsum(tensor: Tensor, len_tensor: int) -> Tensor:
    """The running sum of a vector, as a convolution with ones, which are the nodes of 1.15."""
    with name_scope("strict_1d_cumsum", values=[tensor]):
        if len_tensor == 0:
            return constant([])
        padded = pad(tensor, [[len_tensor - 1, 0]])
        ones = ones_like(padded)
        with name_scope("strict_conv1d", values=[padded, ones]):
            row = reshape(padded, (1, -1, 1, 1))
            found = conv2d(row, reshape(ones, (-1, 1, 1, 1)), [1, 1, 1, 1], "SAME")
            total = reshape(found, [-1])
        return total[:len_tensor]
