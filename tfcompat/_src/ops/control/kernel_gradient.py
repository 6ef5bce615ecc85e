"""The gradient of ops that have no gradient op type of their own: the vjp of their kernel.

TensorFlow's gradient of a complex tensor is the conjugate of JAX's, hence the conjugations.

`KernelGradient` is tfcompat's own op type; a GraphDef that holds it cannot be run by TensorFlow.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from tfcompat._src.graph import attr_values, constant_value, op_spec
from tfcompat._src.graph.op_spec import FROM_KERNEL, op
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext


@functools.lru_cache(maxsize=4096)
def _forward(node_def: bytes) -> tuple[op_spec.OpSpec, dict[str, Any]]:
    """The record and attributes of the forward node."""
    node = messages.NodeDef.FromString(node_def)
    return op_spec.get(node.op), {k: attr_values.from_proto(v) for k, v in node.attr.items()}


class _ForwardNode:
    """As much of the forward node as its kernel's arguments are made from."""

    def __init__(self, spec: op_spec.OpSpec, attrs: dict[str, Any]) -> None:
        self.spec, self.attrs = spec, attrs

    def arg_length(self, arg: Any) -> int:
        if arg.number_attr:
            return self.attrs[arg.number_attr]
        return len(self.attrs[arg.type_list_attr]) if arg.type_list_attr else 1


def _shapes(c: InferenceContext) -> list:
    count = len(c.attr("Tin"))
    dynamic = [c.inputs[i] for i in range(count) if c.op.inputs[i].dtype in c.attr("Tout")]
    return dynamic[: len(c.op.outputs)] if len(dynamic) == len(c.op.outputs) else [None] * len(c.op.outputs)


@op(
    "KernelGradient",
    "(inputs: Tin, static: Tstatic, grads: Tgrad, *, forward: string, static_positions: list(int), wanted: list(int), "
    "Tin: list(type), Tstatic: list(type), Tgrad: list(type), Tout: list(type)) -> (outputs: Tout)",
    shape=_shapes, gradient=FROM_KERNEL, constants=("static",),
)  # fmt: skip
def _kernel_gradient(inputs, static, grads, *, forward, static_positions, wanted):
    spec, attrs = _forward(forward.encode("latin-1"))
    values = list(inputs)
    for position, value in zip(static_positions, static):
        values.insert(position, value)
    node = _ForwardNode(spec, attrs)

    def run(*differentiated):
        filled = list(values)
        for position, value in zip(wanted, differentiated):
            filled[position] = value
        arguments, kernel_attrs = constant_value.kernel_arguments(node, filled)
        result = spec.kernel(*arguments, **{k: kernel_attrs[k] for k in spec.kernel_attrs})
        flat = jax.tree.leaves(result)
        return [r for r in flat if jnp.issubdtype(r.dtype, jnp.inexact)]

    _, pull = jax.vjp(run, *[jnp.asarray(values[i]) for i in wanted])
    return tuple(map(jnp.conj, pull([jnp.conj(g) for g in grads])))


def kernel_gradient(op: Any, *grads: Any) -> list:
    """The gradient rule of ops marked FROM_KERNEL."""
    static = sorted(op.constant_positions())
    wanted = [i for i, t in enumerate(op.inputs) if i not in static and t.dtype.is_floating | t.dtype.is_complex]
    kept = [g for g, t in zip(grads, op.outputs) if t.dtype.is_floating or t.dtype.is_complex]
    outputs = raw.KernelGradient(
        [t for i, t in enumerate(op.inputs) if i not in static], [op.inputs[i] for i in static], kept,
        forward=op.node_def.SerializeToString(), static_positions=static, wanted=wanted,
        Tout=[op.inputs[i].dtype.base_dtype for i in wanted],
    )  # fmt: skip
    found: list[Any] = [None] * len(op.inputs)
    for position, grad in zip(wanted, outputs):
        grad._sizes = op.inputs[position]._sizes
        found[position] = grad
    return found


