"""Functions under the `_v2` names of TensorFlow 1.15's modules: the same operations, with the arguments of TensorFlow 2."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework import dtypes, raw
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.array import fill, gather, pad, reorder, shape
from tfcompat._src.ops.composed import confusion_matrix, indexing, masks
from tfcompat._src.ops.math import reduce
from tfcompat._src.ops.nn import moments
from tfcompat._src.ops.strings import numbers


def expand_dims_v2(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """`tf.expand_dims` without the deprecated `dim`."""
    return shape.expand_dims(input, axis, name)


def shape_v2(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """`tf.shape` with `out_type` before `name`."""
    return shape.shape(input, name, out_type)


def size_v2(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """`tf.size` with `out_type` before `name`."""
    return shape.size(input, name, out_type)


def zeros_like_v2(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """`tf.zeros_like` that always takes known shapes as constants."""
    return fill.zeros_like(input, dtype, name, optimize=True)


def ones_like_v2(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """`tf.ones_like` that always takes known shapes as constants."""
    return fill.ones_like(input, dtype, name, optimize=True)


def boolean_mask_v2(tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask") -> Tensor:
    """`tf.boolean_mask` with `axis` before `name`."""
    return masks.boolean_mask(tensor, mask, name, axis)


def pad_v2(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None) -> Tensor:
    """`tf.pad` with `name` at the end."""
    return pad.pad(tensor, paddings, mode, name, constant_values)


def confusion_matrix_v2(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.confusion_matrix` with `weights` before `dtype`."""
    return confusion_matrix.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)


def decode_raw_v2(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None, name: str | None = None
) -> Tensor:
    """`tf.decode_raw` that brings all strings to `fixed_length` bytes where that is given."""
    if fixed_length is None:
        return numbers.decode_raw(input_bytes, out_type, little_endian, name)
    return raw.DecodePaddedRaw(input_bytes, fixed_length, out_type=out_type, little_endian=little_endian, name=name)


def transpose_v2(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """`tf.transpose` with `conjugate` before `name`."""
    return reorder.transpose(a, perm=perm, name=name, conjugate=conjugate)


def gather_v2(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """`tf.gather` with `name` at the end."""
    return gather.gather(params, indices, name=name, axis=axis, validate_indices=validate_indices, batch_dims=batch_dims)


def gather_nd_v2(params: Any, indices: Any, batch_dims: Any = 0, name: str | None = None) -> Tensor:
    """`tf.gather_nd` with `batch_dims` before `name`."""
    return indexing.gather_nd(params, indices, name=name, batch_dims=batch_dims)


def argmax_v2(input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """`tf.argmax` without the deprecated `dimension`; axis 0 where none is given."""
    return reduce.argmax(input, 0 if axis is None else axis, name, output_type=output_type)


def argmin_v2(input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """`tf.argmin` without the deprecated `dimension`; axis 0 where none is given."""
    return reduce.argmin(input, 0 if axis is None else axis, name, output_type=output_type)


def count_nonzero_v2(
    input: Any, axis: Any = None, keepdims: bool | None = None, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """`tf.count_nonzero` without its deprecated arguments."""
    return reduce.count_nonzero(input, axis=axis, keepdims=keepdims, dtype=dtype, name=name)


def l2_normalize_v2(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """`tf.nn.l2_normalize` without the deprecated `dim`."""
    return moments.l2_normalize(x, axis, epsilon, name)


def moments_v2(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`tf.nn.moments` without the deprecated `keep_dims`."""
    return moments.moments(x, axes, shift=shift, name=name, keepdims=keepdims)
