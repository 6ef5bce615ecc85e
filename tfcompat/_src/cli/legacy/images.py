"""The image functions of `scipy.misc`, removed in SciPy 1.2 and 1.3, on Pillow."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

RESAMPLING = {
    "nearest": "NEAREST",
    "lanczos": "LANCZOS",
    "bilinear": "BILINEAR",
    "bicubic": "BICUBIC",
    "cubic": "BICUBIC",
}


def pillow() -> ModuleType:
    """The module PIL.Image.

    Raises:
      ImportError: Pillow is not installed.
    """
    try:
        return importlib.import_module("PIL.Image")
    except ImportError as error:
        raise ImportError("scipy.misc's image functions need Pillow: pip install Pillow") from error


def bytescale(data: object, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> np.ndarray:
    """`data` as uint8: [cmin, cmax] (its own range if None) is stretched to [low, high]; uint8 stays as it is."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError("`low` and `high` must keep to 0 <= low <= high <= 255")
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    if cmax < cmin:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scale = float(high - low) / (float(cmax) - float(cmin) or 1.0)
    return (np.clip((data - cmin) * scale + low, low, high) + 0.5).astype(np.uint8)


def toimage(arr: object, high: int = 255, low: int = 0, cmin: object = None, cmax: object = None, **options: object) -> Any:
    """A Pillow image of an array [rows, columns], [rows, columns, 3 or 4] or with those channels first."""
    if options:
        raise NotImplementedError(f"tfcompat has no scipy.misc.toimage with the arguments {sorted(options)}.")
    data = bytescale(np.asarray(arr), cmin, cmax, high, low)
    if data.ndim == 3 and data.shape[2] not in (3, 4) and data.shape[0] in (3, 4):
        data = np.moveaxis(data, 0, 2)
    if data.ndim != 2 and (data.ndim != 3 or data.shape[2] not in (3, 4)):
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    return pillow().fromarray(data)


def imread(name: object, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The pixels of an image file: [rows, columns] or [rows, columns, channels], float32 if `flatten`."""
    with pillow().open(name) as image:
        if mode is not None and mode != image.mode:
            image = image.convert(mode)
        elif image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        if flatten:
            image = image.convert("F")
        elif image.mode == "1":
            image = image.convert("L")
        return np.array(image)


def imsave(name: object, arr: object, format: str | None = None) -> None:
    """Writes an array as an image file; values are stretched to 0..255 unless they are uint8."""
    toimage(arr).save(name, format)


def imresize(arr: object, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """An array as an image of another size: a percentage (int), a factor (float) or (rows, columns)."""
    image = toimage(arr)
    if mode is not None:
        image = image.convert(mode)
    if isinstance(size, (int, np.integer)):
        columns, rows = (int(side * (size / 100.0)) for side in image.size)
    elif isinstance(size, (float, np.floating)):
        columns, rows = (int(side * size) for side in image.size)
    else:
        rows, columns = size[:2]
    return np.array(image.resize((columns, rows), resample=getattr(pillow().Resampling, RESAMPLING[interp])))


def imrotate(arr: object, angle: float, interp: str = "bilinear") -> np.ndarray:
    """An array as an image turned counter-clockwise by `angle` degrees."""
    filters = pillow().Resampling
    return np.array(toimage(arr).rotate(angle, resample=getattr(filters, RESAMPLING[interp])))


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The pixels of a Pillow image."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    return np.array(im.convert("F") if flatten else im)


def imshow(arr: object) -> None:
    """Shows an array as an image, in the viewer that Pillow finds."""
    toimage(arr).show()


def imfilter(arr: object, ftype: str) -> np.ndarray:
    """An array as an image that went through one of Pillow's filters ("blur", "sharpen", ...).

    Raises:
      ValueError: there is no filter of that name.
    """
    kind = getattr(importlib.import_module("PIL.ImageFilter"), ftype.upper(), None)
    if kind is None:
        raise ValueError("Unknown filter type.")
    return np.array(toimage(arr).filter(kind))
