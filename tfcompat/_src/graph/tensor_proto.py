"""Conversion between Python values, NumPy arrays and TensorProto.

`to_numpy` and `make_tensor_proto` convert Python values by the rules of 1.15, errors included; `make_ndarray` reads a message as
`tf.make_ndarray` does (Python), `parse` as a run does (C++). The readers differ in what they accept, so there are both.
"""

from __future__ import annotations

import functools
import math
import numbers
import os.path
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension
from tfcompat._src.platform import memory, varint
from tfcompat._src.proto import messages

_MAX_CONTENT_BYTES = (1 << 31) - 1
_MAX_ELEMENTS = (1 << 63) - 1
_MOST_DIMENSIONS = 254

_Nest = type[list[Any]] | tuple[type[list[Any]], type[tuple[Any, ...]]]


class _Storage(NamedTuple):
    """How TensorProto stores a dtype: its typed field, the dtype of one stored number, whether `tensor_content` is written."""

    field: str
    stored: Any
    raw: bool


# `raw` keeps 1.15's choice: make_tensor_proto writes only these dtypes as tensor_content, so that messages are equal byte for byte.
_STORAGE = {
    dtypes.float32: _Storage("float_val", np.float32, True),
    dtypes.float64: _Storage("double_val", np.float64, True),
    dtypes.int32: _Storage("int_val", np.int32, True),
    dtypes.uint8: _Storage("int_val", np.uint8, True),
    dtypes.int16: _Storage("int_val", np.int16, True),
    dtypes.int8: _Storage("int_val", np.int8, True),
    dtypes.uint16: _Storage("int_val", np.uint16, False),
    dtypes.int64: _Storage("int64_val", np.int64, True),
    dtypes.uint32: _Storage("uint32_val", np.uint32, True),
    dtypes.uint64: _Storage("uint64_val", np.uint64, True),
    dtypes.qint8: _Storage("int_val", np.int8, True),
    dtypes.quint8: _Storage("int_val", np.uint8, True),
    dtypes.qint16: _Storage("int_val", np.int16, True),
    dtypes.quint16: _Storage("int_val", np.uint16, True),
    dtypes.qint32: _Storage("int_val", np.int32, True),
    dtypes.bool: _Storage("bool_val", np.bool_, False),
    dtypes.float16: _Storage("half_val", np.uint16, False),
    dtypes.bfloat16: _Storage("half_val", np.uint16, False),
    dtypes.complex64: _Storage("scomplex_val", np.float32, False),
    dtypes.complex128: _Storage("dcomplex_val", np.float64, False),
    dtypes.string: _Storage("string_val", object, False),
}


# ---- arrays to messages ----


