"""What `tensorflow.python.tools.freeze_graph` holds: a graph file and a checkpoint made one graph of constants.

`tfcompat run -m tensorflow.python.tools.freeze_graph --help` says the options of the program.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.graph import graph_util
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import files, loader, tag_constants
from tfcompat._src.train.checkpoint_management import checkpoint_exists
from tfcompat._src.train.saver import Saver, import_meta_graph
from tfcompat._src.train.saver_builder import V2

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph
    from tfcompat._src.graph.tensor import Tensor

_VARIABLE_TYPES = re.compile(r"^Variable|VariableOp$")


def freeze_graph_with_def_protos(
    input_graph_def: Any, input_saver_def: object, input_checkpoint: str, output_node_names: str, restore_op_name: object,
    filename_tensor_name: object, output_graph: str, clear_devices: bool, initializer_nodes: str,
    variable_names_whitelist: str = "", variable_names_blacklist: str = "", input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None, saved_model_tags: list[str] | None = None, checkpoint_version: int = V2,
) -> Any:  # fmt: skip
    """A GraphDef with constants in place of variables; the graph is added to the default graph.

    Args:
      input_graph_def: the GraphDef. input_saver_def: a SaverDef of nodes in it.
      input_checkpoint: the prefix of the checkpoint.
      output_node_names: names, separated by commas, like those below.
      restore_op_name, filename_tensor_name: unused in 1.15 too.
      output_graph: a file to write the result to, or "".
      clear_devices: leave devices out.
      initializer_nodes: nodes to run after restoring.
      variable_names_whitelist: the variables to replace; by default all. variable_names_blacklist: variables to keep.
      input_meta_graph_def: a MetaGraphDef in place of the GraphDef.
      input_saved_model_dir: a SavedModel in place of graph and checkpoint. saved_model_tags: which of its graphs.
      checkpoint_version: SaverDef.V1 or SaverDef.V2.

    Raises:
      ValueError: there is no checkpoint, no output, no variable, or a partitioned variable without a SaverDef.
    """
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    graph_def = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if clear_devices and graph_def:
        for node in graph_def.node:
            node.device = ""
    if input_graph_def and not input_saved_model_dir:
        import_graph_def(input_graph_def, name="")
    with Session() as sess:
        initializers = _names(initializer_nodes)
        if input_saver_def:
            Saver(saver_def=input_saver_def, write_version=checkpoint_version).restore(sess, input_checkpoint)
            initializers = None
        elif input_meta_graph_def:
            import_meta_graph(input_meta_graph_def, clear_devices=True).restore(sess, input_checkpoint)
        elif input_saved_model_dir:
            loader.load(sess, saved_model_tags or [], input_saved_model_dir)
            initializers = None
        else:
            _saver_by_name(sess.graph, input_checkpoint, checkpoint_version).restore(sess, input_checkpoint)
        if initializers:
            sess.run(initializers)
        frozen = graph_util.convert_variables_to_constants(
            sess, graph_def, _names(output_node_names), _names(variable_names_whitelist), _names(variable_names_blacklist)
        )
    if output_graph:
        file_io.atomic_write_string_to_file(output_graph, frozen.SerializeToString())
    return frozen


def _names(text: str) -> list[str] | None:
    return text.replace(" ", "").split(",") if text else None


def _saver_by_name(graph: Graph, checkpoint: str, version: int) -> Saver:
    """A Saver for the tensors of a graph that a checkpoint has by name."""
    names = {t.op.name for op in graph.get_operations() for t in op.outputs}
    saved = [name for name in NewCheckpointReader(checkpoint).get_variable_to_shape_map() if name in names]
    try:
        return Saver(var_list={name: _value(graph, name) for name in saved}, write_version=version)
    except TypeError:
        parts = [name for name in names if re.search(r"/part_\d+/", name + ":0")]
        if any(name in part for name in saved for part in parts):
            raise ValueError(
                "Models containing partition variables cannot be converted from checkpoint files. Please pass in a SavedModel "
                "using the flag --input_saved_model_dir."
            ) from None
        if not any(_VARIABLE_TYPES.search(op.type) for op in graph.get_operations()):
            raise ValueError(
                "No variables were found in this model. It is likely the model was frozen previously. You cannot freeze a graph "
                "twice."
            ) from None
        raise


def _value(graph: Graph, name: str) -> Tensor:
    """A variable as a tensor: for a resource, what its first read gives."""
    tensor = graph.get_tensor_by_name(name + ":0")
    reads = (op for op in tensor.consumers() if op.type == "ReadVariableOp")
    return next((op.outputs[0] for op in reads), tensor) if tensor.dtype == dtypes.resource else tensor


def _read(what: str, path: str, kind: object, is_binary: bool) -> Any:
    if not path:
        return None
    if not file_io.exists(path):
        raise OSError(f"Input {what} file '{path}' does not exist!")
    return files.read_message(path, kind, is_binary)


def freeze_graph(
    input_graph: str, input_saver: str, input_binary: bool, input_checkpoint: str, output_node_names: str, restore_op_name: object,
    filename_tensor_name: object, output_graph: str, clear_devices: bool, initializer_nodes: str,
    variable_names_whitelist: str = "", variable_names_blacklist: str = "", input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None, saved_model_tags: str = tag_constants.SERVING, checkpoint_version: int = V2,
) -> Any:  # fmt: skip
    """`freeze_graph_with_def_protos` of files.

    Args:
      input_graph: the file of the GraphDef. input_saver: of the SaverDef. input_meta_graph: of the MetaGraphDef; "" for none.
      input_binary: whether these are binary.
      saved_model_tags: separated by commas. The other arguments are those of `freeze_graph_with_def_protos`.

    Raises:
      OSError: a file does not exist or cannot be parsed.
    """
    if input_saved_model_dir:
        graph_def = files.get_meta_graph_def(input_saved_model_dir, saved_model_tags).graph_def
    else:
        graph_def = _read("graph", input_graph, messages.GraphDef, input_binary)
    return freeze_graph_with_def_protos(
        graph_def, _read("saver", input_saver, messages.SaverDef, input_binary), input_checkpoint, output_node_names,
        restore_op_name, filename_tensor_name, output_graph, clear_devices, initializer_nodes, variable_names_whitelist,
        variable_names_blacklist, _read("meta graph", input_meta_graph or "", messages.MetaGraphDef, input_binary),
        input_saved_model_dir, saved_model_tags.replace(" ", "").split(","), checkpoint_version,
    )  # fmt: skip


def flag(parser: argparse.ArgumentParser, name: str, default: bool, text: str) -> None:
    """Adds an option that is given alone or with a value, of which only "true" means yes."""
    parser.add_argument(name, nargs="?", const=True, default=default, type=lambda value: value.lower() == "true", help=text)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="freeze_graph")
    parser.add_argument("--input_graph", default="", help="file of a GraphDef")
    parser.add_argument("--input_saver", default="", help="file of a SaverDef")
    parser.add_argument("--input_checkpoint", default="", help="prefix of the checkpoint")
    parser.add_argument("--checkpoint_version", type=int, choices=(1, 2), default=2, help="format of the checkpoint")
    parser.add_argument("--output_graph", default="", help="file to write")
    flag(parser, "--input_binary", False, "the input files are binary")
    parser.add_argument("--output_node_names", default="", help="names of the outputs, separated by commas")
    parser.add_argument("--restore_op_name", default="save/restore_all", help="unused")
    parser.add_argument("--filename_tensor_name", default="save/Const:0", help="unused")
    flag(parser, "--clear_devices", True, "leave devices out")
    parser.add_argument("--initializer_nodes", default="", help="nodes to run before freezing, separated by commas")
    parser.add_argument("--variable_names_whitelist", default="", help="variables to replace; by default all")
    parser.add_argument("--variable_names_blacklist", default="", help="variables to keep")
    parser.add_argument("--input_meta_graph", default="", help="file of a MetaGraphDef")
    parser.add_argument("--input_saved_model_dir", default="", help="folder of a SavedModel")
    parser.add_argument("--saved_model_tags", default="serve", help="tags of its graph, separated by commas")
    return parser


def run_main() -> None:
    """Freezes what the command line names."""
    options = vars(_options().parse_known_args()[0])
    freeze_graph(**options)


if __name__ == "__main__":
    sys.exit(run_main())
