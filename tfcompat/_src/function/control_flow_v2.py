"""Control flow v2: conditionals and loops as one node each (`If`, `Case`, `While`), whose branches and bodies are functions of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function import functional_ops  # noqa: F401  (the ops)
from tfcompat._src.function.tracing import Traced, outputs_of, shapes_in_common, waited_for, with_same_captures
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control import control_flow_util
from tfcompat._src.ops.control.while_context import flow_of, shape_invariant, with_flows
from tfcompat._src.ops.flow.list_array import ListTensorArray, as_list, of_list
from tfcompat._src.ops.flow.tensor_array import TensorArray, TensorArraySpec
from tfcompat._src.platform.compat import forward_compatible

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- branches ----


def cond_v2(pred: TensorLike, true_fn: Callable, false_fn: Callable, name: str | None = "cond") -> Any:
    """Builds `tf.cond` as one If node.

    Raises:
      TypeError: `pred` is a Python bool, or the branches return different structures or dtypes.
    """
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name or "cond") as scope:
        pred = _scalar(convert_to_tensor(pred))
        label = scope.rstrip("/")
        traced = [Traced(f"{label}_{side}", [], lambda _, fn=fn: fn()) for side, fn in (("true", true_fn), ("false", false_fn))]
        _give_same_index_types("tf.cond", traced)
        _require_alike("tf.cond", ["true_fn", "false_fn"], traced)
        _require_own_tensors(["true_fn", "false_fn"], traced)
        _give_same_arrays(traced)
        # Both branches take the same inputs: what either of them captures.
        captured = with_same_captures(traced)
        then, other = (each.add_to(get_default_graph()) for each in traced)
        make = raw.If if then.is_stateful or other.is_stateful else raw.StatelessIf
        with control_dependencies(waited_for(traced)):
            outputs = make(
                pred, captured, traced[0].kinds, FunctionRef(then.name), FunctionRef(other.name),
                output_shapes=shapes_in_common(traced), name=scope,
            )  # fmt: skip
        _let_lower(outputs)
        return _packed(traced[0], outputs)


def _scalar(pred: Tensor) -> Tensor:
    """Returns a predicate as a scalar, without dimensions of size 1.

    Raises:
      InvalidArgumentError: it is not boolean, or has more than one element.
    """
    if pred.dtype.base_dtype != dtypes.bool:
        raise errors.InvalidArgumentError(None, None, f"Input 'pred' passed {pred.dtype.name} expected bool: {pred}")
    if pred.shape.num_elements() not in (None, 1):
        raise errors.InvalidArgumentError(None, None, f"The second input must be a scalar, but it has shape {pred.shape}: {pred}")
    return pred if pred.shape.ndims == 0 else raw.Squeeze(pred)


def indexed_case(branch_index: TensorLike, branch_fns: list[Callable], name: str = "indexed_case") -> Any:
    """Builds a Case node: the result of the branch with this index, or of the last branch for any other index."""
    with name_scope(name) as scope:
        label = scope.rstrip("/")
        traced = [Traced(f"{label}_branch{i}", [], lambda _, fn=fn: fn()) for i, fn in enumerate(branch_fns)]
        _give_same_index_types("tf.switch_case", traced)
        _require_alike("tf.switch_case", [f"branches[{i}]" for i in range(len(traced))], traced)
        _require_own_tensors([f"branch {i}" for i in range(len(traced))], traced)
        _give_same_arrays(traced)
        captured = with_same_captures(traced)
        refs = [FunctionRef(each.add_to(get_default_graph()).name) for each in traced]
        with control_dependencies(waited_for(traced)):
            outputs = raw.Case(branch_index, captured, traced[0].kinds, refs, output_shapes=shapes_in_common(traced), name=scope)
        _let_lower(outputs)
        return _packed(traced[0], outputs)


@export("switch_case")
def switch_case(branch_index: TensorLike, branch_fns: object, default: Callable | None = None, name: str = "switch_case") -> Any:
    """Returns the result of the branch that an index selects.

    Args:
      branch_index: int32 scalar.
      branch_fns: list of functions, list of (index, function) pairs, or dict; the indices must be 0 to n - 1.
      default: function for any other index; by default the last branch.
      name: name scope.

    Raises:
      TypeError: an argument is of the wrong type, or branches return different structures. ValueError: indices are missing.
    """
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"branch_index must a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {branch_index.dtype}")
    functions = _in_order(branch_fns)
    for fn in [*functions, *([default] if default is not None else [])]:
        if not callable(fn):
            raise TypeError(f"fn for index must be callable, got {fn!r}")
    with name_scope(name, "case", [branch_index]):
        return indexed_case(branch_index, [*functions, default or functions[-1]] if default is not None else functions)


def _in_order(branch_fns: object) -> list[Callable]:
    """Returns the functions in the order of their indices."""
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif isinstance(branch_fns, (list, tuple)):
        if all(callable(fn) for fn in branch_fns):
            return _nonempty(list(branch_fns))
        pairs = list(branch_fns)
    else:
        raise TypeError("branch_fns must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
    # 1.15 accepts no gaps: the node has one branch per index.
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found {{{','.join(map(str, keys))}}}"
        )
    return _nonempty([fn for _, fn in sorted(pairs, key=lambda pair: pair[0])])


def _nonempty(functions: list[Callable]) -> list[Callable]:
    if not functions:
        raise ValueError("Must provide at least one item in branch_fns")
    return functions


def _give_same_index_types(caller: str, traced: list[Traced]) -> None:
    """Casts indices of IndexedSlices to int64 if the branches' index types differ.

    Raises:
      TypeError: only some branches return IndexedSlices.
    """
    for position, same in enumerate(zip(*[nest.flatten(each.result) for each in traced])):
        slices = [isinstance(v, IndexedSlices) for v in same]
        if any(slices) and not all(slices):
            raise TypeError(f"Cannot reconcile {caller} {position}-th outputs:\n  branches returned: {same}")
        # As in 1.15, int64 wins over int32.
        if not any(slices) or len({v.indices.dtype for v in same}) == 1:
            continue
        for each, value in zip(traced, same):
            with each.body.as_default():
                value._indices = raw.Cast(value.indices, DstT=dtypes.int64)
            each.read_result()


def _require_alike(caller: str, names: list[str], traced: list[Traced]) -> None:
    """Raises TypeError unless all branches return the same structure with the same dtypes."""
    first = traced[0]
    for name, other in zip(names[1:], traced[1:]):
        problem = None
        try:
            nest.assert_same_structure(first.result, other.result, expand_composites=True)
        except (ValueError, TypeError) as e:
            problem = str(e)
        # None must be returned by all branches or by none.
        for a, b in zip(first.leaves, other.leaves) if problem is None else ():
            if (a is None) != (b is None) or (a is not None and a.dtype.base_dtype != b.dtype.base_dtype):
                problem = f"{a} and {b} have different types"
        if problem is not None:
            raise TypeError(
                f"{names[0]} and {name} arguments to {caller} must have the same number, type, and overall structure of return "
                f"values.\n\n{names[0]} output: {first.result}\n{name} output: {other.result}\n\nError details:\n{problem}"
            )


def _give_same_arrays(traced: list[Traced]) -> None:
    """Replaces TensorArrays in results by lists of their elements, unless all branches return the same array from outside.

    A branch's array is a resource of that branch; a list is a value, which an If node can return.
    """
    for position, same in enumerate(zip(*[each.leaves for each in traced])):
        if not all(isinstance(v, TensorArray) for v in same) or _are_one_array(same):
            continue
        for each, array in zip(traced, same):
            with each.body.as_default():
                each.leaves[position] = of_list(as_list(array), TensorArraySpec.from_value(array))
            each.result = nest.pack_sequence_as(each.result, each.leaves, expand_composites=True)
            each.read_result()


def _are_one_array(arrays: Sequence[TensorArray]) -> bool:
    """Returns whether all are lists already, or one and the same TensorArray."""
    are_lists = {isinstance(array, ListTensorArray) for array in arrays}
    return are_lists == {True} or (are_lists == {False} and all(array.handle is arrays[0].handle for array in arrays))


def _require_own_tensors(names: list[str], traced: list[Traced]) -> None:
    """Raises ValueError if a branch uses a tensor of another one."""
    owners = {each.body: name for each, name in zip(traced, names)}
    for each, name in zip(traced, names):
        for tensor in each.body.captures:
            if tensor.graph in owners:
                raise ValueError(f"Tensor {tensor.name} in {owners[tensor.graph]} is accessed from {name}.")


def _packed(traced: Traced, outputs: object) -> Any:
    """Returns a node's outputs in the structure that the functions returned, or the node itself if they returned nothing."""
    return traced.packed(outputs_of(outputs)) if traced.leaves else outputs


