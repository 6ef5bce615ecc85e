"""The nodes of a profiled graph and what each step measured of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

STEP_COUNTS = (
    "run_count", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes", "peak_bytes",
    "residual_bytes", "output_bytes",
)  # fmt: skip
COUNTS = (*STEP_COUNTS, "parameters", "float_ops")
PARENT = "_kTFScopeParent"
_CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu|device:sycl):\d+")


@dataclass
class ProfiledNode:
    """A node of the graph, or a name scope that is none.

    `shape` are the sizes of a variable or placeholder ([1] for a scalar), None where the node has none; `types` are its op
    type, device and the types of the op log; `steps` are the counts of STEP_COUNTS by step.
    """

    name: str
    op: str
    shape: list[int] | None = None
    flops: int = 0
    types: set[str] = field(default_factory=set)
    device: str = ""
    input_sizes: dict[int, list[int] | None] = field(default_factory=dict)
    steps: dict[int, dict[str, int]] = field(default_factory=dict)

    def counts(self, step: int) -> dict[str, int]:
        """COUNTS of one step, or (-1) the mean of all."""
        chosen = list(self.steps.values()) if step < 0 else [self.steps[step]] if step in self.steps else []
        found = {name: sum(c[name] for c in chosen) // max(len(chosen), 1) for name in STEP_COUNTS}
        sizes = self.shape or [0]
        found["parameters"] = math.prod(sizes) if min(sizes) >= 0 else 0
        found["float_ops"] = self.flops * (found["run_count"] if self.steps else 1)
        return found


def _sizes(shape: Any) -> list[int] | None:
    if shape.unknown_rank:
        return None
    return [d.size for d in shape.dim]


def of_graph(graph_def: messages.GraphDef, op_log: Any) -> dict[str, ProfiledNode]:
    """The nodes of a GraphDef with shapes, and what an OpLogProto says of them."""
    outputs = {n.name: [_sizes(s) for s in n.attr["_output_shapes"].list.shape] for n in graph_def.node}
    found = {}
    for node in graph_def.node:
        sizes = _sizes(node.attr["shape"].shape) if "shape" in node.attr else None
        made = ProfiledNode(node.name, node.op, (sizes or [1]) if sizes is not None else None, types={node.op})
        for i, name in enumerate(n for n in node.input if not n.startswith("^")):
            source, _, port = name.partition(":")
            shapes = outputs.get(source, [])
            made.input_sizes[i] = shapes[int(port or 0)] if int(port or 0) < len(shapes) else None
        found[node.name] = made
    for entry in op_log.log_entries:
        if entry.name in found:
            found[entry.name].flops = entry.float_ops
            found[entry.name].types.update(entry.types)
    return found


def device_kind(name: str) -> tuple[bool, bool]:
    """Whether a device's name (in lower case) is that of all streams of an accelerator, and whether that of a device itself."""
    return "stream:all" in name, bool(_CANONICAL.fullmatch(name))


def is_accelerator(name: str) -> bool:
    """Whether a device's name (in lower case) is that of a GPU or SYCL device."""
    return "gpu" in name or "sycl" in name


def micros_of(stats: Any) -> int:
    """The microseconds that a NodeExecStats counts: at least one where the node ran."""
    return max(stats.op_end_rel_micros, 1) if stats.all_start_micros else 0


def memory_of(stats: Any) -> dict[str, int]:
    """The bytes that a NodeExecStats counts: temporary and persistent memory included; without allocations the outputs'."""
    allocations = [o.tensor_description.allocation_description for o in stats.output]
    output = sum(max(a.allocated_bytes, a.requested_bytes) for a in allocations)
    persistent = stats.memory_stats.persistent_memory_size
    used = persistent + stats.memory_stats.temp_memory_size
    return {
        "output_bytes": output,
        "requested_bytes": (sum(m.total_bytes for m in stats.memory) or output) + used,
        "peak_bytes": (sum(m.peak_bytes for m in stats.memory) or output) + used,
        "residual_bytes": (sum(m.live_bytes for m in stats.memory) or output) + persistent,
    }


def add_step(nodes: dict[str, ProfiledNode], step: int, run_meta: Any) -> None:
    """Adds what a RunMetadata measured; several of one step add up."""
    for device in run_meta.step_stats.dev_stats:
        name = device.device.lower()
        is_stream, is_canonical = device_kind(name)
        for stats in device.node_stats:
            node = nodes.get(stats.node_name.partition(":")[0])
            if node is None:
                continue
            counts = node.steps.setdefault(step, dict.fromkeys(STEP_COUNTS, 0))
            if is_stream or is_canonical:
                counts["exec_micros"] += micros_of(stats)
                counts["accelerator_exec_micros" if is_stream else "cpu_exec_micros"] += micros_of(stats)
            if is_canonical:
                counts["run_count"] += 1
                node.device = name
                node.types.add(name)
                for count, size in memory_of(stats).items():
                    counts[count] += size
