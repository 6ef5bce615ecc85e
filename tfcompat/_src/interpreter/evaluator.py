"""Evaluates a trace equation by equation; a value is let go before the equation that uses it last is evaluated."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, array_type, jaxprs_in_params
from tfcompat._src.interpreter.cost import cost
from tfcompat._src.interpreter.float_environment import AsInPrograms
from tfcompat._src.interpreter.memory import frozen, given_away, is_lent
from tfcompat._src.interpreter.product_threads import OneThread
from tfcompat._src.interpreter.table import CALLS, REFUSED, ArrayType, Equation, called, preparation

Slots: TypeAlias = tuple[int, ...]
Get: TypeAlias = Callable[[list[Any]], tuple[Any, ...]]
"""Takes the values of some slots from the values of all, of which those that are not there yet are None."""
Prepared: TypeAlias = tuple[Callable[..., Any], Get, Slots | int, Slots]
"""A function, what gets its arguments, the slots of its results (one, if it gives one array), and those to let go of before it."""
FOLDED = 2**14
"""What constants alone determine is computed once, where it has no more elements."""
EMPTYING = {"cond", "while", "scan"}
"""Primitives whose functions take a list of arguments and empty it, so that what is inside may write to what nothing else has."""
FEW_PRODUCTS = 2**12
"""As few multiplications are made by one thread anyway."""


def _inlined(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The trace that is evaluated in place of an equation; None where the table has a function for it, or nothing is called."""
    return called(equation) if preparation(equation) is None else None


def missing(jaxpr: Jaxpr) -> set[str]:
    """The names of the primitives in a trace, and in the traces inside it, that cannot be interpreted."""
    names = set()
    for equation in jaxpr.eqns:
        name, body = equation.primitive.name, _inlined(equation)
        if body is None and (preparation(equation) is None or name in REFUSED and REFUSED[name](equation.params)):
            names.add(name)
        for inner in jaxprs_in_params(equation.params) if body is None else [body.jaxpr]:
            names |= missing(inner)
    return names


def has_unbounded_loops(jaxpr: Jaxpr) -> bool:
    """Whether evaluating a trace goes round in loops whose length only a run shows; what a call has a form in NumPy for is no such loop."""
    return any(
        e.primitive.name == "while" or (e.primitive.name not in CALLS or preparation(e) is None) and any(map(has_unbounded_loops, jaxprs_in_params(e.params)))
        for e in jaxpr.eqns
    )  # fmt: skip


class _Step(NamedTuple):
    """An equation, the slots that it reads and writes, and those that nothing reads later."""

    equation: JaxprEqn
    reads: Slots
    writes: Slots
    last: Slots = ()


