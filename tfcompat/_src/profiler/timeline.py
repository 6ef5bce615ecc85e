"""Timeline: the StepStats of a run as JSON for a trace viewer (the Trace Event Format of chrome://tracing and Perfetto)."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")


class AllocationMaximum(NamedTuple):
    """When an allocator held most, in microseconds, how many bytes, and of which tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class StepStatsAnalysis(NamedTuple):
    """The trace of a step, and the AllocationMaximum of each allocator."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class ChromeTrace:
    """Events of a trace; times are in microseconds."""

    def __init__(self) -> None:
        self._processes: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def name_process(self, name: str, pid: int) -> None:
        """Says what a process is called."""
        self._processes.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def add(self, phase: str, category: str, name: str, pid: int, tid: int, timestamp: int, **more: Any) -> None:
        """Adds an event: phase X is a duration, N, O, D an object's life, s and t the ends of an arrow, C a counter."""
        self._events.append({"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": timestamp, **more})

    def format_to_string(self, pretty: bool = False) -> str:
        """The trace as JSON, with line breaks if `pretty`."""
        trace = {"traceEvents": self._processes + self._events}
        return json.dumps(trace, indent=4) if pretty else json.dumps(trace, separators=(",", ":"))


@dataclass
class _TracedTensor:
    """An output of a node: where it was made, and when it was last used."""

    number: int
    pid: int
    made: int
    ready: int
    place: tuple[int, int]
    allocator: str
    num_bytes: int
    uses: list[int] = field(default_factory=list)


class Timeline:
    """A view of the times of one step.

    Args:
      step_stats: the StepStats message of a RunMetadata.
      graph: the Graph that ran; not needed.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats, self._graph = step_stats, graph

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON.

        Args:
          show_dataflow: whether arrows lead from the node that makes a tensor to those that use it.
          show_memory: whether tensors and the bytes in use are shown too.
        """
        return self.analyze_step_stats(show_dataflow, show_memory).chrome_trace.format_to_string(pretty=True)

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True) -> StepStatsAnalysis:
        """The trace, and when most memory was in use; arguments as for `generate_chrome_trace_format`."""
        self._trace = ChromeTrace()
        self._tensors: dict[str, _TracedTensor] = {}
        pids = itertools.count()
        self._allocators_pid = next(pids)
        self._trace.name_process("Allocators", self._allocators_pid)
        self._pids: dict[str, tuple[int, int]] = {}
        for device in self._step_stats.dev_stats:
            self._pids[device.device] = (next(pids), next(pids))
            for kind, pid in zip(("Compute", "Tensors"), self._pids[device.device]):
                self._trace.name_process(f"{device.device} {kind}", pid)
        self._assign_lanes()
        self._find_tensors(show_memory)
        self._show_nodes(show_dataflow)
        return StepStatsAnalysis(self._trace, self._show_allocators() if show_memory else {})

    def _assign_lanes(self) -> None:
        """Gives each node the first lane of its device in which nothing else runs."""
        for device in self._step_stats.dev_stats:
            ends = [0]
            for node in device.node_stats:
                free = (i for i, end in enumerate(ends) if node.all_start_micros > end)
                lane = next(free, len(ends))
                ends[lane : lane + 1] = [node.all_start_micros + node.all_end_rel_micros]
                node.thread_id = lane

    def _nodes(self) -> Iterator[tuple[Any, str, int, int]]:
        """(node, its device, its start, its end)."""
        for device in self._step_stats.dev_stats:
            for node in device.node_stats:
                yield node, device.device, node.all_start_micros, node.all_start_micros + node.all_end_rel_micros

    def _find_tensors(self, show: bool) -> None:
        for node, device, start, end in self._nodes():
            compute, pid = self._pids[device]
            for i, output in enumerate(node.output):
                name = f"{node.node_name}:{i}" if i else node.node_name
                allocation = output.tensor_description.allocation_description
                number = len(self._tensors)
                self._tensors[name] = _TracedTensor(
                    number, pid, start, end, (compute, node.thread_id), allocation.allocator_name,
                    allocation.requested_bytes, [end],
                )  # fmt: skip
                if show:
                    text = str(output.tensor_description).replace('"', "")
                    snapshot = {"snapshot": {"tensor_description": text}}
                    self._trace.add("N", "Tensor", name, pid, node.thread_id, start, id=number)
                    self._trace.add("O", "Tensor", name, pid, node.thread_id, end - 1, id=number, args=snapshot)

    def _show_nodes(self, show_dataflow: bool) -> None:
        arrows = itertools.count()
        for node, device, start, end in self._nodes():
            here = (self._pids[device][0], node.thread_id)
            name, kind, inputs = self._described(node, device)
            args = {"name": name, "op": kind, **{f"input{i}": text for i, text in enumerate(inputs)}}
            compute, lane = here
            self._trace.add("X", "Op", kind, compute, lane, start, dur=node.all_end_rel_micros, args=args)
            for text in inputs:
                source = text if text in self._tensors or text.find("/_") <= 0 else text[: text.rfind("/_")]
                tensor = self._tensors.get(source)
                if tensor is None:
                    continue
                tensor.uses.append(end - 1)
                if show_dataflow and tensor.place != here:
                    arrow = next(arrows)
                    self._trace.add("s", "DataFlow", source, *tensor.place, tensor.ready, id=arrow)
                    self._trace.add("t", "DataFlow", source, *here, start, id=arrow)

    def _described(self, node: Any, device: str) -> tuple[str, str, list[str]]:
        """The name of a node, its op type and its inputs."""
        if "/stream:" in device or "/memcpy" in device:
            name, kind = [*node.node_name.split(":"), "unknown"][:2]
            return name, kind, []
        if node.node_name == "RecvTensor":
            return node.node_name, node.node_name, []
        match = _LABEL.match(node.timeline_label)
        if match is None:
            return node.node_name, "unknown", []
        return node.node_name, match[2], match[3].split(", ") if match[3] else []

    def _show_allocators(self) -> dict[str, AllocationMaximum]:
        """Adds the ends of tensors and the bytes in use; the maximum of each allocator."""
        changes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for name, tensor in self._tensors.items():
            last = max(tensor.uses)
            self._trace.add("D", "Tensor", name, tensor.pid, 0, last, id=tensor.number)
            changes[tensor.allocator] += [(tensor.made, tensor.num_bytes, name), (last, -tensor.num_bytes, name)]
        maximums = {}
        for allocator, entries in changes.items():
            total, most = 0, AllocationMaximum(0, 0, set())
            held: set[str] = set()
            for timestamp, num_bytes, name in sorted(entries):
                total += num_bytes
                (held.discard if num_bytes < 0 else held.add)(name)
                if total > most.num_bytes:
                    most = AllocationMaximum(timestamp, total, set(held))
                self._trace.add("C", "Memory", allocator, self._allocators_pid, 0, timestamp, args={allocator: total})
            maximums[allocator] = most
        return maximums
