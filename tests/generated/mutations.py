"""Damages files: single bytes, and the fields of protobuf messages without knowing their types. Runs under Python 3.7 too."""

import struct
import zlib

EXTREMES = (0, 1, 2, 7, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
TEXTS = (b"", b"\0", b"x", b"a:b:c", b"^", b"^x:0", b"x:-1", b"x:7", b"_x", b"a b", b"\xff\xfe", b"-", b"/", b"Add", b"NoSuchOp", b"T", b"x" * 300)
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """Bytes that are no protobuf message."""


def _read_varint(data, at):
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise Malformed


def varint(value):
    """A number below 2^64 as a varint."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes(found + bytearray((value,)))


def parse(data):
    """The fields of a message as [number, wire type, value]; Malformed where it is none."""
    fields, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _read_varint(data, at)
        elif kind in (FIXED64, FIXED32):
            end = at + (8 if kind == FIXED64 else 4)
            value, at = data[at:end], end
        elif kind == BYTES:
            size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise Malformed
        if at > len(data) or not number:
            raise Malformed
        fields.append([number, kind, value])
    return fields


def serialize(fields):
    """The bytes of fields."""
    parts = []
    for number, kind, value in fields:
        parts.append(varint(number << 3 | kind))
        if kind == VARINT:
            parts.append(varint(value))
        else:
            parts.append(varint(len(value)) + value if kind == BYTES else value)
    return b"".join(parts)


def _inner(data):
    """The fields of bytes that may be a message; None where they are text or something else."""
    try:
        return parse(data) if data else None
    except Malformed:
        return None


def damage_message(rng, data, depth=0):
    """A message with one field, at any depth, dropped, repeated, moved or given another value."""
    fields = _inner(data)
    if not fields:
        return damage_value(rng, BYTES, data)
    at = rng.randrange(len(fields))
    number, kind, value = fields[at]
    if kind == BYTES and depth < 12 and _inner(value) and rng.random() < 0.8:
        fields[at] = [number, kind, damage_message(rng, value, depth + 1)]
        return serialize(fields)
    action = rng.randrange(6)
    if action == 0:
        del fields[at]
    elif action == 1:
        fields.insert(rng.randrange(len(fields) + 1), list(fields[at]))
    elif action == 2:
        other = rng.randrange(len(fields))
        fields[at][0], fields[other][0] = fields[other][0], fields[at][0]
    elif action == 3:
        same = [f for f in fields if f[0] == number]
        fields[at][2], same[0][2] = same[0][2], fields[at][2]
    else:
        fields[at] = [number, kind, damage_value(rng, kind, value)]
    return serialize(fields)


def damage_value(rng, kind, value):
    """Another value for a field of this wire type."""
    if kind == VARINT:
        return rng.choice(EXTREMES)
    if kind in (FIXED64, FIXED32):
        return struct.pack("<Q", rng.choice(EXTREMES))[: len(value)]
    return rng.choice(TEXTS) if rng.random() < 0.6 else damage_bytes(rng, value)


def damage_bytes(rng, data):
    """Data with some bytes changed, cut out, repeated or replaced by an extreme number."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(found)) if found else 0
        action = rng.randrange(6)
        if action == 0 and found:
            found[at] = rng.randrange(256)
        elif action == 1 and found:
            found[at] ^= 1 << rng.randrange(8)
        elif action == 2:
            del found[at:]
        elif action == 3:
            del found[at : at + rng.choice((1, 2, 4, 16))]
        elif action == 4:
            found[at:at] = found[at : at + rng.choice((1, 4, 16, 64))]
        else:
            number, size = rng.choice(EXTREMES), rng.choice((1, 2, 4, 8))
            order = rng.choice("<>")
            packed = struct.pack(order + "Q", number)
            found[at : at + size] = packed[:size] if order == "<" else packed[-size:]
    return bytes(found)


# ---- what has checksums is damaged under them ----

_CRC_TABLE = []


def crc32c(data):
    """CRC-32C, by a table of 256."""
    if not _CRC_TABLE:
        for byte in range(256):
            crc = byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
            _CRC_TABLE.append(crc)
    crc = 0xFFFFFFFF
    for byte in bytearray(data):
        crc = _CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    """The masked CRC of records and table files, packed."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    """A record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def records(data):
    """The contents of the records of a TFRecord file."""
    found, at = [], 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        found.append(data[at + 12 : at + 12 + size])
        at += size + 16
    return found


def damage_records(rng, data):
    """A TFRecord file with a damaged message in a record, whose checksum fits."""
    found = records(data)
    at = rng.randrange(len(found))
    found[at] = damage_message(rng, found[at])
    return b"".join(map(record, found))


def damage_table(rng, data):
    """A table file with a damaged entry or a damaged block, whose checksum fits."""
    entries = table_entries(data)
    if rng.random() < 0.3:
        return damage_block(rng, data)
    at = rng.randrange(len(entries))
    key, value = entries[at]
    entries[at] = (damage_bytes(rng, key), value) if rng.random() < 0.1 else (key, damage_message(rng, value))
    return table(sorted(entries))


def _handle(data, at):
    offset, at = _read_varint(data, at)
    size, at = _read_varint(data, at)
    return offset, size, at


def _block_entries(data, offset, size):
    end = offset + size - 4 - 4 * struct.unpack_from("<I", data, offset + size - 4)[0]
    at, key, found = offset, b"", []
    while at < end:
        shared, at = _read_varint(data, at)
        unshared, at = _read_varint(data, at)
        length, at = _read_varint(data, at)
        key = key[:shared] + data[at : at + unshared]
        at += unshared + length
        found.append((key, data[at - length : at]))
    return found


def _index_handle(data):
    footer = data[-48:]
    return _handle(footer, _handle(footer, 0)[2])[:2]


def table_entries(data):
    """The (key, value) pairs of a table file without compression."""
    found = []
    for _, handle in _block_entries(data, *_index_handle(data)):
        found += _block_entries(data, *_handle(handle, 0)[:2])
    return found


def _block(entries):
    body = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries)
    body += struct.pack("<II", 0, 1) + b"\0"
    return body + masked_crc(body)


def table(entries):
    """A table file of one block."""
    data = _block(entries)
    meta, index = _block([]), _block([(entries[-1][0], varint(0) + varint(len(data) - 5))])
    handles = varint(len(data)) + varint(len(meta) - 5) + varint(len(data) + len(meta)) + varint(len(index) - 5)
    return data + meta + index + handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def damage_block(rng, data):
    """A table file whose first block has a damaged byte or another kind of compression, and a checksum that fits."""
    _, size, _ = _handle(_block_entries(data, *_index_handle(data))[0][1], 0)
    body = bytearray(data[: size + 1])
    if rng.random() < 0.2:
        body[-1] = rng.randrange(3)
    else:
        body[rng.randrange(size)] = rng.randrange(256)
    return bytes(body) + masked_crc(body) + data[size + 5 :]


def damage_png(rng, data):
    """A PNG file with a damaged chunk whose checksum fits."""
    chunks, at = [], 8
    while at < len(data):
        size = struct.unpack_from(">I", data, at)[0]
        chunks.append(data[at + 4 : at + 8 + size])
        at += size + 12
    at = rng.randrange(len(chunks))
    chunks[at] = chunks[at][:4] + damage_bytes(rng, chunks[at][4:])
    return data[:8] + b"".join(struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c) & 0xFFFFFFFF) for c in chunks)


DAMAGES = {
    "bytes": damage_bytes, "message": damage_message, "records": damage_records, "table": damage_table, "png": damage_png,
}  # fmt: skip
"""How a file may be damaged, by the name that a seed gives."""
