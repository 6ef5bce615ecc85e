"""The op types of image files: JPEG, PNG, GIF and BMP."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.image import gif, jpeg, png

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.graph.shape_inference import InferenceContext

_NO_GRADIENT = NotDifferentiable("image files are not differentiable", raises=True)
_JPEG_ATTRS = (
    "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False, "
    'acceptable_fraction: float = 1.0, dct_method: string = ""'
)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _scalar_bytes(contents: Any) -> bytes:
    if contents.ndim:
        raise _invalid(f"contents must be scalar, got shape {shape_text(contents.shape)}")
    return contents[()]


# ---- static shapes ----


def _channel_count(c: InferenceContext) -> int | None:
    if c.attr("channels") < 0:
        raise ValueError(f"channels must be non-negative, got {c.attr('channels')}")
    return c.attr("channels") or None


def _decoded_shape(c):
    si.with_rank(c.inputs[0], 0)
    return [(None, None, _channel_count(c))]


def _cropped_shape(c):
    si.with_rank(c.inputs[0], 0)
    si.with_size(si.with_rank(c.inputs[1], 1)[0], 4)
    window = c.value(1)
    height, width = (None, None) if window is None else (int(window[2]), int(window[3]))
    return [(height, width, _channel_count(c))]


def _fixed_shape(*sizes: int | None) -> Callable:
    def shape(c):
        si.with_rank(c.inputs[0], 0)
        return [sizes]

    return shape


def _encoded_shape(c):
    si.with_rank(c.inputs[0], 3)
    return [()]


# ---- decoding ----


def _format_of(data: bytes) -> str:
    for start, name in ((b"\xff\xd8\xff", "JPEG"), (png.SIGNATURE, "PNG"), (b"GIF8", "GIF")):
        if data.startswith(start):
            return name
    found = f"unknown format starting with '{_escaped(data[:16])}'" if data else "empty file"
    raise _invalid(f"Expected image (JPEG, PNG, or GIF), got {found}")


def _escaped(data: bytes) -> str:
    named = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data)


def _decode(
    contents: object, channels: int, dtype: Any = np.uint8, window: Any = None, many_frames: bool = False, **jpeg_options: Any,
) -> np.ndarray:  # fmt: skip
    """The image in a file of any of the three formats, whichever op decodes it; GIF ops give four dimensions."""
    if channels not in (0, 1, 3, 4):
        raise _invalid(f"channels must be 0, 1, 3, or 4, got {channels}")
    data = _scalar_bytes(contents)
    found = _format_of(data)
    if found != "PNG" and dtype != np.uint8:
        raise _invalid(f"{found} does not support uint16 output")
    if found == "GIF":
        return _decode_gif(data, channels, many_frames)
    pixels = _decode_png(data, channels, dtype) if found == "PNG" else _decode_jpeg(data, channels, window, **jpeg_options)
    return pixels[None] if many_frames else pixels


def _decode_png(data: bytes, channels: int, dtype: Any) -> np.ndarray:
    try:
        header = png.read_png_header(data)
        if header.width >= 2**27 or header.height >= 2**27 or header.width * header.height >= 2**29:
            raise _invalid(f"PNG size too large for int: {header.width} by {header.height}")
        return png.decode_png(data, channels, np.dtype(dtype).itemsize * 8, header)
    except png.PngError as e:
        what = "Invalid PNG header, data size" if e.in_header else "Invalid PNG data, size"
        raise _invalid(f"{what} {len(data)} ({e})") from None


def _decode_gif(data: bytes, channels: int, many_frames: bool) -> np.ndarray:
    if channels not in (0, 3):
        raise _invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    try:
        frames = gif.decode_gif(data)
    except gif.GifError as e:
        raise _invalid(f"Invalid GIF data (size {len(data)}), {e}") from None
    if many_frames:
        return frames
    if len(frames) != 1:
        raise _invalid(
            f"Got {len(frames)} frames, but animated gifs can only be decoded by tf.image.decode_gif or tf.image.decode_image"
        )
    return frames[0]


def _decode_jpeg(
    data: bytes, channels: int, window: Any, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1.0, dct_method: str = "",
) -> np.ndarray:  # fmt: skip
    if channels == 4:
        raise _invalid("channels must be 0, 1, or 3 for JPEG, got 4")
    if ratio not in (1, 2, 4, 8):
        raise _invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    if dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise _invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    try:
        pixels = jpeg.decode_jpeg(
            data, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction,
            dct_method == "INTEGER_ACCURATE",
        )  # fmt: skip
        return pixels if window is None else _window_of(pixels, window)
    except jpeg.JpegError as e:
        raise _invalid(f"Invalid JPEG data or crop window, data size {len(data)} ({e})") from None


def _window_of(pixels: np.ndarray, window: np.ndarray) -> np.ndarray:
    if window.ndim != 1:
        raise _invalid(f"crop_window must be 1-D, got shape {shape_text(window.shape)}")
    if len(window) != 4:
        raise _invalid(f"crop_size must have four elements {shape_text(window.shape)}")
    y, x, height, width = (int(n) for n in window)
    if y < 0 or x < 0 or height <= 0 or width <= 0 or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
        raise jpeg.JpegError(f"the window {window.tolist()} is not inside the image {list(pixels.shape)}")
    return np.ascontiguousarray(pixels[y : y + height, x : x + width])


@op(
    "DecodeJpeg", f"(contents: string, *, {_JPEG_ATTRS}) -> (image: uint8)", shape=_decoded_shape, gradient=_NO_GRADIENT,
    side=HOST,
)  # fmt: skip
def _decode_jpeg_kernel(
    contents, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
):
    return _decode(
        contents, channels, ratio=ratio, fancy_upscaling=fancy_upscaling, try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction, dct_method=dct_method,
    )  # fmt: skip


@op(
    "DecodeAndCropJpeg", f"(contents: string, crop_window: int32, *, {_JPEG_ATTRS}) -> (image: uint8)",
    shape=_cropped_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_and_crop_jpeg(
    contents, window, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
):
    return _decode(
        contents, channels, window=window, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction, dct_method=dct_method,
    )  # fmt: skip


@op(
    "DecodePng", "(contents: string, *, channels: int = 0, dtype: {uint8, uint16} = uint8) -> (image: dtype)",
    shape=_decoded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_png_kernel(contents, *, channels, dtype):
    return _decode(contents, channels, dtype)


op(
    "DecodeGif", "(contents: string) -> (image: uint8)", shape=_fixed_shape(None, None, None, 3), gradient=_NO_GRADIENT,
    side=HOST, kernel=lambda contents: _decode(contents, 3, many_frames=True),
)  # fmt: skip


@op(
    "DecodeBmp", "(contents: string, *, channels: int = 0) -> (image: uint8)", shape=_decoded_shape, gradient=_NO_GRADIENT,
    side=HOST,
)  # fmt: skip
def _decode_bmp(contents, *, channels):
    if channels not in (0, 1, 3, 4):
        raise _invalid(f"channels must be 0, 1, 3 or 4, got {channels}")
    data = _scalar_bytes(contents)
    if len(data) < 32:
        text = "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp"
        raise _invalid(f"{text}, got {len(data)} bytes")
    start, _, width, height, _, bits = struct.unpack_from("<iiiihh", data, 10)
    if channels and channels != bits // 8:
        raise _invalid(f"channels attribute {channels} does not match bits per pixel from file {bits // 8}")
    channels = bits // 8
    if channels not in (1, 3, 4):
        raise _invalid(f"Number of channels must be 1, 3 or 4, was {channels}")
    for ok, text in ((width > 0, "Width must be positive"), (height != 0, "Height must be nonzero"),
                     (start >= 0, "header size must be nonnegative"),
                     (width * abs(height) < (2**31 - 1) // 8, "Total possible pixel bytes must be less than 2^30")):  # fmt: skip
        if not ok:
            raise _invalid(text)
    line, rows = (channels * width + 3) // 4 * 4, abs(height)
    needed = start + (rows - 1) * line + width * channels
    if len(data) < needed:
        raise _invalid(f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes")
    padded = np.zeros(rows * line, np.uint8)
    stored = np.frombuffer(data[start : start + rows * line], np.uint8)
    padded[: len(stored)] = stored
    pixels = padded.reshape(rows, line)[:, : width * channels].reshape(rows, width, channels)
    pixels = pixels if height < 0 else pixels[::-1]
    return np.ascontiguousarray(pixels[:, :, {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]])


@op(
    "ExtractJpegShape", "(contents: string, *, output_type: INDEX = int32) -> (image_shape: output_type)",
    shape=_fixed_shape(3), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _extract_jpeg_shape(contents, *, output_type):
    data = _scalar_bytes(contents)
    try:
        header = jpeg.read_jpeg_header(data)
    except jpeg.JpegError as e:
        raise _invalid(f"Invalid JPEG data, size {len(data)} ({e})") from None
    return np.array([header.height, header.width, header.components], output_type)


# ---- encoding ----


def _require_image(image: Any) -> None:
    if image.ndim != 3:
        raise _invalid(f"image must be 3-dimensional{shape_text(image.shape)}")


def _jpeg_bytes(image: Any, quality: int, **options: Any) -> np.ndarray:
    if not 0 <= quality <= 100:
        raise _invalid(f"quality must be in [0,100], got {quality}")
    if not image.size:
        raise errors.InternalError(None, None, "JPEG encoding failed")
    return np.array(jpeg.encode_jpeg(image, quality, **options), object)


@op(
    "EncodeJpeg",
    '(image: uint8, *, format: {"", "grayscale", "rgb"} = "", quality: int = 95, progressive: bool = False, '
    'optimize_size: bool = False, chroma_downsampling: bool = True, density_unit: {"in", "cm"} = "in", '
    'x_density: int = 300, y_density: int = 300, xmp_metadata: string = "") -> (contents: string)',
    shape=_encoded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _encode_jpeg(
    image, *, format, quality, progressive, optimize_size, chroma_downsampling, density_unit, x_density, y_density,
    xmp_metadata,
):  # fmt: skip
    _require_image(image)
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[format]
    if image.shape[2] not in wanted:
        shape = shape_text(image.shape)
        if not format:
            raise _invalid(f"image must have 1 or 3 channels, got {shape}")
        raise _invalid(f"format {format} expects {wanted[0]} channels, got {shape}")
    return _jpeg_bytes(
        image, quality, progressive=progressive, optimize_size=optimize_size, chroma_downsampling=chroma_downsampling,
        density_unit=density_unit, x_density=x_density, y_density=y_density, xmp_metadata=xmp_metadata.encode(),
    )  # fmt: skip


@op(
    "EncodeJpegVariableQuality", "(images: uint8, quality: int32) -> (contents: string)", shape=_encoded_shape,
    gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _encode_jpeg_variable_quality(image, quality):
    _require_image(image)
    if quality.ndim:
        raise _invalid(f"quality must be scalar: {shape_text(quality.shape)}")
    if image.shape[2] not in (1, 3):
        raise _invalid(f"image must have 1 or 3 channels, got {shape_text(image.shape)}")
    return _jpeg_bytes(image, int(quality))


@op(
    "EncodePng", "(image: T, *, compression: int = -1, T: {uint8, uint16} = uint8) -> (contents: string)",
    shape=_encoded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _encode_png(image, *, compression):
    if not -1 <= compression <= 9:
        raise _invalid(f"compression should be in [-1,9], got {compression}")
    _require_image(image)
    if not 1 <= image.shape[2] <= 4:
        raise _invalid(f"image must have 1, 2, 3, or 4 channels, got {image.shape[2]}")
    if not image.size:
        raise errors.InternalError(None, None, "PNG encoding failed")
    return np.array(png.encode_png(image, compression), object)


# ---- public functions ----


@export("image.decode_jpeg", "io.decode_jpeg")
def decode_jpeg(
    contents: TensorLike, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG file (or PNG file, or GIF file of one frame).

    Args:
      contents: scalar string.
      channels: 0 (the file's own), 1 or 3.
      ratio: 1, 2, 4 or 8: by how much the image is scaled down.
      fancy_upscaling: whether chroma is interpolated.
      try_recover_truncated: whether a file that is cut off is filled up.
      acceptable_fraction: of lines that must be there.
      dct_method: "", "INTEGER_FAST" or "INTEGER_ACCURATE".
      name: node name.

    Returns:
      uint8 [height, width, channels].

    Raises:
      InvalidArgumentError: when run, for bytes that are no image. ImportError: the extra [image] is not installed.
    """
    return raw.DecodeJpeg(
        contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction, dct_method=dct_method,
        name=name,
    )  # fmt: skip


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: TensorLike, crop_window: TensorLike, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1.0, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """`decode_jpeg` of the window `crop_window` = [y, x, height, width], int32."""
    return raw.DecodeAndCropJpeg(
        contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction, dct_method=dct_method,
        name=name,
    )  # fmt: skip


