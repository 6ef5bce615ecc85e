"""What a profile knows of nodes beyond the graph: flops, types such as "_trainable_variables", where they were made."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import tfcompat._src.profiler.flops  # noqa: F401  (registers the functions that count)
from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.op_stats import get_stats_for_node_def
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import file_io
from tfcompat._src.proto.messages import tfprof

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

TRAINABLE_VARIABLES = "_trainable_variables"


def _complete_shapes(graph: Graph, run_meta: Any) -> None:
    """Gives tensors the shapes that they had in a run."""
    for device in run_meta.step_stats.dev_stats:
        for stats in device.node_stats:
            op = _operation(graph, stats.node_name)
            if op is None or len(stats.output) != len(op.outputs):
                continue
            for tensor, output in zip(op.outputs, stats.output):
                found = TensorShape([d.size for d in output.tensor_description.shape.dim])
                if not tensor.shape.is_fully_defined() and tensor.shape.is_compatible_with(found):
                    tensor.set_shape(found)


def _operation(graph: Graph, name: str) -> Operation | None:
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None


def _logged_ops(graph: Graph, run_meta: object, add_trace: bool, add_trainable_var: bool) -> tuple[dict[str, Any], dict[str, int]]:
    """An OpLogEntry for each node of which something is known, and the numbers of strings in them."""
    if run_meta is not None:
        _complete_shapes(graph, run_meta)
    entries: dict[str, Any] = {}
    ids: dict[str, int] = {"none": 0}
    unknown = 0
    for op in graph.get_operations():
        try:
            flops = get_stats_for_node_def(graph, op.node_def, "flops").value
        except ValueError:
            unknown, flops = unknown + 1, None
        if flops:
            entries[op.name] = tfprof.OpLogEntry(name=op.name, float_ops=int(flops))
        if add_trace:
            entry = entries.setdefault(op.name, tfprof.OpLogEntry(name=op.name))
            for file, line, function, source in errors.user_frames(op):
                entry.code_def.traces.add(
                    file_id=ids.setdefault(file, len(ids)), lineno=line, func_start_line=-1,
                    function_id=ids.setdefault(function, len(ids)), line_id=ids.setdefault(source or "none", len(ids)),
                )  # fmt: skip
    for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if add_trainable_var else ():
        name = variable.op.name
        entries.setdefault(name, tfprof.OpLogEntry(name=name)).types.append(TRAINABLE_VARIABLES)
    if unknown and run_meta is None:
        sys.stderr.write(f"{unknown} ops no flops stats due to incomplete shapes.\n")
    return entries, ids


def merge_default_with_oplog(
    graph: Graph | None, op_log: Any = None, run_meta: object = None, add_trace: bool = True, add_trainable_var: bool = True
) -> Any:
    """An OpLogProto of a graph: what is known of its nodes, added to the entries of `op_log`.

    Args:
      graph: by default the default graph.
      op_log: an OpLogProto of the caller.
      run_meta: a RunMetadata that completes shapes.
      add_trace: whether to say where nodes were made.
      add_trainable_var: whether trainable variables get the type "_trainable_variables".
    """
    logged, ids = _logged_ops(graph or get_default_graph(), run_meta, add_trace, add_trainable_var)
    found = {entry.name: entry for entry in op_log.log_entries} if op_log is not None else {}
    for name, entry in logged.items():
        known = found.setdefault(name, entry)
        if known is not entry:
            known.types.extend(entry.types)
            known.float_ops = known.float_ops or entry.float_ops
            if not known.code_def.traces:
                known.code_def.MergeFrom(entry.code_def)
    return tfprof.OpLogProto(log_entries=found.values(), id_to_string={number: text for text, number in ids.items()})


@export("profiler.write_op_log", "contrib.tfprof.tfprof_logger.write_op_log")
def write_op_log(graph: Graph | None, log_dir: str, op_log: object = None, run_meta: object = None, add_trace: bool = True) -> None:
    """Writes the OpLogProto of a graph as `tfprof_log` into the folder `log_dir`; arguments as for a profile."""
    merged = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    file_io.write_string_to_file(os.path.join(log_dir, "tfprof_log"), merged.SerializeToString())