class Evaluator:
    """A prepared trace: called with NumPy arrays, it gives a list of NumPy arrays that share no memory with them."""

    def __init__(self, closed: ClosedJaxpr, has_products: bool = False) -> None:
        self._threads = OneThread() if has_products else contextlib.nullcontext()
        self._initial: list[Any] = [None]  # slot 0 is for results that nothing reads
        self._is_constant = [False]
        self._flat: list[_Step] = []
        jaxpr = closed.jaxpr
        slots = {v: self._new(value) for v, value in zip(jaxpr.constvars, closed.consts, strict=True)}
        slots.update((v, self._new()) for v in jaxpr.invars)
        self._arguments = [slots[v] for v in jaxpr.invars]
        results = self._flatten(jaxpr, slots)
        steps = self._alive(results)
        self._steps = [step for step in map(self._prepared, steps) if step is not None]
        self._results = _getter(tuple(results))
        del self._flat, self._is_constant

    def _new(self, value: object = None) -> int:
        self._is_constant.append(value is not None)
        self._initial.append(None if value is None else frozen(value))
        return len(self._initial) - 1

    def _flatten(self, jaxpr: Jaxpr, slots: dict[Var, int]) -> list[int]:
        """Enters the equations of a trace, and of those that it calls; the slots of its results."""

        def read(atom: Atom) -> int:
            return self._new(np.asarray(atom.val, array_type(atom).dtype)) if isinstance(atom, Literal) else slots[atom]

        for equation in jaxpr.eqns:
            reads = tuple(map(read, equation.invars))
            body = _inlined(equation)
            if body is None:
                writes = tuple(self._new() for _ in equation.outvars)
                self._flat.append(_Step(equation, reads, writes))
            else:
                inner = body.jaxpr
                own = {v: self._new(value) for v, value in zip(inner.constvars, body.consts, strict=True)}
                own.update(zip(inner.invars, reads, strict=True))
                writes = tuple(self._flatten(inner, own))
            slots.update(zip(equation.outvars, writes, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _alive(self, results: list[int]) -> list[_Step]:
        """The steps that results or effects need."""
        needed, alive = set(results), []
        for step in reversed(self._flat):
            if step.equation.effects or not needed.isdisjoint(step.writes):
                last = tuple(set(step.reads) - needed)
                needed.update(step.reads)
                writes = tuple(w if w in needed else 0 for w in step.writes)
                alive.append(step._replace(last=last, writes=writes))
        return alive[::-1]

    def _prepared(self, step: _Step) -> Prepared | None:
        """Prepares a step for `run`; computes it at once, and returns None, where its inputs are constants and its results small."""
        equation, reads, writes, last = step
        name, outputs = equation.primitive.name, [array_type(v) for v in equation.outvars]
        prepare = preparation(equation)
        if prepare is None:
            raise NotImplementedError(f"The interpreter has no function for the primitive {name!r}.")
        function = prepare(Equation(equation.params, [array_type(v) for v in equation.invars], outputs))
        targets = writes if equation.primitive.multiple_results else writes[0]
        if all(self._is_constant[r] for r in reads) and self._is_foldable(equation, outputs):
            with AsInPrograms():
                found = function(*[self._initial[r] for r in reads])
            for slot, value in zip(writes, found if equation.primitive.multiple_results else [found], strict=True):
                self._initial[slot], self._is_constant[slot] = frozen(value), slot > 0
            return None
        get = _getter(reads)
        return function, (lambda values: (list(get(values)),)) if name in EMPTYING else get, targets, last

    @staticmethod
    def _is_foldable(equation: JaxprEqn, outputs: Sequence[ArrayType]) -> bool:
        size = max((math.prod(a.shape) for a in outputs), default=0)
        return size <= FOLDED and not equation.effects and not any(jaxprs_in_params(equation.params))

    def __call__(self, *arguments: NDArray) -> list[NDArray]:
        """The results for arguments of the shapes and dtypes that the trace was made for."""
        return self.evaluate(list(arguments))

    def evaluate(self, arguments: list[NDArray]) -> list[NDArray]:
        """The same for a list of arguments, which is emptied: those that are `lent` may be written to, and given back as results."""
        kept = list(itertools.filterfalse(is_lent, arguments))
        with AsInPrograms(), self._threads:
            return given_away(self.run(arguments), kept)

    def run(self, arguments: list[NDArray]) -> tuple[NDArray, ...]:
        """The results as they come, which may be views of arguments; for use inside another evaluation. The list is emptied."""
        argument: NDArray | None
        values = self._initial.copy()
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        arguments.clear()
        argument = None
        for function, get, targets, last in self._steps:
            taken = get(values)
            for slot in last:
                values[slot] = None
            if type(targets) is int:
                values[targets] = function(*taken)
            else:
                for slot, value in zip(targets, function(*taken), strict=True):  # type: ignore[arg-type]  # a tuple, where it is no int
                    values[slot] = value
                value = None
        return self._results(values)


def _getter(slots: Slots) -> Get:
    """Returns a function that takes the values of some slots from a list, as a tuple."""
    if len(slots) > 1:
        return itemgetter(*slots)
    if not slots:
        return lambda values: ()
    slot = slots[0]
    return lambda values: (values[slot],)


def prepare(closed: ClosedJaxpr) -> Evaluator:
    """Prepares a closed jaxpr.

    Args:
      closed: a `ClosedJaxpr`.

    Returns:
      What evaluates it: NumPy arrays in, a list of NumPy arrays out.

    Raises:
      NotImplementedError: the table lacks a primitive; the message names all that it lacks.
    """
    absent = missing(closed.jaxpr)
    if absent:
        raise NotImplementedError(
            f"The interpreter (TFCOMPAT_ENGINE=interpret) has no function for the primitives {sorted(absent)}. "
            "Without that setting, or with TFCOMPAT_ENGINE=compile, such programs are compiled."
        )
    return Evaluator(closed, cost(closed).products > FEW_PRODUCTS)
