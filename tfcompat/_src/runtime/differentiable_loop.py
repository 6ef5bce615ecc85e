"""Loops that gradients go through.

Where how often a loop runs is known only when it has run, the forward loop keeps what each iteration's derivative needs in stacks
with room for the greatest number of iterations; the backward loop goes over as many as there were. Memory: that number times what
one iteration keeps. What does not change from iteration to iteration is kept once, and what is as fast to compute as to read is
computed again (`_AGAIN`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Jaxpr, array_type, has_complex_values
from tfcompat._src.runtime.loop_sums import Arrays, BackwardStep

_AGAIN = frozenset(
    "abs add add_any and broadcast_in_dim concatenate convert_element_type copy div dynamic_slice eq expand_dims ge gt integer_pow le lt "
    "max min mul ne neg not or pad reshape select_n sign slice split square squeeze stop_gradient sub transpose xor".split()
)
"""Primitives whose results, where they are real numbers or booleans, are computed again for a derivative."""


Gradients = list[jax.Array | NDArray]
"""Those of values that have no derivative are NumPy's zeros."""


def _is_kept(primitive: Any, *inputs: Any, **parameters: object) -> bool:
    return primitive.name not in _AGAIN or not all(jnp.issubdtype(x.dtype, jnp.inexact) or x.dtype == bool for x in inputs[:1])


def bounded_while(test: Callable[..., Any] | None, body: Callable[..., Any], carry: object, limit: int) -> Any:
    """`lax.while_loop` that ends after `limit` iterations at the latest and has a derivative.

    Args:
      test: carry -> scalar bool; None for a loop that goes on to the limit. body: carry -> carry. carry: a pytree of arrays.
      limit: the greatest number of iterations.
    """
    leaves, structure = jax.tree.flatten(carry)
    flat_body = jax.make_jaxpr(lambda flat: jax.tree.leaves(body(jax.tree.unflatten(structure, flat))))(leaves)
    flat_test = jax.make_jaxpr(lambda flat: True if test is None else test(jax.tree.unflatten(structure, flat)))(leaves)
    loop = _Loop(flat_body.jaxpr, None if test is None else flat_test.jaxpr, limit)
    return jax.tree.unflatten(structure, _run(loop, leaves, flat_body.consts, flat_test.consts))


def bounded_scan(test: Callable[..., Any] | None, body: Callable[..., Any], carry: object, limit: int) -> Any:
    """`bounded_while` with derivatives of any order: `limit` iterations, of which those after the end change nothing."""

    def step(state: object, _: None) -> tuple[Any, None]:
        return body(state) if test is None else jax.lax.cond(test(state), body, lambda same: same, state), None

    return jax.lax.scan(step, carry, length=limit)[0]


class _Loop:
    """The body and the condition as functions of the carry and of what they take from outside.

    Where there is no condition, both loops run from 0 to a constant: XLA knows how often, and a GPU need not ask the host before each iteration.
    """

    def __init__(self, body: Jaxpr, test: Jaxpr | None, limit: int) -> None:
        self._body, self._test, self.limit = body, test, limit
        self._keeps_all = has_complex_values(body)

    def body(self, outer: Arrays, carry: Arrays) -> Arrays:
        found = jax.core.eval_jaxpr(self._body, outer, *carry)
        return [jnp.asarray(v, array_type(var).dtype) for v, var in zip(found, self._body.outvars)]

    def goes_on(self, outer: Arrays, count: jax.Array | np.int32, carry: Arrays) -> jax.Array:
        is_within = jnp.less(count, self.limit)
        return is_within if self._test is None else jnp.logical_and(is_within, jax.core.eval_jaxpr(self._test, outer, *carry)[0])

    def iterations(self, count: jax.Array) -> jax.Array | np.int32:
        """How many there were, of which the forward loop has counted `count`."""
        return np.int32(self.limit) if self._test is None else count

    def derivative(self, outer: Arrays, carry: Arrays) -> tuple[Arrays, Any]:
        """One iteration: the carry after it, and the function from gradients of that to those of the real inputs."""
        varying, fixed = _real(carry), _real(outer)

        def step(real_carry: Arrays, real_outer: Arrays) -> tuple[Arrays, Arrays]:
            found = self.body(_merged(outer, real_outer), _merged(carry, real_carry))
            return _real(found), found

        kept = step if self._keeps_all else jax.checkpoint(step, policy=_is_kept, prevent_cse=False)
        _, pull, found = jax.vjp(kept, varying, fixed, has_aux=True)
        return found, pull


