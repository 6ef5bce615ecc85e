"""PNG files: bytes to arrays and back, with NumPy and zlib.

Format: ISO/IEC 15948 (W3C "Portable Network Graphics (PNG) Specification"). Conversions of colour follow libpng's.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
_SAMPLES = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}
_DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16), RGB_ALPHA: (8, 16)}
_COLOR_TYPE = {1: GRAY, 2: GRAY_ALPHA, 3: RGB, 4: RGB_ALPHA}
_CHUNK_SIZE, _LOOKAHEAD = 8192, 262
_ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
_SRGB_GAMMA = 45455
_LUMA = (9797, 19234, 3737)
"""Weights of red, green and blue in 32768ths (0.299, 0.587 and the rest)."""


class PngError(ValueError):
    """Bytes that are no PNG file. `in_header` says that they fail before the pixels."""

    def __init__(self, text: str, in_header: bool = False) -> None:
        super().__init__(text)
        self.in_header = in_header


# ---- writing ----


def encode_png(image: np.ndarray, compression: int = -1) -> bytes:
    """An image as the bytes of a PNG file.

    Args:
      image: uint8 or uint16 [height, width, channels] with 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels.
      compression: zlib level, 0 to 9; -1 is zlib's default.

    Raises:
      ValueError: the shape cannot be stored.
    """
    height, width, channels = image.shape
    if not height or not width or channels not in _COLOR_TYPE:
        raise ValueError(f"PNG cannot hold an image of shape {list(image.shape)}")
    depth = image.dtype.itemsize * 8
    rows = np.ascontiguousarray(image, image.dtype.newbyteorder(">")).view(np.uint8).reshape(height, -1)
    data = _deflated(_filtered(rows, channels * depth // 8).tobytes(), compression)
    header = struct.pack(">IIBBBBB", width, height, depth, _COLOR_TYPE[channels], 0, 0, 0)
    parts = [_chunk(b"IDAT", data[i : i + _CHUNK_SIZE]) for i in range(0, len(data), _CHUNK_SIZE)]
    return b"".join([SIGNATURE, _chunk(b"IHDR", header), *parts, _chunk(b"IEND", b"")])


def _deflated(data: bytes, level: int) -> bytes:
    """A zlib stream whose window, and the window that its header promises, are as small as the data allow."""
    window = 15
    while window > 9 and len(data) + _LOOKAHEAD <= 1 << (window - 1):
        window -= 1
    compressor = zlib.compressobj(level, zlib.DEFLATED, window, 9, zlib.Z_FILTERED)
    found = bytearray(compressor.compress(data) + compressor.flush())
    if len(data) <= 1 << 14:
        while window > 8 and len(data) <= 1 << (window - 1):
            window -= 1
        found[0] = zlib.DEFLATED | (window - 8) << 4
        found[1] &= 0xE0
        found[1] += 31 - (found[0] << 8 | found[1]) % 31
    return bytes(found)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _filtered(rows: np.ndarray, step: int) -> np.ndarray:
    """Each row behind the number of the filter whose differences are smallest in sum."""
    left, up, corner = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    left[:, step:], up[1:], corner[1:, step:] = rows[:, :-step], rows[:-1], rows[:-1, :-step]
    best, cost = None, None
    for number in range(5):
        found = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
        found[:, 0] = number
        found[:, 1:] = rows - _prediction(number, left, up, corner)
        size = np.minimum(found[:, 1:], 0 - found[:, 1:]).sum(1, dtype=np.int64)
        if best is None:
            best, cost = found, size
        else:
            better = size < cost
            best[better], cost[better] = found[better], size[better]
    return best


def _prediction(number: int, left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """What a filter expects of bytes with these neighbours."""
    if number == 0:
        return np.zeros_like(left)
    if number == 1:
        return left
    if number == 2:
        return up
    a, b = left.astype(np.int16), up.astype(np.int16)
    if number == 3:
        return ((a + b) >> 1).astype(np.uint8)
    c = corner.astype(np.int16)
    to_left, to_up, to_corner = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    near_left = (to_left <= to_up) & (to_left <= to_corner)
    return np.where(near_left, left, np.where(to_up <= to_corner, up, corner))


# ---- reading ----


@dataclass
class PngHeader:
    """What stands before the pixels, and where the chunks with the pixels begin."""

    width: int
    height: int
    depth: int
    color: int
    interlaced: bool
    palette: np.ndarray | None
    transparency: bytes | None
    gamma: int
    data_at: int

    def default_channels(self) -> int:
        """The channels of the file's own colours."""
        if self.color == PALETTE:
            return 3 if self.transparency is None else 4
        return _SAMPLES[self.color]


