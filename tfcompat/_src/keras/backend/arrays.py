"""Products and rearrangements of tf.keras.backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import checked_data_format
from tfcompat._src.keras.backend.math import reduce_prod
from tfcompat._src.keras.backend.values import int_shape, is_sparse, ndim, to_dense
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array import gather as gathers
from tfcompat._src.ops.array import join, reorder
from tfcompat._src.ops.array import shape as shapes
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.image.resize_functions import ResizeMethod, resize_images_v2
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange as make_range
from tfcompat._src.ops.sparse.combine import sparse_concat
from tfcompat._src.ops.sparse.product import sparse_tensor_dense_matmul

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- products ----


def _sizes(x: TensorLike) -> tuple[Any, ...]:
    """The sizes of `x`: ints where they are known, else scalar tensors."""
    return tuple(
        found if known is None else known for known, found in zip(int_shape(x), join.unstack(shapes.shape(x)))
    )


@export("keras.backend.dot")
def dot(x: TensorLike, y: TensorLike) -> Tensor:
    """The product over the last dimension of `x` and the last but one of `y`; `x` may be sparse."""
    if ndim(x) is None or (ndim(x) <= 2 and ndim(y) <= 2):
        return sparse_tensor_dense_matmul(x, y) if is_sparse(x) else matmul(x, y)
    x_sizes, y_sizes = _sizes(x), _sizes(y)
    last = ndim(y) - 1
    permuted = [last - 1, *range(last - 1), last] if last else [0]
    rows = shapes.reshape(x, [-1, x_sizes[-1]])
    columns = shapes.reshape(reorder.transpose(y, perm=permuted), [y_sizes[-2], -1])
    return shapes.reshape(matmul(rows, columns), x_sizes[:-1] + y_sizes[:-2] + y_sizes[-1:])


@export("keras.backend.batch_dot")
def batch_dot(x: object, y: object, axes: Any = None) -> Tensor:
    """The product of each pair of elements of two batches.

    Args:
      x, y: tensors [batch, ...] of rank 2 or more.
      axes: an int or two ints, the dimensions to sum over; by default the last of `x` and the last but one of `y`.

    Returns:
      a tensor of rank 2 or more.
    """
    x_rank, y_rank = ndim(x), ndim(y)
    axes = [x_rank - 1, y_rank - 2] if axes is None else [axes, axes] if isinstance(axes, int) else axes
    missing = abs(x_rank - y_rank)
    if x_rank > y_rank:
        y = _with_ones(y, missing)
    elif y_rank > x_rank:
        x = _with_ones(x, missing)
    if ndim(x) == 2 and ndim(y) == 2:
        left = x if axes[0] == axes[1] else reorder.transpose(x, [1, 0])
        out = reduce_sum(multiply(left, y), axes[0] if axes[0] == axes[1] else axes[1])
    else:
        out = matmul(x, y, adjoint_a=axes[0] != ndim(x) - 1, adjoint_b=axes[1] == ndim(y) - 1)
    if missing:
        first = x_rank + y_rank - 3 if x_rank > y_rank else x_rank - 1
        out = shapes.squeeze(out, list(range(first, first + missing)))
    return expand_dims(out, 1) if ndim(out) == 1 else out


def _with_ones(x: TensorLike, count: int) -> Tensor:
    return shapes.reshape(x, join.concat([shapes.shape(x), [1] * count], axis=0))


# ---- rearrangements ----


@export("keras.backend.transpose")
def transpose(x: TensorLike) -> Tensor:
    """`x` with its dimensions in reverse order."""
    return reorder.transpose(x)


@export("keras.backend.permute_dimensions")
def permute_dimensions(x: TensorLike, pattern: object) -> Tensor:
    """`x` with its dimensions in the order `pattern`."""
    return reorder.transpose(x, perm=pattern)


@export("keras.backend.gather")
def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """The rows of `reference` that `indices` say."""
    return gathers.gather(reference, indices)


@export("keras.backend.reshape")
def reshape(x: TensorLike, shape: TensorLike) -> Tensor:
    """`x` in another shape."""
    return shapes.reshape(x, shape)


@export("keras.backend.flatten")
def flatten(x: TensorLike) -> Tensor:
    """`x` in one dimension."""
    return shapes.reshape(x, [-1])


@export("keras.backend.batch_flatten")
def batch_flatten(x: TensorLike) -> Tensor:
    """`x` in two dimensions; the first is kept."""
    return shapes.reshape(x, join.stack([-1, reduce_prod(shapes.shape(x)[1:])]))


@export("keras.backend.expand_dims")
def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """`x` with a dimension of size 1 at `axis`."""
    return shapes.expand_dims(x, axis)


@export("keras.backend.squeeze")
def squeeze(x: TensorLike, axis: int) -> Tensor:
    """`x` without its dimension `axis`, of size 1."""
    return shapes.squeeze(x, [axis])


@export("keras.backend.concatenate")
def concatenate(tensors: list[Any], axis: int = -1) -> Any:
    """Tensors one after the other along `axis`; sparse where all are."""
    if axis < 0:
        rank = ndim(tensors[0])
        axis = axis % rank if rank else 0
    if all(is_sparse(x) for x in tensors):
        return sparse_concat(axis, tensors)
    return join.concat([to_dense(x) for x in tensors], axis)


@export("keras.backend.stack")
def stack(x: list[Any], axis: int = 0) -> Tensor:
    """Tensors of the same shape along a new dimension `axis`."""
    return join.stack(x, axis=axis)


@export("keras.backend.tile")
def tile(x: TensorLike, n: object) -> Tensor:
    """`x` repeated `n` times, an int or one for each dimension."""
    return join.tile(x, [n] if isinstance(n, int) else n)


@export("keras.backend.reverse")
def reverse(x: TensorLike, axes: object) -> Tensor:
    """`x` in reverse order along `axes`, an int or several."""
    return reorder.reverse(x, [axes] if isinstance(axes, int) else axes)


@export("keras.backend.one_hot")
def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """Vectors of length `num_classes` with a 1 where `indices` say."""
    return gathers.one_hot(indices, depth=num_classes, axis=-1)


@export("keras.backend.arange")
def arange(start: Any, stop: Any = None, step: object = 1, dtype: object = "int32") -> Tensor:
    """The numbers from `start` up to `stop`; empty for a negative `start` without `stop`."""
    if stop is None and start < 0:
        start = 0
    result = make_range(start, limit=stop, delta=step, name="arange")
    return result if dtype == "int32" else cast(result, dtype)


@export("keras.backend.repeat")
def repeat(x: Any, n: int) -> Tensor:
    """A matrix [batch, size] as [batch, n, size]."""
    if ndim(x) != 2:
        raise AssertionError(f"repeat wants a matrix, got {x.shape}")
    return join.tile(shapes.expand_dims(x, 1), join.stack([1, n, 1]))


@export("keras.backend.repeat_elements")
def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """`x` with each element along `axis` repeated `rep` times, as np.repeat does."""
    sizes = x.shape.as_list()
    if sizes[axis] is not None:
        parts = join.split(value=x, num_or_size_splits=sizes[axis], axis=axis)
        return concatenate([part for part in parts for _ in range(rep)], axis)
    found = shapes.shape(x)
    multiples = np.ones(len(sizes) + 1)
    multiples[axis + 1] = rep
    repeated = join.tile(shapes.expand_dims(x, axis=axis + 1), multiples)
    growth = np.ones(len(sizes))
    growth[axis] = rep
    repeated = shapes.reshape(repeated, found * constant(growth, dtype="int32"))
    repeated.set_shape(sizes)
    repeated._keras_shape = tuple(sizes)
    return repeated


# ---- images ----


def _to_channels_last(x: Tensor, rank: int) -> Tensor:
    return reorder.transpose(x, perm=[0, *range(2, rank), 1])


def _to_channels_first(x: Tensor, rank: int) -> Tensor:
    return reorder.transpose(x, perm=[0, rank - 1, *range(1, rank - 1)])


@export("keras.backend.resize_images")
def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images of rank 4 enlarged by two ints, by "nearest" or "bilinear"; ValueError for another way or format."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    rows = 2 if data_format == "channels_first" else 1
    known = int_shape(x)[rows : rows + 2]
    size = shapes.shape(x)[rows : rows + 2] * constant(np.array([height_factor, width_factor], dtype="int32"))
    if data_format == "channels_first":
        x = _to_channels_last(x, 4)
    if interpolation not in (ResizeMethod.NEAREST_NEIGHBOR, ResizeMethod.BILINEAR):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    x = resize_images_v2(x, size, method=interpolation)
    new = [None if n is None else n * factor for n, factor in zip(known, (height_factor, width_factor))]
    if data_format == "channels_first":
        x = _to_channels_first(x, 4)
        x.set_shape((None, None, *new))
    else:
        x.set_shape((None, *new, None))
    return x


@export("keras.backend.resize_volumes")
def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Tensor:
    """Volumes of rank 5 with their elements repeated by three ints; ValueError for an unknown format."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    first = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = repeat_elements(x, factor, axis=axis)
    return x


