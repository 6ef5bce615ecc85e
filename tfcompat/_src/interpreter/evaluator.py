"""Evaluates a trace equation by equation; a value is let go after its last use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.jax_compat import Literal, jaxprs_in_params
from tfcompat._src.interpreter.table import TABLE, Equation


def missing(jaxpr: Any) -> set[str]:
    """The names of the primitives in a trace, and in the traces inside it, that cannot be interpreted."""
    names = set()
    for equation in jaxpr.eqns:
        if equation.primitive.name not in TABLE:
            names.add(equation.primitive.name)
        for inner in jaxprs_in_params(equation.params):
            names |= missing(inner)
    return names


class Evaluator:
    """A prepared trace: called with NumPy arrays, it gives a list of NumPy arrays that share no memory with them."""

    def __init__(self, closed: Any) -> None:
        jaxpr = closed.jaxpr
        absent = missing(jaxpr)
        if absent:
            raise NotImplementedError(f"The interpreter has no function for the primitives {sorted(absent)}.")
        self._slots: dict[Any, int] = {}
        self._initial: list[Any] = []
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            self._slot(variable, np.asarray(value))
        self._arguments = [self._slot(v) for v in jaxpr.invars]
        steps = [(self._function(e), [self._read(v) for v in e.invars], [self._slot(v) for v in e.outvars]) for e in jaxpr.eqns]
        self._results = [self._read(v) for v in jaxpr.outvars]
        self._steps = self._with_last_uses(steps)

    def _slot(self, variable: Any, value: Any = None) -> int:
        self._slots[variable] = len(self._initial)
        self._initial.append(value)
        return self._slots[variable]

    def _read(self, atom: Any) -> int:
        if isinstance(atom, Literal):
            self._initial.append(np.asarray(atom.val, atom.aval.dtype))
            return len(self._initial) - 1
        return self._slots[atom]

    @staticmethod
    def _function(equation: Any) -> Callable:
        avals = [v.aval for v in equation.invars], [v.aval for v in equation.outvars]
        return TABLE[equation.primitive.name](Equation(equation.params, *avals))

    def _with_last_uses(self, steps: list) -> list:
        needed, done = set(self._results), []
        for function, reads, writes in reversed(steps):
            last = tuple(set(reads + writes) - needed)
            needed.update(reads)
            done.append((function, tuple(reads), tuple(writes), last))
        return done[::-1]

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        """The results for arguments of the shapes and dtypes that the trace was made for."""
        with np.errstate(all="ignore"):
            values = self.inner(*arguments)
        return [owned(v) for v in values]

    def inner(self, *arguments: Any) -> list:
        """The results as they come, which may be views of arguments; for use inside another evaluation."""
        values = self._initial.copy()
        for slot, argument in zip(self._arguments, arguments, strict=True):
            values[slot] = argument
        for function, reads, writes, last in self._steps:
            result = function(*[values[i] for i in reads])
            if len(writes) == 1 and type(result) is not list:
                values[writes[0]] = result
            else:
                for slot, value in zip(writes, result, strict=True):
                    values[slot] = value
            for slot in last:
                values[slot] = None
        return [values[i] for i in self._results]


def owned(value: Any) -> np.ndarray:
    """An array of its own memory."""
    return np.array(value, order="C")


def prepare(closed: Any) -> Evaluator:
    """Prepares a closed jaxpr.

    Args:
      closed: a `ClosedJaxpr`.

    Returns:
      What evaluates it: NumPy arrays in, a list of NumPy arrays out.

    Raises:
      NotImplementedError: the table lacks a primitive; the message names all that it lacks.
    """
    return Evaluator(closed)
