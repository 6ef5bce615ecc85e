"""Reads and writes the compressed JSON files of golden data; arrays are kept to the bit."""

import base64
import gzip
import io
import json

import numpy as np


def pack(value):
    """JSON-ready form of nested lists, dicts, arrays, bytes and plain values."""
    if isinstance(value, dict):
        return {str(k): pack(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(v) for v in value]
    if isinstance(value, bytes):
        return {"__bytes__": value.decode("latin-1")}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind in "OSU":
            items = [pack(v if isinstance(v, bytes) else str(v).encode()) for v in array.ravel().tolist()]
            return {"__text__": items, "shape": list(array.shape)}
        name = array.dtype.name
        if array.dtype.kind not in "?biufc":
            array = array.astype(np.float32)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"__array__": data, "stored": array.dtype.str, "dtype": name, "shape": list(array.shape)}
    return value


class Value(object):
    """A recorded array with the name of the dtype that it had."""

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype


def unpack(value):
    """The inverse of pack; arrays come back as Value."""
    if isinstance(value, list):
        return [unpack(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "__bytes__" in value:
        return value["__bytes__"].encode("latin-1")
    if "__text__" in value:
        array = np.empty(len(value["__text__"]), object)
        array[:] = [unpack(v) for v in value["__text__"]]
        return Value(array.reshape(value["shape"]), "object")
    if "__array__" in value:
        array = np.frombuffer(base64.b64decode(value["__array__"]), value["stored"]).reshape(value["shape"])
        return Value(array, value["dtype"])
    return {k: unpack(v) for k, v in value.items()}


def write(path, data):
    """Writes data; the same data always gives the same bytes."""
    text = json.dumps(pack(data), sort_keys=True, separators=(",", ":"))
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as stream:
        stream.write(text.encode())
    with open(str(path), "wb") as sink:
        sink.write(buffer.getvalue())


def read(path):
    """Reads what write wrote."""
    with gzip.open(str(path), "rb") as stream:
        return unpack(json.loads(stream.read().decode()))