def _check_pair(padding: Any) -> None:
    if len(padding) != 2:
        raise AssertionError(f"padding wants two counts, before and behind, got {padding}")


@export("keras.backend.temporal_padding")
def temporal_padding(x: TensorLike, padding: tuple[int, int] = (1, 1)) -> Tensor:
    """A tensor of rank 3 with zeros before and behind its middle dimension."""
    _check_pair(padding)
    return pad(x, [[0, 0], list(padding), [0, 0]])


def _pad_spatial(x: TensorLike, padding: Any, rank: int, data_format: str | None) -> Tensor:
    if len(padding) != rank:
        raise AssertionError(f"padding wants {rank} pairs, got {padding}")
    for pair in padding:
        _check_pair(pair)
    pattern = [[0, 0], *(list(pair) for pair in padding)]
    pattern.insert(1 if checked_data_format(data_format) == "channels_first" else len(pattern), [0, 0])
    return pad(x, pattern)


@export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(x: TensorLike, padding: object = ((1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Images with zeros around them: a pair of counts for the height and one for the width."""
    return _pad_spatial(x, padding, 2, data_format)


@export("keras.backend.spatial_3d_padding")
def spatial_3d_padding(x: TensorLike, padding: object = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Volumes with zeros around them: a pair of counts for each of three dimensions."""
    return _pad_spatial(x, padding, 3, data_format)
