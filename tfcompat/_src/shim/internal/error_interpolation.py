"""`tensorflow.python.framework.error_interpolation`: adds to error messages the program's lines that made the nodes in `{{node x}}` tags."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tfcompat._src.base.tf_stack import TB_FILENAME, TB_LINENO
from tfcompat._src.base.traceable_stack import TraceableObject
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import pool

# A tag is "{{type name}}".
_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.\-/]*?"
_TAG = re.compile(rf"\{{\{{({_NAME}) ({_NAME})\}}\}}")
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Frames of these files belong to the library, not to the program.
_BAD_FILE_SUBSTRINGS = [os.path.join("tensorflow", "python"), os.path.join("tensorflow", "contrib"), _OWN]
_FRAMES_AROUND = 2
_FRAMES_KEPT = 10


class _ParseTag(NamedTuple):
    """A tag of a message: "node", "colocation_node" or "function_node", and the node's name."""

    type: str
    name: str


def parse_message(message: str) -> tuple[list[str], list[_ParseTag]]:
    """Splits a message at its tags; returns the texts around these, one more than tags, and the tags."""
    # `re.split` with two groups: text, type, name, text, type, name, ..., text.
    pieces = _TAG.split(message)
    return pieces[::3], [_ParseTag(*tag) for tag in zip(pieces[1::3], pieces[2::3])]


def _summary(none: str, title: str, name: str, lines: Iterable[str], prefix: str) -> str:
    """Returns a title with one line for each block, or a sentence that there were none."""
    lines = list(lines)
    if not lines:
        return f"{prefix}No {none} were active during op '{name}' creation."
    return "\n".join([f"{prefix}{title} active during op '{name}' creation:", *(f"{prefix}  with {line}" for line in lines)])


def _compute_device_summary_from_list(name: str, device_assignment_list: Iterable[TraceableObject], prefix: str = "") -> str:
    """Describes the `tf.device` blocks around the creation of a node."""
    lines = (f"tf.device({each.obj}): <{each.filename}:{each.lineno}>" for each in device_assignment_list)
    return _summary("device assignments", "Device assignments", name, lines, prefix)


def _compute_colocation_summary_from_dict(name: str, colocation_dict: Mapping[str, TraceableObject], prefix: str = "") -> str:
    """Describes the `colocate_with` blocks around the creation of a node."""
    lines = (f"tf.colocate_with({to}): <{at.filename}:{at.lineno}>" for to, at in colocation_dict.items())
    return _summary("node-device colocations", "Node-device colocations", name, lines, prefix)


def _find_index_of_defining_frame_for_op(op: Operation) -> int:
    """Returns the position in `op.traceback` of the innermost frame of the program; 0 if it has none."""
    # Tracebacks begin with the outermost frame.
    files = [frame.filename for frame in op._traceback]
    own = (i for i, f in enumerate(files) if not any(part in f for part in _BAD_FILE_SUBSTRINGS))
    return max(own, default=0)


def create_graph_debug_info_def(operations: Iterable[tuple[str, Operation]]) -> Any:
    """Makes a GraphDebugInfo message with the innermost frames of nodes.

    Args:
      operations: pairs of a function name ("" outside of functions) and a node.
    """
    # Up to ten frames, which end two behind the one of the program. A file name is stored once, and referred to by number.
    debug_info = pool.message("tensorflow.GraphDebugInfo")()
    numbers: dict[str, int] = {}
    for function, op in operations:
        frames = op.traceback
        end = min(_find_index_of_defining_frame_for_op(op) + _FRAMES_AROUND + 1, len(frames))
        trace = debug_info.traces[function + op.name]
        for frame in reversed(frames[max(end - _FRAMES_KEPT, 0) : end]):
            number = numbers.setdefault(frame[TB_FILENAME], len(numbers))
            trace.file_line_cols.add(file_index=number, line=frame[TB_LINENO])
    debug_info.files.extend(numbers)
    return debug_info


def compute_field_dict(op: Operation, strip_file_prefix: str = "") -> dict[str, Any]:
    """Returns texts about the creation of a node: its file and line, and the device and colocation blocks around it.

    Args:
      strip_file_prefix: a folder that is removed from the file's path.
    """
    frame = op._traceback[_find_index_of_defining_frame_for_op(op)]
    filename = frame.filename.removeprefix(strip_file_prefix)
    colocations = _compute_colocation_summary_from_dict(op.name, op._colocation_dict)
    devices = _compute_device_summary_from_list(op.name, op._device_assignments)
    return {
        "file": filename,
        "line": frame.lineno,
        "defined_at": f" (defined at {filename}:{frame.lineno})",
        "colocations": colocations,
        "devices": devices,
        "devs_and_colocs": f"{colocations}\n{devices}",
    }


def traceback_files_common_prefix(all_ops: Iterable[list[Operation] | None]) -> str:
    """Returns the deepest folder that contains all files in the tracebacks of lists of nodes."""
    # Frames of embedded code (`<embedded ...>`) have no path.
    files = {frame.filename for ops in all_ops for op in ops or () for frame in op._traceback}
    return os.path.split(os.path.commonprefix([f for f in files if "<embedded" not in f]))[0]


def _node_and_inputs(name: str, graph: Graph) -> list[Operation] | None:
    """Returns a node and the nodes of its inputs; None if the graph has no node of this name."""
    op = graph._nodes_by_name.get(name)
    return None if op is None else [op, *dict.fromkeys([*(t.op for t in op.inputs), *op.control_inputs])]


def _inputs_text(op: Operation, inputs: list[Operation], prefix: str) -> str:
    """Lists the inputs of a node that were made on other lines than the node, one for each line."""
    # By line: the node's own has no text, so that inputs made on it are left out.
    lines_made = {compute_field_dict(op, prefix)["defined_at"]: ""}
    for source in inputs:
        at = compute_field_dict(source, prefix)["defined_at"]
        lines_made.setdefault(at, f" {source.name}{at}")
    lines = [line for line in lines_made.values() if line]
    return f"\nInput Source operations connected to node {op.name}:\n" + "\t\n".join(lines) if lines else ""


def interpolate(error_message: str, graph: Graph) -> str:
    """Returns a message in which each `{{node x}}` and `{{colocation_node x}}` of a graph is followed by the line that made the node.

    The inputs of these nodes, or their device and colocation blocks, are listed at the end.
    """
    texts, tags = parse_message(error_message)
    nodes = [_node_and_inputs(tag.name, graph) for tag in tags]
    prefix = traceback_files_common_prefix(nodes)
    said, sources, colocations = [texts[0]], [], []
    # Tags of nodes that are not in the graph stay; those of function nodes are removed, as in 1.15.
    for tag, ops, text in zip(tags, nodes, texts[1:]):
        shown = f"{{{{{tag.type} {tag.name}}}}}"
        if tag.type == "function_node":
            shown = ""
        elif ops and tag.type in ("node", "colocation_node"):
            op, *inputs = ops
            fields = compute_field_dict(op, prefix)
            shown = f"node {op.name}{fields['defined_at']} "
            if tag.type == "node":
                sources.append(_inputs_text(op, inputs, prefix))
            else:
                shown += f"placed on device {fields['devices']} "
                colocations.append(fields["devs_and_colocs"])
        said += [shown, text]
    if any(sources):
        said += ["\n\nErrors may have originated from an input operation.", "\n".join(filter(None, sources))]
    if colocations:
        said += ["Additional information about colocations:", "\n".join(colocations)]
    return "".join(said)
