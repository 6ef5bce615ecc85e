"""Loop rerolling: evaluates a trace with each repeat (latency/repeats.py) as one `lax.scan`, which compiles in the time of one iteration.

Values that an iteration makes and that live after the loop are stacked. Products whose only use is a sum over all iterations, as the gradients
of an RNN cell's weights, are not computed in the loop: one product of the stacked factors, which contracts over the iterations too, is the sum.
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
from tfcompat._src.runtime.latency import normal_form, repeats
from tfcompat._src.runtime.latency.repeats import Carried, Invariant, Local, Repeat, Source, Varying


def rerolled(traced: jax.stages.Traced) -> Callable[..., Any] | None:
    """Returns a function equivalent to a traced one that runs its repeats as loops, or None if the trace has no repeats."""
    trace = normal_form.normalized(traced.jaxpr)
    found = repeats.find(trace.jaxpr)
    if not found:
        return None
    plan, results = _Plan(trace, found), jax.tree.structure(traced.out_info)

    def rolled(*arguments: object) -> Any:
        return jax.tree.unflatten(results, _Run(plan, jax.tree.leaves(arguments)).outputs())

    return rolled


Made = tuple[int, int]
"""One output of an equation of an iteration: (position of the equation, number of the output)."""
Group = tuple[int, int, int]
"""The values of one output in all iterations: (number of the repeat, position of the equation, number of the output)."""

_VIEWS = ("reshape", "squeeze", "slice")
"""Primitives that are evaluated lazily: often a loop or a stack takes their operand instead, and the result is never needed."""


@dataclasses.dataclass
class _Stacked:
    """The arrays of the iterations as rows `base`, `base + step`, ... of one array; `step` is 1 or -1 for loops over a sequence."""

    array: jax.Array
    base: int
    step: int

    def at(self, index: Array) -> jax.Array:
        """Returns the array of one iteration, whose index may be traced."""
        row: jax.Array = lax.dynamic_index_in_dim(self.array, self.base + self.step * index, keepdims=False)
        return row

    def whole(self, count: int) -> jax.Array:
        """Returns the arrays of `count` iterations stacked in their order."""
        first, last = sorted((self.base, self.base + self.step * (count - 1)))
        rows = lax.slice_in_dim(self.array, first, last + 1)
        return lax.rev(rows, (0,)) if self.step < 0 else rows


@dataclasses.dataclass
class _Reshaped:
    """The arrays of the iterations, each reshaped to `shape`."""

    arrays: _Stacked | _Reshaped | _Blocks
    shape: tuple[int, ...]

    def at(self, index: Array) -> jax.Array:
        return lax.reshape(self.arrays.at(index), self.shape)

    def whole(self, count: int) -> jax.Array:
        return lax.reshape(self.arrays.whole(count), (count, *self.shape))


@dataclasses.dataclass
class _Blocks:
    """The arrays of the iterations as blocks of one array; row i of `starts` is the position of block i."""

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
    """A chain of additions: its single terms, and the groups that all iterations of a repeat contribute."""

    single: tuple[Atom, ...]
    repeated: tuple[Group, ...]


class _Plan:
    """The decisions about a trace: which values live after each loop, and which sums are computed from stacks.

    Attributes:
      made: the equation and output number of each variable. users: the equations that use each (the number of equations stands for results).
      sums: the sum that replaces the last addition of a chain, by its equation. skipped: the other additions of these chains.
      summed: the groups that are used in sums only. wanted: see `_wanted`, by number of the repeat.
    """

    def __init__(self, trace: ClosedJaxpr, found: list[Repeat]) -> None:
        self.trace, self.repeats = trace, found
        equations = trace.jaxpr.eqns
        # Definitions and uses. None at the end of the equations collects the uses as results.
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
        """Returns (number of the repeat, iteration, position, output number) of a variable made in a repeat, else None."""
        if not isinstance(atom, Var) or atom not in self.made:
            return None
        members = ((n, r.place(*self.made[atom])) for n, r in enumerate(self.repeats))
        return next(((n, *member) for n, member in members if member is not None), None)

    # ---- sums ----

    def _is_link(self, atom: Atom) -> TypeGuard[Var]:
        """Whether a variable is an addition outside of repeats whose only use is another addition: then it is inside of a chain."""
        if not isinstance(atom, Var) or atom not in self.made or self.member(atom) is not None or len(self.users[atom]) != 1:
            return False
        user = self.users[atom][0]
        return self._is_addition(self.made[atom][0]) and user < len(self.trace.jaxpr.eqns) and self._is_addition(user)

    def _is_addition(self, index: int) -> bool:
        equation = self.trace.jaxpr.eqns[index]
        return equation.primitive.name in ("add", "add_any") and np.issubdtype(array_type(equation.outvars[0]).dtype, np.inexact)

    def _find_sums(self) -> None:
        """Collects each maximal chain of floating-point additions outside of repeats that adds up all iterations of some group.

        Backpropagation through an unrolled RNN produces such chains: one term per time step for each weight.
        """
        for i, e in enumerate(self.trace.jaxpr.eqns):
            result: Var | None = e.outvars[0] if e.outvars else None
            if result is not None and self._is_addition_outside(i, result) and not self._is_link(result):
                links: list[int] = []
                chain = self._sum(self._terms(e, links))
                if chain.repeated:
                    self.sums[i] = chain
                    self.skipped.update(links)

    def _is_addition_outside(self, index: int, result: Var) -> bool:
        return result in self.users and self._is_addition(index) and self.member(result) is None

    def _terms(self, equation: JaxprEqn, links: list[int]) -> list[Atom]:
        """Returns the terms of the chain that ends with an addition, in their order, and appends the other additions to `links`."""
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
        """Divides terms into groups that are complete, with each iteration exactly once, and single terms."""
        groups: dict[Group, list[int]] = {}
        # A term that something else uses too must exist by itself, and stays single.
        for atom in terms:
            member = self.member(atom)
            if member is not None and len(self.users[atom]) == 1:
                number, iteration, position, output = member
                groups.setdefault((number, position, output), []).append(iteration)
        # The order of floating-point additions changes for whole groups, as it does in XLA's own reductions.
        whole = tuple(g for g, iterations in groups.items() if sorted(iterations) == list(range(self.repeats[g[0]].count)))
        single = [a for a in terms if (m := self.member(a)) is None or (m[0], *m[2:]) not in whole]
        return _Sum(tuple(single), whole)

    def factors(self, number: int, position: int) -> tuple[Source, ...] | None:
        """Returns the sources of the factors of a matrix product in a repeat; None for other equations.

        None as well if a factor is the same in all iterations: then summing the products is cheaper than stacking it.
        """
        repeat = self.repeats[number]
        if repeat.equations[position].primitive.name != "dot_general":
            return None
        sources = repeat.operands[position]
        return None if any(isinstance(s, Invariant) for s in sources) else sources

    # ---- values that live after a loop ----

    def _wanted(self, number: int) -> tuple[list[Made], list[Made]]:
        """Returns the outputs that live after the loop: those of every iteration, which are stacked, and those of the last one only."""
        repeat = self.repeats[number]
        stacked: list[Made] = []
        last: list[Made] = []
        # Summed groups that are no products of varying factors are stacked and then reduced.
        for other, position, output in self.summed:
            if other == number and self.factors(number, position) is None:
                stacked.append((position, output))
        # Of the others, those with uses after the loop. A final state, used of the last iteration only, needs no stack.
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
        """Returns the variable of the trace for one output of one iteration."""
        made: Var = self.trace.jaxpr.eqns[repeat.start + iteration * repeat.period + position].outvars[output]
        return made


class _Run:
    """One evaluation of a trace.

    Attributes:
      values: the variables that are evaluated. members: variables that are a row of a stack: (stack, row).
      views: the equations of `_VIEWS`, by their result. factors: the stacked factors of products that are only summed.
    """

    def __init__(self, plan: _Plan, inputs: list[Array]) -> None:
        self.plan = plan
        jaxpr = plan.trace.jaxpr
        self.values: dict[Var, Array] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*plan.trace.consts, *inputs)))
        self.members: dict[Var, tuple[jax.Array, int]] = {}
        self.views: dict[Var, JaxprEqn] = {}
        self.factors: dict[tuple[int, int], list[jax.Array]] = {}

    def outputs(self) -> list[Array]:
        """Evaluates the trace in order, each repeat as one loop, and returns its results."""
        jaxpr = self.plan.trace.jaxpr
        starts = {r.start: n for n, r in enumerate(self.plan.repeats)}
        i = 0
        while i < len(jaxpr.eqns):
            # A repeat: all of its equations at once.
            if i in starts:
                self._loop(starts[i])
                i = self.plan.repeats[starts[i]].end
                continue
            # A single equation. Additions inside of a chain are skipped, as the last one computes the whole sum.
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
        """Evaluates a concatenation; neighbouring operands that are rows of one stack are taken with one slice instead of one each."""
        parts, dimension = [], equation.params["dimension"]
        # This joins the outputs of the steps of an unrolled RNN without taking the stack apart.
        for _, group in itertools.groupby(equation.invars, self._home):
            atoms = list(group)
            arrays = self._stack(atoms) if len(atoms) > 1 else None
            if arrays is None:
                parts += [self.value(a) for a in atoms]
            else:
                parts.append(_joined(arrays.whole(len(atoms)), dimension))
        return lax.concatenate(parts, dimension)

    def _home(self, atom: Atom) -> int:
        """Returns the identity of the array that a view, or a view of a view, is taken from."""
        while isinstance(atom, Var) and atom in self.views:
            atom = self.views[atom].invars[0]
        return id(self.members[atom][0] if isinstance(atom, Var) and atom in self.members else atom)

    def value(self, atom: Atom) -> Array:
        """Returns the value of an operand, evaluating a view or taking a row of a stack at first use."""
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
        """Runs one repeat as a scan, and files the values that live after it."""
        repeat, (stacked, last) = self.plan.repeats[number], self.plan.wanted[number]
        # The factors of summed products: sequences that exist already, and values of the loop, which it stacks as well (`kept`).
        products = [p for n, p, _ in self.plan.summed if n == number and self.plan.factors(number, p) is not None]
        varying = {s: self._stack(s.atoms) or self._copied(s.atoms) for sources in repeat.operands for s in sources if isinstance(s, Varying)}
        kept: list[Source] = list(dict.fromkeys(s for p in products for s in repeat.operands[p] if not isinstance(s, Varying)))
        body = _Body(self, repeat, varying)
        state = body.before(last)
        # The index is the scanned sequence: the body reads its operands with it, so that stacks need not be reversed or copied.
        indices = np.arange(repeat.count, dtype=np.int32)
        stacks: list[jax.Array]
        (_, lasts), stacks = lax.scan(lambda state, i: body(state, i, stacked, last, kept), state, indices)
        # Rows of the stacks are members: a later loop over the same values scans the stack itself.
        for (position, output), stack in zip(stacked, stacks):
            for t in range(repeat.count):
                self.members[self.plan.variable(repeat, t, position, output)] = stack, t
        for (position, output), value in zip(last, lasts):
            self.values[self.plan.variable(repeat, repeat.count - 1, position, output)] = value
        # Factors of products that are only summed, for `_sum`.
        whole: dict[Source, jax.Array] = {s: v.whole(repeat.count) for s, v in varying.items() if any(s in repeat.operands[p] for p in products)}
        whole.update(zip(kept, stacks[len(stacked) :]))
        for position in products:
            self.factors[number, position] = [whole[s] for s in repeat.operands[position]]

    def _stack(self, atoms: Sequence[Atom]) -> _Stacked | _Reshaped | _Blocks | None:
        """Returns the operands of all iterations as parts of one existing array, or None if they are not evenly spaced parts of one."""
        # Rows of a stack, in either direction.
        rows = [self.members[a] for a in atoms if isinstance(a, Var) and a in self.members]
        if len(rows) == len(atoms) and all(array is rows[0][0] for array, _ in rows):
            steps = {b - a for (_, a), (_, b) in itertools.pairwise(rows)}
            return _Stacked(*rows[0], steps.pop()) if len(steps) == 1 else None
        # Equal views of parts of one array: blocks of it, or reshaped parts.
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
        """Stacks the operands of all iterations, which copies them."""
        values = [jnp.asarray(self.value(a), array_type(a).dtype) for a in atoms]
        return _Stacked(lax.concatenate([lax.expand_dims(v, (0,)) for v in values], 0), 0, 1)

    # ---- a sum ----

    def _sum(self, chain: _Sum) -> Array:
        """Evaluates a sum: single terms, one contraction for each group of products, one reduction for each other group."""
        terms = [self.value(a) for a in chain.single]
        for number, position, output in chain.repeated:
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
    """The body of a scan.

    Its carry holds, for each `Carried` source, the values of the last `distance` iterations, the newest first, and the values of the
    iteration that live after the loop.
    """

    def __init__(self, run: _Run, repeat: Repeat, varying: dict[Varying, _Stacked | _Reshaped | _Blocks]) -> None:
        self.run, self.repeat, self.varying = run, repeat, varying
        sources = dict.fromkeys(s for sources in repeat.operands for s in sources)
        self.lines = [s for s in sources if isinstance(s, Carried)]
        self.invariant = {s: run.value(s.atom) for s in sources if isinstance(s, Invariant)}

    def before(self, last: list[Made]) -> tuple[Any, ...]:
        """Returns the initial carry; the values that live after the loop are zeros until the first iteration makes them."""
        lines = [[jnp.asarray(self.run.value(a), array_type(a).dtype) for a in reversed(line.initial)] for line in self.lines]
        kinds = [array_type(self.repeat.equations[p].outvars[o]) for p, o in last]
        return lines, [lax.full(k.shape, 0, k.dtype) for k in kinds]

    def __call__(self, state: tuple[Any, ...], index: Array, stacked: list[Made], last: list[Made], kept: list[Source]) -> tuple[Any, ...]:
        """Evaluates iteration `index`; returns the new carry, and the values of this iteration to stack."""
        lines, _ = state
        # The oldest value of a line is the one `distance` iterations before.
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
        # Each line moves on by one iteration.
        lines = [[made[line.position, line.output], *values[:-1]] for line, values in zip(self.lines, lines)]
        return (lines, [made[p] for p in last]), [*[made[p] for p in stacked], *[value(s) for s in kept]]


def _computed(equation: JaxprEqn, inputs: Sequence[Array]) -> list[jax.Array]:
    """Binds an equation's primitive to inputs, in the configuration (x64, precision) in which it was traced."""
    params = equation.primitive.get_bind_params(equation.params)
    with equation.ctx.manager:
        results = equation.primitive.bind(*inputs, **params)
    return results if equation.primitive.multiple_results else [results]


