"""tf.gradients: the walk from ys back to xs. The rule of each op lives with the op."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfcompat._src.base import dtypes, gradient_registry
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.gradients.loop_notes import note_derivatives
from tfcompat._src.gradients.visits import (
    Visits,
    behind,
    differentiates_inlined,
    is_plain,
    is_trainable,
    origin,
    sources_of,
)
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import ControlFlowContext, Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.scopes import colocate_with, device, executing_eagerly, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor_or_indexed_slices, to_tensor
from tfcompat._src.nodes.function_body import is_listed
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape, size
from tfcompat._src.ops.control.backward_loop import BackwardLoops
from tfcompat._src.ops.control.branch_ops import zeros_of_output
from tfcompat._src.ops.control.groups import tuple_
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.ops.control.kernel_gradient import kernel_gradient
from tfcompat._src.ops.control.loop_gradient import LoopNode, require_second_derivative
from tfcompat._src.ops.control.loop_ops import EXIT
from tfcompat._src.ops.control.loop_topology import find_loops, left_loops
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.scan import accumulate_n, add_n

Part = Tensor | IndexedSlices
"""What flows to a tensor."""


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """What `gradients` gives for an x that does not reach any y: None, or zeros of its shape."""

    NONE = "none"
    ZERO = "zero"


@export("AggregationMethod")
class AggregationMethod:
    """Ways to add gradients up; the compiler makes one sum of each, so all give the same."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@export("gradients")
def gradients(
    ys: object, xs: object, grad_ys: object = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False, aggregation_method: int | None = None, stop_gradients: object = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:  # fmt: skip
    """Adds operations for the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: tensor or list of tensors.
      xs: tensor, variable, or list of them.
      grad_ys: gradient of each y, of its shape; by default ones.
      name: name scope of the new operations.
      colocate_gradients_with_ops: places each rule on the device of its operation.
      gate_gradients: lets the gradients of an operation wait for each other.
      aggregation_method: one of AggregationMethod.
      stop_gradients: tensors that are treated as constants.
      unconnected_gradients: what an x gets that no y depends on.

    Returns:
      a list like `xs` of tensors, IndexedSlices (sparse gradients), or None.

    Raises:
      LookupError: an operation on the way has no gradient. ValueError: wrong number or shape of gradients.
      TypeError: the dtype of a gradient does not fit its y.
    """
    if executing_eagerly():
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    ys, xs = _as_list(ys), _as_list(xs)
    stops = _as_list(stop_gradients) if stop_gradients is not None else []
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    unconnected = UnconnectedGradients(unconnected_gradients) if not isinstance(unconnected_gradients, UnconnectedGradients) else unconnected_gradients
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    with name_scope(name, "gradients", [*ys, *xs, *stops, *[g for g in grad_ys if g is not None]]):
        get_default_graph().unique_name("uid")
        ys = convert_n_to_tensor_or_indexed_slices(ys, name="y")
        targets = [origin(_differentiated(x)) for x in xs]
        stop_tensors = {origin(_differentiated(s)) for s in stops}
        walk = _Walk(colocate_gradients_with_ops, gate_gradients, aggregation_method)
        for y, grad in zip(ys, _initial_gradients(grad_ys, ys, colocate_gradients_with_ops)):
            walk.add(y, grad)
        walk.run(ys, targets, stop_tensors)
        totals = [walk.total(t) for t in targets]
    return [_result(total, t, x, unconnected) for total, t, x in zip(totals, targets, xs)]


def recorded_gradients(
    ys: list[Any], xs: list[Any], grad_ys: list[Any] | None, among: set[Operation], tracked: set[Tensor], unconnected: UnconnectedGradients
) -> list[Any]:
    """`gradients` through the operations `among` alone; an x that is not among `tracked` is not reached."""
    targets = [_differentiated(x) for x in xs]
    walk = _Walk()
    for y, grad in zip(ys, _initial_gradients([None] * len(ys) if grad_ys is None else grad_ys, ys)):
        walk.add(y, grad)
    followed = [t for t in targets if t in tracked]
    if ys and followed:
        walk.run(ys, followed, set(), among)
    totals = [walk.total(t) if t in tracked else None for t in targets]
    return [_result(total, t, x, unconnected) for total, t, x in zip(totals, targets, xs)]


def gradients_of_results(grads: dict[Tensor, Tensor], xs: list[Tensor]) -> list[Part | None]:
    """The gradients of `xs` from those that tensors have, which no nodes are made for."""
    with name_scope("gradients"):
        walk = _Walk()
        for y, grad in grads.items():
            walk.add(y, grad)
        walk.run(list(grads), xs, set())
        return [walk.total(x) for x in xs]


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _differentiated(x: object) -> Tensor:
    """The tensor that gradients flow to: a resource variable's handle, a ref, or the tensor itself."""
    if isinstance(x, IndexedSlices):
        return x.values
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor) and handle.dtype == dtypes.resource:
        return handle
    return to_tensor(x, name="x", as_ref=True)


