"""Messages of any type as tensors, one per field: DecodeProtoV2, EncodeProto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf import message_factory, text_format
from google.protobuf.message import DecodeError, EncodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.parsing import message_types as types
from tfcompat._src.ops.parsing import wire
from tfcompat._src.ops.parsing.message_types import invalid
from tfcompat._src.platform import varint

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NO_GRADIENT = NotDifferentiable("a serialized message has no derivative")


def _data_loss(text: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, text)


# ---- decoding ----


class _Field:
    """A field that is asked for: its values in the message that is read."""

    def __init__(self, field: Any, dtype: np.dtype) -> None:
        self.number, self.repeated, self.dtype = field.number, field.is_repeated, dtype
        self.kind, self.default = types.KINDS[field.type], types.default_value(field)
        self.packed_is_unsigned = self.kind.name == "int32" and dtype == np.int64
        self.values: list[Any] = []
        self.seen = False

    def start(self) -> None:
        self.values, self.seen = [], False

    @property
    def count(self) -> int:
        return len(self.values) or int(self.seen)

    def add(self, value: object) -> None:
        if not self.repeated:
            self.values.clear()
        self.values.append(value)

    def add_packed(self, data: bytes) -> None:
        """Adds packed numbers. As in 1.15, those of a field that is not repeated count, but leave it at its default."""
        if self.repeated:
            self.values.extend(self._numbers(data))
        elif self.values:
            raise _data_loss(
                f"ReadPackedValues: Tried to write more entries than allowed.  Field tag: {self.number}, Max entries allowed: 1"
            )
        else:
            self.seen |= bool(self._numbers(data))

    def _numbers(self, data: bytes) -> list[Any]:
        kind = self.kind
        if kind.layout:
            if len(data) % np.dtype(kind.layout).itemsize:
                raise _data_loss(f"Illegal data length for packed fixed-size type: {len(data)}")
            return np.frombuffer(data, kind.layout).tolist()
        try:
            numbers = wire.integers_of(data, np.array([len(data)]))[0].tolist()
        except wire.Malformed:
            raise _data_loss("Corrupt packed varint") from None
        if self.packed_is_unsigned:
            return [n & types.MASK32 for n in numbers]
        return [kind.decode(n) for n in numbers]


def _read_value(data: bytes, position: int, kind: types.FieldKind) -> tuple[Any, int]:
    """The value at `position`, after its tag, and the position after it."""
    if kind.wire == types.VARINT:
        number, position = wire.varint(data, position)
        return kind.decode(number), position
    if kind.wire == types.BYTES:
        start, end = wire.span(data, position, len(data))
        return data[start:end], end
    end = position + np.dtype(kind.layout).itemsize
    return np.frombuffer(data[position:end], kind.layout).item(), end


def _group_end(data: bytes, position: int, number: int) -> int:
    """The position after the group whose first field stands at `position`."""
    while True:
        tag, after = wire.varint(data, position)
        if tag == number << 3 | types.END_GROUP:
            return after
        if tag & 7 == types.END_GROUP:
            raise wire.Malformed("a group that ends as another one")
        position = _skip(data, position)


def _skip(data: bytes, position: int) -> int:
    """The position after the field whose tag stands at `position`."""
    tag, after = wire.varint(data, position)
    if tag & 7 == types.START_GROUP:
        return _group_end(data, after, tag >> 3)
    return wire.skip(data, position, len(data))


def _read_message(data: bytes, fields: dict[int, _Field]) -> None:
    """Files the values of the wanted fields of a serialized message."""
    position = 0
    while position < len(data):
        try:
            tag, after = wire.varint(data, position)
        except (IndexError, wire.Malformed):
            tag = 0
        if tag == 0 or tag & 7 == types.END_GROUP:
            raise _data_loss("CountFields: Failed to consume entire buffer")
        field = fields.get(tag >> 3)
        wire_type = tag & 7
        packed = field is not None and wire_type == types.BYTES and field.kind.wire not in (types.BYTES, types.START_GROUP)
        try:
            if field is None or not packed and wire_type != field.kind.wire:
                position = _skip(data, position)
            elif packed:
                start, position = wire.span(data, after, len(data))
                field.add_packed(data[start:position])
            elif wire_type == types.START_GROUP:
                start, position = position, _group_end(data, after, tag >> 3)
                field.add(data[start:position])
            else:
                value, position = _read_value(data, after, field.kind)
                field.add(value)
        except (IndexError, ValueError):
            if packed:
                text = "ReadPackedValues: Skipping packed field failed"
            elif field is None:
                text = "Failed skipping unrequested field"
            else:
                text = "ReadValue: Failed skipping field when counting"
            raise _data_loss(text) from None


def _reserialized(data: bytes, message: Any, is_text: bool) -> bytes:
    """A message, read by protobuf from its text or binary form, in binary form."""
    try:
        found = message_factory.GetMessageClass(message)()
        if is_text:
            text_format.Parse(data, found, descriptor_pool=message.file.pool)
        else:
            found.ParseFromString(data)
        return found.SerializeToString()
    except (text_format.ParseError, DecodeError, EncodeError, UnicodeDecodeError):
        raise _data_loss(f"Unable to parse {'text' if is_text else 'binary'} protobuf") from None


def _wanted(message: object, names: Sequence[str], kinds: Sequence[np.dtype]) -> list[_Field]:
    if len(names) != len(kinds):
        raise invalid("field_names and output_types attributes must have the same length")
    found = []
    for name, dtype in zip(names, kinds):
        field = types.field_descriptor(message, name)
        if dtype.name not in types.KINDS[field.type].dtypes:
            wanted = " or ".join("string" if d == "object" else d for d in types.KINDS[field.type].dtypes)
            given = dtypes.as_dtype(dtype).name
            raise invalid(f"Unexpected output type for {field.full_name}: {types.KINDS[field.type].name} to {given}, want {wanted}")
        found.append(_Field(field, dtype))
    return found


def _column(rows: list[list[Any]], field: _Field, prefix: tuple[int, ...]) -> np.ndarray:
    """The values of a field as [messages..., most values of a message], filled up with the default."""
    found = np.empty((len(rows), max(1, *map(len, rows))), field.dtype)
    found[...] = field.default
    for row, values in zip(found, rows):
        row[: len(values)] = values
    return found.reshape(*prefix, -1)


def _decoded_shape(c):
    prefix, count = c.inputs[0], len(c.attr("output_types"))
    return [None if prefix is None else (*prefix, size) for size in (count, *[None] * count)]


@op(
    "DecodeProtoV2",
    "(bytes: string, *, message_type: string, field_names: list(string), output_types: list(type) >= 0, "
    'descriptor_source: string = "local://", message_format: string = "binary", sanitize: bool = False) -> '
    "(sizes: int32, values: output_types)",
    shape=_decoded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_proto(serialized, *, message_type, field_names, output_types, descriptor_source, message_format, sanitize):
    message = types.message_descriptor(descriptor_source.encode("latin-1"), message_type)
    fields = _wanted(message, field_names, output_types)
    if message_format not in ("binary", "text"):
        raise invalid("format must be one of binary or text")
    if not serialized.size:
        raise invalid("Bufs argument must contain at least one value")
    by_number = {f.number: f for f in reversed(fields)}
    rows: list[list[list[Any]]] = []
    sizes = np.zeros((serialized.size, len(fields)), np.int32)
    for index, data in enumerate(serialized.reshape(-1).tolist()):
        if sanitize or message_format == "text":
            data = _reserialized(data, message, message_format == "text")
        for field in by_number.values():
            field.start()
        _read_message(data, by_number)
        sizes[index] = [f.count for f in fields]
        rows.append([f.values for f in fields])
    columns = tuple(_column([row[i] for row in rows], f, serialized.shape) for i, f in enumerate(fields))
    return sizes.reshape(*serialized.shape, len(fields)), columns


@export("io.decode_proto", "contrib.proto.decode_proto")
def decode_proto(
    bytes: TensorLike, message_type: str, field_names: Sequence[str], output_types: Sequence[Any], descriptor_source: str = "local://",
    message_format: str = "binary", sanitize: bool = False, name: str | None = None,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Fields of serialized messages as tensors.

    Args:
      bytes: string Tensor of messages, of any shape.
      message_type: the full name of their type.
      field_names: fields, or full names of extensions.
      output_types: one dtype per field. Messages and groups are strings; 32-bit numbers may be read as 64-bit ones.
      descriptor_source: "local://" for TensorFlow's own messages, the path of a serialized FileDescriptorSet, or
        "bytes://" and such a set itself.
      message_format: "binary" or "text".
      sanitize: whether protobuf reads and writes each message before it is decoded.
      name: node name.

    Returns:
      (sizes, values): int32 [..., fields], how many values each message has of each field; and for each field a Tensor
      [..., most values of a message], filled up with the default.

    Raises:
      InvalidArgumentError: in a run, without messages, with an unknown type or field, or a dtype that cannot hold a field.
      DataLossError: in a run with a broken message.
    """
    return raw.DecodeProtoV2(
        bytes, message_type, field_names, output_types, descriptor_source, message_format, sanitize, name=name
    )


