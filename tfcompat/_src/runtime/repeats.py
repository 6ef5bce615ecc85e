"""Finds repeats in a trace: equations that stand in it many times over, as those of an RNN do that is unrolled over time.

A repeat is a stretch of `count` times `period` equations. The equations at one place of all periods, its iterations, compute the
same of arrays that come from the same places: from outside, from the same iteration, or from one a fixed distance before.
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
"""A repeat is one that saves as many equations."""
SHORTEST, LONGEST = 3, 3000
"""How many equations an iteration has."""
FEWEST = 4
"""How many iterations a repeat has."""
VARYING = 2**16
"""The inputs of a program that differ from iteration to iteration may have as many elements in all; they are copied."""
FUSED = 2**16
"""Iterations without a product that compute arrays of as many elements stay apart: XLA fuses them into fewer passes over memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Invariant:
    """The same array in each iteration, from outside."""

    atom: Atom


@dataclasses.dataclass(frozen=True, eq=False)
class Varying:
    """Another array in each iteration, from outside."""

    atoms: tuple[Atom, ...]


@dataclasses.dataclass(frozen=True)
class Local:
    """An output of an equation of the same iteration."""

    position: int
    output: int


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """An output of an equation of the iteration `distance` before; `initial` are the arrays of the first ones."""

    position: int
    output: int
    distance: int
    initial: tuple[Atom, ...]


Source = Invariant | Varying | Local | Carried
"""Where an operand comes from in each iteration."""


@dataclasses.dataclass(frozen=True, eq=False)
class Repeat:
    """`operands` says where those of each equation of an iteration come from (one object per source), `starts` where its block
    begins in each iteration, for slices and paddings that differ in that."""

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
        """Iteration, position in it and number of an output of equation `index` of the trace; None where that stands outside."""
        if not self.start <= index < self.end:
            return None
        return (index - self.start) // self.period, (index - self.start) % self.period, output


def find(jaxpr: Jaxpr) -> list[Repeat]:
    """The repeats of a trace in its order, chosen from the one that saves most equations down."""
    numbers: dict[Hashable, int] = {}
    keys = np.array([numbers.setdefault(equation_key(e), len(numbers)) for e in jaxpr.eqns], np.int32)
    made = {v: (i, o) for i, e in enumerate(jaxpr.eqns) for o, v in enumerate(e.outvars)}
    sizes = np.cumsum([0, *map(_size, jaxpr.eqns)])
    found: list[Repeat] = []
    for stretch in sorted(_stretches(keys, sizes), key=lambda c: (-_saved(sizes, *c), c[1])):
        if _is_fused(jaxpr.eqns[stretch[0] : stretch[0] + stretch[1]]):
            continue
        whole = _repeat(jaxpr, made, *stretch)
        parts = [whole] if whole else [_repeat(jaxpr, made, *p) for p in _parts(jaxpr, made, sizes, *stretch)]
        found += [p for p in parts if p and not any(r.start < p.end and p.start < r.end for r in found)]
    return sorted(found, key=lambda r: r.start)


