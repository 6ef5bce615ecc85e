"""Kernels whose derivative by JAX is not TensorFlow's: what a loop that gradients go through takes in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tfcompat._src.framework.op_spec import NotDifferentiable
from tfcompat._src.framework.operation import Operation


def _selecting(kernel: Callable, takes_first: Callable) -> Callable:
    """A two-input kernel that chooses one; where both are equal the gradient goes to the first."""

    @jax.custom_jvp
    def select(x: Any, y: Any) -> Any:
        return kernel(x, y)

    @select.defjvp
    def derivative(primals: tuple, tangents: tuple) -> tuple:
        x, y = jnp.broadcast_arrays(*primals)
        dx, dy = (jnp.broadcast_to(t, x.shape) for t in tangents)
        return kernel(*primals), jnp.where(takes_first(x, y), dx, dy)

    return select


def _clipped(kernel: Callable, passes: Callable) -> Callable:
    """A one-input kernel with slope 1 where `passes`, else 0."""

    @jax.custom_jvp
    def clip(x: Any) -> Any:
        return kernel(x)

    @clip.defjvp
    def derivative(primals: tuple, tangents: tuple) -> tuple:
        return kernel(*primals), jnp.where(passes(*primals), tangents[0], jnp.zeros_like(tangents[0]))

    return clip


_REPLACED = {
    "Maximum": lambda kernel: _selecting(kernel, lambda x, y: x >= y),
    "Minimum": lambda kernel: _selecting(kernel, lambda x, y: x <= y),
    "Relu": lambda kernel: _clipped(kernel, lambda x: x > 0),
    "Relu6": lambda kernel: _clipped(kernel, lambda x: (x > 0) & (x < 6)),
}


def _stopped(value: Any) -> Any:
    return jax.lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value


def kernel(op: Operation) -> Callable:
    """The kernel of an operation with TensorFlow's derivative.

    Raises:
      NotImplementedError: the node has a gradient of its own, which a loop cannot use.
    """
    if op._gradient_function is not None or "_gradient_op_type" in op._attrs:
        raise NotImplementedError(f"{op.name} has a gradient function of its own, which is not used inside a loop yet")
    plain = op.spec.kernel
    if op.type in _REPLACED:
        return _REPLACED[op.type](plain)
    if isinstance(op.spec.gradient, NotDifferentiable):
        return lambda *values, **attrs: jax.tree.map(_stopped, plain(*values, **attrs))
    return plain
