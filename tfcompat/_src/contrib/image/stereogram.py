"""tf.contrib.image: stereograms of random dots, after Thimbleby, Inglis and Witten, "Displaying 3D Images" (1994)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, PURE, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.tensor_shape import ShapeLike

_ATTRS = (
    "hidden_surface_removal: bool = True, convergence_dots_size: int = 8, dots_per_inch: int = 72, eye_separation: float = 2.5, "
    "mu: float = 0.3333, normalize: bool = True, normalize_max: float = -100.0, normalize_min: float = 100.0, "
    "border_level: float = 0.0, number_colors: int = 256, output_image_shape: shape = [1024, 768, 1], "
    "output_data_window: shape = [1022, 757]"
)
FULL_COLOUR = 256
"""With more colours than these an image has three channels."""


class _Viewer(NamedTuple):
    """Who looks: the distance of the eyes in pixels, and how far the nearest plane stands out, as a part of the distance to the farthest."""

    eyes: int
    mu: np.float32

    def separation(self, depth: Any) -> Any:
        """How many pixels apart the two dots of a point at `depth` are, 0 (far) to 1 (near); NaN where that is NaN."""
        apart = (1 - self.mu * np.float64(depth)) * self.eyes / (2 - self.mu * np.float64(depth))
        return np.copysign(np.floor(np.abs(apart) + 0.5), apart)

    def sight(self, depth: np.ndarray, t: int) -> np.ndarray:
        """The depth of the lines of sight to a point at `depth`, `t` pixels beside it."""
        return depth + 2 * (2 - np.float64(self.mu) * depth) * t / np.float64(self.mu * np.float32(self.eyes))


class _Layout(NamedTuple):
    """Where the data stands in the image, [left, left + width) x [top, top + height), and the last row of the dots to converge on."""

    left: int
    top: int
    width: int
    height: int
    dots_end: int


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"SingleImageRandomDotStereograms: {text}")


def _half(n: Any) -> Any:
    return np.trunc(n / 2).astype(np.int64) if isinstance(n, np.ndarray) else math.trunc(n / 2)


def _layout(width: int, height: int, window: tuple[int, int], dots: int) -> _Layout:
    left = _half(width - window[0])
    if dots <= 0:
        return _Layout(left, _half(height - window[1]), *window, height - 1)
    top = max(0, height - window[1] - dots) // 3
    return _Layout(left, top, *window, height - 1 - top)


def _depths(values: np.ndarray, normalize: bool, highest: float, lowest: float) -> np.ndarray:
    """Depths from 0 (far) to 1 (near); the range of the values is theirs where `highest` is below `lowest`."""
    values = values.astype(np.float64)
    if normalize and values.size:
        if highest < lowest:
            highest, lowest = values.max(), values.min()
        values = (values - lowest) / (highest - lowest)
    return np.clip(values, 0, 1)


def _sampled(depths: np.ndarray, layout: _Layout, border: float, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The depth at each pixel of `rows` and `columns`; that of the border beside the data."""
    y = np.float64(depths.shape[0]) * (rows - layout.top) / layout.height
    x = np.float64(depths.shape[1]) * (columns - layout.left) / layout.width
    y_inside, x_inside = (y >= 0) & (y < depths.shape[0]), (x >= 0) & (x < depths.shape[1])
    found = np.full((len(rows), len(columns)), border, np.float64)
    found[np.ix_(y_inside, x_inside)] = depths[np.ix_(y[y_inside].astype(int), x[x_inside].astype(int))]
    return found


def _visible(planes: np.ndarray, margin: int, width: int, viewer: _Viewer) -> np.ndarray:
    """Whether both eyes see the point at each pixel; `planes` has `margin` columns on either side of the image."""
    depth = planes[:, margin : margin + width]
    seen, going = np.ones(depth.shape, bool), np.ones(depth.shape, bool)
    for t in range(1, margin + 1):
        sight = viewer.sight(depth, t)
        beside = np.maximum(planes[:, margin - t :][:, :width], planes[:, margin + t :][:, :width])
        seen &= ~going | (beside < sight)
        going &= seen & (sight < 1)
        if not going.any():
            break
    return seen


def _links(depth: np.ndarray, visible: np.ndarray, viewer: _Viewer) -> np.ndarray:
    """For each pixel, one on its right in the same row that must look alike, or itself."""
    rows, width = np.arange(depth.shape[0]), depth.shape[1]
    apart = viewer.separation(depth)
    visible = visible & np.isfinite(apart)
    apart = np.where(visible, apart, 0).astype(np.int64)
    same = np.tile(np.arange(width), (len(rows), 1))
    starts = np.arange(width) - _half(apart)
    ends = starts + apart
    linked = visible & (starts >= 0) & (ends < width) & (ends >= 0) & (starts < width)
    for x in range(width):
        row = rows[linked[:, x]]
        left, right = starts[row, x], ends[row, x]
        while True:
            following = same[row, left]
            moves = (following != left) & (following < right)
            if not moves.any():
                break
            left = np.where(moves, following, left)
        same[row, left] = right
    return same


def _coloured(same: np.ndarray, channels: int, colours: int) -> np.ndarray:
    """Random colours, uint8[rows, columns, channels], alike where pixels are linked."""
    while not np.array_equal(same, further := np.take_along_axis(same, same, 1)):
        same = further
    generator = np.random.default_rng()
    shape = (*same.shape, channels)
    drawn = generator.integers(0, 2, shape, np.uint8) * np.uint8(255) if colours == 2 else generator.integers(0, 256, shape, np.uint8)
    return np.take_along_axis(drawn, same[..., None], 1)


