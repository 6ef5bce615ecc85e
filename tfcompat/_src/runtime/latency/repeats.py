"""Finds repeats in a trace: sequences of equations that occur many times in a row, as in an RNN that is unrolled over time.

A repeat is a stretch of `count` iterations of `period` equations. Equations at the same position of all iterations are equal, and each operand
comes from the same source: from outside, from the same iteration, or from one a fixed distance before. Candidates are runs of equal equation
keys at a distance of `period`, found with one comparison of the array of keys for each period; then the operands are checked.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, array_type, jaxprs_in_params

SAVED = 100
"""Least number of equations that a repeat saves."""
SHORTEST, LONGEST = 3, 3000
"""Bounds of the number of equations of an iteration."""
FEWEST = 4
"""Least number of iterations."""
VARYING = 2**16
"""Most elements, in all, of program inputs that differ between iterations: they are copied to be stacked."""
FUSED = 2**16
"""Iterations without a product are not rerolled if one of their arrays has this many elements: XLA fuses them into fewer passes over memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Invariant:
    """A source outside of the repeat that is the same in all iterations."""

    atom: Atom


@dataclasses.dataclass(frozen=True, eq=False)
class Varying:
    """A source outside of the repeat: one atom for each iteration."""

    atoms: tuple[Atom, ...]


@dataclasses.dataclass(frozen=True)
class Local:
    """An output of an equation of the same iteration."""

    position: int
    output: int


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """An output of an equation `distance` iterations before; the first `distance` iterations take `initial`, from outside."""

    position: int
    output: int
    distance: int
    initial: tuple[Atom, ...]


Source = Invariant | Varying | Local | Carried
"""The source of an operand in all iterations."""


@dataclasses.dataclass(frozen=True, eq=False)
class Repeat:
    """A stretch of a trace.

    Attributes:
      start: index of the first equation. period: equations of an iteration. count: number of iterations.
      equations: those of the first iteration. operands: the sources of their operands, one object per source.
      starts: for slices and paddings whose block moves, by position: the start of the block in each iteration, int32[count, rank].
    """

    start: int
    period: int
    count: int
    equations: tuple[JaxprEqn, ...]
    operands: tuple[tuple[Source, ...], ...]
    starts: dict[int, NDArray]

    @property
    def end(self) -> int:
        return self.start + self.period * self.count

    def place(self, index: int, output: int) -> tuple[int, int, int] | None:
        """Returns (iteration, position, output) for an output of equation `index` of the trace, or None if that is outside."""
        if not self.start <= index < self.end:
            return None
        return (index - self.start) // self.period, (index - self.start) % self.period, output


def find(jaxpr: Jaxpr) -> list[Repeat]:
    """Returns disjoint repeats of a trace, in order. Greedy choice: those that save the most equations come first."""
    # Keys become integers, so that NumPy compares whole stretches at once.
    numbers: dict[Hashable, int] = {}
    keys = np.array([numbers.setdefault(equation_key(e), len(numbers)) for e in jaxpr.eqns], np.int32)
    made = {v: (i, o) for i, e in enumerate(jaxpr.eqns) for o, v in enumerate(e.outvars)}
    sizes = np.cumsum([0, *map(_size, jaxpr.eqns)])
    found: list[Repeat] = []
    for stretch in sorted(_stretches(keys, sizes), key=lambda c: (-_saved(sizes, *c), c[1])):
        if _is_fused(jaxpr.eqns[stretch[0] : stretch[0] + stretch[1]]):
            continue
        # Equal keys do not imply equal sources: if the whole stretch is no repeat, it is divided where a source changes.
        whole = _repeat(jaxpr, made, *stretch)
        parts = [whole] if whole else [_repeat(jaxpr, made, *p) for p in _parts(jaxpr, made, sizes, *stretch)]
        found += [p for p in parts if p and not any(r.start < p.end and p.start < r.end for r in found)]
    return sorted(found, key=lambda r: r.start)


