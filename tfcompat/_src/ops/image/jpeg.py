"""JPEG files through libjpeg-turbo (packages simplejpeg and Pillow), with the choices that TensorFlow 1.15 makes."""

from __future__ import annotations

import importlib
import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

_END = b"\xff\xd9"
_MOST_PIXELS = 2**29
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE_MARKERS = frozenset((0xC2, 0xC6, 0xCA, 0xCE))
_SCAN_MARKER = 0xDA
_ALONE = frozenset((0x01, *range(0xD0, 0xD8)))
_WARNINGS = (
    "Corrupt JPEG data", "Premature end", "Unknown Adobe", "Warning:", "Inconsistent progression", "Invalid SOS parameters",
)  # fmt: skip
"""How libjpeg's messages begin after which it goes on."""
_XMP_NAMESPACE = b"http://ns.adobe.com/xap/1.0/\0"


class JpegError(ValueError):
    """Bytes that are no JPEG file, or a window that is not inside the image."""


def _required(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"JPEG needs the package that has {module!r}: pip install 'tfcompat[image]'") from e


@dataclass
class JpegHeader:
    """Size of the image, its components, and whether it is progressive and an Adobe marker stands in the file."""

    height: int
    width: int
    components: int
    is_progressive: bool
    has_adobe_marker: bool = False


def read_jpeg_header(data: bytes) -> JpegHeader:
    """Parses the markers before the pixels.

    Raises:
      JpegError: there is no frame header, or none of a scan behind it.
    """
    at, has_adobe_marker, found = 2, False, None
    while data[:2] == b"\xff\xd8" and at + 4 <= len(data):
        if data[at] != 0xFF:
            at += 1
            continue
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _ALONE:
            at += 2
            continue
        size = struct.unpack_from(">H", data, at + 2)[0]
        if marker in _FRAME_MARKERS and at + 10 <= len(data):
            height, width, components = struct.unpack_from(">HHB", data, at + 5)
            if not height or not width or components not in (1, 3, 4):
                break
            found = JpegHeader(height, width, components, marker in _PROGRESSIVE_MARKERS)
        if marker == 0xEE and data[at + 4 : at + 9] == b"Adobe":
            has_adobe_marker = True
        at += 2 + size
        if marker == _SCAN_MARKER and found is not None and at <= len(data):
            found.has_adobe_marker = has_adobe_marker
            return found
    raise JpegError("no header of a frame and of a scan")