def _chunks(data: bytes, at: int) -> Iterator[tuple[bytes, bytes, int]]:
    """(kind, content, place) of each chunk up to IEND."""
    while True:
        if at + 12 > len(data):
            raise PngError("the file ends before its end chunk")
        size, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + size]
        if at + 12 + size > len(data):
            raise PngError(f"chunk {kind!r} is cut off")
        is_critical = not kind[0] & 0x20
        if struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + content):
            yield kind, content, at
        elif is_critical:
            raise PngError(f"chunk {kind!r} has a wrong checksum")
        if kind == b"IEND":
            return
        at += 12 + size


def read_png_header(data: bytes) -> PngHeader:
    """Parses what stands before the pixels.

    Raises:
      PngError: there is no valid header.
    """
    header = None
    if not data.startswith(SIGNATURE):
        raise PngError("no PNG signature", in_header=True)
    try:
        for kind, content, at in _chunks(data, len(SIGNATURE)):
            if header is None:
                header = _parse_ihdr(kind, content)
            elif kind == b"PLTE" and header.color == PALETTE:
                if len(content) % 3 or len(content) > 3 * 256:
                    raise PngError("Invalid palette chunk", in_header=True)
                header.palette = np.frombuffer(content, np.uint8).reshape(-1, 3)
            elif kind == b"tRNS" and header.color in (GRAY, RGB, PALETTE):
                header.transparency = content
            elif kind == b"gAMA" and len(content) == 4:
                header.gamma = int.from_bytes(content, "big")
            elif kind == b"sRGB":
                header.gamma = _SRGB_GAMMA
            elif kind == b"IDAT":
                header.data_at = at
                break
    except PngError as e:
        e.in_header = True
        raise
    if header is None or not header.data_at or (header.color == PALETTE and header.palette is None):
        raise PngError("no pixels, or no palette before them", in_header=True)
    return header


def _parse_ihdr(kind: bytes, content: bytes) -> PngHeader:
    if kind != b"IHDR" or len(content) != 13:
        raise PngError("the first chunk is no header")
    width, height, depth, color, method, filters, interlace = struct.unpack(">IIBBBBB", content)
    valid = 0 < width < 2**31 and 0 < height < 2**31 and depth in _DEPTHS.get(color, ())
    if not valid or method or filters or interlace > 1:
        raise PngError("the header has values that PNG does not know")
    return PngHeader(width, height, depth, color, bool(interlace), None, None, 0, 0)


