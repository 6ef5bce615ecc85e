"""A `while_loop` with a bound on its trip count and a reverse-mode derivative, which `lax.while_loop` has not.

A `jax.custom_vjp`: the forward loop saves the residuals of each iteration in stacks with room for the bound, and the backward loop
goes over as many iterations as there were, in reverse. Memory: the bound times the residuals of one iteration. Loop-invariant
residuals are saved once, and elementwise results are rematerialized in the backward loop (`_AGAIN`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Jaxpr, array_type, has_complex_values
from tfcompat._src.runtime.lowering.loop_sums import Arrays, BackwardStep

_AGAIN = frozenset(
    "abs add add_any and broadcast_in_dim concatenate convert_element_type copy div dynamic_slice eq expand_dims ge gt integer_pow le lt "
    "max min mul ne neg not or pad reshape select_n sign slice split square squeeze stop_gradient sub transpose xor".split()
)
"""Primitives that are rematerialized for a derivative if their first input is float or bool: as cheap to compute as to read."""


Gradients = list[jax.Array | NDArray]
"""Cotangents by position. Those of integers and booleans are NumPy zeros of dtype float0, as JAX wants."""


def _is_kept(primitive: Any, *inputs: Any, **parameters: object) -> bool:
    """The policy of `jax.checkpoint`: whether the result of a primitive is saved as a residual."""
    return primitive.name not in _AGAIN or not all(jnp.issubdtype(x.dtype, jnp.inexact) or x.dtype == bool for x in inputs[:1])


def bounded_while(test: Callable[..., Any] | None, body: Callable[..., Any], carry: object, limit: int) -> Any:
    """`lax.while_loop` that ends after `limit` iterations at the latest and has a first derivative in reverse mode.

    Args:
      test: carry -> scalar bool; None for a loop of exactly `limit` iterations. body: carry -> carry. carry: a pytree of arrays.
      limit: the greatest number of iterations.

    Returns:
      the carry after the last iteration.
    """
    # Closure conversion: what body and test capture, tracers included, becomes constants of jaxprs, which `custom_vjp` takes as inputs.
    leaves, structure = jax.tree.flatten(carry)
    flat_body = jax.make_jaxpr(lambda flat: jax.tree.leaves(body(jax.tree.unflatten(structure, flat))))(leaves)
    flat_test = jax.make_jaxpr(lambda flat: True if test is None else test(jax.tree.unflatten(structure, flat)))(leaves)
    # The captured arrays are explicit inputs from here on, so their cotangents can be accumulated in the carry of the backward loop.
    loop = _Loop(flat_body.jaxpr, None if test is None else flat_test.jaxpr, limit)
    return jax.tree.unflatten(structure, _run(loop, leaves, flat_body.consts, flat_test.consts))


def bounded_scan(test: Callable[..., Any] | None, body: Callable[..., Any], carry: object, limit: int) -> Any:
    """`bounded_while` with derivatives of any order: a `lax.scan` of `limit` steps, of which those after the end return the carry."""

    # JAX differentiates a scan any number of times; a custom_vjp with a while_loop inside only once.
    def step(state: object, _: None) -> tuple[Any, None]:
        return body(state) if test is None else jax.lax.cond(test(state), body, lambda same: same, state), None

    return jax.lax.scan(step, carry, length=limit)[0]


class _Loop:
    """The body and the condition as functions of the carry and of the outer arrays that they capture.

    Without a condition the forward and the backward loop run from 0 to a constant, so that XLA knows the trip count, and a GPU does
    not ask the host before each iteration.
    """

    def __init__(self, body: Jaxpr, test: Jaxpr | None, limit: int) -> None:
        self._body, self._test, self.limit = body, test, limit
        self._keeps_all = has_complex_values(body)

    def body(self, outer: Arrays, carry: Arrays) -> Arrays:
        """The carry after one iteration."""
        after = jax.core.eval_jaxpr(self._body, outer, *carry)
        return [jnp.asarray(v, array_type(var).dtype) for v, var in zip(after, self._body.outvars)]

    def goes_on(self, outer: Arrays, count: jax.Array | np.int32, carry: Arrays) -> jax.Array:
        """Whether there is another iteration after `count`: a scalar bool."""
        is_within = jnp.less(count, self.limit)
        return is_within if self._test is None else jnp.logical_and(is_within, jax.core.eval_jaxpr(self._test, outer, *carry)[0])

    def iterations(self, count: jax.Array) -> jax.Array | np.int32:
        """The trip count: `count` of the forward loop, or the constant limit if there is no condition."""
        return np.int32(self.limit) if self._test is None else count

    def derivative(self, outer: Arrays, carry: Arrays) -> tuple[Arrays, Any]:
        """Differentiates one iteration.

        Returns:
          the carry after it, and its pullback: cotangents of that -> cotangents of the differentiable leaves of (carry, outer).
        """
        varying, fixed = _real(carry), _real(outer)

        def step(real_carry: Arrays, real_outer: Arrays) -> tuple[Arrays, Arrays]:
            after = self.body(_merged(outer, real_outer), _merged(carry, real_carry))
            return _real(after), after

        # `jax.checkpoint` has no complex residuals. CSE cannot undo the rematerialization: forward and backward loop are two programs.
        kept = step if self._keeps_all else jax.checkpoint(step, policy=_is_kept, prevent_cse=False)
        _, pull, after = jax.vjp(kept, varying, fixed, has_aux=True)
        return after, pull


def _forward(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
    """The loop without residuals, for calls that are not differentiated."""

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, values = state
        return count + np.int32(1), loop.body(outer, values)

    return jax.lax.while_loop(lambda s: loop.goes_on(test_outer, *s), step, (np.int32(0), carry))[1]


def _run(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
    """The loop with `_forward_kept` and `_backward` as its derivative."""

    @jax.custom_vjp
    def run(carry: Arrays, outer: Arrays, test_outer: Arrays) -> Arrays:
        return _forward(loop, carry, outer, test_outer)

    run.defvjp(lambda *arguments: _forward_kept(loop, *arguments), lambda kept, grads: _backward(loop, kept, grads))
    return run(carry, outer, test_outer)


class _Kept:
    """How the residuals of an iteration are saved: one that is an outer array as its position among these, others in stacks.

    `positions` has an entry for each residual, None for a stacked one; `stacked` are the types of the rows of the stacks.
    """

    def __init__(self, structure: jax.tree_util.PyTreeDef, positions: list[int | None], stacked: list[jax.ShapeDtypeStruct]) -> None:
        self._structure, self._positions, self.stacked = structure, positions, stacked

    def pull(self, outer: Arrays, row: Arrays) -> Any:
        """Rebuilds the pullback of an iteration from the outer arrays and one row of each stack."""
        real, rest = _real(outer), iter(row)
        return jax.tree.unflatten(self._structure, [next(rest) if p is None else real[p] for p in self._positions])


def _iteration(loop: _Loop, outer: Arrays, carry: Arrays) -> tuple[_Kept, Callable[[Arrays], tuple[Arrays, Arrays]]]:
    """Traces one iteration, once.

    Returns:
      how its residuals are saved; and carry -> (carry after, rows for the stacks).
    """
    # The pullback that `jax.vjp` returns is a pytree whose leaves are the residuals. A leaf that is identical to an outer array is
    # loop-invariant.
    real = _real(outer)
    structure, positions = None, []

    def step(carry: Arrays) -> tuple[Arrays, Arrays]:
        nonlocal structure, positions
        after, pull = loop.derivative(outer, carry)
        leaves, structure = jax.tree.flatten(pull)
        # Compared by identity: a residual that is an outer array is the same object.
        positions = [next((i for i, o in enumerate(real) if o is leaf), None) for leaf in leaves]
        return after, [leaf for leaf, p in zip(leaves, positions) if p is None]

    closed, (_, stacked) = jax.make_jaxpr(step, return_shape=True)(carry)

    def again(carry: Arrays) -> tuple[Arrays, Arrays]:
        outputs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *carry)
        return outputs[: len(carry)], outputs[len(carry) :]

    return _Kept(structure, positions, stacked), again


def _forward_kept(loop: _Loop, carry: Arrays, outer: Arrays, test_outer: Arrays) -> tuple[Arrays, tuple[Any, ...]]:
    """`fwd` of the custom_vjp: the final carry, and what `_backward` needs."""
    kept, iteration = _iteration(loop, outer, carry)
    stacks = [jnp.zeros((loop.limit, *s.shape), s.dtype) for s in kept.stacked]

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, values, stacks = state
        after, leaves = iteration(values)
        stacks = [jax.lax.dynamic_update_index_in_dim(s, leaf, count, 0) for s, leaf in zip(stacks, leaves)]
        return count + np.int32(1), after, stacks

    # The stacks are in the carry and updated in place, a row per iteration.
    count, last, stacks = jax.lax.while_loop(lambda s: loop.goes_on(test_outer, *s[:2]), step, (np.int32(0), carry, stacks))
    return last, (_Static(kept), count, stacks, carry, outer, test_outer)


def _backward(loop: _Loop, saved: tuple[Any, ...], grads: Arrays) -> tuple[Gradients, Gradients, Gradients]:
    """`bwd` of the custom_vjp: cotangents of (carry, outer, test_outer) from those of the final carry."""
    static, count, rows, carry, outer, test_outer = saved
    kept, varying = static.value, _real_grads(grads, carry)

    # One flat function for `BackwardStep`, which traces it and matches patterns in its equations.
    def pull(row: Arrays, varying: Arrays) -> Arrays:
        before, summands = kept.pull(outer, row)(varying)
        return [*before, *summands]

    # The cotangents of the carry go from iteration to iteration; those of the outer arrays add up over all iterations.
    one_back = BackwardStep(pull, kept.stacked, [jax.typeof(v) for v in varying], loop.limit)

    iterations = loop.iterations(count)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        done, varying, sums, factors = state
        # Counts up, as XLA recognizes the trip count of such a loop, and reads the stacks from the last row to the first.
        index = iterations - np.int32(1) - done
        row = [jax.lax.dynamic_index_in_dim(s, index, 0, keepdims=False) for s in rows]
        return done + np.int32(1), *one_back(index, row, varying, sums, factors)

    _, varying, sums, factors = jax.lax.while_loop(lambda s: s[0] < iterations, step, (np.int32(0), varying, *one_back.start()))
    totals = one_back.total(sums, factors, rows)
    # The condition is a bool: what it captures has no gradient.
    return _all_grads(varying, carry), _all_grads(totals, outer), _all_grads([jnp.zeros_like(t) for t in _real(test_outer)], test_outer)


@jax.tree_util.register_pytree_node_class
class _Static:
    """A Python object as a pytree without leaves, so that it can be among the residuals of a custom_vjp."""

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
    """The values that have derivatives: those of float and complex dtypes."""
    return [v for v in values if _is_real(v)]


def _merged(values: Arrays, real: Arrays) -> Arrays:
    """`values` with those that have derivatives replaced by `real`, in order."""
    rest = iter(real)
    return [next(rest) if _is_real(v) else v for v in values]


def _real_grads(grads: Arrays, values: Arrays) -> Arrays:
    """The cotangents of those among `values` that have derivatives."""
    return [g for g, v in zip(grads, values) if _is_real(v)]


def _all_grads(real: Arrays, values: Arrays) -> Gradients:
    """Cotangents of all `values`, from those of the differentiable ones: the others get float0 zeros."""
    rest = iter(real)
    return [next(rest) if _is_real(v) else np.zeros(np.shape(v), jax.dtypes.float0) for v in values]
