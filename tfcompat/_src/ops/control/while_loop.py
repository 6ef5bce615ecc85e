"""tf.while_loop: a loop in TensorFlow 1's flat form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph, name_scope
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.control_flow_util import BUILDERS, EnableControlFlowV2
from tfcompat._src.ops.control.while_context import WhileContext, shape_invariant
from tfcompat._src.ops.flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


@export("while_loop")
def while_loop(
    cond: Callable, body: Callable, loop_vars: Any, shape_invariants: object = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None, maximum_iterations: TensorLike | None = None, return_same_structure: bool = False,
) -> Any:  # fmt: skip
    """Repeats `body` while `cond` is true.

    Args:
      cond: function of the loop variables that gives a scalar bool tensor.
      body: function of the loop variables that gives their next values, in the same structure.
      loop_vars: list or tuple of tensors, TensorArrays and nested structures of them.
      shape_invariants: the shapes, in the structure of `loop_vars`, that the variables keep; by default those they have.
      parallel_iterations: how many iterations TensorFlow runs at once; here it is written into the graph only.
      back_prop: whether gradients go through the loop.
      swap_memory: whether TensorFlow moves what gradients need to the host; here memory is planned by the compiler.
      name: name scope, "while" by default.
      maximum_iterations: scalar bound of the number of iterations; it lets the gradient be compiled for that length.
      return_same_structure: keeps a structure of one element, which is unpacked otherwise.

    Returns:
      the loop variables after the loop.

    Raises:
      TypeError: `cond` or `body` is not callable. ValueError: no variables, or one changes its shape or structure.
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if executing_eagerly():
        return _run_loop(cond, body, loop_vars, maximum_iterations, return_same_structure)
    if EnableControlFlowV2(get_default_graph()):
        return BUILDERS["while_loop"](
            cond, body, loop_vars, shape_invariants, parallel_iterations, maximum_iterations, name, return_same_structure
        )
    with name_scope(name, "while", loop_vars):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        bounded = maximum_iterations is not None
        if bounded:
            maximum_iterations = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {maximum_iterations.shape}")
            unpack = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _counted(cond, body, loop_vars, maximum_iterations, unpack)
        if shape_invariants is not None:
            if bounded:
                shape_invariants = (TensorShape([]), shape_invariants)
            nest.assert_same_structure(loop_vars, shape_invariants, expand_composites=False)
            shape_invariants = nest.map_structure(shape_invariant, loop_vars, shape_invariants, expand_composites=False)
        context = WhileContext(maximum_iterations, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = context.BuildLoop(cond, body, loop_vars, shape_invariants, return_same_structure)
        return result[1] if bounded else result


def _run_loop(cond: Callable, body: Callable, loop_vars: Any, maximum_iterations: TensorLike, return_same_structure: bool) -> Any:
    """The loop where operations run at once."""
    if not loop_vars:
        raise ValueError("No loop variables provided")
    limit = None if maximum_iterations is None else int(convert_to_tensor(maximum_iterations))
    takes_one = len(loop_vars) == 1 and not return_same_structure
    iterations, packed = 0, False
    while (limit is None or iterations < limit) and bool(cond(*loop_vars)):
        following = body(*loop_vars)
        if takes_one and not isinstance(following, (list, tuple)):
            packed, following = True, (following,)
        nest.assert_same_structure(list(loop_vars), list(following))
        loop_vars = following
        iterations += 1
    found = nest.map_structure(_as_tensor, loop_vars, expand_composites=True)
    return found[0] if packed else found


def _as_tensor(value: TensorLike) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _counted(cond: Callable, body: Callable, loop_vars: Any, limit: Any, unpack: bool) -> tuple:
    """Condition, body and variables with a counter before them that ends the loop at `limit`."""
    counter = constant(0, limit.dtype, name="iteration_counter")

    def arguments(variables: object) -> Any:
        return (variables,) if unpack else variables

    def counted_cond(i: Any, variables: Any) -> Tensor:
        return raw.LogicalAnd(i < limit, cond(*arguments(variables)))

    def counted_body(i: Any, variables: Any) -> Any:
        return i + 1, body(*arguments(variables))

    return counted_cond, counted_body, (counter, loop_vars[0] if unpack else loop_vars)
