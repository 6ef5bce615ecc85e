"""Graph models of TensorFlow.js: model.json with the topology and the names of weights, and the weights in shards."""

from __future__ import annotations

import collections
import importlib.resources
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import json_format

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert.model import ConversionError, Model
from tfcompat._src.graph import graph_util
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_proto import make_ndarray, make_tensor_proto
from tfcompat._src.platform.versions import VERSION
from tfcompat._src.proto import messages

SHARD = 4 * 1024 * 1024
"""Bytes of a file of weights, which browsers keep in their caches."""
_PRODUCER = 134
"""Version of graphs that 1.15 writes; TensorFlow.js does not load a topology without one."""
_NARROWER = {"int64": "int32", "float64": "float32", "uint32": "int32", "int8": "int32", "int16": "int32", "uint16": "int32"}
_ALLOWED = ("float32", "int32", "bool", "uint8", "complex64", "string")
_LEVELS = {"uint8": 255, "uint16": 65535}


def supported_ops() -> frozenset[str]:
    """The op types that TensorFlow.js 4.22 runs."""
    return frozenset(json.loads(importlib.resources.files(__package__).joinpath("tfjs_ops.json").read_text()))


def prepared(model: Model) -> Any:
    """The frozen GraphDef of a model without Identity nodes; ConversionError, with the nodes, where TensorFlow.js lacks an op of it."""
    frozen = model.frozen()
    kept = [t.op.name for t in (*model.inputs.values(), *model.outputs.values())]
    found = graph_util.remove_training_nodes(frozen, kept)
    found.library.CopyFrom(frozen.library)
    found.versions.producer = frozen.versions.producer or _PRODUCER
    known = supported_ops()
    missing = collections.defaultdict(list)
    for node in found.node:
        if node.op not in known:
            missing[node.op].append(node.name)
    if missing:
        rows = "".join(f"\n  {kind}: {', '.join(names)}" for kind, names in sorted(missing.items()))
        raise ConversionError(f"TensorFlow.js has no kernels for ops of this graph:{rows}")
    return found


def files_of(
    graph_def: messages.GraphDef, initializer: Any, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor], quantize: str | None, shard: int
) -> dict[str, bytes]:  # fmt: skip
    """The files of a graph model, by name.

    Args:
      graph_def: as `prepared` gives it. initializer: the GraphDef that fills its tables. inputs, outputs: of the signature. quantize: "uint8",
        "uint16" or "float16", how float32 weights are stored, or None. shard: bytes of a file of weights.

    Raises:
      ConversionError: a constant has a dtype that TensorFlow.js has not, or an integer beyond 32 bits.
    """
    weights: dict[str, NDArray] = {}
    signature = messages.SignatureDef(method_name="tensorflow/serving/predict")
    for part, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for key, tensor in tensors.items():
            part[key].name, part[key].dtype = tensor.name, tensor.dtype.base_dtype.as_datatype_enum
            part[key].tensor_shape.CopyFrom(tensor.shape.as_proto())
    head = {"format": "graph-model", "signature": json_format.MessageToDict(signature), "modelTopology": _topology(graph_def, weights)}
    if initializer.node:
        head["modelInitializer"] = _topology(initializer, weights)
    return with_weights(head, weights, quantize, shard)


def _topology(graph_def: messages.GraphDef, weights: dict[str, NDArray]) -> dict[str, Any]:
    """A GraphDef in JSON without the values of its constants, which go to `weights`."""
    topology = messages.GraphDef()
    topology.CopyFrom(graph_def)
    for node in topology.node:
        for name in [name for name in node.attr if name.startswith("_")]:
            del node.attr[name]
        if node.op == "Const":
            tensor = node.attr["value"].tensor
            weights[node.name] = _narrow(node.name, make_ndarray(tensor))
            node.attr["value"].tensor.CopyFrom(messages.TensorProto(dtype=tensor.dtype, tensor_shape=tensor.tensor_shape))
    found: dict[str, Any] = json_format.MessageToDict(topology)
    return found


