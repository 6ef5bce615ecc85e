"""decode_proto and encode_proto: fields of every type, packed and not, groups, extensions, defaults, broken messages."""

import numpy as np
from google.protobuf import descriptor_pb2, text_format

from cases.table import Table

TABLE = Table("protos")
case, error_case = TABLE.case, TABLE.error_case

NUMBERS = "DOUBLE FLOAT INT64 UINT64 INT32 FIXED64 FIXED32 BOOL UINT32 ENUM SFIXED32 SFIXED64 SINT32 SINT64".split()
FIELDS = [("one", NUMBERS, "LABEL_OPTIONAL", ""), ("all", NUMBERS, "LABEL_REPEATED", "")]
FIELDS.append(("packed", NUMBERS, "LABEL_REPEATED", "options { packed: true }"))
FIELDS.append(("one", ["STRING", "BYTES", "MESSAGE", "GROUP"], "LABEL_OPTIONAL", ""))
FIELDS.append(("all", ["STRING", "BYTES", "MESSAGE", "GROUP"], "LABEL_REPEATED", ""))
DEFAULTS = dict(UINT32=1000, UINT64=1001, FIXED32=2**32 - 1, INT32=-3, INT64=-(2**40), BOOL="true", FLOAT=1.5, DOUBLE="inf")
DEFAULTS.update(STRING="text", BYTES="a\\\\000b", SINT64=-7)
TYPE_NAMES = {"ENUM": 'type_name: ".p.Color"', "MESSAGE": 'type_name: ".p.Point"', "GROUP": 'type_name: ".p.Point"'}


def _field(name, number, kind, label, options):
    text = 'field { name: "%s" number: %d label: %s type: TYPE_%s %s %s }'
    return text % (name, number, label, kind, TYPE_NAMES.get(kind, ""), options)


def _message():
    found, number = [], 0
    for prefix, kinds, label, options in FIELDS:
        for kind in kinds:
            number += 1
            found.append(_field("%s_%s" % (prefix, kind.lower()), number, kind, label, options))
    for kind, default in sorted(DEFAULTS.items()):
        number += 1
        found.append(_field("default_%s" % kind.lower(), number, kind, "LABEL_OPTIONAL", 'default_value: "%s"' % default))
    return " ".join(found)


FILE = """file { name: "p.proto" package: "p"
  enum_type { name: "Color" value { name: "RED" number: 0 } value { name: "BLUE" number: 7 } }
  message_type { name: "Point" %s %s }
  message_type { name: "All" %s extension_range { start: 200 end: 300 } }
  extension { name: "more" extendee: ".p.All" number: 200 label: LABEL_REPEATED type: TYPE_INT64 } }"""
POINT = [_field("x", 1, "INT32", "LABEL_REQUIRED", ""), _field("y", 2, "INT32", "LABEL_OPTIONAL", "")]
FILES = text_format.Parse(FILE % (POINT[0], POINT[1], _message()), descriptor_pb2.FileDescriptorSet())
SOURCE = b"bytes://" + FILES.SerializeToString()

DTYPES = dict(DOUBLE="float64", FLOAT="float32", INT64="int64", UINT64="uint64", INT32="int32", FIXED64="uint64", FIXED32="uint32")
DTYPES.update(BOOL="bool", UINT32="uint32", ENUM="int32", SFIXED32="int32", SFIXED64="int64", SINT32="int32", SINT64="int64")
WIDE = dict(FLOAT="float64", INT32="int64", FIXED32="uint64", UINT32="uint64", SFIXED32="int64", SINT32="int64")
VALUES = {
    "f": [0.5, -3.0, 1e30], "i": [0, -1, 2**31 - 1], "u": [0, 300, 2**32 - 1], "b": [True, False, True], "O": [b"", b"ab", b"\x08\x05"],
}  # fmt: skip


def dtype_of(kind, wide=False):
    return (WIDE.get(kind) if wide else None) or DTYPES.get(kind, "string")


def values_of(kind, count, wide=False):
    """A value per message and place: [2, count]."""
    dtype = dtype_of(kind, wide)
    dtype = np.dtype(object if dtype == "string" else dtype)
    chosen = VALUES[dtype.kind]
    return np.array([[chosen[(row + i) % 3] for i in range(count)] for row in range(2)], dtype)


