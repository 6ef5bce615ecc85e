"""Gathers with batch dimensions, repetition, grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, reshape, shape, size
from tfcompat._src.ops.composed.masks import all_dimensions, boolean_mask, sequence_mask

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid over several axes.

    Args:
      *args: n vectors, the points of each axis.
      **kwargs: `indexing`, "xy" (the first two dimensions swapped, the default) or "ij"; `name`.

    Returns:
      n tensors of rank n.

    Raises:
      ValueError: another indexing. TypeError: another keyword argument.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        count = len(args)
        axes = [reshape(stack(x), (1,) * i + (-1,) + (1,) * (count - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and count > 1:
            axes[0] = reshape(axes[0], (1, -1) + (1,) * (count - 2))
            axes[1] = reshape(axes[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        full = ones(sizes, dtype)
        return [x * full for x in axes]


# ---- gather_nd, batch_gather ----


@export("gather_nd", "manip.gather_nd")
def gather_nd(params: object, indices: object, name: str | None = None, batch_dims: Any = 0) -> Tensor:
    """The slices of `params` at the positions in the last dimension of `indices`.

    Args:
      params: a tensor or variable.
      indices: int [..., k], positions in k dimensions behind the batch dimensions.
      name: node name.
      batch_dims: how many leading dimensions `params` and `indices` share.

    Raises:
      ValueError: the ranks do not fit. InvalidArgumentError: when run, an index is out of range.
    """
    known = constant_value(batch_dims) if isinstance(batch_dims, Tensor) else batch_dims
    batch_dims = batch_dims if known is None else int(known)
    if batch_dims != 0:
        return batch_gather_nd(params, indices, batch_dims=batch_dims, name=name)
    if hasattr(params, "gather_nd"):
        return params.gather_nd(indices, name=name)
    return raw.GatherNd(params, indices, name=name)


def _check_batch_dims(batch_dims: object, params: Tensor, indices: Tensor) -> None:
    if not isinstance(batch_dims, int):
        raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")
    for label, ndims in (("indices", indices.shape.ndims), ("params", params.shape.ndims)):
        if ndims is not None and batch_dims >= ndims:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank({label}) = {ndims}")


def batch_gather_nd(params: TensorLike, indices: TensorLike, batch_dims: int, name: str | None = None) -> Tensor:
    """`gather_nd` with one or more batch dimensions: their coordinates are put before the indices."""
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices, params = convert_to_tensor(indices, name="indices"), convert_to_tensor(params, name="params")
        _check_batch_dims(batch_dims, params, indices)
        params_shape, indices_shape = shape(params), shape(indices)
        batch_shape = params_shape[:batch_dims]
        batch_size = raw.Prod(batch_shape, [0])
        inner_rank = rank(indices) - batch_dims - 1
        inner_shape = indices_shape[batch_dims:-1]
        ranges = [raw.Cast(raw.Range(0, x, 1), DstT=indices.dtype) for x in unstack(batch_shape, axis=0)]
        flat = [reshape(x, shape=(-1,)) for x in meshgrid(*ranges, indexing="ij")]
        grid = transpose(stack(flat, axis=0))
        grid_shape = shape(grid)
        grid = reshape(grid, concat([grid_shape[:1], ones(inner_rank, dtype=dtypes.int32), grid_shape[1:]], axis=0))
        grid = raw.Tile(grid, concat(((1,), inner_shape, (1,)), axis=0))
        rows = reshape(indices, shape=concat(([batch_size], indices_shape[batch_dims:]), axis=0))
        found = raw.GatherNd(params, concat((grid, rows), axis=-1))
        return reshape(found, shape=concat((batch_shape, shape(found)[1:]), axis=0))


@export("batch_gather")
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers along the last dimension of `indices`, its other dimensions being batch dimensions shared with `params`.

    Raises:
      ValueError: the rank of `indices` is unknown or too high for `params`.
    """
    with name_scope(name, "BatchGather", [params, indices]):
        indices, params = convert_to_tensor(indices, name="indices"), convert_to_tensor(params, name="params")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return _batch_gather(params, indices, indices.shape.ndims - 1)


