"""Variables stored in parts: PartitionedVariable, and how a shape is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import register_tensor_conversion_function
from tfcompat._src.ops.array import join
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType


class PartitionInfo:
    """Tells an initializer which part of a whole it fills.

    Args:
      full_shape: shape of the whole, a list of int.
      var_offset: where the part begins, per dimension.

    Raises:
      TypeError: one is no list. ValueError: their lengths differ, or an offset lies outside the shape.
    """

    def __init__(self, full_shape: Any, var_offset: Any) -> None:
        for name, value in (("full_shape", full_shape), ("var_offset", var_offset)):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"`{name}` must be a sequence (like tuple or list) instead of {type(value).__name__}")
        if len(full_shape) != len(var_offset):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while full_shape is of "
                f"length {len(full_shape)}."
            )
        for i, (offset, size) in enumerate(zip(var_offset, full_shape)):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, dimension {i}"
                )
        self._full_shape, self._var_offset = full_shape, var_offset

    @property
    def full_shape(self) -> Any:
        return self._full_shape

    @property
    def var_offset(self) -> Any:
        return self._var_offset

    def single_offset(self, shape: Any) -> int:
        """Where the part begins along the dimension that is cut; 0 where none is."""
        dim = self.single_slice_dim(shape)
        return 0 if dim is None else self._var_offset[dim]

    def single_slice_dim(self, shape: Any) -> int | None:
        """The dimension along which a part of `shape` is smaller than the whole; None where none is.

        Raises:
          TypeError: `shape` is no sequence. ValueError: it is larger than the whole, or cut along several dimensions.
        """
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"`shape` must be a sequence (like tuple or list) instead of {type(shape).__name__}")
        whole = self._full_shape
        if len(shape) != len(whole):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={whole} is of length {len(whole)}."
            )
        if any(o + s > f for o, s, f in zip(self._var_offset, shape, whole)):
            raise ValueError(
                f"With self.var_offset={self._var_offset}, a partition of shape={shape} would exceed "
                f"self.full_shape={whole}."
            )
        found = [i for i, (s, f) in enumerate(zip(shape, whole)) if s != f]
        if len(found) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={whole} since slice dim could "
                f"be either dimension {found[1]} or {found[0]}."
            )
        return found[0] if found else None


def call_partitioner(partitioner: Callable, shape: TensorShape, dtype: dtypes.DType) -> Any:
    """The number of parts per dimension, checked; ValueError where the shape cannot be cut so."""
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable must be fully defined, but instead was {shape}.")
    if shape.ndims < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {slicing} vs. {shape}"
        )
    if any(p < 1 for p in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(p > 1 for p in slicing) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {slicing}")
    return slicing


def parts(full_shape: list[int], slicing: Any) -> Iterator[tuple[list[int], list[int]]]:
    """(offset, shape) of each part; the first ones are longer by one where the cut is uneven."""
    dim = next((i for i, n in enumerate(slicing) if n > 1), 0)
    count = slicing[dim]
    short, longer = divmod(full_shape[dim], count)
    start = 0
    for i in range(count):
        size = short + (i < longer)
        yield (
            [start if d == dim else 0 for d in range(len(full_shape))],
            [size if d == dim else s for d, s in enumerate(full_shape)],
        )
        start += size


class PartitionedVariable:
    """Variables that are the parts of one, in the order of their offsets.

    Args:
      name: name of the whole.
      shape: its TensorShape.
      dtype: its DType.
      variable_list: the parts; each knows its slice.
      partitions: number of parts per dimension.

    Raises:
      TypeError: `variable_list` or `partitions` is no list. ValueError: they do not fit the shape.
    """

    def __init__(
        self, name: str, shape: Any, dtype: dtypes.DType, variable_list: list[Variable], partitions: list[int]
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        slices = [v._get_save_slice_info() for v in variable_list]
        if any(s is None for s in slices):
            raise ValueError(f"All variables must have a save_slice_info available: {[v.name for v in variable_list]}")
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        if any(s.full_shape != shape for s in slices):
            raise ValueError(
                f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                f"{[s.full_shape for s in slices]}"
            )
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)
        self._name, self._shape, self._dtype, self._partitions = name, shape, dtype, partitions

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        return [i for i, p in enumerate(self._partitions) if p > 1] or [0]

    def _single_axis(self, task: str) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot {task} along more than one dimension: {axes}.")
        return axes[0]

    def as_tensor(self) -> Tensor:
        """The parts joined, whatever control dependencies hold here."""
        with control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        if len(self._variable_list) == 1:
            whole: Any = self._variable_list[0]
        else:
            axis = self._single_axis("concatenate")
            with name_scope(self._name + "/ConcatPartitions/"):
                whole = join.concat(self._variable_list, axis)
        with name_scope(None):
            return raw.Identity(whole, name=self._name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def shape(self) -> Any:
        return self._shape

    def get_shape(self) -> Any:
        return self._shape

    @property
    def _distribute_strategy(self) -> None:
        return None

    def _get_variable_list(self) -> list[Variable]:
        return self._variable_list

    def _get_partitions(self) -> Any:
        return self._partitions

    def assign(self, value: object, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list:
        """Replaces the value; `value` is a whole, a list of parts or a PartitionedVariable. A list, one entry per
        part."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: object, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list:
        """Adds to the value; see `assign`."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: object, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list:
        """Subtracts from the value; see `assign`."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    def _each(self, method: str, value: TensorLike, use_locking: bool, name: str | None, read_value: bool) -> list:
        axis = self._single_axis("do assign action")
        if isinstance(value, (list, PartitionedVariable)):
            pieces = list(value)
            if len(pieces) != len(self._variable_list):
                raise ValueError(
                    f"{self._name} has {len(self._variable_list)} parts, but {len(pieces)} values were given."
                )
        else:
            sizes = [v.shape.as_list()[axis] for v in self._variable_list]
            pieces = join.split(value, sizes, axis=axis)
        found = [
            getattr(v, method)(p, use_locking=use_locking, name=name, read_value=read_value)
            for v, p in zip(self._variable_list, pieces)
        ]
        return found if read_value else [f.op for f in found]


def _convert(variable: PartitionedVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _convert)
