"""Model -> bytes of a .tflite file (TensorFlow's lite/schema/schema.fbs), by the `flatbuffers` package."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tfcompat._src.lite import model as lite

_ALIGNMENT = 16
_UNION = {name: number for number, (name, _) in enumerate(lite.OPTIONS, 1)}
_NEWER_CODES = 127
"""Codes from here on stand in another field of the file."""


def write(model: lite.Model) -> bytes:
    """The file of a model.

    Raises:
      ImportError: the package flatbuffers is not installed.
    """
    return _Writer().model(model)


class _Writer:
    """Writes children before their parents, as flatbuffers demands."""

    def __init__(self) -> None:
        try:
            self.builder = importlib.import_module("flatbuffers").Builder(1024)
        except ImportError:
            raise ImportError("Writing .tflite files needs the package flatbuffers: pip install tfcompat[lite].") from None
        self.buffers = [self.table(1, {})]
        self.codes: dict[tuple[str, str, int], int] = {}
        self.buffer_of: dict[int, tuple[int, Any]] = {}

    def model(self, model: lite.Model) -> bytes:
        subgraphs = [self.subgraph(s) for s in model.subgraphs]
        subgraphs_at = self.offsets(subgraphs)
        codes_at = self.offsets([self.operator_code(*key) for key in self.codes])
        buffers_at = self.offsets(self.buffers)
        description = self.builder.CreateString(model.description)
        fields = {0: ("Uint32", lite.SCHEMA_VERSION), 1: ("offset", codes_at), 2: ("offset", subgraphs_at),
                  3: ("offset", description), 4: ("offset", buffers_at)}  # fmt: skip
        self.builder.Finish(self.table(6, fields), lite.IDENTIFIER)
        return bytes(self.builder.Output())

    def table(self, slots: int, fields: dict[int, tuple[str, Any]]) -> int:
        """A table of `slots` fields; `fields` has kind and value by slot."""
        self.builder.StartObject(slots)
        for slot, (kind, value) in fields.items():
            if kind == "offset":
                self.builder.PrependUOffsetTRelativeSlot(slot, value, 0)
            else:
                getattr(self.builder, f"Prepend{kind}Slot")(slot, value, 0)
        return self.builder.EndObject()

    def offsets(self, items: list[int]) -> int:
        self.builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.builder.PrependUOffsetTRelative(item)
        return self.builder.EndVector()

    def numbers(self, values: object, dtype: str) -> int:
        return self.builder.CreateNumpyVector(np.ascontiguousarray(values, dtype))

    def operator_code(self, builtin: str, custom_code: str, version: int) -> int:
        code = lite.BUILTIN_CODES[builtin]
        name = self.builder.CreateString(custom_code) if custom_code else None
        self.builder.StartObject(4)
        self.builder.PrependInt8Slot(0, min(code, _NEWER_CODES), 0)
        if name is not None:
            self.builder.PrependUOffsetTRelativeSlot(1, name, 0)
        self.builder.PrependInt32Slot(2, version, 1)
        self.builder.PrependInt32Slot(3, code, 0)
        return self.builder.EndObject()

    def subgraph(self, subgraph: lite.Subgraph) -> int:
        tensors = subgraph.used()
        index: dict[lite.Tensor | None, int] = {tensor: i for i, tensor in enumerate(tensors)}
        index[None] = -1
        tensors_at = self.offsets([self.tensor(t) for t in tensors])
        operators_at = self.offsets([self.operator(o, index) for o in subgraph.operators])
        inputs_at = self.numbers([index[t] for t in subgraph.inputs], "<i4")
        outputs_at = self.numbers([index[t] for t in subgraph.outputs], "<i4")
        fields = {0: ("offset", tensors_at), 1: ("offset", inputs_at), 2: ("offset", outputs_at), 3: ("offset", operators_at)}
        if subgraph.name:
            fields[4] = ("offset", self.builder.CreateString(subgraph.name))
        return self.table(5, fields)

    def tensor(self, tensor: lite.Tensor) -> int:
        shape = self.numbers(tensor.shape, "<i4")
        name = self.builder.CreateString(tensor.name)
        fields = {0: ("offset", shape), 1: ("Int8", lite.TENSOR_TYPES.index(tensor.dtype)), 2: ("Uint32", self.buffer(tensor)),
                  3: ("offset", name)}  # fmt: skip
        if tensor.quantization is not None:
            fields[4] = ("offset", self.quantization(tensor.quantization))
        if tensor.is_variable:
            fields[5] = ("Bool", True)
        return self.table(6, fields)

    def quantization(self, parameters: lite.Quantization) -> int:
        fields = {2: ("offset", self.numbers(parameters.scale, "<f4")), 3: ("offset", self.numbers(parameters.zero_point, "<i8"))}
        for slot, bound in ((0, parameters.minimum), (1, parameters.maximum)):
            if bound is not None:
                fields[slot] = ("offset", self.numbers(bound, "<f4"))
        fields[6] = ("Int32", parameters.dimension)
        return self.table(7, fields)

    def buffer(self, tensor: lite.Tensor) -> int:
        """The index of a tensor's buffer; buffer 0 is empty, and tensors of one array share theirs."""
        if tensor.data is None:
            return 0
        if id(tensor.data) not in self.buffer_of:
            data = encode_strings(tensor.data) if tensor.dtype == "STRING" else np.ascontiguousarray(tensor.data).tobytes()
            self.buffer_of[id(tensor.data)] = len(self.buffers), tensor.data
            self.buffers.append(self.table(1, {0: ("offset", self.bytes_vector(data, _ALIGNMENT))}))
        return self.buffer_of[id(tensor.data)][0]

    def bytes_vector(self, data: bytes, alignment: int) -> int:
        builder = self.builder
        builder.StartVector(1, len(data), alignment)
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data
        return builder.EndVector()

    def operator(self, operator: lite.Operator, index: dict[lite.Tensor | None, int]) -> int:
        key = operator.builtin, operator.custom_code, operator.version
        code = self.codes.setdefault(key, len(self.codes))
        inputs = self.numbers([index[t] for t in operator.inputs], "<i4")
        outputs = self.numbers([index[t] for t in operator.outputs], "<i4")
        fields = {0: ("Uint32", code), 1: ("offset", inputs), 2: ("offset", outputs)}
        name = lite.options_name(operator.builtin)
        if name:
            fields[3] = ("Uint8", _UNION[name])
            fields[4] = ("offset", self.options(dict(lite.OPTIONS)[name], operator.options))
        if operator.custom_options:
            fields[5] = ("offset", self.bytes_vector(operator.custom_options, 1))
        return self.table(9, fields)

    def options(self, fields: dict[str, str], values: dict[str, Any]) -> int:
        vectors = {n: self.numbers(values[n], "<i4") for n, kind in fields.items() if kind == "int32s" and n in values}
        self.builder.StartObject(len(fields))
        for slot, (name, kind) in enumerate(fields.items()):
            if name in vectors:
                self.builder.PrependUOffsetTRelativeSlot(slot, vectors[name], 0)
            elif kind != "int32s":
                value = values.get(name, lite.DEFAULTS.get(name, 0))
                getattr(self.builder, f"Prepend{kind.capitalize()}Slot")(slot, value, lite.DEFAULTS.get(name, 0))
        return self.builder.EndObject()


def encode_strings(value: object) -> bytes:
    """The buffer of a string tensor: their number, where each begins, where the last ends, and their bytes."""
    strings = [s if isinstance(s, bytes) else str(s).encode() for s in np.asarray(value, object).ravel()]
    start = 4 * (len(strings) + 2)
    ends = np.cumsum([start, *map(len, strings)])
    return np.asarray([len(strings), *ends], "<i4").tobytes() + b"".join(strings)