def _batch_gather(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Flattens the batch and gathered dimensions into one, in which each batch has its offset."""
    count = indices.shape.ndims
    if batch_dims < 0:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {count}")
    if params.shape.ndims is not None and batch_dims >= params.shape.ndims:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(params) = {params.shape.ndims}")
    indices_shape, params_shape = shape(indices), shape(params)
    dtype, places = indices.dtype.base_dtype, indices
    stride, sizes = ones((), dtype=dtype), raw.Cast(params_shape, DstT=dtype)
    for dim in range(batch_dims, 0, -1):
        length = sizes[dim - 1]
        stride *= sizes[dim]
        offsets = raw.Range(zeros((), dtype=dtype), length, ones((), dtype=dtype))
        offsets *= stride
        places += reshape(offsets, stack([1] * (dim - 1) + [length] + [1] * (count - dim), axis=0))
    flat = reshape(places, [-1])
    outer = params_shape[batch_dims + 1 :]
    rows = raw.Prod(params_shape[: batch_dims + 1], [0])
    found = gather(reshape(params, concat([[rows], outer], axis=0)), flat)
    result = reshape(found, concat([indices_shape, outer], axis=0))
    static = indices.shape[:batch_dims].merge_with(params.shape[:batch_dims]).concatenate(indices.shape[batch_dims:])
    result.set_shape(static.concatenate(params.shape[batch_dims + 1 :]))
    return result


# ---- repeat ----


@export("repeat")
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """`input` with each of its slices along `axis` repeated.

    Args:
      input: a tensor.
      repeats: int scalar, or one number per slice.
      axis: dimension; by default `input` is flattened.
      name: name scope.

    Raises:
      ValueError: `axis` does not exist or `repeats` does not fit. TypeError: `repeats` is no integer.
    """
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    with name_scope(name, "Repeat", [input, repeats]):
        data, repeats = convert_to_tensor(input, name="data"), convert_to_int_tensor(repeats, name="repeats")
        repeats.shape.with_rank_at_most(1)
        data = _with_a_dimension(data)
        data_shape = shape(data)
        axis = get_positive_axis(axis, data.shape.ndims)
        if repeats.shape.ndims == 1:
            data.shape.dims[axis].assert_is_compatible_with(repeats.shape[0])
        if repeats.shape.ndims == 0:
            tiled = _tile_along(raw.ExpandDims(data, axis + 1), axis + 1, repeats)
            return reshape(tiled, concat([data_shape[:axis], [-1], data_shape[axis + 1 :]], axis=0))
        return _repeat_each(data, data_shape, repeats, axis)


def _repeat_each(data: Tensor, data_shape: Tensor, repeats: Tensor, axis: int) -> Tensor:
    """Tiles to the largest number, then masks what is too much."""
    if repeats.shape.ndims != axis + 1:
        repeats_shape, repeats_rank = shape(repeats), rank(repeats)
        wanted = concat([data_shape[: axis + 1 - repeats_rank], repeats_shape], axis=0)
        repeats = raw.BroadcastTo(repeats, wanted)
        repeats.set_shape([None] * (axis + 1))
    most = raw.Maximum(0, raw.Max(repeats, all_dimensions(repeats)))
    mask = sequence_mask(repeats, most)
    tiled = _tile_along(raw.ExpandDims(data, axis + 1), axis + 1, most)
    result = boolean_mask(tiled, mask)
    if axis:
        result = reshape(result, concat([data_shape[:axis], [-1], data_shape[axis + 1 :]], axis=0))
    if data.shape.ndims is not None:
        rows = 0 if dimension_value(repeats.shape[0]) == 0 else None
        result.set_shape(data.shape[:axis].concatenate(TensorShape([rows])).concatenate(data.shape[axis + 1 :]))
    return result


def convert_to_int_tensor(tensor: TensorLike, name: str, dtype: DTypeLike = dtypes.int32) -> Tensor:
    """An integer Tensor of `dtype`; TypeError for other types."""
    tensor = convert_to_tensor(tensor, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return raw.Cast(tensor, DstT=dtype)


def get_positive_axis(axis: object, ndims: int | None) -> int:
    """A dimension counted from the front; TypeError unless it is an int, ValueError outside [-ndims, ndims)."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if ndims is None:
        if axis < 0:
            raise ValueError("axis may only be negative if ndims is statically known.")
        return axis
    if not -ndims <= axis < ndims:
        raise ValueError(f"axis={axis} out of bounds: expected {-ndims}<=axis<{ndims}")
    return axis % ndims


def _with_a_dimension(data: Tensor) -> Tensor:
    if data.shape.ndims is None:
        return reshape(data, concat([[1], shape(data)], axis=0)[-rank(data) :])
    return stack([data]) if data.shape.ndims == 0 else data


def _tile_along(data: Tensor, axis: int, multiple: Tensor) -> Tensor:
    if data.shape.ndims is not None:
        return raw.Tile(data, [1] * axis + [multiple] + [1] * (data.shape.ndims - axis - 1))
    single = ones(rank(data), dtypes.int32)
    return raw.Tile(data, concat([single[:axis], [multiple], single[axis + 1 :]], axis=0))


# ---- paddings for space_to_batch ----


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None, name: str | None = None
) -> tuple:
    """The paddings and crops that make `input_shape` divisible by `block_shape`.

    Args:
      input_shape: int32 vector of n sizes.
      block_shape: int32 vector of n block sizes, of known length.
      base_paddings: int32 [n, 2], the least paddings; zeros by default.
      name: name scope.

    Returns:
      (paddings, crops), both int32 [n, 2].
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        block_shape = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        block_shape.shape.assert_is_fully_defined()
        block_shape.shape.assert_has_rank(1)
        count = dimension_value(block_shape.shape[0])
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        input_shape.shape.assert_is_compatible_with([count])
        if base_paddings is None:
            base_paddings = zeros([count, 2], dtypes.int32)
        else:
            base_paddings = convert_to_tensor(base_paddings, dtype=dtypes.int32, name="base_paddings")
            base_paddings.shape.assert_is_compatible_with([count, 2])
        known = [constant_value(t) for t in (block_shape, input_shape, base_paddings)]
        if all(k is not None for k in known):
            block_shape, input_shape, base_paddings = known
        start, end = base_paddings[:, 0], base_paddings[:, 1]
        full = input_shape + start + end
        extra = (block_shape - full % block_shape) % block_shape
        end = end + extra
        paddings = stack([[start[i], end[i]] for i in range(count)], name="paddings")
        return paddings, stack([[0, extra[i]] for i in range(count)], name="crops")
