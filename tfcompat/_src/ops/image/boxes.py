"""Bounding boxes: drawing them, and sampling a crop that shows enough of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, RANDOM, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.random.seeds import get_seed
from tfcompat._src.ops.random.words import Words

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_F = np.float32
_NO_GRADIENT = NotDifferentiable("1.15 lets nothing through")
_COLORS = np.array(
    [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1], [0.5, 0.5, 0, 1], [0.5, 0, 0, 1],
     [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]], np.float32,
)  # fmt: skip
"""Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia."""


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- drawing ----


def _drawn_shape(c):
    images = si.with_rank(c.inputs[0], 4)
    if images[3] is not None and images[3] not in (1, 3, 4):
        raise ValueError("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    si.with_size(si.with_rank(c.inputs[1], 3)[2], 4)
    return [c.inputs[0]]


def _drawn(images: np.ndarray, boxes: np.ndarray, colors: np.ndarray) -> np.ndarray:
    _check_drawing(images, boxes)
    depth = images.shape[3]
    if colors.ndim != 2:
        raise _invalid(f"colors must be a 2-D matrix{shape_text(colors.shape)}")
    if colors.shape[1] < depth:
        raise _invalid(f"colors must have equal or more channels than the image provided: {shape_text(colors.shape)}")
    if not colors.size:
        colors = _COLORS
    canvas = np.array(images)
    for image, image_boxes in zip(canvas, boxes):
        for k, box in enumerate(image_boxes):
            _draw_box(image, box, colors[k % len(colors), :depth].astype(images.dtype))
    return canvas


def _check_drawing(images: np.ndarray, boxes: np.ndarray) -> None:
    if images.ndim != 4:
        raise _invalid("The rank of the images should be 4")
    if boxes.ndim != 3:
        raise _invalid("The rank of the boxes tensor should be 3")
    if len(images) != len(boxes):
        raise _invalid("The batch sizes should be the same")
    if images.shape[3] not in (1, 3, 4):
        raise _invalid("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    if boxes.shape[2] != 4:
        raise _invalid(f"The size of the third dimension of the box must be 4. Received: {boxes.shape[2]}")


def _draw_box(image: np.ndarray, box: np.ndarray, color: np.ndarray) -> None:
    """The edges of a box that lie inside the image; nothing of a box that is inverted or all outside."""
    height, width = image.shape[:2]
    top, left, bottom, right = (int(p * _F(n - 1)) for p, n in zip(box, (height, width, height, width)))
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        image[top, columns] = color
    if bottom < height:
        image[bottom, columns] = color
    if left >= 0:
        image[rows, left] = color
    if right < width:
        image[rows, right] = color


def _default_colors(depth: int) -> np.ndarray:
    return np.ones_like(_COLORS) if depth == 1 else _COLORS


op(
    "DrawBoundingBoxes", "(images: T, boxes: float32, *, T: {float32, float16} = float32) -> (output: T)",
    shape=_drawn_shape, gradient=_NO_GRADIENT, side=HOST,
    kernel=lambda images, boxes: _drawn(images, boxes, _default_colors(images.shape[-1])),
)  # fmt: skip
op(
    "DrawBoundingBoxesV2",
    "(images: T, boxes: float32, colors: float32, *, T: {float32, float16} = float32) -> (output: T)",
    shape=lambda c: [si.with_rank_at_least(c.inputs[0], 3)], side=HOST, kernel=_drawn,
    gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True),
)  # fmt: skip


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None) -> Tensor:
    """Draws the edges of boxes on images.

    Args:
      images: float [batch, height, width, 1, 3 or 4] in [0, 1].
      boxes: float32 [batch, boxes, 4], each (y_min, x_min, y_max, x_max) in [0, 1].
      name: node name.
      colors: float32 [colors, 4], taken in turn; ten colours by default.

    Returns:
      a Tensor like `images`.
    """
    return draw_bounding_boxes_v2(images, boxes, colors, name)


@export("compat.v2.image.draw_bounding_boxes")
def draw_bounding_boxes_v2(images: TensorLike, boxes: TensorLike, colors: TensorLike, name: str | None = None) -> Tensor:
    """`draw_bounding_boxes` with another order of arguments."""
    if colors is None:
        return raw.DrawBoundingBoxes(images, boxes, name=name)
    return raw.DrawBoundingBoxesV2(images, boxes, colors, name=name)


# ---- sampling ----


def _sample_shape(c):
    image_size, boxes = si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 3)
    for sizes in c.inputs[2:]:
        si.with_rank(sizes, 0)
    si.with_size(image_size[0], 3)
    si.with_size(boxes[2], 4)
    return [(3,), (3,), (1, 1, 4)]


def _whole(x: Any) -> int:
    return int(np.rint(_F(x)))


def _random_crop(size: tuple[int, int], areas: tuple, aspect: np.float32, random: Words) -> tuple | None:
    """(top, left, bottom, right) of a crop with this aspect ratio and an area in range, or None where none fits."""
    height, width = size
    if areas[1] <= 0 or aspect <= 0 or width <= 0 or height <= 0 or areas[0] > areas[1]:
        return None
    low, high = (_F(a) * _F(width) * _F(height) for a in areas)
    rows, most = _whole(np.sqrt(low / aspect)), _whole(np.sqrt(high / aspect))
    if _whole(_F(most) * aspect) > width:
        most = int((width + 0.5 - float(_F(1e-7))) / float(aspect))
    most = min(most, height)
    rows = min(rows, most)
    if rows < most:
        rows += random.below(most - rows + 1)
    columns = _whole(_F(rows) * aspect)
    for is_wrong, step in ((lambda area: area < low, 1), (lambda area: area > high, -1)):
        if is_wrong(_F(rows * columns)):
            rows += step
            columns = _whole(_F(rows) * aspect)
    if not low <= _F(rows * columns) <= high or not 0 < columns <= width or not 0 < rows <= height:
        return None
    top = random.below(height - rows) if rows < height else 0
    left = random.below(width - columns) if columns < width else 0
    return top, left, top + rows, left + columns


def _area(box: tuple) -> np.float32:
    return _F((box[2] - box[0]) * (box[3] - box[1]))


def _covers(crop: tuple, boxes: list[tuple], least: Any) -> bool:
    """Whether the crop shows the fraction `least` of a box."""
    if _area(crop) < 1:
        return False
    for box in boxes:
        common = tuple(max(a, b) for a, b in zip(crop[:2], box[:2])) + tuple(min(a, b) for a, b in zip(crop[2:], box[2:]))
        is_empty = common[0] > common[2] or common[1] > common[3]
        if _area(box) >= 1 and (_F(0) if is_empty else _area(common)) / _area(box) >= least:
            return True
    return False


def _check_ranges(aspects: tuple, areas: tuple, max_attempts: int) -> None:
    for values, what in ((aspects, "Aspect ratio"), (areas, "Area")):
        if len(values) != 2:
            raise _invalid(f"{what} range field must specify 2 dimensions")
        if min(values) <= 0:
            raise _invalid(f"{what} range must be non-negative: [{values[0]:g}, {values[1]:g}]")
    if max(areas) > 1:
        raise _invalid(f"Area range must be less then or equal to 1.0: [{areas[0]:g}, {areas[1]:g}]")
    if max_attempts <= 0:
        raise _invalid(f"Max attempts must be non-negative: {max_attempts}")


def _pixel_boxes(boxes: np.ndarray, height: int, width: int) -> list[tuple]:
    if boxes.ndim != 3:
        raise _invalid(f"input boxes must be 3-dimensional [batch, num_boxes, coords]: {shape_text(boxes.shape)}")
    if boxes.shape[2] != 4:
        raise _invalid(f"bounding boxes must have shape [4] or [*, 4], got {shape_text(boxes.shape)}")
    outside = boxes[~((boxes >= 0) & (boxes <= 1))]
    if outside.size:
        raise _invalid(f"All bounding box coordinates must be in [0.0, 1.0]: {outside[0]:g}")
    sides = np.array([height, width, height, width], np.float32)
    return [tuple(int(n) for n in box) for box in (boxes.reshape(-1, 4) * sides)]


def _sampled(
    image_size: Any, boxes: Any, least: Any, aspects: tuple, areas: tuple, max_attempts: int, use_image: bool, rng: tuple
) -> tuple:
    _check_ranges(aspects, areas, max_attempts)
    if image_size.shape != (3,):
        raise _invalid(f"image_size must contain 3 elements{shape_text(image_size.shape)}")
    if np.ndim(least):
        raise _invalid(f"min_object_covered must be 0-D, got shape {shape_text(least.shape)}")
    if not least >= 0:
        raise _invalid(f"Min object covered must be non-negative: {least:g}")
    height, width = int(image_size[0]), int(image_size[1])
    for n, what in ((height, "height"), (width, "width")):
        if not 0 <= n < 2**31 - 1:
            raise _invalid(f"image {what} cannot be >= int32 max")
    image = (0, 0, height, width)
    found = _pixel_boxes(boxes, height, width)
    if not found:
        if not use_image:
            raise _invalid(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish "
                "to not provide any bounding boxes."
            )
        found = [image]
    random, crop = Words(*rng), None
    low, high = (_F(a) for a in aspects)
    for _ in range(max_attempts):
        aspect = random.single() * (high - low) + low
        crop = _random_crop((height, width), areas, aspect, random)
        if crop is not None and _covers(crop, found, _F(least)):
            break
        crop = None
    top, left, bottom, right = crop or image
    kind = image_size.dtype
    edges = np.array([top, left, bottom, right], np.float32) / np.array([height, width, height, width], np.float32)
    return np.array([top, left, 0], kind), np.array([bottom - top, right - left, -1]).astype(kind), edges.reshape(1, 1, 4)


_SAMPLE_TYPES = "T: {uint8, int8, int16, int32, int64}, seed: int = 0, seed2: int = 0"
_SAMPLE_RANGES = (
    "aspect_ratio_range: list(float) = [0.75, 1.33], area_range: list(float) = [0.05, 1.0], max_attempts: int = 100, "
    "use_image_if_no_bounding_boxes: bool = False) -> (begin: T, size: T, bboxes: float32)"
)
_reserve: Callable = lambda outputs, *inputs, max_attempts, **attrs: max(max_attempts, 0)


@op(
    "SampleDistortedBoundingBox",
    f"(image_size: T, bounding_boxes: float32, *, {_SAMPLE_TYPES}, min_object_covered: float = 0.1, {_SAMPLE_RANGES}",
    shape=_sample_shape, gradient=_NO_GRADIENT, effects=RANDOM, side=HOST, reserve=_reserve,
)  # fmt: skip
def _sample(
    image_size, boxes, *, min_object_covered, aspect_ratio_range, area_range, max_attempts,
    use_image_if_no_bounding_boxes, rng,
):  # fmt: skip
    return _sampled(
        image_size, boxes, min_object_covered, aspect_ratio_range, area_range, max_attempts,
        use_image_if_no_bounding_boxes, rng,
    )  # fmt: skip


@op(
    "SampleDistortedBoundingBoxV2",
    f"(image_size: T, bounding_boxes: float32, min_object_covered: float32, *, {_SAMPLE_TYPES}, {_SAMPLE_RANGES}",
    shape=_sample_shape, gradient=_NO_GRADIENT, effects=RANDOM, side=HOST, reserve=_reserve,
)  # fmt: skip
def _sample_v2(
    image_size, boxes, least, *, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes, rng
):
    return _sampled(
        image_size, boxes, least, aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes, rng
    )


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: TensorLike, bounding_boxes: TensorLike, seed: int | None = None, seed2: int | None = None, min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: object = None, area_range: object = None, max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """A random crop of an image that shows enough of one of its boxes.

    Args:
      image_size: integers (height, width, channels).
      bounding_boxes: float32 [batch, boxes, 4], each (y_min, x_min, y_max, x_max) in [0, 1].
      seed, seed2: seeds of the op.
      min_object_covered: the fraction of a box that the crop must show.
      aspect_ratio_range: least and largest width / height, [0.75, 1.33] by default.
      area_range: least and largest fraction of the image, [0.05, 1] by default.
      max_attempts: after these (100) the whole image is the crop.
      use_image_if_no_bounding_boxes: whether no box means the whole image.
      name: name scope and node name.

    Returns:
      begin and size for tf.slice, and the crop as a box [1, 1, 4].

    Raises:
      InvalidArgumentError: when run, where there is no box, or one outside [0, 1].
    """
    given = {
        "aspect_ratio_range": aspect_ratio_range, "area_range": area_range, "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes, "seed": seed, "seed2": seed2,
    }  # fmt: skip
    with name_scope(name, "sample_distorted_bounding_box"):
        return raw.SampleDistortedBoundingBoxV2(
            image_size, bounding_boxes, min_object_covered=min_object_covered, name=name,
            **{k: v for k, v in given.items() if v is not None},
        )  # fmt: skip


@export("compat.v2.image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(
    image_size: TensorLike, bounding_boxes: TensorLike, seed: int = 0, min_object_covered: TensorLike = 0.1, aspect_ratio_range: object = None,
    area_range: object = None, max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`sample_distorted_bounding_box` with one seed."""
    first, second = get_seed(seed) if seed else (0, 0)
    return sample_distorted_bounding_box(
        image_size, bounding_boxes, first, second, min_object_covered, aspect_ratio_range, area_range, max_attempts,
        use_image_if_no_bounding_boxes, name,
    )  # fmt: skip
