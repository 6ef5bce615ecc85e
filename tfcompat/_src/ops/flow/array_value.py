"""What stands behind the flow of a TensorArray while a graph runs: an array of elements that is never changed in place.

A TensorArray's handle names it; its flow carries the elements from one operation to the next. `DeviceArray` keeps elements
of one shape in one buffer, and is traced; `HostArray` is a list of NumPy arrays of any shapes and dtypes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.graph.tensor import shape_text

FIRST_CAPACITY = 64


class Growth(threading.local):
    """How many elements a growing array has room for in the program that is traced now."""

    capacity = FIRST_CAPACITY


GROWTH = Growth()


class Counters(threading.local):
    """The numbers that counters of the loops which are traced now can be, by the identity of their traced value."""

    def __init__(self) -> None:
        self.spans: dict[int, tuple[Any, range]] = {}


COUNTERS = Counters()


def _is_below(index: Any, limit: Any) -> bool:
    """Whether an index counts iterations, so that it is known to be in [0, limit)."""
    value, span = COUNTERS.spans.get(id(index), (None, None))
    return value is index and span is not None and _is_known(limit) and 0 <= min(span) and max(span) < int(limit)


class ArrayOverflow(errors.OpError):
    """A growing array needs more room than its program has; the program is compiled again with more."""

    def __init__(self, node_def: object, op: Any, message: str) -> None:
        super().__init__(node_def, op, message, errors.RESOURCE_EXHAUSTED)


@jax.tree_util.register_static
@dataclass(frozen=True)
class ArrayHandle:
    """The value of a handle: which gradient it is the array of, or "" for the array itself."""

    source: str = ""
    shape = ()


@jax.tree_util.register_static
@dataclass(frozen=True)
class HostHandle(ArrayHandle):
    """The handle of an array on the host, which knows what the array holds: one element, the array after the last write, or none."""

    held: list[HostArray] = field(default_factory=list, compare=False)

    def noted(self, array: HostArray) -> HostArray:
        """Notes the array after a write, and returns it."""
        self.held[:] = [array]
        return array


UNNAMED = "gradients of any call"
"""The source of gradients that may be added to those of any call of tf.gradients: zeros, and those whose node's name says no call."""


def _of_same_gradient(one: ArrayMeta, other: ArrayMeta) -> ArrayMeta:
    """What the sum of two arrays of gradients is."""
    if one.source and other.source == UNNAMED:
        return one
    if other.source and one.source == UNNAMED:
        return other
    if one.source != other.source:
        raise errors.UnimplementedError(
            None, None, f"tfcompat has no second derivative through the TensorArray {one.name}: its gradients {one.source!r} and "
            f"{other.source!r} would be added up. Stack the elements in one tensor instead."
        )  # fmt: skip
    return one


@dataclass(frozen=True)
class InTurn:
    """Stands for what was written of an array in a loop whose counter says where each iteration writes: nothing comes twice."""

    capacity: int


@dataclass(frozen=True)
class ArrayMeta:
    """What a TensorArrayV3 node says of its elements."""

    name: str
    dtype: np.dtype
    sizes: tuple | None
    dynamic: bool
    identical: bool = True
    source: str = ""

    def of_gradient(self, source: str, first_sizes: tuple[int, ...]) -> ArrayMeta:
        """The same of the array of gradients, whose elements have `first_sizes` before the sizes of this one's."""
        return replace(self, source=source, sizes=None if self.sizes is None else (*first_sizes, *self.sizes))

    def require_shape(self, sizes: tuple | None, shape: tuple, index: int) -> None:
        """Raises InvalidArgumentError where an element of `shape` does not fit the shape of elements."""
        if sizes is not None and (len(sizes) != len(shape) or any(s not in (None, n) for s, n in zip(sizes, shape))):
            raise invalid(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because the value shape is "
                f"{shape_text(shape)} which is incompatible with the TensorArray's inferred element shape: {shape_text(sizes)} (consider "
                "setting infer_shape=False)."
            )


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


_ELEMENT_BYTES = 128


