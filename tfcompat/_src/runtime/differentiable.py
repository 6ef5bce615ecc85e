"""The kernels that a loop takes through which gradients go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tfcompat._src.graph.op_spec import ByRule, NotDifferentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.gradient_rules import Lower, by_rule


def _stopped(value: object) -> Any:
    return jax.lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value


def kernel(op: Operation, lower: Lower) -> Callable[..., Any]:
    """The kernel of an operation with TensorFlow's derivative.

    Args:
      lower: traces the nodes that a gradient makes.

    Raises:
      NotImplementedError: the node has a gradient of its own, which a loop cannot use.
    """
    if op._gradient_function is not None or "_gradient_op_type" in op.attrs:
        raise NotImplementedError(f"{op.name} has a gradient function of its own, which is not used inside a loop yet")
    plain = op.spec.kernel
    if isinstance(op.spec.slope, ByRule):
        return by_rule(op, lower)
    if op.spec.slope is not None:
        return op.spec.slope(plain)
    if isinstance(op.spec.gradient, NotDifferentiable):
        return lambda *values, **attrs: jax.tree.map(_stopped, plain(*values, **attrs))
    return plain