def _let_lower(outputs: object) -> None:
    """Sets the attribute by which 1.15 lowers the node to Switch and Merge; inside XLA contexts, as in 1.15, it stays unset."""
    nodes = [outputs] if isinstance(outputs, Operation) else [t.op for t in nest.flatten(outputs)[:1]]
    if nodes and not control_flow_util.GraphOrParentsInXlaContext(get_default_graph()):
        nodes[0]._set_attr("_lower_using_switch_merge", True)


# ---- loops ----


def while_v2(
    cond: Callable, body: Callable, loop_vars: object, shape_invariants: object = None, parallel_iterations: int = 10,
    maximum_iterations: object = None, name: str | None = None, return_same_structure: bool = True,
) -> Any:  # fmt: skip
    """Builds `tf.while_loop` as one While node.

    Raises:
      ValueError: the structure or a shape of the loop variables changes. TypeError: a dtype does.
    """
    # TensorArrays take part by their flow tensors.
    given = nest.map_structure(lambda v: v if hasattr(v, "flow") else convert_to_tensor(v), loop_vars, expand_composites=True)
    leaves = nest.flatten(given, expand_composites=True)
    tensors = [flow_of(v) for v in leaves]
    shapes = _invariants(given, shape_invariants)
    with name_scope(name or "while") as scope:
        # The limit is an input of the node in any case: -1 means none.
        limit = -1 if maximum_iterations is None else maximum_iterations
        limit = convert_to_tensor(limit, dtypes.int32, name="maximum_iterations")
        counter = constant(0, limit.dtype, name="loop_counter")
        # The node's inputs, in 1.15's order: iteration counter, its limit (-1 for none), loop variables, captured tensors.
        kinds = [(counter.dtype, ()), (limit.dtype, ()), *[(t.dtype, s) for t, s in zip(tensors, shapes)]]

        def variables(inputs: list[Tensor]) -> Any:
            return nest.pack_sequence_as(given, with_flows(leaves, inputs[2:]), expand_composites=True)

        def predicate(inputs: list[Tensor]) -> Tensor:
            found = _scalar(convert_to_tensor(cond(*variables(inputs))))
            return found if maximum_iterations is None else raw.LogicalAnd(raw.Less(inputs[0], inputs[1]), found)

        def next_values(inputs: list[Tensor]) -> Any:
            found = body(*variables(inputs))
            found = found if nest.is_sequence_or_composite(found) else [found]
            nest.assert_same_structure(list(given), list(found), expand_composites=True)
            return [raw.Add(inputs[0], constant(1, counter.dtype)), inputs[1], *nest.flatten(found, expand_composites=True)]

        label = scope.rstrip("/")
        traced = [Traced(f"{label}_cond", kinds, predicate), Traced(f"{label}_body", kinds, next_values)]
        _require_same_kinds(tensors, shapes, traced[1].body.outputs[2:])
        captured = with_same_captures(traced)
        # Captured tensors are loop invariants: the body returns them unchanged.
        traced[1].body.outputs += traced[1].body.inputs[len(kinds) :]
        test, step = (each.add_to(get_default_graph()) for each in traced)
        # 1.15 writes StatelessWhile only for readers that are new enough to know it.
        is_stateless = forward_compatible(2019, 8, 23) and not (test.is_stateful or step.is_stateful)
        make = raw.StatelessWhile if is_stateless else raw.While
        with control_dependencies(waited_for(traced)):
            outputs = make(
                [counter, limit, *tensors, *captured], FunctionRef(test.name), FunctionRef(step.name),
                output_shapes=[TensorShape.of(s) for s in [(), (), *shapes, *[t._sizes for t in captured]]],
                parallel_iterations=parallel_iterations, name=scope,
            )  # fmt: skip
        _let_lower(outputs)
        found = outputs_of(outputs)[2 : 2 + len(tensors)]
    packed = nest.pack_sequence_as(given, with_flows(leaves, found), expand_composites=True)
    return packed[0] if len(packed) == 1 and not return_same_structure else packed


