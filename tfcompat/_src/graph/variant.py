"""Variants in TensorProtos: a C++ type name and serialized bytes, as graphs (constants) and checkpoints hold them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph import tensor_proto
from tfcompat._src.platform import memory
from tfcompat._src.proto import messages

_NUMBERS = {"int": np.int32, "float": np.float32, "double": np.float64, "bool": np.bool_}
"""The C++ types of numbers that a variant in a constant may hold, with their NumPy dtypes."""


@dataclass(frozen=True)
class EncodedVariant:
    """A serialized variant: the name of its C++ type, and the bytes from which that type decodes itself."""

    type_name: str
    metadata: bytes


class NumberVariant(EncodedVariant):
    """A variant that holds one C++ number, or is empty (type name "")."""

    def zeros_like(self) -> NumberVariant:
        return NumberVariant(self.type_name, bytes(len(self.metadata)))

    def variant_text(self, number_text: Callable[..., Any]) -> str:
        return number_text(np.frombuffer(self.metadata, _NUMBERS[self.type_name])[0]) if self.type_name else "[empty]"


_EMPTY = NumberVariant("", b"")


def array_of(proto: messages.TensorProto, numbers_only: bool = True) -> NDArray:
    """Returns the array of a TensorProto, whose elements may be variants; missing variants become empty ones.

    Raises:
      NotImplementedError: `numbers_only`, and a variant holds another type. TypeError: a TensorProto cannot hold values of the dtype.
      ValueError: the values do not fit the shape.
    """
    if proto.dtype != dtypes.variant.as_datatype_enum:
        return tensor_proto.parse(proto)
    sizes = tensor_proto.shape_of(proto)
    # A file may state any shape in a few bytes: 8 bytes are the pointer of one element.
    if 8 * math.prod(sizes) > memory.total():
        raise ValueError(f"a tensor of variants with shape {list(sizes)} does not fit into memory")
    flat = np.empty(math.prod(sizes), object)
    values = [_number(v) if numbers_only or v.type_name in _NUMBERS else EncodedVariant(v.type_name, v.metadata) for v in proto.variant_val]
    if len(values) > flat.size:
        raise ValueError(f"The tensor has {flat.size} elements, but {len(values)} values were given.")
    flat[:] = values + [_EMPTY] * (flat.size - len(values))
    return flat.reshape(sizes)


def _number(message: messages.VariantTensorDataProto) -> NumberVariant:
    if not message.type_name:
        return _EMPTY
    kind = _NUMBERS.get(message.type_name)
    if kind is None:
        raise NotImplementedError(f"tfcompat has no constant that is a variant of type {message.type_name!r}.")
    if len(message.metadata) != np.dtype(kind).itemsize:
        raise ValueError(f"A variant of type {message.type_name!r} takes {np.dtype(kind).itemsize} bytes, but has {len(message.metadata)}.")
    return NumberVariant(message.type_name, message.metadata)


def message_of(array: NDArray) -> messages.TensorProto:
    """Returns the TensorProto of an array, whose elements may be variants; empty variants at its end are not written."""
    # An object array holds strings unless its first element is a variant.
    flat = array.reshape(-1)
    if not (array.dtype == object and flat.size and isinstance(flat[0], EncodedVariant)):
        return tensor_proto.make_tensor_proto(array)
    proto = messages.TensorProto(dtype=dtypes.variant.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    written = np.flatnonzero(flat != _EMPTY)
    for value in flat[: written[-1] + 1] if written.size else ():
        proto.variant_val.add(type_name=value.type_name, metadata=value.metadata)
    return proto