def _stretches(keys: NDArray, sizes: NDArray) -> Iterator[tuple[int, int, int]]:
    """Yields (start, period, count) of the stretches in which each key equals the one a period later."""
    for period in range(SHORTEST, min(LONGEST, len(keys) // FEWEST) + 1):
        # Maximal runs of positions whose key equals the one a period later, from the changes of the comparison.
        again = np.concatenate([[False], keys[period:] == keys[:-period], [False]])
        changes = np.flatnonzero(again[1:] != again[:-1])
        for start, end in zip(changes[::2].tolist(), changes[1::2].tolist()):
            stretch = start, period, (end - start) // period + 1
            if _saved(sizes, *stretch) >= SAVED:
                yield stretch


def _saved(sizes: NDArray, start: int, period: int, count: int) -> int:
    """Returns the number of equations that a loop saves, those of inner traces included; 0 for too few iterations."""
    return int(sizes[start + period * count] - sizes[start + period]) if count >= FEWEST else 0


def _is_fused(iteration: Sequence[JaxprEqn]) -> bool:
    """Whether XLA would fuse consecutive iterations with profit: no products or inner traces, and a large array."""
    large = any(math.prod(array_type(v).shape) >= FUSED for e in iteration for v in e.outvars)
    return large and not any(_is_product(e) or any(True for _ in jaxprs_in_params(e.params)) for e in iteration)


def _is_product(equation: JaxprEqn) -> bool:
    """Whether an equation is a matrix product or convolution; a contraction over one element counts as elementwise."""
    if equation.primitive.name != "dot_general":
        return equation.primitive.name == "conv_general_dilated"
    (contracted, _), _ = equation.params["dimension_numbers"]
    return bool(math.prod(array_type(equation.invars[0]).shape[d] for d in contracted) > 1)


def _size(equation: JaxprEqn) -> int:
    """Returns the number of equations of an equation: itself and those of its inner traces."""
    return 1 + sum(_size(e) for inner in jaxprs_in_params(equation.params) for e in inner.eqns)


def _parts(jaxpr: Jaxpr, made: dict[Var, tuple[Any, ...]], sizes: NDArray, start: int, period: int, count: int) -> list[tuple[int, int, int]]:
    """Divides a stretch into parts in which every operand has the same source relative to its iteration."""
    repeat, breaks = Repeat(start, period, count, (), (), {}), {0, count}
    for position in range(period):
        iterations = jaxpr.eqns[start + position : repeat.end : period]
        for atoms in zip(*[e.invars for e in iterations]):
            relations = [_relation(repeat, made, t, atoms) for t in range(count)]
            # The first iterations of a carried operand come from outside: the relation of the last iteration says how many.
            begins = relations[-1][0] if len(relations[-1]) == 3 else 1
            breaks.update(t for t in range(begins + 1, count) if relations[t] != relations[t - 1])
            if begins < count and len(relations[begins - 1]) == 3:
                breaks.add(begins)
        # Further positions only divide the parts again: stop early if all of them are too short.
        parts = [(start + a * period, period, b - a) for a, b in itertools.pairwise(sorted(breaks))]
        parts = [p for p in parts if _saved(sizes, *p) >= SAVED]
        if not parts:
            break
    return parts


def _relation(repeat: Repeat, made: dict[Var, tuple[Any, ...]], iteration: int, atoms: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns how an operand relates to its iteration.

    () for a literal; (distance, position, output) for a variable of the repeat; (whether it equals the one of the iteration before,) for others.
    """
    atom = atoms[iteration]
    if isinstance(atom, Literal):
        return ()
    member = repeat.place(*made[atom]) if atom in made else None
    return (atom is atoms[iteration - 1],) if member is None else (iteration - member[0], *member[1:])


def _repeat(jaxpr: Jaxpr, made: dict[Var, tuple[Any, ...]], start: int, period: int, count: int) -> Repeat | None:
    """Returns a stretch as a repeat with the sources of its operands, or None if it is not one or must not become a loop."""
    equations = jaxpr.eqns
    repeat = Repeat(start, period, count, tuple(equations[start : start + period]), (), {})
    operands: list[tuple[Source, ...]] = []
    starts: dict[int, NDArray] = {}
    sources: dict[Hashable, Source] = {}
    for position in range(period):
        iterations = equations[start + position : repeat.end : period]
        if iterations[0].primitive.name == "cond" or any(e.effects for e in iterations):
            return None  # conditionals are slower in loops
        candidates = [_source(repeat, made, atoms) for atoms in zip(*[e.invars for e in iterations])]
        known = [s for s in candidates if s is not None]
        if len(known) < len(candidates):
            return None
        operands.append(tuple(sources.setdefault(_source_key(s), s) for s in known))
        # Keys ignore the start of a block: where it moves, it becomes data of the loop.
        begins = [block_start(e) for e in iterations]
        if begins[0] is not None and any(b != begins[0] for b in begins):
            starts[position] = np.array(begins, np.int32)
    # Program inputs that differ by iteration, as the weights of a deep network's layers, would be copied into a stack in every run.
    given = {*jaxpr.invars, *jaxpr.constvars}
    varying = {a for s in sources.values() if isinstance(s, Varying) for a in s.atoms if isinstance(a, Var)}
    if sum(math.prod(array_type(v).shape) for v in varying & given) > VARYING:
        return None
    return dataclasses.replace(repeat, operands=tuple(operands), starts=starts)


def _source(repeat: Repeat, made: dict[Var, tuple[Any, ...]], atoms: tuple[Any, ...]) -> Source | None:
    """Returns the source of an operand, given its atom in each iteration, or None if there is no common one."""
    members = [repeat.place(*made[a]) if isinstance(a, Var) and a in made else None for a in atoms]
    # From outside in the last iteration: then from outside in all.
    if members[-1] is None:
        if any(m is not None for m in members):
            return None
        if len(set(map(_atom_key, atoms))) == 1:
            return Invariant(atoms[0])
        variables = [a for a in atoms if isinstance(a, Var)]
        return Varying(atoms) if len(set(variables)) == len(variables) else None
    # Made in the repeat: the last iteration tells the distance, at which all iterations but the first `distance` must find it.
    last, position, output = members[-1]
    distance = repeat.count - 1 - last
    if members != [None] * distance + [(t, position, output) for t in range(repeat.count - distance)]:
        return None
    return Carried(position, output, distance, atoms[:distance]) if distance else Local(position, output)


def _source_key(source: Source) -> Hashable:
    return type(source), *[tuple(map(_atom_key, v)) if isinstance(v, tuple) else _atom_key(v) for v in vars(source).values()]


# ---- what an equation computes ----


def equation_key(equation: JaxprEqn) -> Hashable:
    """Returns a key that is equal for equations that compute the same function of their operands, up to the start of a slice or pad."""
    name, params = equation.primitive.name, dict(equation.params)
    # The types of operands and results determine a block up to its start. The rules of a custom derivative are not part of its value.
    if block_start(equation) is not None:
        params = {}
    elif name == "custom_jvp_call":
        params = {"call_jaxpr": params["call_jaxpr"]}
    return name, _param_key(params), tuple(a.aval for a in equation.invars), tuple(v.aval for v in equation.outvars)


def _param_key(value: object) -> Hashable:
    """Returns a key of a parameter that compares its content; objects that cannot be hashed compare by identity."""
    if isinstance(value, ClosedJaxpr):
        return _jaxpr_key(value.jaxpr), tuple(id(c) for c in value.consts)
    if isinstance(value, Jaxpr):
        return _jaxpr_key(value)
    if isinstance(value, dict):
        return tuple((k, _param_key(v)) for k, v in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_param_key, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


def _jaxpr_key(jaxpr: Jaxpr) -> Hashable:
    """Returns a key of an inner trace that does not depend on the identity of its variables: they are numbered as they occur."""
    numbers: dict[Var, int] = {}

    def atom_key(atom: Atom) -> Hashable:
        if isinstance(atom, Literal):
            return _atom_key(atom)
        return numbers.setdefault(atom, len(numbers)), atom.aval

    inputs = [atom_key(v) for v in (*jaxpr.constvars, *jaxpr.invars)]
    equations = [(equation_key(e), block_start(e), *map(atom_key, (*e.invars, *e.outvars))) for e in jaxpr.eqns]
    return tuple(inputs), tuple(equations), tuple(map(atom_key, jaxpr.outvars))


def block_start(equation: JaxprEqn) -> tuple[int, ...] | None:
    """Returns the start of the block that a slice without strides takes, or that a pad puts its operand at; None for other equations."""
    name, params = equation.primitive.name, equation.params
    if name == "slice" and set(params["strides"] or ()) <= {1}:
        return tuple(params["start_indices"])
    if name == "pad" and all(low >= 0 <= high and not inside for low, high, inside in params["padding_config"]):
        return tuple(low for low, _, _ in params["padding_config"])
    return None


def _atom_key(atom: Atom) -> Hashable:
    """Returns a key that is equal for the same variable, and for literals with the same type and bits."""
    return (atom.aval, np.asarray(atom.val).tobytes()) if isinstance(atom, Literal) else atom
