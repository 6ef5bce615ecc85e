"""The op types that cut parts out of images at places that are data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, RANDOM, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.image.rounding import product, round_half_away
from tfcompat._src.ops.image.sizes import sized_image
from tfcompat._src.ops.random.words import Words

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_F = np.float32
_TYPES = "{uint8, uint16, int8, int16, int32, int64, float16, float32, float64}"
_NONE = NotDifferentiable("1.15 has no gradient of this one", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- CropAndResize ----


def _crops_shape(c):
    image = si.with_rank(c.inputs[0], 4)
    boxes = si.with_rank(c.inputs[1], 2)
    count = si.merge_size(boxes[0], si.with_rank(c.inputs[2], 1)[0])
    si.with_size(boxes[1], 4)
    return sized_image(c, count, 3, image[3])


def _crop_and_resize_gradient(op, g):
    image, boxes, box_index = op.inputs[:3]
    by_image = None
    sizes = image.shape.as_list() if image.shape.is_fully_defined() else raw.Shape(image)
    if image.dtype.base_dtype.name in ("float16", "float32", "float64"):
        by_image = raw.CropAndResizeGradImage(
            g, boxes, box_index, sizes, T=op.get_attr("T"), method=op.get_attr("method")
        )
    return [by_image, raw.CropAndResizeGradBoxes(g, image, boxes, box_index), None, None]


def _require_boxes(boxes: Any, box_index: Any, batch: int) -> None:
    if boxes.ndim != 2:
        raise _invalid(f"boxes must be 2-D{shape_text(boxes.shape)}")
    if boxes.shape[1] != 4:
        raise _invalid("boxes must have 4 columns")
    if box_index.ndim != 1:
        raise _invalid(f"box_index must be 1-D{shape_text(box_index.shape)}")
    if len(box_index) != len(boxes):
        raise _invalid("box_index has incompatible shape")
    checks.require(jnp.all(jnp.isfinite(boxes)), "boxes must be finite")
    inside = jnp.all((box_index >= 0) & (box_index < batch))
    checks.require(inside, "box_index has values outside [0, batch_size)", error=errors.OutOfRangeError)


def _require_sizes(sizes: Any, text: str) -> None:
    if min(sizes) <= 0:
        raise _invalid(text)


def _places(first: Any, last: Any, size: int, out: int, divides_first: bool) -> tuple[Any, Any]:
    """The input coordinates [boxes, out] between box edges, and which are inside the image.

    `divides_first` is the order of arithmetic in the gradient to the boxes.
    """
    reach = _F(size - 1)
    if out > 1:
        step = (last - first) * (reach / _F(out - 1)) if divides_first else (last - first) * reach / _F(out - 1)
        at = product(first, reach)[:, None] + product(jnp.arange(out, dtype=np.float32), step[:, None])
    else:
        at = product(product(first + last, reach), _F(0.5))[:, None]
    return at, (at >= 0) & (at <= reach)


class _Crops:
    """Where the pixels of crops [boxes, height, width] come from."""

    def __init__(
        self, boxes: Any, box_index: Any, image_sizes: tuple, crop_sizes: tuple, divides_first: bool = False
    ) -> None:
        self.y, y_inside = _places(boxes[:, 0], boxes[:, 2], image_sizes[0], crop_sizes[0], divides_first)
        self.x, x_inside = _places(boxes[:, 1], boxes[:, 3], image_sizes[1], crop_sizes[1], divides_first)
        self.inside = (y_inside[:, :, None] & x_inside[:, None, :])[..., None]
        self.box = box_index[:, None, None]
        self.sizes = image_sizes

    def index(self, y: Any, x: Any) -> tuple:
        """Image, row and column of each pixel, from coordinates that are made whole."""
        rows = jnp.clip(y, 0, self.sizes[0] - 1).astype(np.int32)[:, :, None]
        columns = jnp.clip(x, 0, self.sizes[1] - 1).astype(np.int32)[:, None, :]
        return self.box, rows, columns

    def corners(self) -> list[tuple]:
        """Index of the top left, top right, bottom left and bottom right neighbours."""
        ys, xs = (jnp.floor(self.y), jnp.ceil(self.y)), (jnp.floor(self.x), jnp.ceil(self.x))
        return [self.index(y, x) for y in ys for x in xs]

    def slopes(self) -> tuple[Any, Any]:
        """How far a pixel is from its top and left neighbours."""
        return (self.y - jnp.floor(self.y))[:, :, None, None], (self.x - jnp.floor(self.x))[:, None, :, None]

    def nearest(self) -> tuple:
        return self.index(round_half_away(self.y), round_half_away(self.x))


@op(
    "CropAndResize",
    f"(image: T, boxes: float32, box_ind: int32, crop_size: int32, *, T: {_TYPES}, "
    'method: {"bilinear", "nearest"} = "bilinear", extrapolation_value: float = 0) -> (crops: float32)',
    shape=_crops_shape, gradient=_crop_and_resize_gradient, constants=("crop_size",),
)  # fmt: skip
def _crop_and_resize(image, boxes, box_index, crop_size, *, method, extrapolation_value):
    if image.ndim != 4:
        raise _invalid(f"input image must be 4-D{shape_text(image.shape)}")
    _require_sizes(image.shape[1:3], "image dimensions must be positive")
    _require_boxes(boxes, box_index, image.shape[0])
    if crop_size.shape != (2,):
        raise _invalid(f"crop_size must have two elements{shape_text(crop_size.shape)}")
    sizes = tuple(int(n) for n in crop_size)
    _require_sizes(sizes, "crop dimensions must be positive")
    crops = _Crops(boxes, box_index, image.shape[1:3], sizes)
    image = jnp.asarray(image)
    if method == "nearest":
        found = image[crops.nearest()].astype(np.float32)
    else:
        top_left, top_right, bottom_left, bottom_right = (image[i].astype(np.float32) for i in crops.corners())
        y, x = crops.slopes()
        top, bottom = top_left + (top_right - top_left) * x, bottom_left + (bottom_right - bottom_left) * x
        found = top + (bottom - top) * y
    return jnp.where(crops.inside, found, _F(extrapolation_value))


@op(
    "CropAndResizeGradImage",
    "(grads: float32, boxes: float32, box_ind: int32, image_size: int32, *, T: {float32, float16, float64}, "
    'method: {"bilinear", "nearest"} = "bilinear") -> (output: T)',
    shape=lambda c: [si.with_rank(c.shape_value(3), 4)], gradient=_NONE, constants=("image_size",),
)  # fmt: skip
def _crop_and_resize_grad_image(grads, boxes, box_index, image_size, *, T, method):
    if grads.ndim != 4:
        raise _invalid(f"grads image must be 4-D{shape_text(grads.shape)}")
    _require_sizes(grads.shape[1:3], "grads dimensions must be positive")
    if image_size.shape != (4,):
        raise _invalid(f"image_size must have 4 elements{shape_text(image_size.shape)}")
    sizes = tuple(int(n) for n in image_size)
    _require_sizes(sizes[1:3], "image dimensions must be positive")
    _require_boxes(boxes, box_index, sizes[0])
    if grads.shape[0] != len(boxes):
        raise _invalid("boxes and grads have incompatible shape")
    if grads.shape[3] != sizes[3]:
        raise _invalid("image_size and grads are incompatible")
    crops = _Crops(boxes, box_index, sizes[1:3], grads.shape[1:3])
    grads = jnp.where(crops.inside, grads, _F(0))
    image = jnp.zeros(sizes, T)
    if method == "nearest":
        return image.at[crops.nearest()].add(grads.astype(T))
    y, x = crops.slopes()
    top, bottom = (_F(1) - y) * grads, y * grads
    parts = ((_F(1) - x) * top, x * top, (_F(1) - x) * bottom, x * bottom)
    for index, part in zip(crops.corners(), parts):
        image = image.at[index].add(jnp.where(crops.inside, part, _F(0)).astype(T))
    return image


@op(
    "CropAndResizeGradBoxes",
    f"(grads: float32, image: T, boxes: float32, box_ind: int32, *, T: {_TYPES}, "
    'method: {"bilinear"} = "bilinear") -> (output: float32)',
    shape=si.unchanged_from(2), gradient=_NONE,
)  # fmt: skip
def _crop_and_resize_grad_boxes(grads, image, boxes, box_index):
    for value, what in ((grads, "grads image"), (image, "input image")):
        if value.ndim != 4:
            raise _invalid(f"{what} must be 4-D{shape_text(value.shape)}")
    _require_sizes(grads.shape[1:3], "grads dimensions must be positive")
    _require_sizes(image.shape[1:3], "image dimensions must be positive")
    if image.shape[3] != grads.shape[3]:
        raise _invalid("image, grads depth differ")
    _require_boxes(boxes, box_index, image.shape[0])
    if grads.shape[0] != len(boxes):
        raise _invalid("boxes and grads have incompatible shape")
    crops = _Crops(boxes, box_index, image.shape[1:3], grads.shape[1:3], divides_first=True)
    image = jnp.asarray(image)
    top_left, top_right, bottom_left, bottom_right = (image[i].astype(np.float32) for i in crops.corners())
    y, x = crops.slopes()
    along_y = (_F(1) - x) * (bottom_left - top_left) + x * (bottom_right - top_right)
    along_x = (_F(1) - y) * (top_right - top_left) + y * (bottom_right - bottom_left)
    edges = []
    for axis, slope in ((1, along_y), (2, along_x)):
        size, out = image.shape[axis], grads.shape[axis]
        by_place = jnp.where(crops.inside, slope * grads, _F(0)).sum((3 - axis, 3), dtype=np.float32)
        after = np.arange(out, dtype=np.float32) * (_F(size - 1) / _F(out - 1)) if out > 1 else _F(0.5 * (size - 1))
        edges.append([(by_place * share).sum(1, dtype=np.float32) for share in (_F(size - 1) - after, after)])
    return jnp.stack([edges[0][0], edges[1][0], edges[0][1], edges[1][1]], 1)


@export("image.crop_and_resize")
def crop_and_resize(
    image: TensorLike, boxes: TensorLike, box_ind: object = None, crop_size: TensorLike | None = None, method: str = "bilinear",
    extrapolation_value: float = 0, name: str | None = None, box_indices: object = None,
) -> Tensor:  # fmt: skip
    """Cuts boxes out of images and resizes each to `crop_size`.

    Args:
      image: [batch, height, width, channels].
      boxes: float32 [boxes, 4], each (y1, x1, y2, x2) with 0 and 1 at the centres of the first and last pixel.
      box_ind: int32 [boxes], which image each box is cut from (`box_indices` is its new name).
      crop_size: int32 (height, width).
      method: "bilinear" or "nearest".
      extrapolation_value: of pixels outside the image.
      name: node name.

    Returns:
      float32 [boxes, height, width, channels].

    Raises:
      OutOfRangeError: when run, where an image number is outside the batch.
    """
    index = deprecated_argument_lookup("box_indices", box_indices, "box_ind", box_ind)
    return crop_and_resize_v2(image, boxes, index, crop_size, method, extrapolation_value, name)


@export("compat.v2.image.crop_and_resize")
def crop_and_resize_v2(
    image: TensorLike, boxes: TensorLike, box_indices: TensorLike, crop_size: TensorLike, method: str = "bilinear", extrapolation_value: float = 0,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`crop_and_resize` with its new argument names."""
    return raw.CropAndResize(image, boxes, box_indices, crop_size, method, extrapolation_value, name=name)


