"""Records in graph.loop_derivatives which backward loops tf.gradients built for which forward loops, so that the runtime compiles both at once."""

from __future__ import annotations

from collections.abc import Iterable

from tfcompat._src.base import gradient_registry
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.loop_derivative import LoopDerivative, edges_of
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation
from tfcompat._src.ops.control.backward_loop import BackwardLoop, BackwardLoops
from tfcompat._src.ops.control.context import contains


def note_derivatives(graph: Graph, loops: BackwardLoops, start: int, ends: Iterable[Tensor]) -> None:
    """Notes the backward loops of one call of tf.gradients, whose new nodes are those from position `start` of the graph.

    A loop is not noted if a gradient ends inside of it, at one of `ends`, or if it holds a node that `needs_nodes`.
    """
    inner = [t.op for t in ends]
    for loop in loops:
        if loop.outer is None and not any(contains(loop.forward, op) for op in inner):
            derivative = _derivative(graph, loop, start)
            if derivative is not None:
                graph.loop_derivatives.append(derivative)


def _derivative(graph: Graph, loop: BackwardLoop, start: int) -> LoopDerivative | None:
    """Returns the note for one backward loop, or None where its nodes must run as they are."""
    # Cotangents that are zeros by construction come from Exits that nothing uses.
    exits = tuple(given for given in loop.given if given.grad not in loop.zeros)
    if not exits or not loop.entries or loop.takes_slices:
        return None
    # Nodes made by this call belong to the derivative; older ones to the forward loop, unless an earlier call made them for its own gradients.
    ops = graph.get_operations()
    after = ops[start:]
    made = [op for op in after if loop.holds(op)]
    others = {op for noted in graph.loop_derivatives for op in noted.made}
    every = [op for op in ops[:start] if loop.holds(op) and op not in others]
    if any(map(needs_nodes, every)):
        return None
    return LoopDerivative(exits, tuple(loop.entries), loop.count.op, frozenset(made), frozenset(every), edges_of([*every, *made]))


def needs_nodes(op: Operation) -> bool:
    """Whether a loop with this node must run as nodes: its gradient is not that of its kernel, or it has side effects, which run only once."""
    has_gradient = op._gradient_function is not None or "_gradient_op_type" in op.attrs or gradient_registry.is_changed(op.type)
    has_host_gradient = op.spec.side == HOST and not isinstance(op.spec.gradient, NotDifferentiable)
    acts = op.spec.effects.external or bool(op.spec.effects.writes)
    return has_gradient or has_host_gradient or acts or (isinstance(op, CallOperation) and op.function.python_grad_func is not None)
