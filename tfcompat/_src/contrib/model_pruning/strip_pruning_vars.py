"""tf.contrib.model_pruning: graphs without the variables of the masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph import graph_util
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor_proto import make_tensor_proto
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train import graph_io
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saver import import_meta_graph

_MARK = "masked_weight"


def _node_name(tensor_name: str) -> str:
    """The node of a tensor."""
    return tensor_name.partition(":")[0]


def _masked_weights(graph_def: messages.GraphDef) -> dict[str, np.ndarray]:
    """The values of the masked weights in a frozen graph, by node."""
    found = {}
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="")
        with Session(graph=graph) as session:
            for node in graph_def.node:
                if _MARK in node.name:
                    value = found[node.name] = session.run(f"{node.name}:0")
                    zeros = 100 - 100 * np.count_nonzero(value) / value.size
                    logging.info("%s has %d values, %1.2f%% zeros \n", node.name, value.size, zeros)
    return found


@export("contrib.model_pruning.strip_pruning_vars_fn")
def strip_pruning_vars_fn(input_graph_def: Any, output_node_names: list[str]) -> Any:
    """A frozen graph in which masked weights are constants, without masks and weights.

    Args:
      input_graph_def: a GraphDef whose variables are constants.
      output_node_names: the nodes that are wanted.

    Returns:
      a GraphDef.
    """
    values = _masked_weights(input_graph_def)
    pruned = messages.GraphDef()
    for node in input_graph_def.node:
        if node.name not in values:
            pruned.node.add().CopyFrom(node)
            continue
        constant = pruned.node.add(name=node.name, op="Const")
        constant.attr["dtype"].CopyFrom(node.attr["T"])
        constant.attr["value"].tensor.CopyFrom(make_tensor_proto(values[node.name]))
    return graph_util.extract_sub_graph(pruned, output_node_names)


@export("contrib.model_pruning.graph_def_from_checkpoint")
def graph_def_from_checkpoint(checkpoint_dir: object, output_node_names: list[str]) -> Any:
    """The graph of the latest checkpoint of a folder, its variables made constants.

    Raises:
      ValueError: there is none.
    """
    path = latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    saver = import_meta_graph(f"{path}.meta", clear_devices=True)
    with Session() as session:
        saver.restore(session, path)
        return graph_util.convert_variables_to_constants(
            session, get_default_graph().as_graph_def(), output_node_names
        )


def strip_pruning_vars(checkpoint_dir: object, output_node_names: str, output_dir: object, filename: str) -> None:
    """Writes the graph of a folder's latest checkpoint without masks.

    Args:
      checkpoint_dir: the folder.
      output_node_names: the nodes that are wanted, separated by commas.
      output_dir, filename: the file to write, a binary GraphDef.

    Raises:
      ValueError: no node is named, or there is no checkpoint.
    """
    if not output_node_names:
        raise ValueError("Need to specify atleast 1 output node through output_node_names flag")
    names = output_node_names.replace(" ", "").split(",")
    final = strip_pruning_vars_fn(graph_def_from_checkpoint(checkpoint_dir, names), names)
    path = graph_io.write_graph(final, output_dir, filename, as_text=False)
    logging.info("\nFinal graph written to %s", path)
