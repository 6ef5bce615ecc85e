"""tf.contrib.labeled_tensor: the axes of a tensor, which have names and may have labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension

LABELS = (np.ndarray, range, list, tuple)
"""What the labels of an axis may come in."""


class Error(TypeError):
    """An argument has a type that the function does not take."""


def require(value: Any, kinds: Any, what: str) -> Any:
    """The value; `Error` where it is no instance of `kinds`."""
    if not isinstance(value, kinds):
        raise Error(f"{value!r} of type {type(value)!r} is not an instance of the allowed type for {what}")
    return value


@export("contrib.labeled_tensor.Axis")
class Axis:
    """One axis of a tensor.

    Args:
      name: its name.
      value: its size, an int, Dimension or None (unknown), or its labels, a list, tuple, range or array of things that can
        be hashed.

    Raises:
      ValueError: two labels are equal.
      TypeError: the name is no string, or the value none of these.
    """

    def __init__(self, name: str, value: object) -> None:
        require(name, str, "the name of an axis")
        if isinstance(value, LABELS):
            self._dimension, labels = Dimension(len(value)), tuple(value)
        else:
            self._dimension = Dimension(require(value, (Dimension, int, type(None)), "the value of an axis"))
            labels = None
        self._labels = () if self._dimension.value == 0 else labels
        self._index = None if self._labels is None else {label: i for i, label in enumerate(self._labels)}
        if self._labels is not None and len(self._index) != len(self._labels):
            raise ValueError(f"Tick labels must be unique, but got {self._labels}")
        self._name = name

    @property
    def name(self) -> str:
        """The axis' name."""
        return self._name

    @property
    def dimension(self) -> Dimension:
        """The size as a Dimension."""
        return self._dimension

    @property
    def size(self) -> int | None:
        """The size, None where it is unknown."""
        return self._dimension.value

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels, or None."""
        return self._labels

    @property
    def value(self) -> Any:
        """The labels, or where there are none the Dimension."""
        return self._dimension if self._labels is None else self._labels

    def index(self, value: Any) -> int:
        """The position of a label.

        Raises:
          ValueError: the axis has no labels.
          KeyError: it has not this one.
        """
        if self._index is None:
            raise ValueError("Axis does not have tick labels")
        return self._index[value]

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}', {self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and (self.name, self.size, self.labels) == (other.name, other.size, other.labels)

    def __hash__(self) -> int:
        return hash((self.name, self.size, self.labels))

    def __len__(self) -> int:
        if self.size is None:
            raise ValueError(f"axis {self.name!r} has unknown length")
        return self.size


@export("contrib.labeled_tensor.as_axis")
def as_axis(axis_data: object) -> Axis:
    """An Axis itself, or the Axis of a tuple (name, value)."""
    return require(axis_data, (Axis, tuple), "an axis") if isinstance(axis_data, Axis) else Axis(*require(axis_data, tuple, "an axis"))


@export("contrib.labeled_tensor.Axes")
class Axes(Mapping):
    """The axes of a tensor in order: a mapping from names to Axis.

    Args:
      axes: list of Axis or tuples (name, value).

    Raises:
      ValueError: two have the same name.
    """

    def __init__(self, axes: list[Any]) -> None:
        self._axes: dict[str, Axis] = {}
        for axis in map(as_axis, require(axes, list, "axes")):
            if axis.name in self._axes:
                raise ValueError(f"Duplicate axis name: {axis.name}")
            self._axes[axis.name] = axis

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __getitem__(self, name: str) -> Axis:
        return self._axes[require(name, str, "the name of an axis")]

    def __len__(self) -> int:
        return len(self._axes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{described(self, len(type(self).__name__) + 2)}])"

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def remove(self, axis_name: str) -> Axes:
        """The axes without one; KeyError where it is not there."""
        if axis_name not in self:
            raise KeyError(axis_name)
        return Axes([axis for axis in self.values() if axis.name != axis_name])


def described(axes: Axes, indentation: int) -> str:
    """The axes as tuples, one in a line."""
    return (",\n" + " " * indentation).join(f"('{each.name}', {each.value!r})" for each in axes.values())


def concat_axes(axes: Collection[Axis]) -> Axis:
    """The axis of tensors concatenated along these axes, which have one name; it has labels where all have.

    Raises:
      ValueError: there are none, or the names differ.
      TypeError: one is no Axis.
    """
    if not axes:
        raise ValueError("axes must not be empty")
    names = {require(each, Axis, "an axis to concatenate").name for each in axes}
    if len(names) > 1:
        raise ValueError(f"axes do not all have the same name: {names!r}")
    value: Any = None
    if all(each.labels is not None for each in axes):
        value = tuple(label for each in axes for label in each.labels)
    elif all(each.size is not None for each in axes):
        value = sum(len(each) for each in axes)
    return Axis(names.pop(), value)
