"""Reads checkpoints of version 1: one table file, or one per shard."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint import slices, table
from tfcompat._src.checkpoint.bundle_files import VERSION
from tfcompat._src.checkpoint.reading import SavedTensors, TensorInfo, check_version, tensor_info
from tfcompat._src.checkpoint.v1_writer import FIELDS, META_KEY, Field
from tfcompat._src.platform import file_io, varint
from tfcompat._src.proto import messages

_FIXED_SIZES = {1: 8, 5: 4}


class V1Reader(SavedTensors):
    """The tensors of a checkpoint of version 1.

    Args:
      pattern: its path, or a pattern that the paths of its shards match.

    Raises:
      errors.NotFoundError: no file matches. errors.DataLossError: one is damaged, or no table file.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        paths = [p for p in sorted(glob.glob(file_io.local(pattern))) if os.path.isfile(p)]
        if not paths:
            raise errors.NotFoundError(
                None,
                None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {pattern}",
            )
        self._tables: list[tuple[str, table.Table]] = []
        self._infos: dict[str, TensorInfo] = {}
        for path in paths:
            self._open(path)

    def _open(self, path: str) -> None:
        data = file_io.read_file_to_string(path, binary_mode=True)
        try:
            found = table.Table(data)
        except table.DamagedTable as e:
            raise errors.DataLossError(
                None, None, f"Unable to open table file {path}: Data loss: {e}: perhaps your file is in a different file "
                "format and you need to use a different restore operator?"
            ) from None  # fmt: skip
        meta = _meta(found, path)
        check_version(meta.versions, VERSION)
        self._tables.append((path, found))
        for tensor in meta.tensor:
            known = self._infos.get(tensor.name)
            try:
                info = tensor_info(tensor.type, tensor.shape, tensor.slice)
            except ValueError as e:
                raise self._damaged(tensor.name, path, str(e)) from None
            self._infos[tensor.name] = info._replace(parts=(known.parts if known else ()) + info.parts)

    def names(self) -> list[str]:
        return sorted(self._infos)

    def info(self, name: str) -> TensorInfo | None:
        return self._infos.get(name)

    def not_found(self, name: str) -> errors.NotFoundError:
        return errors.NotFoundError(
            None,
            None,
            f'{name} not found in checkpoint file: Tensor name "{name}" not found in checkpoint files {self._pattern}',
        )

    def _parts_text(self, info: TensorInfo) -> str:
        return f", {len(info.parts)} slices" if len(info.parts) > 1 else ""

    def piece(self, name: str, part: slices.TensorSlice | None) -> np.ndarray:
        info = self.require(name)
        part = part or slices.TensorSlice.whole(len(info.shape))
        key = slices.encode_key(name, part)
        for path, found in self._tables:
            try:
                data = found.get(key)
                if data is not None:
                    return _values(data, info.dtype, part.sizes(info.shape))
            except (table.DamagedTable, DecodeError, ValueError) as e:
                raise self._damaged(name, path, str(e)) from None
        raise self.not_found(name)

    def _damaged(self, name: str, path: str, what: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"Tensor {name} of checkpoint {path} is damaged: {what}")


def _meta(found: table.Table, path: str) -> Any:
    """What the first entry of a file says of its tensors."""
    try:
        return messages.SavedTensorSlices.FromString(found.require(META_KEY)).meta
    except (table.DamagedTable, KeyError, DecodeError) as e:
        raise errors.InternalError(
            None, None, f"Failed to find the saved tensor slices at the beginning of the checkpoint file: {path}: {e!r}"
        ) from None


def _values(data: bytes, dtype: dtypes.DType, shape: tuple[int, ...]) -> np.ndarray:
    """The array in a serialized SavedTensorSlices; ValueError where there are too few or too many values."""
    tensor = _field(_field(memoryview(data), 2), 3)
    if dtype == dtypes.string:
        found = np.empty(shape, object)
        found.reshape(-1)[:] = list(messages.TensorProto.FromString(bytes(tensor)).string_val)
        return found
    flat = _flat_numbers(tensor, FIELDS[dtype])
    target = np.dtype(dtype.as_numpy_dtype)
    if flat.itemsize == target.itemsize * FIELDS[dtype].per_element or FIELDS[dtype].is_fixed:
        flat = flat.view(target)
    elif dtype == dtypes.float16:
        flat = flat.astype(np.uint16).view(target)
    else:
        flat = flat.astype(target[0] if target.names else target).view(target)
    return flat.reshape(shape)


def _after_number(message: memoryview, wire_type: int, at: int) -> int:
    """Where a number ends that begins at `at`."""
    if wire_type == 0:
        return varint.decode(message, at)[1]
    if wire_type in _FIXED_SIZES:
        return at + _FIXED_SIZES[wire_type]
    raise ValueError("a field has an unknown form")


def _flat_numbers(tensor: memoryview, field: Field) -> np.ndarray:
    if field.is_fixed:
        return np.frombuffer(_field(tensor, field.number), field.item).copy()
    values = getattr(messages.TensorProto.FromString(bytes(tensor)), field.name)
    return np.fromiter(values, field.item, len(values))


def _field(message: memoryview, wanted: int) -> memoryview:
    """The bytes of a length-delimited field of a serialized message; none where it lacks the field."""
    at = 0
    while at < len(message):
        tag, at = varint.decode(message, at)
        if tag & 7 != 2:
            at = _after_number(message, tag & 7, at)
            continue
        size, at = varint.decode(message, at)
        if tag >> 3 == wanted:
            return message[at : at + size]
        at += size
    return message[:0]
