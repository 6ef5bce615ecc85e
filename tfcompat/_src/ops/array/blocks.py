"""Moving blocks between the spatial dimensions and the batch or depth dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import invalid

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- space and batch ----


def _times(size: int | None, by: int) -> int | None:
    return None if size is None else size * by


def _block_shape(c, block: Any, count: int | None, borders_index: int, to_batch: bool) -> list:
    """The output shape; `block` are the block sizes where known, `count` their number."""
    if count is None:
        raise ValueError("block_shape must have known size.")
    sizes, label = si.with_rank_at_least(c.inputs[0], count + 1), "paddings" if to_batch else "crops"
    si.merge(c.inputs[borders_index], (count, 2))
    borders = c.value(borders_index)
    if block is not None and (np.asarray(block) < 1).any():
        raise ValueError("block_shape must be positive")
    if borders is not None and (borders < 0).any():
        raise ValueError(f"{label} cannot be negative")
    if sizes is None:
        return [None]
    if block is None:
        return [(None if count else sizes[0],) + (None,) * count + sizes[count + 1 :]]
    batch = sizes[0]
    for b in block:
        batch = _times(batch, int(b)) if to_batch else si.divide_size(batch, int(b))
    inner: list = [None] * count
    if borders is not None:
        for i, (size, b, border) in enumerate(zip(sizes[1:], block, borders)):
            change = int(border.sum())
            if to_batch:
                inner[i] = si.divide_size(None if size is None else size + change, int(b))
            else:
                inner[i] = None if size is None else si.subtract_size(size * int(b), change)
    return [(batch, *inner, *sizes[count + 1 :])]


def _nd_shape(to_batch: bool):
    def sizes(c):
        if c.inputs[1] is not None and len(c.inputs[1]) != 1:
            raise ValueError("block_shape must have rank 1.")
        count = c.inputs[1] and c.inputs[1][0]
        return _block_shape(c, c.value(1), count, 2, to_batch)

    return sizes


def _square_shape(to_batch: bool):
    def shape(c):
        c.inputs[0] = si.with_rank(c.inputs[0], 4)
        return _block_shape(c, [c.attr("block_size")] * 2, 2, 1, to_batch)

    return shape


def _check_blocks(block, edges, name):
    if np.ndim(block) != 1:
        raise invalid(f"block_shape must be a vector, not of rank {np.ndim(block)}")
    if np.shape(edges) != (len(block), 2):
        raise invalid(f"{name} should have shape [{len(block)}, 2] instead of {list(np.shape(edges))}")
    if any(b < 1 for b in block):
        raise invalid(f"All values in block_shape must be positive, got {[int(b) for b in block]}")
    if np.any(np.less(edges, 0)):
        raise invalid(f"{name} must be non-negative, got {np.asarray(edges).tolist()}")


def _space_to_batch(x, block, paddings):
    _check_blocks(block, paddings, "paddings")
    blocks, count = [int(b) for b in block], len(block)
    if x.ndim < count + 1:
        raise invalid(f"input rank should be >= {count + 1} instead of {x.ndim}")
    pads = [(0, 0), *((int(b), int(a)) for b, a in paddings), *[(0, 0)] * (x.ndim - count - 1)]
    x = jnp.pad(x, pads) if np.any(paddings) else jnp.asarray(x)
    for i, (size, b) in enumerate(zip(x.shape[1:], blocks)):
        if size % b:
            raise invalid(f"padded_shape[{i}]={size} is not divisible by block_shape[{i}]={b}")
    rest = x.shape[count + 1 :]
    inner = [n for size, b in zip(x.shape[1:], blocks) for n in (size // b, b)]
    split = x.reshape((x.shape[0], *inner, *rest))
    places = range(1, 2 * count, 2)
    order = [*(p + 1 for p in places), 0, *places, *range(2 * count + 1, split.ndim)]
    moved = split.transpose(order)
    return moved.reshape((x.shape[0] * int(np.prod(blocks)), *inner[::2], *rest))


def _batch_to_space(x, block, crops):
    _check_blocks(block, crops, "crops")
    blocks, count = [int(b) for b in block], len(block)
    total = int(np.prod(blocks))
    if x.ndim < count + 1:
        raise invalid(f"input rank should be >= {count + 1} instead of {x.ndim}")
    if x.shape[0] % total:
        raise invalid(f"Input batch dimension ({x.shape[0]}) is not divisible by product of block sizes ({total})")
    full = [s * b for s, b in zip(x.shape[1:], blocks)]
    for i, (size, (before, after)) in enumerate(zip(full, crops.tolist())):
        if size - before - after < 0:
            raise invalid(f"cropped_shape[{i}]={size - before - after} must be non-negative")
    batch, rest = x.shape[0] // total, x.shape[count + 1 :]
    split = jnp.asarray(x).reshape((*blocks, batch, *x.shape[1 : count + 1], *rest))
    pairs = [d for i in range(count) for d in (count + 1 + i, i)]
    moved = split.transpose([count, *pairs, *range(2 * count + 1, split.ndim)]).reshape((batch, *full, *rest))
    return moved[(slice(None), *(slice(int(b), size - int(a)) for size, (b, a) in zip(full, crops)))]


op(
    "SpaceToBatchND",
    "(input: T, block_shape: Tblock_shape, paddings: Tpaddings, *, T: type, Tblock_shape: INDEX = int32, "
    "Tpaddings: INDEX = int32) -> (output: T)",
    shape=_nd_shape(True), kernel=_space_to_batch, constants=("block_shape", "paddings"),
    gradient=lambda op, grad: [raw.BatchToSpaceND(grad, op.inputs[1], op.inputs[2]), None, None],
)  # fmt: skip
op(
    "BatchToSpaceND",
    "(input: T, block_shape: Tblock_shape, crops: Tcrops, *, T: type, Tblock_shape: INDEX = int32, Tcrops: INDEX = "
    "int32) -> "
    "(output: T)",
    shape=_nd_shape(False), kernel=_batch_to_space, constants=("block_shape", "crops"),
    gradient=lambda op, grad: [raw.SpaceToBatchND(grad, op.inputs[1], op.inputs[2]), None, None],
)  # fmt: skip


def _require_square(x: Any) -> None:
    if x.ndim != 4:
        raise invalid(f"Input rank should be: 4 instead of: {x.ndim}")


@op(
    "SpaceToBatch", "(input: T, paddings: Tpaddings, *, T: type, Tpaddings: INDEX = int32, block_size: int >= 2) "
    "-> (output: T)",
    shape=_square_shape(True), constants=("paddings",),
    gradient=lambda op, grad: [batch_to_space(grad, op.inputs[1], block_size=op.get_attr("block_size")), None],
)  # fmt: skip
def _space_to_batch_square(x, paddings, *, block_size):
    _require_square(x)
    return _space_to_batch(x, [block_size] * 2, paddings)


@op(
    "BatchToSpace", "(input: T, crops: Tidx, *, T: type, block_size: int >= 2, Tidx: INDEX = int32) -> (output: T)",
    shape=_square_shape(False), constants=("crops",),
    gradient=lambda op, grad: [space_to_batch(grad, op.inputs[1], block_size=op.get_attr("block_size")), None],
)  # fmt: skip
def _batch_to_space_square(x, crops, *, block_size):
    _require_square(x)
    return _batch_to_space(x, [block_size] * 2, crops)


@export("space_to_batch_nd", "manip.space_to_batch_nd")
def space_to_batch_nd(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None) -> Tensor:
    """Cuts the spatial dimensions into blocks and moves the places within a block to the batch dimension.

    Args:
      input: [batch, spatial..., rest...].
      block_shape: int vector, the block size in each spatial dimension.
      paddings: int [k, 2], zeros added before and after each spatial dimension first.
      name: node name.
    """
    return raw.SpaceToBatchND(input, block_shape, paddings, name=name)


@export("batch_to_space_nd", "manip.batch_to_space_nd")
def batch_to_space_nd(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch_nd`; `crops` (int [k, 2]) elements are then cut off each spatial dimension."""
    return raw.BatchToSpaceND(input, block_shape, crops, name=name)