def _initial_gradients(grad_ys: list[Any], ys: list[Any], colocate: bool = False) -> list[Part]:
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    found = []
    for i, (grad, y) in enumerate(zip(convert_n_to_tensor_or_indexed_slices(grad_ys, name="grad_y"), ys)):
        with colocate_with(y.op) if colocate else contextlib.nullcontext():
            found.append(_initial_gradient(grad, y, f"grad_ys_{i}"))
    return found


def _initial_gradient(grad: Part | None, y: Part, name: str) -> Part:
    """The gradient that was given of a y, or ones."""
    if grad is not None:
        _check_gradient_dtype(grad, y)
        return _named(grad, name)
    if y.dtype.is_complex:
        raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
    values = y.values if isinstance(y, IndexedSlices) else y
    ones: Tensor = raw.Fill(shape(values), constant(1, dtype=values.dtype.base_dtype, name=name))
    return ones


def _named(grad: Part, name: str) -> Part:
    """A gradient that was given, in nodes of the gradients' name scope."""
    if not isinstance(grad, IndexedSlices):
        same: Tensor = raw.Identity(grad, name=name)
        return same
    indices = raw.Identity(grad.indices, name=f"{name}_indices")
    values = raw.Identity(grad.values, name=f"{name}_values")
    dense_shape = None if grad.dense_shape is None else raw.Identity(grad.dense_shape, name=f"{name}_shape")
    return IndexedSlices(values, indices, dense_shape)


def _check_gradient_dtype(grad: Part, y: Part) -> None:
    given, wanted = grad.dtype, y.dtype.base_dtype
    if wanted.is_floating or wanted.is_integer:
        fits, kind, needed = given.is_floating or given.is_integer, "real or integer-valued", "real or integer"
    elif wanted.is_complex:
        fits, kind, needed = given.is_complex, "complex-valued", "real"
    elif wanted == dtypes.variant:
        fits, kind, needed = given == dtypes.variant, "variant", "variant"
    elif wanted == dtypes.resource:
        if given == dtypes.resource:
            raise TypeError(f"Input gradient {grad} for resource tensor {y} should not be a resource")
        return
    else:
        raise TypeError(f"Tensor {y} with type {wanted.name} must be numeric to obtain a default gradient")
    if not fits:
        raise TypeError(
            f"Gradient type {given.name} generated for {kind} tensor {y} with type {wanted.name} must be {needed}"
        )


def _result(grad: Part | None, tensor: Tensor, x: object, unconnected: UnconnectedGradients) -> Part | None:
    if grad is None and unconnected is UnconnectedGradients.ZERO:
        return zeros_like(x if tensor.dtype == dtypes.resource else tensor)
    return grad


