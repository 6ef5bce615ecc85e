"""tf.TensorShape and tf.Dimension.

A shape holds `sizes`: None if the rank is unknown, otherwise a tuple of int and None. Code of tfcompat reads `sizes` and makes shapes
with `TensorShape.of`, without checks; all else is 1.15's public interface on top of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsInt, TypeAlias

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.proto import messages

Sizes = tuple[int | None, ...] | None
ShapeLike: TypeAlias = "TensorShape | messages.TensorShapeProto | SupportsInt | Iterable[SupportsInt | None] | None"
"""The types that `as_shape` converts."""

_v2_behavior = False


@export("enable_v2_tensorshape")
def enable_v2_tensorshape() -> None:
    """Makes indexing and iterating a TensorShape return int or None, as in TensorFlow 2."""
    global _v2_behavior
    _v2_behavior = True


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Makes indexing and iterating a TensorShape return Dimension objects, the default."""
    global _v2_behavior
    _v2_behavior = False


@export("dimension_value", "compat.dimension_value")
def dimension_value(dimension: object) -> Any:
    """Returns the int or None of a Dimension; other values are returned unchanged."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


@export("dimension_at_index", "compat.dimension_at_index")
def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Returns the Dimension of `shape` at `index`; an unknown one if the rank is unknown."""
    return Dimension(None) if shape.sizes is None else Dimension(shape.sizes[index])


def _size(value: Any) -> int | None:
    """Converts `value` to a size: a non-negative int, or None for unknown; raises TypeError or ValueError for other values."""
    # The common case first: shapes are made for every node.
    if type(value) is int and value >= 0:
        return value
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value._value
    if isinstance(value, dtypes.DType):
        raise TypeError(f"Cannot convert {value} to Dimension")
    size = int(value)
    # 1.15 rejects 2.5 as ambiguous, but takes "2".
    if not isinstance(value, (str, bytes)) and size != value:
        raise ValueError(f"Ambiguous dimension: {value}")
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _operand(value: object) -> Any:
    """Returns `_size(value)`, or NotImplemented if `value` is no size, so that Python tries the other operand's method."""
    try:
        return _size(value)
    except (TypeError, ValueError):
        return NotImplemented


