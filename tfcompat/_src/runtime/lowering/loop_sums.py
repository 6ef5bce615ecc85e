"""Accumulation of the gradients of loop-invariant tensors over the iterations of a backward loop.

Each iteration contributes a summand. Two kinds are not added as dense arrays. A summand that is zero but for a slice (the gradient
of a TensorArray element that the iteration read) is added to that slice in place. A summand that is a matrix product larger than
its factors (the gradient of an RNN cell's kernel) is not computed: the factors are stacked, and after the loop one product, which
contracts over the iterations too, gives the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.arrays import Array
from tfcompat._src.base.jax_compat import Atom, Jaxpr, JaxprEqn, Literal, Var, array_type

Arrays = list[jax.Array]
Sum = jax.Array | tuple[()]
"""A partial sum; () where the factors of the summands are stacked instead."""
_CALLS = ("jit", "pjit", "checkpoint", "remat2")
"""Primitives that call a jaxpr in their parameters, and are inlined."""


class BackwardStep:
    """One iteration of a backward loop, with the sums that it adds to.

    Args:
      pull: (row, cotangents of the carry) -> one flat list: the cotangents of the carry before the iteration, then the summands.
      row: ShapeDtypeStructs of one row of each stack of residuals. varying: types of the cotangents of the carry.
      limit: the greatest number of iterations.
    """

    def __init__(self, pull: Callable[..., Any], row: list[jax.ShapeDtypeStruct], varying: list[jax.ShapeDtypeStruct], limit: int) -> None:
        self._row_count, self._limit = len(row), limit
        # Pattern matching on the jaxpr of `pull`: the equation that makes a summand decides how it is accumulated. Calls are inlined
        # first, as they would hide that equation.
        self._jaxpr = jaxpr = jax.make_jaxpr(_without_calls(pull))(row, varying)
        self._makers: dict[Atom, JaxprEqn] = {v: e for e in jaxpr.jaxpr.eqns for v in e.outvars}
        self._carried, summands = jaxpr.jaxpr.outvars[: len(varying)], jaxpr.jaxpr.outvars[len(varying) :]
        self._stacked: list[Atom] = []
        self._sums = [self._product(v) or self._rows(v) or _Added(v) for v in summands]

    # ---- the loop ----

    def start(self) -> tuple[list[Sum], Arrays]:
        """The sums and the stacks of factors before the first iteration: zeros."""
        kinds = map(array_type, self._stacked)
        stacks = [jnp.zeros((self._limit, *kind.shape), kind.dtype) for kind in kinds]
        return [s.start() for s in self._sums], stacks

    def __call__(
        self, index: jax.Array, row: Arrays, varying: Arrays, sums: list[Sum], stacks: Arrays
    ) -> tuple[Arrays, list[Sum], Arrays]:
        """Goes back over iteration `index`.

        Returns:
          the cotangents of the carry before the iteration, the sums and the stacks of factors after it.
        """
        # Evaluates only the equations that these values need: products of stacked factors are dead code.
        wanted = [*self._carried, *self._stacked, *[v for s in self._sums for v in s.needs]]
        names = list(dict.fromkeys(v for v in wanted if isinstance(v, Var)))
        program = self._jaxpr.jaxpr.replace(outvars=names)
        values: dict[Atom, Any] = dict(zip(names, jax.core.eval_jaxpr(program, self._jaxpr.consts, *row, *varying)))

        def value(variable: Atom) -> Any:
            return variable.val if isinstance(variable, Literal) else values[variable]

        stacks = [jax.lax.dynamic_update_index_in_dim(s, values[v], index, 0) for s, v in zip(stacks, self._stacked)]
        return [value(v) for v in self._carried], [s.added(total, value) for s, total in zip(self._sums, sums)], stacks

    def total(self, sums: list[Sum], stacks: Arrays, rows: Arrays) -> Arrays:
        """The sums when all iterations are done; `rows` are the stacks of residuals, which hold factors too."""
        names = [*self._jaxpr.jaxpr.invars[: self._row_count], *self._stacked]
        return [s.total(t, dict(zip(names, [*rows, *stacks]))) for s, t in zip(self._sums, sums)]

    # ---- kinds of summands ----

    def _product(self, variable: Atom) -> _Product | None:
        """The summand as a product of stacked factors: a `dot_general` without batch dimensions, perhaps transposed; else None."""
        # A gradient with respect to a kernel is often the transpose of the product x^T dy.
        equation, order = self._makers.get(variable), None
        if equation is not None and equation.primitive.name == "transpose":
            order = equation.params["permutation"]
            equation = self._makers.get(equation.invars[0])
        if equation is None or equation.primitive.name != "dot_general" or any(equation.params["dimension_numbers"][1]):
            return None
        inputs, fixed = set(self._jaxpr.jaxpr.invars[: self._row_count]), set(self._jaxpr.jaxpr.constvars)
        # A factor that is the same in each iteration is not stacked; such a product is added up.
        if any(isinstance(f, Literal) or f in fixed for f in equation.invars):
            return None
        # Factors that are residuals are in stacks already. Stacking the others must pay: per iteration, they may have half as many
        # elements as the product at most.
        new = [f for f in equation.invars if f not in inputs and f not in self._stacked]
        if 2 * sum(math.prod(array_type(f).shape) for f in new) > math.prod(array_type(variable).shape):
            return None
        self._stacked += new
        return _Product(variable, equation, order)

    def _rows(self, variable: Atom) -> _Rows | None:
        """The summand as an update of a slice: a `dynamic_update_slice` of zeros; else None."""
        equation = self._makers.get(variable)
        if equation is None or equation.primitive.name != "dynamic_update_slice" or not self._is_zero(equation.invars[0]):
            return None
        return _Rows(variable, equation.invars[1], equation.invars[2:])

    def _is_zero(self, variable: Atom) -> bool:
        equation = self._makers.get(variable)
        filled = equation is not None and equation.primitive.name == "broadcast_in_dim" and equation.invars[0]
        return isinstance(filled, Literal) and not np.any(filled.val)


class _Added:
    """A summand that is added as a dense array."""

    def __init__(self, variable: Atom) -> None:
        self.variable, self.needs = variable, [variable]

    def start(self) -> Sum:
        kind = array_type(self.variable)
        return jnp.zeros(kind.shape, kind.dtype)

    def added(self, total: Any, value: Callable[..., Any]) -> Any:
        return total + value(self.variable)

    def total(self, total: Any, stacks: dict[Any, Any]) -> Any:
        return total


class _Rows(_Added):
    """A summand that is `update` in the slice at `start`, and zero elsewhere."""

    def __init__(self, variable: Atom, update: Atom, start: list[Atom]) -> None:
        super().__init__(variable)
        self._update, self._start = update, start
        self.needs = [update, *start]

    def added(self, total: Any, value: Callable[..., Any]) -> jax.Array:
        update, start = value(self._update), [value(i) for i in self._start]
        return jax.lax.dynamic_update_slice(total, jax.lax.dynamic_slice(total, start, update.shape) + update, start)


class _Product(_Added):
    """A summand that is a product of two arrays whose values of all iterations are stacked, transposed to `order`."""

    def __init__(self, variable: Atom, equation: JaxprEqn, order: tuple[Any, ...] | None) -> None:
        super().__init__(variable)
        self._equation, self._order, self.needs = equation, order, []

    def start(self) -> tuple[()]:
        return ()

    def added(self, total: Any, value: Callable[..., Any]) -> Any:
        return total

    def total(self, total: Any, stacks: dict[Any, Any]) -> Any:
        # sum_t dot(a_t, b_t) is one dot of the stacks that contracts over axis 0 (t) as well. Rows that no iteration wrote are zeros.
        parameters = dict(self._equation.params)
        contracted, batch = parameters.pop("dimension_numbers")
        contracted = tuple((0, *[d + 1 for d in dims]) for dims in contracted)
        product = jax.lax.dot_general_p.bind(*[stacks[f] for f in self._equation.invars], dimension_numbers=(contracted, batch), **parameters)
        return product if self._order is None else jnp.transpose(product, self._order)


def _without_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the calls in its trace inlined."""

    def run(*arguments: object) -> list[Array]:
        closed = jax.make_jaxpr(function)(*arguments)
        return _evaluate(closed.jaxpr, closed.consts, jax.tree.leaves(arguments))

    return run


def _evaluate(jaxpr: Jaxpr, consts: list[Array], arguments: list[Array]) -> list[Array]:
    """Evaluates a jaxpr one equation at a time, and the jaxprs that it calls in the same way."""
    values: dict[Atom, Array] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments]))
    for equation in jaxpr.eqns:
        called = equation.params.get("jaxpr") if equation.primitive.name in _CALLS else None
        if called is None:
            inputs = [v for v in equation.invars if isinstance(v, Var)]
            called = jaxpr.replace(constvars=[], invars=inputs, outvars=equation.outvars, eqns=[equation])
            outputs = jax.core.eval_jaxpr(called, [], *[values[v] for v in inputs])
        else:
            given = [v.val if isinstance(v, Literal) else values[v] for v in equation.invars]
            outputs = _evaluate(getattr(called, "jaxpr", called), getattr(called, "consts", []), given)
        values.update(zip(equation.outvars, outputs))
    return [v.val if isinstance(v, Literal) else values[v] for v in jaxpr.outvars]