class _Walk:
    """Gradients collected per tensor while operations are visited from last to first."""

    def __init__(self, colocate: bool = False, gate: bool = False, aggregation: int | None = None) -> None:
        self._colocate, self._gate, self._aggregation = colocate, gate, aggregation
        self._grads: dict[Tensor, list[Part]] = {}
        self._reached: set[Tensor] = set()

    def add(self, tensor: Part, grad: Part | None) -> None:
        if grad is not None:
            tensor = tensor.values if isinstance(tensor, IndexedSlices) else tensor
            self._grads.setdefault(origin(tensor), []).append(grad)

    def total(self, tensor: Tensor) -> Part | None:
        """The sum of what has arrived at a tensor, or None."""
        tensor = origin(tensor)
        parts = self._grads.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            self._grads[tensor] = parts = [_aggregate(tensor.op, parts, self._aggregation)]
        return parts[0]

    def run(self, ys: list[Any], xs: list[Tensor], stops: set[Tensor], among: set[Operation] | None = None) -> None:
        ends = [origin(y).op for y in ys]
        if among is None and is_plain(ends):
            self._run_in_order(ends, xs, stops)
            return
        between, self._reached = _between(ends, xs, stops, among)
        for op in between:
            require_second_derivative(op)
        for op in reversed(between):
            with self._colocated(op):
                self._visit(op, xs, [self.total(t) for t in op.outputs])

    def _run_in_order(self, ends: list[Operation], xs: list[Tensor], stops: set[Tensor]) -> None:
        """Visits the operations as 1.15 does, through backward loops for loops."""
        graph = get_default_graph()
        start = len(graph.get_operations())
        visits = Visits(ends, xs, stops, self, self._colocated)
        for op in visits:
            with self._colocated(op):
                with visits.loops.around(op, outside=True):
                    grads = [self.total(t) for t in op.outputs]
                with visits.loops.around(op):
                    if not visits.ends_at(op):
                        self._visit(op, xs, grads, visits.loops)
        visits.loops.close()
        note_derivatives(graph, visits.loops, start, [*xs, *stops])

    def _colocated(self, op: Operation) -> contextlib.AbstractContextManager[None]:
        """The scope for the gradients of an operation where these are placed with it."""
        return get_default_graph().colocate_with(op) if self._colocate and not isinstance(op, LoopNode) else contextlib.nullcontext()

    def has(self, tensor: Tensor) -> bool:
        """Whether a gradient has come to a tensor."""
        return bool(self._grads.get(tensor))

    def _visit(self, op: Operation, xs: list[Tensor], grads: list[Part | None], loops: BackwardLoops | None = None) -> None:
        if all(g is None for g in grads):
            return
        if isinstance(op, LoopNode):
            self._apply_loop(op, grads)
            return
        graph = get_default_graph()
        if op.type in SWITCH and _is_variable_of(graph._control_flow_context, op):
            raise _through_initial_value(op, xs)
        rule = gradient_rule(op)
        if rule is None:
            return
        if not differentiates_inlined(op):
            zeros_of = zeros_of_output if loops is None else loops.zeros_of_output
            grads = [_or_zeros(g, op, i, zeros_of) for i, g in enumerate(grads)]
        with name_scope(op.name + "_grad"), graph._original_op(op):
            self._apply(op, rule, grads)

    def _apply_loop(self, node: LoopNode, grads: list[Part | None]) -> None:
        with name_scope(node.name + "_grad"):
            found = node.gradients([None if g is None else to_tensor(g) for g in grads], self._reached)
        for tensor, grad in zip(node.inputs, found):
            self.add(tensor, grad)

    def _apply(self, op: Operation, rule: Callable[..., Any], grads: list[Part | None]) -> None:
        found = rule(op, *grads)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        sources = sources_of(op)
        if len(found) != len(sources):
            raise ValueError(
                f"Num gradients {len(found)} generated for op {op.name!r} (op type {op.type}) do not match num inputs {len(sources)}"
            )
        if self._gate and len(found) - found.count(None) > 1:
            with device(None), colocate_with(None, ignore_existing=True):
                found = tuple_(found)
        for i, (tensor, grad) in enumerate(zip(sources, found)):
            if grad is None:
                continue
            if isinstance(grad, Tensor) and tensor.dtype != dtypes.resource and not executing_eagerly():
                _merge_shape(op, i, tensor, grad)
            self.add(tensor, grad)


def _is_variable_of(context: ControlFlowContext | None, switch: Operation) -> bool:
    """Whether a Switch gives the body of the loop that is being built its variable."""
    return context is not None and context.IsWhileContext() and switch._control_flow_context is context


def _through_initial_value(op: Operation, xs: list[Tensor]) -> ValueError:
    wanted = {x.op for x in xs}
    source = next(found for found in behind([op], lambda o: [t.op for t in sources_of(o)]) if found in wanted)
    return ValueError(
        f"Cannot compute gradient inside while loop with respect to op '{source.name}'. We do not support taking the gradient wrt or "
        "through the initial value of a loop variable. Gradients can be computed through loop invariants or wrt the input parameters "
        "to the loop body."
    )


