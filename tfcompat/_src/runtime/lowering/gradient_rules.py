"""Kernels whose derivative in JAX is the op's gradient function, for loops in which JAX differentiates kernels.

The vjp of such a kernel builds a small graph: placeholders for the inputs, a node of the op, and the nodes that the gradient function
makes for it. These nodes are lowered in the trace of the backward pass; the inputs and outputs that they read are its residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import jax
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.both_modes import with_backward
from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.runtime.passes.prune import prune

Value: TypeAlias = jax.Array | NDArray
Values: TypeAlias = dict[Tensor, Value]
Kernel: TypeAlias = Callable[..., object]
Lower: TypeAlias = Callable[[list[Operation], Values, bool], Values]
"""(operations in topological order, values of their inputs, whether kernels come without TensorFlow's derivative) -> these values, with
the operations' results."""


def by_rule(op: Operation, lower: Lower, in_both_modes: bool) -> Kernel:
    """Returns the kernel of an operation, whose derivative in reverse mode is the op's gradient function.

    Args:
      lower: traces the nodes that the gradient function makes.
      in_both_modes: whether JAX's forward mode takes the kernel too. All inputs and outputs are residuals then.
    """

    def kernel(*arguments: object, **keywords: object) -> object:
        # Concrete inputs are closed over, as kernels may need NumPy values; the traced ones are the arguments of the function.
        leaves, structure = jax.tree.flatten(arguments)
        # The flow of a TensorArray is several arrays, which JAX differentiates: operations only hand it on, or make one of zeros.
        if len(leaves) != len(op.takes):
            return op.spec.kernel(*arguments, **keywords)
        moving = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
        has_checks = False

        def filled(traced: Sequence[Value]) -> list[Value]:
            by_position = dict(zip(moving, traced))
            return [by_position.get(i, value) for i, value in enumerate(leaves)]

        def compute(*traced: Value) -> object:
            nonlocal has_checks
            with checks.dropped():
                outputs = op.spec.kernel(*jax.tree.unflatten(structure, filled(traced)), **keywords)
                has_checks = bool(checks.COLLECTOR.checks)
            return outputs

        # Arrays that the kernel makes while it is traced are arguments too: a loop hands its constants in as arrays with derivatives.
        given = [leaves[i] for i in moving]
        closed, shapes = jax.make_jaxpr(compute, return_shape=True)(*given)
        count = len(closed.consts)

        def run(*arrays: Value) -> list[Value]:
            return jax.core.eval_jaxpr(closed.jaxpr, arrays[:count], *arrays[count:])

        def residuals(arrays: Sequence[Value], outputs: Sequence[Value]) -> _Residuals:
            inputs = filled(arrays[count:])
            return _Rule(op, inputs, outputs).residuals(inputs, outputs)

        def backward(residuals: _Residuals, grads: Sequence[Value], is_plain: bool = False) -> tuple[Value | None, ...]:
            with checks.dropped():
                gradients = residuals.rule.gradients(residuals.values, grads, lambda nodes, values: lower(nodes, values, is_plain))
            # An empty input has an empty gradient, whatever shape the rule gives it (FusedBatchNorm: a number for an empty mean).
            return (*[None] * count, *[gradients[i] if np.size(leaves[i]) else None for i in moving])

        if in_both_modes:
            call = with_backward(run, lambda arrays, outputs, grads, is_plain: backward(residuals(arrays, outputs), grads, is_plain))
        else:

            def forward(*arrays: Value) -> tuple[list[Value], _Residuals]:
                outputs = list(call(*arrays))
                return outputs, residuals(arrays, outputs)

            call = jax.custom_vjp(run)
            call.defvjp(forward, backward)
        results = jax.tree.unflatten(jax.tree.structure(shapes), call(*closed.consts, *given))
        # Checks of the kernel's inputs cannot leave the function, where they are dropped. A kernel that has any is called once more for
        # them alone; XLA removes the unused results.
        if has_checks:
            resting = filled([jax.lax.stop_gradient(leaves[i]) for i in moving])
            op.spec.kernel(*jax.tree.unflatten(structure, resting), **keywords)
        return results

    return kernel


class _Rule:
    """The nodes that an operation's gradient function makes, for inputs and outputs of given shapes.

    Args:
      inputs, outputs: values of the operation, traced or concrete.
    """

    def __init__(self, op: Operation, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        # Attributes that begin with "_" (device, class, gradient override) do not matter to a gradient function.
        with Graph().as_default() as graph:
            taken = [_stand_in(value, t.dtype.base_dtype) for value, t in zip(inputs, op.takes, strict=True)]
            attrs = {name: value for name, value in op.attrs.items() if not name.startswith("_")}
            made = graph.create_op(op.type, taken, [t.dtype for t in op.outputs], attrs=attrs)
            shapes = [np.shape(value) for value in outputs]
            for tensor, shape in zip(made.outputs, shapes, strict=True):
                tensor.set_shape(shape)
            # An output without a derivative has no gradient.
            self._grads: list[Tensor | None] = [
                raw.Placeholder(dtype=t.dtype, shape=s) if t.dtype.is_floating or t.dtype.is_complex else None for t, s in zip(made.outputs, shapes)
            ]
            gradient = cast(Callable[..., object], op.spec.gradient)
            found = gradient(made, *self._grads)
            gradients = found if isinstance(found, (list, tuple)) else [found]
            self._results = [None if g is None else convert_to_tensor(g) for g in gradients]
        asked = [t for t in self._results if t is not None]
        # Concrete inputs are constants of the graph, so that kernels get them as NumPy values.
        moving = [(i, t) for i, (value, t) in enumerate(zip(inputs, made.inputs)) if isinstance(value, jax.core.Tracer)]
        given = [*moving, *enumerate(made.outputs, len(inputs))]
        self._nodes = prune(asked, [], {t for _, t in given} | {t for t in self._grads if t is not None})
        # Residuals are only the inputs and outputs that the nodes read.
        read = {t for node in self._nodes for t in node.takes} | set(asked)
        self._kept = [(i, t) for i, t in given if t in read]

    def residuals(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> _Residuals:
        """Returns what a backward pass needs of an operation's values."""
        values = [*inputs, *outputs]
        return _Residuals(self, [values[i] for i, _ in self._kept])

    def gradients(self, values: Sequence[Value], grads: Sequence[Value], lower: Callable[[list[Operation], Values], Values]) -> list[Value | None]:
        """Returns the gradients of the inputs, None where there is none, from residuals and from gradients of the outputs."""
        known: Values = {t: value for (_, t), value in zip(self._kept, values, strict=True)}
        # TensorFlow's gradient of a complex tensor is the conjugate of JAX's cotangent.
        known.update((t, _conjugate(g)) for t, g in zip(self._grads, grads, strict=True) if t is not None)
        results = lower(self._nodes, known)
        return [None if t is None else _conjugate(results[t]) for t in self._results]


@jax.tree_util.register_pytree_node_class
class _Residuals:
    """The residuals of an operation, with the rule that reads them."""

    def __init__(self, rule: _Rule, values: Sequence[Value]) -> None:
        self.rule, self.values = rule, values

    def tree_flatten(self) -> tuple[Sequence[Value], _Rule]:
        return self.values, self.rule

    @classmethod
    def tree_unflatten(cls, rule: _Rule, values: Sequence[Value]) -> _Residuals:
        return cls(rule, values)


def _stand_in(value: Value, dtype: DType) -> Tensor:
    """A tensor for an input: a constant of a concrete one, from which gradient functions may read shapes and axes."""
    if isinstance(value, jax.core.Tracer):
        placeholder: Tensor = raw.Placeholder(dtype=dtype, shape=value.shape)
        return placeholder
    return constant(np.asarray(value), dtype)


def _conjugate(value: Value) -> Value:
    return value.conj() if np.iscomplexobj(value) else value
