"""Decorators that give a kernel TensorFlow's derivative, for `OpSpec.slope`.

JAX differentiates kernels inside loops, and its derivative at kinks (ties of a maximum, the border of a clip) is not always that of
TensorFlow's gradient function. Rules are JVPs, so that derivatives of any order work, except for `by_backward`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

OfOne: TypeAlias = Callable[[jax.Array], jax.Array]


def selecting(takes_first: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for a kernel that selects one of two inputs: the tangent is that of x where `takes_first(x, y)`, else of y."""

    def with_slope(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @jax.custom_jvp
        def select(x: Any, y: Any) -> Any:
            return kernel(x, y)

        @select.defjvp
        def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
            # Tangents have the shapes of the inputs, so they are broadcast as the primals are.
            x, y = jnp.broadcast_arrays(*primals)
            dx, dy = (jnp.broadcast_to(t, x.shape) for t in tangents)
            return kernel(*primals), jnp.where(takes_first(x, y), dx, dy)

        return select

    return with_slope


def clipped(passes: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for a kernel of one input: its derivative is 1 where `passes(x)`, else 0."""

    def with_slope(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @jax.custom_jvp
        def clip(x: Any) -> Any:
            return kernel(x)

        @clip.defjvp
        def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
            return kernel(*primals), jnp.where(passes(*primals), tangents[0], jnp.zeros_like(tangents[0]))

        return clip

    return with_slope


def sloping(slope: OfOne) -> Callable[[OfOne], OfOne]:
    """Returns a decorator for a kernel of one input: its derivative is `slope(x)`."""

    def with_slope(kernel: OfOne) -> OfOne:
        @jax.custom_jvp
        def run(x: jax.Array) -> jax.Array:
            return kernel(x)

        @run.defjvp
        def derivative(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
            return kernel(*primals), tangents[0] * slope(*primals)

        return run

    return with_slope


def by_backward(backward: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for a kernel: its VJP is `backward(g, *inputs, **attrs)`, the kernel of TensorFlow's gradient op.

    `backward` returns one cotangent per input. Only inputs that are traced are differentiated.
    """

    def with_slope(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **attrs: Any) -> Any:
            # custom_vjp traces all its arguments, but kernels need constants as NumPy values: those stay in the closure.
            moving = [i for i, v in enumerate(values) if isinstance(v, jax.core.Tracer)]

            def filled(traced: tuple[Any, ...]) -> list[Any]:
                by_position = dict(zip(moving, traced))
                return [by_position.get(i, v) for i, v in enumerate(values)]

            @jax.custom_vjp
            def call(*traced: Any) -> Any:
                return kernel(*filled(traced), **attrs)

            def back(traced: tuple[Any, ...], g: Any) -> tuple[Any, ...]:
                cotangents = backward(g, *filled(traced), **attrs)
                return tuple(cotangents[i] for i in moving)

            # The residuals are the inputs: TensorFlow's gradient kernels recompute from them.
            call.defvjp(lambda *traced: (call(*traced), traced), back)
            return call(*[values[i] for i in moving])

        return run

    return with_slope