def _narrow(name: str, array: NDArray) -> NDArray:
    """A constant in a dtype of TensorFlow.js."""
    if array.dtype.kind in "OSU":
        return array
    narrow = _NARROWER.get(array.dtype.name, array.dtype.name)
    if narrow not in _ALLOWED:
        raise ConversionError(f"The constant {name} is {array.dtype.name}, which TensorFlow.js has not.")
    if array.dtype.kind in "iu" and array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
        raise ConversionError(f"The constant {name} has integers beyond 32 bits, which TensorFlow.js has not.")
    return array.astype(narrow)


def with_weights(head: dict[str, Any], weights: Mapping[str, NDArray], quantize: str | None, shard: int) -> dict[str, bytes]:
    """model.json of a head, and the weights cut into files."""
    manifest, parts = [], []
    for name, array in weights.items():
        entry, data = _stored(array, quantize)
        manifest.append({"name": name, "shape": list(array.shape), **entry})
        parts.append(data)
    data = b"".join(parts)
    count = math.ceil(len(data) / shard)
    names = [f"group1-shard{i + 1}of{count}.bin" for i in range(count)]
    found = {name: data[i * shard : (i + 1) * shard] for i, name in enumerate(names)}
    content = {**head, "generatedBy": VERSION, "convertedBy": "tfcompat", "weightsManifest": [{"paths": names, "weights": manifest}]}
    return {**found, "model.json": json.dumps(content).encode()}


def _stored(array: NDArray, quantize: str | None) -> tuple[dict[str, Any], bytes]:
    """The entry of an array in the manifest, and its bytes: strings with their length before them, quantized numbers on a scale with an exact 0."""
    if array.dtype.kind in "OSU":
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.ravel()]
        return {"dtype": "string"}, b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    kind = array.dtype.name
    if quantize is None or kind != "float32" or not array.size:
        return {"dtype": kind}, array.astype(array.dtype.newbyteorder("<")).tobytes()
    if quantize == "float16":
        return {"dtype": kind, "quantization": {"dtype": "float16", "original_dtype": kind}}, array.astype("<f2").tobytes()
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    scale = (high - low) / _LEVELS[quantize] or 1.0
    zero = round(-low / scale)
    numbers = np.clip(np.round(array / scale) + zero, 0, _LEVELS[quantize]).astype(quantize)
    entry = {"dtype": kind, "quantization": {"dtype": quantize, "min": -zero * scale, "scale": scale, "original_dtype": kind}}
    return entry, numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()


# ---- reading, for the check ----


def read(folder: str) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The content of model.json of a model of TensorFlow.js, and its weights."""
    with open(os.path.join(folder, "model.json"), encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    weights = {}
    for group in content["weightsManifest"]:
        parts = []
        for name in group["paths"]:
            with open(os.path.join(folder, name), "rb") as shard:
                parts.append(shard.read())
        data, at = b"".join(parts), 0
        for entry in group["weights"]:
            weights[entry["name"]], at = _loaded(entry, data, at)
    return content, weights


def _loaded(entry: dict[str, Any], data: bytes, at: int) -> tuple[NDArray, int]:
    """A weight, and where the next one begins."""
    count = math.prod(entry["shape"])
    if entry["dtype"] == "string":
        texts = []
        for _ in range(count):
            size = int.from_bytes(data[at : at + 4], "little")
            texts.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        return np.array(texts, object).reshape(entry["shape"]), at
    how = entry.get("quantization")
    stored = np.dtype(how["dtype"] if how else entry["dtype"])
    array = np.frombuffer(data, stored.newbyteorder("<"), count, at).reshape(entry["shape"])
    if how and stored.kind == "u":
        array = array * how["scale"] + how["min"]
    return array.astype(entry["dtype"]), at + count * stored.itemsize


def graph_def_of(content: dict[str, Any], weights: Mapping[str, NDArray]) -> Any:
    """The GraphDef of a graph model with its weights as constants, and with the nodes that fill its tables."""
    found = json_format.ParseDict(content["modelTopology"], messages.GraphDef())
    there = {node.name for node in found.node}
    filling = json_format.ParseDict(content.get("modelInitializer", {}), messages.GraphDef())
    found.node.extend(node for node in filling.node if node.name not in there)
    for node in found.node:
        if node.op == "Const":
            kind = node.attr["value"].tensor.dtype
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(weights[node.name], kind, weights[node.name].shape))
    return found
