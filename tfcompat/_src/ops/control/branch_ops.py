"""The ops that route values: Switch, Merge and their kin."""

from __future__ import annotations

from typing import Any

from tfcompat._src.framework import raw
from tfcompat._src.framework import shape_inference as si
from tfcompat._src.framework.indexed_slices import IndexedSlices
from tfcompat._src.framework.op_spec import NotDifferentiable, op
from tfcompat._src.framework.scopes import colocate_with, name_scope
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.guards import joined_predicate


def _routed(*values: Any) -> Any:
    raise NotImplementedError("Switch and Merge are lowered by the runtime, not called")


def _switch_shape(c: Any) -> list:
    si.with_rank(c.inputs[1], 0)
    for index in (0, 1):
        if c.handle(0) is not None:
            c.set_handle(index, *c.handle(0))
    return [c.inputs[0]] * 2


def _switch_gradient(node: Any, *grads: Any) -> list:
    """The gradients of both sides joined; a side that gave none is zero there."""
    if any(isinstance(g, IndexedSlices) for g in grads):
        grads = [_as_slices(g) for g in grads]
        indices, values = (raw.Merge([getattr(g, part) for g in grads])[0] for part in ("indices", "values"))
        return [IndexedSlices(values, indices, grads[0].dense_shape), None]
    present = [raw.ZerosLike(t) if g is None else g for g, t in zip(grads, node.outputs)]
    return [raw.Merge(present, name="cond_grad")[0], None]


def _as_slices(grad: Any) -> IndexedSlices:
    if isinstance(grad, IndexedSlices):
        return grad
    return IndexedSlices(grad, raw.Range(0, raw.Reshape(raw.Slice(raw.Shape(grad), [0], [1]), []), 1), raw.Shape(grad))


def _merge_shape(c: Any) -> list:
    sizes = c.inputs[0]
    for other in c.inputs[1:]:
        sizes = _common(sizes, other)
    return [sizes, ()]


def _common(a: tuple | None, b: tuple | None) -> tuple | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


def _merge_gradient(node: Any, grad: Any, _: Any) -> list:
    """The gradient goes into the branch that was taken."""
    context = node.inputs[0].op._get_control_flow_context()
    while context is not None and not context.IsCondContext():
        context = context.outer_context
    predicate = context.pred if context is not None else joined_predicate(node)
    if predicate is None:
        raise NotImplementedError(f"the gradient of {node.name}: it joins no two branches of a conditional")
    return list(switch_ref_or_tensor(grad, predicate, name="cond_grad"))


for _prefix, _type in (("", "T"), ("Ref", "Ref(T)")):
    op(
        f"{_prefix}Switch", f"(data: {_type}, pred: bool, *, T: type) -> (output_false: {_type}, output_true: {_type})",
        shape=_switch_shape, gradient=_switch_gradient, kernel=_routed,
    )  # fmt: skip
    op(
        f"{_prefix}Merge",
        f"(inputs: {_type.replace('T', 'N*T')}, *, T: type, N: int >= 1) -> (output: {_type}, value_index: int32)",
        shape=_merge_shape, gradient=_merge_gradient, kernel=_routed,
    )  # fmt: skip


op(
    "ControlTrigger", "() -> ()", shape=si.no_outputs, kernel=lambda: (), fold=True,
    gradient=NotDifferentiable("it has no values"),
)  # fmt: skip


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Sends `data` to output 1 where `pred` is true, else to output 0."""
    with name_scope(name, "Switch", [data, pred]) as scope:
        if isinstance(data, IndexedSlices):
            values, indices = raw.Switch(data.values, pred), raw.Switch(data.indices, pred)
            return tuple(IndexedSlices(v, i, data.dense_shape) for v, i in zip(values, indices))
        return raw.Switch(data, pred, name=scope)


def switch_ref_or_tensor(data: Any, pred: Any, name: str = "Switch") -> Any:
    """`switch` on the device of `data`, of a ref where it is one."""
    with colocate_with(data.values if isinstance(data, IndexedSlices) else data, ignore_existing=True):
        if isinstance(data, Tensor) and data.dtype._is_ref_dtype:
            return raw.RefSwitch(data, pred, name=name)
        return switch(data, pred, name=name)


def merge(inputs: list[Any], name: str | None = None) -> tuple[Any, Tensor]:
    """The one of `inputs` that has a value, and its index."""
    if any(i is None for i in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with name_scope(name, "Merge", [v.values if isinstance(v, IndexedSlices) else v for v in inputs]) as scope:
        if all(isinstance(v, Tensor) for v in inputs):
            ref = all(v.dtype._is_ref_dtype for v in inputs)
            return (raw.RefMerge if ref else raw.Merge)(inputs, name=scope)
        if all(isinstance(v, IndexedSlices) for v in inputs):
            values, chosen = raw.Merge([v.values for v in inputs], name=scope + "values")
            indices, _ = raw.Merge([v.indices for v in inputs], name=scope + "indices")
            return IndexedSlices(values, indices, inputs[0].dense_shape), chosen
        return raw.Merge(inputs, name=scope)


op(
    "RefIdentity", "(input: Ref(T), *, T: type) -> (output: Ref(T))", shape=si.unchanged, kernel=_routed,
    gradient=lambda node, grad: [grad],
)  # fmt: skip
