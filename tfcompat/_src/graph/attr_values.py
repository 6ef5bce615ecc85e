"""Attributes of nodes: Python values inside the graph, AttrValue messages outside it.

Inside: int, float, bool, bytes, DType, TensorShape, numpy arrays (kind `tensor`), FunctionRef (kind `func`), or lists of these.
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


@dataclass(frozen=True)
class FunctionRef:
    """A function of the graph's library, by name, with attributes bound."""

    name: str
    attrs: dict[Any, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class PlaceholderAttr:
    """An attribute value inside a function body that names an attribute of the function."""

    name: str


@dataclass(frozen=True)
class UnreadableTensor:
    """A tensor of a message whose values do not fit: its node may stand in a graph, and fails where it runs.

    Attributes:
      proto: the TensorProto. shape: its sizes. reason: why there is no value.
    """

    proto: messages.TensorProto
    shape: tuple[int, ...]
    reason: str


def tensor_from_proto(proto: messages.TensorProto) -> NDArray | UnreadableTensor:
    """The value of a TensorProto; ValueError where its shape is none that a tensor can have."""
    shape = tensor_proto.shape_of(proto)
    try:
        return variant.array_of(proto)
    except (TypeError, ValueError) as e:
        return UnreadableTensor(proto, shape, f"Cannot parse tensor from proto: {e}")


def of_dtype(value: NDArray | UnreadableTensor, proto: messages.TensorProto, dtype: dtypes.DType) -> NDArray | UnreadableTensor:
    """The value that `tensor_from_proto` made of `proto`, for a node that says that it has this dtype."""
    if proto.dtype == dtype.as_datatype_enum or isinstance(value, UnreadableTensor):
        return value
    names = (dtypes.cpp_name(dtypes.as_dtype(t).name) for t in (proto.dtype, dtype))
    return UnreadableTensor(proto, value.shape, "Type mismatch between value ({}) and dtype ({})".format(*names))


def fill(proto: messages.AttrValue, value: object) -> None:
    """Writes an inside value into an AttrValue message; None (an attribute without a value) leaves it empty."""
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
        raise TypeError(f"an attribute cannot hold {value!r}")


def fill_function(proto: messages.NameAttrList, ref: FunctionRef) -> None:
    proto.name = ref.name
    for key, value in ref.attrs.items():
        fill(proto.attr[key], value)


def _add(proto: messages.AttrValue.ListValue, element: object) -> None:
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
        raise TypeError(f"a list attribute cannot hold {element!r}")


def from_proto(proto: messages.AttrValue) -> Any:
    """The inside value of an AttrValue message."""
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
    """What is wrong with an AttrValue message as the value of an attribute of kind `wanted` ("int", "list(int)", ...); "" where it fits.

    A placeholder fits every kind, an empty list every kind of list.
    """
    kind = proto.WhichOneof("value")
    if _KINDS.get(kind) == wanted and (kind != "type" or not _type_problem(proto.type)):
        return ""
    if kind is None:
        return f"AttrValue missing value with expected type {wanted!r}"
    if kind == "placeholder":
        return ""
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
    if enum == 0:
        return "AttrValue has invalid DataType"
    try:
        dtype = dtypes.as_dtype(enum)
    except TypeError:
        return f"AttrValue has invalid DataType enum: {enum}"
    return f"AttrValue must not have reference type value of {dtype.name}" if dtype._is_ref_dtype else ""


def function_from_proto(proto: messages.NameAttrList) -> FunctionRef:
    return FunctionRef(proto.name, {k: from_proto(v) for k, v in proto.attr.items()})


def _list_from_proto(proto: messages.AttrValue.ListValue) -> list[Any]:
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
    """What `Operation.get_attr` gives: shapes, tensors and functions as messages, the rest as it is."""
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



def default_value(attr: signature_lib.Attr) -> Any:
    """The default of an attribute as an inside value; a fresh list where it is one."""
    if attr.element_kind == "shape" and not attr.is_list:
        return TensorShape(attr.default)
    if attr.element_kind == "func" and not attr.is_list:
        return FunctionRef(attr.default if isinstance(attr.default, str) else "")
    if attr.is_list:
        return [TensorShape(s) for s in attr.default] if attr.element_kind == "shape" else list(attr.default)
    if attr.kind == "tensor":
        return _tensor_of_fields(attr.default)
    return attr.default


def _tensor_of_fields(fields: list[tuple[str, Any]]) -> NDArray:
    """The tensor of a default that a signature writes as the fields of a TensorProto: dtype, shape and `int_val`s."""
    sizes = [int(size) for name, dims in fields if name == "tensor_shape" for _, ((_, size),) in dims]
    dtype = dtypes.as_dtype(dict(fields)["dtype"].removeprefix("DT_").lower()).as_numpy_dtype
    return np.array([int(value) for name, value in fields if name == "int_val"], dtype).reshape(sizes)


def op_def(spec: OpSpec) -> messages.OpDef:
    """The OpDef message of a record."""
    signature = spec.signature
    proto = messages.OpDef(name=spec.name, is_stateful=stateful.is_stateful(spec))
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
