"""tf.contrib.stat_summarizer: times and memory of the nodes of several runs, as tables for a spreadsheet."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.proto import pool

_TOP = 10
_COLUMNS = ("[node type]", 24), ("[start]", 17), ("[first]", 9), ("[avg ms]", 9), ("[%]", 8), ("[cdf%]", 8), ("[mem KB]", 10), ("[times called]", 9)
_TYPE_COLUMNS = ("[Node type]", 24), ("[count]", 9), ("[avg ms]", 10), ("[avg %]", 11), ("[cdf %]", 11), ("[mem KB]", 10), ("[times called]", 10)


class _Numbers:
    """The first and the newest of some integers, their range, sum and sum of squares."""

    def __init__(self) -> None:
        self.first = self.newest = self.count = self.sum = self._squares = self._least = self._most = 0

    def add(self, value: int) -> None:
        if not self.count:
            self.first = self._least = self._most = value
        self.newest, self._least, self._most = value, min(value, self._least), max(value, self._most)
        self.count, self.sum, self._squares = self.count + 1, self.sum + value, self._squares + value * value

    @property
    def mean(self) -> float:
        return self.sum / self.count

    def __str__(self) -> str:
        if not self.count:
            return "count=0"
        if self._least == self._most:
            return f"count={self.count} curr={self.newest}{'(all same)' if self.count > 1 else ''}"
        deviation = int(math.sqrt(max(0.0, self._squares / self.count - self.mean**2)))
        return (
            f"count={self.count} first={self.first} curr={self.newest} min={self._least} max={self._most} avg={self.mean:g} std={deviation}"
        )


@dataclass
class _Node:
    """A node of a graph: its place among those of the run in which it came first, and microseconds and bytes of its calls."""

    name: str
    type: str
    place: int
    calls: int = 0
    start: _Numbers = field(default_factory=_Numbers)
    time: _Numbers = field(default_factory=_Numbers)
    memory: _Numbers = field(default_factory=_Numbers)
    outputs: list[Any] = field(default_factory=list)


@export("contrib.stat_summarizer.StatSummarizer")
class StatSummarizer:
    """Summary of the statistics of several runs."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._time, self._memory = _Numbers(), _Numbers()

    def ProcessStepStatsStr(self, step_stats_str: bytes) -> None:
        """Adds the statistics of a run.

        Args:
          step_stats_str: a serialized StepStats (`RunMetadata.step_stats`).

        Raises:
          ValueError: it has no node of a device.
        """
        self.ProcessStepStats(pool.message("tensorflow.StepStats").FromString(step_stats_str))

    def ProcessStepStats(self, step_stats: Any) -> None:
        """Adds the statistics of a run, a StepStats message; see `ProcessStepStatsStr`."""
        if not step_stats.dev_stats or not step_stats.dev_stats[0].node_stats:
            raise ValueError("The statistics of a run must have a node of their first device; trace it with RunOptions.FULL_TRACE.")
        origin, time, memory = step_stats.dev_stats[0].node_stats[0].all_start_micros, 0, 0
        counted = [(each.device, stats) for each in step_stats.dev_stats if _is_counted(each.device) for stats in each.node_stats]
        for place, (device, stats) in enumerate(counted, 1):
            name, kind = _name_and_type(device, stats)
            node = self._nodes.setdefault(name, _Node(name, kind, place))
            size = sum(each.total_bytes for each in stats.memory)
            node.start.add(stats.all_start_micros - origin)
            node.time.add(stats.all_end_rel_micros)
            node.memory.add(size)
            _warn_of_changes(node, stats)
            node.calls += 1
            time, memory = time + stats.all_end_rel_micros, memory + size
        self._time.add(time)
        self._memory.add(memory)

    def GetOutputString(self) -> str:
        """Tables of the nodes in order of their runs, by time and by memory, of the types of nodes, and totals."""
        orders = (
            ("Run Order", lambda node: f"{len(self._nodes) - node.place:>20}", None),
            ("Top by Computation Time", lambda node: f"{node.time.mean:>20.10f}", _TOP),
            ("Top by Memory Use", lambda node: f"{node.memory.mean:>20.10f}", _TOP),
        )
        tables = [self._table(title, sorted(self._nodes.values(), key=key, reverse=True)[:limit]) for title, key, limit in orders]
        return "".join((*tables, self._types(), self._totals(), "\n"))

    def PrintStepStats(self) -> None:
        """Prints what `GetOutputString` gives to the standard error."""
        print(self.GetOutputString(), end="", file=sys.stderr)

    def _table(self, title: str, nodes: list[_Node]) -> str:
        lines, so_far = [_title(title), _heads(_COLUMNS) + "\t[Name]"], 0
        for node in nodes:
            so_far += node.time.sum
            share, cumulated = _ratio(node.time.sum * 100.0, self._time.sum), _ratio(np.float32(so_far) * np.float32(100), np.float32(self._time.sum))
            lines.append(
                f"\t{node.type:>24}\t{node.start.mean / 1000:17.3f}\t{node.time.first / 1000:9.3f}\t{node.time.mean / 1000:9.3f}\t{share:7.3f}%"
                f"\t{cumulated:7.3f}%\t{node.memory.newest / 1000:10.3f}\t{node.calls // self._time.count:9d}\t{node.name}"
            )
        return "\n".join(lines) + "\n\n"

    def _types(self) -> str:
        kinds: dict[str, list[int]] = {}
        for node in self._nodes.values():
            sums = kinds.setdefault(node.type, [0, 0, 0, 0])
            runs = self._time.count
            sums[:] = np.add(sums, (1, node.time.sum // runs, node.memory.newest, node.calls // runs)).tolist()
        lines = [f"Number of nodes executed: {len(self._nodes)}", _title("Summary by node type"), _heads(_TYPE_COLUMNS)]
        whole, cumulated = np.float32(sum(each[1] for each in kinds.values())), np.float32(0)
        for kind, (count, time, memory, calls) in sorted(kinds.items(), key=lambda item: (item[1][1], item[0]), reverse=True):
            share = _ratio(np.float32(time), whole) * np.float32(100)
            cumulated += share
            lines.append(
                f"\t{kind:>24}\t{count:9d}\t{np.float32(time) / np.float32(1000):10.3f}\t{share:10.3f}%\t{cumulated:10.3f}%"
                f"\t{np.float32(memory) / np.float32(1000):10.3f}\t{calls:9d}"
            )
        return "\n".join(lines) + "\n\n"

    def _totals(self) -> str:
        return f"Timings (microseconds): {self._time}\nMemory (bytes): {self._memory}\n{len(self._nodes)} nodes observed\n"


def _title(text: str) -> str:
    return f"{'=' * 30} {text} {'=' * 30}"


def _heads(columns: tuple[tuple[str, int], ...]) -> str:
    return "".join(f"\t{head:>{width}}" for head, width in columns)


def _ratio(part: Any, whole: Any) -> Any:
    return part / whole if whole else part * math.nan


def _is_counted(device: str) -> bool:
    """Whether a device's nodes are counted: those of a GPU's streams come once more for all streams together, those of host:CPU for the job."""
    return ("/stream" not in device or "/stream:all" in device) and "/host:CPU" not in device


def _name_and_type(device: str, stats: Any) -> tuple[str, str]:
    """What a node is called, with what a GPU did for it, and its op type; "<>" where the statistics do not say it."""
    parts = stats.node_name.split(":")
    if "/stream" in device:
        return (f"{parts[0]} [Kernel]", f"gpu:{parts[1]}") if len(parts) == 2 else (stats.node_name, "<>")
    if "/memcpy" in device:
        return (f"{parts[0]} [MemCpy]", f"gpu:{parts[-1]}") if len(parts) in (2, 3) else (stats.node_name, "<>")
    _, equals, call = stats.timeline_label.partition(" = ")
    kind, bracket, _ = call.partition("(")
    return stats.node_name, kind if equals and bracket else "<>"


def _warn_of_changes(node: _Node, stats: Any) -> None:
    """Prints which outputs of a node are others than in its first run."""
    found = [[each.tensor_description.dtype, [dim.size for dim in each.tensor_description.shape.dim]] for each in stats.output]
    if not node.calls:
        node.outputs = found
    elif len(found) != len(node.outputs):
        print(f"{node.name} has {len(found)} outputs in this run and {len(node.outputs)} in the first one.", file=sys.stderr)
    elif found != node.outputs:
        print(f"{node.name} has outputs of other types or shapes in this run than in the first one.", file=sys.stderr)


@export("contrib.stat_summarizer.NewStatSummarizer")
def NewStatSummarizer(unused: bytes | str) -> StatSummarizer:
    """A StatSummarizer; `unused` is a serialized graph that no result depends on, in 1.15 either.

    Raises:
      TypeError: `unused` is no string.
    """
    if not isinstance(unused, (bytes, str)):
        raise TypeError(f"NewStatSummarizer takes a serialized GraphDef, but got {unused!r}")
    return StatSummarizer()


@export("contrib.stat_summarizer.DeleteStatSummarizer")
def DeleteStatSummarizer(ss: StatSummarizer) -> None:
    """Frees what a StatSummarizer holds; it cannot be used any more."""
    vars(ss).clear()
