"""tf.contrib.labeled_tensor: placeholders and parsed examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.labeled_tensor.axes import Axes, Axis, as_axis
from tfcompat._src.contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.ops.array import constant
from tfcompat._src.ops.parsing import features as parsing
from tfcompat._src.ops.parsing import functions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("contrib.labeled_tensor.FixedLenFeature")
class FixedLenFeature:
    """A feature of an Example with axes.

    Args:
      axes: Axis or tuples (name, value).
      dtype: of its values.
      default_value: where an example lacks it.
    """

    def __init__(self, axes: Collection[Any], dtype: Any, default_value: Any = None) -> None:
        self.axes = [as_axis(each) for each in axes]
        self.dtype, self.default_value = dtype, default_value


def _unlabeled(features: Mapping[str, FixedLenFeature]) -> dict[str, Any]:
    for each in features.values():
        if any(axis.size is None for axis in each.axes):
            raise ValueError("axes with unknown size are not supported")
    return {
        name: parsing.FixedLenFeature([axis.size for axis in each.axes], each.dtype, each.default_value)
        for name, each in features.items()
    }


@export("contrib.labeled_tensor.parse_example")
def parse_example(
    serialized: object, features: Mapping[str, FixedLenFeature], name: str | None = None, example_names: object = None
) -> dict[str, LabeledTensor]:
    """`tf.parse_example` of a labeled tensor of strings with one axis, which every feature gets in front.

    Raises:
      ValueError: the size of an axis is unknown.
    """
    x = convert_to_labeled_tensor(serialized)
    parsed = functions.parse_example(x.tensor, _unlabeled(features), name, example_names)
    first: list[Axis] = list(x.axes.values())
    return {each: LabeledTensor(value, first + features[each].axes) for each, value in parsed.items()}


@export("contrib.labeled_tensor.parse_single_example")
def parse_single_example(
    serialized: object, features: Mapping[str, FixedLenFeature], name: str | None = None, example_names: TensorLike | None = None
) -> dict[str, LabeledTensor]:
    """`tf.parse_single_example` of a scalar string; ValueError where the size of an axis is unknown."""
    x = convert_to_labeled_tensor(serialized)
    parsed = functions.parse_single_example(x.tensor, _unlabeled(features), name, example_names)
    return {each: LabeledTensor(value, features[each].axes) for each, value in parsed.items()}


@export("contrib.labeled_tensor.placeholder")
def placeholder(dtype: DTypeLike, axes: Collection[Any], name: str | None = None) -> LabeledTensor:
    """A placeholder with axes: Axis, tuples (name, value), and names, whose size is unknown."""
    with name_scope(name, "lt_placeholder", []) as scope:
        found = Axes([(each, None) if isinstance(each, str) else each for each in axes])
        return LabeledTensor(constant.placeholder(dtype, [each.size for each in found.values()], name=scope), found)
