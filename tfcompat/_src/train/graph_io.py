"""tf.train.write_graph: a graph in a file."""

from __future__ import annotations

import os

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.nodes.meta_graph import write_message
from tfcompat._src.platform import compat


@export("train.write_graph", "io.write_graph")
def write_graph(graph_or_graph_def: object, logdir: object, name: str, as_text: bool = True) -> str:
    """Writes a graph to the file `name` of a folder, which is made if needed.

    Args:
      graph_or_graph_def: a Graph or a GraphDef.
      logdir: the folder.
      name: the file's name.
      as_text: write the text form of the message.

    Returns:
      the path of the file.
    """
    is_graph = isinstance(graph_or_graph_def, Graph)
    path = os.path.join(compat.as_text(compat.path_to_str(logdir)), name)
    write_message(graph_or_graph_def.as_graph_def() if is_graph else graph_or_graph_def, path, as_text)
    return path
