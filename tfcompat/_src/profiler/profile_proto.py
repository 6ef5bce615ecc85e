"""A profile as a ProfileProto, which tools of tfprof read: its nodes, what each step measured of them, where they were made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tfcompat._src.profiler.nodes import device_kind, is_accelerator, memory_of, micros_of
from tfcompat._src.proto.messages import tfprof

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_ACCELERATOR = re.compile(r"(device:)?(gpu|sycl):\d+")


def profile_message(graph_def: messages.GraphDef, op_log: Any, steps: list[tuple[int, Any]]) -> Any:
    """The ProfileProto of a graph.

    Args:
      graph_def: a GraphDef with shapes.
      op_log: an OpLogProto with flops, types and frames of nodes.
      steps: (step, RunMetadata); those of one step count together.
    """
    found = tfprof.ProfileProto(
        has_trace=any(entry.code_def.traces for entry in op_log.log_entries),
        steps=sorted({step for step, _ in steps}), id_to_string=op_log.id_to_string,
    )  # fmt: skip
    ids = {node.name: i for i, node in enumerate(graph_def.node)}
    types = {node.name: {node.op} for node in graph_def.node}
    logged = {entry.name: entry for entry in op_log.log_entries}
    for node in graph_def.node:
        made = found.nodes[ids[node.name]]
        _describe(made, node, ids)
        entry = logged.get(node.name)
        if entry is not None:
            made.float_ops = entry.float_ops
            made.trace.CopyFrom(entry.code_def)
            types[node.name].update(entry.types)
    for step, run_meta in steps:
        _add_step(found, ids, types, step, run_meta)
        found.miss_accelerator_stream |= _misses_streams(run_meta)
    for name, kinds in types.items():
        found.nodes[ids[name]].op_types.extend(sorted(kinds))
    return found


def _misses_streams(run_meta: Any) -> bool:
    """Whether a RunMetadata has an accelerator's nodes, and no streams of one."""
    names = [name for d in run_meta.step_stats.dev_stats if is_accelerator(name := d.device.lower())]
    return bool(names) and not any("stream:all" in name for name in names)


def _describe(made: Any, node: Any, ids: dict[str, int]) -> None:
    """Fills in what the graph says of a node."""
    made.name, made.op, made.id = node.name, node.op, ids[node.name]
    for i, text in enumerate(node.input):
        source, _, port = text.removeprefix("^").partition(":")
        made.inputs[i] = ids[source]
        made.src_output_index[ids[source]] = int(port or 0)
    for key, value in node.attr.items():
        made.attrs[key].CopyFrom(value)
    if "shape" in node.attr and not node.attr["shape"].shape.unknown_rank:
        made.shape.extend([d.size for d in node.attr["shape"].shape.dim] or [1])
    for i, shape in enumerate(node.attr["_output_shapes"].list.shape):
        if not shape.unknown_rank:
            made.output_shapes[i].int64_values.extend([d.size for d in shape.dim] or [1])


def _add_step(found: Any, ids: dict[str, int], types: dict[str, set[str]], step: int, run_meta: Any) -> None:
    for device in run_meta.step_stats.dev_stats:
        name = device.device.lower()
        is_stream, is_canonical = device_kind(name)
        for stats in device.node_stats:
            node_name = stats.node_name.partition(":")[0]
            if node_name not in ids:
                ids[node_name], types[node_name] = len(ids), {node_name}
                added = found.nodes[ids[node_name]]
                added.name = added.op = node_name
                added.id = ids[node_name]
            node = found.nodes[ids[node_name]]
            if is_canonical:
                types[node_name].add(name)
                node.canonical_device, node.host_device = name, _ACCELERATOR.sub(lambda m: f"{m[1] or ''}cpu:0", name)
            _add_execution(node.execs[step], stats, name, is_stream, is_canonical)


def _add_execution(execution: Any, stats: Any, device: str, is_stream: bool, is_canonical: bool) -> None:
    """Adds what one NodeExecStats measured on a device."""
    end = stats.all_start_micros + micros_of(stats)
    execution.run_count += is_canonical
    execution.devices[:] = sorted({*execution.devices, device})
    if stats.all_start_micros:
        first = execution.all_start_micros or stats.all_start_micros
        execution.all_start_micros = min(first, stats.all_start_micros)
        execution.latest_end_micros = max(execution.latest_end_micros, end)
        if is_stream or is_canonical:
            times = (execution.accelerator_execs if is_stream else execution.cpu_execs)[device].times.add()
            times.int64_values.extend([stats.all_start_micros, micros_of(stats)])
    if is_canonical:
        execution.memory_execs.add().CopyFrom(_memory(stats, is_on_cpu="cpu" in device))
        for memory in stats.memory:
            if "GPU" in memory.allocator_name:
                execution.allocations.extend(memory.allocation_records)


def _memory(stats: Any, is_on_cpu: bool) -> Any:
    """The ExecMemory of a run of a node."""
    counts = memory_of(stats)
    found = tfprof.ExecMemory(memory_micros=stats.all_start_micros + stats.op_end_rel_micros, **counts)
    temporary, persistent = ("host_temp_bytes", "host_persistent_bytes") if is_on_cpu else ("accelerator_temp_bytes", "accelerator_persistent_bytes")
    setattr(found, temporary, stats.memory_stats.temp_memory_size)
    setattr(found, persistent, stats.memory_stats.persistent_memory_size)
    for memory in stats.memory:
        if "GPU" in memory.allocator_name:
            found.allocator_bytes_in_use = max(found.allocator_bytes_in_use, memory.allocator_bytes_in_use)
    for output in stats.output:
        described = output.tensor_description.allocation_description
        if output.tensor_description.HasField("allocation_description"):
            found.output_memory[output.slot].bytes = max(described.allocated_bytes, described.requested_bytes)
            found.output_memory[output.slot].ptr = described.ptr
    return found
