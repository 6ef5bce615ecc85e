"""tf.gradients: reverse-mode differentiation of a graph, which adds nodes for the derivatives.

A walk visits the operations between ys and xs in reverse topological order. It sums the cotangents that have arrived at the outputs of an
operation, calls the operation's gradient rule, and adds the results to the operation's inputs. The rule of each op type lives with the op.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfcompat._src.base import dtypes, gradient_registry
from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import Rule
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.gradients import op_rules  # noqa: F401  (fills the registry's slot)
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
"""A cotangent of one tensor from one consumer: dense, or sparse rows."""


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """The gradient that `gradients` returns for an x on which no y depends: None, or zeros of its shape."""

    NONE = "none"
    ZERO = "zero"


@export("AggregationMethod")
class AggregationMethod:
    """How the gradients of a tensor with several consumers are summed. The methods differ in the nodes that they add, not in the sum."""

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
      gate_gradients: makes each gradient of an operation wait for the operation's other gradients.
      aggregation_method: one of AggregationMethod.
      stop_gradients: tensors that are treated as constants.
      unconnected_gradients: the result for an x on which no y depends: None or zeros.

    Returns:
      a list like `xs` of tensors, IndexedSlices (sparse gradients), or None.

    Raises:
      LookupError: an operation between ys and xs has no gradient. ValueError: wrong number or shape of gradients.
      TypeError: the dtype of a gradient does not fit its y. RuntimeError: eager execution is enabled.
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
        # TensorFlow 1.15 reserves the name "uid" in this scope. Without this a rule's own node of that name would be called otherwise.
        get_default_graph().unique_name("uid")
        ys = convert_n_to_tensor_or_indexed_slices(ys, name="y")
        # An x that a function has captured is differentiated as the tensor outside.
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
    """Computes `gradients` as a tape does: only through the operations in `among`, and only for xs in `tracked`.

    An x outside of `tracked` counts as unconnected.
    """
    targets = [_differentiated(x) for x in xs]
    walk = _Walk()
    for y, grad in zip(ys, _initial_gradients([None] * len(ys) if grad_ys is None else grad_ys, ys)):
        walk.add(y, grad)
    # Only xs that the tape tracks are walked to; a source that was never watched costs nothing.
    followed = [t for t in targets if t in tracked]
    if ys and followed:
        walk.run(ys, followed, set(), among)
    totals = [walk.total(t) if t in tracked else None for t in targets]
    return [_result(total, t, x, unconnected) for total, t, x in zip(totals, targets, xs)]


def gradients_of_results(grads: dict[Tensor, Tensor], xs: list[Tensor]) -> list[Part | None]:
    """Returns the gradients of `xs`, given the cotangents `grads` of some tensors; adds no nodes for the initial gradients."""
    with name_scope("gradients"):
        walk = _Walk()
        for y, grad in grads.items():
            walk.add(y, grad)
        walk.run(list(grads), xs, set())
        return [walk.total(x) for x in xs]


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _differentiated(x: object) -> Tensor:
    """Returns the tensor that stands for `x` in the walk: a resource variable's handle, a ref, or the tensor itself."""
    if isinstance(x, IndexedSlices):
        return x.values
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor) and handle.dtype == dtypes.resource:
        return handle
    return to_tensor(x, name="x", as_ref=True)


def _initial_gradients(grad_ys: list[Any], ys: list[Any], colocate: bool = False) -> list[Part]:
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    initial = []
    for i, (grad, y) in enumerate(zip(convert_n_to_tensor_or_indexed_slices(grad_ys, name="grad_y"), ys)):
        with colocate_with(y.op) if colocate else contextlib.nullcontext():
            initial.append(_initial_gradient(grad, y, f"grad_ys_{i}"))
    return initial


def _initial_gradient(grad: Part | None, y: Part, name: str) -> Part:
    """Returns the cotangent of y that the walk starts with: the user's, or ones.

    Raises:
      TypeError: the dtype of `grad` does not fit y, or y is complex and has no `grad`.
    """
    if grad is not None:
        _check_gradient_dtype(grad, y)
        return _named(grad, name)
    if y.dtype.is_complex:
        raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
    values = y.values if isinstance(y, IndexedSlices) else y
    ones: Tensor = raw.Fill(shape(values), constant(1, dtype=values.dtype.base_dtype, name=name))
    return ones