@export("make_tensor_proto", "contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: object, dtype: DTypeLike | None = None, shape: Sequence[int] | None = None, verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> messages.TensorProto:  # fmt: skip
    """Returns the TensorProto of `values`; a TensorProto is returned unchanged.

    Args:
        values: A Python scalar, a nested list or an array.
        dtype: The element type; by default that of an array, otherwise inferred from the Python values.
        shape: The shape to state; with fewer values than elements, the last value is repeated.
        verify_shape: Whether the shape of `values` must equal `shape`.
        allow_broadcast: Requires as many values as `shape` has elements, or a single one, which is repeated.

    Raises:
        TypeError: `values` do not fit `dtype` or have no dtype, or their shape does not fit `shape`.
        ValueError: `values` are ragged, None, more than `shape` holds or larger than 2 GiB, or both flags are set.
    """
    if isinstance(values, messages.TensorProto):
        return values
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    array, tensor_dtype, dims = _typed_array(values, dtype, shape, verify_shape, allow_broadcast)
    storage = _STORAGE[tensor_dtype]
    proto = messages.TensorProto(dtype=tensor_dtype.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in dims:
        proto.tensor_shape.dim.add(size=size)
    # A single number, and values that are repeated, go into the typed list: the reader repeats its last entry.
    if storage.raw and array.size > 1 and array.size == math.prod(dims):
        if array.nbytes > _MAX_CONTENT_BYTES:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        proto.tensor_content = array.tobytes()
    else:
        flat = np.ascontiguousarray(array).reshape(-1)
        getattr(proto, storage.field).extend(flat.view(storage.stored).tolist())
    return proto


def content_proto(array: NDArray) -> messages.TensorProto:
    """Returns the TensorProto of an array: numbers as `tensor_content`, strings (an array of objects) in `string_val`."""
    proto = messages.TensorProto(dtype=dtypes.as_dtype(array.dtype).as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    return proto


# ---- messages to arrays ----


@export("make_ndarray", "contrib.util.make_ndarray")
def make_ndarray(tensor: messages.TensorProto) -> NDArray:
    """Returns a writable array with the values of the TensorProto `tensor`; strings are an object array of bytes.

    A typed list that is shorter than the shape is extended with its last value, an empty one with zeros.

    Raises:
        TypeError: the dtype has no NumPy form or is a reference type.
        ValueError: a dimension is unknown, there are more values than the shape holds, or `tensor_content` does not fill it.
    """
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype not in _STORAGE:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    storage = _STORAGE[dtype]
    # Negative sizes mean unknown ones; they occur in messages that describe only a shape.
    dims = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if any(size < 0 for size in dims):
        raise ValueError(f"TensorProto has the shape {list(dims)}; every dimension must be known.")
    # The raw form holds strings with their lengths, and numbers in little-endian byte order.
    if tensor.tensor_content and dtype == dtypes.string:
        return _strings(tensor.tensor_content, math.prod(dims)).reshape(dims)
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype.as_numpy_dtype).reshape(dims).copy()
    values = getattr(tensor, storage.field)
    if dtype == dtypes.string:
        flat = np.empty(len(values), object)
        flat[:] = values
    else:
        flat = np.array(values, storage.stored).view(dtype.as_numpy_dtype)
    return _filled(flat, math.prod(dims)).reshape(dims)


def shape_of(proto: messages.TensorProto) -> tuple[int, ...]:
    """Returns the sizes in a TensorProto; see `sizes_of`."""
    return sizes_of(proto.tensor_shape)


def sizes_of(proto: messages.TensorShapeProto) -> tuple[int, ...]:
    """Returns the sizes in a TensorShapeProto, with the limits of 1.15's TensorShape: 254 dimensions, 2**63 - 1 elements.

    Raises:
        ValueError: a size is unknown, or the rank or the number of elements is too large.
    """
    sizes = tuple(dim.size for dim in proto.dim)
    if proto.unknown_rank and sizes or any(size < 0 for size in sizes):
        raise ValueError(f"Shape {list(sizes)} is not fully defined")
    if len(sizes) > _MOST_DIMENSIONS:
        raise ValueError(f"Shape {list(sizes)} has too many dimensions")
    # Checked factor by factor, as in 1.15's C++ code, where no intermediate product may overflow either.
    product = 1
    for size in sizes:
        product *= size
        if product > _MAX_ELEMENTS:
            raise ValueError(f"Shape {list(sizes)} is too large (more than 2**63 - 1 entries)")
    return sizes


def parse(proto: messages.TensorProto) -> NDArray:
    """Returns the array that a run makes of a TensorProto; it is a read-only broadcast if the typed list has at most one value.

    Follows 1.15's Tensor::FromProto: `tensor_content` must fill the shape exactly; a typed list that is too long is cut, one that
    is too short is extended with its last value, or with zeros if it is empty.

    Raises:
        TypeError: a TensorProto cannot hold values of the dtype.
        ValueError: the shape is invalid, `tensor_content` does not fill it, or the tensor exceeds the machine's memory.
    """
    dtype, dims = dtypes.as_dtype(proto.dtype), shape_of(proto)
    if dtype not in _STORAGE:
        raise TypeError(f"Unsupported tensor type: {proto.dtype}")
    storage, size = _STORAGE[dtype], math.prod(dims)
    itemsize = np.dtype(dtype.as_numpy_dtype).itemsize
    if proto.tensor_content and dtype != dtypes.string:
        if len(proto.tensor_content) != size * itemsize:
            raise ValueError(f"{len(proto.tensor_content)} bytes do not fill a tensor of {dtype.name} with shape {list(dims)}")
        return np.frombuffer(proto.tensor_content, dtype.as_numpy_dtype).reshape(dims).copy()
    if proto.tensor_content:
        return _strings(proto.tensor_content, size).reshape(dims)
    if size * itemsize > memory.total():
        raise ValueError(f"a tensor of {dtype.name} with shape {list(dims)} does not fit into memory")
    # A file may state any shape in a few bytes, so a single value is broadcast and only a longer list is allocated.
    values = getattr(proto, storage.field)
    if dtype == dtypes.string:
        flat = np.empty(len(values), object)
        flat[:] = values
    else:
        flat = _stored_numbers(values, storage, np.dtype(dtype.as_numpy_dtype))
    # At most one value: a broadcast costs no memory, whatever the shape.
    if flat.size < 2:
        nothing = np.array(b"" if flat.dtype == object else 0, flat.dtype)
        return np.broadcast_to(flat.reshape(()) if flat.size else nothing, dims)
    try:
        return _filled(flat[:size], size).reshape(dims)
    except MemoryError as e:
        raise ValueError(f"a tensor of {dtype.name} with shape {list(dims)} does not fit into memory: {e}") from None


def _stored_numbers(values: Sequence[Any], storage: _Storage, wanted: np.dtype[Any]) -> NDArray:
    """Returns the numbers of a typed list in the dtype that they encode; an incomplete last complex number is dropped."""
    # Small integers are stored as int32 and wrap around; complex numbers are pairs of floats, halves and bfloat16 are bit patterns.
    wide = np.array(values, np.int64 if np.dtype(storage.stored).kind == "i" else None)
    numbers = wide.astype(storage.stored)
    return numbers[: len(numbers) * numbers.itemsize // wanted.itemsize * wanted.itemsize // numbers.itemsize].view(wanted)


def _strings(content: bytes, count: int) -> NDArray:
    """Decodes the `tensor_content` of strings: all lengths as varints, then all bytes."""
    # Each length takes at least one byte; checked first, since `count` comes from a shape that a damaged file may state.
    if count > len(content):
        raise ValueError(f"{len(content)} bytes do not hold {count} strings")
    lengths, offset = [], 0
    for _ in range(count):
        length, offset = varint.decode(content, offset)
        lengths.append(length)
    if offset + sum(lengths) != len(content):
        raise ValueError(f"TensorProto says that its strings take {offset + sum(lengths)} bytes, but there are {len(content)}")
    strings = np.empty(count, object)
    for index, length in enumerate(lengths):
        strings[index] = content[offset : offset + length]
        offset += length
    return strings


# ---- Python values to arrays ----


def to_numpy(
    values: object, dtype: DTypeLike | None = None, shape: Sequence[int] | None = None, allow_broadcast: bool = False
) -> NDArray:
    """Returns `values` as the array that `tf.constant(values)` holds.

    Python floats become float32; ints become int32, or int64 or uint64 if they do not fit; str and bytes become an object array of
    bytes; an array keeps its dtype. The result may share memory with an array given as `values`, and is read-only if one value
    is broadcast to `shape`.

    Args:
        values: A Python scalar, a nested list or an array.
        dtype: The element type wanted, or None to infer it.
        shape: The shape of the result, or None for that of `values`; the last value is repeated for missing elements.
        allow_broadcast: Requires as many values as `shape` has elements, or a single one, which is repeated.

    Raises:
        TypeError: `values` do not fit `dtype`, have no dtype, or have a number of elements that `allow_broadcast` rejects.
        ValueError: `values` are ragged, None, or more than `shape` holds.
    """
    array, _, dims = _typed_array(values, dtype, shape, False, allow_broadcast)
    if array.shape == dims:
        return array
    # One value fills the shape as a broadcast; a longer list is extended with its last value.
    if array.size == 1:
        return np.broadcast_to(array.reshape(()), dims)
    return _filled(array.reshape(-1), math.prod(dims)).reshape(dims)


def _typed_array(
    values: object, dtype: DTypeLike | None, shape: Sequence[int] | None, verify_shape: bool, allow_broadcast: bool
) -> tuple[NDArray, dtypes.DType, tuple[int, ...]]:
    """Returns the array of `values` in their own shape, its DType, and the shape that the tensor is to have."""
    if values is None:
        raise ValueError("None values not supported.")
    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is None:
        array = _as_array(values, wanted)
        return array, wanted or dtypes.as_dtype(array.dtype), array.shape
    dims = _sizes(shape)
    # An empty shape takes Python values of any shape, as in 1.15: they only decide whether the dtype is possible.
    if 0 in dims and not isinstance(values, (np.ndarray, np.generic)):
        wanted = wanted or dtypes.float32
        if wanted not in _STORAGE or (wanted == dtypes.string and not _all_strings(values)):
            raise _not_convertible(values)
        return np.empty(dims, wanted.as_numpy_dtype), wanted, dims
    array = _as_array(values, wanted)
    _check_shape(array, dims, verify_shape, allow_broadcast)
    return array, wanted or dtypes.as_dtype(array.dtype), dims


def _sizes(shape: Any) -> tuple[int, ...]:
    """Returns a shape argument as ints; raises NumPy's own errors for other types, as 1.15 does."""
    if isinstance(shape, (dict, set, frozenset, Iterator)):
        raise TypeError(f"int() argument must be a string, a bytes-like object or a number, not '{type(shape).__name__}'")
    if isinstance(shape, (str, bytes)) or any(isinstance(size, (str, bytes)) for size in shape):
        raise TypeError(f"cannot perform reduce with flexible type: {shape!r} is no shape")
    if any(isinstance(size, (list, tuple)) for size in shape):
        raise ValueError(f"setting an array element with a sequence: {shape!r} is no shape")
    return tuple(int(size) for size in shape)


def _check_shape(array: NDArray, dims: tuple[int, ...], verify_shape: bool, allow_broadcast: bool) -> None:
    size = math.prod(dims)
    # As in 1.15, allow_broadcast replaces the comparison of shapes by one of sizes; a single value always fits.
    differs = verify_shape and array.shape != dims
    if allow_broadcast and array.shape not in ((), (1,)):
        differs = array.size != size
    if differs:
        raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
    if array.size > size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")


def _as_array(values: object, dtype: dtypes.DType | None) -> NDArray:
    # Buffers are vectors of bytes; all other values without `__array__` are Python values.
    if isinstance(values, (bytearray, memoryview)):
        values = np.frombuffer(values, np.uint8)
    if isinstance(values, (np.ndarray, np.generic)) or hasattr(type(values), "__array__"):
        return _from_array(_array_of(values, dtype), dtype)
    if dtype is None:
        return _inferred(values)
    return _from_python(values, dtype)


def _array_of(values: object, dtype: dtypes.DType | None) -> NDArray:
    """Returns `np.asarray(values)`; raises TypeError for a symbolic tensor, which has no value outside a run."""
    try:
        return np.asarray(values)
    except NotImplementedError:
        raise _is_tensor() if dtype is None else _misfit(values, dtype) from None


def _is_tensor() -> TypeError:
    return TypeError("List of Tensors when single Tensor expected")


def _from_array(array: NDArray, dtype: dtypes.DType | None) -> NDArray:
    """Casts an array to `dtype` (its own if None); unlike Python values, arrays cast freely, floats to integers too."""
    target = dtypes.as_dtype(array.dtype) if dtype is None else dtype
    if target not in _STORAGE:
        raise TypeError(f"Incompatible types: {target} vs. {array.dtype}. Value is {array}")
    if target == dtypes.string:
        return _string_array(array)
    numpy_dtype = np.dtype(target.as_numpy_dtype)
    if array.dtype == numpy_dtype:
        return array
    # Strings become bool by their numbers: "0" is False.
    if target == dtypes.bool and array.dtype.kind in "US":
        array = array.astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(numpy_dtype)


def _inferred(values: object) -> NDArray:
    """Converts Python values without a stated dtype: NumPy's choice, narrowed to float32 and int32 as in 1.15."""
    try:
        with np.errstate(over="ignore"):
            array = np.array(values)
    except ValueError as error:
        raise _ragged(values) from error
    except NotImplementedError:
        raise _is_tensor() from None
    if array.shape != (wanted := _dense_shape(values)):
        raise _not_dense(values, array.shape, wanted)
    # NumPy turns a mixture of strings and numbers into strings; 1.15 rejects it, so the Python types of the leaves decide.
    kind = array.dtype.kind
    if kind in "US" and _all_strings(values):
        return _string_array(np.array(values, object))
    # Python floats are float64 in NumPy and float32 in TensorFlow; large ones overflow to infinity, as in 1.15.
    if kind == "f" and array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if kind == "i" and array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    if kind in "OUS":
        raise _not_convertible(values)
    dtypes.as_dtype(array.dtype)
    return array


def _from_python(values: object, dtype: dtypes.DType) -> NDArray:
    """Converts Python values to a stated dtype. Every leaf must be of a Python type that fits: 1.5 is no int32, 1 is no bool."""
    if dtype not in _STORAGE:
        raise TypeError(f"Incompatible types: {dtype} vs. {np.asarray(values).dtype}. Value is {values}")
    # 1.15 rejects a range as not dense, with this text; for strings and bools the check of leaf types below rejects it.
    if isinstance(values, range) and dtype not in (dtypes.string, dtypes.bool):
        raise _not_dense(values, (len(values),), ())
    # The set of leaf types is computed first, which is fast for long lists; the offending leaf is searched for only on error.
    misfits = {kind for kind in _leaf_types(values, (list, tuple)) if not _fits(kind, dtype)}
    if misfits:
        raise _misfit(next(leaf for leaf in _leaves(values, (list, tuple)) if type(leaf) in misfits), dtype)
    # Quantized dtypes are structured in NumPy: each element is a tuple of one number.
    if dtype.is_quantized and not all(issubclass(leaf, tuple) for leaf in _leaf_types(values, list)):
        raise _misfit(next(leaf for leaf in _leaves(values, list) if not isinstance(leaf, tuple)), dtype)
    try:
        with np.errstate(over="ignore"):
            array = _converted(values, np.dtype(dtype.as_numpy_dtype))
    except ValueError as error:
        raise ValueError(f"setting an array element with a sequence: {_ragged(values)}") from error
    if not dtype.is_quantized and array.shape != (wanted := _dense_shape(values)):
        raise _not_dense(values, array.shape, wanted)
    return _string_array(array) if dtype == dtypes.string else array


def _converted(values: object, numpy_dtype: np.dtype[Any]) -> NDArray:
    """Returns `values` in `numpy_dtype`; integers that fit 64 bits but not the dtype wrap around, as in 1.15."""
    try:
        return np.array(values, numpy_dtype)
    except OverflowError:
        array = np.array(values)
        if array.dtype.kind != "i":
            raise OverflowError("Python int too large to convert to C long") from None
        return array.astype(numpy_dtype)


# ---- leaves and shapes of nested lists ----


@functools.cache
def _fits(leaf: type, dtype: dtypes.DType) -> bool:
    """Whether a Python value of type `leaf` may become an element of `dtype`."""
    if dtype == dtypes.string:
        return issubclass(leaf, (str, bytes))
    if dtype == dtypes.bool:
        return issubclass(leaf, bool)
    if dtype.is_integer or dtype.is_quantized:
        return issubclass(leaf, (numbers.Integral, Dimension))
    return issubclass(leaf, numbers.Complex if dtype.is_complex else numbers.Real)


def _all_strings(values: object) -> bool:
    return all(issubclass(leaf, (str, bytes)) for leaf in _leaf_types(values, (list, tuple)))


def _leaf_types(values: object, nests: _Nest) -> set[type]:
    """Returns the types of the leaves of nested lists; values of the types `nests` are lists, all others leaves."""
    if not isinstance(values, nests):
        return {type(values)}
    types = set(map(type, values))
    inner = tuple(each for each in types if issubclass(each, nests))
    if not inner:
        return types
    types.difference_update(inner)
    return types.union(*(_leaf_types(value, nests) for value in values if isinstance(value, inner)))


def _leaves(values: object, nests: _Nest) -> Iterator[Any]:
    if not isinstance(values, nests):
        yield values
        return
    for value in values:
        yield from _leaves(value, nests)


def _dense_shape(values: object) -> tuple[int, ...]:
    """Returns the shape of nested lists, read off the first element of each level."""
    dims = []
    while isinstance(values, (list, tuple)):
        dims.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(dims)


def _common_shape(values: object) -> list[int]:
    """Returns the leading dimensions that all branches of nested lists share."""
    if not isinstance(values, (list, tuple)):
        return []
    return [len(values), *os.path.commonprefix([_common_shape(value) for value in values])]


# ---- errors, in 1.15's words ----


def _misfit(value: object, dtype: dtypes.DType) -> TypeError:
    return TypeError(f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead.")


def _not_convertible(values: object) -> TypeError:
    return TypeError(
        f"Failed to convert object of type {type(values)} to Tensor. Contents: {values}. "
        "Consider casting elements to a supported type."
    )


def _ragged(values: object) -> Exception:
    """Returns 1.15's error for nested lists that NumPy rejected: ragged lists, or elements that are no values."""
    got, wanted = tuple(_common_shape(values)), _dense_shape(values)
    return _not_convertible(values) if got == wanted else _not_dense(values, got, wanted)


def _not_dense(values: object, got: Sequence[int], wanted: Sequence[int]) -> ValueError:
    return ValueError(
        f"Argument must be a dense tensor: {values} - got shape {list(got)}, but wanted {list(wanted)}."
    )


def _string_array(array: NDArray) -> NDArray:
    encoded = np.empty(array.size, object)
    encoded[:] = [_as_bytes(value) for value in array.reshape(-1).tolist()]
    return encoded.reshape(array.shape)


def _as_bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"Expected binary or unicode string, got {value!r}")


def _filled(flat: NDArray, size: int) -> NDArray:
    """Returns `flat` extended to `size` elements with its last one, or with zeros (empty strings) if it has none."""
    missing = size - flat.size
    if missing == 0:
        return flat
    if missing < 0:
        raise ValueError(f"The tensor has {size} elements, but {flat.size} values were given.")
    if flat.size == 0:
        return np.full(size, b"", object) if flat.dtype == object else np.zeros(size, flat.dtype)
    return np.concatenate([flat, np.full(missing, flat[-1], flat.dtype)])
