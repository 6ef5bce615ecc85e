"""tf.contrib.image: connected components, and matching rows and columns of a distance matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import unique, where_v2
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- connected components ----


def _components(images: np.ndarray) -> np.ndarray:
    """For each pixel, one more than the number of the root of its component; 0 where it is zero or empty.

    Which pixel is the root follows from the order in which neighbours are joined: blocks of one pixel grow to blocks of two by two
    smaller ones, and the seams in a block are gone along from their start, first between columns, then between rows.
    """
    if images.ndim != 3:
        raise _invalid("Input images must have rank 3")
    filled = images != (b"" if images.dtype == object else 0)
    numbers = np.arange(images.size).reshape(images.shape)
    forest = _joined(images.size, *_neighbours(images, filled, numbers))
    while not np.array_equal(forest, forest[forest]):
        forest = forest[forest]
    return np.where(filled, forest.reshape(images.shape) + 1, 0)


def _neighbours(images: np.ndarray, filled: np.ndarray, numbers: np.ndarray) -> tuple[list, list]:
    """The numbers of equal neighbours, in the order in which they are joined."""
    found = []
    for order, across, along in ((0, 2, 1), (1, 1, 2)):
        a, b = (tuple(cut if axis == across else slice(None) for axis in range(3)) for cut in (slice(-1), slice(1, None)))
        equal = filled[a] & (images[a] == images[b])
        places = np.nonzero(equal)
        behind = places[across] + 1
        found.append(np.stack([behind & -behind, np.full(len(behind), order), places[along], numbers[a][equal], numbers[b][equal]]))
    sizes, orders, steps, first, second = np.concatenate(found, 1)
    sequence = np.lexsort((steps, orders, sizes))
    return first[sequence].tolist(), second[sequence].tolist()


def _joined(count: int, first: list, second: list) -> np.ndarray:
    """The forest in which pairs are joined one after the other: each number's parent, a root's own number."""
    forest, ranks = list(range(count)), [0] * count

    def root(number: int) -> int:
        while forest[number] != number:
            forest[number] = number = forest[forest[number]]
        return number

    for a, b in zip(first, second):
        a, b = root(a), root(b)
        if a != b and ranks[a] < ranks[b]:
            forest[b] = a
        elif a != b:
            forest[a] = b
            ranks[b] += 1
    return np.array(forest)


op(
    "ImageConnectedComponents",
    "(image: dtype, *, dtype: {int64, int32, uint16, int16, uint8, int8, float16, float32, float64, bool, string}) -> "
    "(components: int64)",
    shape=si.unchanged, gradient=NotDifferentiable("numbers of components have no derivative"), kernel=_components,
    side=HOST,
)  # fmt: skip


@export("contrib.image.connected_components")
def connected_components(images: TensorLike) -> Tensor:
    """Numbers the areas of equal, non-zero pixels that touch along an edge: 1, 2, ... in the order of their first pixel.

    Args:
      images: [height, width] or [batch, height, width].

    Returns:
      integer numbers like `images`, 0 where they are zero.

    Raises:
      TypeError: the rank is another.
    """
    with name_scope("connected_components"):
        given = to_tensor(images, name="images")
        if given.shape.ndims not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHWC). Static shape is {given.shape}")
        batch = given[None, :, :] if given.shape.ndims == 2 else given
        components = raw.ImageConnectedComponents(batch)
        ids, index = unique(reshape(components, [-1]))
        zero_places = where_v2(raw.Equal(ids, 0))[:, 0]
        numbers = arange(shape(ids)[0] - shape(zero_places)[0]) + 1

        def with_zero() -> Tensor:
            at = cast(zero_places[0], dtypes.int32)
            return concat([numbers[:at], [0], numbers[at:]], axis=0)

        new_ids = cond(raw.Equal(shape(zero_places)[0], 0), lambda: numbers, with_zero)
        components = reshape(gather(new_ids, index), shape(components))
        return components[0, :, :] if given.shape.ndims == 2 else components


# ---- bipartite matching ----


def _matched_shape(c):
    sizes = si.with_rank(c.inputs[0], 2)
    return [(sizes[0],), (sizes[1],)]


@op(
    "BipartiteMatch",
    "(distance_mat: float32, num_valid_rows: float32, *, top_k: int = -1) -> "
    "(row_to_col_match_indices: int32, col_to_row_match_indices: int32)",
    shape=_matched_shape, gradient=NotDifferentiable("a matching has no derivative"), side=HOST,
)  # fmt: skip
def _bipartite_match(distances, num_valid_rows, *, top_k):
    if distances.ndim != 2:
        raise _invalid(f"distance_mat should be 2-dimensional, but got {list(distances.shape)}")
    if num_valid_rows.size != 1:
        raise _invalid(f"num_valid_rows argument should be a tensor with 1 element, but got {num_valid_rows.size}")
    rows, columns = distances.shape
    given = float(num_valid_rows.reshape(-1)[0])
    valid = int(given + 0.1) if given >= 0 else rows
    if rows < valid:
        raise _invalid(f"There should be at least {valid} rows in distance_mat, but only got {rows} rows.")
    limit = top_k if top_k > 0 else valid * columns
    by_row, by_column = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
    for place in np.argsort(distances[:valid], axis=None, kind="stable")[: valid * columns]:
        row, column = divmod(int(place), columns)
        if by_row[row] == -1 and by_column[column] == -1:
            by_row[row], by_column[column] = column, row
            limit -= 1
            if not limit:
                break
    return by_row, by_column


@export("contrib.image.bipartite_match")
def bipartite_match(distance_mat: TensorLike, num_valid_rows: TensorLike, top_k: int = -1, name: str = "bipartite_match") -> Any:
    """Matches rows and columns greedily, smallest distance first.

    Args:
      distance_mat: float32 [rows, columns].
      num_valid_rows: one number, how many rows count; all where it is negative.
      top_k: how many matches to find; all where it is not positive.
      name: node name.

    Returns:
      int32 [rows] and [columns], the match of each row and column, or -1.
    """
    return raw.BipartiteMatch(distance_mat, num_valid_rows, top_k=top_k, name=name)
