"""`tfcompat summary PATH`: what a checkpoint, a SavedModel, a graph, a meta graph or an event file holds, in tables."""

from __future__ import annotations

import argparse
import collections
import datetime
import math
import os
import sys
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.cli.tables import print_table, size
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import files
from tfcompat._src.train.checkpoint_utils import load_checkpoint

ARGUMENTS = "PATH"
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def main(arguments: list[str]) -> int:
    """Prints tables about a file or folder; the exit status, 1 where it cannot be read.

    Args:
      arguments: the path. A folder is a SavedModel, or has a checkpoint or event files; a file is one of events, a graph (.pb, .pbtxt)
        or a meta graph (.meta); else the path is the prefix of a checkpoint.
    """
    parser = argparse.ArgumentParser(prog="tfcompat summary", description="what a file of TensorFlow holds, in tables")
    parser.add_argument("path", help="checkpoint (prefix or folder), SavedModel, .pb, .pbtxt, .meta, event file or their folder")
    path = parser.parse_args(arguments).path
    try:
        _print(path)
    except (errors.OpError, OSError, ValueError) as e:
        sys.stderr.write(f"tfcompat summary: {e}\n")
        return 1
    return 0


def _print(path: str) -> None:
    folder, name = os.path.split(path)
    if name in ("saved_model.pb", "saved_model.pbtxt"):
        print_saved_model(folder or ".")
    elif files.contains_saved_model(path):
        print_saved_model(path)
    elif ".tfevents." in name:
        print_events([path])
    elif name.endswith((".pb", ".pbtxt")):
        print_graph(files.read_message(path, messages.GraphDef, name.endswith(".pb")))
    elif name.endswith(".meta"):
        _print_meta_graph(path)
    else:
        events = sorted(n for n in os.listdir(path) if ".tfevents." in n) if os.path.isdir(path) else []
        if not events:
            print_checkpoint(path)
            return
        print_events([os.path.join(path, n) for n in events])
        if os.path.exists(os.path.join(path, "checkpoint")):
            print()
            print_checkpoint(path)


def print_checkpoint(path: str) -> None:
    """Prints the variables of a checkpoint, given its prefix or a folder whose latest one is meant, and what they add up to."""
    reader = load_checkpoint(path)
    types, rows, total = reader.get_variable_to_dtype_map(), [], 0
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        elements, kind = math.prod(shape), types[name]
        of_numbers = 0 if kind == dtypes.string else elements * kind.size
        total += of_numbers
        rows.append((name, kind.name, _sizes(shape), elements, "" if kind == dtypes.string else size(of_numbers)))
    print_table(("variable", "dtype", "shape", "elements", "size"), rows)
    print(f"{len(rows)} variables, {sum(row[3] for row in rows):,} elements, {size(total)} without strings")


def print_saved_model(folder: str) -> None:
    """Prints the graphs of a SavedModel: tags, operations, and the inputs and outputs of signatures."""
    for position, graph in enumerate(files.read_saved_model(folder).meta_graphs):
        if position:
            print()
        print(f"graph with tags {', '.join(graph.meta_info_def.tags) or '(none)'}: {_extent(graph.graph_def)}")
        _print_signatures(graph)
    if os.path.exists(files.get_variables_path(folder) + ".index"):
        print()
        print_checkpoint(files.get_variables_path(folder))


def _print_meta_graph(path: str) -> None:
    try:
        graph = files.read_message(path, messages.MetaGraphDef, is_binary=True)
    except OSError:  # export_meta_graph(as_text=True) gives it the same name
        graph = files.read_message(path, messages.MetaGraphDef, is_binary=False)
    collections_there = ((name, _length(found)) for name, found in sorted(graph.collection_def.items()))
    print_table(("collection", "entries"), collections_there)
    print()
    _print_signatures(graph)
    print_graph(graph.graph_def)


def _length(collection: Any) -> int:
    kind = collection.WhichOneof("kind")
    return len(getattr(collection, kind).value) if kind else 0


def _print_signatures(graph: Any) -> None:
    rows = []
    for key, signature in sorted(graph.signature_def.items()):
        for word, infos in (("input", signature.inputs), ("output", signature.outputs)):
            rows += [(key, word, name, _type(info.dtype), _shape(info.tensor_shape), info.name) for name, info in sorted(infos.items())]
    if rows:
        print_table(("signature", "", "key", "dtype", "shape", "tensor"), rows)


def print_graph(graph_def: messages.GraphDef) -> None:
    """Prints the placeholders of a graph, its operations by type, and the elements of its constants and variables."""
    fed = [node for node in graph_def.node if node.op.startswith("Placeholder")]
    if fed:
        print_table(("input", "dtype", "shape"), [(n.name, _type(n.attr["dtype"].type), _shape(n.attr["shape"].shape)) for n in fed])
        print()
    print_table(("type", "operations"), collections.Counter(node.op for node in graph_def.node).most_common())
    constants = _elements(node.attr["value"].tensor.tensor_shape for node in graph_def.node if node.op == "Const")
    variables = _elements(node.attr["shape"].shape for node in graph_def.node if node.op in _VARIABLES)
    print(f"{_extent(graph_def)}, {constants:,} elements in constants, {variables:,} in variables of a known shape")


def _extent(graph_def: messages.GraphDef) -> str:
    functions = len(graph_def.library.function)
    return f"{len(graph_def.node):,} operations" + (f", {functions:,} functions" if functions else "")


def _elements(shapes: Iterable[Any]) -> int:
    return sum(math.prod(dim.size for dim in shape.dim) for shape in shapes if all(dim.size >= 0 for dim in shape.dim) and not shape.unknown_rank)


def print_events(paths: list[str]) -> None:
    """Prints the tags of event files of one folder: how many values of which kind, their steps, and the last number."""
    kinds, last = {}, {}
    steps: dict[str, list[int]] = collections.defaultdict(list)
    times = []
    for event in (event for path in paths for event in summary_iterator(path)):
        times.append(event.wall_time)
        for value in event.summary.value:
            kind = kinds[value.tag] = value.WhichOneof("value") or ""
            steps[value.tag].append(event.step)
            last[value.tag] = f"{value.simple_value:.6g}" if kind == "simple_value" else ""
    rows = [(tag, kinds[tag], len(there), f"{min(there)}–{max(there)}", last[tag]) for tag, there in sorted(steps.items())]
    print_table(("tag", "kind", "values", "steps", "last"), rows)
    begin, end = (datetime.datetime.fromtimestamp(f(times)).isoformat(" ", "seconds") for f in (min, max)) if times else ("", "")
    print(f"{len(times):,} events in {len(paths)} file{'s' * (len(paths) > 1)}" + (f", {begin} to {end}" if times else ""))


def _type(number: int) -> str:
    return dtypes.as_dtype(number).name if number else "any"


def _shape(shape: Any) -> str:
    return "unknown" if shape.unknown_rank else _sizes([dim.size for dim in shape.dim])


def _sizes(sizes: list[int]) -> str:
    return f"[{', '.join('?' if n < 0 else str(n) for n in sizes)}]"
