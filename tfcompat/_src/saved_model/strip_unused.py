"""What `tensorflow.python.tools.strip_unused` and `strip_unused_lib` hold: the part of a graph between inputs and outputs.

`tfcompat run -m tensorflow.python.tools.strip_unused --help` says the options of the program.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph import graph_util
from tfcompat._src.nodes.meta_graph import write_message
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import files
from tfcompat._src.saved_model.freeze_graph import flag


def strip_unused(
    input_graph_def: Any, input_node_names: list[str], output_node_names: list[str], placeholder_type_enum: int | list[int]
) -> Any:
    """The part of a GraphDef that some nodes need, with placeholders in place of others.

    Args:
      input_graph_def: the GraphDef.
      input_node_names: names of the nodes to replace. output_node_names: names of the nodes that are needed.
      placeholder_type_enum: DataType number of the placeholders, or one for each.

    Raises:
      ValueError: an input is a tensor's name. KeyError: there is no such node.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    missing = set(input_node_names) - {node.name for node in input_graph_def.node}
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}")
    types = placeholder_type_enum
    if not isinstance(types, list):
        types = [types] * len(input_node_names)
    kinds = dict(zip(input_node_names, types))
    replaced = messages.GraphDef()
    for node in input_graph_def.node:
        replaced.node.append(_placeholder(node, kinds[node.name]) if node.name in kinds else node)
    return graph_util.extract_sub_graph(replaced, output_node_names)


def _placeholder(node: Any, kind: int) -> Any:
    found = messages.NodeDef(name=node.name, op="Placeholder", attr={"dtype": messages.AttrValue(type=kind)})
    for key in ("_output_shapes", "shape"):
        if key in node.attr:
            found.attr[key].CopyFrom(node.attr[key])
    return found


def strip_unused_from_files(
    input_graph: str, input_binary: bool, output_graph: str, output_binary: bool, input_node_names: str, output_node_names: str,
    placeholder_type_enum: int | list[int],
) -> int | None:  # fmt: skip
    """`strip_unused` of a file into another; -1 where the file or the outputs are lacking.

    Args:
      input_graph: the file of a GraphDef. output_graph: the file to write.
      input_binary, output_binary: whether these are binary.
      input_node_names, output_node_names: names, separated by commas.
      placeholder_type_enum: see `strip_unused`.
    """
    if not file_io.exists(input_graph):
        print(f"Input graph file '{input_graph}' does not exist!")
        return -1
    if not output_node_names:
        print("You need to supply the name of a node to --output_node_names.")
        return -1
    graph_def = files.read_message(input_graph, messages.GraphDef, input_binary)
    found = strip_unused(graph_def, input_node_names.split(","), output_node_names.split(","), placeholder_type_enum)
    write_message(found, output_graph, as_text=not output_binary)
    print(f"{len(found.node)} ops in the final graph.")
    return None


def main() -> int | None:
    """Strips the graph that the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="strip_unused")
    parser.add_argument("--input_graph", default="", help="file of a GraphDef")
    flag(parser, "--input_binary", False, "it is binary")
    parser.add_argument("--output_graph", default="", help="file to write")
    flag(parser, "--output_binary", True, "write it binary")
    parser.add_argument("--input_node_names", default="", help="names of the inputs, separated by commas")
    parser.add_argument("--output_node_names", default="", help="names of the outputs, separated by commas")
    parser.add_argument("--placeholder_type_enum", type=int, default=dtypes.float32.as_datatype_enum, help="a DataType number")
    return strip_unused_from_files(**vars(parser.parse_known_args()[0]))


if __name__ == "__main__":
    sys.exit(main())