def _between(
    ends: list[Operation], xs: list[Tensor], stops: set[Tensor], among: set[Operation] | None
) -> tuple[list[Any], set[Tensor]]:
    """The operations (of `among`) and loops on a path from xs to ys that carry gradients, sources first; and the tensors that xs reach."""
    backward = behind(ends, lambda op: [origin(t).op for t in sources_of(op)] if op.type != "StopGradient" else ())
    reached = {x for x in xs if is_trainable(x)}
    between = []
    stopped = {t.op for t in stops}
    for op in _in_order(backward):
        if among is not None and op not in among and not isinstance(op, LoopNode) and (op.graph.executes or is_listed(op)):
            continue
        through = [t for t in sources_of(op) if origin(t) in reached]
        if through:
            reached.update(through)
            reached.update(t for t in op.outputs if is_trainable(t))
            if op not in stopped:
                between.append(op)
    return between, reached


def _in_order(ops: set[Operation]) -> list[Any]:
    """`ops` with one node in place of each loop, sources first: a function captures what the graphs around it have made."""
    graphs: dict[Graph, list[Operation]] = {}
    for op in ops:
        graphs.setdefault(op.graph, []).append(op)
    return [op for graph in sorted(graphs, key=_depth) for op in _with_loops(topological(graphs[graph]))]


def _depth(graph: Graph) -> int:
    return 0 if graph.outer_graph is None else 1 + _depth(graph.outer_graph)


def _with_loops(ops: list[Operation]) -> list[Any]:
    """`ops` with one node in place of each loop that has been left."""
    if not any(op.type in EXIT for op in ops):
        return ops
    every = topological(behind(ops, lambda op: [*(t.op for t in sources_of(op)), *op.control_inputs]))
    mine = set(ops)
    loops = [loop for loop in left_loops(find_loops(every)[0]) if not mine.isdisjoint(loop.exits)]
    nodes = {loop: LoopNode(loop) for loop in loops}
    owner = {op: node for loop, node in nodes.items() for op in loop.all_members()}
    return topological([*nodes.values(), *[op for op in ops if op not in owner]], owner=owner)


def _or_zeros(grad: Part | None, op: Operation, index: int, zeros_of: Callable[..., Tensor | None]) -> Part | None:
    output = op.outputs[index]
    if grad is not None or not is_trainable(output) or (output.dtype.base_dtype == dtypes.variant and op.type not in SWITCH):
        return grad
    if output.dtype == dtypes.resource and op.type not in SWITCH:
        return None
    return zeros_of(op, index)


def _merge_shape(op: Operation, index: int, tensor: Tensor, grad: Tensor) -> None:
    try:
        grad.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            f"Incompatible shapes between op input and calculated input gradient. Forward operation: {op.name}. "
            f"Input index: {index}. Original input shape: {tensor.shape}. Calculated input gradient shape: {grad.shape}"
        ) from None


def _side_by_side(sparse: list[IndexedSlices]) -> IndexedSlices:
    """The rows of several IndexedSlices; their indices are int64 where one's are."""
    indices = [to_tensor(g.indices) for g in sparse]
    if any(i.dtype == dtypes.int64 for i in indices):
        indices = [raw.Cast(i, DstT=dtypes.int64) if i.dtype != dtypes.int64 else i for i in indices]
    return IndexedSlices(concat([g.values for g in sparse], 0), concat(indices, 0), sparse[0].dense_shape)


def aggregate_indexed_slices_gradients(grads: list[Part | None]) -> Part | None:
    """The sum of gradients: a tensor where one of them is a tensor, else IndexedSlices with the rows of all; None of none."""
    if len(grads) < 2:
        return grads[0] if grads else None
    given = [g for g in grads if g is not None]
    sparse = [g for g in given if isinstance(g, IndexedSlices)]
    return _side_by_side(sparse) if len(sparse) == len(given) else _added(given)