def _stretches(keys: NDArray, sizes: NDArray) -> Iterator[tuple[int, int, int]]:
    """Start, period and count of stretches whose keys come again."""
    for period in range(SHORTEST, min(LONGEST, len(keys) // FEWEST) + 1):
        again = np.concatenate([[False], keys[period:] == keys[:-period], [False]])
        changes = np.flatnonzero(again[1:] != again[:-1])
        for start, end in zip(changes[::2].tolist(), changes[1::2].tolist()):
            stretch = start, period, (end - start) // period + 1
            if _saved(sizes, *stretch) >= SAVED:
                yield stretch


def _saved(sizes: NDArray, start: int, period: int, count: int) -> int:
    """How many equations a loop saves; 0 for too few iterations."""
    return int(sizes[start + period * count] - sizes[start + period]) if count >= FEWEST else 0


def _is_fused(iteration: Sequence[JaxprEqn]) -> bool:
    """Whether XLA fuses iterations that follow each other: all is elementwise or moves elements, and some array is large."""
    large = any(math.prod(array_type(v).shape) >= FUSED for e in iteration for v in e.outvars)
    return large and not any(_is_product(e) or any(True for _ in jaxprs_in_params(e.params)) for e in iteration)


def _is_product(equation: JaxprEqn) -> bool:
    """Whether an equation sums products: a product over one element is computed as an elementwise one."""
    if equation.primitive.name != "dot_general":
        return equation.primitive.name == "conv_general_dilated"
    (contracted, _), _ = equation.params["dimension_numbers"]
    return bool(math.prod(array_type(equation.invars[0]).shape[d] for d in contracted) > 1)


def _size(equation: JaxprEqn) -> int:
    """How many equations an equation is, with those inside."""
    return 1 + sum(_size(e) for inner in jaxprs_in_params(equation.params) for e in inner.eqns)


def _parts(jaxpr: Jaxpr, made: dict[Var, tuple[Any, ...]], sizes: NDArray, start: int, period: int, count: int) -> list[tuple[int, int, int]]:
    """The parts of a stretch in which every operand comes from the same place relative to its iteration."""
    repeat, breaks = Repeat(start, period, count, (), (), {}), {0, count}
    for position in range(period):
        iterations = jaxpr.eqns[start + position : repeat.end : period]
        for atoms in zip(*[e.invars for e in iterations]):
            relations = [_relation(repeat, made, t, atoms) for t in range(count)]
            begins = relations[-1][0] if len(relations[-1]) == 3 else 1
            breaks.update(t for t in range(begins + 1, count) if relations[t] != relations[t - 1])
            if begins < count and len(relations[begins - 1]) == 3:
                breaks.add(begins)
        parts = [(start + a * period, period, b - a) for a, b in itertools.pairwise(sorted(breaks))]
        parts = [p for p in parts if _saved(sizes, *p) >= SAVED]
        if not parts:
            break
    return parts


def _relation(repeat: Repeat, made: dict[Var, tuple[Any, ...]], iteration: int, atoms: tuple[Any, ...]) -> tuple[Any, ...]:
    """How many iterations before, and where, an operand is made; or whether it is another one than in the iteration before."""
    atom = atoms[iteration]
    if isinstance(atom, Literal):
        return ()
    place = repeat.place(*made[atom]) if atom in made else None
    return (atom is atoms[iteration - 1],) if place is None else (iteration - place[0], *place[1:])


def _repeat(jaxpr: Jaxpr, made: dict[Var, tuple[Any, ...]], start: int, period: int, count: int) -> Repeat | None:
    equations = jaxpr.eqns
    repeat = Repeat(start, period, count, tuple(equations[start : start + period]), (), {})
    operands: list[tuple[Source, ...]] = []
    starts: dict[int, NDArray] = {}
    sources: dict[Hashable, Source] = {}
    for position in range(period):
        iterations = equations[start + position : repeat.end : period]
        if iterations[0].primitive.name == "cond" or any(e.effects for e in iterations):
            return None  # conditionals are slower in loops
        found = [_source(repeat, made, atoms) for atoms in zip(*[e.invars for e in iterations])]
        known = [s for s in found if s is not None]
        if len(known) < len(found):
            return None
        operands.append(tuple(sources.setdefault(_source_key(s), s) for s in known))
        begins = [block_start(e) for e in iterations]
        if begins[0] is not None and any(b != begins[0] for b in begins):
            starts[position] = np.array(begins, np.int32)
    given = {*jaxpr.invars, *jaxpr.constvars}
    varying = {a for s in sources.values() if isinstance(s, Varying) for a in s.atoms if isinstance(a, Var)}
    if sum(math.prod(array_type(v).shape) for v in varying & given) > VARYING:
        return None
    return dataclasses.replace(repeat, operands=tuple(operands), starts=starts)


def _source(repeat: Repeat, made: dict[Var, tuple[Any, ...]], atoms: tuple[Any, ...]) -> Source | None:
    """Where one operand comes from in all iterations; None where that does not repeat."""
    places = [repeat.place(*made[a]) if isinstance(a, Var) and a in made else None for a in atoms]
    if places[-1] is None:
        if any(p is not None for p in places):
            return None
        if len(set(map(_atom_key, atoms))) == 1:
            return Invariant(atoms[0])
        variables = [a for a in atoms if isinstance(a, Var)]
        return Varying(atoms) if len(set(variables)) == len(variables) else None
    last, position, output = places[-1]
    distance = repeat.count - 1 - last
    if places != [None] * distance + [(t, position, output) for t in range(repeat.count - distance)]:
        return None
    return Carried(position, output, distance, atoms[:distance]) if distance else Local(position, output)


def _source_key(source: Source) -> Hashable:
    return type(source), *[tuple(map(_atom_key, v)) if isinstance(v, tuple) else _atom_key(v) for v in vars(source).values()]


# ---- what an equation computes ----


def equation_key(equation: JaxprEqn) -> Hashable:
    """Equal for equations that compute the same of other arrays, also of a block of them that begins elsewhere."""
    name, params = equation.primitive.name, dict(equation.params)
    if block_start(equation) is not None:
        params = {}
    elif name == "custom_jvp_call":
        params = {"call_jaxpr": params["call_jaxpr"]}
    return name, _param_key(params), tuple(a.aval for a in equation.invars), tuple(v.aval for v in equation.outvars)


def _param_key(value: object) -> Hashable:
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
    numbers: dict[Var, int] = {}

    def atom_key(atom: Atom) -> Hashable:
        if isinstance(atom, Literal):
            return _atom_key(atom)
        return numbers.setdefault(atom, len(numbers)), atom.aval

    inputs = [atom_key(v) for v in (*jaxpr.constvars, *jaxpr.invars)]
    equations = [(equation_key(e), block_start(e), *map(atom_key, (*e.invars, *e.outvars))) for e in jaxpr.eqns]
    return tuple(inputs), tuple(equations), tuple(map(atom_key, jaxpr.outvars))


def block_start(equation: JaxprEqn) -> tuple[int, ...] | None:
    """Where the block begins that a slice takes out of an array, or a padding puts into one; None for other equations."""
    name, params = equation.primitive.name, equation.params
    if name == "slice" and set(params["strides"] or ()) <= {1}:
        return tuple(params["start_indices"])
    if name == "pad" and all(low >= 0 <= high and not inside for low, high, inside in params["padding_config"]):
        return tuple(low for low, _, _ in params["padding_config"])
    return None


def _atom_key(atom: Atom) -> Hashable:
    """What is equal for one variable, and for literals with the same bits."""
    return (atom.aval, np.asarray(atom.val).tobytes()) if isinstance(atom, Literal) else atom