def decode_jpeg(
    data: bytes, channels: int, ratio: int, fancy_upscaling: bool, try_recover_truncated: bool,
    acceptable_fraction: float, accurate: bool,
) -> np.ndarray:  # fmt: skip
    """The pixels of a JPEG file.

    Args:
      data: the file.
      channels: 1 (gray), 3 (RGB), or 0 for the file's own.
      ratio: 1, 2, 4 or 8: by how much the image is scaled down.
      fancy_upscaling: whether chroma is interpolated.
      try_recover_truncated: whether a file that is cut off is filled up.
      acceptable_fraction: of the lines that must be there, otherwise.
      accurate: whether the slower, more accurate transform is used.

    Returns:
      uint8 [height, width, channels].

    Raises:
      JpegError: the file is damaged. ImportError: simplejpeg is not installed.
    """
    header = read_jpeg_header(data)
    if -(-header.height // ratio) * -(-header.width // ratio) >= _MOST_PIXELS:
        raise JpegError(f"Image too large: {header.height} by {header.width}")
    channels = channels or min(header.components, 3)
    is_cmyk = header.components == 4
    if is_cmyk and channels == 1:
        raise JpegError("four colours do not become gray")
    options = dict(
        colorspace="CMYK" if is_cmyk else "GRAY" if channels == 1 else "RGB",
        fastdct=not accurate, fastupsample=not fancy_upscaling, **_scaling(header, ratio),
    )  # fmt: skip
    try:
        pixels = _decoded(data, options, try_recover_truncated, 1.0 if header.is_progressive else acceptable_fraction)
    except JpegError:
        if not is_cmyk:
            raise
        pixels = _four_colors(data, ratio)
    return _rgb_of_cmyk(pixels, header.has_adobe_marker) if is_cmyk else pixels


def _four_colors(data: bytes, ratio: int) -> np.ndarray:
    """The stored inks of an image whose subsampling simplejpeg does not know, by the accurate transform."""
    if ratio != 1:
        raise NotImplementedError(f"tfcompat has no DecodeJpeg with ratio={ratio} of this image of four colours.")
    image = _required("PIL.Image")
    try:
        picture = image.open(io.BytesIO(data), formats=["JPEG"])
        return 255 - np.asarray(picture)
    except (OSError, SyntaxError) as e:
        raise JpegError(str(e)) from None


def _decoded(data: bytes, options: dict, recovers: bool, acceptable_fraction: float) -> np.ndarray:
    decode = _required("simplejpeg").decode_jpeg
    is_closed = _END in data[-64:]
    closed = data if is_closed else data + _END
    if not is_closed and not recovers and acceptable_fraction < 1:
        raise NotImplementedError("tfcompat has no DecodeJpeg of a truncated file with acceptable_fraction below 1.")
    if not is_closed and (data.endswith(b"\xff") or not recovers):
        raise JpegError("the file is cut off")
    try:
        return decode(closed, strict=True, **options)
    except ValueError as e:
        if not str(e).startswith(_WARNINGS):
            raise JpegError(str(e)) from None
    try:
        return decode(closed, strict=False, **options)
    except ValueError as e:
        raise JpegError(str(e)) from None


def _scaling(header: JpegHeader, ratio: int) -> dict[str, int]:
    if ratio == 1:
        return {}
    sizes = (header.height, header.width)
    wanted = tuple(-(-n // ratio) for n in sizes)
    eighths = 8 // ratio
    if eighths > 1 and tuple(-(-n * (eighths - 1) // 8) for n in sizes) == wanted:
        raise NotImplementedError(f"tfcompat has no DecodeJpeg with ratio={ratio} of an image as small as {sizes}.")
    return {"min_height": wanted[0], "min_width": wanted[1], "min_factor": ratio}


def _rgb_of_cmyk(pixels: np.ndarray, is_inverted: bool) -> np.ndarray:
    ink = pixels.astype(np.int32)
    if not is_inverted:
        ink = 255 - ink
    return (ink[..., :3] * ink[..., 3:] // 255).astype(np.uint8)


def encode_jpeg(
    image: np.ndarray, quality: int, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: bytes = b"",
) -> bytes:  # fmt: skip
    """An image as the bytes of a JPEG file.

    Args:
      image: uint8 [height, width, channels] with 1 (gray) or 3 (RGB) channels.
      quality: 0 to 100.
      progressive: whether the file holds the image in growing detail.
      optimize_size: whether its Huffman codes are computed for this image.
      chroma_downsampling: whether chroma is stored in half the resolution.
      density_unit, x_density, y_density: "in" or "cm", and pixels for each of them.
      xmp_metadata: stored in the file, if not empty.

    Raises:
      ImportError: Pillow is not installed.
    """
    picture = _required("PIL.Image").fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    target = io.BytesIO()
    options = {} if image.shape[2] == 1 else {"subsampling": "4:2:0" if chroma_downsampling else "4:4:4"}
    picture.save(
        target, "JPEG", quality=max(quality, 1), progressive=progressive, optimize=optimize_size, dpi=(1, 1), **options,
    )  # fmt: skip
    found = bytearray(target.getvalue())
    struct.pack_into(">BHH", found, 13, 1 if density_unit == "in" else 2, x_density & 0xFFFF, y_density & 0xFFFF)
    if xmp_metadata:
        packet = _XMP_NAMESPACE + xmp_metadata
        found[20:20] = b"\xff\xe1" + struct.pack(">H", len(packet) + 2) + packet
    return bytes(found)