# ---- encoding ----


def _payloads(values: np.ndarray, kind: types.FieldKind) -> list[bytes]:
    """Each value as it stands on the wire, without its tag."""
    if kind.layout:
        return [v.tobytes() for v in values.astype(kind.layout)]
    if kind.wire == types.VARINT:
        return [varint.encode(kind.encode(v)) for v in values.tolist()]
    if kind.wire == types.BYTES:
        return [varint.encode(len(v)) + v for v in values]
    return list(values)


def _encoded(field: Any, values: np.ndarray) -> bytes:
    """The field of one message with these values."""
    kind = types.KINDS[field.type]
    found = _payloads(values, kind)
    tag = varint.encode(field.number << 3 | kind.wire)
    if kind.wire == types.START_GROUP:
        end = varint.encode(field.number << 3 | types.END_GROUP)
        return b"".join(tag + payload + end for payload in found)
    if types.is_packed(field):
        payload = b"".join(found)
        return varint.encode(field.number << 3 | types.BYTES) + varint.encode(len(payload)) + payload
    return b"".join(tag + payload for payload in found)


def _check_values(fields: list[Any], sizes: np.ndarray, values: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The shape of the messages; InvalidArgumentError where sizes or values do not fit them."""
    if len(fields) != len(values):
        raise invalid("Length of inputs list must match field_names")
    for field, value in zip(fields, values):
        kind = types.KINDS[field.type]
        if value.dtype.name not in kind.dtypes:
            given = dtypes.as_dtype(value.dtype).name
            raise invalid(f"Incompatible type for field {field.name}.  Saw dtype: {given} but field type is: {kind.name}")
        if value.ndim < 2:
            shape = shape_text(value.shape)
            raise invalid(f"Invalid shape for field {field.name}.  Saw shape {shape} but it should be at least a matrix.")
        if value.shape[:-1] != values[0].shape[:-1]:
            raise invalid("Values must match up to the last dimension")
    prefix = values[0].shape[:-1]
    if sizes.shape != (*prefix, len(fields)):
        raise invalid(
            f"sizes should be batch_size + [len(field_names)].  Saw: {shape_text(sizes.shape)} but expected: "
            f"{shape_text((*prefix, len(fields)))}"
        )
    for index, value in enumerate(values):
        column, most = sizes[..., index].reshape(-1), value.shape[-1]
        for place in np.flatnonzero(column > most)[:1]:
            raise invalid(
                f"Size to write must not be larger than value tensor; but saw: {column[place]} > {most} at message {place} field {index}"
            )
    return prefix


def _encoded_shape(c):
    shape = None
    for sizes in c.inputs[:0:-1]:
        sizes = si.with_rank_at_least(sizes, 2)
        shape = si.merge(None if sizes is None else sizes[:-1], shape)
    return [shape]


@op(
    "EncodeProto",
    "(sizes: int32, values: Tinput_types, *, field_names: list(string), message_type: string, "
    'descriptor_source: string = "local://", Tinput_types: list(type) >= 1) -> (bytes: string)',
    shape=_encoded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _encode_proto(sizes, values, *, field_names, message_type, descriptor_source):
    message = types.message_descriptor(descriptor_source.encode("latin-1"), message_type)
    for name in field_names:
        if name not in message.fields_by_name:
            raise invalid(f"Unknown field: {name} in message type {message_type}")
    fields = [message.fields_by_name[name] for name in field_names]
    prefix = _check_values(fields, sizes, values)
    sizes = sizes.reshape(-1, len(fields))
    columns = [v.reshape(len(sizes), v.shape[-1]) for v in values]
    order = sorted(range(len(fields)), key=lambda i: fields[i].number)
    found = np.empty(len(sizes), object)
    for place, row in enumerate(sizes.tolist()):
        found[place] = b"".join(_encoded(fields[i], columns[i][place, : max(row[i], 0)]) for i in order if row[i])
    return found.reshape(prefix)


@export("io.encode_proto", "contrib.proto.encode_proto")
def encode_proto(
    sizes: TensorLike, values: Sequence[Any], field_names: Sequence[str], message_type: str, descriptor_source: str = "local://",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Tensors as serialized messages; `decode_proto` the other way.

    Args:
      sizes: int32 [..., fields], how many values each message has of each field.
      values: for each field a Tensor [..., at least so many values].
      field_names: the fields.
      message_type: the full name of the type of the messages.
      descriptor_source: as for `decode_proto`.
      name: node name.

    Returns:
      String Tensor [...].

    Raises:
      InvalidArgumentError: in a run with an unknown type or field, a dtype that a field cannot take, or sizes that do not fit.
    """
    return raw.EncodeProto(sizes, list(values), field_names, message_type, descriptor_source, name=name)