def _named(grad: Part, name: str) -> Part:
    """Wraps a user's gradient in Identity nodes, so that it has a name in the scope of the gradients as in TensorFlow 1.15."""
    if not isinstance(grad, IndexedSlices):
        same: Tensor = raw.Identity(grad, name=name)
        return same
    indices = raw.Identity(grad.indices, name=f"{name}_indices")
    values = raw.Identity(grad.values, name=f"{name}_values")
    dense_shape = None if grad.dense_shape is None else raw.Identity(grad.dense_shape, name=f"{name}_shape")
    return IndexedSlices(values, indices, dense_shape)


def _check_gradient_dtype(grad: Part, y: Part) -> None:
    """Raises TypeError, in TensorFlow's words, unless a gradient of this dtype is valid for y."""
    given, wanted = grad.dtype, y.dtype.base_dtype
    # "must be real" for a complex y is TensorFlow 1.15's text. It is wrong there too, and is kept because programs match it.
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
        # A handle has no shape of its own: the zeros are those of the variable.
        return zeros_like(x if tensor.dtype == dtypes.resource else tensor)
    return grad


class _Walk:
    """One reverse walk: the cotangents that have arrived at each tensor, and the visits that produce more.

    Args:
      colocate: places the nodes of a rule with the operation that it differentiates.
      gate: makes the gradients of one operation wait for each other.
      aggregation: an AggregationMethod; None is the default one.
    """

    def __init__(self, colocate: bool = False, gate: bool = False, aggregation: int | None = None) -> None:
        self._colocate, self._gate, self._aggregation = colocate, gate, aggregation
        self._grads: dict[Tensor, list[Part]] = {}
        self._reached: set[Tensor] = set()

    def add(self, tensor: Part, grad: Part | None) -> None:
        """Adds a cotangent of a tensor; None adds nothing."""
        if grad is not None:
            tensor = tensor.values if isinstance(tensor, IndexedSlices) else tensor
            # A tensor that a function captured and the tensor outside are one value: cotangents of both are summed.
            self._grads.setdefault(origin(tensor), []).append(grad)

    def total(self, tensor: Tensor) -> Part | None:
        """Returns the sum of the cotangents that have arrived at a tensor, or None."""
        tensor = origin(tensor)
        parts = self._grads.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            # The sum replaces its parts, so that a second call adds no nodes.
            self._grads[tensor] = parts = [_aggregate(tensor.op, parts, self._aggregation)]
        return parts[0]

    def run(self, ys: list[Any], xs: list[Tensor], stops: set[Tensor], among: set[Operation] | None = None) -> None:
        """Visits every operation between xs and ys (in `among`, if given); afterwards `total` holds the gradients of xs.

        Raises:
          TypeError: the gradient of a loop over a TensorArray would have to be differentiated again.
        """
        ends = [origin(y).op for y in ys]
        # A plain graph gets the nodes that TensorFlow 1.15 adds, in its order and with its names.
        if among is None and is_plain(ends):
            self._run_in_order(ends, xs, stops)
            return
        # With tapes, functions and eager operations a loop is one node of the walk, which brings its own derivative.
        between, self._reached = _between(ends, xs, stops, among)
        for op in between:
            require_second_derivative(op)
        for op in reversed(between):
            with self._colocated(op):
                self._visit(op, xs, [self.total(t) for t in op.outputs])

    def _run_in_order(self, ends: list[Operation], xs: list[Tensor], stops: set[Tensor]) -> None:
        """Visits the operations in TensorFlow 1.15's order, and builds a backward while loop for each loop on the path."""
        graph = get_default_graph()
        start = len(graph.get_operations())
        visits = Visits(ends, xs, stops, self, self._colocated)
        for op in visits:
            with self._colocated(op):
                # The cotangents of an Exit live outside of its loop, and the rest of its gradient inside of the backward loop:
                # the sums and the rule need different control-flow contexts.
                with visits.loops.around(op, outside=True):
                    grads = [self.total(t) for t in op.outputs]
                with visits.loops.around(op):
                    if not visits.ends_at(op):
                        self._visit(op, xs, grads, visits.loops)
        visits.loops.close()
        note_derivatives(graph, visits.loops, start, [*xs, *stops])

    def _colocated(self, op: Operation) -> contextlib.AbstractContextManager[None]:
        """Returns the colocation scope for the gradient nodes of an operation; no scope without colocate_gradients_with_ops."""
        return get_default_graph().colocate_with(op) if self._colocate and not isinstance(op, LoopNode) else contextlib.nullcontext()

    def has(self, tensor: Tensor) -> bool:
        """Whether a cotangent of a tensor has arrived."""
        return bool(self._grads.get(tensor))

    def _visit(self, op: Operation, xs: list[Tensor], grads: list[Part | None], loops: BackwardLoops | None = None) -> None:
        """Calls the gradient rule of one operation with the cotangents `grads` of its outputs."""
        if all(g is None for g in grads):
            return
        if isinstance(op, LoopNode):
            self._apply_loop(op, grads)
            return
        graph = get_default_graph()
        # tf.gradients inside of a loop body may not leave it through a loop variable: earlier iterations are not available there.
        if op.type in SWITCH and _is_variable_of(graph._control_flow_context, op):
            raise _through_initial_value(op, xs)
        rule = gradient_rule(op)
        if rule is None:
            return
        # A rule gets a tensor for every differentiable output. The nodes in place of a call take None and need no zeros.
        if not differentiates_inlined(op):
            zeros_of = zeros_of_output if loops is None else loops.zeros_of_output
            grads = [_or_zeros(g, op, i, zeros_of) for i, g in enumerate(grads)]
        with name_scope(op.name + "_grad"), graph._original_op(op):
            self._apply(op, rule, grads)

    def _apply_loop(self, node: LoopNode, grads: list[Part | None]) -> None:
        """Adds the gradients of a whole loop to the tensors that enter it."""
        with name_scope(node.name + "_grad"):
            input_grads = node.gradients([None if g is None else to_tensor(g) for g in grads], self._reached)
        for tensor, grad in zip(node.inputs, input_grads):
            self.add(tensor, grad)

    def _apply(self, op: Operation, rule: Rule, grads: list[Part | None]) -> None:
        """Calls a rule and adds its results to the sources of the operation.

        Raises:
          ValueError: the rule returns another number of gradients than there are inputs, or one of an incompatible shape.
        """
        input_grads = rule(op, *grads)
        input_grads = list(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]
        sources = sources_of(op)
        if len(input_grads) != len(sources):
            raise ValueError(
                f"Num gradients {len(input_grads)} generated for op {op.name!r} (op type {op.type}) do not match num inputs {len(sources)}"
            )
        # gate_gradients: nothing uses one of these gradients before all of them are computed.
        if self._gate and len(input_grads) - input_grads.count(None) > 1:
            with device(None), colocate_with(None, ignore_existing=True):
                input_grads = tuple_(input_grads)
        for i, (tensor, grad) in enumerate(zip(sources, input_grads)):
            if grad is None:
                continue
            # A variable's handle is a scalar whose gradient has the variable's shape: the two are not compared.
            if isinstance(grad, Tensor) and tensor.dtype != dtypes.resource and not executing_eagerly():
                _merge_shape(op, i, tensor, grad)
            self.add(tensor, grad)


