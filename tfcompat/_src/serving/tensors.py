"""Arrays as TensorProtos in messages of TensorFlow Serving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.proto import messages
from tfcompat._src.serving import inference
from tfcompat._src.serving.servable import Servable, dtype_of


def predict_request(spec: object, inputs: Mapping[str, NDArray]) -> Any:
    """The PredictRequest with these inputs."""
    request = messages.serving.PredictRequest(model_spec=spec)
    for key, value in inputs.items():
        fill_tensor(request.inputs[key], value)
    return request


def predict_response(servable: Servable, spec: object, outputs: Mapping[str, NDArray]) -> Any:
    """The PredictResponse with these outputs, to a request with this ModelSpec."""
    reply = messages.serving.PredictResponse(model_spec=inference.reply_spec(servable, spec))
    for key, value in outputs.items():
        fill_tensor(reply.outputs[key], value)
    return reply


_VALUE_FIELDS = {
    "float32": ("float_val", "<f4"), "float64": ("double_val", "<f8"), "complex64": ("scomplex_val", "<f4"), "complex128": ("dcomplex_val", "<f8"),
}  # fmt: skip


def fill_tensor(proto: Any, value: NDArray) -> None:
    """Fills a TensorProto with an array, in the typed field of its dtype, as TensorFlow Serving does."""
    dtype = dtype_of(np.asarray(value))
    name = dtype.name
    if name in _VALUE_FIELDS:
        field, stored = _VALUE_FIELDS[name]
        data = np.ascontiguousarray(value).astype(np.dtype(value.dtype).newbyteorder("<"), copy=False).tobytes()
        number = proto.DESCRIPTOR.fields_by_name[field].number
        if data:  # numbers of fixed width are packed as they lie in memory
            proto.MergeFromString(_varint(number << 3 | 2) + _varint(len(data)) + data)
    elif name == "string":
        proto.string_val.extend(s.encode() if isinstance(s, str) else bytes(s) for s in np.asarray(value).ravel().tolist())
    elif name in ("half", "float16", "bfloat16"):
        proto.half_val.extend(np.asarray(value).view(np.uint16).ravel().tolist())
    else:
        field = {"bool": "bool_val", "int64": "int64_val", "uint32": "uint32_val", "uint64": "uint64_val"}.get(name, "int_val")
        getattr(proto, field).extend(np.asarray(value).ravel().tolist())
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in np.shape(value):
        proto.tensor_shape.dim.add(size=size)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
