"""Kernels for differentiated traces (loops): JAX differentiates them, and the derivative is TensorFlow's.

An op registers how its derivative differs from JAX's: `slope` is a function that wraps the kernel, `ByRule` uses the op's gradient
function, and NotDifferentiable stops gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tfcompat._src.graph.op_spec import ByRule, NotDifferentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.gradient_rules import Lower, by_rule


def _stopped(value: object) -> Any:
    """Stops gradients through a traced value; others are returned unchanged."""
    return jax.lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value


def kernel(op: Operation, lower: Lower) -> Callable[..., Any]:
    """Returns the kernel of an operation with TensorFlow's derivative.

    Args:
      lower: traces the nodes that the op's gradient function makes.

    Raises:
      NotImplementedError: the node overrides its gradient (tf.custom_gradient, Graph.gradient_override_map).
    """
    if op._gradient_function is not None or "_gradient_op_type" in op.attrs:
        raise NotImplementedError(
            f"{op.name} (op type {op.type}) cannot be differentiated inside a loop: it has a gradient function of its own, which the derivative "
            "of a compiled loop does not use. Take it out of the loop's body."
        )
    plain = op.spec.kernel
    if isinstance(op.spec.slope, ByRule):
        return by_rule(op, lower)
    if op.spec.slope is not None:
        return op.spec.slope(plain)
    if isinstance(op.spec.gradient, NotDifferentiable):
        return lambda *values, **attrs: jax.tree.map(_stopped, plain(*values, **attrs))
    return plain
