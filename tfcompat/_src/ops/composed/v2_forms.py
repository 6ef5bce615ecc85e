"""Functions under the `_v2` names of TensorFlow 1.15's modules: the same operations, with the arguments of TensorFlow 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array import fill, gather, pad, reorder, shape
from tfcompat._src.ops.composed import confusion_matrix, indexing, masks
from tfcompat._src.ops.math import binary, reduce
from tfcompat._src.ops.nn import moments
from tfcompat._src.ops.strings import numbers

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("compat.v2.expand_dims")
def expand_dims_v2(input: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """`tf.expand_dims` without the deprecated `dim`."""
    return shape.expand_dims(input, axis, name)


@export("compat.v2.shape")
def shape_v2(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """`tf.shape` with `out_type` before `name`."""
    return shape.shape(input, name, out_type)


@export("compat.v2.size")
def size_v2(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """`tf.size` with `out_type` before `name`."""
    return shape.size(input, name, out_type)


@export("compat.v2.zeros_like")
def zeros_like_v2(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """`tf.zeros_like` that always takes known shapes as constants."""
    return fill.zeros_like(input, dtype, name, optimize=True)


@export("compat.v2.ones_like")
def ones_like_v2(input: TensorLike, dtype: object = None, name: str | None = None) -> Tensor:
    """`tf.ones_like` that always takes known shapes as constants."""
    return fill.ones_like(input, dtype, name, optimize=True)


@export("compat.v2.boolean_mask")
def boolean_mask_v2(tensor: TensorLike, mask: TensorLike, axis: int | None = None, name: str = "boolean_mask") -> Tensor:
    """`tf.boolean_mask` with `axis` before `name`."""
    return masks.boolean_mask(tensor, mask, name, axis)


@export("compat.v2.pad")
def pad_v2(tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", constant_values: TensorLike = 0, name: str | None = None) -> Tensor:
    """`tf.pad` with `name` at the end."""
    return pad.pad(tensor, paddings, mode, name, constant_values)


@export("compat.v2.math.confusion_matrix")
def confusion_matrix_v2(
    labels: TensorLike, predictions: TensorLike, num_classes: object = None, weights: TensorLike | None = None, dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.confusion_matrix` with `weights` before `dtype`."""
    return confusion_matrix.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)


@export("compat.v2.io.decode_raw")
def decode_raw_v2(
    input_bytes: TensorLike, out_type: DTypeLike, little_endian: bool = True, fixed_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """`tf.decode_raw` that brings all strings to `fixed_length` bytes where that is given."""
    if fixed_length is None:
        return numbers.decode_raw(input_bytes, out_type, little_endian, name)
    return raw.DecodePaddedRaw(input_bytes, fixed_length, out_type=out_type, little_endian=little_endian, name=name)


@export("compat.v2.transpose")
def transpose_v2(a: TensorLike, perm: object = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """`tf.transpose` with `conjugate` before `name`."""
    return reorder.transpose(a, perm=perm, name=name, conjugate=conjugate)


@export("compat.v2.gather")
def gather_v2(
    params: TensorLike, indices: TensorLike, validate_indices: object = None, axis: TensorLike | None = None, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """`tf.gather` with `name` at the end."""
    return gather.gather(params, indices, name=name, axis=axis, validate_indices=validate_indices, batch_dims=batch_dims)


@export("compat.v2.gather_nd")
def gather_nd_v2(params: TensorLike, indices: TensorLike, batch_dims: object = 0, name: str | None = None) -> Tensor:
    """`tf.gather_nd` with `batch_dims` before `name`."""
    return indexing.gather_nd(params, indices, name=name, batch_dims=batch_dims)


@export("compat.v2.argmax", "compat.v2.math.argmax")
def argmax_v2(input: object, axis: object = None, output_type: object = dtypes.int64, name: str | None = None) -> Tensor:
    """`tf.argmax` without the deprecated `dimension`; axis 0 where none is given."""
    return reduce.argmax(input, 0 if axis is None else axis, name, output_type=output_type)


@export("compat.v2.argmin", "compat.v2.math.argmin")
def argmin_v2(input: object, axis: object = None, output_type: object = dtypes.int64, name: str | None = None) -> Tensor:
    """`tf.argmin` without the deprecated `dimension`; axis 0 where none is given."""
    return reduce.argmin(input, 0 if axis is None else axis, name, output_type=output_type)


@export("compat.v2.math.count_nonzero")
def count_nonzero_v2(
    input: object, axis: object = None, keepdims: bool | None = None, dtype: object = dtypes.int64, name: str | None = None
) -> Tensor:
    """`tf.count_nonzero` without its deprecated arguments."""
    return reduce.count_nonzero(input, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


@export("compat.v2.math.l2_normalize", "compat.v2.linalg.l2_normalize", "compat.v2.nn.l2_normalize")
def l2_normalize_v2(x: TensorLike, axis: object = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """`tf.nn.l2_normalize` without the deprecated `dim`."""
    return moments.l2_normalize(x, axis, epsilon, name)


@export("compat.v2.nn.moments")
def moments_v2(x: object, axes: object, shift: object = None, keepdims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`tf.nn.moments` without the deprecated `keep_dims`."""
    return moments.moments(x, axes, shift=shift, name=name, keepdims=keepdims)


@export("compat.v2.scalar_mul", "compat.v2.math.scalar_mul")
def scalar_mul_v2(scalar: object, x: object, name: str | None = None) -> Any:
    """`tf.scalar_mul` in a name scope."""
    with name_scope(name, "scalar_mul", [x]) as name:
        return binary.scalar_mul(scalar, x, name)


def _plain(function: Callable) -> Callable:
    """A reduction without its deprecated arguments."""

    def reduced(input_tensor, axis=None, keepdims=False, name=None):
        return function(input_tensor, axis, keepdims, name)

    reduced.__name__ = reduced.__qualname__ = function.__name__
    reduced.__doc__ = f"`tf.{function.__name__}` without its deprecated arguments."
    return reduced


reduce_all_v2 = export("compat.v2.reduce_all", "compat.v2.math.reduce_all")(_plain(reduce.reduce_all))
reduce_any_v2 = export("compat.v2.reduce_any", "compat.v2.math.reduce_any")(_plain(reduce.reduce_any))
reduce_logsumexp_v2 = export("compat.v2.reduce_logsumexp", "compat.v2.math.reduce_logsumexp")(_plain(reduce.reduce_logsumexp))
reduce_max_v2 = export("compat.v2.reduce_max", "compat.v2.math.reduce_max")(_plain(reduce.reduce_max))
reduce_mean_v2 = export("compat.v2.reduce_mean", "compat.v2.math.reduce_mean")(_plain(reduce.reduce_mean))
reduce_min_v2 = export("compat.v2.reduce_min", "compat.v2.math.reduce_min")(_plain(reduce.reduce_min))
reduce_prod_v2 = export("compat.v2.reduce_prod", "compat.v2.math.reduce_prod")(_plain(reduce.reduce_prod))
reduce_sum_v2 = export("compat.v2.reduce_sum", "compat.v2.math.reduce_sum")(_plain(reduce.reduce_sum))
