"""tf.contrib.labeled_tensor.ReshapeCoder."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.labeled_tensor.axes import Axis, as_axis
from tfcompat._src.contrib.labeled_tensor.core import LabeledTensor, converted
from tfcompat._src.contrib.labeled_tensor.ops import reshape


@export("contrib.labeled_tensor.ReshapeCoder")
class ReshapeCoder:
    """Reshapes tensors to the axes that a function takes, and its results back.

    Args:
      existing_axis_names: names of the axes that are replaced.
      new_axes: what takes their place: names, Axis or tuples (name, value).
      name: of the operations.
    """

    def __init__(self, existing_axis_names: Collection[str], new_axes: Collection[Any], name: str | None = None) -> None:
        self._name, self._new_axes = name, new_axes
        self._existing_axis_names = existing_axis_names
        self._existing_axes: list[Axis] | None = None

    def encode(self, labeled_tensor: object) -> LabeledTensor:
        """The tensor with the new axes; ValueError where an earlier one had others in their place."""
        with converted(self._name, "lt_reshape_encode", labeled_tensor) as (scope, x):
            found = reshape(x, self._existing_axis_names, self._new_axes, name=scope)
            axes = [x.axes[each] for each in self._existing_axis_names]
            if self._existing_axes is not None and self._existing_axes != axes:
                raise ValueError(f"input axes {axes!r} do not match axes from previous method call {self._existing_axes!r}")
            self._existing_axes = axes
            return found

    def decode(self, labeled_tensor: object) -> LabeledTensor:
        """The tensor with the axes that `encode` replaced; ValueError before it was called."""
        if self._existing_axes is None:
            raise ValueError("decode called before encode")
        with converted(self._name, "lt_reshape_decode", labeled_tensor) as (scope, x):
            names = [each if isinstance(each, str) else as_axis(each).name for each in self._new_axes]
            return reshape(x, names, self._existing_axes, name=scope)
