"""Kernels whose derivative in JAX is the op's gradient function (slope=BY_RULE), for loops in which JAX differentiates kernels.

The vjp of such a kernel builds a small graph: placeholders for the inputs, a node of the op, and the nodes that the gradient function
makes for it. These nodes are lowered in the trace of the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.runtime.prune import prune

Value: TypeAlias = jax.Array | NDArray
Values: TypeAlias = dict[Tensor, Value]
Kernel: TypeAlias = Callable[..., object]
Lower: TypeAlias = Callable[[list[Operation], Values], Values]
"""(operations in topological order, values of their inputs) -> these values, with the operations' results."""


def by_rule(op: Operation, lower: Lower) -> Kernel:
    """Returns the kernel of an operation with a `jax.custom_vjp` whose backward function is the op's gradient function.

    Args:
      lower: traces the nodes that the gradient function makes.
    """
    kept_as_numpy = op.constant_positions()

    def kernel(*arguments: object, **keywords: object) -> object:
        # Inputs that the kernel needs as NumPy values are closed over; the others are the arguments of the custom_vjp.
        leaves, structure = jax.tree.flatten(arguments)
        moving = [i for i in range(len(leaves)) if i not in kept_as_numpy]

        def filled(traced: Sequence[Value]) -> list[Value]:
            by_position = dict(zip(moving, traced))
            return [by_position.get(i, value) for i, value in enumerate(leaves)]

        # The residuals are all inputs and outputs, which gradient functions may use (`op.inputs`, `op.outputs`).
        @jax.custom_vjp
        def call(*traced: Value) -> object:
            with checks.dropped():
                return op.spec.kernel(*jax.tree.unflatten(structure, filled(traced)), **keywords)

        def forward(*traced: Value) -> tuple[object, tuple[tuple[Value, ...], object]]:
            outputs = call(*traced)
            return outputs, (traced, outputs)

        def backward(kept: tuple[tuple[Value, ...], object], grads: object) -> tuple[Value | None, ...]:
            traced, outputs = kept
            with checks.dropped():
                gradients = _gradients(op, filled(traced), jax.tree.leaves(outputs), jax.tree.leaves(grads), lower)
            return tuple(gradients[i] for i in moving)

        call.defvjp(forward, backward)
        # Checks of the kernel's inputs cannot leave a custom_vjp function, where they are dropped. The kernel is called here once more
        # for its checks alone; XLA removes the unused results.
        resting = filled([jax.lax.stop_gradient(leaves[i]) for i in moving])
        op.spec.kernel(*jax.tree.unflatten(structure, resting), **keywords)
        return call(*[leaves[i] for i in moving])

    return kernel


def _gradients(
    op: Operation, inputs: Sequence[Value], outputs: Sequence[Value], grads: Sequence[Value], lower: Lower
) -> list[Value | None]:  # fmt: skip
    """The gradients of an operation's inputs, None where there is none, from its traced inputs, outputs and gradients of outputs."""
    values: Values = {}

    # Concrete values become constants, from which gradient functions may read shapes and axes.
    def stand_in(value: Value, dtype: DType) -> Tensor:
        if not isinstance(value, jax.core.Tracer):
            return constant(np.asarray(value), dtype)
        placeholder: Tensor = raw.Placeholder(dtype=dtype, shape=value.shape)
        values[placeholder] = value
        return placeholder

    # Attributes that begin with "_" (device, class, gradient override) do not matter to a gradient function.
    with Graph().as_default() as graph:
        taken = [stand_in(value, t.dtype.base_dtype) for value, t in zip(inputs, op.takes, strict=True)]
        attrs = {name: value for name, value in op.attrs.items() if not name.startswith("_")}
        made = graph.create_op(op.type, taken, [t.dtype for t in op.outputs], attrs=attrs)
        values.update(zip(made.outputs, outputs, strict=True))
        given = [stand_in(g, t.dtype) for g, t in zip(grads, made.outputs, strict=True)]
        grad_tensors = [None if g is None else convert_to_tensor(g) for g in _by_rule_of(op, made, given)]
        asked = [t for t in grad_tensors if t is not None]
    results = lower(prune(asked, [], set(values)), values)
    return [None if t is None else results[t] for t in grad_tensors]


def _by_rule_of(op: Operation, made: Operation, given: list[Tensor]) -> list[Tensor | IndexedSlices | None]:
    """Calls the op's gradient function on the node `made` with the gradients `given` of its outputs."""
    if not callable(op.spec.gradient):
        raise TypeError(f"{op.type} is registered with slope=BY_RULE, so its gradient must be a function, but it is {op.spec.gradient!r}.")
    grads = op.spec.gradient(made, *given)
    return list(grads) if isinstance(grads, (list, tuple)) else [grads]
