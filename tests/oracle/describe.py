"""Plain-data descriptions of graphs, values and exceptions, the same under TensorFlow 1.15 and tfcompat.

Runs under Python 3.7 and needs NumPy only: AttrValue messages are read by field name, so any implementation of the
wire format will do.
"""

import hashlib
import re
import struct

import numpy as np

DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    14: "bfloat16",
    15: "qint16",
    16: "quint16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
}
REF_OFFSET = 100
VALUE_FIELDS = {
    "float32": ("float_val", "<f4"),
    "float64": ("double_val", "<f8"),
    "int32": ("int_val", "<i4"),
    "uint8": ("int_val", "u1"),
    "int16": ("int_val", "<i2"),
    "int8": ("int_val", "i1"),
    "uint16": ("int_val", "<u2"),
    "int64": ("int64_val", "<i8"),
    "bool": ("bool_val", "?"),
    "uint32": ("uint32_val", "<u4"),
    "uint64": ("uint64_val", "<u8"),
    "float16": ("half_val", "<f2"),
    "bfloat16": ("half_val", "<u2"),
    "complex64": ("scomplex_val", "<c8"),
    "complex128": ("dcomplex_val", "<c16"),
}
MAX_LISTED = 16
IGNORED_ATTRS = ("_output_shapes",)
MESSAGE_HEAD = 100
COUNTED = re.compile(r"^(CustomGradient-|pyfunc_|hash_table_)(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")


def dtype_name(enum):
    """Name of a DataType number; reference types end in "_ref"."""
    enum = int(enum)
    return DTYPES[enum - REF_OFFSET] + "_ref" if enum > REF_OFFSET else DTYPES.get(enum, str(enum))


def shape_list(proto):
    """Dimensions of a TensorShapeProto: -1 where unknown, None for unknown rank."""
    return None if proto.unknown_rank else [int(d.size) for d in proto.dim]


def static_shape(tensor):
    """Static shape of a graph tensor in the same form as shape_list."""
    shape = tensor.shape
    return None if shape.ndims is None else [-1 if d is None else int(d) for d in shape.as_list()]


def _numbers(array):
    array = np.asarray(array)
    if array.size > MAX_LISTED:
        return "%s sha1 %s" % (list(array.shape), hashlib.sha1(np.ascontiguousarray(array).tobytes()).hexdigest())
    return [repr(v) if isinstance(v, (float, complex)) else v for v in array.ravel().tolist()]


def _half_fields(name, values):
    bits = np.array(list(values), np.uint16)
    return bits.view("<f2") if name == "float16" else bits


def tensor_proto(proto):
    """A TensorProto as [dtype, shape, values or their digest]."""
    name, shape = dtype_name(proto.dtype), shape_list(proto.tensor_shape)
    count = int(np.prod(shape)) if shape is not None else 0
    if name == "string":
        values = [bytes(v) for v in proto.string_val]
        values += values[-1:] * (count - len(values))
        if len(values) > MAX_LISTED:
            return [name, shape, "sha1 " + hashlib.sha1(b"\0".join(values)).hexdigest()]
        return [name, shape, [v.decode("latin-1") for v in values]]
    if name not in VALUE_FIELDS:
        return [name, shape, "opaque"]
    field, code = VALUE_FIELDS[name]
    if proto.tensor_content:
        array = np.frombuffer(bytes(proto.tensor_content), code)
    elif name in ("float16", "bfloat16"):
        array = _half_fields(name, getattr(proto, field))
    elif name.startswith("complex"):
        parts = np.array(list(getattr(proto, field)), "<f4" if name == "complex64" else "<f8")
        array = parts[0::2] + 1j * parts[1::2]
        array = array.astype(code)
    else:
        array = np.array(list(getattr(proto, field)), np.int64 if "int" in name and name != "uint64" else code)
        array = array.astype(code)
    if array.size < count:
        filler = array[-1:] if array.size else np.zeros(1, code)
        array = np.concatenate([array, np.repeat(filler, count - array.size)])
    return [name, shape, _numbers(array.reshape(shape))]


def _text(value):
    return value if isinstance(value, str) else bytes(value).decode("latin-1")


def attr_value(proto):
    """An AttrValue as JSON-ready data, tagged where the kind is not plain."""
    kind = proto.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(proto, kind)
    if kind == "s":
        return COUNTED.sub(r"\1#", _text(value))
    if kind == "type":
        return dtype_name(value)
    if kind == "shape":
        return {"shape": shape_list(value)}
    if kind == "tensor":
        return {"tensor": tensor_proto(value)}
    if kind == "func":
        return {"func": value.name, "attr": {k: attr_value(v) for k, v in sorted(value.attr.items())}}
    if kind == "f":
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if kind == "list":
        items = [_text(v) for v in value.s] + [dtype_name(v) for v in value.type]
        items += [{"shape": shape_list(v)} for v in value.shape] + [{"tensor": tensor_proto(v)} for v in value.tensor]
        items += [int(v) for v in value.i] + [float(v) for v in value.f] + [bool(v) for v in value.b]
        return items + [{"func": v.name} for v in value.func]
    return bool(value) if kind == "b" else int(value) if kind == "i" else value


def node(op):
    """One operation as a dict: name, op, inputs (control inputs as "^name"), dtypes, shapes, attributes, device."""
    attrs = {k: attr_value(v) for k, v in op.node_def.attr.items() if k not in IGNORED_ATTRS}
    return {
        "name": op.name,
        "op": op.type,
        "inputs": [t.name for t in op.inputs] + ["^" + c.name for c in op.control_inputs],
        "dtypes": [dtype_name(t.dtype.as_datatype_enum) for t in op.outputs],
        "shapes": [static_shape(t) for t in op.outputs],
        "attrs": dict(sorted(attrs.items())),
        "device": op.device or "",
    }


def nodes(graph, start=0):
    """Every operation of the graph from the start-th on, in the order of creation."""
    return [node(op) for op in graph.get_operations()[start:]]


def exception(error):
    """Class name and head of the message, without object addresses and file positions."""
    lines = (getattr(error, "message", None) or str(error)).strip().splitlines()
    head = re.sub(r"0x[0-9a-f]+", "0x", lines[0] if lines else "")
    return {"error": type(error).__name__, "message": head[:MESSAGE_HEAD]}


def dense(value):
    """A fetched value as an array that NumPy can store: bfloat16 as float32, text as bytes objects."""
    array = np.asarray(value)
    if array.dtype.kind not in "?biufcSUO":
        array = array.astype(np.float32)
    return array


def leaves(structure, path=""):
    """(path, leaf) pairs of nested lists, tuples, named tuples and dicts (sorted keys); None leaves are kept."""
    if isinstance(structure, dict):
        items = [(str(k), structure[k]) for k in sorted(structure)]
    elif hasattr(structure, "_fields"):
        items = [(k, getattr(structure, k)) for k in structure._fields]
    elif isinstance(structure, (list, tuple)):
        items = [(str(i), v) for i, v in enumerate(structure)]
    else:
        return [(path, structure)]
    return [pair for key, value in items for pair in leaves(value, path + "/" + key if path else key)]