def _is_variable_of(context: ControlFlowContext | None, switch: Operation) -> bool:
    """Whether a Switch passes a loop variable to the body that is being built in `context`."""
    return context is not None and context.IsWhileContext() and switch._control_flow_context is context


def _through_initial_value(op: Operation, xs: list[Tensor]) -> ValueError:
    """Returns TensorFlow's error for gradients that would pass through a loop variable's initial value."""
    wanted = {x.op for x in xs}
    source = next(each for each in behind([op], lambda o: [t.op for t in sources_of(o)]) if each in wanted)
    return ValueError(
        f"Cannot compute gradient inside while loop with respect to op '{source.name}'. We do not support taking the gradient wrt or "
        "through the initial value of a loop variable. Gradients can be computed through loop invariants or wrt the input parameters "
        "to the loop body."
    )


def _between(
    ends: list[Operation], xs: list[Tensor], stops: set[Tensor], among: set[Operation] | None
) -> tuple[list[Any], set[Tensor]]:
    """Returns the operations and loops on differentiable paths from xs to ys, in topological order, and the tensors that depend on xs.

    `among` restricts the operations; calls of functions whose inlined nodes are in no graph's list are followed all the same.
    """
    # Backward from ys first, then forward from xs over that set: the intersection of ancestors and descendants.
    backward = behind(ends, lambda op: [origin(t).op for t in sources_of(op)] if op.type != "StopGradient" else ())
    reached = {x for x in xs if is_trainable(x)}
    between = []
    stopped = {t.op for t in stops}
    for op in _in_order(backward):
        # With a tape, operations that it did not record are passed over; the nodes of an inlined call were not offered to it.
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
    """Returns `ops` in topological order, with one LoopNode in place of each loop."""
    # A function captures tensors of the graphs around it, never the reverse: outer graphs come first.
    graphs: dict[Graph, list[Operation]] = {}
    for op in ops:
        graphs.setdefault(op.graph, []).append(op)
    return [op for graph in sorted(graphs, key=_depth) for op in _with_loops(topological(graphs[graph]))]


