"""Kernels with TensorFlow's derivative, where JAX gives another at kinks: for loops, inside of which JAX differentiates kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

OfOne: TypeAlias = Callable[[jax.Array], jax.Array]


def selecting(takes_first: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a two-input kernel that chooses one a kernel whose gradient goes to the first where `takes_first(x, y)`, else to the second."""

    def with_slope(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @jax.custom_jvp
        def select(x: Any, y: Any) -> Any:
            return kernel(x, y)

        @select.defjvp
        def derivative(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
            x, y = jnp.broadcast_arrays(*primals)
            dx, dy = (jnp.broadcast_to(t, x.shape) for t in tangents)
            return kernel(*primals), jnp.where(takes_first(x, y), dx, dy)

        return select

    return with_slope


def clipped(passes: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a one-input kernel one with slope 1 where `passes(x)`, else 0."""

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
    """Makes a one-input kernel one with the derivative `slope(x)`."""

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
    """Makes a kernel one whose gradient is `backward(g, *inputs, **attrs)`, the kernel of TensorFlow's gradient op: one value for each input."""

    def with_slope(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **attrs: Any) -> Any:
            moving = [i for i, v in enumerate(values) if isinstance(v, jax.core.Tracer)]

            def filled(traced: tuple[Any, ...]) -> list[Any]:
                found = dict(zip(moving, traced))
                return [found.get(i, v) for i, v in enumerate(values)]

            @jax.custom_vjp
            def call(*traced: Any) -> Any:
                return kernel(*filled(traced), **attrs)

            def back(traced: tuple[Any, ...], g: Any) -> tuple[Any, ...]:
                found = backward(g, *filled(traced), **attrs)
                return tuple(found[i] for i in moving)

            call.defvjp(lambda *traced: (call(*traced), traced), back)
            return call(*[values[i] for i in moving])

        return run

    return with_slope
