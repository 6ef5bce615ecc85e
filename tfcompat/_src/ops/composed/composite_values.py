"""`tensorflow.python.framework.composite_tensor_utils`: sparse and ragged tensors and their values, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.ops.ragged.rows import concat as ragged_concat
from tfcompat._src.ops.ragged.tensor import RaggedTensor
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.ops.sparse.combine import sparse_concat


def is_composite_or_composite_value(tensor: object) -> bool:
    """Whether an object is made of tensors, or is the value of a sparse or ragged tensor."""
    return isinstance(tensor, (CompositeTensor, SparseTensorValue, RaggedTensorValue))


def append_composite_tensor(target: Any, to_append: Any) -> Any:
    """The rows of one sparse or ragged tensor, or value of one, after those of another.

    Args:
      target: comes first.
      to_append: comes after it; of the same class and with the same inner dimensions.

    Raises:
      RuntimeError: they cannot be put together.
    """
    if type(target) is not type(to_append):
        raise RuntimeError(f"Unable to concatenate {type(target)} and {type(to_append)}")
    if isinstance(target, SparseTensor):
        return sparse_concat(axis=0, sp_inputs=[target, to_append])
    if isinstance(target, RaggedTensor):
        return ragged_concat([target, to_append], axis=0)
    if isinstance(target, SparseTensorValue):
        return _appended_sparse(target, to_append)
    if isinstance(target, RaggedTensorValue):
        return _appended_ragged(target, to_append)
    raise RuntimeError(f"Attempted to concatenate unsupported object {type(target)}.")


def _appended_sparse(target: SparseTensorValue, rest: SparseTensorValue) -> SparseTensorValue:
    """As 1.15's: the result has rows up to the last one with an entry, and at least one more than the first value."""
    if tuple(target.dense_shape[1:]) != tuple(rest.dense_shape[1:]):
        raise RuntimeError(
            f"Unable to concatenate {target} and {rest}. The inner dense shapes do not match inner dimensions "
            f"({target.dense_shape[1:]} vs {rest.dense_shape[1:]})"
        )
    rows = int(target.dense_shape[0])
    moved = np.asarray(rest.indices) + np.eye(1, len(target.dense_shape), dtype=np.int64) * rows
    last = max(rows, int(moved[:, 0].max(initial=rows)))
    shape = (last + 1, *target.dense_shape[1:])
    return SparseTensorValue(np.concatenate([target.indices, moved]), np.concatenate([target.values, rest.values]), shape)


def _appended_ragged(target: RaggedTensorValue, rest: RaggedTensorValue) -> RaggedTensorValue:
    if target.shape[1:] != rest.shape[1:]:
        raise RuntimeError(f"Unable to concatenate {target} and {rest}")
    splits = np.append(target.row_splits, rest.row_splits[1:] + target.row_splits[-1])
    if isinstance(target.values, RaggedTensorValue):
        return RaggedTensorValue(_appended_ragged(target.values, rest.values), splits)
    return RaggedTensorValue(np.concatenate([target.values, rest.values]), splits)