def _depth(graph: Graph) -> int:
    return 0 if graph.outer_graph is None else 1 + _depth(graph.outer_graph)


def _with_loops(ops: list[Operation]) -> list[Any]:
    """Returns the operations of one graph with one LoopNode in place of each loop that has an Exit among them."""
    if not any(op.type in EXIT for op in ops):
        return ops
    # Loops are recognized by their whole structure, so that all ancestors are needed, those without gradients too.
    every = topological(behind(ops, lambda op: [*(t.op for t in sources_of(op)), *op.control_inputs]))
    # Loops that are still being built have no Exit; gradients inside of them see their nodes one by one.
    mine = set(ops)
    loops = [loop for loop in left_loops(find_loops(every)[0]) if not mine.isdisjoint(loop.exits)]
    nodes = {loop: LoopNode(loop) for loop in loops}
    owner = {op: node for loop, node in nodes.items() for op in loop.all_members()}
    return topological([*nodes.values(), *[op for op in ops if op not in owner]], owner=owner)


def _or_zeros(grad: Part | None, op: Operation, index: int, zeros_of: Callable[..., Tensor | None]) -> Part | None:
    """Returns `grad`, or zeros for a differentiable output without one; None for handles and for dtypes that carry no gradient."""
    # A Switch needs zeros for variants and handles too: its gradient is a Merge, which takes one value from each branch.
    output = op.outputs[index]
    if grad is not None or not is_trainable(output) or (output.dtype.base_dtype == dtypes.variant and op.type not in SWITCH):
        return grad
    if output.dtype == dtypes.resource and op.type not in SWITCH:
        return None
    return zeros_of(op, index)


def _merge_shape(op: Operation, index: int, tensor: Tensor, grad: Tensor) -> None:
    """Gives a gradient the static shape of its tensor; ValueError, in TensorFlow's words, where they are incompatible."""
    try:
        grad.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            f"Incompatible shapes between op input and calculated input gradient. Forward operation: {op.name}. "
            f"Input index: {index}. Original input shape: {tensor.shape}. Calculated input gradient shape: {grad.shape}"
        ) from None


def _side_by_side(sparse: list[IndexedSlices]) -> IndexedSlices:
    """Concatenates IndexedSlices; duplicate indices stay, as they mean a sum. Indices become int64 where any are int64."""
    indices = [to_tensor(g.indices) for g in sparse]
    if any(i.dtype == dtypes.int64 for i in indices):
        indices = [raw.Cast(i, DstT=dtypes.int64) if i.dtype != dtypes.int64 else i for i in indices]
    return IndexedSlices(concat([g.values for g in sparse], 0), concat(indices, 0), sparse[0].dense_shape)


def aggregate_indexed_slices_gradients(grads: list[Part | None]) -> Part | None:
    """Sums gradients: IndexedSlices if all are IndexedSlices, else a dense tensor; None for an empty list. None elements are skipped."""
    if len(grads) < 2:
        return grads[0] if grads else None
    given = [g for g in grads if g is not None]
    sparse = [g for g in given if isinstance(g, IndexedSlices)]
    return _side_by_side(sparse) if len(sparse) == len(given) else _added(given)


def _aggregate(op: Operation, parts: list[Part], method: int | None) -> Part:
    """Sums at least two gradients of an output of `op` with the nodes that TensorFlow 1.15 adds for the aggregation method."""
    # Sparse gradients alone stay sparse: their rows are concatenated. One dense gradient makes the sum dense.
    sparse = [g for g in parts if isinstance(g, IndexedSlices)]
    if len(sparse) == len(parts):
        return _side_by_side(sparse)
    dense = [g for g in parts if isinstance(g, Tensor)]
    if len(dense) < len(parts) or executing_eagerly():
        return _added(parts)
    # ADD_N, the default.
    if not method:
        return _sum_by_device(dense)
    # accumulate_n needs a static shape; for two terms, and for unknown shapes, 1.15 builds a chain of AddN instead.
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
    """Sums the parts on each device, then the partial sums: each device sends one tensor."""
    by_device: dict[str, list[Tensor]] = {}
    for part in parts:
        by_device.setdefault(part.device, []).append(part)
    sums = []
    for _, members in sorted(by_device.items()):
        with colocate_with(members[0].op, ignore_existing=True):
            sums.append(_added(members))
    return _added(sums)