def written(tf, kinds, prefix, count, wide=False):
    """Messages with these fields, and what is read of them. Enums are there as often as they can be: 1.15 fills up with a pointer's bits."""
    names = ["%s_%s" % (prefix, kind.lower()) for kind in kinds]
    sizes = np.array([[count] * len(kinds), [count if kind == "ENUM" else 1 for kind in kinds]], np.int32)
    values = [values_of(kind, count, wide) for kind in kinds]
    texts = tf.io.encode_proto(sizes, values, names, "p.All", SOURCE)
    types = [getattr(tf, dtype_of(kind, wide)) for kind in kinds]
    return [texts] + list(tf.io.decode_proto(texts, "p.All", names, types, SOURCE))


def decoded(tf, x, names, types, **options):
    return list(tf.io.decode_proto(x, "p.All", names.split(), [getattr(tf, t) for t in types.split()], SOURCE, **options))


TEXTS = ["STRING", "BYTES", "MESSAGE"]
for _name, _kinds, _prefix, _count in (
    ("one", NUMBERS + TEXTS, "one", 1), ("repeated", NUMBERS + TEXTS, "all", 3), ("packed", NUMBERS, "packed", 3),
):  # fmt: skip
    case(_name, lambda tf, k=_kinds, p=_prefix, n=_count: written(tf, k, p, n), grad=False)
    case(_name + "_wide", lambda tf, p=_prefix, n=_count: written(tf, sorted(WIDE), p, n, True), grad=False)
_order = ("packed_sint64", "one_string", "all_group", "one_bool")
case(
    "order",
    lambda tf: tf.io.encode_proto(
        [[2, 1, 1, 1]], [np.array([[-1, 300]]), [["x"]], [[b"\x08\x01"]], [[True]]], list(_order), "p.All", SOURCE
    ),
    grad=False,
)
case("narrowed", lambda tf: tf.io.encode_proto([[1, 1]], [np.array([[2**33 + 1]]), np.array([[1e300]])], ["one_int32", "one_float"], "p.All",
     SOURCE), grad=False)  # fmt: skip
case("negative_size", lambda tf: tf.io.encode_proto([[-1, -1]], [[[1]], [[2]]], ["one_int32", "packed_int32"], "p.All", SOURCE),
     grad=False)  # fmt: skip
case("none", lambda tf: tf.io.encode_proto(np.zeros([0, 1], np.int32), [np.zeros([0, 2], np.int32)], ["one_int32"], "p.All", SOURCE), grad=False)

_defaults = " ".join("default_%s" % k.lower() for k in sorted(DEFAULTS)), " ".join(dtype_of(k) for k in sorted(DEFAULTS))
_empty = " ".join("one_%s" % k.lower() for k in NUMBERS + TEXTS if k != "ENUM"), " ".join(dtype_of(k) for k in NUMBERS + TEXTS if k != "ENUM")


def tagged(number, wire, data):
    tag = number << 3 | wire
    return (bytes(bytearray([tag])) if tag < 128 else bytes(bytearray([tag & 127 | 128, tag >> 7]))) + data


INT32, FLOAT = NUMBERS.index("INT32") + 1, NUMBERS.index("FLOAT") + 1
ALL_INT32 = INT32 + len(NUMBERS)
GROUP = 3 * len(NUMBERS) + 4
MINUS_ONE = b"\xff" * 9 + b"\x01"
case("defaults", lambda tf, x: decoded(tf, x, *_defaults), grad=False, x=np.array([b""], object))
case("empty", lambda tf, x: decoded(tf, x, *_empty), grad=False, x=np.array(b"", object))
case("extension", lambda tf, x: decoded(tf, x, "p.more all_int32", "int64 int32"), grad=False,
     x=np.array([[tagged(200, 0, b"\x05") + tagged(200, 2, b"\x02\x01\x02")]], object))  # fmt: skip
case("packed_negative_wide", lambda tf, x: decoded(tf, x, "all_int32", "int64"), grad=False,
     x=np.array([tagged(ALL_INT32, 0, MINUS_ONE), tagged(ALL_INT32, 2, b"\x0a" + MINUS_ONE)], object))  # fmt: skip
case("packed_of_one", lambda tf, x: decoded(tf, x, "one_int32", "int32"), grad=False, x=np.array([tagged(INT32, 2, b"\x02\x05\x06")], object))
case("last_of_one", lambda tf, x: decoded(tf, x, "one_int32", "int32"), grad=False, x=np.array([tagged(INT32, 0, b"\x05") * 2 + tagged(INT32, 0, b"\x07")], object))
case("other_wire", lambda tf, x: decoded(tf, x, "one_int32", "int32"), grad=False, x=np.array([tagged(INT32, 5, b"\x01\0\0\0") + tagged(INT32, 0, b"\x07")], object))
case("group", lambda tf, x: decoded(tf, x, "one_group one_int32", "string int32"), grad=False,
     x=np.array([tagged(GROUP, 3, b"\x08\x01" + tagged(GROUP + 1, 3, tagged(GROUP + 1, 4, b"")) + tagged(GROUP, 4, b""))], object))  # fmt: skip