def _block(equation: JaxprEqn, inputs: Sequence[Array], start: jax.Array) -> jax.Array:
    """Evaluates a `slice` or `pad` equation with its block at a traced `start`, as a dynamic slice or update."""
    sizes, first = array_type(equation.outvars[0]).shape, [start[d] for d in range(start.size)]
    if equation.primitive.name == "slice":
        return lax.dynamic_slice(inputs[0], first, sizes)
    # Padding: the operand is written into an array of the padding value.
    return lax.dynamic_update_slice(jnp.broadcast_to(inputs[1], sizes).astype(inputs[0].dtype), inputs[0], first)


def _joined(stack: jax.Array, dimension: int) -> jax.Array:
    """Concatenates the arrays of a stack along `dimension`."""
    moved = jnp.moveaxis(stack, 0, dimension)
    sizes = stack.shape[1:]
    return lax.reshape(moved, (*sizes[:dimension], stack.shape[0] * sizes[dimension], *sizes[dimension + 1 :]))


def _summed_product(equation: JaxprEqn, left: jax.Array, right: jax.Array) -> jax.Array:
    """Returns the sum over rows of the products of two stacks: the same dot_general with the row axis as a further contracted axis."""
    (left_sums, right_sums), (left_batch, right_batch) = equation.params["dimension_numbers"]

    def shifted(dimensions: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(d + 1 for d in dimensions)

    numbers = (((0, *shifted(left_sums)), (0, *shifted(right_sums))), (shifted(left_batch), shifted(right_batch)))
    params = {**equation.params, "dimension_numbers": numbers}
    return _computed(equation.replace(params=params), [left, right])[0]
