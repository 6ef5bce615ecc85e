"""What reading a checkpoint has in common in both versions: parts of tensors put together, damage reported."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint.slices import TensorSlice
from tfcompat._src.graph import tensor_proto
from tfcompat._src.proto import messages


class TensorInfo(NamedTuple):
    """A saved tensor: its type, its whole shape, and the parts in which it is stored (none where it is whole)."""

    dtype: dtypes.DType
    shape: tuple[int, ...]
    parts: tuple[TensorSlice, ...]


def check_version(version: Any, newest: int) -> None:
    """Raises InvalidArgumentError where a VersionDef says that its checkpoint is not for readers of version `newest`."""
    if version.producer < 0:
        problem = f"Checkpoint producer version {version.producer} below min producer 0 supported by TensorFlow"
    elif version.min_consumer > newest:
        problem = f"Checkpoint min consumer version {version.min_consumer} above current version {newest} for TensorFlow"
    elif newest in version.bad_consumers:
        problem = f"Checkpoint disallows consumer version {newest}"
    else:
        return
    raise errors.InvalidArgumentError(None, None, problem)


def tensor_info(dtype: int, shape: object, parts: Iterable[Any]) -> TensorInfo:
    """What messages say of a tensor: a DataType, a TensorShapeProto and TensorSliceProtos.

    Raises:
      ValueError: dtype or shape are none. errors.InternalError: a slice does not lie inside the shape.
    """
    sizes = tensor_proto.sizes_of(shape)
    try:
        kind = dtypes.DType(dtype)
    except TypeError as e:
        raise ValueError(str(e)) from None
    found = tuple(map(TensorSlice.from_proto, parts))
    for part in found:
        part.check_inside(sizes)
    return TensorInfo(kind, sizes, found)


class SavedTensors(abc.ABC):
    """The tensors of one checkpoint by name."""

    @abc.abstractmethod
    def names(self) -> list[str]:
        """The names of the tensors, sorted."""

    @abc.abstractmethod
    def info(self, name: str) -> TensorInfo | None:
        """What is known of a tensor without its values; None where there is none of that name."""

    @abc.abstractmethod
    def piece(self, name: str, part: TensorSlice | None) -> np.ndarray:
        """The values of a stored part, or of a tensor stored whole.

        Raises:
          errors.DataLossError: they are damaged.
        """

    @abc.abstractmethod
    def not_found(self, name: str) -> errors.NotFoundError:
        """What asking for a tensor that is not there raises."""

    def require(self, name: str) -> TensorInfo:
        found = self.info(name)
        if found is None:
            raise self.not_found(name)
        return found

    def read(self, name: str, part: TensorSlice | None = None) -> np.ndarray:
        """The values of a tensor, or of a part of it.

        Raises:
          errors.NotFoundError: there is none of that name.
          errors.DataLossError: it is damaged.
          errors.InvalidArgumentError: some of the part was never saved.
        """
        info = self.require(name)
        wanted = part or TensorSlice.whole(len(info.shape))
        if not info.parts:
            whole, sizes = self.piece(name, None), wanted.sizes(info.shape)
            if sizes == info.shape:
                return whole
            return whole[tuple(slice(start, start + n) for start, n in zip(wanted.starts, sizes))].copy()
        same = [p for p in info.parts if p.starts == wanted.starts and p.sizes(info.shape) == wanted.sizes(info.shape)]
        return self.piece(name, same[0]) if same else self._joined(name, info, wanted)

    def _joined(self, name: str, info: TensorInfo, wanted: TensorSlice) -> np.ndarray:
        common = [(stored, places) for stored in info.parts if (places := wanted.overlap(stored, info.shape)) is not None]
        sizes = wanted.sizes(info.shape)
        if sum(math.prod(s.stop - s.start for s in here) for _, (here, _) in common) != math.prod(sizes):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: {wanted.text}",
            )
        pieces = [(here, self.piece(name, stored)[there]) for stored, (here, there) in common]
        found = np.empty(sizes, info.dtype.as_numpy_dtype)
        for here, values in pieces:
            found[here] = values
        return found

    def debug_string(self) -> str:
        """One line per tensor: name, type and shape."""
        lines = []
        for name in self.names():
            info = self.require(name)
            enum = messages.DataType.Name(info.dtype.as_datatype_enum)
            lines.append(f"{name} ({enum}) [{','.join(map(str, info.shape))}]{self._parts_text(info)}\n")
        return "".join(lines)

    def _parts_text(self, info: TensorInfo) -> str:
        return ""
