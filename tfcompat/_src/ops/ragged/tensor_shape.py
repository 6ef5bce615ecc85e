"""Shapes of ragged tensors that are known when the graph runs, and broadcasting to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, ones
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import broadcast_to as broadcast_dense
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_or, not_equal
from tfcompat._src.ops.math.reduce import reduce_all, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged.broadcast import Operand
from tfcompat._src.ops.ragged.partition import lengths_to_splits, repeat
from tfcompat._src.ops.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _rows(lengths: Tensor, slots: object) -> tuple[Tensor, Tensor, Tensor]:
    """For rows of these lengths, one per slot: their splits, and for each element its row and its place in that."""
    splits = lengths_to_splits(lengths)
    parents = repeat(arange(slots), lengths, axis=0)
    return splits, parents, arange(splits[-1]) - gather(splits, parents)


class RaggedTensorDynamicShape:
    """The sizes of the dimensions of a tensor: scalars for uniform dimensions, the lengths of all rows for ragged ones.

    The last ragged dimension and those before it are partitioned, the rest are inner dimensions.

    Args:
      partitioned_dim_sizes: list of scalars and vectors.
      inner_dim_sizes: vector.
      dim_size_dtype: int32 or int64; by default that of the vectors, or int64.

    Raises:
      ValueError: a rank is unknown, the first partitioned dimension is ragged or the last one is not, or dtypes differ.
    """

    def __init__(self, partitioned_dim_sizes: Sequence[Any], inner_dim_sizes: TensorLike, dim_size_dtype: object = None) -> None:
        partitioned = [convert_to_tensor(size, name=f"partitioned_dimension_size_{i}") for i, size in enumerate(partitioned_dim_sizes)]
        inner = convert_to_tensor(inner_dim_sizes, name="inner_dim_sizes")
        for axis, size in enumerate(partitioned):
            if size.shape.ndims is None:
                raise ValueError(f"rank of partitioned_dim_sizes[{axis}] is unknown")
            size.shape.with_rank_at_most(1)
        if partitioned and partitioned[0].shape.ndims == 1:
            raise ValueError("outermost partitioned dimension must be uniform")
        if partitioned and partitioned[-1].shape.ndims == 0:
            raise ValueError("innermost partitioned dimension must be ragged")
        inner.shape.assert_has_rank(1)
        if dim_size_dtype is None:
            kinds = {size.dtype for size in partitioned if size.shape.ndims == 1} or {dtypes.int64}
            if len(kinds) > 1:
                raise ValueError("partitioned_dim_sizes must have matching dtypes")
            (dim_size_dtype,) = kinds
        self._partitioned = tuple(cast(size, dim_size_dtype) for size in partitioned)
        self._inner = cast(inner, dim_size_dtype)

    def __repr__(self) -> str:
        return f"RaggedTensorDynamicShape(partitioned_dim_sizes={self._partitioned!r}, inner_dim_sizes={self._inner!r})"

    @staticmethod
    def from_dim_sizes(dim_sizes: Sequence[Any]) -> RaggedTensorDynamicShape:
        """The shape with these sizes, each a scalar or a vector; ValueError for another rank."""
        sizes = [convert_to_tensor(size, preferred_dtype=dtypes.int64, name="dim_sizes") for size in dim_sizes]
        if any(size.shape.ndims not in (0, 1) for size in sizes):
            raise ValueError("Each dim_size must be a scalar or a vector")
        count = max((axis + 1 for axis, size in enumerate(sizes) if size.shape.ndims == 1), default=0)
        inner = sizes[count:]
        return RaggedTensorDynamicShape(sizes[:count], inner or convert_to_tensor([], dtype=dtypes.int64))

    @classmethod
    def from_tensor(cls, rt_input: TensorLike, dim_size_dtype: object = None) -> RaggedTensorDynamicShape:
        """The shape of a Tensor or RaggedTensor."""
        value = convert_to_tensor_or_ragged_tensor(rt_input)
        if not is_ragged(value):
            return cls([], shape(value))
        return cls([value.nrows(), *value.nested_row_lengths()], shape(value.flat_values)[1:], dim_size_dtype=dim_size_dtype)

    def dimension_size(self, axis: int) -> Tensor:
        """The size of a dimension, or the lengths of its rows; TypeError for an axis that is no int."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        return self._partitioned[axis] if axis < len(self._partitioned) else self._inner[axis - len(self._partitioned)]

    def is_ragged(self, axis: int) -> bool:
        """Whether a dimension is ragged; ValueError for one that the shape does not have."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            raise ValueError("Negative axis values are not supported")
        if self.rank is not None and axis >= self.rank:
            raise ValueError(f"Expected axis={axis} < rank={self.rank}")
        return axis < len(self._partitioned) and self._partitioned[axis].shape.ndims == 1

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if it is known while the graph is built."""
        return None if self.num_inner_dimensions is None else len(self._partitioned) + self.num_inner_dimensions

    partitioned_dim_sizes = property(lambda self: self._partitioned)
    inner_dim_sizes = property(lambda self: self._inner)
    num_partitioned_dimensions = property(lambda self: len(self._partitioned))
    num_inner_dimensions = property(lambda self: dimension_value(self._inner.shape[0]))
    dim_size_dtype = property(lambda self: self._inner.dtype)

    def broadcast_to_rank(self, rank: int) -> RaggedTensorDynamicShape:
        """The shape with leading dimensions of size 1; ValueError where its rank is unknown or greater."""
        if self.rank is None:
            raise ValueError("Unable to broadcast: self.rank is unknown")
        missing = rank - self.rank
        if missing < 0:
            raise ValueError(f"Unable to broadcast: rank={rank} must be greater than self.rank={self.rank}.")
        if self._partitioned:
            return RaggedTensorDynamicShape((1,) * missing + self._partitioned, self._inner)
        return RaggedTensorDynamicShape([], concat([ones([missing], self.dim_size_dtype), self._inner], axis=0))

    def broadcast_dimension(self, axis: int, lengths: TensorLike) -> RaggedTensorDynamicShape:
        """The shape in which a dimension of size 1 has another size, or rows of given lengths.

        Args:
          axis: the dimension. lengths: scalar or vector; what the dimension has already, or 1, changes nothing.

        Raises:
          ValueError: `lengths` has another rank, or the first dimension would be ragged.
          InvalidArgumentError: the dimension is neither 1 nor what `lengths` says, when it runs.
        """
        lengths = convert_to_tensor(lengths, dtype=self.dim_size_dtype, name="lengths")
        if lengths.shape.ndims is None:
            raise ValueError("lengths must have a known rank.")
        if lengths.shape.ndims > 1:
            raise ValueError("lengths must be a scalar or vector")
        size, is_scalar = self.dimension_size(axis), lengths.shape.ndims == 0
        data = ["Unable to broadcast: dimension size mismatch in dimension", axis, "lengths=", lengths, "dim_size=", size]
        with control_dependencies([Assert(self._fits(axis, size, lengths, is_scalar), data, summarize=10)]):
            if self.is_ragged(axis):
                return RaggedTensorDynamicShape(self._partitioned, identity(self._inner))
            new = where(equal(size, 1), lengths, size) if is_scalar else lengths
            if not is_scalar and axis == 0:
                raise ValueError("Unable to broadcast: outermost dimension must be uniform.")
            if axis < len(self._partitioned):
                return RaggedTensorDynamicShape([*self._partitioned[:axis], new, *self._repeated(axis, size, new)], self._inner)
            place = axis - len(self._partitioned)
            before, after = self._inner[:place], self._inner[place + 1 :]
            if is_scalar:
                return RaggedTensorDynamicShape(self._partitioned, concat([before, [new], after], axis=0))
            return RaggedTensorDynamicShape([*self._partitioned, *(before[i] for i in range(place)), new], after)

    def _fits(self, axis: int, size: Tensor, lengths: Tensor, is_scalar: bool) -> Tensor:
        if self.is_ragged(axis):
            return equal(lengths, 1) if is_scalar else reduce_all(equal(lengths, size))
        if not is_scalar:
            return equal(size, 1)
        return logical_or(equal(lengths, 1), logical_or(equal(size, 1), equal(size, lengths)))

    def _repeated(self, axis: int, size: Tensor, new: Tensor) -> list[Tensor]:
        """The partitioned sizes below a uniform dimension whose only slice is repeated.

        A scalar repeats all slices of the dimension together, as in 1.15, and not each slice of its own.
        """
        slots = self.num_slices_in_dimension(axis - 1)
        lengths = fill(expand_dims(slots, 0), new) if new.shape.ndims == 0 else new
        splits, parents, offsets = _rows(lengths, slots)
        if new.shape.ndims == 0:
            places = arange(splits[-1]) % (slots * size)
        else:
            places = parents * size + offsets * cast(not_equal(size, 1), offsets.dtype)
        found = []
        for below in self._partitioned[axis + 1 :]:
            if below.shape.ndims == 0:
                found.append(below)
                splits, parents, offsets = _rows(fill(expand_dims(splits[-1], 0), below), splits[-1])
                places = gather(places, parents) * below + offsets
            else:
                found.append(gather(below, places))
                splits, parents, offsets = _rows(found[-1], splits[-1])
                places = gather(lengths_to_splits(below), gather(places, parents)) + offsets
        return found

    def num_slices_in_dimension(self, axis: int) -> Tensor:
        """The number of slices of all rows of a dimension; 1 for -1."""
        if axis < 0:
            return cast(1, self.dim_size_dtype)
        if self.is_ragged(axis):
            return reduce_sum(self._partitioned[axis])
        return self.dimension_size(axis) * self.num_slices_in_dimension(axis - 1)

    def with_dim_size_dtype(self, dtype: object) -> RaggedTensorDynamicShape:
        """The shape with sizes of another dtype; ValueError unless that is int32 or int64."""
        if dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        return RaggedTensorDynamicShape(self._partitioned, self._inner, dtype)


