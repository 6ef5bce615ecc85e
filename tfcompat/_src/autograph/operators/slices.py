"""`tensorflow.python.autograph.operators.slices`: items of containers, TensorLists, TensorArrays and tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.scatter import tensor_scatter_update
from tfcompat._src.ops.flow.list_functions import tensor_list_get_item
from tfcompat._src.ops.flow.tensor_array import TensorArray


class GetItemOpts(NamedTuple):
    """What is known of the elements of a TensorList: their dtype, or None."""

    element_dtype: Any


def get_item(target: Any, i: Any, opts: GetItemOpts) -> Any:
    """`target[i]`; of a string that is a scalar tensor, its byte at `i`.

    Raises:
      ValueError: a TensorList whose element type is not given.
    """
    if isinstance(target, TensorArray):
        return target.read(i)
    if not is_tensor(target):
        return target[i]
    if target.dtype == dtypes.variant:
        if opts.element_dtype is None:
            raise ValueError("cannot retrieve from a list without knowing its element type; use set_element_type to annotate it")
        return tensor_list_get_item(target, i, opts.element_dtype)
    if target.dtype == dtypes.string and target.shape.ndims == 0:
        return raw.Substr(target, i, 1)
    return target[i]


def set_item(target: Any, i: Any, x: Any) -> Any:
    """The container, list or tensor with `x` at `i`."""
    if isinstance(target, TensorArray):
        return target.write(i, x)
    if not is_tensor(target):
        target[i] = x
        return target
    if target.dtype == dtypes.variant:
        return raw.TensorListSetItem(target, i, x)
    return tensor_scatter_update(target, ((i,),), (x,))
