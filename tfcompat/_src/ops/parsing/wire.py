"""The wire format of Example and SequenceExample, read without making messages.

A feature stays a span of the serialized bytes until its column is decoded, over all examples at once, by NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.proto import messages

BYTES, FLOAT, INT64 = 1, 2, 3
KIND_NAMES = {BYTES: "string", FLOAT: "float", INT64: "int64"}
"""The field number of each kind of list in a Feature, and the name of its dtype in messages."""

_ENTRY, _KEY, _VALUE = 0x0A, 0x0A, 0x12
_LISTS = {0x0A: BYTES, 0x12: FLOAT, 0x1A: INT64}
_VARINT_ONE, _FIXED_ONE = 0x08, 0x0D


class Malformed(ValueError):
    """Bytes that are not the message they should be."""


class Feature(NamedTuple):
    """One feature: the kind of its list, and where in `data` the list message stands."""

    data: bytes
    kind: int
    start: int
    end: int


_FEW_BYTES = 32


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The varint at `position` and the position after it."""
    number = shift = 0
    while shift < 70:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
    raise Malformed("a varint of more than 10 bytes")


def span(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The span of the length-delimited field whose length stands at `position`."""
    size = data[position]
    position += 1
    if size > 127:
        size, position = varint(data, position - 1)
    if position + size > end:
        raise Malformed("a field that is longer than its message")
    return position, position + size


def skip(data: bytes, position: int, end: int) -> int:
    """The position after the field whose tag stands at `position`; groups are malformed."""
    tag, position = varint(data, position)
    wire = tag & 7
    if wire == 0:
        position = varint(data, position)[1]
    elif wire == 2:
        position = span(data, position, end)[1]
    elif wire in (1, 5):
        position += 8 if wire == 1 else 4
    else:
        raise Malformed(f"a field of wire type {wire}")
    if position > end:
        raise Malformed("a field that is longer than its message")
    return position


def fields(data: bytes, start: int, end: int, tag: int) -> list[tuple[int, int]]:
    """The spans of all fields with a one-byte `tag` of a length-delimited kind."""
    found = []
    while start < end:
        if data[start] == tag:
            found.append(span(data, start + 1, end))
            start = found[-1][1]
        else:
            start = skip(data, start, end)
    return found


def entries(data: bytes, start: int, end: int) -> list[tuple[bytes, int, int]]:
    """The entries of a map from strings to messages: each key with the span of its value."""
    found = []
    for position, stop in fields(data, start, end, _ENTRY):
        if data[position] != _KEY:
            raise Malformed("a map entry without a key")
        key, position = span(data, position + 1, stop)
        if position == stop or data[position] != _VALUE:
            raise Malformed("a map entry without a value")
        value, last = span(data, position + 1, stop)
        if last != stop:
            raise Malformed("a map entry with more than key and value")
        found.append((data[key:position], value, last))
    return found


def feature_at(data: bytes, start: int, end: int) -> Feature | None:
    """The Feature in a span, or None where it has no list."""
    if start == end:
        return None
    kind = _LISTS.get(data[start])
    if kind is None:
        raise Malformed("Unsupported datatype.")
    first, last = span(data, start + 1, end)
    return Feature(data, kind, first, last)


def read_features(data: bytes, start: int, end: int, wanted: dict[bytes, list], index: int) -> None:
    """Files the features of a Features message: `wanted[key][index]` becomes the Feature; of equal keys the last counts.

    Written as one loop, without calls for lengths below 128: this is where reading a batch spends its time.
    """
    find, kinds, make = wanted.get, _LISTS, tuple.__new__
    while start < end:
        if data[start] != _ENTRY:
            start = skip(data, start, end)
            continue
        size, position = data[start + 1], start + 2
        if size > 127:
            size, position = varint(data, start + 1)
        stop = position + size
        size, key = data[position + 1], position + 2
        if size > 127:
            size, key = varint(data, position + 1)
        middle = key + size
        if data[position] != _KEY or stop > end or middle >= stop or data[middle] != _VALUE:
            raise Malformed("a map entry that is not a key and a value")
        size, value = data[middle + 1], middle + 2
        if size > 127:
            size, value = varint(data, middle + 1)
        if value + size != stop:
            raise Malformed("a map entry with more than key and value")
        column = find(data[key:middle])
        if column is not None and size:
            kind = kinds.get(data[value])
            if kind is None:
                raise Malformed("Unsupported datatype.")
            size, first = data[value + 1], value + 2
            if size > 127:
                size, first = varint(data, value + 1)
            if first + size > stop:
                raise Malformed("a field that is longer than its message")
            column[index] = make(Feature, (data, kind, first, first + size))
        start = stop


def read_example(data: bytes, wanted: dict[bytes, list], index: int) -> None:
    """Files the features of a serialized Example; Malformed where it is none."""
    try:
        for start, end in fields(data, 0, len(data), _ENTRY):
            read_features(data, start, end, wanted, index)
    except IndexError:
        raise Malformed("the end of the message comes too early") from None


# ---- columns ----


def _number_payload(feature: Feature, one: int, size: int | None) -> bytes:
    """The numbers of a list as they stand, packed; `size` is that of an unpacked fixed number, None for varints."""
    data, _, position, end = feature
    if position < end and data[position] == _ENTRY:
        length, start = data[position + 1], position + 2
        if length > 127:
            length, start = varint(data, position + 1)
        if start + length == end:
            return data[start:end]
    parts = []
    while position < end:
        tag = data[position]
        if tag == _ENTRY:
            start, stop = span(data, position + 1, end)
        elif tag == one:
            start = position + 1
            stop = varint(data, start)[1] if size is None else start + size
            if stop > end:
                raise Malformed("a number beyond the end of its list")
        else:
            raise Malformed("a list with another field than its values")
        parts.append(data[start:stop])
        position = stop
    return b"".join(parts)


def _floats(features: list[Feature | None]) -> tuple[np.ndarray, np.ndarray]:
    return floats_of(*_joined([b"" if f is None else _number_payload(f, _FIXED_ONE, 4) for f in features]))


def _integers(features: list[Feature | None]) -> tuple[np.ndarray, np.ndarray]:
    return integers_of(*_joined([b"" if f is None else _number_payload(f, _VARINT_ONE, None) for f in features]))


def _joined(parts: list[bytes]) -> tuple[bytes, np.ndarray]:
    return b"".join(parts), np.fromiter(map(len, parts), np.int64, len(parts))


def floats_of(packed: bytes, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of packed lists of floats, flat, and how many each list has; `sizes` are those of the lists in bytes."""
    if (sizes % 4).any():
        raise Malformed("a list of floats of a broken length")
    return np.frombuffer(packed, "<f4").astype(np.float32), sizes // 4


def integers_of(packed: bytes, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of packed lists of integers, flat, and how many each list has; `sizes` are those of the lists in bytes."""
    if len(sizes) == 1 and len(packed) <= _FEW_BYTES:
        return _few_integers(packed)
    data = np.frombuffer(packed, np.uint8)
    if not data.size or data.max() < 128:
        return data.astype(np.int64), sizes
    borders = np.cumsum(sizes)
    if (data[borders[sizes > 0] - 1] > 127).any():
        raise Malformed("a list of integers that ends within one")
    ends = np.flatnonzero(data < 128)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if lengths.max() > 10:
        raise Malformed("a varint of more than 10 bytes")
    values = np.zeros(len(ends), np.uint64)
    for k in range(int(lengths.max())):
        has = np.flatnonzero(lengths > k)
        values[has] |= (data[starts[has] + k] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * k)
    return values.view(np.int64), np.diff(np.searchsorted(ends, borders), prepend=0)


def _few_integers(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    """`integers_of` one short list."""
    numbers, position = [], 0
    try:
        while position < len(packed):
            number, position = varint(packed, position)
            numbers.append(number & 0xFFFFFFFFFFFFFFFF)
    except IndexError:
        raise Malformed("a list of integers that ends within one") from None
    return np.array(numbers, np.uint64).view(np.int64), np.array([len(numbers)])


def _texts(features: list[Feature | None]) -> tuple[np.ndarray, np.ndarray]:
    found: list[bytes] = []
    counts = np.zeros(len(features), np.int64)
    for i, feature in enumerate(features):
        if feature is None:
            continue
        data, _, position, end = feature
        before = len(found)
        while position < end:
            if data[position] != _ENTRY:
                raise Malformed("a list with another field than its values")
            start, position = span(data, position + 1, end)
            found.append(data[start:position])
        counts[i] = len(found) - before
    values = np.empty(len(found), object)
    values[:] = found
    return values, counts


_DECODERS = {BYTES: _texts, FLOAT: _floats, INT64: _integers}
_KINDS = {"O": BYTES, "f": FLOAT, "i": INT64}


def kind_of(dtype: np.dtype) -> int:
    """The kind of list that holds values of a NumPy dtype: object, float32 or int64."""
    return _KINDS[np.dtype(dtype).kind]


def decode(features: list[Feature | None], kind: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of a column of features of one kind, flat, and how many each has; Malformed where one is broken."""
    try:
        return _DECODERS[kind](features)
    except IndexError:
        raise Malformed("the end of a list comes too early") from None


def first_broken(features: list[Feature | None], kind: int) -> int:
    """The place of the first feature whose list cannot be decoded."""
    for i, feature in enumerate(features):
        try:
            decode([feature], kind)
        except Malformed:
            return i
    raise ValueError("all features can be decoded")


def message(feature: Feature | None) -> str:
    """A feature as text, for messages."""
    found = messages.Feature()
    if feature is not None:
        name = {BYTES: "bytes_list", FLOAT: "float_list", INT64: "int64_list"}[feature.kind]
        try:
            getattr(found, name).ParseFromString(feature.data[feature.start : feature.end])
        except DecodeError:
            return "malformed"
    return str(found)


# ---- sequence examples ----

Steps = list[Feature | None]
_CONTEXT, _FEATURE_LISTS = 0x0A, 0x12


def read_sequence_example(data: bytes, context_keys: set[bytes], list_keys: set[bytes]) -> tuple[dict[bytes, Feature | None], dict[bytes, Steps]]:
    """The wanted context features and feature lists of a serialized SequenceExample; Malformed where it is none."""
    context: dict[bytes, Feature | None] = {}
    lists: dict[bytes, Steps] = {}
    try:
        for start, end in fields(data, 0, len(data), _CONTEXT):
            found = [e for e in entries(data, start, end) if e[0] in context_keys]
            context.update((key, feature_at(data, value, stop)) for key, value, stop in found)
        for start, end in fields(data, 0, len(data), _FEATURE_LISTS):
            for key, value, stop in entries(data, start, end):
                if key in list_keys:
                    lists[key] = [feature_at(data, *place) for place in fields(data, value, stop, _ENTRY)]
    except IndexError:
        raise Malformed("the end of the message comes too early") from None
    return context, lists