def require_room(count: int) -> None:
    """Demands that the machine could hold `count` elements; each takes some bytes beside its numbers."""
    checks.require_room((count, _ELEMENT_BYTES), np.dtype(np.int8))


def _require_countable(index: Any) -> None:
    """Demands that one more than `index` is a number of elements."""
    most = np.iinfo(np.int32).max
    checks.require(_flag(index < most), "Max index must be < {}, but is {}", most, index)


def _require_scalar(index: Any) -> None:
    if np.ndim(index):
        raise invalid(f"TensorArray index must be scalar, but had shape: {shape_text(np.shape(index))}")


def _require_rows(indices: Any, value: Any) -> None:
    """InvalidArgumentError where the rows of `value` are not one for each of `indices`."""
    if np.ndim(indices) != 1:
        raise invalid(f"Expected indices to be a vector, but received shape: {shape_text(np.shape(indices))}")
    if not value.shape:
        raise invalid("Input value for unpack must be at least a vector but received shape: []")
    if len(indices) != value.shape[0]:
        raise invalid(f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {value.shape[0]}")


def _is_known(value: object) -> bool:
    return isinstance(value, (int, np.integer, np.ndarray))


def _with_element(buffer: Any, value: object, index: object) -> Any:
    """`buffer` with `value` at `index`.

    An element is written once, so nothing has come into the place that is overwritten: the gradient goes on as it is, where
    setting that place to zero would copy the buffer in each iteration of a backward loop.
    """
    if not jnp.issubdtype(buffer.dtype, jnp.inexact):
        return jax.lax.dynamic_update_index_in_dim(buffer, value, index, 0, allow_negative_indices=False)
    return _with_real_element(buffer, value, jnp.asarray(index, np.int32))


def _element(buffer: object, index: object) -> Any:
    return jax.lax.dynamic_index_in_dim(buffer, index, 0, keepdims=False, allow_negative_indices=False)


@jax.custom_vjp
def _with_real_element(buffer: object, value: object, index: object) -> Any:
    return jax.lax.dynamic_update_index_in_dim(buffer, value, index, 0, allow_negative_indices=False)


_with_real_element.defvjp(
    lambda buffer, value, index: (_with_real_element(buffer, value, index), index),
    lambda index, grad: (grad, _element(grad, index), np.zeros((), jax.dtypes.float0)),
)


@jax.tree_util.register_pytree_node_class
class DeviceArray:
    """Elements of one shape.

    Args:
      meta: what its node says.
      buffer: [capacity, ...] or None while the element shape is not known.
      written: bool[capacity] of what was written, InTurn in a loop, or None where writing twice adds up (gradients).
      length: int32 number of elements.

    `is_zero` is true of a gradient array that nothing was added to, `added` is the one (index, value) that was added to such an array:
    graphs that TensorFlow differentiated add up arrays with one element each. Both are known while a trace goes on, and else lost.
    """

    is_zero = False
    added: tuple[Any, Any] | None = None

    def __init__(self, meta: ArrayMeta, buffer: Any, written: Any, length: Any) -> None:
        self.meta, self.buffer, self.written, self.length = meta, buffer, written, length

    def tree_flatten(self) -> tuple:
        written, in_turn = (None, self.written) if isinstance(self.written, InTurn) else (self.written, None)
        if self.meta.dynamic:
            return (self.buffer, written, self.length), (self.meta, None, in_turn)
        return (self.buffer, written), (self.meta, int(self.length), in_turn)

    @classmethod
    def tree_unflatten(cls, fixed: tuple, children: tuple) -> DeviceArray:
        meta, length, in_turn = fixed
        buffer, written, *traced = children
        return cls(meta, buffer, written if in_turn is None else in_turn, *(traced or [np.array(length, np.int32)]))

    @classmethod
    def empty(cls, meta: ArrayMeta, size: int) -> DeviceArray:
        """An array without written elements."""
        capacity = max(size, GROWTH.capacity) if meta.dynamic else size
        made = cls(meta, None, np.zeros(capacity, bool), np.array(size, np.int32))
        if meta.sizes is not None and None not in meta.sizes:
            made.buffer = np.zeros((capacity, *meta.sizes), meta.dtype)
        return made

    @property
    def shape(self) -> tuple:
        """What tells the programs that take this apart, as the shape of an array does: the room, what of it is static, and the buffer's shape."""
        length = -1 if self.meta.dynamic else int(self.length)
        return (length, self.capacity, self.written is None, isinstance(self.written, InTurn), *(() if self.buffer is None else self.buffer.shape))

    @property
    def capacity(self) -> int:
        if isinstance(self.written, InTurn):
            return self.written.capacity
        return self.written.shape[0] if self.written is not None else self.buffer.shape[0]

    def _with(self, **changes: Any) -> DeviceArray:
        fields = {"meta": self.meta, "buffer": self.buffer, "written": self.written, "length": self.length, **changes}
        return DeviceArray(**fields)

    def with_element_shape(self, shape: tuple, index: Any = 0) -> DeviceArray:
        """The same with a buffer for elements of `shape`; InvalidArgumentError where they are of another."""
        self.meta.require_shape(self.meta.sizes if self.buffer is None else self.buffer.shape[1:], shape, index if _is_known(index) else 0)
        return self if self.buffer is not None else self._with(buffer=jnp.zeros((self.capacity, *shape), self.meta.dtype))

    def with_room_for(self, count: int | None) -> DeviceArray:
        """The same for at most `count` elements, where nothing is known of it yet and this is less than its room."""
        fresh = self.meta.dynamic and self.is_unwritten
        if count is None or not fresh or GROWTH.capacity != FIRST_CAPACITY or not max(1, int(self.length)) <= count < self.capacity:
            return self
        return self._with(written=self.written[:count], buffer=None if self.buffer is None else self.buffer[:count])

    def entering(self, capacity: int) -> DeviceArray:
        """The same in a program whose growing arrays have room for `capacity` elements, if that is more than programs reserve at first."""
        missing = capacity - self.capacity
        return self._padded(missing) if self.meta.dynamic and capacity > FIRST_CAPACITY and missing > 0 else self

    @property
    def is_unwritten(self) -> bool:
        """Whether nothing was written, as far as that is known now."""
        return isinstance(self.written, np.ndarray) and not self.written.any()

    def in_turn(self) -> DeviceArray:
        """The same for a loop that writes where its counter says."""
        return self._with(written=InTurn(self.capacity))

    def after_turns(self, span: range, count: Any) -> DeviceArray:
        """The same when `count` iterations have written at the first numbers of `span`."""
        turn, between = np.divmod(np.arange(self.capacity) - span.start, span.step)
        return self._with(written=jnp.asarray((between == 0) & (turn >= 0)) & (jnp.asarray(turn, np.int32) < count))

    def gradient(self, source: str, first_sizes: tuple[int, ...] = ()) -> DeviceArray:
        """The array that gradients of the elements add up in: this one where it is such an array, else zeros.

        Its elements have `first_sizes` before the sizes of these ones.
        """
        if self.meta.source:
            return self
        shape = None if self.buffer is None else self.buffer.shape
        meta = self.meta.of_gradient(source, first_sizes)
        if shape is None:
            raise invalid(f"TensorArray {self.meta.name}: the shape of its elements is not known, so it has no gradient.")
        found = DeviceArray(meta, jnp.zeros((shape[0], *first_sizes, *shape[1:]), self.buffer.dtype), None, self.length)
        found.is_zero = True
        return found

    def __add__(self, other: Any) -> DeviceArray:
        """Elements added up; a number stands for a flow without elements."""
        if not isinstance(other, DeviceArray):
            return self
        meta = _of_same_gradient(self.meta, other.meta)
        length = jnp.maximum(self.length, other.length) if self.meta.dynamic else self.length
        if other.added is None:
            return self._with(meta=meta, buffer=self.buffer + other.buffer, length=length)
        index, value = other.added
        return self._with(meta=meta, buffer=jnp.asarray(self.buffer).at[index].add(value), length=length)

    __radd__ = __add__

    def named(self, source: str) -> DeviceArray:
        """The same, for an array of gradients of no certain call, as that of one call."""
        return self._with(meta=replace(self.meta, source=source)) if self.meta.source == UNNAMED else self

    def zeros(self) -> DeviceArray:
        """The array of gradients of the elements, all zero."""
        found = self.gradient(UNNAMED)
        return found._with(buffer=jnp.zeros_like(found.buffer))

    # ---- elements ----

    def _grown(self, index: Any) -> DeviceArray:
        """The same with room for `index`, as far as that is known now."""
        if not _is_below(index, self.capacity):
            _require_countable(index)
        if _is_known(index):
            missing = int(index) + 1 - self.capacity
            if missing <= 0:
                return self
            require_room(int(index) + 1)
            return self._padded(missing)
        if not _is_below(index, self.capacity):
            checks.require(jnp.asarray(index < self.capacity), "more room is needed", error=ArrayOverflow)
        return self

    def _padded(self, missing: int) -> DeviceArray:
        """The same with room for `missing` more elements."""
        buffer = None if self.buffer is None else jnp.pad(self.buffer, [(0, missing)] + [(0, 0)] * (self.buffer.ndim - 1))
        return self._with(written=None if self.written is None else jnp.pad(self.written, (0, missing)), buffer=buffer)

    def write(self, index: Any, value: Any) -> DeviceArray:
        """With `value` at `index`; added to what is there in a gradient."""
        _require_scalar(index)
        array = self.with_element_shape(value.shape, index)
        name, length = self.meta.name, self.length
        grows = self.meta.dynamic and self.written is not None
        if not _is_below(index, self.capacity if grows else length):
            text = f"TensorArray {name}: Tried to write to index {{}} but array is not resizeable and size is: {{}}"
            checks.require(_flag(index >= 0 if grows else (index >= 0) & (index < length)), text, index, length)
        if grows:
            array = array._grown(index)
            length = (np if _is_known(index) and _is_known(length) else jnp).maximum(length, np.int32(1) + index).astype(np.int32)
        if not array.capacity or (_is_known(index) and not 0 <= index < array.capacity):
            return array
        buffer = jnp.asarray(array.buffer)
        if array.written is None:
            made = array._with(buffer=buffer.at[index].add(value))
            made.added = (index, value) if array.is_zero else None
            return made
        if isinstance(array.written, InTurn):
            return array._with(buffer=_with_element(buffer, jnp.asarray(value), index), length=length)
        known = _is_known(index) and isinstance(array.written, np.ndarray)
        checks.require(
            _flag(~(array.written if known else jnp.asarray(array.written))[index]),
            f"TensorArray {name}: Could not write to TensorArray index {{}} because it has already been written to.", index,
        )  # fmt: skip
        if known:
            written = array.written.copy()
            written[index] = True
        else:
            written = jnp.asarray(array.written).at[index].set(True)
        return array._with(buffer=_with_element(buffer, jnp.asarray(value), index), written=written, length=length)

    def read(self, index: Any) -> Any:
        """The element at `index`, zeros where none was written."""
        _require_scalar(index)
        if not _is_below(index, self.length):
            checks.require(
                _flag((index >= 0) & (index < self.length)), "Tried to read from index {} but array size is: {}", index, self.length
            )
        self._require_shape(index)
        if not self.capacity:
            return jnp.zeros(self.buffer.shape[1:], self.buffer.dtype)
        return _element(jnp.asarray(self.buffer), index)

    def _require_shape(self, index: object) -> None:
        if self.buffer is None:
            raise invalid(
                f"TensorArray {self.meta.name}: Could not read from TensorArray index {index}.  Furthermore, the element shape is not "
                f"fully defined: {shape_text(self.meta.sizes)}.  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
                "allowing the gradients to be written.  If you set the full element_shape property on the forward TensorArray, the "
                "proper all-zeros tensor will be returned instead of incurring this error."
            )

    def gather(self, indices: Any, sizes: tuple | None) -> Any:
        """The elements at `indices`, stacked."""
        if np.ndim(indices) != 1:
            raise invalid(f"Expected indices to be a vector, but received shape: {shape_text(np.shape(indices))}")
        if not len(indices):
            sizes = self.buffer.shape[1:] if self.buffer is not None else sizes
            if sizes is None or None in sizes:
                raise errors.UnimplementedError(
                    None, None, f"TensorArray has size zero, but element shape {shape_text(sizes)} is not fully defined. "
                    "Currently only static shapes are supported when packing zero-size TensorArrays."
                )  # fmt: skip
            return np.zeros((0, *sizes), self.meta.dtype)
        self._require_shape(0)
        lowest, highest = indices.min(), indices.max()
        wrong = (np if _is_known(indices) else jnp).where(lowest < 0, lowest, highest)
        checks.require(
            _flag((lowest >= 0) & (highest < self.length)), "Tried to read from index {} but array size is: {}", wrong, self.length
        )
        if self._is_all(indices):
            return self.buffer
        return jnp.asarray(self.buffer)[indices]

    def _is_all(self, indices: Any) -> bool:
        """Whether `indices` are known to be those of all elements, in order."""
        return _is_known(indices) and len(indices) == self.capacity and bool((indices == np.arange(self.capacity)).all())

    def scatter(self, indices: Any, value: Any) -> DeviceArray:
        """With row k of `value` at `indices[k]`."""
        _require_rows(indices, value)
        array = self.with_element_shape(value.shape[1:])
        if not len(indices):
            return array
        length = self.length
        text = f"TensorArray {self.meta.name}: Tried to write to index {{}} but array is not resizeable and size is: {{}}"
        checks.require(_flag(indices.min() >= 0), text, indices.min(), length)
        if self.meta.dynamic and self.written is not None:
            array = array._grown(indices.max())
            length = (np if _is_known(indices) and _is_known(length) else jnp).maximum(length, np.int32(1) + indices.max()).astype(np.int32)
        else:
            checks.require(_flag(indices.max() < length), "Max scatter index must be < array size ({} vs. {})", indices.max(), length)
        if array.written is None:
            buffer = array.buffer + value if array._is_all(indices) else jnp.asarray(array.buffer).at[indices].add(value)
            return array._with(buffer=buffer)
        if _is_known(indices) and not 0 <= indices.min() <= indices.max() < array.capacity:
            return array
        text = f"TensorArray {self.meta.name}: Could not write to TensorArray index {{}} because it has already been written to."
        if _is_known(indices) and isinstance(array.written, np.ndarray):
            written = array.written.copy()
            checks.require(not written[indices].any() and len(np.unique(indices)) == len(indices), text, indices[0])
            written[indices] = True
        else:
            counts = jnp.asarray(array.written).astype(np.int32).at[indices].add(1)
            checks.require(jnp.all(counts <= 1), text, checks.first(counts > 1))
            written = counts > 0
        buffer = value if array._is_all(indices) else jnp.asarray(array.buffer).at[indices].set(value)
        return array._with(buffer=buffer, written=written, length=length)

    def concat(self, sizes: tuple | None) -> tuple[Any, np.ndarray]:
        """The elements one after another along their first dimension, and the length of each."""
        if not _is_known(self.length):
            raise NotImplementedError("tfcompat has no TensorArray.concat of an array that grew in a compiled loop; make it with infer_shape=False.")
        count = int(self.length)
        if not count:
            if sizes is None or None in sizes:
                raise errors.UnimplementedError(
                    None, None, f"TensorArray has size zero, but element_shape_except0 {shape_text(sizes)} is not fully defined. "
                    "Currently only static shapes are supported when concatenating zero-size TensorArrays."
                )  # fmt: skip
            return np.zeros((0, *sizes), self.meta.dtype), np.zeros(0, np.int64)
        self._require_shape(0)
        if self.buffer.ndim < 2:
            raise invalid("Concat saw a scalar shape at index 0 but requires at least vectors.  Did you mean to call pack?")
        rows = self.buffer[:count]
        return rows.reshape((-1, *rows.shape[2:])), np.full(count, rows.shape[1], np.int64)

    def split(self, value: Any, lengths: np.ndarray) -> DeviceArray:
        """With consecutive parts of `value` of these lengths as elements."""
        _check_lengths(value, lengths, None if self.meta.dynamic else self.capacity)
        shapes = [(int(n), *value.shape[1:]) for n in lengths]
        for index, shape in enumerate(shapes):
            self.meta.require_shape(shapes[0] if self.buffer is None else self.buffer.shape[1:], shape, index)
        size = int(lengths[0]) if len(lengths) else 0
        return self.scatter(np.arange(len(lengths), dtype=np.int32), value.reshape((len(lengths), size, *value.shape[1:])))

    def size(self) -> Any:
        return self.length


def _flag(ok: object) -> Any:
    return bool(ok) if isinstance(ok, (bool, np.bool_, np.ndarray)) else ok


def _check_lengths(value: Any, lengths: np.ndarray, size: int | None) -> None:
    """InvalidArgumentError where `value` has no parts of these lengths, or these are not as many as a fixed `size`."""
    if np.ndim(lengths) != 1:
        raise invalid(f"Expected lengths to be a vector, received shape: {shape_text(np.shape(lengths))}")
    if len(lengths) and lengths.min() < 0:
        raise invalid(f"TensorArray: a part cannot have the length {lengths.min()}")
    if not value.shape:
        raise invalid("Expected value to be at least a vector, but received shape: []")
    if int(lengths.sum()) != value.shape[0]:
        raise invalid(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {int(lengths.sum())} and value's shape "
            f"is: {list(value.shape)}"
        )
    if size not in (None, len(lengths)):
        raise invalid(
            f"TensorArray's size is not equal to the size of lengths ({size} vs. {len(lengths)}), and the TensorArray is not marked as "
            "dynamically resizeable"
        )


class HostArray:
    """A list of NumPy arrays, None where nothing was written; the methods are those of DeviceArray."""

    def __init__(self, meta: ArrayMeta, items: list[Any]) -> None:
        self.meta, self.items = meta, items

    @classmethod
    def empty(cls, meta: ArrayMeta, size: int) -> HostArray:
        return cls(meta, [None] * size)

    def gradient(self, source: str, first_sizes: tuple[int, ...] = ()) -> HostArray:
        if self.meta.source:
            return self
        zeros = [None if e is None else np.zeros((*first_sizes, *e.shape), e.dtype) for e in self.items]
        return HostArray(self.meta.of_gradient(source, first_sizes), zeros)

    def named(self, source: str) -> HostArray:
        return HostArray(replace(self.meta, source=source), self.items) if self.meta.source == UNNAMED else self

    def zeros(self) -> HostArray:
        return self.gradient(UNNAMED)

    def __add__(self, other: object) -> HostArray:
        """Elements added up; a number stands for a flow without elements."""
        if not isinstance(other, HostArray):
            return self
        meta = _of_same_gradient(self.meta, other.meta)
        return HostArray(meta, [b if a is None else a if b is None else a + b for a, b in zip(self.items, other.items)])

    __radd__ = __add__

    def stacked(self) -> DeviceArray:
        """The same with its elements in one buffer; NotImplementedError where their shapes differ."""
        shapes = {e.shape for e in self.items if e is not None}
        if len(shapes) > 1:
            raise NotImplementedError(
                f"Gradients of loops with TensorArrays whose elements have several shapes are not supported: {self.meta.name} has elements of the "
                f"shapes {sorted(shapes)}. Pad its elements to one shape."
            )
        made = DeviceArray(self.meta, None, np.array([e is not None for e in self.items], bool), np.array(len(self.items), np.int32))
        for shape in shapes:
            made.buffer = np.stack([np.zeros(shape, self.meta.dtype) if e is None else e for e in self.items])
        return made

    def write(self, index: Any, value: object) -> HostArray:
        _require_scalar(index)
        index, name = int(index), self.meta.name
        items = list(self.items)
        if index < 0 or (index >= len(items) and not self.meta.dynamic):
            raise invalid(f"TensorArray {name}: Tried to write to index {index} but array is not resizeable and size is: {len(items)}")
        _require_countable(index)
        require_room(index + 1)
        items.extend([None] * (index + 1 - len(items)))
        value = np.asarray(value)
        self._check_shape(index, value)
        if self.meta.source:
            items[index] = value if items[index] is None else items[index] + value
        elif items[index] is not None:
            raise invalid(f"TensorArray {name}: Could not write to TensorArray index {index} because it has already been written to.")
        else:
            items[index] = value
        return HostArray(self.meta, items)

    def _check_shape(self, index: int, value: np.ndarray) -> None:
        sizes = self.meta.sizes
        if self.meta.identical and sizes is None:
            sizes = next((e.shape for e in self.items if e is not None), None)
        self.meta.require_shape(sizes, value.shape, index)

    def read(self, index: Any) -> np.ndarray:
        _require_scalar(index)
        index = int(index)
        if not 0 <= index < len(self.items):
            raise invalid(f"Tried to read from index {index} but array size is: {len(self.items)}")
        if self.items[index] is None:
            return self._missing(index)
        return self.items[index]

    def _missing(self, index: int) -> np.ndarray:
        sizes = self.meta.sizes
        if (sizes is None or None in sizes) and self.meta.identical:
            sizes = next((e.shape for e in self.items if e is not None), None)
        if sizes is None or None in sizes:
            DeviceArray(self.meta, None, None, 0)._require_shape(index)
        return np.zeros(sizes, self.meta.dtype)

    def gather(self, indices: Any, sizes: tuple | None) -> np.ndarray:
        if np.ndim(indices) != 1 or not len(indices):
            return DeviceArray(self.meta, None, None, 0).gather(indices, self.meta.sizes or sizes)
        found = [self.read(i) for i in np.asarray(indices)]
        for index, element in zip(np.asarray(indices), found):
            if element.shape != found[0].shape:
                raise invalid(
                    f"TensorArray has inconsistent shapes.  Index 0 has shape: {list(found[0].shape)} but index {index} has shape: "
                    f"{list(element.shape)}"
                )
        return np.stack(found)

    def scatter(self, indices: Any, value: object) -> HostArray:
        _require_rows(indices, value)
        if len(indices) and int(np.max(indices)) >= len(self.items) and not self.meta.dynamic:
            raise invalid(f"Max scatter index must be < array size ({int(np.max(indices))} vs. {len(self.items)})")
        array = self
        for index, row in zip(np.asarray(indices), np.asarray(value)):
            array = array.write(index, row)
        return array

    def concat(self, sizes: tuple | None) -> tuple[np.ndarray, np.ndarray]:
        if not self.items:
            return DeviceArray(self.meta, None, None, np.int32(0)).concat(sizes)
        found = [self.read(i) for i in range(len(self.items))]
        for index, element in enumerate(found):
            if not element.ndim:
                raise invalid(f"Concat saw a scalar shape at index {index} but requires at least vectors.  Did you mean to call pack?")
            if element.shape[1:] != found[0].shape[1:]:
                raise invalid(
                    f"TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {shape_text(found[0].shape[1:])} but "
                    f"index {index} has (excepting dimension 0) shape: {shape_text(element.shape[1:])}"
                )
        return np.concatenate(found), np.array([len(e) for e in found], np.int64)

    def split(self, value: object, lengths: np.ndarray) -> HostArray:
        value = np.asarray(value)
        _check_lengths(value, lengths, None if self.meta.dynamic else len(self.items))
        array, start = self, 0
        for index, length in enumerate(lengths.tolist()):
            array = array.write(index, value[start : start + length])
            start += length
        return array

    def size(self) -> np.ndarray:
        return np.array(len(self.items), np.int32)


Arrays = (DeviceArray, HostArray)
