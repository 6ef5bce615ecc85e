"""What reading a checkpoint has in common in both versions: parts of tensors put together, damage reported."""

from __future__ import annotations

import abc
from typing import NamedTuple

import numpy as np

from tfcompat._src.checkpoint.slices import TensorSlice
from tfcompat._src.framework import dtypes, errors
from tfcompat._src.proto import messages


class TensorInfo(NamedTuple):
    """A saved tensor: its type, its whole shape, and the parts in which it is stored (none where it is whole)."""

    dtype: dtypes.DType
    shape: tuple[int, ...]
    parts: tuple[TensorSlice, ...]


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
        found = np.empty(wanted.sizes(info.shape), info.dtype.as_numpy_dtype)
        filled = 0
        for stored in info.parts:
            common = wanted.overlap(stored, info.shape)
            if common is not None:
                here, there = common
                found[here] = self.piece(name, stored)[there]
                filled += found[here].size
        if filled != found.size:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: {wanted.text}",
            )
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
