"""`tensorflow.python.framework.error_interpolation`: where the nodes that a message names as `{{node x}}` were made."""

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

_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.\-/]*?"
_TAG = re.compile(rf"\{{\{{({_NAME}) ({_NAME})\}}\}}")
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BAD_FILE_SUBSTRINGS = [os.path.join("tensorflow", "python"), os.path.join("tensorflow", "contrib"), _OWN]
_FRAMES_AROUND = 2
_FRAMES_KEPT = 10


class _ParseTag(NamedTuple):
    type: str
    name: str


def parse_message(message: str) -> tuple[list[str], list[_ParseTag]]:
    """The texts around the tags of a message, one more than tags, and the tags."""
    pieces = _TAG.split(message)
    return pieces[::3], [_ParseTag(*tag) for tag in zip(pieces[1::3], pieces[2::3])]


def _summary(none: str, title: str, name: str, lines: Iterable[str], prefix: str) -> str:
    lines = list(lines)
    if not lines:
        return f"{prefix}No {none} were active during op '{name}' creation."
    return "\n".join([f"{prefix}{title} active during op '{name}' creation:", *(f"{prefix}  with {line}" for line in lines)])


def _compute_device_summary_from_list(name: str, device_assignment_list: Iterable[TraceableObject], prefix: str = "") -> str:
    """The `tf.device` blocks around a node, as text."""
    lines = (f"tf.device({each.obj}): <{each.filename}:{each.lineno}>" for each in device_assignment_list)
    return _summary("device assignments", "Device assignments", name, lines, prefix)


def _compute_colocation_summary_from_dict(name: str, colocation_dict: Mapping[str, TraceableObject], prefix: str = "") -> str:
    """The `colocate_with` blocks around a node, as text."""
    lines = (f"tf.colocate_with({to}): <{at.filename}:{at.lineno}>" for to, at in colocation_dict.items())
    return _summary("node-device colocations", "Node-device colocations", name, lines, prefix)


def _find_index_of_defining_frame_for_op(op: Operation) -> int:
    """The position in `op.traceback` of the innermost frame of the program; 0 where there is none."""
    files = [frame.filename for frame in op._traceback]
    own = (i for i, f in enumerate(files) if not any(part in f for part in _BAD_FILE_SUBSTRINGS))
    return max(own, default=0)


def create_graph_debug_info_def(operations: Iterable[tuple[str, Operation]]) -> Any:
    """A GraphDebugInfo message with the innermost frames of nodes.

    Args:
      operations: pairs of a function name, "" outside of functions, and a node.
    """
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
    """Where a node was made, and the device and colocation blocks around it: texts by what they tell."""
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
    """The folder that all files in the tracebacks of lists of nodes lie in."""
    files = {frame.filename for ops in all_ops for op in ops or () for frame in op._traceback}
    return os.path.split(os.path.commonprefix([f for f in files if "<embedded" not in f]))[0]


def _node_and_inputs(name: str, graph: Graph) -> list[Operation] | None:
    op = graph._nodes_by_name.get(name)
    return None if op is None else [op, *dict.fromkeys([*(t.op for t in op.inputs), *op.control_inputs])]


def _inputs_text(op: Operation, inputs: list[Operation], prefix: str) -> str:
    """The inputs of a node that were made on other lines than the node and each other."""
    places = {compute_field_dict(op, prefix)["defined_at"]: ""}
    for source in inputs:
        at = compute_field_dict(source, prefix)["defined_at"]
        places.setdefault(at, f" {source.name}{at}")
    lines = [line for line in places.values() if line]
    return f"\nInput Source operations connected to node {op.name}:\n" + "\t\n".join(lines) if lines else ""


def interpolate(error_message: str, graph: Graph) -> str:
    """A message in which `{{node x}}` and `{{colocation_node x}}` say where the nodes of a graph were made."""
    texts, tags = parse_message(error_message)
    found = [_node_and_inputs(tag.name, graph) for tag in tags]
    prefix = traceback_files_common_prefix(found)
    said, sources, colocations = [texts[0]], [], []
    for tag, ops, text in zip(tags, found, texts[1:]):
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