def _invariants(given: object, shape_invariants: object) -> list:
    """Returns the sizes that each tensor of the loop variables keeps, from shape invariants or else from the initial values."""
    if shape_invariants is not None:
        nest.assert_same_structure(given, shape_invariants, expand_composites=False)
        shapes = nest.flatten(nest.map_structure(shape_invariant, given, shape_invariants, expand_composites=False))
        for shape in shapes:
            if not isinstance(shape, TensorShape):
                raise TypeError(f"Expected shape to be a TypeSpec or TensorShape, got {shape!r}")
    else:
        shapes = nest.flatten([shape_invariant(flow_of(v)) for v in nest.flatten(given, expand_composites=False)])
    return [s.sizes for s in shapes]


def _require_same_kinds(tensors: list[Tensor], shapes: list, after: list[Tensor]) -> None:
    """Raises TypeError or ValueError if a loop variable has another dtype after one iteration, or a shape that its invariant excludes."""
    for tensor, sizes, value in zip(tensors, shapes, after):
        if tensor.dtype.base_dtype != value.dtype.base_dtype:
            raise TypeError(
                f"Loop var {tensor.name} enters the loop with type {tensor.dtype} but has type {value.dtype} after 1 iteration."
            )
        have = value._sizes
        # A known size must stay; an unknown one may be anything.
        fits = sizes is None or (have is not None and len(have) == len(sizes) and all(w is None or h == w for h, w in zip(have, sizes)))
        if not fits:
            raise ValueError(
                f"Input tensor '{tensor.name}' enters the loop with shape {tensor.shape}, but has shape {value.shape} after one "
                "iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to "
                "specify a less-specific shape."
            )