def gradient_rule(op: Operation) -> Rule | None:
    """Returns the gradient rule of an operation, or None where its inputs get no gradient.

    Raises:
      LookupError: the operation has no gradient.
    """
    # In order of precedence: gradient_override_map, the function of this one call, the program's entry in the registry, the op's own rule.
    override = op.attrs.get("_gradient_op_type")
    if override is not None:
        return _registered(op, override.decode())
    if op._gradient_function is not None:
        return op._gradient_function
    if gradient_registry.is_changed(op.type):
        return _registered(op, op.type)
    rule = op.spec.gradient
    if isinstance(rule, op_spec.FromKernel):
        return kernel_gradient
    if isinstance(rule, op_spec.NotDifferentiable):
        if rule.raises:
            raise _no_gradient(op)
        return None
    return rule


def _registered(op: Operation, name: str) -> Rule | None:
    """Returns the registry's rule for an operation; raises LookupError where it has no entry of that name."""
    try:
        return gradient_registry.GRADIENTS.lookup(name)
    except LookupError:
        raise _no_gradient(op) from None


def _no_gradient(op: Operation) -> LookupError:
    return LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")


def get_gradient_function(op: Operation) -> Rule | None:
    """Returns the registered gradient of an operation, which gives the gradient of a single input alone; None for one without inputs."""
    if not op.inputs:
        return None
    override = op.attrs.get("_gradient_op_type")
    return op._gradient_function or _registered(op, op.type if override is None else override.decode())


@export("compat.v2.gradients")
def gradients_v2(
    ys: object, xs: object, grad_ys: object = None, name: str = "gradients", gate_gradients: bool = False,
    aggregation_method: int | None = None, stop_gradients: object = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:  # fmt: skip
    """`tf.gradients` with colocate_gradients_with_ops=True."""
    return gradients(
        ys, xs, grad_ys, name, True, gate_gradients, aggregation_method, stop_gradients, unconnected_gradients
    )


@export("compat.v2.hessians")
def HessiansV2(  # noqa: N802
    ys: object, xs: object, gate_gradients: bool = False, aggregation_method: int | None = None, name: str = "hessians"
) -> list[Tensor]:
    """`tf.hessians` with `name` as the last argument, and without colocation."""
    return hessians(ys, xs, name, False, gate_gradients, aggregation_method)


@export("hessians")
def hessians(
    ys: object, xs: object, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:  # fmt: skip
    """Returns the second derivatives of the sum of `ys`: for each x of shape S, a tensor of shape S + S.

    A while loop computes one row, the gradient of one element of the first derivative, per iteration. `name` has no effect, as in 1.15.
    """
    xs = _as_list(xs)
    options = (colocate_gradients_with_ops, gate_gradients, aggregation_method)
    hessian_of_each = []
    for first, x in zip(gradients(ys, xs, None, "gradients", *options), xs):
        flat = reshape(first, [-1])
        count = size(x)

        def row(j: Tensor, rows: TensorArray, flat: Tensor = flat, x: Tensor = x) -> tuple[Tensor, TensorArray]:
            return j + 1, rows.write(j, gradients(flat[j], x)[0])

        start = [constant(0, dtypes.int32), TensorArray(x.dtype, count)]
        _, rows = while_loop(lambda j, _, count=count: j < count, row, start)
        sizes = shape(x)
        hessian_of_each.append(reshape(rows.stack(), concat([sizes, sizes], 0)))
    return hessian_of_each


def _hessian_vector_product(ys: object, xs: object, v: Iterable[Any]) -> list[Any]:
    """Returns the product of the Hessian of `ys` with `v`, one tensor per x, without computing the Hessian.

    Raises:
      ValueError: `xs` and `v` differ in length.
    """
    xs, v = _as_list(xs), _as_list(v)
    if len(xs) != len(v):
        raise ValueError("xs and v must have the same length.")
    # Reverse over reverse: H v = d(g . v)/dx, where v is a constant (Pearlmutter, "Fast exact multiplication by the Hessian", 1994).
    products = [raw.Mul(g, raw.StopGradient(e)) for g, e in zip(gradients(ys, xs), v) if g is not None]
    return gradients(products, xs)


