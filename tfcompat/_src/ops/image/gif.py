"""GIF files: bytes to frames, in Python and NumPy. Format: CompuServe, "Graphics Interchange Format, Version 89a"."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_LARGEST_CODE_SIZE = 12


class GifError(ValueError):
    """Bytes that are no GIF file, or one that cannot be shown."""


@dataclass
class _Frame:
    left: int
    top: int
    pixels: np.ndarray
    palette: np.ndarray | None


class _Reader:
    """The bytes of a file, one field after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise GifError("failed to slurp gif file: Failed to read from given file")
        self.at += count
        return found

    def byte(self) -> int:
        return self.take(1)[0]

    def palette(self, flags: int) -> np.ndarray | None:
        if not flags & 0x80:
            return None
        count = 2 << (flags & 7)
        return np.frombuffer(self.take(3 * count), np.uint8).reshape(count, 3)

    def blocks(self) -> bytes:
        """The content of sub-blocks up to the empty one."""
        parts = []
        while size := self.byte():
            parts.append(self.take(size))
        return b"".join(parts)


def decode_gif(data: bytes) -> np.ndarray:
    """All frames of a GIF file.

    The canvas is as large as the largest frame; a frame that does not fill it stands on the frame before.

    Args:
      data: the file.

    Returns:
      uint8 [frames, height, width, 3].

    Raises:
      GifError: the file is damaged, or its first frame does not fill the canvas.
    """
    if data[:3] != b"GIF" or len(data) < 13:
        raise GifError("failed to open gif file: Data is not in GIF format")
    reader = _Reader(data)
    reader.take(10)
    flags = reader.byte()
    reader.take(2)
    shared = reader.palette(flags)
    frames = _read_frames(reader)
    if not frames:
        raise GifError("gif file does not contain any image")
    height, width = (max(f.pixels.shape[i] for f in frames) for i in (0, 1))
    canvas = np.zeros((len(frames), height, width, 3), np.uint8)
    for k, frame in enumerate(frames):
        _draw(canvas, k, frame, shared)
    return canvas


def _draw(canvas: np.ndarray, k: int, frame: _Frame, shared: np.ndarray | None) -> None:
    height, width = canvas.shape[1:3]
    if frame.left or frame.top or frame.pixels.shape != (height, width):
        if k == 0:
            raise GifError("the first frame does not fill the canvas")
        canvas[k] = canvas[k - 1]
    palette = shared if frame.palette is None else frame.palette
    if palette is None:
        raise GifError(f"missing color map for frame {k}")
    shown = frame.pixels[: max(height - frame.top, 0), : max(width - frame.left, 0)]
    if shown.size:
        if shown.max() >= len(palette):
            raise GifError(f"found color index {shown.max()} outside of color map range {len(palette)}")
        rows, columns = shown.shape
        canvas[k, frame.top : frame.top + rows, frame.left : frame.left + columns] = palette[shown]


def _read_frames(reader: _Reader) -> list[_Frame]:
    frames = []
    while (kind := reader.byte()) != _TRAILER:
        if kind == _EXTENSION:
            reader.byte()
            reader.blocks()
        elif kind == _IMAGE:
            frames.append(_read_frame(reader))
        else:
            raise GifError("failed to slurp gif file: Wrong record type detected")
    return frames


def _read_frame(reader: _Reader) -> _Frame:
    left, top, width, height, flags = struct.unpack("<HHHHB", reader.take(9))
    palette = reader.palette(flags)
    code_size = reader.byte()
    if code_size > 8:
        raise GifError("failed to slurp gif file: Image is defective, decoding aborted")
    if not width or not height:
        raise GifError("failed to slurp gif file: an image without pixels")
    pixels = _decompressed(reader.blocks(), code_size, width * height).reshape(height, width)
    if flags & 0x40:
        order = [row for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for row in range(first, height, step)]
        interlaced, pixels = pixels, np.empty_like(pixels)
        pixels[order] = interlaced
    return _Frame(left, top, pixels, palette)


def _decompressed(data: bytes, code_size: int, count: int) -> np.ndarray:
    """The first `count` bytes of an LZW stream."""
    clear, end = 1 << code_size, (1 << code_size) + 1
    roots = [bytes([i]) for i in range(clear)] + [b"", b""]
    table, width, previous = roots.copy(), code_size + 1, None
    found, have = [], 0
    held, bits = 0, 0
    source = iter(data)
    while have < count:
        while bits < width:
            byte = next(source, None)
            if byte is None:
                raise GifError("failed to slurp gif file: Image EOF detected before image complete")
            held |= byte << bits
            bits += 8
        code = held & ((1 << width) - 1)
        held >>= width
        bits -= width
        if code == clear:
            table, width, previous = roots.copy(), code_size + 1, None
            continue
        if code == end:
            raise GifError("failed to slurp gif file: Image EOF detected before image complete")
        entry = _entry(table, code, previous)
        if previous is not None and len(table) < 1 << _LARGEST_CODE_SIZE:
            table.append(previous + entry[:1])
            if len(table) == 1 << width and width < _LARGEST_CODE_SIZE:
                width += 1
        found.append(entry)
        have += len(entry)
        previous = entry
    return np.frombuffer(b"".join(found)[:count], np.uint8)


def _entry(table: list[bytes], code: int, previous: bytes | None) -> bytes:
    """What `code` stands for: known, or the entry that it makes itself."""
    if code < len(table):
        return table[code]
    if previous is None or code > len(table):
        raise GifError("failed to slurp gif file: Image is defective, decoding aborted")
    return previous + previous[:1]
