"""Kernels for differentiated traces (loops): JAX differentiates them, and the derivative is TensorFlow's.

The derivative is by the op's gradient function, unless the op says that JAX's gives the same numbers (`exact`) or that there is none
(NotDifferentiable, which stops gradients). Where 1.15 refuses one, as most second derivatives, it is JAX's: tf.gradients has refused it
before, and functions of JAX have derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tfcompat._src.graph.op_spec import PURE, RANDOM, NotDifferentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.runtime.lowering.gradient_rules import Lower, by_rule


def _stopped(value: object) -> Any:
    """Stops gradients through a traced value; others are returned unchanged."""
    return jax.lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value


def kernel(op: Operation, lower: Lower, in_both_modes: bool) -> Callable[..., Any]:
    """Returns the kernel of an operation with TensorFlow's derivative.

    Args:
      lower: traces the nodes that the op's gradient function makes.
      in_both_modes: whether JAX may differentiate in forward mode too.

    Raises:
      NotImplementedError: the node overrides its gradient (tf.custom_gradient, Graph.gradient_override_map).
    """
    if op._gradient_function is not None or "_gradient_op_type" in op.attrs:
        raise NotImplementedError(
            f"{op.name} (op type {op.type}) cannot be differentiated inside a loop: it has a gradient function of its own, which the derivative "
            "of a compiled loop does not use. Take it out of the loop's body."
        )
    spec = op.spec
    if isinstance(spec.gradient, NotDifferentiable) and not spec.gradient.raises:
        return lambda *values, **attrs: jax.tree.map(_stopped, spec.kernel(*values, **attrs))
    is_by_kernel = spec.exact or not callable(spec.gradient) or _passes_handles(op)
    return spec.kernel if is_by_kernel else by_rule(op, lower, in_both_modes)


def _passes_handles(op: Operation) -> bool:
    """Whether an operation reads a variable or forwards a handle (a TensorArray's flow aside): it moves values and computes none."""
    return op.spec.effects not in (PURE, RANDOM) or any(t.dtype.name in ("resource", "variant") or t.dtype._is_ref_dtype for t in (*op.takes, *op.outputs))
