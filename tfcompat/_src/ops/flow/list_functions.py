"""The functions of `tensorflow.python.ops.list_ops`: the ops of TensorLists with element shapes given as Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.cond import cond

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def _build_element_shape(shape: Any) -> Any:
    """An element shape (None, TensorShape, or list of sizes, Dimensions and tensors) as what the ops take."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = shape.as_list() if shape.sizes is not None else None
    if shape is None:
        return -1
    if not shape:
        return convert_to_tensor(shape, dtype=dtypes.int32)
    sizes = [d.value if isinstance(d, Dimension) else d for d in shape]
    return [-1 if d is None else d for d in sizes]


def empty_tensor_list(element_shape: TensorLike, element_dtype: object, max_num_elements: object = None, name: str | None = None) -> Tensor:
    """A list without elements, which takes up to `max_num_elements`."""
    limit = -1 if max_num_elements is None else max_num_elements
    return raw.EmptyTensorList(_build_element_shape(element_shape), limit, element_dtype=element_dtype, name=name)


def tensor_list_reserve(element_shape: TensorLike, num_elements: TensorLike, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """A list of `num_elements` elements that are not set."""
    return raw.TensorListReserve(_build_element_shape(element_shape), num_elements, element_dtype=element_dtype, name=name)


def tensor_list_from_tensor(tensor: TensorLike, element_shape: TensorLike, name: str | None = None) -> Tensor:
    """The list of the rows of `tensor`."""
    return raw.TensorListFromTensor(tensor, _build_element_shape(element_shape), name=name)


def tensor_list_get_item(
    input_handle: TensorLike, index: TensorLike, element_dtype: object, element_shape: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The element at `index`."""
    return raw.TensorListGetItem(input_handle, index, _build_element_shape(element_shape), element_dtype=element_dtype, name=name)


def tensor_list_pop_back(input_handle: TensorLike, element_dtype: object, name: str | None = None) -> Any:
    """The list without its last element, and that element."""
    return raw.TensorListPopBack(input_handle, -1, element_dtype=element_dtype, name=name)


def tensor_list_gather(
    input_handle: TensorLike, indices: TensorLike, element_dtype: DTypeLike, element_shape: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The elements at `indices`, stacked."""
    return raw.TensorListGather(input_handle, indices, _build_element_shape(element_shape), element_dtype=element_dtype, name=name)


def tensor_list_scatter(
    tensor: TensorLike, indices: TensorLike, element_shape: TensorLike | None = None, input_handle: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """A list, `input_handle` or a new one, with the rows of `tensor` at `indices`."""
    if input_handle is not None:
        return raw.TensorListScatterIntoExistingList(input_handle, tensor, indices, name=name)
    return raw.TensorListScatterV2(tensor, indices, _build_element_shape(element_shape), -1, name=name)


def tensor_list_stack(
    input_handle: TensorLike, element_dtype: DTypeLike, num_elements: int = -1, element_shape: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The elements, stacked."""
    return raw.TensorListStack(
        input_handle, _build_element_shape(element_shape), element_dtype=element_dtype, num_elements=num_elements, name=name
    )


def tensor_list_concat(input_handle: TensorLike, element_dtype: DTypeLike, element_shape: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The elements, joined along their first dimension."""
    sizes = _build_element_shape(element_shape)
    return raw.TensorListConcatV2(input_handle, sizes, constant([], dtypes.int64), element_dtype=element_dtype, name=name)[0]


def tensor_list_split(tensor: TensorLike, element_shape: TensorLike, lengths: TensorLike, name: str | None = None) -> Tensor:
    """The list of pieces of `tensor` of `lengths` along its first dimension."""
    return raw.TensorListSplit(tensor, _build_element_shape(element_shape), lengths, name=name)


def tensor_list_set_item(
    input_handle: TensorLike, index: Any, item: TensorLike, resize_if_index_out_of_bounds: bool = False, name: str | None = None
) -> Tensor:
    """The list with `item` at `index`, made longer for it where that is allowed."""
    if resize_if_index_out_of_bounds:
        given = input_handle
        input_handle = cond(
            index >= raw.TensorListLength(given), lambda: raw.TensorListResize(given, index + 1), lambda: given
        )  # fmt: skip
    return raw.TensorListSetItem(input_handle, index, item, name=name)