def _arithmetic(compute: Callable[[int, int], int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns the forward and reflected methods of an operator; the result is unknown if an operand is."""

    def forward(self: Dimension, other: object) -> Any:
        right = _operand(other)
        if right is NotImplemented:
            return right
        return Dimension(None if self._value is None or right is None else compute(self._value, right))

    def reflected(self: Dimension, other: object) -> Any:
        left = _operand(other)
        if left is NotImplemented:
            return left
        return Dimension(None if self._value is None or left is None else compute(left, self._value))

    return forward, reflected


def _comparison(compare: Callable[[int, int], bool]) -> Callable[..., Any]:
    """Returns a comparison method; its result is None if an operand is unknown."""

    def method(self: Dimension, other: object) -> bool | None:
        right = _size(other)
        return None if self._value is None or right is None else compare(self._value, right)

    return method


# ---- Dimension ----


@export("Dimension")
class Dimension:
    """The size of one dimension: `value` is an int >= 0, or None for unknown.

    Arithmetic with an unknown size returns an unknown Dimension; a comparison with one returns None.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = _size(value)

    @property
    def value(self) -> int | None:
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other: object) -> Any:
        right = _operand(other)
        if right is NotImplemented:
            return right
        return None if self._value is None or right is None else self._value == right

    def __ne__(self, other: object) -> Any:
        # None (unknown) and NotImplemented are passed on, not negated.
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    __hash__ = None  # type: ignore[assignment]  # Python's way to have no hash

    __lt__ = _comparison(lambda a, b: a < b)
    __le__ = _comparison(lambda a, b: a <= b)
    __gt__ = _comparison(lambda a, b: a > b)
    __ge__ = _comparison(lambda a, b: a >= b)
    __add__, __radd__ = _arithmetic(lambda a, b: a + b)
    __sub__, __rsub__ = _arithmetic(lambda a, b: a - b)
    __mul__, __rmul__ = _arithmetic(lambda a, b: a * b)
    __floordiv__, __rfloordiv__ = _arithmetic(lambda a, b: a // b)
    __mod__, __rmod__ = _arithmetic(lambda a, b: a % b)

    def __div__(self, other: object) -> Dimension:
        quotient: Dimension = self // other
        return quotient

    def __truediv__(self, other: object) -> Dimension:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead"
        )

    def __rtruediv__(self, other: object) -> Dimension:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use // instead"
        )

    def __int__(self) -> int | None:
        return self._value

    def __index__(self) -> int | None:
        return self._value

    def __long__(self) -> int | None:
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether both sizes are equal or one of them is unknown."""
        right = _operand(other)
        return right if right is NotImplemented else self._value is None or right is None or self._value == right

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """Returns the known one of two Dimensions; raises ValueError if both are known and differ."""
        self.assert_is_compatible_with(other)
        return Dimension(_size(other) if self._value is None else self._value)


# ---- TensorShape ----


@export("TensorShape")
class TensorShape:
    """The static shape of a tensor, from None, a size, a sequence of sizes, a TensorShape or a TensorShapeProto.

    Attributes: `rank` and `ndims` (int, or None if unknown), `dims` (list of Dimension, or None).
    """

    __slots__ = ("sizes", "__weakref__")

    sizes: Sizes

    def __init__(self, dims: object) -> None:
        self.sizes = _sizes_of(dims)

    @staticmethod
    def of(sizes: Sizes) -> TensorShape:
        """Returns a shape of sizes that need no check: None, or a tuple of int and None."""
        shape = _new(TensorShape)
        shape.sizes = sizes
        return shape

    @property
    def rank(self) -> int | None:
        return None if self.sizes is None else len(self.sizes)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self.sizes is None else [Dimension(s) for s in self.sizes]

    @property
    def _dims(self) -> list[Dimension] | None:
        return self.dims

    @property
    def _v2_behavior(self) -> bool:
        return _v2_behavior

    def __repr__(self) -> str:
        if self.sizes is None:
            return "TensorShape(None)"
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        text = str(self.sizes)
        return text if _v2_behavior else text.replace("None", "?")

    def __len__(self) -> int:
        if self.sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.sizes)

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __iter__(self) -> Iterator[Any]:
        if self.sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.sizes) if _v2_behavior else map(Dimension, self.sizes)

    def __getitem__(self, key: Any) -> Any:
        """Returns a Dimension (int or None with V2 behavior) for an index, a TensorShape for a slice."""
        # A slice of an unknown rank has a known length only if it starts and stops at positions counted from the front.
        if self.sizes is None:
            if not isinstance(key, slice):
                return None if _v2_behavior else Dimension(None)
            start, stop = key.start or 0, key.stop
            if key.step is not None:
                raise ValueError("Steps are not yet handled")
            if stop is None or start < 0 or stop < 0:
                return unknown_shape()
            return unknown_shape(max(stop - start, 0))
        selected = self.sizes[key]
        if isinstance(key, slice):
            return TensorShape.of(selected)
        return selected if _v2_behavior else Dimension(selected)

    def __eq__(self, other: object) -> Any:
        """Returns whether all sizes are known and equal, or both ranks are unknown, or both are one object (1.15's rule)."""
        try:
            right = _sizes_of(other)
        except TypeError:
            return NotImplemented
        return self is other or (self.sizes == right and (right is None or None not in right))

    def __ne__(self, other: object) -> Any:
        try:
            right = _sizes_of(other)
        except TypeError:
            return NotImplemented
        if self.sizes is None or right is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # Python's way to have no hash

    def __add__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: object) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __concat__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None unless the shape is fully defined."""
        if self.sizes is None:
            return None
        total = 1
        for size in self.sizes:
            if size is None:
                return None
            total *= size
        return total

    def is_fully_defined(self) -> bool:
        """Returns whether the rank and every size are known."""
        return self.sizes is not None and None not in self.sizes

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless `is_fully_defined()`."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self) -> list[int | None]:
        """Returns the sizes as a list of int or None; raises ValueError if the rank is unknown."""
        if self.sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.sizes)

    def as_proto(self) -> Any:
        """Returns this shape as a TensorShapeProto message."""
        if self.sizes is None:
            return messages.TensorShapeProto(unknown_rank=True)
        dim = messages.TensorShapeProto.Dim
        return messages.TensorShapeProto(dim=[dim(size=-1 if s is None else s) for s in self.sizes])

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether some fully defined shape satisfies both shapes."""
        right = _sizes_of(other)
        if self.sizes is None or right is None:
            return True
        return len(self.sizes) == len(right) and all(
            a is None or b is None or a == b for a, b in zip(self.sizes, right)
        )

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def merge_with(self, other: object) -> TensorShape:
        """Returns the shape with the known sizes of both shapes; raises ValueError if they contradict each other."""
        shape = as_shape(other)
        if self.sizes is None:
            return shape
        if shape.sizes is None:
            return self
        if not self.is_compatible_with(shape):
            raise ValueError(f"Shapes {self} and {shape} are not compatible")
        return TensorShape.of(tuple(b if a is None else a for a, b in zip(self.sizes, shape.sizes)))

    def most_specific_compatible_shape(self, other: object) -> TensorShape:
        """Returns the most specific shape that is compatible with all tensors of either shape: unequal sizes become unknown."""
        right = _sizes_of(other)
        if self.sizes is None or right is None or len(self.sizes) != len(right):
            return unknown_shape()
        return TensorShape.of(tuple(a if a == b else None for a, b in zip(self.sizes, right)))

    def concatenate(self, other: object) -> TensorShape:
        """Returns the sizes of this shape followed by those of `other`; an unknown shape if either rank is unknown."""
        right = _sizes_of(other)
        if self.sizes is None or right is None:
            return unknown_shape()
        return TensorShape.of(self.sizes + right)

    def assert_same_rank(self, other: object) -> None:
        """Raises ValueError if both ranks are known and differ."""
        other = as_shape(other)
        if self.sizes is not None and other.sizes is not None and len(self.sizes) != len(other.sizes):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with its rank known to be `rank`; raises ValueError if it has another rank."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape; raises ValueError if its rank is known to be less than `rank`."""
        if self.sizes is not None and len(self.sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape; raises ValueError if its rank is known to be greater than `rank`."""
        if self.sizes is not None and len(self.sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self


_new = object.__new__


def _is_shape_proto(value: object) -> bool:
    return hasattr(value, "DESCRIPTOR") and hasattr(value, "unknown_rank")


def _sizes_of(dims: Any) -> Sizes:
    """Converts any value that TensorShape accepts to sizes; raises TypeError or ValueError for others."""
    if isinstance(dims, TensorShape):
        return dims.sizes
    if dims is None:
        return None
    if isinstance(dims, (list, tuple)):
        return tuple(map(_size, dims))
    # A string is iterable, so it must be rejected before the attempt to iterate.
    if isinstance(dims, (str, bytes)):
        raise TypeError(
            f"A string has ambiguous TensorShape, please wrap in a list or convert to an int: {dims!s}"
        )
    if _is_shape_proto(dims):
        return None if dims.unknown_rank else tuple(None if d.size == -1 else _size(d.size) for d in dims.dim)
    try:
        found = iter(dims)
    except TypeError:
        return (_size(dims),)
    return tuple(map(_size, found))


# ---- other ways to make shapes ----


def as_shape(shape: object) -> TensorShape:
    """Returns `shape` as a TensorShape, unchanged if it is one."""
    return shape if isinstance(shape, TensorShape) else TensorShape.of(_sizes_of(shape))


def as_dimension(value: object) -> Dimension:
    """Returns `value` as a Dimension, unchanged if it is one."""
    return value if isinstance(value, Dimension) else Dimension(value)


def unknown_shape(rank: int | None = None, **kwargs: int | None) -> TensorShape:
    """Returns a shape of `rank` unknown sizes, or of unknown rank if `rank` (formerly `ndims`) is None."""
    if rank is None:
        rank = kwargs.pop("ndims", None)
    if kwargs:
        raise TypeError(f"Unknown argument: {kwargs}")
    return TensorShape.of(None if rank is None else (None,) * rank)


def scalar() -> TensorShape:
    """Returns the shape of a scalar."""
    return TensorShape.of(())


def vector(length: object) -> TensorShape:
    """Returns the shape of a vector of `length` elements."""
    return TensorShape.of((_size(length),))


def matrix(rows: object, cols: object) -> TensorShape:
    """Returns the shape of a matrix."""
    return TensorShape.of((_size(rows), _size(cols)))
