"""Slices of tensors: their text ("4 2 0,2:0,2"), their messages, and the keys of checkpoints that name them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.proto import messages

FULL = -1
_LEADING_BITS = (0, 0, 0xC000, 0xE000, 0xF000, 0xF800, 0xFC00, 0xFE00, 0xFF00, 0xFF80, 0xFFC0)


class TensorSlice(NamedTuple):
    """A box inside a tensor; a length of FULL is the whole dimension.

    Attributes:
      starts: where it begins, per dimension.
      lengths: its size, per dimension.
    """

    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def whole(cls, rank: int) -> TensorSlice:
        return cls((0,) * rank, (FULL,) * rank)

    @property
    def text(self) -> str:
        parts = zip(self.starts, self.lengths)
        return ":".join("-" if length == FULL else f"{start},{length}" for start, length in parts)

    def sizes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the box inside a tensor of `shape`."""
        return tuple(full if length == FULL else length for length, full in zip(self.lengths, shape))

    def check_inside(self, shape: tuple[int, ...]) -> None:
        """Raises InternalError where this is no box inside a tensor of `shape`."""
        if len(self.starts) != len(shape):
            raise errors.InternalError(None, None, f"Mismatching ranks: shape = {list(shape)}, slice = {self.text}")
        for i, (start, size, full) in enumerate(zip(self.starts, self.sizes(shape), shape)):
            if start < 0 or size < 0 or start + size > full:
                raise errors.InternalError(
                    None, None, f"Extent in dimension {i} out of bounds: shape = {list(shape)}, slice = {self.text}"
                )

    def overlap(self, other: TensorSlice, shape: tuple[int, ...]) -> tuple[tuple, tuple] | None:
        """Index expressions of the common part in this box and in `other`; None where there is none."""
        mine, theirs = [], []
        for a, n, b, m in zip(self.starts, self.sizes(shape), other.starts, other.sizes(shape)):
            low, high = max(a, b), min(a + n, b + m)
            if high <= low:
                return None
            mine.append(slice(low - a, high - a))
            theirs.append(slice(low - b, high - b))
        return tuple(mine), tuple(theirs)

    def to_proto(self) -> Any:
        """A TensorSliceProto; whole dimensions are empty extents."""
        found = messages.TensorSliceProto()
        for start, length in zip(self.starts, self.lengths):
            extent = found.extent.add()
            if length != FULL:
                extent.start, extent.length = start, length
        return found

    @classmethod
    def from_proto(cls, proto: Any) -> TensorSlice:
        lengths = tuple(e.length if e.HasField("length") else FULL for e in proto.extent)
        return cls(tuple(e.start for e in proto.extent), lengths)


def parse_spec(spec: str) -> tuple[tuple[int, ...], TensorSlice]:
    """The full shape and the slice of a text like "4 2 0,2:-".

    Raises:
      errors.InvalidArgumentError: it is malformed, or the slice does not lie inside the shape.
    """
    *sizes, text = spec.split(" ")
    if not sizes or not all(re.fullmatch(r"\d+", s) for s in sizes):
        raise _invalid(
            "Need least two elements in shape_and_slice specification: " + spec if not sizes
            else "Non numerical dimension in shape_and_slice: " + spec
        )  # fmt: skip
    shape = tuple(map(int, sizes))
    found = _parse_slice(text)
    if len(found.starts) != len(shape):
        raise _invalid(f"Expected slice spec of rank {len(shape)} but got {len(found.starts)}: {spec}")
    for start, size, full in zip(found.starts, found.sizes(shape), shape):
        if start + size > full:
            raise _invalid(
                f"Extent in dimension out of bounds: slice [{start}, {start + size}) of a dimension of size {full}"
            )
    return shape, found


def _parse_slice(text: str) -> TensorSlice:
    starts, lengths = [], []
    for part in text.split(":"):
        match = re.fullmatch(r"(\d+),(\d+)", part)
        if part == "-":
            starts.append(0)
            lengths.append(FULL)
        elif match and int(match[2]) > 0:
            starts.append(int(match[1]))
            lengths.append(int(match[2]))
        else:
            raise _invalid(f"Expected a pair of numbers or '-' but got '{part}': string = {text}")
    return TensorSlice(tuple(starts), tuple(lengths))


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- keys ----


def encode_key(name: str, part: TensorSlice) -> bytes:
    """The key of a slice: it sorts by name, rank, then starts and lengths."""
    found = _number(0) + _string(name.encode()) + _number(len(part.starts))
    for start, length in zip(part.starts, part.lengths):
        found += _signed(start) + _signed(length)
    return found


def _number(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes((size,)) + value.to_bytes(size, "big")


def _string(value: bytes) -> bytes:
    return re.sub(rb"[\0\xff]", lambda m: m[0] + bytes((255 - m[0][0],)), value) + b"\0\1"


def _signed(value: int) -> bytes:
    magnitude = value if value >= 0 else ~value
    size = magnitude.bit_length() // 7 + 1
    if size == 1:
        return bytes((0x80 ^ (value & 0xFF),))
    bits = (value & ((1 << 8 * size) - 1)) ^ (_LEADING_BITS[size] << (8 * size - 16))
    return bits.to_bytes(size, "big")