# ---- RandomCrop ----


def _random_crop_shape(c):
    image = si.with_rank(c.inputs[0], 3)
    si.with_size(si.with_rank(c.inputs[1], 1)[0], 2)
    size = c.value(1)
    return [(*((None, None) if size is None else (int(n) for n in size)), image[2])]


@op(
    "RandomCrop",
    "(image: T, size: int64, *, T: {uint8, int8, int16, int32, int64, float32, float64}, seed: int = 0, seed2: int = 0) "
    "-> (output: T)",
    shape=_random_crop_shape, gradient=NotDifferentiable("1.15 lets nothing through"), effects=RANDOM, side=HOST,
    reserve=lambda outputs, image, size: 1,
)  # fmt: skip
def _random_crop(image, size, *, rng):
    if image.ndim != 3:
        raise _invalid(f"input must be 3-dimensional{shape_text(image.shape)}")
    if size.shape != (2,):
        raise _invalid(f"shape_t must have two elements{shape_text(size.shape)}")
    words = Words(*rng)
    offsets = {}
    for axis, what in ((1, "width"), (0, "height")):
        have, want = image.shape[axis], int(size[axis])
        if have < want:
            text = f"{what} must be >= target_{what}: {what} = {have}, target_{what} = {want}"
            raise errors.FailedPreconditionError(None, None, text)
        offsets[axis] = words.word() % (have - want + 1) if have > want else 0
    y, x = offsets[0], offsets[1]
    return image[y : y + int(size[0]), x : x + int(size[1])]


