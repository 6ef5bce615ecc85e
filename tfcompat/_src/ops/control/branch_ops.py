"""The ops that route values: Switch, Merge and their kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, Effects, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import is_listed
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.as_slices import as_indexed_slices
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.shape import shape_internal
from tfcompat._src.ops.control import loop_ops
from tfcompat._src.ops.control.context import output_context
from tfcompat._src.ops.control.guards import SELECT, SWITCH, joined_predicate

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext


def _routed(*values: Any) -> Any:
    raise NotImplementedError("Switch, Merge and what else routes refs are lowered by the runtime, not called")


def _switch_shape(c: Any) -> list:
    si.with_rank(c.inputs[1], 0)
    for index in (0, 1):
        if c.handle(0) is not None:
            c.set_handle(index, *c.handle(0))
    return [c.inputs[0]] * 2


def _switch_gradient(node: Operation, *grads: object) -> list:
    """The gradients of both sides joined; outside of a conditional each is first let through on its side only."""
    context = node._get_control_flow_context()
    if is_listed(node) and context is not None and context.IsWhileContext():
        return [_variable_gradient(node, *grads), None]
    if is_listed(node) and context is None:
        sides = [switch(g, node.inputs[1])[side] for side, g in enumerate(grads)]
        return [merge(sides)[0], None]
    if any(g is None for g in grads):
        given = [g for g in grads if g is not None]
        is_handle = given and node.inputs[0].dtype == dtypes.resource
        return [merge(given * 2, name="cond_resource_grad")[0] if is_handle else None, None]
    return [merge(list(grads), name="cond_grad")[0], None]


def _variable_gradient(node: object, off: object, on: TensorLike) -> Any:
    """The gradient of a loop variable: what comes through the Exit begins it, and closes it until the second visit brings that of the body."""
    merges = get_default_graph()._control_flow_context.grad_state.merges
    if node in merges:
        if on is not None:
            merges[node].op._update_input(1, loop_ops.next_iteration(on))
    elif off is not None:
        merges[node] = merge([off, off], name="b_switch")[0]
        return merges[node]
    return None


def zeros_of_output(node: Any, index: int) -> Tensor:
    """The gradient of an output that none has come to: for the side of a Switch, zeros that only exist where that side was taken."""
    output = node.outputs[index]
    side = _other_side(node, index) if node.type in SWITCH else None
    if side is None:
        if output.dtype == dtypes.resource:
            return zeros(raw.VariableShape(output), output._handle_data[0])
        return zeros_like(output, optimize=False)
    there = switch(node.inputs[0], side[0])[side[1]]
    if output.dtype.base_dtype == dtypes.variant:
        return zeros_like(there, optimize=False)
    alive = raw.Identity(there)
    if output.dtype == dtypes.resource:
        with control_dependencies([alive]):
            return zeros(raw.VariableShape(there), output._handle_data[0])
    sizes = shape_internal(there, optimize=False)
    with control_dependencies([alive]):
        return zeros(sizes, output.dtype.base_dtype)


def _other_side(node: Any, index: int) -> tuple[Tensor, int] | None:
    """The predicate of a conditional's Switch and the side that nothing has come from; None for any other Switch."""
    if not is_listed(node):
        return None if node.inputs[1].op.type == "LoopCond" else (node.inputs[1], index)
    context = node._get_control_flow_context()
    return (context.pred, 1 - context.branch) if context is not None and context.IsCondContext() else None


def _merge_shape(c: InferenceContext) -> list:
    sizes = c.inputs[0]
    for other in c.inputs[1:]:
        sizes = _common(sizes, other)
    return [sizes, ()]


def _common(a: tuple | None, b: tuple | None) -> tuple | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b))


def _merge_gradient(node: Operation, grad: TensorLike, _: object) -> list:
    """The gradient goes into the branch that was taken, or to the iteration before."""
    context = output_context(node.inputs[0].op)
    around = get_default_graph()._control_flow_context
    loop = around.grad_state if around is not None else None
    if not is_listed(node):
        predicate = joined_predicate(node)
        if predicate is None:
            raise NotImplementedError(f"the gradient of {node.name}: it joins no two branches of a conditional")
        return list(switch_ref_or_tensor(grad, predicate, name="cond_grad"))
    if context is None:
        chosen = [raw.Equal(node.outputs[1], i) for i in range(len(node.inputs))]
        return [switch_ref_or_tensor(grad, is_it)[1] for is_it in chosen]
    if context.IsWhileContext():
        return list(switch_ref_or_tensor(grad, around.pivot))
    predicate = context.pred if loop is None else loop.predicate_of(context.pred)
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
    "ControlTrigger", "() -> ()", shape=si.no_outputs, kernel=lambda: (), fold=True, facts=Facts(does_nothing=True),
    gradient=NotDifferentiable("it has no values", raises=True),
)  # fmt: skip


def switch(data: TensorLike, pred: TensorLike, dtype: object = None, name: str | None = None) -> Any:
    """Sends `data` to output 1 where `pred` is true, else to output 0."""
    with name_scope(name, "Switch", [data, pred]) as scope:
        if isinstance(data, IndexedSlices):
            values, indices = raw.Switch(data.values, pred), raw.Switch(data.indices, pred)
            return tuple(IndexedSlices(v, i, data.dense_shape) for v, i in zip(values, indices))
        return raw.Switch(data, pred, name=scope)


def switch_ref_or_tensor(data: TensorLike, pred: TensorLike, name: str = "Switch") -> Any:
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
        if not any(isinstance(v, IndexedSlices) for v in inputs):
            return raw.Merge(inputs, name=scope)
        slices = [as_indexed_slices(v, optimize=False) for v in inputs]
        values, chosen = raw.Merge([v.values for v in slices])
        indices, _ = raw.Merge([v.indices for v in slices])
        shapes = [v.dense_shape for v in slices]
        if all(s is None for s in shapes):
            return IndexedSlices(values, indices), chosen
        if any(s is None for s in shapes):
            raise ValueError("Either all merged IndexedSlices must have a dense_shape, or none must have one.")
        return IndexedSlices(values, indices, raw.Merge(shapes)[0]), chosen


def _select_shape(c: InferenceContext) -> list:
    """The shape of the refs where it is known and the same for all."""
    sizes = c.inputs[1]
    is_known = sizes is not None and None not in sizes
    return [sizes if is_known and all(other == sizes for other in c.inputs[2:]) else None]


op(
    SELECT, "(index: int32, inputs: Ref(N*T), *, T: type, N: int >= 1) -> (output: Ref(T))", shape=_select_shape, kernel=_routed,
    effects=Effects(reads=("inputs",)), side=HOST,
    gradient=NotDifferentiable("1.15 has no gradient here", raises=True),
)  # fmt: skip
op(
    "RefIdentity", "(input: Ref(T), *, T: type) -> (output: Ref(T))", shape=si.unchanged, kernel=_routed,
    gradient=lambda node, grad: [grad],
)  # fmt: skip
