"""Evaluates a closed jaxpr with NumPy, one equation at a time.

A trace becomes, once, a flat list of steps over numbered slots: calls are inlined, equations that no result and no effect depends on are
removed, and small constant subexpressions are folded. A slot is cleared before the step that reads it last runs, so that memory is freed early
and that step's function holds the only reference to its argument, which it may then overwrite (`memory.writable`).
"""

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
"""Reads the values of some slots from the list of all values; slots that are not written yet hold None."""
Prepared: TypeAlias = tuple[Callable[..., Any], Get, Slots | int, Slots]
"""A step as `run` executes it: function, getter of its arguments, slots of its results (an int if it returns one array), slots to clear first."""
FOLDED = 2**14
"""Largest number of elements that a result of constant folding may have: larger constants would stay in memory between runs."""
EMPTYING = {"cond", "while", "scan"}
"""Primitives whose functions take one list of arguments and clear it, so that their bodies may overwrite arrays with no other reference."""
FEW_PRODUCTS = 2**12
"""Up to this many multiply-adds in a trace, BLAS's thread setting is left alone: BLAS computes such products in one thread anyway."""


def _inlined(equation: JaxprEqn) -> ClosedJaxpr | None:
    """Returns the trace to evaluate in place of a call; None if the table has a function for the equation, or if it is no call."""
    return called(equation) if preparation(equation) is None else None


def missing(jaxpr: Jaxpr) -> set[str]:
    """Returns the names of the primitives that cannot be interpreted, those in nested traces included."""
    names = set()
    for equation in jaxpr.eqns:
        name, body = equation.primitive.name, _inlined(equation)
        if body is None and (preparation(equation) is None or name in REFUSED and REFUSED[name](equation.params)):
            names.add(name)
        for inner in jaxprs_in_params(equation.params) if body is None else [body.jaxpr]:
            names |= missing(inner)
    return names


def has_unbounded_loops(jaxpr: Jaxpr) -> bool:
    """Returns whether a trace contains a `while` loop, whose number of iterations is known only at run time.

    Loops inside a call that has a NumPy form (`numpy_forms`) do not count: that form is computed instead.
    """
    return any(
        e.primitive.name == "while" or (e.primitive.name not in CALLS or preparation(e) is None) and any(map(has_unbounded_loops, jaxprs_in_params(e.params)))
        for e in jaxpr.eqns
    )  # fmt: skip


class _Step(NamedTuple):
    """An equation with the slots that it reads and writes, and those (`last`) that no later step reads."""

    equation: JaxprEqn
    reads: Slots
    writes: Slots
    last: Slots = ()


