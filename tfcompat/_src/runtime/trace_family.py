"""Traces for new shapes, made of earlier ones of the same program: sentences of all lengths would each take a second to trace.

Where a program has been traced for more shapes than a polynomial of the sizes that differ has coefficients, it is traced for the corners of a
box of sizes around these too. All of these traces are merged (`merged_traces`), and what they agree on gives the trace for any sizes inside of
the box: JAX checks the types of each equation that comes out. Where traces differ in something else, as when a kernel computes something
else from some size on, and for sizes outside, shapes are traced one by one as before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax

from tfcompat._src.base import errors
from tfcompat._src.base.jax_compat import made_trace
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.cluster_trace import Arguments, Notes, Trace, Tracing
from tfcompat._src.runtime.lower import Replan
from tfcompat._src.runtime.merged_traces import At, Differing, Fit, MergedTrace

Dims: TypeAlias = tuple[int, ...]
"""The sizes of all arguments, one after another."""
FEW_EQUATIONS = 200
"""What has fewer takes no longer to trace than a few merged traces to make."""
MOST_SIZES = 2
"""More that differ would take eight corners and more."""
MOST_MEMBERS = 12
"""Earlier traces are forgotten, where sizes differ in no way that can be merged."""
SMALLEST, USUAL = 2, 4
"""Sizes 0 and 1 mean something else to many kernels, 2 and 3 to some."""


@dataclass(frozen=True)
class _Member:
    """A trace that JAX made for some sizes, and what it has found."""

    dims: Dims
    trace: Trace | jax.stages.Traced
    notes: Notes


@dataclass(frozen=True)
class _Box:
    """Merged traces, for arguments whose sizes are those of `like` but at `groups`: each is the positions of one size."""

    like: Dims
    groups: tuple[tuple[int, ...], ...]
    lows: Dims
    highs: Dims
    merged: MergedTrace
    reserves: dict[Operation, At]
    out_info: object
    structure: jax.tree_util.PyTreeDef | None

    def sizes(self, dims: Dims) -> Dims | None:
        """The sizes that differ, or None where the box does not have them."""
        if len(dims) != len(self.like):
            return None
        found = _at(dims, self.groups)
        if _substituted(self.like, self.groups, found) != dims or not all(a <= x <= b for a, x, b in zip(self.lows, found, self.highs, strict=True)):
            return None
        return found


class TraceFamily:
    """The traces of one program."""

    def __init__(self) -> None:
        self._members: list[_Member] = []
        self._box: _Box | None = None
        self._is_over = False

    def made(self, arguments: Arguments) -> tuple[Trace, Notes] | None:
        """The trace for the shapes of arguments, of others, where that is possible. Its notes tell nothing of checks."""
        leaves = jax.tree.leaves(arguments)
        box = self._box
        if box is None or (sizes := box.sizes(_dims(leaves))) is None:
            return None
        try:
            jaxpr = made_trace(lambda *given: box.merged(sizes, given), leaves)
        except (TypeError, ValueError):  # what JAX raises of equations whose types do not fit: then the traces were not alike enough
            self._end()
            return None
        reserves = {op: at(sizes) for op, at in box.reserves.items()}
        return Trace(jaxpr, box.out_info), Notes(box.structure, (), reserves, (), (), is_of_others=True)

    def add(self, arguments: Arguments, tracing: Tracing) -> None:
        """Takes note of a trace that JAX has made for arguments."""
        trace, notes = tracing.trace(arguments), tracing.notes
        if self._is_over or self._box is not None or len(trace.jaxpr.jaxpr.eqns) < FEW_EQUATIONS:
            return
        dims = _dims(jax.tree.leaves(arguments))
        members = [*(m for m in self._members if m.dims != dims), _Member(dims, trace, notes)]
        self._members = members[-MOST_MEMBERS:]
        self._merge(self._members, arguments, tracing)

    def _end(self) -> None:
        """From now on, shapes are traced one by one."""
        self._box, self._is_over = None, True
        self._members = []

    def _merge(self, members: list[_Member], arguments: Arguments, tracing: Tracing) -> None:
        """Makes the box, when there are members enough, of those that differ from the last in as many sizes as corners can be traced for."""
        last = members[-1]
        members = [m for m in members if len(m.dims) == len(last.dims)]
        groups = _varying([m.dims for m in members])
        usual = [m for m in members if min(_at(m.dims, groups), default=0) >= SMALLEST]
        alike = [m for m in usual if _substituted(last.dims, groups, _at(m.dims, groups)) == m.dims]
        if not 1 <= len(groups) <= MOST_SIZES or len(alike) <= 2 ** len(groups):
            return
        columns = list(zip(*(_at(m.dims, groups) for m in alike), strict=True))
        lows, highs = tuple(max(min(c) // 2, min(*c, USUAL)) for c in columns), tuple(2 * max(c) + 1 for c in columns)
        try:
            for corner in itertools.product(*zip(lows, highs, strict=True)):
                alike.append(_traced_at(_substituted(last.dims, groups, corner), arguments, tracing))
        except (Replan, TypeError, ValueError, errors.OpError):  # what a program raises that refuses the sizes of a corner
            self._end()
            return
        try:
            points = [_at(m.dims, groups) for m in alike]
            if not _have_all_remainders(points):
                raise Differing("the sizes have a factor in common")
            fit = Fit(points)
            merged = MergedTrace(fit, [m.trace.jaxpr for m in alike], "the program")
            reserves = _merged_reserves(fit, [m.notes for m in alike])
        except Differing:
            self._end()
            return
        self._box = _Box(last.dims, groups, lows, highs, merged, reserves, last.trace.out_info, last.notes.structure)
        self._members = []


def _dims(leaves: Sequence[jax.ShapeDtypeStruct]) -> Dims:
    return tuple(itertools.chain.from_iterable(leaf.shape for leaf in leaves))


def _at(dims: Dims, groups: Sequence[Sequence[int]]) -> Dims:
    return tuple(dims[group[0]] for group in groups)


def _traced_at(dims: Dims, arguments: Arguments, tracing: Tracing) -> _Member:
    """The trace for arguments of other sizes."""
    left = iter(dims)
    structs = [jax.ShapeDtypeStruct(tuple(itertools.islice(left, len(a.shape))), a.dtype) for a in jax.tree.leaves(arguments)]
    again = tracing.sibling()
    trace = again.trace(jax.tree.unflatten(jax.tree.structure(arguments), structs))
    return _Member(dims, trace, again.notes)


def _varying(found: Sequence[Dims]) -> tuple[tuple[int, ...], ...]:
    """The positions of sizes that differ between at least three shapes, those together that are always equal."""
    columns: dict[tuple[int, ...], list[int]] = {}
    for position, column in enumerate(zip(*found, strict=True)):
        if len(set(column)) > 2:
            columns.setdefault(column, []).append(position)
    return tuple(map(tuple, columns.values()))


def _substituted(dims: Dims, groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> Dims:
    changed = {position: size for group, size in zip(groups, sizes, strict=True) for position in group}
    return tuple(changed.get(i, size) for i, size in enumerate(dims))


def _have_all_remainders(points: Sequence[Dims]) -> bool:
    """Whether no number but 1 divides all differences of a size: what rounds sizes, as a stride does, then shows."""
    return all(math.gcd(*(x - column[0] for x in column)) == 1 for column in zip(*points, strict=True))


def _merged_reserves(fit: Fit, notes: Sequence[Notes]) -> dict[Operation, At]:
    """How far random operations move on, as polynomials. Raises Differing where they are none, or something else differs."""
    first = notes[0]
    if any(n.structure != first.structure or n.moving or n.reserves.keys() != first.reserves.keys() for n in notes):
        raise Differing("the results have another structure for other sizes")
    found = {op: fit.number([n.reserves[op] for n in notes]) for op in first.reserves}
    if any(at is None for at in found.values()):
        raise Differing("random numbers are drawn for more than a polynomial of the sizes")
    return {op: at for op, at in found.items() if at is not None}