def decode_png(data: bytes, channels: int = 0, bits: int = 8, header: PngHeader | None = None) -> np.ndarray:
    """The pixels of a PNG file.

    Args:
      data: the file.
      channels: 1 to 4 as in `encode_png`; 0 takes the file's own.
      bits: 8 or 16 for each sample of the result.
      header: of `data`, where it is read already.

    Returns:
      uint8 or uint16 [height, width, channels].

    Raises:
      PngError: the file is damaged.
    """
    header = header or read_png_header(data)
    channels = channels or header.default_channels()
    samples = _samples(header, _inflated(header, data))
    color, alpha, depth = _colors_and_alpha(header, samples, wants_alpha=channels % 2 == 0)
    if channels < 3 and color.shape[2] == 3:
        color = _luma(color, header.gamma)
    elif channels >= 3 and color.shape[2] == 1:
        color = np.repeat(color, 3, 2)
    pixels = color if alpha is None else np.concatenate([color, alpha], 2)
    if depth == 16:
        return pixels if bits == 16 else (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * np.uint16(257) if bits == 16 else pixels


def _inflated(header: PngHeader, data: bytes) -> np.ndarray:
    parts = [content for kind, content, _ in _chunks(data, header.data_at) if kind == b"IDAT"]
    try:
        return np.frombuffer(zlib.decompressobj().decompress(b"".join(parts)), np.uint8)
    except zlib.error as e:
        raise PngError(str(e)) from None


def _samples(header: PngHeader, data: np.ndarray) -> np.ndarray:
    """The stored samples [height, width, samples], in the bits of the file."""
    wide = np.uint16 if header.depth == 16 else np.uint8
    image = np.zeros((header.height, header.width, _SAMPLES[header.color]), wide)
    at = 0
    for row, column, row_step, column_step in _ADAM7 if header.interlaced else ((0, 0, 1, 1),):
        part = image[row::row_step, column::column_step]
        if part.size:
            part[...], at = _pass(header, data, at, part.shape)
    return image


def _pass(header: PngHeader, data: np.ndarray, at: int, shape: tuple) -> tuple[np.ndarray, int]:
    """The samples of one pass over the image, which stands at `at`, and the place behind it."""
    height, width, samples = shape
    line = (width * samples * header.depth + 7) // 8
    end = at + height * (line + 1)
    if end > data.size:
        raise PngError("not enough image data")
    rows = data[at:end].reshape(height, line + 1)
    if rows[:, 0].max() > 4:
        raise PngError("a row has an unknown filter")
    step = max(1, samples * header.depth // 8)
    rows = _unfiltered(rows[:, 0], rows[:, 1:], step)
    if header.depth == 16:
        rows = rows.reshape(-1).view(">u2").astype(np.uint16)
    elif header.depth < 8:
        shifts = np.arange(8 - header.depth, -1, -header.depth, dtype=np.uint8)
        rows = (rows[:, :, None] >> shifts) & np.uint8((1 << header.depth) - 1)
        rows = rows.reshape(height, -1)[:, : width * samples]
    return rows.reshape(shape), end


def _unfiltered(filters: np.ndarray, rows: np.ndarray, step: int) -> np.ndarray:
    """Rows as they were before filtering.

    A pixel depends on its left, upper and upper left neighbours. Those on one diagonal do not depend on each other, so
    they are computed together: `sheared[d + 2, r + 1]` is pixel `d - r` of row `r`.
    """
    if not filters.any():
        return rows
    height, width = len(rows), rows.shape[1] // step
    sheared = np.zeros((width + height + 1, height + 1, step), np.uint8)
    row, column = np.arange(height)[:, None], np.arange(width)[None]
    sheared[row + column + 2, row + 1] = rows.reshape(height, width, step)
    numbers = [(n, np.flatnonzero(filters == n)) for n in range(1, 5) if (filters == n).any()]
    for d in range(2, width + height + 1):
        for number, where in numbers:
            first, last = np.searchsorted(where, (d - 1 - width, d - 1))
            at = where[first:last]
            if at.size:
                before = sheared[d - 1]
                sheared[d, at + 1] += _prediction(number, before[at + 1], before[at], sheared[d - 2, at])
    return np.ascontiguousarray(sheared[row + column + 2, row + 1]).reshape(height, -1)


def _colors_and_alpha(header: PngHeader, samples: np.ndarray, wants_alpha: bool) -> tuple:
    """(gray or RGB, alpha or None, bits of each)."""
    depth, highest = header.depth, (1 << header.depth) - 1
    alpha = None
    if header.color in (GRAY_ALPHA, RGB_ALPHA):
        color, alpha = samples[:, :, :-1], samples[:, :, -1:]
    elif header.color == PALETTE:
        table = np.zeros((256, 3), np.uint8)
        table[: len(header.palette)] = header.palette[:256]
        color, depth = table[samples[:, :, 0]], 8
        if header.transparency is not None:
            opacity = np.full(256, 255, np.uint8)
            opacity[: len(header.transparency)] = np.frombuffer(header.transparency, np.uint8)[:256]
            alpha = opacity[samples]
    else:
        color = samples
        if header.transparency is not None:
            alpha = _keyed_alpha(header, samples)
        if depth < 8:
            color, depth = color * np.uint8(255 // highest), 8
    if not wants_alpha:
        return color, None, depth
    return color, np.full_like(color[:, :, :1], highest) if alpha is None else alpha, depth


def _keyed_alpha(header: PngHeader, samples: np.ndarray) -> np.ndarray:
    """Zero where all samples are those of the transparent colour."""
    count = samples.shape[2]
    if len(header.transparency) < 2 * count:
        raise PngError("the transparent colour is cut off")
    key = np.frombuffer(header.transparency, ">u2", count) & ((1 << header.depth) - 1)
    opaque = np.array((1 << max(header.depth, 8)) - 1, samples.dtype)
    return np.where((samples == key).all(2, keepdims=True), samples.dtype.type(0), opaque)


def _luma(color: np.ndarray, gamma: int) -> np.ndarray:
    """Gray, mixed in linear light where the file says its gamma, in 100000ths."""
    is_curved = bool(gamma) and not 95000 <= gamma <= 105000
    linear = _curve(color, 1e10 // gamma / 1e5) if is_curved else color
    red, green, blue = (linear[:, :, i].astype(np.uint32) for i in range(3))
    half = np.uint32(16384 if is_curved or color.dtype == np.uint16 else 0)
    gray = ((_LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue + half) >> 15).astype(color.dtype)
    if is_curved:
        is_gray = (color == color[:, :, :1]).all(2)
        gray = np.where(is_gray, color[:, :, 0], _curve(gray, gamma / 1e5))
    return gray[:, :, None]


def _curve(samples: np.ndarray, power: float) -> np.ndarray:
    most = np.iinfo(samples.dtype).max
    table = np.floor(most * (np.arange(most + 1) / most) ** power + 0.5).astype(samples.dtype)
    return table[samples]
