"""What `tfcompat convert` reads: a SavedModel, a frozen graph, a checkpoint with its meta graph or a Keras file, as a model in a session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfcompat._src.graph import graph_util
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import set_learning_phase
from tfcompat._src.keras.layers import serialization  # noqa: F401  (the classes of layers in Keras files)
from tfcompat._src.keras.saving.save import load_model
from tfcompat._src.lite.freeze import freeze_graph
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import loader
from tfcompat._src.saved_model.files import contains_saved_model, read_message
from tfcompat._src.train.saver import import_meta_graph

KERAS = (".h5", ".hdf5", ".keras")
_FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")


class ConversionError(Exception):
    """A model that cannot be converted; the text names the nodes and says why."""


class NotRunError(Exception):
    """What was written cannot be run here; the text says what to install."""


@dataclass
class Model:
    """A model in a session.

    Attributes:
      session: has its graph and the values of its variables. inputs, outputs: tensors by the name that users give them by.
      keras: the Keras model, where it came from such a file.
    """

    session: Session
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    keras: Any = None

    def frozen(self) -> Any:
        """The GraphDef that the outputs need, with variables as constants; errors.FailedPreconditionError where one has no value."""
        with self.session.graph.as_default():
            found = freeze_graph(self.session, list(self.inputs.values()), list(self.outputs.values()))
        found = graph_util.extract_sub_graph(found, [t.op.name for t in self.outputs.values()])
        found.versions.CopyFrom(self.session.graph.as_graph_def().versions)
        return found


@contextlib.contextmanager
def opened(path: str, inputs: Sequence[str], outputs: Sequence[str], signature: str, tags: Sequence[str]) -> Iterator[Model]:
    """A block with the model that a path leads to.

    Args:
      path: the folder of a SavedModel; a checkpoint's prefix, beside which `<path>.meta` is; a Keras model (.h5); or a GraphDef (.pb, .pbtxt).
      inputs, outputs: names of tensors. Without them a SavedModel and a Keras model say theirs; a graph's placeholders are its inputs, and
        the tensors that nothing takes its outputs.
      signature, tags: of the SavedModel.

    Raises:
      ConversionError: there is no such file, signature or tensor. OSError: the file cannot be parsed.
    """
    graph = Graph()
    with graph.as_default(), Session(graph=graph) as session:
        if contains_saved_model(path):
            meta_graph = loader.load(session, list(tags), path)
            model = _of_signature(session, meta_graph, signature, path)
        elif path.endswith(KERAS):
            model = _of_keras(session, path)
        elif os.path.exists(f"{path}.meta"):
            saver = import_meta_graph(f"{path}.meta")
            if saver is not None:
                saver.restore(session, path)
            model = _of_graph(session, inputs, outputs)
        elif os.path.isfile(path):
            import_graph_def(read_message(path, messages.GraphDef, not path.endswith(".pbtxt")), name="")
            model = _of_graph(session, inputs, outputs)
        else:
            raise ConversionError(f"{path} is no SavedModel and no file, and there is no {path}.meta of a checkpoint.")
        if inputs:
            model.inputs = _named(graph, inputs)
        if outputs:
            model.outputs = _named(graph, outputs)
        if not model.outputs:
            raise ConversionError(f"{path} has no outputs: name them with --outputs.")
        yield model


def _of_signature(session: Session, meta_graph: Any, name: str, path: str) -> Model:
    there = meta_graph.signature_def
    if name not in there:
        raise ConversionError(f"{path} has no signature {name!r}, but {', '.join(sorted(there)) or 'none'}: name one with --signature.")
    inputs, outputs = (
        {key: session.graph.as_graph_element(info.name) for key, info in sorted(infos.items())} for infos in (there[name].inputs, there[name].outputs)
    )
    return Model(session, inputs, outputs)


def _of_keras(session: Session, path: str) -> Model:
    if not os.path.exists(path):
        raise ConversionError(f"There is no file {path}.")
    set_learning_phase(0)
    try:
        keras = load_model(path, compile=False, safe=True)
    except ValueError as e:
        raise ConversionError(f"{path} cannot be read: {e}") from None
    return Model(session, dict(zip(keras.input_names, keras.inputs)), dict(zip(keras.output_names, keras.outputs)), keras)


def _of_graph(session: Session, inputs: Sequence[str], outputs: Sequence[str]) -> Model:
    """A graph that does not say what its inputs and outputs are: what it is fed, and what nothing takes."""
    ops = session.graph.get_operations()
    fed = {} if inputs else {op.name: op.outputs[0] for op in ops if op.type in _FED}
    last = {} if outputs else {op.name: op.outputs[0] for op in ops if op.outputs and not any(t.consumers() for t in op.outputs)}
    return Model(session, fed, {name: tensor for name, tensor in last.items() if tensor.op.type != "Const" and not _is_pivot(tensor)})


def _is_pivot(tensor: Tensor) -> bool:
    """Whether a tensor is one side of a Switch, which nodes wait for: it has no value where the other side runs."""
    return tensor.op.type == "Switch" or (tensor.op.type == "Identity" and tensor.op.inputs[0].op.type == "Switch")


def _named(graph: Graph, names: Sequence[str]) -> dict[str, Tensor]:
    found = {}
    for name in names:
        try:
            found[name.removesuffix(":0")] = graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
        except (KeyError, ValueError) as error:
            raise ConversionError(f"The graph has no tensor {name!r}: {error}") from None
    return found