def _aggregate(op: Operation, parts: list[Part], method: int | None) -> Part:
    """One gradient of an output of `op` from several: dense tensors are added, sparse ones put side by side."""
    sparse = [g for g in parts if isinstance(g, IndexedSlices)]
    if len(sparse) == len(parts):
        return _side_by_side(sparse)
    dense = [g for g in parts if isinstance(g, Tensor)]
    if len(dense) < len(parts) or executing_eagerly():
        return _added(parts)
    if not method:
        return _sum_by_device(dense)
    shape_of_sum = functools.reduce(TensorShape.merge_with, [g.shape for g in dense])
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and len(dense) > 2 and shape_of_sum.is_fully_defined():
        accumulated: Tensor = accumulate_n(dense)
        return accumulated
    with name_scope(op.name + "_gradient_sum"):
        return functools.reduce(lambda total, part: _added([total, part]), dense)


def _added(parts: Sequence[Part]) -> Tensor:
    total: Tensor = add_n(parts)
    return total


def _sum_by_device(parts: list[Tensor]) -> Tensor:
    """The sum of the sums of the parts that each device has."""
    by_device: dict[str, list[Tensor]] = {}
    for part in parts:
        by_device.setdefault(part.device, []).append(part)
    sums = []
    for _, members in sorted(by_device.items()):
        with colocate_with(members[0].op, ignore_existing=True):
            sums.append(_added(members))
    return _added(sums)


def gradient_rule(op: Operation) -> Callable[..., Any] | None:
    """The rule of an operation, or None where nothing flows.

    Raises:
      LookupError: the operation has no gradient.
    """
    override = op.attrs.get("_gradient_op_type")
    if override is not None:
        return gradient_registry.lookup(override.decode())
    if op._gradient_function is not None:
        return op._gradient_function
    if gradient_registry.is_registered(op.type):
        return gradient_registry.lookup(op.type)
    rule = op.spec.gradient
    if isinstance(rule, op_spec.FromKernel):
        return kernel_gradient
    if isinstance(rule, op_spec.NotDifferentiable):
        if rule.raises:
            raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
        return None
    return rule


def get_gradient_function(op: Operation) -> Callable[..., Any] | None:
    return gradient_rule(op) if op.inputs else None


@export("compat.v2.gradients")
def gradients_v2(
    ys: object, xs: object, grad_ys: object = None, name: str = "gradients", gate_gradients: bool = False,
    aggregation_method: int | None = None, stop_gradients: object = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:  # fmt: skip
    """`tf.gradients` that places the gradient of an operation with it."""
    return gradients(
        ys, xs, grad_ys, name, True, gate_gradients, aggregation_method, stop_gradients, unconnected_gradients
    )


@export("compat.v2.hessians")
def HessiansV2(  # noqa: N802
    ys: object, xs: object, gate_gradients: bool = False, aggregation_method: int | None = None, name: str = "hessians"
) -> list[Tensor]:
    """`tf.hessians` with `name` at the end."""
    return hessians(ys, xs, name, False, gate_gradients, aggregation_method)


@export("hessians")
def hessians(
    ys: object, xs: object, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:  # fmt: skip
    """The second derivatives of the sum of `ys`: for each x of shape S, a tensor of shape S + S, a row for each iteration of a loop.

    As in 1.15, `name` names nothing.
    """
    xs = _as_list(xs)
    options = (colocate_gradients_with_ops, gate_gradients, aggregation_method)
    found = []
    for first, x in zip(gradients(ys, xs, None, "gradients", *options), xs):
        flat = reshape(first, [-1])
        count = size(x)

        def row(j: Tensor, rows: TensorArray, flat: Tensor = flat, x: Tensor = x) -> tuple[Tensor, TensorArray]:
            return j + 1, rows.write(j, gradients(flat[j], x)[0])

        start = [constant(0, dtypes.int32), TensorArray(x.dtype, count)]
        _, rows = while_loop(lambda j, _, count=count: j < count, row, start)
        sizes = shape(x)
        found.append(reshape(rows.stack(), concat([sizes, sizes], 0)))
    return found


def _hessian_vector_product(ys: object, xs: object, v: Iterable[Any]) -> list[Any]:
    """The product of the Hessian of `ys` and `v`, without the Hessian."""
    xs, v = _as_list(xs), _as_list(v)
    if len(xs) != len(v):
        raise ValueError("xs and v must have the same length.")
    products = [raw.Mul(g, raw.StopGradient(e)) for g, e in zip(gradients(ys, xs), v) if g is not None]
    return gradients(products, xs)


