"""tf.contrib.image: warping by a flow for each pixel, or by control points and a spline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.fill import ones_like, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater_equal, assert_less_equal
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.indexing import meshgrid
from tfcompat._src.ops.linalg.solve import matrix_solve
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_EPSILON = 1e-10

# ---- dense warp ----


def _clamped(x: Tensor, low: TensorLike, high: TensorLike) -> Tensor:
    return raw.Minimum(raw.Maximum(low, x), high)


def interpolate_bilinear(
    grid: TensorLike, query_points: TensorLike, name: str = "interpolate_bilinear", indexing: str = "ij"
) -> Tensor:
    """Values of a grid between its points.

    Args:
      grid: [batch, height, width, channels], both sides at least 2.
      query_points: [batch, points, 2], row and column ("ij") or column and row ("xy"); points outside are moved inside.
      name: name scope.
      indexing: "ij" or "xy".

    Returns:
      [batch, points, channels].

    Raises:
      ValueError: the rank of the grid or `indexing` is another.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError("Indexing mode must be 'ij' or 'xy'")
    with name_scope(name):
        grid, query_points = to_tensor(grid), to_tensor(query_points)
        if grid.shape.ndims != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {grid.shape}")
        sizes = [shape(grid)[i] for i in range(4)]
        batch, height, width, channels = sizes
        checks = [
            assert_equal(query_points.shape.ndims, 3, message="Query points must be 3 dimensional."),
            assert_equal(shape(query_points)[2], 2, message="Query points must be size 2 in dim 2."),
        ]
        with control_dependencies(checks):
            count = shape(query_points)[1]
        checks = [
            assert_greater_equal(height, 2, message="Grid height must be at least 2."),
            assert_greater_equal(width, 2, message="Grid width must be at least 2."),
        ]
        with control_dependencies(checks):
            coordinates = unstack(query_points, axis=2)
        order = [0, 1] if indexing == "ij" else [1, 0]
        floors, ceils, alphas = zip(*[
            _neighbours(coordinates[dim], sizes[dim + 1], dim, grid.dtype) for dim in order
        ])  # fmt: skip
        limit = assert_less_equal(
            cast(batch * height * width, dtypes.float32), np.iinfo(np.int32).max / 8,
            message="The image size or batch size is too large for the addresses used by tf.gather.",
        )  # fmt: skip
        with control_dependencies([limit]):
            flat = reshape(grid, [batch * height * width, channels])
            offsets = reshape(arange(batch) * height * width, [batch, 1])

        def corner(rows: Tensor, columns: Tensor, label: str) -> Tensor:
            with name_scope("gather-" + label):
                found = gather(flat, offsets + rows * width + columns)
                return reshape(found, [batch, count, channels])

        top_left = corner(floors[0], floors[1], "top_left")
        top_right = corner(floors[0], ceils[1], "top_right")
        bottom_left = corner(ceils[0], floors[1], "bottom_left")
        bottom_right = corner(ceils[0], ceils[1], "bottom_right")
        with name_scope("interpolate"):
            top = alphas[1] * (top_right - top_left) + top_left
            bottom = alphas[1] * (bottom_right - bottom_left) + bottom_left
            return alphas[0] * (bottom - top) + top


