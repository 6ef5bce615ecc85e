"""Attributes of nodes: conversion between AttrValue messages and the graph's form, Python values.

The graph's form: int, float, bool, bytes, DType, TensorShape, NumPy arrays (kind `tensor`), FunctionRef (kind `func`), or lists of
these. Kernels take a third form (`constant_value.to_kernel`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import signature as signature_lib
from tfcompat._src.graph import stateful, tensor_proto, variant
from tfcompat._src.graph.op_spec import OpSpec
from tfcompat._src.proto import messages

# ---- values of the graph's form ----


@dataclass(frozen=True)
class FunctionRef:
    """A reference to a function of the graph's library: its name and the attributes bound to it."""

    name: str
    attrs: dict[Any, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class PlaceholderAttr:
    """An attribute of a node in a function body whose value is an attribute of the function."""

    name: str


@dataclass(frozen=True)
class UnreadableTensor:
    """A TensorProto whose values do not fit its dtype and shape. As in 1.15, a graph may hold it, and its node fails when it runs.

    Attributes:
      proto: the TensorProto.
      shape: its sizes.
      reason: the error message.
    """

    proto: messages.TensorProto
    shape: tuple[int, ...]
    reason: str


def tensor_from_proto(proto: messages.TensorProto) -> NDArray | UnreadableTensor:
    """Returns the value of a TensorProto; raises ValueError if no tensor can have its shape."""
    shape = tensor_proto.shape_of(proto)
    # Only an invalid shape is an error of the import; values that do not fit are one of the run.
    try:
        return variant.array_of(proto)
    except (TypeError, ValueError) as e:
        return UnreadableTensor(proto, shape, f"Cannot parse tensor from proto: {e}")


def of_dtype(value: NDArray | UnreadableTensor, proto: messages.TensorProto, dtype: dtypes.DType) -> NDArray | UnreadableTensor:
    """Returns `value`, which `tensor_from_proto` read from `proto`, or an UnreadableTensor if it is not of the node's dtype."""
    if proto.dtype == dtype.as_datatype_enum or isinstance(value, UnreadableTensor):
        return value
    names = (dtypes.cpp_name(dtypes.as_dtype(t).name) for t in (proto.dtype, dtype))
    return UnreadableTensor(proto, value.shape, "Type mismatch between value ({}) and dtype ({})".format(*names))


# ---- to and from messages ----


def fill(proto: messages.AttrValue, value: object) -> None:
    """Writes a value of the graph's form into an AttrValue message; None (an attribute without a value) leaves it empty.

    Raises:
      TypeError: the value is of another type.
    """
    # The order of the cases matters: bool is a subclass of int.
    if value is None:
        return
    if isinstance(value, (list, tuple)):
        proto.list.SetInParent()
        for element in value:
            _add(proto.list, element)
    elif isinstance(value, bool):
        proto.b = value
    elif isinstance(value, (int, np.integer)) and not isinstance(value, dtypes.DType):
        proto.i = int(value)
    elif isinstance(value, (float, np.floating)):
        proto.f = float(value)
    elif isinstance(value, bytes):
        proto.s = value
    elif isinstance(value, str):
        proto.s = value.encode()
    elif isinstance(value, dtypes.DType):
        proto.type = value.as_datatype_enum
    elif isinstance(value, TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    elif isinstance(value, np.ndarray):
        proto.tensor.CopyFrom(variant.message_of(value))
    elif isinstance(value, messages.TensorProto):
        proto.tensor.CopyFrom(value)
    elif isinstance(value, UnreadableTensor):
        proto.tensor.CopyFrom(value.proto)
    elif isinstance(value, FunctionRef):
        fill_function(proto.func, value)
    elif isinstance(value, PlaceholderAttr):
        proto.placeholder = value.name
    else:
        raise TypeError(f"A node attribute cannot hold {value!r} of type {type(value).__name__}.")


def fill_function(proto: messages.NameAttrList, ref: FunctionRef) -> None:
    """Writes a function reference into a NameAttrList message."""
    proto.name = ref.name
    for key, value in ref.attrs.items():
        fill(proto.attr[key], value)


def _add(proto: messages.AttrValue.ListValue, element: object) -> None:
    """Appends one element of a list attribute to the field of its kind."""
    if isinstance(element, bool):
        proto.b.append(element)
    elif isinstance(element, dtypes.DType):
        proto.type.append(element.as_datatype_enum)
    elif isinstance(element, (int, np.integer)):
        proto.i.append(int(element))
    elif isinstance(element, (float, np.floating)):
        proto.f.append(float(element))
    elif isinstance(element, (bytes, str)):
        proto.s.append(element if isinstance(element, bytes) else element.encode())
    elif isinstance(element, TensorShape):
        proto.shape.append(element.as_proto())
    elif isinstance(element, np.ndarray):
        proto.tensor.append(variant.message_of(element))
    elif isinstance(element, UnreadableTensor):
        proto.tensor.append(element.proto)
    elif isinstance(element, FunctionRef):
        fill_function(proto.func.add(), element)
    else:
        raise TypeError(f"A list attribute of a node cannot hold {element!r} of type {type(element).__name__}.")


def from_proto(proto: messages.AttrValue) -> Any:
    """Returns the value of an AttrValue message in the graph's form; None if the message is empty."""
    kind = proto.WhichOneof("value")
    if kind == "list":
        return _list_from_proto(proto.list)
    if kind == "type":
        return dtypes.as_dtype(proto.type)
    if kind == "shape":
        return TensorShape(proto.shape)
    if kind == "tensor":
        return tensor_from_proto(proto.tensor)
    if kind == "func":
        return function_from_proto(proto.func)
    if kind == "placeholder":
        return PlaceholderAttr(proto.placeholder)
    return getattr(proto, kind) if kind else None


_KINDS = {"s": "string", "i": "int", "f": "float", "b": "bool", "type": "type", "shape": "shape", "tensor": "tensor", "func": "func"}


def misfit(proto: messages.AttrValue, wanted: str) -> str:
    """Returns 1.15's error text if an AttrValue message does not fit an attribute of kind `wanted` ("int", "list(int)", ...), else "".

    A placeholder fits every kind, an empty list every kind of list.
    """
    kind = proto.WhichOneof("value")
    if _KINDS.get(kind) == wanted and (kind != "type" or not _type_problem(proto.type)):
        return ""
    # An empty AttrValue has no value at all.
    if kind is None:
        return f"AttrValue missing value with expected type {wanted!r}"
    if kind == "placeholder":
        return ""
    # A malformed message may fill several fields of a list, so each non-empty field is checked.
    given = [(kind, [proto.type])] if kind != "list" else [(f.name, v) for f, v in proto.list.ListFields()]
    for name, values in given:
        found = f"list({_KINDS[name]})" if kind == "list" else _KINDS[name]
        if found != wanted:
            return f"AttrValue had value with type {found!r} when {wanted!r} expected"
        problems = (_type_problem(v) for v in values) if name == "type" else ()
        problem = next(filter(None, problems), "")
        if problem:
            return problem
    return "" if given or wanted.startswith("list(") else f"AttrValue had value with type 'list' when {wanted!r} expected"


@functools.cache
def _type_problem(enum: int) -> str:
    """Returns 1.15's error text if an attribute cannot hold this DataType enum, else ""."""
    if enum == 0:
        return "AttrValue has invalid DataType"
    try:
        dtype = dtypes.as_dtype(enum)
    except TypeError:
        return f"AttrValue has invalid DataType enum: {enum}"
    return f"AttrValue must not have reference type value of {dtype.name}" if dtype._is_ref_dtype else ""


def function_from_proto(proto: messages.NameAttrList) -> FunctionRef:
    """Returns the function reference of a NameAttrList message."""
    return FunctionRef(proto.name, {k: from_proto(v) for k, v in proto.attr.items()})


def _list_from_proto(proto: messages.AttrValue.ListValue) -> list[Any]:
    """Returns the elements of the one non-empty field of a list; [] if all are empty."""
    if proto.type:
        return [dtypes.as_dtype(t) for t in proto.type]
    if proto.shape:
        return [TensorShape(s) for s in proto.shape]
    if proto.tensor:
        return [tensor_from_proto(t) for t in proto.tensor]
    if proto.func:
        return [function_from_proto(f) for f in proto.func]
    return list(proto.s or proto.i or proto.f or proto.b)


def to_public(value: object) -> Any:
    """Returns a value in the form of `Operation.get_attr`: shapes, tensors and functions as messages, others unchanged."""
    if isinstance(value, (list, tuple)):
        return [to_public(v) for v in value]
    if isinstance(value, TensorShape):
        return value.as_proto()
    if isinstance(value, np.ndarray):
        return variant.message_of(value)
    if isinstance(value, UnreadableTensor):
        return value.proto
    if isinstance(value, FunctionRef):
        proto = messages.NameAttrList()
        fill_function(proto, value)
        return proto
    return value


# ---- OpDefs ----


def default_value(attr: signature_lib.Attr) -> Any:
    """Returns the default of an attribute in the graph's form; lists are fresh copies."""
    if attr.element_kind == "shape" and not attr.is_list:
        return TensorShape(attr.default)
    if attr.element_kind == "func" and not attr.is_list:
        return FunctionRef(attr.default if isinstance(attr.default, str) else "")
    if attr.is_list:
        return [TensorShape(s) for s in attr.default] if attr.element_kind == "shape" else list(attr.default)
    # Signatures are plain text without messages: the few tensor defaults are written as fields of a TensorProto.
    if attr.kind == "tensor":
        return _tensor_of_fields(attr.default)
    return attr.default


def _tensor_of_fields(fields: list[tuple[str, Any]]) -> NDArray:
    """Returns the array for a default that a signature states as TensorProto fields: `dtype`, `tensor_shape` and `int_val`s."""
    sizes = [int(size) for name, dims in fields if name == "tensor_shape" for _, ((_, size),) in dims]
    dtype = dtypes.as_dtype(dict(fields)["dtype"].removeprefix("DT_").lower()).as_numpy_dtype
    return np.array([int(value) for name, value in fields if name == "int_val"], dtype).reshape(sizes)


def op_def(spec: OpSpec) -> messages.OpDef:
    """Returns the OpDef message of an op type's record."""
    signature = spec.signature
    proto = messages.OpDef(name=spec.name, is_stateful=stateful.is_stateful(spec))
    # An OpDef lists inputs, outputs and attributes in the order of the signature.
    for args, target in ((signature.inputs, proto.input_arg), (signature.outputs, proto.output_arg)):
        for arg in args:
            target.add(
                name=arg.name, type_attr=arg.type_attr, number_attr=arg.number_attr, type_list_attr=arg.type_list_attr,
                is_ref=arg.is_ref, type=arg.dtype.as_datatype_enum if arg.dtype else 0,
            )  # fmt: skip
    for attr in signature.attrs.values():
        entry = proto.attr.add(name=attr.name, type=attr.kind)
        if attr.default is not signature_lib.REQUIRED:
            fill(entry.default_value, default_value(attr))
        if attr.minimum is not None:
            entry.has_minimum, entry.minimum = True, attr.minimum
        if attr.allowed is not None:
            entry.allowed_values.list.SetInParent()
            for value in attr.allowed:
                _add(entry.allowed_values.list, value)
    return proto
