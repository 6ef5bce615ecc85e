"""`tfcompat saved-model show|run|scan`: what a SavedModel holds, and its signatures run on values; 1.15's saved_model_cli."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph.graph import Graph
from tfcompat._src.nodes.meta_graph import ops_used_by_graph_def
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import command_inputs as saved_model_inputs
from tfcompat._src.saved_model import files, loader
from tfcompat._src.saved_model.command_inputs import (  # noqa: F401
    load_inputs_from_input_arg_string,
    preprocess_input_examples_arg_string,
    preprocess_input_exprs_arg_string,
    preprocess_inputs_arg_string,
)
from tfcompat._src.saved_model.nested_structure_coder import StructureCoder

ARGUMENTS = "show|run|scan --dir DIR [OPTIONS...]"
_OP_BLACKLIST = {"WriteFile", "ReadFile", "PrintV2"}


def main(arguments: list[str] | None = None) -> int:
    """Shows or runs what the command line names; the exit status.

    Args:
      arguments: the subcommand and its options; by default those of the process.
    """
    parser = create_parser()
    options = parser.parse_args(arguments)
    try:
        options.func(options)
    except (errors.OpError, OSError, RuntimeError, ValueError, AttributeError) as e:
        sys.stderr.write(f"tfcompat saved-model: {e}\n")
        return 1
    return 0


def create_parser() -> argparse.ArgumentParser:
    """The parser of the command line; its result names the function to call as `func`."""
    parser = argparse.ArgumentParser(prog="tfcompat saved-model")
    commands = parser.add_subparsers(title="commands", required=True)
    shown = _command(commands, "show", show, "print graphs, signatures, inputs and outputs")
    shown.add_argument("--all", action="store_true", help="print everything")
    shown.add_argument("--tag_set", help="tags of the graph, separated by commas")
    shown.add_argument("--signature_def", metavar="SIGNATURE_DEF_KEY", help="key of the signature")
    ran = _command(commands, "run", run, "run a signature and print its outputs")
    ran.add_argument("--tag_set", required=True, help="tags of the graph, separated by commas")
    ran.add_argument("--signature_def", required=True, metavar="SIGNATURE_DEF_KEY", help="key of the signature")
    ran.add_argument("--inputs", default="", help="KEY=FILE or KEY=FILE[NAME], separated by ';': .npy, .npz or pickle files")
    ran.add_argument("--input_exprs", default="", help="KEY=EXPRESSION, separated by ';': Python, with NumPy as np, evaluated as it is")
    ran.add_argument("--input_examples", default="", help="KEY=[{FEATURE: LIST, ...}, ...], separated by ';': tf.train.Examples")
    ran.add_argument("--outdir", help="folder to write the outputs to, as .npy files")
    ran.add_argument("--overwrite", action="store_true", help="replace files that exist")
    scanned = _command(commands, "scan", scan, "report nodes that read or write files or print")
    scanned.add_argument("--tag_set", help="tags of the graph, separated by commas; by default all graphs")
    return parser


def _command(commands: Any, name: str, function: object, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text)
    command.add_argument("--dir", required=True, help="folder of the SavedModel")
    command.set_defaults(func=function)
    return command


# ---- show ----


def show(args: Any) -> None:
    """Prints what the options of `show` ask for."""
    if args.all:
        _show_all(args.dir)
    elif args.tag_set is None:
        print("The given SavedModel contains the following tag-sets:")
        for tags in sorted(files.get_saved_model_tag_sets(args.dir)):
            print(", ".join(sorted(tags)))
    elif args.signature_def is None:
        print("The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:")
        for key in sorted(files.get_meta_graph_def(args.dir, args.tag_set).signature_def):
            print(f'SignatureDef key: "{key}"')
    else:
        _show_signature(_signature(files.get_meta_graph_def(args.dir, args.tag_set), args.signature_def))


def _signature(meta_graph_def: messages.MetaGraphDef, key: str) -> Any:
    if key not in meta_graph_def.signature_def:
        raise ValueError(f"there is no signature {key!r}, but {', '.join(map(repr, sorted(meta_graph_def.signature_def)))}")
    return meta_graph_def.signature_def[key]


def _show_all(folder: str) -> None:
    graphs = files.read_saved_model(folder).meta_graphs
    for graph in sorted(graphs, key=lambda g: list(g.meta_info_def.tags)):
        print(f"\nMetaGraphDef with tag-set: '{', '.join(graph.meta_info_def.tags)}' contains the following SignatureDefs:")
        for key in sorted(graph.signature_def):
            print(f"\nsignature_def['{key}']:")
            _show_signature(graph.signature_def[key], indent=1)
    for graph in graphs:
        if graph.HasField("object_graph_def"):
            _show_functions(graph.object_graph_def)


def _show_signature(signature: Any, indent: int = 0) -> None:
    margin = "  " * indent
    for word, kind, infos in (("input", "inputs", signature.inputs), ("output", "outputs", signature.outputs)):
        print(f"{margin}The given SavedModel SignatureDef contains the following {word}(s):")
        for key, info in sorted(infos.items()):
            print(f"{margin}  {kind}['{key}'] tensor_info:")
            _print_tensor_info(info, indent + 1)
    print(f"{margin}Method name is: {signature.method_name}")


def _print_tensor_info(tensor_info: Any, indent: int = 0) -> None:
    margin = "  " * indent + "    "
    shape = tensor_info.tensor_shape
    sizes = "unknown_rank" if shape.unknown_rank else f"({', '.join(str(dim.size) for dim in shape.dim)})"
    print(f"{margin}dtype: {messages.DataType.Name(tensor_info.dtype)}")
    print(f"{margin}shape: {sizes}")
    print(f"{margin}name: {tensor_info.name}")


def _show_functions(objects: Any) -> None:
    """Prints the functions that hang on the root of a graph of objects, and the arguments of their traces."""
    print("\nDefined Functions:", end="")
    for name, node in sorted(_functions(objects)):
        print(f"\n  Function Name: '{name}'")
        for number, concrete in enumerate(sorted(node.concrete_functions), 1):
            args, kwargs = StructureCoder().decode_proto(objects.concrete_functions[concrete].canonicalized_input_signature)
            print(f"    Option #{number}\n      Callable with:")
            for kind, values in (("Argument", args), ("Named Argument", (kwargs,) if kwargs else ())):
                for position, value in enumerate(values, 1):
                    print(f"        {kind} #{position}")
                    _print_argument(value)


def _functions(objects: Any) -> Iterator[tuple[str, Any]]:
    for child in objects.nodes[0].children:
        node = objects.nodes[child.node_id]
        if node.WhichOneof("kind") == "function" and node.function.concrete_functions:
            yield child.local_name, node.function


def _print_argument(value: object) -> None:
    margin = "          "
    if isinstance(value, TensorSpec):
        print(f"{margin}{value.name}: {value!r}")
        return
    print(f"{margin}DType: {type(value).__name__}\n{margin}Value: {value}")


# ---- run ----


def run(args: Any) -> None:
    """Runs what the options of `run` name; AttributeError where they give no input."""
    if not args.inputs and not args.input_exprs and not args.input_examples:
        raise AttributeError("At least one of --inputs, --input_exprs or --input_examples must be required")
    values = saved_model_inputs.load_inputs_from_input_arg_string(args.inputs, args.input_exprs, args.input_examples)
    run_saved_model_with_feed_dict(args.dir, args.tag_set, args.signature_def, values, args.outdir, args.overwrite)


def run_saved_model_with_feed_dict(
    saved_model_dir: str, tag_set: str, signature_def_key: str, input_tensor_key_feed_dict: dict[str, Any], outdir: str | None,
    overwrite_flag: bool,
) -> None:  # fmt: skip
    """Prints the outputs of a signature, and writes them to files.

    Args:
      saved_model_dir: the folder of the SavedModel. tag_set: tags of the graph, separated by commas.
      signature_def_key: the signature. input_tensor_key_feed_dict: values of its inputs by key.
      outdir: a folder for the outputs, or None. overwrite_flag: replace files that exist.

    Raises:
      ValueError: there is no such signature or input. RuntimeError: a file exists.
    """
    signature = _signature(files.get_meta_graph_def(saved_model_dir, tag_set), signature_def_key)
    for key in input_tensor_key_feed_dict:
        if key not in signature.inputs:
            known = '", "'.join(sorted(signature.inputs))
            raise ValueError(f'"{key}" is not a valid input key. Please choose from "{known}", or use --show option.')
    feeds = {signature.inputs[key].name: value for key, value in input_tensor_key_feed_dict.items()}
    with Session(graph=Graph()) as sess:
        loader.load(sess, tag_set.split(","), saved_model_dir)
        outputs = sess.run({key: info.name for key, info in sorted(signature.outputs.items())}, feed_dict=feeds)
    for key, value in outputs.items():
        print(f"Result for output key {key}:\n{value}")
        if outdir:
            _write(value, os.path.join(outdir, key + ".npy"), key, overwrite_flag)


def _write(value: Any, path: str, key: str, overwrite: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and not overwrite:
        raise RuntimeError(f'Output file {path} already exists. Add "--overwrite" to overwrite the existing output files.')
    np.save(path, value)
    print(f"Output {key} is saved to {path}")


# ---- scan ----


def scan(args: Any) -> None:
    """Prints which graphs hold nodes that read or write files or print."""
    chosen = [files.get_meta_graph_def(args.dir, args.tag_set)] if args.tag_set else files.read_saved_model(args.dir).meta_graphs
    for graph in chosen:
        scan_meta_graph_def(graph)


def scan_meta_graph_def(meta_graph_def: messages.MetaGraphDef) -> None:
    """Prints which nodes of a MetaGraphDef read or write files or print."""
    found = _OP_BLACKLIST & set(ops_used_by_graph_def(meta_graph_def.graph_def))
    tags = meta_graph_def.meta_info_def.tags
    if found:
        print(f"MetaGraph with tag set {tags} contains the following blacklisted ops: {found}")
    else:
        print(f"MetaGraph with tag set {tags} does not contain blacklisted ops.")


if __name__ == "__main__":
    sys.exit(main())