class Evaluator:
    """A prepared trace: called with NumPy arrays, it returns a list of NumPy arrays that share no memory with them.

    Args:
      closed: the trace.
      has_products: whether it computes enough products for BLAS to be limited to the calling thread.
    """

    def __init__(self, closed: ClosedJaxpr, has_products: bool = False) -> None:
        self._threads = OneThread() if has_products else contextlib.nullcontext()
        self._initial: list[Any] = [None]  # slot 0 is for results that nothing reads
        self._is_constant = [False]
        self._flat: list[_Step] = []
        # The passes: number the values and inline calls, eliminate dead code, prepare a function for each step or fold it.
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
        """Allocates a slot and returns its number; a slot with a value is a constant."""
        self._is_constant.append(value is not None)
        self._initial.append(None if value is None else frozen(value))
        return len(self._initial) - 1

    def _flatten(self, jaxpr: Jaxpr, slots: dict[Var, int]) -> list[int]:
        """Appends the equations of a trace to `_flat`, those of called traces in place of the calls; returns the slots of its results."""

        def read(atom: Atom) -> int:
            # Each literal is a constant slot of its own.
            return self._new(np.asarray(atom.val, array_type(atom).dtype)) if isinstance(atom, Literal) else slots[atom]

        for equation in jaxpr.eqns:
            reads = tuple(map(read, equation.invars))
            body = _inlined(equation)
            if body is None:
                writes = tuple(self._new() for _ in equation.outvars)
                self._flat.append(_Step(equation, reads, writes))
            else:
                # A call costs nothing: its body reads the slots of the arguments and writes slots that the caller then reads.
                inner = body.jaxpr
                own = {v: self._new(value) for v, value in zip(inner.constvars, body.consts, strict=True)}
                own.update(zip(inner.invars, reads, strict=True))
                writes = tuple(self._flatten(inner, own))
            slots.update(zip(equation.outvars, writes, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _alive(self, results: list[int]) -> list[_Step]:
        """Returns the steps that results or effects depend on (dead code elimination), with the slots that each of them reads last."""
        needed, alive = set(results), []
        # Backwards, a slot that is not yet needed has no later reader: this step is its last one.
        for step in reversed(self._flat):
            if step.equation.effects or not needed.isdisjoint(step.writes):
                last = tuple(set(step.reads) - needed)
                needed.update(step.reads)
                writes = tuple(w if w in needed else 0 for w in step.writes)
                alive.append(step._replace(last=last, writes=writes))
        return alive[::-1]

    def _prepared(self, step: _Step) -> Prepared | None:
        """Prepares a step for `run`. Folds it instead, and returns None, if its inputs are constants and its results are small."""
        equation, reads, writes, last = step
        name, outputs = equation.primitive.name, [array_type(v) for v in equation.outvars]
        prepare = preparation(equation)
        if prepare is None:
            raise NotImplementedError(f"The interpreter has no function for the primitive {name!r}; set TFCOMPAT_ENGINE=compile to compile programs.")
        function = prepare(Equation(equation.params, [array_type(v) for v in equation.invars], outputs))
        targets = writes if equation.primitive.multiple_results else writes[0]
        if all(self._is_constant[r] for r in reads) and self._is_foldable(equation, outputs):
            # Folding uses the floating-point environment of a run, so that folded and computed values are the same bits.
            with AsInPrograms():
                results = function(*[self._initial[r] for r in reads])
            # Later steps see the slot as a constant, so that folding propagates; slot 0 never becomes one.
            for slot, value in zip(writes, results if equation.primitive.multiple_results else [results], strict=True):
                self._initial[slot], self._is_constant[slot] = frozen(value), slot > 0
            return None
        # A list, not a tuple, for branches and loops: they clear it, which drops the references to what it held.
        get = _getter(reads)
        return function, (lambda values: (list(get(values)),)) if name in EMPTYING else get, targets, last

    @staticmethod
    def _is_foldable(equation: JaxprEqn, outputs: Sequence[ArrayType]) -> bool:
        size = max((math.prod(a.shape) for a in outputs), default=0)
        return size <= FOLDED and not equation.effects and not any(jaxprs_in_params(equation.params))

    def __call__(self, *arguments: NDArray) -> list[NDArray]:
        """Returns the results for arguments of the shapes and dtypes that the trace was made with."""
        return self.evaluate(list(arguments))

    def evaluate(self, arguments: list[NDArray]) -> list[NDArray]:
        """Returns the results for a list of arguments, which it clears.

        Arguments that are `lent` (`memory.lent`) may be overwritten and returned; others stay untouched and share no memory with results.
        """
        # Results must not share memory with these; a result that is a lent argument may be returned as it is.
        kept = list(itertools.filterfalse(is_lent, arguments))
        with AsInPrograms(), self._threads:
            return given_away(self.run(arguments), kept)

    def run(self, arguments: list[NDArray]) -> tuple[NDArray, ...]:
        """Returns the results without copying: they may be views of arguments. For use inside another evaluation; clears the list."""
        argument: NDArray | None
        # Constants are in their slots already.
        values = self._initial.copy()
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        arguments.clear()
        # A reference in a local variable would make `memory.writable` copy: it counts references. The same holds for `value` below.
        argument = None
        for function, get, targets, last in self._steps:
            # Between these lines `taken` holds the last references to what this step reads last: its function may overwrite those arrays.
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
    """Prepares a closed jaxpr for evaluation.

    Args:
      closed: a `ClosedJaxpr`.

    Returns:
      an Evaluator, which takes NumPy arrays and returns a list of NumPy arrays.

    Raises:
      NotImplementedError: the table lacks primitives; the message names all of them.
    """
    absent = missing(closed.jaxpr)
    if absent:
        raise NotImplementedError(
            f"The interpreter (TFCOMPAT_ENGINE=interpret) has no function for the primitives {sorted(absent)}. "
            "Without that setting, or with TFCOMPAT_ENGINE=compile, such programs are compiled."
        )
    return Evaluator(closed, cost(closed).products > FEW_PRODUCTS)
