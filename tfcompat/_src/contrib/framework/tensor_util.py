"""tf.contrib.framework: checks and sums of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import rank, squeeze
from tfcompat._src.ops.composed.check_ops import assert_scalar
from tfcompat._src.ops.composed.confusion_matrix import squeezed_where
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.framework.assert_scalar_int")
def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Tensor:
    """`tensor` as a Tensor, which must be a scalar of an integer type; ValueError where it is not."""
    with name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = convert_to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
        return assert_scalar(tensor, name=scope)


@export("contrib.framework.reduce_sum_n")
def reduce_sum_n(tensors: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The sum of all elements of all `tensors`, a scalar; ValueError where there is none."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_sum(tensor, name=f"{tensor.op.name}/sum") for tensor in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


@export("contrib.framework.remove_squeezable_dimensions")
def remove_squeezable_dimensions(predictions: TensorLike, labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(predictions, labels), one of them without a last dimension of 1 where the ranks differ by one."""
    with name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if labels.shape.ndims is not None and predictions.shape.ndims is not None:
            rank_diff = predictions.shape.ndims - labels.shape.ndims
            if rank_diff == -1:
                labels = squeeze(labels, [-1])
            elif rank_diff == 1:
                predictions = squeeze(predictions, [-1])
            return predictions, labels
        rank_diff = rank(predictions) - rank(labels)
        predictions = squeezed_where(1, rank_diff, predictions)
        return predictions, squeezed_where(-1, rank_diff, labels)