def broadcast_dynamic_shape(shape_x: RaggedTensorDynamicShape, shape_y: RaggedTensorDynamicShape) -> RaggedTensorDynamicShape:
    """The shape to which two shapes broadcast; TypeError for other objects, ValueError for unknown ranks."""
    for name, given in (("shape_x", shape_x), ("shape_y", shape_y)):
        if not isinstance(given, RaggedTensorDynamicShape):
            raise TypeError(f"{name} must be a RaggedTensorDynamicShape")
    if shape_x.rank is None or shape_y.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(shape_x.rank, shape_y.rank)
    x, y = shape_x.broadcast_to_rank(rank), shape_y.broadcast_to_rank(rank)
    for axis in range(rank):
        x = x.broadcast_dimension(axis, y.dimension_size(axis))
        y = y.broadcast_dimension(axis, x.dimension_size(axis))
    return x


def broadcast_to(rt_input: TensorLike, shape: RaggedTensorDynamicShape, broadcast_inner_dimensions: bool = True) -> Any:
    """A Tensor or RaggedTensor, repeated to a shape to which it broadcasts.

    Args:
      rt_input: the value. shape: the shape.
      broadcast_inner_dimensions: whether inner dimensions are repeated too.

    Raises:
      TypeError: `shape` is something else. ValueError: the value has more dimensions, or more ragged ones, or their number is unknown.
    """
    if not isinstance(shape, RaggedTensorDynamicShape):
        raise TypeError("shape must be a RaggedTensorDynamicShape")
    value = convert_to_tensor_or_ragged_tensor(rt_input)
    depth = shape.num_partitioned_dimensions
    if is_ragged(value) and value.ragged_rank >= max(depth, 1):
        raise ValueError("Incompatible with shape: ragged rank mismatch")
    if not depth:
        return broadcast_dense(value, shape.inner_dim_sizes) if broadcast_inner_dimensions else value
    if value.shape.ndims is None or shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if value.shape.ndims > shape.rank:
        raise ValueError("Incompatible with shape: rank mismatch")
    if is_ragged(value) and value.row_splits.dtype != shape.dim_size_dtype:
        raise ValueError(
            "rt_input and dst_shape have different row_split dtypes; use RaggedTensor.with_row_splits_dtype() or "
            "RaggedTensorDynamicShape.with_dim_size_dtype() to convert to a compatible dtype."
        )
    source = Operand(value, shape.rank - value.shape.ndims, depth, shape.dim_size_dtype)
    slots, nested = cast(1, shape.dim_size_dtype), []
    for axis in range(depth):
        size = shape.dimension_size(axis)
        splits, parents, offsets = _rows(fill(expand_dims(slots, 0), size) if size.shape.ndims == 0 else size, slots)
        source.descend(axis, parents, offsets)
        slots = splits[-1]
        nested.append(splits)
    values = source.values()
    if broadcast_inner_dimensions:
        values = broadcast_dense(_with_rank(values, 1 + shape.num_inner_dimensions), concat([[slots], shape.inner_dim_sizes], axis=0))
    return RaggedTensor.from_nested_row_splits(values, nested[1:], validate=False)


def _with_rank(values: Tensor, rank: int) -> Tensor:
    """The values with dimensions of size 1 after the first one."""
    extent = shape(values)
    return reshape(values, concat([extent[:1], ones([rank - values.shape.ndims], extent.dtype), extent[1:]], axis=0))
