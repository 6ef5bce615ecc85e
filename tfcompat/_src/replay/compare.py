"""Compares two records of one program: the first run, tensor and node that differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from tfcompat._src.replay.differences import DIFFERS, EQUAL, NOISE, NOT_COMPARED, Difference, difference
from tfcompat._src.replay.graphs import op_of
from tfcompat._src.replay.record import Record, Run, Value

STAGES = ("before", "feeds", "sources", "random", "between", "fetches", "after")


@dataclasses.dataclass
class Pair:
    """A run in both records, and the differences of its values in the order in which it computes them."""

    one: Run
    other: Run
    differences: list[Difference]
    origins: dict[str, str]

    @property
    def first(self) -> Difference | None:
        """The first value that differs."""
        return next((d for d in self.differences if d.verdict == DIFFERS), None)

    @property
    def verdict(self) -> str:
        found = {d.verdict for d in self.differences}
        return next((kind for kind in (DIFFERS, NOISE, EQUAL) if kind in found), NOT_COMPARED)


class Comparison:
    """Two records side by side.

    Args:
      exact: whether every bit must agree. factor: by what tolerances are multiplied.

    Attributes:
      pairs: the runs of both. alone: lines about runs that one record lacks.
    """

    def __init__(self, one: Record, other: Record, exact: bool = False, factor: float = 1.0) -> None:
        self.one, self.other, self.exact, self.factor = one, other, exact, factor
        theirs = dict(_numbered(other.runs))
        self.pairs: list[Pair] = []
        self.alone: list[str] = []
        for key, run in _numbered(one.runs):
            same = theirs.pop(key, None)
            if same is None:
                self.alone.append(f"only {one.path} has {run.title}")
            else:
                self.pairs.append(self._pair(run, same))
        self.alone += [f"only {other.path} has {run.title}" for run in theirs.values()]

    @property
    def first(self) -> Pair | None:
        """The first run that differs."""
        return next((pair for pair in self.pairs if pair.verdict == DIFFERS), None)

    @property
    def agrees(self) -> bool:
        """Whether both have the same runs, and all of these agree."""
        return self.first is None and not self.alone

    def _pair(self, one: Run, other: Run) -> Pair:
        nodes = {node.name: (i, node.op) for i, node in enumerate(self.one.graph_def(one.graph).node)}
        found: list[Difference] = []
        origins: dict[str, str] = {}
        sizes = [int(np.prod(v.shape)) for part in (one.feeds, one.before) for v in part.values() if v is not None]
        # Rounding accumulates over the steps of a program.
        scale = self.factor * (1 + one.of_session)
        if (one.error is None) != (other.error is None):
            failed = one.error or other.error
            found.append(Difference("the run", DIFFERS, why=f"it fails in one record alone, with {failed.kind if failed else ''}"))
        elif one.error is not None and other.error is not None and one.error.kind != other.error.kind:
            found.append(Difference("the run", DIFFERS, why=f"it fails with {one.error.kind} in one record, with {other.error.kind} in the other"))
        for stage in STAGES:
            values: Mapping[str, Value | None] = getattr(one, stage)
            theirs: Mapping[str, Value | None] = getattr(other, stage)
            names = sorted(set(values) & set(theirs), key=lambda name: nodes.get(op_of(name), (len(nodes), ""))[0])
            for name in names:
                position = nodes.get(op_of(name), (0, ""))
                found.append(self._difference(name, values[name], theirs[name], max(sizes, default=1), scale, position[1]))
                origins[name] = f"{position[1]}, {_LABELS[stage]}"
        return Pair(one, other, found, origins)

    def _difference(self, name: str, one: Value | None, other: Value | None, depth: int, scale: float, op_type: str) -> Difference:
        if one is None or other is None:
            return Difference(name, EQUAL if one is other else DIFFERS, why="" if one is other else "one record has a value, the other none")
        if one.array is None or other.array is None:
            return Difference(name, NOT_COMPARED, one.dtype, why=one.why or other.why)
        if one.shape != other.shape:
            return Difference(name, DIFFERS, one.dtype, one.shape, float("inf"), float("inf"), why=f"its shape is {list(other.shape)} in the other record")
        if one.is_whole != other.is_whole:
            return Difference(name, NOT_COMPARED, one.dtype, why="one record has a sample")
        return difference(name, one.array, other.array, depth, self.exact, op_type, scale)

    def lines(self) -> Iterator[str]:
        """The report."""
        counts = {kind: sum(pair.verdict == kind for pair in self.pairs) for kind in (EQUAL, NOISE, DIFFERS, NOT_COMPARED)}
        yield f"{len(self.pairs)} runs in both: " + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        yield from self.alone[:8]
        if len(self.alone) > 8:
            yield f"and {len(self.alone) - 8} more"
        pair = self.first
        if pair is None or pair.first is None:
            yield "the runs agree" if self.agrees else "what both have agrees"
            return
        line = self.one.lines(pair.one.graph).get(op_of(pair.first.name), "")
        yield f"first difference: {pair.one.title}"
        yield f"  {pair.first}"
        yield f"  node {op_of(pair.first.name)} ({pair.origins.get(pair.first.name, '')})" + (f", made at {line}" if line else "")


_LABELS = {
    "before": "variable before the run", "feeds": "feed", "sources": "value from outside", "random": "random number", "between": "computed in the run",
    "fetches": "fetched", "after": "variable after the run",
}  # fmt: skip


def _numbered(runs: list[Run]) -> Iterator[tuple[tuple[object, ...], Run]]:
    """Runs by session, fetches, feeds, and how many such runs came before: threads may interleave them in another way."""
    seen: dict[tuple[object, ...], int] = {}
    for run in runs:
        key = (run.session, run.wanted, run.targets, tuple(sorted(run.feeds)))
        seen[key] = number = seen.get(key, 0) + 1
        yield (*key, number), run