def get_func_graphs(op: Any) -> list[Any]:
    """Returns the bodies of the branches of an If or Case node."""
    refs = op.attrs.get("branches") or [op.attrs["then_branch"], op.attrs["else_branch"]]
    return [op.graph._get_function(ref.name).body for ref in refs]


def _get_graph(while_op: Any, func_attr_name: str) -> Any:
    """Returns the body of the function that an attribute of a While node names, "cond" or "body"."""
    return while_op.graph._get_function(while_op.attrs[func_attr_name].name).body


def in_defun() -> bool:
    """Returns whether the default graph is the body of a function, or a branch or loop in one."""
    graph = get_default_graph()
    # Branches and loops belong to the graph around them.
    while getattr(graph, "is_branch", False):
        graph = graph.outer_graph
    return graph.building_function


control_flow_util.BUILDERS.update(cond=cond_v2, while_loop=while_v2)


@export("experimental.output_all_intermediates")
def output_all_intermediates(state: bool | None) -> None:
    """Accepted for compatibility: gradients of `If` and `While` never need their intermediate values as outputs.

    In 1.15 this sets whether these nodes output them from the start, for graphs that are frozen before gradients are built.
    Here, gradients are those of the nodes that a node is lowered to, whenever they are built.

    Args:
      state: True, False, or None for the default.

    Raises:
      TypeError: `state` is none of these.
    """
    if state not in (True, False, None):
        raise TypeError(f"state must be True, False or None, not {state!r}")


@export("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Makes `cond`, `case` and `while_loop` build functional nodes (If, Case, While) from now on."""
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Makes `cond`, `case` and `while_loop` build Switch, Merge and loop nodes from now on."""
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = False


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Returns whether `cond`, `case` and `while_loop` build functional nodes."""
    return control_flow_util.EnableControlFlowV2(get_default_graph())
