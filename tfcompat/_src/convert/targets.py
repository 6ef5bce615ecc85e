"""The formats that `tfcompat convert` writes: how each is written, and how it is run for the check."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.export
from google.protobuf import text_format

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert import onnx, tfjs, tfjs_layers, tfjs_tables
from tfcompat._src.convert.model import Model, opened
from tfcompat._src.convert.report import Report
from tfcompat._src.graph.graph import Graph
from tfcompat._src.interop.to_stablehlo import PROGRAM, to_stablehlo
from tfcompat._src.lite import constants
from tfcompat._src.lite.converter import Optimize, TFLiteConverter
from tfcompat._src.lite.freeze import get_tensor_name
from tfcompat._src.lite.interpreter import Interpreter
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform.temporary_files import write_whole
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model.simple_save import simple_save

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

Arrays = Mapping[str, NDArray]

_LOADER = '''"""A function of JAX that tfcompat wrote: `fn(params, *feeds)` gives `(fetched, new_params)`; see signature.json. It needs jax alone."""

import json
import pathlib

import jax.export
import numpy as np

_HERE = pathlib.Path(__file__).parent
signature = json.loads((_HERE / "signature.json").read_text())
fn = jax.export.deserialize(bytearray((_HERE / "model.stablehlo").read_bytes())).call
with np.load(_HERE / "params.npz") as _arrays:
    params = {group: {name: _arrays[f"{group}/{name}"] for name in names} for group, names in signature["params"].items()}
'''


@dataclass
class Options:
    """What the command line says beside the paths.

    Attributes:
      shapes: sizes of inputs by name, numbers or names of symbols. quantize: "float16", "uint8", "uint16" or "int8" for weights, or None.
      is_graph: a Keras file becomes a graph model of TF.js too. shard: bytes of a file of weights. opset: of ONNX.
    """

    shapes: dict[str, list[int | str]] = field(default_factory=dict)
    quantize: str | None = None
    is_graph: bool = False
    shard: int = tfjs.SHARD
    opset: int = 17


class Target(NamedTuple):
    """A format: `write(model, path, options, report)` makes a file or folder; `run(path, model, arrays)` gives outputs by name, or raises NotRunError.

    `batch` is the size that unknown sizes have in the check, `quantizations` are those that it can have.
    """

    write: Callable[[Model, str, Options, Report], None]
    run: Callable[[str, Model, Arrays], dict[str, Any]]
    batch: int = 2
    quantizations: tuple[str, ...] = ()


# ---- JAX ----


def _write_stablehlo(model: Model, path: str, options: Options, report: Report) -> None:
    shapes = {model.inputs[key].name: sizes for key, sizes in options.shapes.items()}
    made = to_stablehlo(model.outputs, list(model.inputs.values()), model.session, shapes=shapes)
    for key, described in zip(model.inputs, made.signature["inputs"]):
        described["key"] = key
    made.save(path)
    report.rows.append(f"a program for {', '.join(made.signature['platforms'])}; parameters: {_counts(made.params)}")


def _counts(params: Any) -> str:
    return ", ".join(f"{len(part)} {group}" for group, part in params.items() if part) or "none"


def _write_jax(model: Model, path: str, options: Options, report: Report) -> None:
    _write_stablehlo(model, path, options, report)
    write_whole(os.path.join(path, "model.py"), _LOADER.encode())


def _run_stablehlo(path: str, model: Model, arrays: Arrays) -> dict[str, Any]:
    with open(os.path.join(path, PROGRAM), "rb") as file:
        program = jax.export.deserialize(bytearray(file.read()))
    space: dict[str, Any] = {"__file__": os.path.join(path, "model.py")}
    exec(_LOADER, space)  # noqa: S102  # what a user of the folder would run
    feeds = [array.astype(spec.dtype) for array, spec in zip(arrays.values(), jax.tree.unflatten(program.in_tree, program.in_avals)[0][1:])]
    found: dict[str, Any] = space["fn"](space["params"], *feeds)[0]
    return found


# ---- graphs ----


def _write_frozen(model: Model, path: str, options: Options, report: Report) -> None:
    found = model.frozen()
    report.compared(model, [(node.name, node.op) for node in found.node])
    write_whole(path, text_format.MessageToString(found).encode() if path.endswith(".pbtxt") else found.SerializeToString())


def run_graph_def(graph_def: messages.GraphDef, model: Model, arrays: Arrays, first: Sequence[str] = ()) -> dict[str, Any]:
    """The outputs of a GraphDef whose tensors have the names that they have in the model; the nodes `first` run before."""
    with Graph().as_default() as graph, Session(graph=graph) as session:
        import_graph_def(graph_def, name="")
        session.run(list(first))
        feeds = {model.inputs[key].name: array for key, array in arrays.items()}
        found: dict[str, Any] = session.run({key: t.name for key, t in model.outputs.items()}, feeds)
        return found


def _run_opened(path: str, model: Model, arrays: Arrays) -> dict[str, Any]:
    is_graph = os.path.isfile(path)
    names = [[t.name for t in part.values()] if is_graph else () for part in (model.inputs, model.outputs)]
    with opened(path, *names, "serving_default", ["serve"]) as again:
        outputs = zip(model.outputs, again.outputs.values()) if is_graph else again.outputs.items()
        inputs = dict(zip(model.inputs, again.inputs.values())) if is_graph else again.inputs
        found: dict[str, Any] = again.session.run(dict(outputs), {inputs[key]: array for key, array in arrays.items()})
        return found


def _write_saved_model(model: Model, path: str, options: Options, report: Report) -> None:
    with model.session.graph.as_default():
        simple_save(model.session, path, model.inputs, model.outputs)
    report.rows.append(f"{len(model.session.graph.get_operations())} nodes, all of the graph")


# ---- TensorFlow Lite ----


def _write_tflite(model: Model, path: str, options: Options, report: Report) -> None:
    inputs = list(model.inputs.values())
    for key, tensor in model.inputs.items():
        if key in options.shapes:
            tensor.set_shape([size if isinstance(size, int) else None for size in options.shapes[key]])
    with model.session.graph.as_default():
        converter = TFLiteConverter.from_session(model.session, inputs, list(model.outputs.values()))
    if options.quantize:
        converter.optimizations = [Optimize.DEFAULT]
        converter.target_spec.supported_types = [constants.FLOAT16] if options.quantize == "float16" else []
    content = converter.convert()
    write_whole(path, content)
    there = {each["name"] for each in Interpreter(model_content=content).get_tensor_details()}
    ops = [(node.name, node.op) for node in model.frozen().node]
    report.nodes("kept", [each for each in ops if each[0] in there], "whose result is a tensor of the model")
    report.nodes("fused, folded or dropped", [each for each in ops if each[0] not in there], "into neighbours, constants or the layout")


def _run_tflite(path: str, model: Model, arrays: Arrays) -> dict[str, Any]:
    interpreter = Interpreter(model_path=path)
    interpreter.allocate_tensors()
    by_name = {each["name"]: each["index"] for each in interpreter.get_input_details()}
    for key, tensor in model.inputs.items():
        if (name := get_tensor_name(tensor)) in by_name:
            interpreter.set_tensor(by_name[name], arrays[key])
    interpreter.invoke()
    return {key: interpreter.get_tensor(each["index"]) for key, each in zip(model.outputs, interpreter.get_output_details())}


# ---- TensorFlow.js ----


def _write_tfjs(model: Model, path: str, options: Options, report: Report) -> None:
    if model.keras is not None and not options.is_graph:
        files = tfjs_layers.files_of(model.keras, options.quantize, options.shard)
        report.rows.append(f"a layers model of {len(model.keras.layers)} layers")
    else:
        graph_def = tfjs.prepared(model)
        report.compared(model, [(node.name, node.op) for node in graph_def.node])
        vectors = {op.name for op in model.session.graph.get_operations() if len(op.inputs) > 1 and op.inputs[1].shape.ndims == 1}
        graph_def = tfjs_tables.adapted(graph_def, vectors)
        initializer = tfjs_tables.initializer(graph_def, model.session)
        files = tfjs.files_of(graph_def, initializer, model.inputs, model.outputs, options.quantize, options.shard)
    os.makedirs(path)
    for name, content in files.items():
        write_whole(os.path.join(path, name), content)


def _run_tfjs(path: str, model: Model, arrays: Arrays) -> dict[str, Any]:
    content, weights = tfjs.read(path)
    if "model_config" in content["modelTopology"]:
        return tfjs_layers.run(content["modelTopology"], weights, model.keras, arrays)
    graph_def = tfjs.graph_def_of(content, weights)
    return run_graph_def(graph_def, model, arrays, tfjs_tables.filling_nodes(graph_def))


# ---- ONNX ----


def _write_onnx(model: Model, path: str, options: Options, report: Report) -> None:
    content, kinds = onnx.content_of(model, options.opset)
    counts = ", ".join(f"{count} {kind}" for kind, count in collections.Counter(kinds).most_common(6))
    report.rows.append(f"{len(model.frozen().node)} nodes became {len(kinds)}: {counts}")
    write_whole(path, content)


TARGETS = {
    "jax": Target(_write_jax, _run_stablehlo), "stablehlo": Target(_write_stablehlo, _run_stablehlo),
    "onnx": Target(_write_onnx, onnx.run), "tflite": Target(_write_tflite, _run_tflite, 1, ("float16", "int8")), "tfjs": Target(_write_tfjs, _run_tfjs, 2, ("float16", "uint8", "uint16")),
    "savedmodel": Target(_write_saved_model, _run_opened), "frozen": Target(_write_frozen, _run_opened),
}  # fmt: skip
