"""Notes, for the runtime, that loops which tf.gradients has made are the derivatives of others."""

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
    """Notes the backward loops of one call of tf.gradients, of which the first node has the number `start`.

    Not noted are loops that gradients end inside of, at one of `ends`, and such as hold what has a gradient of its own or acts outside.
    """
    inner = [t.op for t in ends]
    for loop in loops:
        if loop.outer is None and not any(contains(loop.forward, op) for op in inner):
            found = _derivative(graph, loop, start)
            if found is not None:
                graph.loop_derivatives.append(found)


def _derivative(graph: Graph, loop: BackwardLoop, start: int) -> LoopDerivative | None:
    exits = tuple(given for given in loop.given if given.grad not in loop.zeros)
    if not exits or not loop.entries or loop.takes_slices:
        return None
    ops = graph.get_operations()
    after = ops[start:]
    made = [op for op in after if loop.holds(op)]
    others = {op for noted in graph.loop_derivatives for op in noted.made}
    every = [op for op in ops[:start] if loop.holds(op) and op not in others]
    if any(map(needs_nodes, every)):
        return None
    return LoopDerivative(exits, tuple(loop.entries), loop.count.op, frozenset(made), frozenset(every), edges_of([*every, *made]))


def needs_nodes(op: Operation) -> bool:
    """Whether the derivative of a node is not that of its kernel, or is not to be computed anew."""
    has_gradient = op._gradient_function is not None or "_gradient_op_type" in op.attrs or gradient_registry.is_registered(op.type)
    has_host_gradient = op.spec.side == HOST and not isinstance(op.spec.gradient, NotDifferentiable)
    acts = op.spec.effects.external or bool(op.spec.effects.writes)
    return has_gradient or has_host_gradient or acts or (isinstance(op, CallOperation) and op.function.python_grad_func is not None)