def _draw_dots(image: np.ndarray, size: int, end: int, far: int) -> None:
    """Draws two black squares as far apart as the dots of the farthest point; pixels before a row's first are the last of the one above."""
    width, channels = image.shape[1:]
    flat = image.reshape(-1)
    rows, columns = end - np.arange(size), np.arange(size) - size // 2
    for centre in (width // 2 - _half(far), width // 2 + _half(far)):
        at = ((width * rows[:, None] + centre + columns)[..., None] * channels + np.arange(channels)).reshape(-1)
        flat[at[(at >= 0) & (at < flat.size)]] = 0


def _image_shape(c):
    width, height = _sizes(c.attr("output_image_shape"), 3)[:2]
    return [(height, width, 3 if c.attr("number_colors") > FULL_COLOUR else 1)]


def _sizes(shape: Any, count: int) -> tuple[int, ...]:
    if shape.sizes is None or len(shape.sizes) < count:
        raise ValueError(f"a shape of {count} sizes is wanted, got {shape}")
    return shape.sizes[:count]


@op(
    "SingleImageRandomDotStereograms", f"(depth_values: T, *, T: {{float64, float32, int64, int32}}, {_ATTRS}) -> (image: uint8)",
    shape=_image_shape, gradient=NotDifferentiable("random dots"), side=HOST, effects=PURE,
)  # fmt: skip
def _stereogram(
    depth_values, *, hidden_surface_removal, convergence_dots_size, dots_per_inch, eye_separation, mu, normalize, normalize_max,
    normalize_min, border_level, number_colors, output_image_shape, output_data_window,
):  # fmt: skip
    if depth_values.ndim != 2:
        raise _invalid(f"depth_values must be 2-D, got shape {shape_text(depth_values.shape)}")
    (width, height, channels), window = _sizes(output_image_shape, 3), _sizes(output_data_window, 2)
    if None in (width, height, channels, *window):
        raise _invalid(f"output_image_shape and output_data_window must be known, got {output_image_shape} and {output_data_window}")
    viewer = _Viewer(int(np.float32(eye_separation) * np.float32(dots_per_inch)), np.float32(mu))
    layout = _layout(width, height, window, convergence_dots_size)
    with np.errstate(divide="ignore", invalid="ignore"):
        depths = _depths(depth_values, normalize, normalize_max, normalize_min)
        margin = width if hidden_surface_removal else 0
        planes = _sampled(depths, layout, border_level, np.arange(-margin, width + margin), np.arange(height))
        depth = planes[:, margin : margin + width]
        visible = _visible(planes, margin, width, viewer) if hidden_surface_removal else np.ones(depth.shape, bool)
        same = _links(depth, visible, viewer)
    image = _coloured(same, 3 if number_colors > FULL_COLOUR else channels, number_colors)
    _draw_dots(image, convergence_dots_size, layout.dots_end, int(viewer.separation(0.0)))
    return image


@export("contrib.image.single_image_random_dot_stereograms")
def single_image_random_dot_stereograms(
    depth_values: TensorLike, hidden_surface_removal: bool | None = None, convergence_dots_size: int | None = None,
    dots_per_inch: int | None = None, eye_separation: float | None = None, mu: float | None = None, normalize: bool | None = None,
    normalize_max: float | None = None, normalize_min: float | None = None, border_level: float | None = None,
    number_colors: int | None = None, output_image_shape: ShapeLike = None, output_data_window: ShapeLike = None,
) -> Tensor:  # fmt: skip
    """Random dots in which eyes that look past the image see depth.

    Args:
      depth_values: matrix of float32, float64, int32 or int64; higher values are nearer.
      hidden_surface_removal: whether points that one eye cannot see stay without a partner; by default they do.
      convergence_dots_size: width in pixels of the two black squares below, 8; 0 for none.
      dots_per_inch: pixels of the image per inch, 72.
      eye_separation: distance of the eyes in inches, 2.5.
      mu: depth of field as a part of the viewing distance, 0.3333.
      normalize: whether values are first brought to [0, 1], which is the default; they are then cut to it.
      normalize_max: the value that becomes 1. normalize_min: the one that becomes 0. By default the highest and lowest there are.
      border_level: depth beside the data, 0 (far) to 1 (near); 0.
      number_colors: 2 for black and white, up to 256 for shades of grey, more for three channels; 256.
      output_image_shape: width, height and channels of the image, [1024, 768, 1].
      output_data_window: width and height of the data in it, [1022, 757]; it is centred.

    Returns:
      uint8[height, width, channels].

    Raises:
      InvalidArgumentError: when run, where `depth_values` is no matrix or a size is unknown.
    """
    return raw.SingleImageRandomDotStereograms(
        depth_values=depth_values, hidden_surface_removal=hidden_surface_removal, convergence_dots_size=convergence_dots_size,
        dots_per_inch=dots_per_inch, eye_separation=eye_separation, mu=mu, normalize=normalize, normalize_max=normalize_max,
        normalize_min=normalize_min, border_level=border_level, number_colors=number_colors,
        output_image_shape=output_image_shape, output_data_window=output_data_window,
    )  # fmt: skip
