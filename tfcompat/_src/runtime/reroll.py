"""A trace computed with its repeats as loops: as quick to compile as one iteration, and as quick to run.

What iterations give to the outside is stacked. Products that are only added up over all iterations (the gradients of a cell's
weights) are not computed in the loop: one product of the stacks of their factors is the sum.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.arrays import Array, NDArray
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, JaxprEqn, Literal, Var, array_type
from tfcompat._src.runtime import normal_form, repeats
from tfcompat._src.runtime.repeats import Carried, Invariant, Local, Repeat, Source, Varying


def rerolled(traced: jax.stages.Traced) -> Callable[..., Any] | None:
    """A function of the arguments of a traced one that computes the same with loops; None where nothing in the trace repeats."""
    trace = normal_form.normalized(traced.jaxpr)
    found = repeats.find(trace.jaxpr)
    if not found:
        return None
    plan, results = _Plan(trace, found), jax.tree.structure(traced.out_info)

    def rolled(*arguments: object) -> Any:
        return jax.tree.unflatten(results, _Run(plan, jax.tree.leaves(arguments)).outputs())

    return rolled


Made = tuple[int, int]
"""What an equation of an iteration makes: its position, and the number of the output."""
Group = tuple[int, int, int]
"""What all iterations of a repeat make: its number, the position of the equation, and the number of the output."""

_VIEWS = ("reshape", "squeeze", "slice")
"""Equations that are computed only where their result is asked for."""


@dataclasses.dataclass
class _Stacked:
    """The arrays of iterations in one array, at `base`, `base + step`, ..."""

    array: jax.Array
    base: int
    step: int

    def at(self, index: Array) -> jax.Array:
        found: jax.Array = lax.dynamic_index_in_dim(self.array, self.base + self.step * index, keepdims=False)
        return found

    def whole(self, count: int) -> jax.Array:
        """The arrays of `count` iterations in their order."""
        first, last = sorted((self.base, self.base + self.step * (count - 1)))
        found = lax.slice_in_dim(self.array, first, last + 1)
        return lax.rev(found, (0,)) if self.step < 0 else found


@dataclasses.dataclass
class _Reshaped:
    """The arrays of iterations in another shape."""

    arrays: _Stacked | _Reshaped | _Blocks
    shape: tuple[int, ...]

    def at(self, index: Array) -> jax.Array:
        return lax.reshape(self.arrays.at(index), self.shape)

    def whole(self, count: int) -> jax.Array:
        return lax.reshape(self.arrays.whole(count), (count, *self.shape))


@dataclasses.dataclass
class _Blocks:
    """The arrays of iterations as blocks of one array; `starts` has a row for each."""

    array: Array
    starts: NDArray
    shape: tuple[int, ...]

    def at(self, index: Array) -> jax.Array:
        start = jnp.asarray(self.starts)[index]
        return lax.dynamic_slice(self.array, [start[d] for d in range(len(self.shape))], self.shape)

    def whole(self, count: int) -> jax.Array:
        return jax.vmap(self.at)(np.arange(count, dtype=np.int32))


@dataclasses.dataclass(frozen=True)
class _Sum:
    """A chain of additions: single terms, and (repeat, position, output) of what all iterations of a repeat contribute."""

    single: tuple[Atom, ...]
    repeated: tuple[Group, ...]


class _Plan:
    """What the loops of a trace give to the outside, and the sums that are computed of that."""

    def __init__(self, trace: ClosedJaxpr, found: list[Repeat]) -> None:
        self.trace, self.repeats = trace, found
        equations = trace.jaxpr.eqns
        self.made = {v: (i, o) for i, e in enumerate(equations) for o, v in enumerate(e.outvars)}
        self.users: dict[Atom, list[int]] = {}
        for i, e in enumerate((*equations, None)):
            for v in trace.jaxpr.outvars if e is None else e.invars:
                if isinstance(v, Var):
                    self.users.setdefault(v, []).append(i)
        self.sums: dict[int, _Sum] = {}
        self.skipped: set[int] = set()
        self._find_sums()
        self.summed = {group for s in self.sums.values() for group in s.repeated}
        self.wanted = [self._wanted(n) for n in range(len(found))]

    def member(self, atom: Atom) -> tuple[int, int, int, int] | None:
        """Number of the repeat, iteration, position and output number of what a repeat makes."""
        if not isinstance(atom, Var) or atom not in self.made:
            return None
        places = ((n, r.place(*self.made[atom])) for n, r in enumerate(self.repeats))
        return next(((n, *place) for n, place in places if place is not None), None)

    # ---- sums ----

    def _is_link(self, atom: Atom) -> TypeGuard[Var]:
        """Whether an array is a sum that stands outside of repeats and is only added to another."""
        if not isinstance(atom, Var) or atom not in self.made or self.member(atom) is not None or len(self.users[atom]) != 1:
            return False
        user = self.users[atom][0]
        return self._is_addition(self.made[atom][0]) and user < len(self.trace.jaxpr.eqns) and self._is_addition(user)

    def _is_addition(self, index: int) -> bool:
        equation = self.trace.jaxpr.eqns[index]
        return equation.primitive.name in ("add", "add_any") and np.issubdtype(array_type(equation.outvars[0]).dtype, np.inexact)

    def _find_sums(self) -> None:
        for i, e in enumerate(self.trace.jaxpr.eqns):
            result: Var | None = e.outvars[0] if e.outvars else None
            if result is not None and self._is_addition_outside(i, result) and not self._is_link(result):
                links: list[int] = []
                found = self._sum(self._terms(e, links))
                if found.repeated:
                    self.sums[i] = found
                    self.skipped.update(links)

    def _is_addition_outside(self, index: int, result: Var) -> bool:
        return result in self.users and self._is_addition(index) and self.member(result) is None

    def _terms(self, equation: JaxprEqn, links: list[int]) -> list[Atom]:
        """The terms of a chain of additions in their order; `links` gets the additions but the last."""
        terms, left = [], [*reversed(equation.invars)]
        while left:
            atom = left.pop()
            if self._is_link(atom):
                index = self.made[atom][0]
                links.append(index)
                left += reversed(self.trace.jaxpr.eqns[index].invars)
            else:
                terms.append(atom)
        return terms

    def _sum(self, terms: list[Atom]) -> _Sum:
        groups: dict[Group, list[int]] = {}
        for atom in terms:
            member = self.member(atom)
            if member is not None and len(self.users[atom]) == 1:
                number, iteration, position, output = member
                groups.setdefault((number, position, output), []).append(iteration)
        whole = tuple(g for g, iterations in groups.items() if sorted(iterations) == list(range(self.repeats[g[0]].count)))
        single = [a for a in terms if (m := self.member(a)) is None or (m[0], *m[2:]) not in whole]
        return _Sum(tuple(single), whole)

    def factors(self, number: int, position: int) -> tuple[Source, ...] | None:
        """The sources of the factors where an equation of a repeat is a product of what differs from iteration to iteration."""
        repeat = self.repeats[number]
        if repeat.equations[position].primitive.name != "dot_general":
            return None
        sources = repeat.operands[position]
        return None if any(isinstance(s, Invariant) for s in sources) else sources

    # ---- what a loop gives ----

    def _wanted(self, number: int) -> tuple[list[Made], list[Made]]:
        """(position, output) of what all iterations give to the outside, and of what only the last one does."""
        repeat = self.repeats[number]
        stacked: list[Made] = []
        last: list[Made] = []
        for other, position, output in self.summed:
            if other == number and self.factors(number, position) is None:
                stacked.append((position, output))
        for position, equation in enumerate(repeat.equations):
            for output in range(len(equation.outvars)):
                iterations = [t for t in range(repeat.count) if self._is_used_outside(number, t, position, output)]
                if iterations:
                    (last if iterations == [repeat.count - 1] else stacked).append((position, output))
        return stacked, last

    def _is_used_outside(self, number: int, iteration: int, position: int, output: int) -> bool:
        repeat = self.repeats[number]
        users = self.users.get(self.variable(repeat, iteration, position, output), ())
        return any(not repeat.start <= u < repeat.end for u in users) and (number, position, output) not in self.summed

    def variable(self, repeat: Repeat, iteration: int, position: int, output: int) -> Var:
        made: Var = self.trace.jaxpr.eqns[repeat.start + iteration * repeat.period + position].outvars[output]
        return made


class _Run:
    """One evaluation of a trace."""

    def __init__(self, plan: _Plan, inputs: list[Array]) -> None:
        self.plan = plan
        jaxpr = plan.trace.jaxpr
        self.values: dict[Var, Array] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*plan.trace.consts, *inputs)))
        self.members: dict[Var, tuple[jax.Array, int]] = {}
        self.views: dict[Var, JaxprEqn] = {}
        self.factors: dict[tuple[int, int], list[jax.Array]] = {}

    def outputs(self) -> list[Array]:
        jaxpr = self.plan.trace.jaxpr
        starts = {r.start: n for n, r in enumerate(self.plan.repeats)}
        i = 0
        while i < len(jaxpr.eqns):
            if i in starts:
                self._loop(starts[i])
                i = self.plan.repeats[starts[i]].end
                continue
            equation = jaxpr.eqns[i]
            if equation.primitive.name in _VIEWS:
                self.views[equation.outvars[0]] = equation
            elif i in self.plan.sums:
                self.values[equation.outvars[0]] = self._sum(self.plan.sums[i])
            elif i not in self.plan.skipped:
                self._compute(equation)
            i += 1
        return [self.value(a) for a in jaxpr.outvars]

    def _compute(self, equation: JaxprEqn) -> None:
        if equation.primitive.name == "concatenate":
            results = [self._concatenated(equation)]
        else:
            results = _computed(equation, [self.value(a) for a in equation.invars])
        self.values.update(zip(equation.outvars, results))

    def _concatenated(self, equation: JaxprEqn) -> jax.Array:
        """A concatenation; operands that lie in one stack are taken out of it together."""
        parts, dimension = [], equation.params["dimension"]
        for _, group in itertools.groupby(equation.invars, self._home):
            atoms = list(group)
            arrays = self._stack(atoms) if len(atoms) > 1 else None
            if arrays is None:
                parts += [self.value(a) for a in atoms]
            else:
                parts.append(_joined(arrays.whole(len(atoms)), dimension))
        return lax.concatenate(parts, dimension)

    def _home(self, atom: Atom) -> int:
        """What tells apart the arrays that views are of."""
        while isinstance(atom, Var) and atom in self.views:
            atom = self.views[atom].invars[0]
        return id(self.members[atom][0] if isinstance(atom, Var) and atom in self.members else atom)

    def value(self, atom: Atom) -> Array:
        if isinstance(atom, Literal):
            known: Array = atom.val
            return known
        if atom in self.members and atom not in self.values:
            array, index = self.members[atom]
            self.values[atom] = lax.index_in_dim(array, index, keepdims=False)
        elif atom in self.views and atom not in self.values:
            equation = self.views[atom]
            self.values[atom] = _computed(equation, [self.value(a) for a in equation.invars])[0]
        return self.values[atom]

    # ---- a loop ----

    def _loop(self, number: int) -> None:
        repeat, (stacked, last) = self.plan.repeats[number], self.plan.wanted[number]
        products = [p for n, p, _ in self.plan.summed if n == number and self.plan.factors(number, p) is not None]
        varying = {s: self._stack(s.atoms) or self._copied(s.atoms) for sources in repeat.operands for s in sources if isinstance(s, Varying)}
        kept: list[Source] = list(dict.fromkeys(s for p in products for s in repeat.operands[p] if not isinstance(s, Varying)))
        body = _Body(self, repeat, varying)
        state = body.before(last)
        rounds = np.arange(repeat.count, dtype=np.int32)
        stacks: list[jax.Array]
        (_, lasts), stacks = lax.scan(lambda state, i: body(state, i, stacked, last, kept), state, rounds)
        for (position, output), stack in zip(stacked, stacks):
            for t in range(repeat.count):
                self.members[self.plan.variable(repeat, t, position, output)] = stack, t
        for (position, output), value in zip(last, lasts):
            self.values[self.plan.variable(repeat, repeat.count - 1, position, output)] = value
        whole: dict[Source, jax.Array] = {s: v.whole(repeat.count) for s, v in varying.items() if any(s in repeat.operands[p] for p in products)}
        whole.update(zip(kept, stacks[len(stacked) :]))
        for position in products:
            self.factors[number, position] = [whole[s] for s in repeat.operands[position]]

    def _stack(self, atoms: Sequence[Atom]) -> _Stacked | _Reshaped | _Blocks | None:
        """Arrays of iterations as they lie in arrays that are there; None where they do not."""
        found = [self.members[a] for a in atoms if isinstance(a, Var) and a in self.members]
        if len(found) == len(atoms) and all(array is found[0][0] for array, _ in found):
            steps = {b - a for (_, a), (_, b) in itertools.pairwise(found)}
            return _Stacked(*found[0], steps.pop()) if len(steps) == 1 else None
        makers = [self.views[a] for a in atoms if isinstance(a, Var) and a in self.views]
        if len(makers) < len(atoms) or len({repeats.equation_key(e) for e in makers}) > 1:
            return None
        shape, sources = array_type(makers[0].outvars[0]).shape, [e.invars[0] for e in makers]
        if makers[0].primitive.name == "slice":
            starts = np.array([repeats.block_start(e) for e in makers], np.int32)
            return _Blocks(self.value(sources[0]), starts, shape) if len(set(sources)) == 1 and starts.ndim == 2 else None
        arrays = self._stack(sources)
        return None if arrays is None else _Reshaped(arrays, shape)

    def _copied(self, atoms: Sequence[Atom]) -> _Stacked:
        values = [jnp.asarray(self.value(a), array_type(a).dtype) for a in atoms]
        return _Stacked(lax.concatenate([lax.expand_dims(v, (0,)) for v in values], 0), 0, 1)

    # ---- a sum ----

    def _sum(self, found: _Sum) -> Array:
        terms = [self.value(a) for a in found.single]
        for number, position, output in found.repeated:
            repeat = self.plan.repeats[number]
            if (number, position) in self.factors:
                terms.append(_summed_product(repeat.equations[position], *self.factors[number, position]))
            else:
                stack, _ = self.members[self.plan.variable(repeat, 0, position, output)]
                terms.append(jnp.sum(stack, 0, dtype=stack.dtype))
        total = terms[0]
        for term in terms[1:]:
            total = lax.add(total, term)
        return total


class _Body:
    """One iteration. Its state is a line of values for each `Carried` source, the newest first, and what is kept for the end."""

    def __init__(self, run: _Run, repeat: Repeat, varying: dict[Varying, _Stacked | _Reshaped | _Blocks]) -> None:
        self.run, self.repeat, self.varying = run, repeat, varying
        sources = dict.fromkeys(s for sources in repeat.operands for s in sources)
        self.lines = [s for s in sources if isinstance(s, Carried)]
        self.invariant = {s: run.value(s.atom) for s in sources if isinstance(s, Invariant)}

    def before(self, last: list[Made]) -> tuple[Any, ...]:
        lines = [[jnp.asarray(self.run.value(a), array_type(a).dtype) for a in reversed(line.initial)] for line in self.lines]
        kinds = [array_type(self.repeat.equations[p].outvars[o]) for p, o in last]
        return lines, [lax.full(k.shape, 0, k.dtype) for k in kinds]

    def __call__(self, state: tuple[Any, ...], index: Array, stacked: list[Made], last: list[Made], kept: list[Source]) -> tuple[Any, ...]:
        lines, _ = state
        before = {line: values[-1] for line, values in zip(self.lines, lines)}
        made: dict[Made, jax.Array] = {}

        def value(source: Source) -> Array:
            if isinstance(source, Local):
                return made[source.position, source.output]
            if isinstance(source, Varying):
                return self.varying[source].at(index)
            return before[source] if isinstance(source, Carried) else self.invariant[source]

        for position, (equation, sources) in enumerate(zip(self.repeat.equations, self.repeat.operands)):
            inputs = [value(s) for s in sources]
            if position in self.repeat.starts:
                results = [_block(equation, inputs, jnp.asarray(self.repeat.starts[position])[index])]
            else:
                results = _computed(equation, inputs)
            made.update({(position, o): r for o, r in enumerate(results)})
        lines = [[made[line.position, line.output], *values[:-1]] for line, values in zip(self.lines, lines)]
        return (lines, [made[p] for p in last]), [*[made[p] for p in stacked], *[value(s) for s in kept]]


def _computed(equation: JaxprEqn, inputs: Sequence[Array]) -> list[jax.Array]:
    params = equation.primitive.get_bind_params(equation.params)
    with equation.ctx.manager:
        found = equation.primitive.bind(*inputs, **params)
    return found if equation.primitive.multiple_results else [found]


def _block(equation: JaxprEqn, inputs: Sequence[Array], start: jax.Array) -> jax.Array:
    """A slice, or a padded array, whose block begins at a traced `start`."""
    sizes, first = array_type(equation.outvars[0]).shape, [start[d] for d in range(start.size)]
    if equation.primitive.name == "slice":
        return lax.dynamic_slice(inputs[0], first, sizes)
    return lax.dynamic_update_slice(jnp.broadcast_to(inputs[1], sizes).astype(inputs[0].dtype), inputs[0], first)


def _joined(stack: jax.Array, dimension: int) -> jax.Array:
    """The arrays of a stack, one behind the other in a dimension."""
    moved = jnp.moveaxis(stack, 0, dimension)
    sizes = stack.shape[1:]
    return lax.reshape(moved, (*sizes[:dimension], stack.shape[0] * sizes[dimension], *sizes[dimension + 1 :]))


def _summed_product(equation: JaxprEqn, left: jax.Array, right: jax.Array) -> jax.Array:
    """The sum of the products of the rows of two stacks: their contraction over the rows too."""
    (left_sums, right_sums), (left_batch, right_batch) = equation.params["dimension_numbers"]

    def shifted(dimensions: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(d + 1 for d in dimensions)

    numbers = (((0, *shifted(left_sums)), (0, *shifted(right_sums))), (shifted(left_batch), shifted(right_batch)))
    params = {**equation.params, "dimension_numbers": numbers}
    return _computed(equation.replace(params=params), [left, right])[0]
