"""TensorArrays as one variant tensor, a list of tensors: what functions of dataset elements and branches take and give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.flow.tensor_array import TensorArray, TensorArraySpec

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def sizes_of(shape: TensorShape) -> np.ndarray:
    """A shape as lists take it: sizes, -1 where one is not known; -1 alone where the rank is not."""
    return np.array(-1 if shape.ndims is None else [-1 if n is None else n for n in shape.as_list()], np.int32)


class ListTensorArray(TensorArray):
    """A TensorArray whose flow is a list of tensors, a variant.

    Args:
      flow: the list. spec: its TensorArraySpec.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> ListTensorArray:
        return object.__new__(cls)

    def __init__(self, flow: Tensor, spec: TensorArraySpec) -> None:
        self._flow, self._spec = flow, spec
        self._dtype, self._dynamic_size, self._infer_shape = spec.dtype, spec._dynamic_size, spec._infer_shape
        self._element_shape = [spec._element_shape]
        self._colocate_with = None
        self._colocate_with_first_write_call = False

    @property
    def handle(self) -> Tensor:
        raise NotImplementedError("A TensorArray that came out of a dataset or a branch has no handle: its flow is a list of tensors.")

    def _after(self, flow: Tensor) -> ListTensorArray:
        return ListTensorArray(flow, self._spec)

    def _shape(self) -> np.ndarray:
        return sizes_of(self.element_shape)

    def identity(self) -> TensorArray:
        return self._after(raw.Identity(self._flow))

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        found = raw.TensorListGetItem(self._flow, index, self._shape(), element_dtype=self._dtype, name=name)
        found.set_shape(self.element_shape)
        return found

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        index, flow = convert_to_tensor(index, dtypes.int32), self._flow
        item = convert_to_tensor(value, self._dtype, name="value")
        self._check_element_shape(item.shape)
        if self._dynamic_size:
            flow = raw.TensorListResize(flow, raw.Maximum(raw.TensorListLength(flow), index + 1))
        return self._after(raw.TensorListSetItem(flow, index, item, name=name))

    def stack(self, name: str | None = None) -> Tensor:
        found = raw.TensorListStack(self._flow, self._shape(), element_dtype=self._dtype, name=name)
        found.set_shape(TensorShape([None]).concatenate(self.element_shape))
        return found

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        return raw.TensorListGather(self._flow, indices, self._shape(), element_dtype=self._dtype, name=name)

    def concat(self, name: str | None = None) -> Tensor:
        return raw.TensorListConcatV2(self._flow, self._shape(), np.zeros(0, np.int64), element_dtype=self._dtype, name=name)[0]

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        value = convert_to_tensor(value, self._dtype, name="value")
        self._check_element_shape(value.shape[1:])
        return self._after(raw.TensorListFromTensor(value, self._shape(), name=name))

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        value = convert_to_tensor(value, self._dtype, name="value")
        self._check_element_shape(value.shape[1:])
        return self._after(raw.TensorListScatterIntoExistingList(self._flow, value, indices, name=name))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        value = convert_to_tensor(value, self._dtype, name="value")
        lengths = convert_to_tensor(lengths, dtypes.int64)
        return self._after(raw.TensorListSplit(value, self._shape(), lengths, name=name))

    def size(self, name: str | None = None) -> Tensor:
        return raw.TensorListLength(self._flow, name=name)

    def close(self, name: str | None = None) -> Any:
        return raw.NoOp(name=name)


def as_list(array: TensorArray) -> Tensor:
    """A TensorArray as a list of tensors, a scalar variant."""
    if isinstance(array, ListTensorArray):
        return array.flow
    with name_scope("convert_tensor_array"):
        return raw.TensorListFromTensor(array.stack(), sizes_of(array.element_shape))


def of_list(flow: Tensor, spec: TensorArraySpec) -> TensorArray:
    """The TensorArray of a type whose elements a list has."""
    found = ListTensorArray(flow, spec)
    if not executing_eagerly():
        return found
    elements = found.stack()
    made = TensorArray(
        spec.dtype, size=dimension_value(elements.shape[0]), dynamic_size=spec._dynamic_size, infer_shape=spec._infer_shape,
        element_shape=spec._element_shape,
    )  # fmt: skip
    return made.unstack(elements) if dimension_value(elements.shape[0]) else made


TensorArraySpec.conversions = as_list, of_list
