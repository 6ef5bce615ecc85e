"""Writes checkpoints of version 1: one table file with a message for each tensor or part of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint import files, slices, table
from tfcompat._src.checkpoint.commit import settle
from tfcompat._src.platform import compat, file_io, varint
from tfcompat._src.proto import messages

META_KEY = b""
MAX_MESSAGE_BYTES = 1 << 31
_HEADER_BYTES = 1 << 10
PRODUCER = 1
_LENGTH_DELIMITED = 2


class Field:
    """Where a TensorProto keeps the values of a type.

    Args:
      name, number: the field. item: the NumPy type of its elements. bound: most bytes that an element takes.
      per_element: how many numbers of the field an element takes.
    """

    def __init__(self, name: str, number: int, item: Any, bound: int, per_element: int = 1) -> None:
        self.name, self.number, self.bound, self.per_element = name, number, bound, per_element
        self.item = np.dtype(item)

    @property
    def is_fixed(self) -> bool:
        """Whether the field holds the memory of the array."""
        return self.item.kind == "f"


_INT = ("int_val", 7, np.int32)
FIELDS = {
    dtypes.float32: Field("float_val", 5, np.float32, 4),
    dtypes.float64: Field("double_val", 6, np.float64, 8),
    dtypes.complex64: Field("scomplex_val", 9, np.float32, 8, 2),
    dtypes.complex128: Field("dcomplex_val", 12, np.float64, 16, 2),
    dtypes.int64: Field("int64_val", 10, np.int64, 10),
    dtypes.bool: Field("bool_val", 11, np.bool_, 1),
    dtypes.float16: Field("half_val", 13, np.uint16, 3),
    **{t: Field(*_INT, 10) for t in (dtypes.int32, dtypes.int16, dtypes.int8, dtypes.qint8, dtypes.qint32)},
    **{t: Field(*_INT, bound) for t, bound in ((dtypes.uint8, 2), (dtypes.quint8, 2), (dtypes.uint16, 3))},
}


class V1Writer:
    """Collects tensors and writes them as one file.

    Args:
      path: its name.
    """

    def __init__(self, path: str) -> None:
        self._path = file_io.local(path)
        self._meta: dict[str, Any] = {}
        self._data: dict[bytes, bytes] = {}

    def add(self, name: str, array: np.ndarray, dtype: dtypes.DType) -> None:
        """Adds a whole tensor; see `add_slice`."""
        self.add_slice(name, array.shape, slices.TensorSlice.whole(array.ndim), array, dtype)

    def add_slice(
        self, name: str, shape: tuple[int, ...], part: slices.TensorSlice, array: np.ndarray, dtype: dtypes.DType
    ) -> None:
        """Adds a part of a tensor of the given shape.

        Raises:
          errors.UnimplementedError: this version of checkpoints has no place for the type.
          errors.InvalidArgumentError: the part is larger than a message can be.
          errors.InternalError: another part of the same name says another shape or type.
        """
        data = _saved_slice(name, part, array, dtype)
        meta = self._meta.get(name)
        if meta is None:
            meta = self._meta[name] = messages.SavedSliceMeta(name=name, type=dtype.as_datatype_enum)
            meta.shape.SetInParent()
            for size in shape:
                meta.shape.dim.add(size=size)
        elif (tuple(d.size for d in meta.shape.dim), meta.type) != (shape, dtype.as_datatype_enum):
            raise errors.InternalError(None, None, f"Mismatching shapes or types for tensor {name}")
        meta.slice.add().CopyFrom(part.to_proto())
        self._data[slices.encode_key(name, part)] = data

    def finish(self) -> None:
        """Writes the file."""
        meta = messages.SavedTensorSlices()
        meta.meta.versions.producer = PRODUCER
        meta.meta.tensor.extend(meta for _, meta in sorted(self._meta.items()))
        entries = [(META_KEY, meta.SerializeToString(deterministic=True)), *sorted(self._data.items())]
        settle(self._path)
        file = files.PendingFile(self._path)
        try:
            file.write(table.build(entries))
            file.finish()
            file.commit()
        except BaseException:
            file.abandon()
            raise
        file.close()
        files.sync_folder(self._path)


def _saved_slice(name: str, part: slices.TensorSlice, array: np.ndarray, dtype: dtypes.DType) -> bytes:
    """A serialized SavedTensorSlices with the values of one part."""
    head = messages.SavedSlice(name=name, slice=part.to_proto()).SerializeToString(deterministic=True)
    if dtype == dtypes.string:
        values = [compat.as_bytes(v) for v in array.reshape(-1).tolist()]
        estimate = sum(map(len, values)) + 20 * len(values)
    elif dtype in FIELDS:
        estimate = FIELDS[dtype].bound * array.size
    else:
        raise errors.UnimplementedError(None, None, f"Saving data type {dtype.name} not yet supported")
    estimate += len(head) + _HEADER_BYTES
    if estimate > MAX_MESSAGE_BYTES:
        raise errors.InvalidArgumentError(
            None, None, f"Tensor slice is too large to serialize (conservative estimate: {estimate} bytes)"
        )
    if dtype == dtypes.string:
        tensor = messages.TensorProto(string_val=values).SerializeToString(deterministic=True)
    else:
        tensor = _numbers(array, FIELDS[dtype])
    return _delimited(2, head + _delimited(3, tensor))


def _numbers(array: np.ndarray, field: Field) -> bytes:
    """A serialized TensorProto with nothing but the values of an array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.names:
        flat = flat.view(flat.dtype[0])
    if field.is_fixed:
        return _delimited(field.number, flat.tobytes()) if flat.size else b""
    values = flat.view(np.uint16) if field.name == "half_val" else flat
    return messages.TensorProto(**{field.name: values.tolist()}).SerializeToString(deterministic=True)


def _delimited(number: int, data: bytes) -> bytes:
    return varint.encode(number << 3 | _LENGTH_DELIMITED) + varint.encode(len(data)) + data
