"""tf.profiler.advise: checkers that look through a profiled graph for what makes it slow."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.profiler.nodes import ProfiledNode, device_kind, is_accelerator, micros_of
from tfcompat._src.profiler.option_builder import ProfileOptionBuilder
from tfcompat._src.profiler.views import op_view, scope_view, time_text
from tfcompat._src.proto.messages import tfprof

ALL_ADVICE: dict[str, dict[str, str]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
_GOOD_UTILIZATION = 0.5
_SHOWN = 3
_DEPTH = 3
_MIN_MICROS = {"scope": 100, "code": 1000}


@dataclass
class Profiled:
    """What the checkers look at: a GraphDef, its nodes, its OpLogProto, and (step, RunMetadata) in the order of recording."""

    graph_def: Any
    nodes: dict[str, ProfiledNode]
    op_log: Any
    steps: list[tuple[int, Any]]


def advice(profiled: Profiled, options: dict[str, Any] | None) -> Any:
    """Runs the checkers that `options` name, prints and returns their reports.

    As in 1.15, names without a checker, JobChecker among them, report nothing.

    Raises:
      TypeError: a checker is given options: no checker has any.
    """
    found = tfprof.AdviceProto()
    for name, given in (options or {}).items():
        if given:
            raise TypeError(f"{name} of tf.profiler.advise has no options; it was given {sorted(given)}: give an empty dict")
    for name, checker in _CHECKERS.items():
        if name in (options or {}):
            reports = checker(profiled)
            found.checkers[name].reports.extend(reports)
            print("\n".join([f"\n{name}:", *reports]), flush=True)
    return found


# ---- AcceleratorUtilizationChecker ----


def _busy_and_whole(device: str, profiled: Profiled) -> tuple[int, int]:
    """Microseconds that the nodes placed on a device kept streams busy in its last step, and those from its first to its last node."""
    placed = {name: max(node.steps) for name, node in profiled.nodes.items() if node.device == device and node.steps}
    busy, starts, ends = 0, [], []
    for step, run_meta in profiled.steps:
        for recorded in run_meta.step_stats.dev_stats:
            is_stream, _ = device_kind(recorded.device.lower())
            for stats in recorded.node_stats:
                if placed.get(stats.node_name.partition(":")[0]) == step and stats.all_start_micros:
                    busy += micros_of(stats) * is_stream
                    starts.append(stats.all_start_micros)
                    ends.append(stats.all_start_micros + micros_of(stats))
    return busy, max(ends, default=0) - min(starts, default=0)


def _accelerator_utilization(profiled: Profiled) -> list[str]:
    found = []
    for device in sorted({node.device for node in profiled.nodes.values() if is_accelerator(node.device)}):
        busy, whole = _busy_and_whole(device, profiled)
        if whole > 0:
            low = "low " if busy / whole < _GOOD_UTILIZATION else ""
            found.append(f"device: {device} {low}utilization: {busy / whole:.2f}")
    return found


# ---- OperationChecker ----


def _operations(profiled: Profiled) -> list[str]:
    found = []
    is_normalized = any("BatchNorm" in name for name in profiled.nodes)
    if is_normalized and not any("FusedBatchNorm" in node.types for node in profiled.nodes.values()):
        found.append("Maybe use faster FusedBatchNorm instead of BatchNorm")
    formatted = (node for node in profiled.graph_def.node if "data_format" in node.attr)
    channels_last = [node.name for node in formatted if node.attr["data_format"].s == b"NHWC"]
    if any(is_accelerator(profiled.nodes[name].device) for name in channels_last):
        found.append("Found operation using NHWC data_format on GPU. Maybe NCHW is faster.")
    return found


# ---- ExpensiveOperationChecker ----


def _times(cpu: int, accelerator: int, total: int) -> str:
    return f"cpu: {time_text(cpu)}, accelerator: {time_text(accelerator)}, total: {time_text(total)}"


def _own_times(node: Any) -> str:
    return _times(node.cpu_exec_micros, node.accelerator_exec_micros, node.exec_micros)


def _options(max_depth: int, min_micros: int) -> dict[str, Any]:
    builder = ProfileOptionBuilder().with_max_depth(max_depth).with_min_execution_time(min_micros=min_micros)
    return builder.order_by("micros").with_empty_output().build()


def _expensive_types(profiled: Profiled) -> list[str]:
    root = op_view(profiled.nodes, _options(_DEPTH, 1))[0]
    found, node = [], root
    while node.children and len(found) < _SHOWN:
        node = node.children[0]
        share = 100 * node.exec_micros / max(root.total_exec_micros, 1)
        found.append(f"top {len(found) + 1} operation type: {node.name}, {_own_times(node)} ({share:.2f}%)")
    return found


def _expensive_scopes(profiled: Profiled) -> list[str]:
    root = scope_view(profiled.nodes, _options(100, _MIN_MICROS["scope"]))[0]
    return [f"top {i + 1} graph node: {node.name}, {_own_times(node)}" for i, node in enumerate(root.children[:_SHOWN])]


@dataclass
class _Line:
    """A line of the program, reached by one chain of calls, with the microseconds of the nodes made below it."""

    name: str
    cpu: int = 0
    accelerator: int = 0
    total: int = 0
    called: dict[str, _Line] = field(default_factory=dict)

    def costly(self) -> list[_Line]:
        """The lines below this one at which time was spent, those that took longest first."""
        return sorted((line for line in self.called.values() if line.total), key=lambda line: -line.total)


def _lines(profiled: Profiled) -> _Line:
    root = _Line("")
    text = profiled.op_log.id_to_string
    for entry in profiled.op_log.log_entries:
        if entry.name not in profiled.nodes:
            continue
        counts = profiled.nodes[entry.name].counts(-1)
        line = root
        for trace in entry.code_def.traces:
            name = f"{os.path.basename(text[trace.file_id])}:{trace.lineno}:{text[trace.function_id]}"
            line = line.called.setdefault(name, _Line(name))
            line.cpu += counts["cpu_exec_micros"]
            line.accelerator += counts["accelerator_exec_micros"]
            line.total += counts["exec_micros"]
    return root


def _expensive_lines(line: _Line, depth: int = 0) -> list[str]:
    """The lines below `line` that took longest, and those below these, where several are to choose from."""
    below = line.costly()
    if len(below) < 2 or depth > _DEPTH:
        return []
    found = []
    for part in below[:_SHOWN]:
        if part.total >= _MIN_MICROS["code"]:
            found.append(f"{'  ' * depth}{part.name}, {_times(part.cpu, part.accelerator, part.total)}")
            found += _expensive_lines(part, depth + 1)
    return found


def _expensive_operations(profiled: Profiled) -> list[str]:
    if not profiled.steps:
        sys.stderr.write("Missing run_meta for ExpensiveOperationChecker\n")
        return []
    line = _lines(profiled)
    while len(line.costly()) == 1:
        (line,) = line.costly()
    reports = _expensive_types(profiled), _expensive_scopes(profiled), _expensive_lines(line)
    return ["\n".join(report) for report in reports if report]


_CHECKERS = {
    "AcceleratorUtilizationChecker": _accelerator_utilization,
    "ExpensiveOperationChecker": _expensive_operations,
    "OperationChecker": _operations,
}