def _neighbours(queries: Tensor, side: Tensor, dim: int, grid_dtype: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The lower and upper neighbours of coordinates, and how far they are from the lower ones, [batch, points, 1]."""
    with name_scope(f"dim-{dim}"):
        most = cast(side - 2, queries.dtype)
        least = constant(0.0, queries.dtype)
        floor = _clamped(raw.Floor(queries), least, most)
        below = cast(floor, dtypes.int32)
        above = below + 1
        alpha = cast(queries - floor, grid_dtype)
        alpha = _clamped(alpha, constant(0.0, grid_dtype), constant(1.0, grid_dtype))
        return below, above, expand_dims(alpha, 2)


@export("contrib.image.dense_image_warp")
def dense_image_warp(image: TensorLike, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """Each pixel (y, x) of the result is the image at (y, x) - flow[y, x], between its pixels.

    Args:
      image: float [batch, height, width, channels].
      flow: float [batch, height, width, 2].
      name: name scope.

    Returns:
      a Tensor like `image`.
    """
    with name_scope(name):
        batch, height, width, channels = (shape(image)[i] for i in range(4))
        columns, rows = meshgrid(arange(width), arange(height))
        places = cast(stack([rows, columns], axis=2), flow.dtype)
        queries = expand_dims(places, axis=0) - flow
        flat = reshape(queries, [batch, height * width, 2])
        return reshape(interpolate_bilinear(image, flat), [batch, height, width, channels])


# ---- splines ----


def _cross_squared_distances(x: Tensor, y: Tensor) -> Tensor:
    norms_x, norms_y = reduce_sum(raw.Square(x), 2), reduce_sum(raw.Square(y), 2)
    column, row = expand_dims(norms_x, 2), expand_dims(norms_y, 1)
    return column - 2 * matmul(x, y, adjoint_b=True) + row


def _pairwise_squared_distances(x: Tensor) -> Tensor:
    products = matmul(x, x, adjoint_b=True)
    column = expand_dims(matrix_diag_part(products), 2)
    return column - 2 * products + transpose(column, [0, 2, 1])


def _radial(r: Tensor, order: int) -> Tensor:
    """The polyharmonic function of squared distances."""
    with name_scope("phi"):
        if order == 1:
            return raw.Sqrt(raw.Maximum(r, _EPSILON))
        if order == 2:
            return 0.5 * r * raw.Log(raw.Maximum(r, _EPSILON))
        if order == 4:
            return 0.5 * raw.Square(r) * raw.Log(raw.Maximum(r, _EPSILON))
        r = raw.Maximum(r, _EPSILON)
        if order % 2 == 0:
            return 0.5 * raw.Pow(r, 0.5 * order) * raw.Log(r)
        return raw.Pow(r, 0.5 * order)


def _fit(points: Tensor, values: Tensor, order: int, regularization_weight: float) -> tuple[Tensor, Tensor]:
    """The weights of the radial functions and of the linear term."""
    batch, count, _ = unstack(shape(points), num=3)
    dims, outputs = points.shape.as_list()[-1], values.shape.as_list()[-1]
    if dims is None:
        raise ValueError("The dimensionality of the input points (d) must be statically-inferrable.")
    if outputs is None:
        raise ValueError("The dimensionality of the output values (k) must be statically-inferrable.")
    with name_scope("construct_linear_system"):
        radial = _radial(_pairwise_squared_distances(points), order)
        if regularization_weight > 0:
            radial += regularization_weight * expand_dims(eye(count, dtype=points.dtype), 0)
        linear = concat([points, ones_like(points[..., :1], dtype=points.dtype)], 2)
        left = concat([radial, transpose(linear, [0, 2, 1])], 1)
        right = concat([linear, zeros([batch, dims + 1, dims + 1], points.dtype)], 1)
        lhs = concat([left, right], 2)
        rhs = concat([values, zeros([batch, dims + 1, outputs], points.dtype)], 1)
    with name_scope("solve_linear_system"):
        found = matrix_solve(lhs, rhs)
        return found[:, :count, :], found[:, count:, :]


def _apply(queries: Tensor, points: Tensor, w: Tensor, v: Tensor, order: int) -> Tensor:
    radial = matmul(_radial(_cross_squared_distances(queries, points), order), w)
    padded = concat([queries, ones_like(queries[..., :1], points.dtype)], 2)
    return radial + matmul(padded, v)


@export("contrib.image.interpolate_spline")
def interpolate_spline(
    train_points: TensorLike, train_values: TensorLike, query_points: TensorLike, order: int, regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:  # fmt: skip
    """Values of a polyharmonic spline.

    Args:
      train_points: float [batch, n, d], where the spline is known.
      train_values: float [batch, n, k], its values there.
      query_points: float [batch, m, d].
      order: of the spline; 2 is a thin plate.
      regularization_weight: added to the diagonal; the spline then passes near the values only.
      name: name scope.

    Returns:
      float [batch, m, k].

    Raises:
      ValueError: d or k is not known.
    """
    with name_scope(name):
        points, values, queries = to_tensor(train_points), to_tensor(train_values), to_tensor(query_points)
        with name_scope("solve"):
            w, v = _fit(points, values, order, regularization_weight)
        with name_scope("predict"):
            return _apply(queries, points, w, v, order)


# ---- sparse warp ----


def _for_each_image(values: np.ndarray, batch: int, dtype: Any) -> Tensor:
    return constant(np.tile(values[None], [batch] + [1] * values.ndim), dtype)


def grid_locations(height: int, width: int) -> np.ndarray:
    """The places (y, x) of the pixels of an image, [height, width, 2]."""
    return np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1).astype(np.float64)


def boundary_locations(height: int, width: int, points_per_edge: int) -> np.ndarray:
    """Places (y, x) on the edges of an image, [points, 2], the corners among them."""
    ys, xs = np.meshgrid(
        np.linspace(0, height - 1, points_per_edge + 2), np.linspace(0, width - 1, points_per_edge + 2), indexing="ij"
    )
    is_edge = (xs == 0) | (xs == width - 1) | (ys == 0) | (ys == height - 1)
    return np.stack([ys[is_edge], xs[is_edge]], axis=-1)


@export("contrib.image.sparse_image_warp")
def sparse_image_warp(
    image: TensorLike, source_control_point_locations: TensorLike, dest_control_point_locations: TensorLike, interpolation_order: int = 2,
    regularization_weight: float = 0.0, num_boundary_points: int = 0, name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Warps images so that control points move from their source to their destination.

    Args:
      image: float [batch, height, width, channels], of known shape.
      source_control_point_locations, dest_control_point_locations: float [batch, points, 2], (y, x).
      interpolation_order, regularization_weight: of the spline between them.
      num_boundary_points: how many points on each edge do not move: 0 none, 1 the corners.
      name: name scope.

    Returns:
      the warped images, and their flow [batch, height, width, 2].
    """
    image = to_tensor(image)
    source, dest = to_tensor(source_control_point_locations), to_tensor(dest_control_point_locations)
    flows = dest - source
    with name_scope(name):
        batch, height, width, _ = image.shape.as_list()
        queries = _for_each_image(grid_locations(height, width).reshape(-1, 2), batch, image.dtype)
        if num_boundary_points > 0:
            edge = boundary_locations(height, width, num_boundary_points - 1)
            known_batch = dest.shape.as_list()[0]
            places = _for_each_image(edge, known_batch, dest.dtype)
            still = _for_each_image(np.zeros([len(edge), 2]), known_batch, dest.dtype)
            dest, flows = concat([dest, places], 1), concat([flows, still], 1)
        found = interpolate_spline(dest, flows, queries, interpolation_order, regularization_weight)
        dense = reshape(found, [batch, height, width, 2])
        return dense_image_warp(image, dense), dense
