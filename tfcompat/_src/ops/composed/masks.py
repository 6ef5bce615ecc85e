"""Choosing elements by a boolean mask, and masks made of lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank, shape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("boolean_mask")
def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """The elements of `tensor` at which `mask` is True.

    Args:
      tensor: a tensor of rank n.
      mask: bool tensor of known rank k <= n, of the shape of dimensions [axis, axis + k) of `tensor`.
      name: name scope.
      axis: where the masked dimensions begin, 0 by default.

    Returns:
      a tensor of rank n - k + 1.

    Raises:
      ValueError: the mask is scalar, of unknown rank, or does not fit.
    """
    with name_scope(name, values=[tensor, mask]):
        tensor, mask = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        count, sizes = mask.shape.ndims, tensor.shape
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        if count is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        sizes[axis : axis + count].assert_is_compatible_with(mask.shape)
        leading = raw.Prod(shape(tensor)[axis : axis + count], [0])
        flat = raw.Reshape(tensor, concat([shape(tensor)[:axis], [leading], shape(tensor)[axis + count :]], 0))
        if sizes.ndims is not None:
            rows = TensorShape([sizes[axis : axis + count].num_elements()])
            flat.set_shape(sizes[:axis].concatenate(rows).concatenate(sizes[axis + count :]))
        indices = raw.Squeeze(where(raw.Reshape(mask, [-1])), squeeze_dims=[1])
        return gather(flat, indices, axis=axis)


@export("sparse.mask", "sparse_mask")
def sparse_mask(a: Any, mask_indices: object, name: str | None = None) -> Any:
    """IndexedSlices `a` without the rows whose index is in the vector `mask_indices`."""
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        kept, rows = raw.ListDiff(a.indices, mask_indices)
        return type(a)(gather(a.values, rows, name=scope), kept, a.dense_shape)


def all_dimensions(x: Any) -> Tensor:
    """The vector 0, 1, ..., rank - 1."""
    if x.shape.ndims is not None:
        return constant(np.arange(x.shape.ndims, dtype=np.int32), dtype=dtypes.int32)
    return raw.Range(0, rank(x), 1)


@export("sequence_mask")
def sequence_mask(lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = dtypes.bool, name: str | None = None) -> Tensor:
    """A mask that is true in the first `lengths[i, ...]` places of its last dimension.

    Args:
      lengths: integer tensor.
      maxlen: size of the last dimension, by default the largest length.
      dtype: element type of the result.
      name: name scope.

    Raises:
      ValueError: `maxlen` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = raw.Max(lengths, all_dimensions(lengths))
            maxlen = raw.Maximum(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        places = raw.Range(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        column = raw.Cast(raw.ExpandDims(lengths, -1), DstT=maxlen.dtype)
        result = raw.Less(places, column)
        if dtype is None or result.dtype.base_dtype == dtypes.as_dtype(dtype).base_dtype:
            return result
        return raw.Cast(result, DstT=dtype)
