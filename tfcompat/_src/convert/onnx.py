"""ONNX models, which the installed tf2onnx writes: it runs on tfcompat under the name tensorflow. onnxruntime runs them for the check."""

from __future__ import annotations

import collections
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert.model import ConversionError, Model, NotRunError
from tfcompat._src.shim.install import install_as_tensorflow

if TYPE_CHECKING:
    from types import ModuleType


def _load(name: str) -> ModuleType:
    """tf2onnx.convert or another module of its packages, which see tfcompat as tensorflow; ImportError says what to install."""
    install_as_tensorflow()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("tf2onnx", "onnx"):
            raise
        raise ImportError(f"ONNX is written by tf2onnx, which is not installed ({error}): pip install tf2onnx onnx onnxruntime") from None


def content_of(model: Model, opset: int) -> tuple[bytes, list[str]]:
    """A model as an ONNX file, and the types of its nodes; ConversionError, with the nodes, where ONNX lacks an op."""
    convert, onnx = _load("tf2onnx.convert"), _load("onnx")
    names = [{tensor.name: key for key, tensor in part.items()} for part in (model.inputs, model.outputs)]
    renamed = {**names[0], **names[1]}
    made, _ = convert.from_graph_def(
        model.frozen(), input_names=list(names[0]), output_names=list(names[1]), opset=opset, tensors_to_rename=renamed
    )  # fmt: skip
    missing = collections.defaultdict(list)
    for node in made.graph.node:
        if not onnx.defs.has(node.op_type, node.domain):
            missing[node.op_type].append(node.name)
    if missing:
        rows = "".join(f"\n  {kind}: {', '.join(found)}" for kind, found in sorted(missing.items()))
        raise ConversionError(f"tf2onnx has no ONNX operators for ops of this graph:{rows}")
    return made.SerializeToString(), [node.op_type for node in made.graph.node]


def run(path: str, model: Model, arrays: Mapping[str, NDArray]) -> dict[str, Any]:
    """The outputs of a file in onnxruntime; NotRunError where that is not installed."""
    try:
        runtime = importlib.import_module("onnxruntime")
    except ModuleNotFoundError:
        raise NotRunError("onnxruntime is not installed: pip install onnxruntime") from None
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    there = {each.name for each in session.get_inputs()}
    return dict(zip(model.outputs, session.run(list(model.outputs), {key: array for key, array in arrays.items() if key in there})))