case("text", lambda tf, x: decoded(tf, x, "all_int32 one_message", "int32 string", message_format="text"), grad=False,
     x=np.array([b"all_int32: 3 all_int32: -1 one_message { x: 2 }"], object))  # fmt: skip
case("sanitize", lambda tf, x: decoded(tf, x, "packed_int32", "int32", sanitize=True), grad=False,
     x=np.array([tagged(2 * len(NUMBERS) + 5, 0, b"\x05")], object))  # fmt: skip
case("local", lambda tf: list(tf.io.decode_proto([b"\x08\x05\x12\x01a"], "tensorflow.TensorShapeProto.Dim", ["size", "name"], [tf.int64, tf.string])), grad=False)

BROKEN = dict(
    truncated=tagged(INT32, 0, b""), packed_beyond=tagged(ALL_INT32, 2, b"\x02\x01"), packed_varint=tagged(ALL_INT32, 2, b"\x01\x81"),
    packed_fixed=tagged(FLOAT, 2, b"\x03abc"), unrequested=tagged(100, 2, b"\x05a"), zero=b"\0", end=tagged(1, 4, b""), tag=b"\xff",
    twice=tagged(FLOAT, 5, b"\0\0\0\0") + tagged(FLOAT, 2, b"\x04\0\0\0\0"), open_group=tagged(GROUP, 3, b"\x08\x01"),
)  # fmt: skip
for _name, _text in sorted(BROKEN.items()):
    error_case(_name, lambda tf, x: decoded(tf, x, "one_float one_int32 all_int32 one_group", "float32 int32 int32 string"), x=np.array([_text], object))
error_case("no_messages", lambda tf, x: decoded(tf, x, "one_int32", "int32"), x=np.zeros([0], object))
error_case("text_broken", lambda tf, x: decoded(tf, x, "one_int32", "int32", message_format="text"), x=np.array([b"nope: 3"], object))
error_case("text_incomplete", lambda tf, x: decoded(tf, x, "one_int32", "int32", message_format="text"), x=np.array([b"one_message { }"], object))
error_case("sanitize_broken", lambda tf, x: decoded(tf, x, "one_int32", "int32", sanitize=True), x=np.array([b"\x08"], object))
error_case("format", lambda tf, x: decoded(tf, x, "one_int32", "int32", message_format="json"), x=np.array([b""], object))
error_case("field", lambda tf, x: decoded(tf, x, "nope", "int32"), x=np.array([b""], object))
error_case("dtype", lambda tf, x: decoded(tf, x, "one_int32", "uint32"), x=np.array([b""], object))
error_case("lengths", lambda tf, x: decoded(tf, x, "one_int32", "int32 int32"), x=np.array([b""], object))
for _name, _type, _source in (
    ("type", "p.None", SOURCE), ("local_type", "p.All", "local://"), ("no_file", "p.All", "/nowhere/at/all"), ("no_set", "p.All", b"bytes://\xff"),
):  # fmt: skip
    error_case(_name, lambda tf, x, t=_type, s=_source: tf.io.decode_proto(x, t, ["one_int32"], [tf.int32], s), x=np.array([b""], object))
_one = np.ones([1, 1], np.int32)
for _name, _sizes, _values, _names in (
    ("encode_dtype", _one, [_one.astype(bool)], ["one_int32"]), ("encode_rank", _one, [_one[0]], ["one_int32"]),
    ("encode_size", _one + 1, [_one], ["one_int32"]), ("encode_sizes", np.ones([1, 2], np.int32), [_one], ["one_int32"]),
    ("encode_prefix", np.ones([1, 2], np.int32), [_one, np.ones([2, 1], np.int32)], ["one_int32", "all_int32"]),
    ("encode_count", np.ones([1, 2], np.int32), [_one], ["one_int32", "all_int32"]), ("encode_field", _one, [_one], ["nope"]),
    ("encode_nothing", np.ones([1, 0], np.int32), [], []),
):  # fmt: skip
    error_case(_name, lambda tf, s=_sizes, v=_values, n=_names: tf.io.encode_proto(s, v, n, "p.All", SOURCE))
