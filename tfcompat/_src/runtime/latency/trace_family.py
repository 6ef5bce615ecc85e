"""Derives traces for new input shapes from earlier traces of the same program: to trace each sentence length would take a second each.

When a program has been traced for more shapes than a multilinear polynomial of the differing sizes has coefficients, it is also traced for the
corners of a box around these sizes. All traces are merged by interpolation (latency/merged_traces.py); for any sizes inside of the box the merged trace
then replaces tracing, if the numbers that the program computes from them are what it says (latency/folded_numbers.py); JAX checks the type of each of
its equations. If the traces differ in anything else, as when a kernel changes its algorithm with the size, and for sizes outside of the box,
shapes are traced one by one.
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
from tfcompat._src.runtime.debugging import cache_checks
from tfcompat._src.runtime.latency.folded_numbers import Folded, FoldedNumbers
from tfcompat._src.runtime.latency.merged_traces import At, Differing, Fit, MergedTrace
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Notes, Trace, Tracing
from tfcompat._src.runtime.lowering.lower import Replan

Dims: TypeAlias = tuple[int, ...]
"""The sizes of all arguments, one after another."""
FEW_EQUATIONS = 200
"""Traces with fewer equations are not merged: merging costs about as much as tracing them."""
MOST_SIZES = 2
"""Most sizes that may differ: three would need eight corners."""
MOST_MEMBERS = 12
"""Number of traces that are kept until they can be merged; older ones are dropped."""
SMALLEST, USUAL = 2, 4
"""Least size of a merged trace, and least size of a corner that is chosen freely: kernels treat sizes 0 and 1, and some 2 and 3, apart."""


@dataclass(frozen=True)
class _Member:
    """A trace that JAX made for some sizes, with its notes and the operations that it evaluated in NumPy."""

    dims: Dims
    trace: Trace | jax.stages.Traced
    notes: Notes
    folded: list[Folded]


@dataclass(frozen=True)
class _Box:
    """A merged trace with the sizes for which it is valid.

    Attributes:
      like: the sizes of the arguments at positions that do not differ. groups: positions that share each differing size.
      lows, highs: bounds, included, of the differing sizes. numbers: those that the program computes from sizes.
      reserves: the draws of each random operation, as functions of the sizes. out_info, structure: of the results.
    """

    like: Dims
    groups: tuple[tuple[int, ...], ...]
    lows: Dims
    highs: Dims
    merged: MergedTrace
    numbers: FoldedNumbers
    reserves: dict[Operation, At]
    out_info: object
    structure: jax.tree_util.PyTreeDef | None

    def sizes(self, dims: Dims) -> Dims | None:
        """Returns the differing sizes of arguments, or None if these are not inside of the box or the program computes other numbers for them."""
        if len(dims) != len(self.like):
            return None
        sizes = _at(dims, self.groups)
        if _substituted(self.like, self.groups, sizes) != dims or not all(a <= x <= b for a, x, b in zip(self.lows, sizes, self.highs, strict=True)):
            return None
        return sizes if self.numbers.agree(sizes) else None


class TraceFamily:
    """The traces of one program, collected until they can be merged into a box."""

    def __init__(self) -> None:
        self._members: list[_Member] = []
        self._box: _Box | None = None
        self._is_over = False

    def made(self, arguments: Arguments, tracing: Tracing) -> tuple[Trace, Notes] | None:
        """Returns a trace for the shapes of arguments, derived from the merged trace, or None. Its notes have no checks."""
        leaves = jax.tree.leaves(arguments)
        # One evaluation of the merged equations with the numbers of these sizes, which JAX traces: much faster than running the kernels.
        box = self._box
        if box is None or (sizes := box.sizes(_dims(leaves))) is None:
            return None
        try:
            jaxpr = made_trace(lambda *given: box.merged(sizes, given), leaves)
        except (TypeError, ValueError):  # JAX rejects the type of an equation: the sizes matter in a way that the traces did not show
            self._end()
            return None
        derived = Trace(jaxpr, box.out_info)
        if cache_checks.Switch.is_on:
            cache_checks.same_results(derived, tracing.sibling().trace(arguments), arguments)
        reserves = {op: at(sizes) for op, at in box.reserves.items()}
        return derived, Notes(box.structure, (), reserves, (), (), is_of_others=True)

    def add(self, arguments: Arguments, tracing: Tracing) -> None:
        """Adds a trace that JAX made for arguments, and merges the traces if there are enough."""
        trace, notes = tracing.trace(arguments), tracing.notes
        # Nothing to do once there is a box, or merging has failed, or for small programs.
        if self._is_over or self._box is not None or len(trace.jaxpr.jaxpr.eqns) < FEW_EQUATIONS:
            return
        dims = _dims(jax.tree.leaves(arguments))
        members = [*(m for m in self._members if m.dims != dims), _Member(dims, trace, notes, tracing.folded)]
        self._members = members[-MOST_MEMBERS:]
        self._merge(self._members, arguments, tracing)

    def _end(self) -> None:
        """Gives up merging: from now on, shapes are traced one by one."""
        self._box, self._is_over = None, True
        self._members = []

    def _merge(self, members: list[_Member], arguments: Arguments, tracing: Tracing) -> None:
        """Makes the box if there are enough members that differ from the last one in at most MOST_SIZES sizes."""
        last = members[-1]
        members = [m for m in members if len(m.dims) == len(last.dims)]
        # Members that agree with the last one at all other positions. More than 2**n of them, for n differing sizes, verify the fit.
        groups = _varying([m.dims for m in members])
        usual = [m for m in members if min(_at(m.dims, groups), default=0) >= SMALLEST]
        alike = [m for m in usual if _substituted(last.dims, groups, _at(m.dims, groups)) == m.dims]
        if not 1 <= len(groups) <= MOST_SIZES or len(alike) <= 2 ** len(groups):
            return
        # The box reaches from half of the smallest size to twice the largest. Its corners are traced too, and must lie on the same polynomials.
        columns = list(zip(*(_at(m.dims, groups) for m in alike), strict=True))
        lows, highs = tuple(max(min(c) // 2, min(*c, USUAL)) for c in columns), tuple(2 * max(c) + 1 for c in columns)
        try:
            for corner in itertools.product(*zip(lows, highs, strict=True)):
                alike.append(_traced_at(_substituted(last.dims, groups, corner), arguments, tracing))
        except (Replan, TypeError, ValueError, errors.OpError):  # the program rejects the sizes of a corner
            self._end()
            return
        # Merge members and corners; any difference that is no polynomial ends the attempt for good.
        try:
            points = [_at(m.dims, groups) for m in alike]
            if not _have_all_remainders(points):
                raise Differing("the sizes have a factor in common")
            fit = Fit(points)
            merged = MergedTrace(fit, [m.trace.jaxpr for m in alike], "the program")
            numbers = FoldedNumbers(fit, [m.folded for m in alike])
            reserves = _merged_reserves(fit, [m.notes for m in alike])
        except Differing:
            self._end()
            return
        self._box = _Box(last.dims, groups, lows, highs, merged, numbers, reserves, last.trace.out_info, last.notes.structure)
        self._members = []


def _dims(leaves: Sequence[jax.ShapeDtypeStruct]) -> Dims:
    return tuple(itertools.chain.from_iterable(leaf.shape for leaf in leaves))


def _at(dims: Dims, groups: Sequence[Sequence[int]]) -> Dims:
    """Returns the size of each group."""
    return tuple(dims[group[0]] for group in groups)


def _traced_at(dims: Dims, arguments: Arguments, tracing: Tracing) -> _Member:
    """Traces the program for arguments of other sizes."""
    # `dims` has the sizes of all arguments one after another: each takes as many as it has dimensions.
    left = iter(dims)
    structs = [jax.ShapeDtypeStruct(tuple(itertools.islice(left, len(a.shape))), a.dtype) for a in jax.tree.leaves(arguments)]
    again = tracing.sibling()
    trace = again.trace(jax.tree.unflatten(jax.tree.structure(arguments), structs))
    return _Member(dims, trace, again.notes, again.folded)


def _varying(dims_of_each: Sequence[Dims]) -> tuple[tuple[int, ...], ...]:
    """Returns the positions of sizes with at least three values, grouped: sizes that are always equal are one."""
    columns: dict[tuple[int, ...], list[int]] = {}
    for position, column in enumerate(zip(*dims_of_each, strict=True)):
        # Two values determine a line, and leave none to verify it.
        if len(set(column)) > 2:
            columns.setdefault(column, []).append(position)
    return tuple(map(tuple, columns.values()))


def _substituted(dims: Dims, groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> Dims:
    """Returns `dims` with the size of each group replaced."""
    changed = {position: size for group, size in zip(groups, sizes, strict=True) for position in group}
    return tuple(changed.get(i, size) for i, size in enumerate(dims))


def _have_all_remainders(points: Sequence[Dims]) -> bool:
    """Whether the differences of each size have greatest common divisor 1; otherwise a rounding of sizes, as by a stride, might not show."""
    return all(math.gcd(*(x - column[0] for x in column)) == 1 for column in zip(*points, strict=True))


def _merged_reserves(fit: Fit, notes: Sequence[Notes]) -> dict[Operation, At]:
    """Returns the number of draws of each random operation as a polynomial of the sizes.

    Raises:
      Differing: there is no such polynomial, a number of draws depends on data, or the results have different structures.
    """
    first = notes[0]
    if any(n.structure != first.structure or n.moving or n.reserves.keys() != first.reserves.keys() for n in notes):
        raise Differing("the results have another structure for other sizes")
    polynomials = {op: fit.number([n.reserves[op] for n in notes]) for op in first.reserves}
    if any(at is None for at in polynomials.values()):
        raise Differing("the number of random draws is no polynomial of the sizes")
    return {op: at for op, at in polynomials.items() if at is not None}
