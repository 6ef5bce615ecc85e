"""Drawings of models, through pydot and Graphviz."""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.layers.wrappers import Wrapper
from tfcompat._src.keras.utils.io_utils import optional_module

if TYPE_CHECKING:
    from types import ModuleType


def _pydot() -> ModuleType:
    """The package pydot; ImportError where it or Graphviz is not installed."""
    pydot = optional_module("pydot", "Drawing models")
    try:
        pydot.Dot.create(pydot.Dot())
    except OSError as e:
        raise ImportError("Drawing models needs the program Graphviz.") from e
    return pydot


def check_pydot() -> bool:
    """Whether pydot and Graphviz are installed."""
    try:
        _pydot()
    except ImportError:
        return False
    return True


@export("keras.utils.model_to_dot")
def model_to_dot(
    model: Any, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB",
    expand_nested: bool = False, dpi: int = 96, subgraph: bool = False,
) -> Any:  # fmt: skip
    """A model as a graph of Graphviz: a node for each layer, an edge for each connection.

    Args:
      model: the model.
      show_shapes, show_layer_names: what the nodes say besides the class of the layer.
      rankdir: "TB" draws from top to bottom, "LR" from left to right.
      expand_nested: whether models inside are drawn with their layers, as clusters.
      dpi: dots per inch.
      subgraph: whether the result is a cluster.

    Returns:
      a pydot.Dot or pydot.Cluster.

    Raises:
      ImportError: pydot or Graphviz is not installed.
    """
    pydot = _pydot()
    if subgraph:
        dot = pydot.Cluster(style="dashed", graph_name=model.name)
        dot.set("label", model.name)
        dot.set("labeljust", "l")
    else:
        dot = pydot.Dot()
        dot.set("rankdir", rankdir)
        dot.set("concentrate", True)
        dot.set("dpi", dpi)
        dot.set_node_defaults(shape="record")
    if not model._is_graph_network:
        dot.add_node(pydot.Node(str(id(model)), label=model.name))
        return dot
    return _Drawing(pydot, dot, show_shapes, show_layer_names, rankdir, expand_nested).add(model)


class _Drawing:
    """A graph that is being drawn; `ends` has the names of the first and last node of each layer."""

    def __init__(self, pydot: Any, dot: Any, shapes: bool, names: bool, rankdir: str, expand: bool) -> None:
        self.pydot, self.dot, self.shapes, self.names = pydot, dot, shapes, names
        self.rankdir, self.expand = rankdir, expand
        self.ends: dict[int, tuple[str, str]] = {}

    def add(self, model: Any) -> Any:
        for layer in model._layers:
            self._add_node(layer)
        for layer in model._layers:
            for i, node in enumerate(layer._inbound_nodes):
                if f"{layer.name}_ib-{i}" in model._network_nodes:
                    for source in nest.flatten(node.inbound_layers):
                        self._add_edge(self.ends[id(source)][1], self.ends[id(layer)][0])
        return self.dot

    def _add_node(self, layer: Any) -> None:
        if self.expand and isinstance(layer, Network):
            self.ends[id(layer)] = self._add_cluster(layer)
            return
        own = str(id(layer))
        self.dot.add_node(self.pydot.Node(own, label=self._label(layer)))
        self.ends[id(layer)] = (own, own)
        if self.expand and isinstance(layer, Wrapper) and isinstance(layer.layer, Network):
            first, last = self._add_cluster(layer.layer)
            self._add_edge(own, first)
            self.ends[id(layer)] = (own, last)

    def _add_cluster(self, model: Any) -> tuple[str, str]:
        cluster = model_to_dot(model, self.shapes, self.names, self.rankdir, self.expand, subgraph=True)
        self.dot.add_subgraph(cluster)
        nodes = cluster.get_nodes()
        return nodes[0].get_name(), nodes[-1].get_name()

    def _add_edge(self, source: str, target: str) -> None:
        if not self.dot.get_edge(source, target):
            self.dot.add_edge(self.pydot.Edge(source, target))

    def _label(self, layer: Any) -> str:
        name, kind = layer.name, type(layer).__name__
        if isinstance(layer, Wrapper) and not (self.expand and isinstance(layer.layer, Network)):
            name, kind = f"{name}({layer.layer.name})", f"{kind}({type(layer.layer).__name__})"
        label = f"{name}: {kind}" if self.names else kind
        if not self.shapes:
            return label
        inputs, outputs = (_shape(layer, attribute) for attribute in ("input_shape", "output_shape"))
        return f"{label}\n|{{input:|output:}}|{{{{{inputs}}}|{{{outputs}}}}}"


def _shape(layer: object, attribute: str) -> str:
    return str(getattr(layer, attribute, "?")).replace("None", "?")


@export("keras.utils.plot_model")
def plot_model(
    model: object, to_file: str = "model.png", show_shapes: bool = False, show_layer_names: bool = True,
    rankdir: str = "TB", expand_nested: bool = False, dpi: int = 96,
) -> Any:  # fmt: skip
    """Draws a model to a file, whose name says the format; see `model_to_dot`.

    Returns:
      an IPython image where IPython is installed, else None.
    """
    dot = model_to_dot(
        model, show_shapes=show_shapes, show_layer_names=show_layer_names, rankdir=rankdir, expand_nested=expand_nested,
        dpi=dpi,
    )  # fmt: skip
    dot.write(to_file, format=os.path.splitext(to_file)[1][1:] or "png")
    if importlib.util.find_spec("IPython") is None:
        return None
    return importlib.import_module("IPython.display").Image(filename=to_file)
