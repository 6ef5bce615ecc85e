"""Batches of Examples that have the same features in the same order, as one writer makes them: read side by side by NumPy."""

from __future__ import annotations

import numpy as np

from tfcompat._src.ops.parsing import wire
from tfcompat._src.ops.parsing.wire import Malformed

Spans = tuple[np.ndarray, np.ndarray]
Column = tuple[np.ndarray, np.ndarray]
_FIELD, _VALUE = 0x0A, 0x12
_TAGS = {wire.BYTES: 0x0A, wire.FLOAT: 0x12, wire.INT64: 0x1A}
_FEW = 16
_SHORT = 32


def read(texts: list[bytes], kinds: dict[bytes, int]) -> dict[bytes, Column] | None:
    """The columns of a batch: flat values, and how many each example has.

    Args:
      texts: serialized Examples.
      kinds: the kind of list under each wanted key.

    Returns:
      a column under each wanted key that the examples have; None for a small batch, and where the examples are not alike
      or not well-formed.
    """
    if len(texts) < _FEW:
        return None
    data = b"".join(texts) + bytes(16)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    try:
        return _decode(data, kinds, _read_spans(np.frombuffer(data, np.uint8), sizes, kinds))
    except (IndexError, Malformed):
        return None


def _read_spans(data: np.ndarray, sizes: np.ndarray, kinds: dict[bytes, int]) -> dict[bytes, Spans]:
    """Where the list messages under the wanted keys begin and end."""
    ends = np.cumsum(sizes)
    position, stop = _field(data, ends - sizes, _FIELD)
    _require(stop == ends)
    found: dict[bytes, Spans] = {}
    while (position < ends).any():
        entry, stop = _field(data, position, _FIELD)
        first, last = _field(data, entry, _FIELD)
        value, value_stop = _field(data, last, _VALUE)
        _require(value_stop == stop)
        _require(stop <= ends)
        key = _common_text(data, first, last)
        if key in kinds:
            span = _field(data, value, _TAGS[kinds[key]])
            _require(span[1] == stop)
            if key in found:
                raise Malformed("a key that comes twice")
            found[key] = span
        position = stop
    return found


def _require(holds: np.ndarray) -> None:
    if not holds.all():
        raise Malformed("examples that are not alike")


def _field(data: np.ndarray, position: np.ndarray, tag: int) -> Spans:
    """The spans of the length-delimited fields that begin at positions."""
    _require(data.take(position) == tag)
    size, start = _varints(data, position + 1)
    return start, start + size


def _varints(data: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers below 2**35 at positions, and the positions after them."""
    byte = data.take(position)
    position = position + 1
    if byte.max() < 128:
        return byte, position
    number, shift = byte & 0x7F, 0
    number = number.astype(np.int64)
    while (byte > 127).any():
        shift += 7
        if shift > 28:
            raise Malformed("a length of more than 5 bytes")
        goes_on = byte > 127
        byte = np.where(goes_on, data.take(position), 0)
        number |= (byte & 0x7F).astype(np.int64) << shift
        position = position + goes_on
    return number, position


def _common_text(data: np.ndarray, start: np.ndarray, stop: np.ndarray) -> bytes:
    """What stands in all spans; Malformed where they differ."""
    size = int(stop[0] - start[0])
    _require(stop - start == size)
    texts = data[start[:, None] + np.arange(size)]
    _require(texts == texts[0])
    return texts[0].tobytes()


def _decode(data: bytes, kinds: dict[bytes, int], spans: dict[bytes, Spans]) -> dict[bytes, Column]:
    found: dict[bytes, Column] = {}
    for kind in set(kinds.values()):
        keys = [key for key in spans if kinds[key] == kind]
        if not keys:
            continue
        start, stop = (np.stack(edges) for edges in zip(*(spans[key] for key in keys)))
        values, counts = _DECODERS[kind](data, start.reshape(-1), stop.reshape(-1))
        counts = counts.reshape(start.shape)
        parts = np.split(values, np.cumsum(counts.sum(1))[:-1])
        found.update(zip(keys, zip(parts, counts)))
    return found


def _texts(data: bytes, start: np.ndarray, stop: np.ndarray) -> Column:
    return wire.decode([wire.Feature(data, wire.BYTES, a, b) for a, b in zip(start.tolist(), stop.tolist())], wire.BYTES)


def _floats(data: bytes, start: np.ndarray, stop: np.ndarray) -> Column:
    return wire.floats_of(*_packed(data, start, stop))


def _integers(data: bytes, start: np.ndarray, stop: np.ndarray) -> Column:
    return wire.integers_of(*_packed(data, start, stop))


_DECODERS = {wire.BYTES: _texts, wire.FLOAT: _floats, wire.INT64: _integers}


def _packed(data: bytes, start: np.ndarray, stop: np.ndarray) -> tuple[bytes, np.ndarray]:
    """The packed numbers of list messages, joined, and the size of each part."""
    array = np.frombuffer(data, np.uint8)
    is_empty = start == stop
    _require(is_empty | (array.take(start) == _FIELD))
    size, first = _varints(array, start + 1)
    first = np.where(is_empty, stop, first)
    _require(is_empty | (first + size == stop))
    sizes = stop - first
    total = int(sizes.sum())
    if total > _SHORT * len(sizes):
        return b"".join([data[a:b] for a, b in zip(first.tolist(), stop.tolist())]), sizes
    return array[np.repeat(stop - np.cumsum(sizes), sizes) + np.arange(total)].tobytes(), sizes