def _square(block_size: object) -> np.ndarray:
    return np.array([block_size, block_size], np.int64)


@export("space_to_batch", "nn.space_to_batch")
def space_to_batch(
    input: TensorLike, paddings: TensorLike, block_size: object = None, name: str | None = None, block_shape: object = None
) -> Tensor:
    """`space_to_batch_nd` of [batch, height, width, depth] with square blocks of `block_size` (or `block_shape`)."""
    block_size = deprecated_argument_lookup("block_shape", block_shape, "block_size", block_size)
    result = space_to_batch_nd(input, paddings=paddings, block_shape=_square(block_size), name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


@export("batch_to_space")
def batch_to_space(input: TensorLike, crops: TensorLike, block_size: object, name: str | None = None, block_shape: object = None) -> Tensor:
    """`batch_to_space_nd` of [batch, height, width, depth] with square blocks of `block_size` (or `block_shape`)."""
    block_size = deprecated_argument_lookup("block_shape", block_shape, "block_size", block_size)
    result = batch_to_space_nd(input, crops=crops, block_shape=_square(block_size), name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


# ---- space and depth ----

_DEPTH_ATTRS = 'T: type, block_size: int >= 2, data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"'


def _depth_shape(to_depth: bool):
    def sizes(c):
        block, layout = c.attr("block_size"), c.attr("data_format")
        n, *rest = si.with_rank(c.inputs[0], 5 if layout == b"NCHW_VECT_C" else 4)
        lanes = rest[3:]
        *space, depth = rest if layout == b"NHWC" else rest[1:3] + rest[:1]
        if to_depth:
            found = [si.divide_size(s, block) for s in space], _times(depth, block * block)
        else:
            found = [_times(s, block) for s in space], si.divide_size(depth, block * block)
        return [(n, *found[0], found[1]) if layout == b"NHWC" else (n, found[1], *found[0], *lanes)]

    return sizes


def _image_sizes(x: Any, layout: str) -> tuple[int, int, int, int]:
    """Batch, height, width and depth of images."""
    if layout == "NCHW_VECT_C":
        raise NotImplementedError("tfcompat has no space_to_depth and depth_to_space in the NCHW_VECT_C layout.")
    n, *rest = x.shape
    h, w, c = rest if layout == "NHWC" else (*rest[1:], rest[0])
    return n, h, w, c


def _gradient(other: str):
    def gradient(op, grad):
        return [getattr(raw, other)(grad, block_size=op.get_attr("block_size"), data_format=op.get_attr("data_format"))]

    return gradient


@op(
    "SpaceToDepth",
    f"(input: T, *, {_DEPTH_ATTRS}) -> (output: T)",
    shape=_depth_shape(True),
    gradient=_gradient("DepthToSpace"),
)
def _space_to_depth(x, *, block_size, data_format):
    first = data_format == "NCHW"
    n, h, w, c = _image_sizes(x, data_format)
    b = block_size
    if h % b or w % b:
        raise invalid(f"Image width {w} and height {h} should be divisible by block_size: {b}")
    if first:
        return x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, b * b * c, h // b, w // b)
    return x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)


@op(
    "DepthToSpace",
    f"(input: T, *, {_DEPTH_ATTRS}) -> (output: T)",
    shape=_depth_shape(False),
    gradient=_gradient("SpaceToDepth"),
)
def _depth_to_space(x, *, block_size, data_format):
    first = data_format == "NCHW"
    n, h, w, c = _image_sizes(x, data_format)
    b = block_size
    if c % (b * b):
        raise invalid(f"Input depth dimension {c} should be divisible by: {b * b}")
    depth = c // (b * b)
    if first:
        return x.reshape(n, b, b, depth, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, depth, h * b, w * b)
    return x.reshape(n, h, w, b, b, depth).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, depth)


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves the places within square blocks of `block_size` of an image batch to the depth dimension."""
    return raw.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


@export("depth_to_space", "nn.depth_to_space")
def depth_to_space(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """The inverse of `space_to_depth`."""
    return raw.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)
