"""Nested structures of Python values, dtypes, shapes and TypeSpecs as StructuredValue messages, and back."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec
from tfcompat._src.proto import messages

_TYPE_SPEC_CLASSES = {
    "SparseTensorSpec": "SPARSE_TENSOR_SPEC",
    "IndexedSlicesSpec": "INDEXED_SLICES_SPEC",
    "RaggedTensorSpec": "RAGGED_TENSOR_SPEC",
    "TensorArraySpec": "TENSOR_ARRAY_SPEC",
    "DatasetSpec": "DATA_DATASET_SPEC",
    "IteratorSpec": "DATA_ITERATOR_SPEC",
    "OptionalSpec": "OPTIONAL_SPEC",
    "PerReplicaSpec": "PER_REPLICA_SPEC",
}


class NotEncodableError(Exception):
    """A value has no form as a StructuredValue message."""


class StructureCoder:
    """Writes nested structures as StructuredValue messages and reads them."""

    def can_encode(self, nested: object) -> bool:
        """Whether `encode_structure` can write the structure."""
        try:
            self.encode_structure(nested)
        except NotEncodableError:
            return False
        return True

    def encode_structure(self, nested_structure: object) -> Any:
        """The structure as a StructuredValue message.

        Args:
          nested_structure: None, numbers, strings, dtypes, TensorShapes, TypeSpecs, and lists, tuples and dicts of them.

        Raises:
          NotEncodableError: there is something else in it.
        """
        message = messages.StructuredValue()
        _encode(nested_structure, message)
        return message

    def decode_proto(self, proto: Any) -> Any:
        """The structure that a StructuredValue message holds.

        Raises:
          ValueError: it holds a type that is not known here.
        """
        return _DECODERS[proto.WhichOneof("kind")](proto)


def _encode(value: object, message: object) -> None:
    for kind, encoder in _ENCODERS:
        if isinstance(value, kind):
            encoder(value, message)
            return
    raise NotEncodableError(f"No encoder for object [{value}] of type [{type(value)}].")


def _encode_tuple(value: tuple, message: Any) -> None:
    if not hasattr(value, "_fields"):
        message.tuple_value.SetInParent()
        for item in value:
            _encode(item, message.tuple_value.values.add())
        return
    message.named_tuple_value.name = type(value).__name__
    for key in value._fields:
        _encode(getattr(value, key), message.named_tuple_value.values.add(key=key).value)


def _encode_list(value: list, message: Any) -> None:
    message.list_value.SetInParent()
    for item in value:
        _encode(item, message.list_value.values.add())


def _encode_dict(value: Any, message: Any) -> None:
    message.dict_value.SetInParent()
    for key, item in value.items():
        if not isinstance(key, str):
            raise NotEncodableError(f"Keys of dicts must be strings, got {key!r}")
        _encode(item, message.dict_value.fields[key])


def _encode_tensor_spec(value: TensorSpec, message: Any) -> None:
    message.tensor_spec_value.CopyFrom(
        messages.TensorSpecProto(
            shape=value.shape.as_proto(), dtype=value.dtype.as_datatype_enum, name=value.name or ""
        )
    )


def _encode_type_spec(value: TypeSpec, message: Any) -> None:
    name = type(value).__name__
    if name not in _TYPE_SPEC_CLASSES:
        raise NotEncodableError(f"No encoder for TypeSpec of type [{type(value)}].")
    found = message.type_spec_value
    found.type_spec_class_name = name
    found.type_spec_class = messages.TypeSpecProto.TypeSpecClass.Value(_TYPE_SPEC_CLASSES[name])
    _encode(value._serialize(), found.type_state)


_ENCODERS = (
    (type(None), lambda value, message: message.none_value.SetInParent()),
    (bool, lambda value, message: setattr(message, "bool_value", value)),
    (int, lambda value, message: setattr(message, "int64_value", value)),
    (float, lambda value, message: setattr(message, "float64_value", value)),
    (str, lambda value, message: setattr(message, "string_value", value)),
    (dtypes.DType, lambda value, message: setattr(message, "tensor_dtype_value", value.as_datatype_enum)),
    (TensorShape, lambda value, message: message.tensor_shape_value.CopyFrom(value.as_proto())),
    (TensorSpec, _encode_tensor_spec),
    (TypeSpec, _encode_type_spec),
    (tuple, _encode_tuple),
    (list, _encode_list),
    (collections.abc.Mapping, _encode_dict),
)


def _decode(proto: Any) -> Any:
    return _DECODERS[proto.WhichOneof("kind")](proto)


def _decode_named_tuple(proto: Any) -> Any:
    found = proto.named_tuple_value
    kind = collections.namedtuple(found.name, [pair.key for pair in found.values])  # noqa: PYI024
    return kind(*[_decode(pair.value) for pair in found.values])


def _decode_tensor_spec(proto: Any) -> TensorSpec:
    spec = proto.tensor_spec_value
    return TensorSpec(TensorShape(spec.shape), dtypes.as_dtype(spec.dtype), spec.name or None)


def _decode_type_spec(proto: Any) -> TypeSpec:
    spec = proto.type_spec_value
    known = {kind.__name__: kind for kind in _subclasses(TypeSpec)}
    wanted = messages.TypeSpecProto.TypeSpecClass.Name(spec.type_spec_class)
    name = next((name for name, enum in _TYPE_SPEC_CLASSES.items() if enum == wanted and name in known), None)
    if name is None:
        raise ValueError(f"The type '{spec.type_spec_class_name}' is not supported by this version of TensorFlow.")
    return known[name]._deserialize(_decode(spec.type_state))


def _subclasses(kind: type) -> list[type]:
    found = kind.__subclasses__()
    return [*found, *(inner for each in found for inner in _subclasses(each))]


_DECODERS = {
    "none_value": lambda proto: None,
    "bool_value": lambda proto: proto.bool_value,
    "int64_value": lambda proto: int(proto.int64_value),
    "float64_value": lambda proto: proto.float64_value,
    "string_value": lambda proto: proto.string_value,
    "tensor_dtype_value": lambda proto: dtypes.as_dtype(proto.tensor_dtype_value),
    "tensor_shape_value": lambda proto: TensorShape(proto.tensor_shape_value),
    "tensor_spec_value": _decode_tensor_spec,
    "type_spec_value": _decode_type_spec,
    "tuple_value": lambda proto: tuple(map(_decode, proto.tuple_value.values)),
    "named_tuple_value": _decode_named_tuple,
    "list_value": lambda proto: list(map(_decode, proto.list_value.values)),
    "dict_value": lambda proto: {key: _decode(value) for key, value in proto.dict_value.fields.items()},
}