# ---- ExtractGlimpse ----


def _glimpse_shape(c):
    image, offsets = si.with_rank(c.inputs[0], 4), si.with_rank(c.inputs[2], 2)
    si.with_size(offsets[1], 2)
    noise = c.attr("noise")
    if c.attr("uniform_noise") and noise not in (b"", b"uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    return sized_image(c, si.merge_size(image[0], offsets[0]), 1, image[3])


def _noise(image: np.ndarray, size: tuple, kind: str) -> np.ndarray:
    """What stands where a glimpse leaves an image: random numbers in its range, or zeros. 1.15 takes no seed either."""
    shape = (*size, image.shape[2])
    if kind == "zero":
        return np.zeros(shape, np.float32)
    generator = np.random.default_rng()
    if kind == "uniform":
        low = image.min()
        return low + generator.random(shape, np.float32) * (image.max() - low)
    mean, deviation = image.mean((0, 1)), image.std((0, 1))
    return np.clip(mean + generator.standard_normal(shape, np.float32) * deviation, image.min((0, 1)), image.max((0, 1)))


@op(
    "ExtractGlimpse",
    "(input: float32, size: int32, offsets: float32, *, centered: bool = True, normalized: bool = True, "
    'uniform_noise: bool = True, noise: string = "uniform") -> (glimpse: float32)',
    shape=_glimpse_shape, gradient=NotDifferentiable("1.15 lets nothing through"), side=HOST,
)  # fmt: skip
def _extract_glimpse(images, size, offsets, *, centered, normalized, uniform_noise, noise):
    if noise not in ("", "uniform", "gaussian", "zero"):
        raise _invalid(f"The noise could only be uniform, gaussian, or zero, got{noise}")
    if images.ndim != 4:
        raise _invalid(f"input must be 4-dimensional (batch_size, height, width, depth){shape_text(images.shape)}")
    if size.shape != (2,):
        raise _invalid(f"input must be a vector of size 2 (height, width){shape_text(size.shape)}")
    if offsets.shape != (images.shape[0], 2):
        raise _invalid(f"offsets must be [batch, 2], got {shape_text(offsets.shape)}")
    kind = noise or ("uniform" if uniform_noise else "gaussian")
    sizes = tuple(int(n) for n in size)
    found = np.empty((images.shape[0], *sizes, images.shape[3]), np.float32)
    for image, offset, glimpse in zip(images, offsets, found):
        _cut_glimpse(image, offset, glimpse, centered, normalized, kind)
    return found


def _cut_glimpse(image: Any, offset: Any, glimpse: Any, centered: bool, normalized: bool, kind: str) -> None:
    into, out_of, is_partial = [], [], False
    for axis in (0, 1):
        at, have, want = offset[axis], image.shape[axis], glimpse.shape[axis]
        at = at * _F(have) if normalized else at
        at = at / _F(2) + _F(have / 2) if centered else at
        first = int(at - _F(want / 2))
        is_partial = is_partial or first < 0 or first + want >= have
        start = max(first, 0)
        count = min(max(want + first if first < 0 else have - first, 0), want, have)
        begin = want - max(want + first, 0) if first < 0 else 0
        into.append(slice(begin, begin + count))
        out_of.append(slice(start, start + count))
    if is_partial:
        glimpse[...] = _noise(image, glimpse.shape[:2], kind)
    glimpse[tuple(into)] = image[tuple(out_of)]


@export("image.extract_glimpse")
def extract_glimpse(
    input: TensorLike, size: TensorLike, offsets: TensorLike, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window out of each image; noise stands where the window leaves the image.

    Args:
      input: float32 [batch, height, width, channels].
      size: int32 (height, width) of the windows.
      offsets: float32 [batch, 2], the centre (y, x) of each window.
      centered: whether offsets count from the centre of the image.
      normalized: whether offsets are fractions of the image.
      uniform_noise: uniform noise, not Gaussian.
      name: node name.

    Returns:
      float32 [batch, height, width, channels].
    """
    return raw.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise, name=name
    )


@export("compat.v2.image.extract_glimpse")
def extract_glimpse_v2(
    input: TensorLike, size: TensorLike, offsets: TensorLike, centered: bool = True, normalized: bool = True, noise: str = "uniform",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`extract_glimpse` with `noise` by name: "uniform", "gaussian" or "zero"."""
    return raw.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized, noise=noise, uniform_noise=False, name=name
    )
