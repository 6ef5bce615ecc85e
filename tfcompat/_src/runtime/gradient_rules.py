"""Kernels whose derivative are the nodes that the gradient of their op makes, for loops in which JAX differentiates kernels."""

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
"""Traces operations, sources first, where some tensors have values; these, and what the operations give."""


def by_rule(op: Operation, lower: Lower) -> Kernel:
    """The kernel of an operation, with the derivative that its op's gradient gives."""
    kept_as_numpy = op.constant_positions()

    def kernel(*arguments: object, **keywords: object) -> object:
        leaves, structure = jax.tree.flatten(arguments)
        moving = [i for i in range(len(leaves)) if i not in kept_as_numpy]

        def filled(traced: Sequence[Value]) -> list[Value]:
            found = dict(zip(moving, traced))
            return [found.get(i, value) for i, value in enumerate(leaves)]

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
                found = _gradients(op, filled(traced), jax.tree.leaves(outputs), jax.tree.leaves(grads), lower)
            return tuple(found[i] for i in moving)

        call.defvjp(forward, backward)
        resting = filled([jax.lax.stop_gradient(leaves[i]) for i in moving])
        op.spec.kernel(*jax.tree.unflatten(structure, resting), **keywords)  # for what it demands of its inputs
        return call(*[leaves[i] for i in moving])

    return kernel


def _gradients(
    op: Operation, inputs: Sequence[Value], outputs: Sequence[Value], grads: Sequence[Value], lower: Lower
) -> list[Value | None]:  # fmt: skip
    """The gradients of the inputs of an operation; None for those that have none."""
    values: Values = {}

    def stand_in(value: Value, dtype: DType) -> Tensor:
        if not isinstance(value, jax.core.Tracer):
            return constant(np.asarray(value), dtype)
        found: Tensor = raw.Placeholder(dtype=dtype, shape=value.shape)
        values[found] = value
        return found

    with Graph().as_default() as graph:
        taken = [stand_in(value, t.dtype.base_dtype) for value, t in zip(inputs, op.takes, strict=True)]
        attrs = {name: value for name, value in op.attrs.items() if not name.startswith("_")}
        made = graph.create_op(op.type, taken, [t.dtype for t in op.outputs], attrs=attrs)
        values.update(zip(made.outputs, outputs, strict=True))
        given = [stand_in(g, t.dtype) for g, t in zip(grads, made.outputs, strict=True)]
        found = [None if g is None else convert_to_tensor(g) for g in _by_rule_of(op, made, given)]
        asked = [t for t in found if t is not None]
    results = lower(prune(asked, [], set(values)), values)
    return [None if t is None else results[t] for t in found]


def _by_rule_of(op: Operation, made: Operation, given: list[Tensor]) -> list[Tensor | IndexedSlices | None]:
    if not callable(op.spec.gradient):
        raise TypeError(f"the op {op.type} says that its derivative is by its gradient, but that is {op.spec.gradient}")
    found = op.spec.gradient(made, *given)
    return list(found) if isinstance(found, (list, tuple)) else [found]
