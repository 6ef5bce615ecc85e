"""`tensorflow.python.kernel_tests.signal.test_util`: optimized graphs for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.graph.graph import Graph
from tfcompat._src.proto import messages
from tfcompat._src.shim.internal.tf_optimizer import OptimizeGraph
from tfcompat._src.train.saver import export_meta_graph


def grappler_optimize(graph: Graph, fetches: Iterable[Any] | None = None, config_proto: messages.ConfigProto | None = None) -> messages.GraphDef:
    """Returns the GraphDef of a graph after `OptimizeGraph`.

    Args:
      graph: the graph. fetches: tensors that must stay; they are added to the graph's collection "train_op".
      config_proto: a ConfigProto; by default one that allows to optimize small graphs too.
    """
    if config_proto is None:
        config_proto = messages.ConfigProto()
        config_proto.graph_options.rewrite_options.min_graph_nodes = -1
    for fetch in fetches or ():
        graph.add_to_collection("train_op", fetch)
    with graph.as_default():
        return OptimizeGraph(config_proto, export_meta_graph(graph_def=graph.as_graph_def()))