@export("image.decode_png", "io.decode_png")
def decode_png(contents: TensorLike, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None) -> Tensor:
    """The pixels of a PNG file as uint8 or uint16 [height, width, channels]; `channels` is 0 (its own), 1, 3 or 4."""
    return raw.DecodePng(contents, channels=channels, dtype=dtype, name=name)


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """The frames of a GIF file, uint8 [frames, height, width, 3]."""
    return raw.DecodeGif(contents, name=name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of an uncompressed BMP file, uint8 [height, width, channels]; `channels` is 0 (its own), 1, 3 or 4."""
    return raw.DecodeBmp(contents, channels=channels, name=name)


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file, without decoding it."""
    return raw.ExtractJpegShape(contents, output_type=output_type, name=name)


@export("image.encode_jpeg", "io.encode_jpeg")
def encode_jpeg(
    image: TensorLike, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The bytes of a JPEG file.

    Args:
      image: uint8 [height, width, channels].
      format: "" (by the channels), "grayscale" or "rgb".
      quality: 0 to 100.
      progressive: whether the file holds the image in growing detail.
      optimize_size: whether its codes are computed for this image.
      chroma_downsampling: whether chroma is stored in half the resolution.
      density_unit, x_density, y_density: "in" or "cm", and pixels for each of them.
      xmp_metadata: stored in the file, if not empty.
      name: node name.

    Returns:
      scalar string.
    """
    return raw.EncodeJpeg(
        image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density,
        xmp_metadata=xmp_metadata, name=name,
    )  # fmt: skip


@export("image.encode_png")
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """The bytes of a PNG file with the image uint8 or uint16 [height, width, 1 to 4]; `compression` is -1 to 9."""
    return raw.EncodePng(image, compression=compression, name=name)