def _forward(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, values = state
        return count + np.int32(1), loop.body(outer, values)

    return jax.lax.while_loop(lambda s: loop.goes_on(test_outer, *s), step, (np.int32(0), carry))[1]


def _run(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
    @jax.custom_vjp
    def run(carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
        return _forward(loop, carry, outer, test_outer)

    run.defvjp(lambda *arguments: _forward_kept(loop, *arguments), lambda kept, grads: _backward(loop, kept, grads))
    return run(carry, outer, test_outer)


class _Kept:
    """How the leaves of a derivative are kept: those that are one of the outer arrays as its position, others in stacks."""

    def __init__(self, structure: jax.tree_util.PyTreeDef, positions: list[int | None], stacked: list[jax.ShapeDtypeStruct]) -> None:
        self._structure, self._positions, self.stacked = structure, positions, stacked

    def pull(self, outer: Arrays, row: Arrays) -> Any:
        """The derivative again, from one row of the stacks."""
        real, rest = _real(outer), iter(row)
        return jax.tree.unflatten(self._structure, [next(rest) if p is None else real[p] for p in self._positions])


def _iteration(loop: _Loop, outer: Arrays, carry: Arrays) -> tuple[_Kept, Callable[[Arrays], tuple[Arrays, Arrays]]]:
    """Traces one iteration, once: how its derivative is kept, and the function from a carry to the next and what goes to the stacks."""
    real = _real(outer)
    structure, positions = None, []

    def step(carry: Arrays) -> tuple[Arrays, Arrays]:
        nonlocal structure, positions
        after, pull = loop.derivative(outer, carry)
        leaves, structure = jax.tree.flatten(pull)
        positions = [next((i for i, o in enumerate(real) if o is leaf), None) for leaf in leaves]
        return after, [leaf for leaf, p in zip(leaves, positions) if p is None]

    closed, (_, stacked) = jax.make_jaxpr(step, return_shape=True)(carry)

    def again(carry: Arrays) -> tuple[Arrays, Arrays]:
        found = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *carry)
        return found[: len(carry)], found[len(carry) :]

    return _Kept(structure, positions, stacked), again


def _forward_kept(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> tuple[Arrays, tuple[Any, ...]]:
    kept, iteration = _iteration(loop, outer, carry)
    stacks = [jnp.zeros((loop.limit, *s.shape), s.dtype) for s in kept.stacked]

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, values, stacks = state
        after, leaves = iteration(values)
        stacks = [jax.lax.dynamic_update_index_in_dim(s, leaf, count, 0) for s, leaf in zip(stacks, leaves)]
        return count + np.int32(1), after, stacks

    count, last, stacks = jax.lax.while_loop(lambda s: loop.goes_on(test_outer, *s[:2]), step, (np.int32(0), carry, stacks))
    return last, (_Static(kept), count, stacks, carry, outer, test_outer)


def _backward(loop: _Loop, saved: tuple[Any, ...], grads: Arrays) -> tuple[Gradients, Gradients, Gradients]:
    static, count, rows, carry, outer, test_outer = saved
    kept, varying = static.value, _real_grads(grads, carry)

    def pull(row: Arrays, varying: Arrays) -> Arrays:
        before, found = kept.pull(outer, row)(varying)
        return [*before, *found]

    one_back = BackwardStep(pull, kept.stacked, [jax.typeof(v) for v in varying], loop.limit)

    iterations = loop.iterations(count)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        done, varying, sums, factors = state
        index = iterations - np.int32(1) - done
        row = [jax.lax.dynamic_index_in_dim(s, index, 0, keepdims=False) for s in rows]
        return done + np.int32(1), *one_back(index, row, varying, sums, factors)

    _, varying, sums, factors = jax.lax.while_loop(lambda s: s[0] < iterations, step, (np.int32(0), varying, *one_back.start()))
    totals = one_back.total(sums, factors, rows)
    return _all_grads(varying, carry), _all_grads(totals, outer), _all_grads([jnp.zeros_like(t) for t in _real(test_outer)], test_outer)


@jax.tree_util.register_pytree_node_class
class _Static:
    """A Python object that travels among the saved arrays."""

    def __init__(self, value: object) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[Any, ...]:
        return (), self.value

    @classmethod
    def tree_unflatten(cls, value: object, children: tuple[Any, ...]) -> _Static:
        return cls(value)


def _is_real(value: object) -> bool:
    return jnp.issubdtype(jnp.result_type(value), jnp.inexact)


def _real(values: Arrays) -> Arrays:
    """The values that have derivatives."""
    return [v for v in values if _is_real(v)]


def _merged(values: Arrays, real: Arrays) -> Arrays:
    """`values` with those that have derivatives replaced."""
    rest = iter(real)
    return [next(rest) if _is_real(v) else v for v in values]


def _real_grads(grads: Arrays, values: Arrays) -> Arrays:
    return [g for g, v in zip(grads, values) if _is_real(v)]


def _all_grads(found: Arrays, values: Arrays) -> Gradients:
    """Gradients of all values: those that have none get zeros of JAX's type for that."""
    rest = iter(found)
    return [next(rest) if _is_real(v) else np.zeros(np.shape(v), jax.dtypes.float0) for v in values]
