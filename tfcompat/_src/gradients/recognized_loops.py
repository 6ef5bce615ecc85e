"""Recognizes, in graphs from files, the while loops that are derivatives of other loops, and proves it by differentiating again.

Both loops are copied to a graph of their own, and the copied forward loop is differentiated there. If the new backward loop equals the copied one
node for node (same_nodes.py), the loops of the file are noted as a LoopDerivative, which the runtime compiles as one derivative. The names that
TensorFlow gives to gradient nodes only select the candidates; they prove nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.gradients.gradients import gradients_of_results
from tfcompat._src.gradients.loop_notes import needs_nodes
from tfcompat._src.gradients.same_nodes import Comparison
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.loop_derivative import CannotBeRebuilt, EntryGradient, ExitGradient, LoopDerivative, edges_of
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.control.backward_loop import ValueOutsideLoop
from tfcompat._src.ops.control.found_contexts import give_contexts
from tfcompat._src.ops.control.guards import CONTROL_TRIGGER, guards_of
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT
from tfcompat._src.ops.control.loop_topology import Loop, find_loops
from tfcompat._src.ops.flow.stack import POP, PUSH
from tfcompat._src.proto import messages

# Names of the nodes that TensorFlow 1.15 makes: the backward loop's Enter for the gradient of an Exit, its Exit for the gradient of an Enter
# ("b_acc" for a gradient that is accumulated over iterations), and the iteration counter of the forward loop.
_OF_EXIT = re.compile(r"(.*)_grad(_\d+)?/b_exit(_\d+)?")
_OF_ENTER = re.compile(r"(.*)_grad(_\d+)?/(Exit|b_acc)(_\d+)?")
_COUNTER = re.compile(r"(.*/)?f_count(_\d+)?")
_KEPT = ("Const", "VarHandleOp")
"""Op types whose nodes are copied instead of replaced by a placeholder: gradient rules look at the node, not only at its value."""
_REFUSALS = (ValueError, ValueOutsideLoop, LookupError, NotImplementedError, errors.OpError)
"""Errors of node import and of gradient rules meaning that this loop's gradient cannot be rebuilt."""
_OF_PYTHON = (KeyError, IndexError)
"""Subclasses of LookupError that mean a bug of this package instead."""


@dataclass
class _Pair:
    """A candidate: two loops of which `backward` may be the derivative of `forward`.

    Attributes:
      count: the forward loop's Exit with the number of iterations, from which the backward loop counts down.
      own: the nodes of the forward loop that the program made; the others serve the gradients (counter, pushes to stacks).
      given: pairs of a backward Enter and the forward Exit whose cotangent enters there.
      entries: for each forward Enter, the backward Exits that hold its gradient: one tensor, or the parts of IndexedSlices.
    """

    forward: Loop
    backward: Loop
    count: Operation
    own: set[Operation]
    given: list[tuple[Operation, Operation]]
    entries: dict[Operation, list[Operation]]


def recognize(graph: Graph) -> None:
    """Appends to graph.loop_derivatives the loops that are proven to be derivatives of others and are not noted yet."""
    ops = topological(graph.get_operations())
    loops, _ = find_loops(ops)
    noted = {op for d in graph.loop_derivatives for op in d.made}
    leaving = {exit: loop for loop in loops for exit in loop.exits}
    for backward in loops:
        pair = None if backward.exits and backward.exits[0] in noted else _pair(backward, leaving)
        derivative = None if pair is None else _derivative(pair, noted)
        if derivative is not None:
            graph.loop_derivatives.append(derivative)
            noted |= derivative.made


def _pair(backward: Loop, leaving: dict[Operation, Loop]) -> _Pair | None:
    """Returns the candidate pair of a loop that looks like a backward loop, or None. `leaving` maps each Exit to its loop."""
    # A backward loop runs while a counter, which starts at the forward loop's number of iterations, is at least 1.
    count = _count(backward)
    forward = None if count is None else leaving.get(count)
    if count is None or forward is None or forward is backward:
        return None
    # The names of the backward loop's Enter and Exit nodes are derived from the nodes of the forward loop that they differentiate.
    results = [op for op in forward.all_members() if op.type in EXIT and _COUNTER.fullmatch(op.name) is None]
    own = _needed_by(results, forward)
    results = [exit for exit in forward.exits if exit in own]
    enters = [op for op in forward.enters if op in own]
    given = [(e, exit) for e in backward.enters if (exit := _named(e, _OF_EXIT, results)) is not None]
    entries: dict[Operation, list[Operation]] = {}
    for left in backward.exits:
        enter = _named(left, _OF_ENTER, enters)
        # The gradient of one Enter leaves by three Exits if it is IndexedSlices.
        if enter is not None:
            entries.setdefault(enter, []).append(left)
    # The gradient is linear in the cotangents of the exits: each may enter once only.
    once = len({exit for _, exit in given}) == len(given)
    return _Pair(forward, backward, count, own, given, entries) if given and entries and once else None


def _count(backward: Loop) -> Operation | None:
    """Returns the Exit of another loop that is the initial value of the countdown of `backward`, or None if it does not count down."""
    test = backward.condition.inputs[0].op if backward.condition is not None else None
    if test is None or test.type != "GreaterEqual" or test.inputs[0].op.type != "Merge":
        return None
    enter = test.inputs[0].op.inputs[0].op
    source = enter.inputs[0].op if enter.type in ENTER else None
    return source if source is not None and source.type in EXIT else None


def _needed_by(results: Iterable[Operation], loop: Loop) -> set[Operation]:
    """Returns the nodes of a loop on which its results, its condition or its side effects depend."""
    inside = set(loop.all_members())
    # Pushes and pops of stacks are side effects that only gradients add.
    acting = [op for op in inside if op.spec.effects.external and op.type not in (PUSH, POP)]
    needed: set[Operation] = set()
    pending = [*results, *acting, *([loop.condition] if loop.condition is not None else [])]
    while pending:
        op = pending.pop()
        if op in inside and op not in needed and op.type not in (PUSH, CONTROL_TRIGGER):
            needed.add(op)
            pending += [*(t.op for t in op.inputs), *op.control_inputs]
    return needed


def _named(op: Operation, pattern: re.Pattern[str], among: Iterable[Operation]) -> Operation | None:
    """Returns the node of `among` that gradient node `op` is named after, or None.

    An import may have put either name in another scope: the node that agrees in most name components from the end is taken.
    """
    match = pattern.fullmatch(op.name)
    if match is None:
        return None
    wanted = match[1].split("/")[::-1]
    lengths = {other: _common(wanted, other.name.split("/")[::-1]) for other in among}
    best = max(lengths, key=lambda other: lengths[other], default=None)
    return best if best is not None and lengths[best] else None


def _common(a: list[str], b: list[str]) -> int:
    """Returns the length of the common prefix."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _derivative(pair: _Pair, noted: set[Operation]) -> LoopDerivative | None:
    """Returns the note for a pair, or None where it is not proven or its nodes must run as they are."""
    if any(map(needs_nodes, pair.own)):
        return None
    # A loop that cannot be rebuilt is not an error: its nodes run one by one.
    try:
        parts = _Copy(pair).proven()
    except CannotBeRebuilt:
        return None
    if parts is None:
        return None
    # Nodes that another derivative owns already (a second backward loop of the same forward loop) are not claimed again.
    forward = pair.forward.all_members()
    serving = _serving(pair)
    made = frozenset([*pair.backward.all_members(), *serving])
    others = frozenset(op for op in forward if op not in made and op not in noted)
    exits = tuple(ExitGradient(exit.outputs[0], enter.inputs[0], enter) for enter, exit in pair.given if not _is_zero(enter.inputs[0]))
    entries = tuple(EntryGradient(enter, tuple(op.outputs[0] for op in ops)) for enter, ops in parts.items())
    return LoopDerivative(exits, entries, pair.count, made, others, edges_of([*others, *made]))


def _serving(pair: _Pair) -> set[Operation]:
    """Returns the nodes of the forward loop that exist for the backward loop alone: those that the counter depends on, pushes among them."""
    inside = set(pair.forward.all_members())
    serving: set[Operation] = set()
    # TensorFlow 1.15 lets the counter's increment wait for each push, so that the walk from the counter reaches all pushes.
    pending = [pair.count]
    while pending:
        op = pending.pop()
        if op in inside and op not in serving and op not in pair.own:
            serving.add(op)
            pending += [*(t.op for t in op.inputs), *op.control_inputs]
    return serving


def _is_zero(tensor: Tensor) -> bool:
    """Whether a tensor is known to hold zeros only, as the cotangent of an unused result does."""
    if tensor.op.type == "ZerosLike":
        return True
    value = constant_value(tensor.op.inputs[1] if tensor.op.type == "Fill" else tensor)
    return value is not None and not np.any(value)


@contextlib.contextmanager
def _rebuilding() -> Iterator[None]:
    """Turns the errors of its block that mean an unsupported node into CannotBeRebuilt; every other error is a bug and passes through."""
    try:
        yield
    except _REFUSALS as e:
        if isinstance(e, _OF_PYTHON):
            raise
        raise CannotBeRebuilt(str(e)) from e


class _Copy:
    """A copy of both loops in a graph of its own, with placeholders for the tensors that enter them.

    Raises:
      CannotBeRebuilt: the loops cannot be imported.
    """

    def __init__(self, pair: _Pair) -> None:
        self._pair = pair
        # The graph is cut where the program's values and the cotangents enter. Cotangents that are zeros stay: rules treat them apart.
        self._outermost = [op for op in pair.forward.enters if op in pair.own]
        self._cut = {enter.inputs[0] for enter in self._outermost if enter.inputs[0].op.type not in _KEPT}
        self._cut |= {e.inputs[0] for e, _ in pair.given if not _is_zero(e.inputs[0])}
        self._graph = Graph()
        self._added_names: list[str] = []
        self._members = self._behind([*pair.backward.all_members(), *pair.forward.all_members()])
        with _rebuilding(), self._graph.as_default():
            import_graph_def(self._message(), name="")
        # Gradient rules use static shapes. Those of the file's graph may be known better than the import infers from the cut.
        for op in self._members:
            for tensor in op.outputs:
                self._of(tensor).set_shape(tensor.shape)
        self._added = {self._graph._nodes_by_name[name] for name in self._added_names}
        for exit in self._added:
            exit.outputs[0].set_shape(exit.inputs[0].shape)

    def _behind(self, ops: list[Operation]) -> list[Operation]:
        """Returns `ops` and everything that they depend on up to the cut, in topological order."""
        ancestors: set[Operation] = set()
        pending = list(ops)
        while pending:
            op = pending.pop()
            if op not in ancestors:
                ancestors.add(op)
                pending += [t.op for t in op.inputs if t not in self._cut]
        return [op for op in topological(ancestors)]

    def _message(self) -> messages.GraphDef:
        """Returns the GraphDef of the copy. Each Enter of the forward loop gets a source node of its own, the x of the new gradients."""
        made = messages.GraphDef(versions=self._members[0].graph.graph_def_versions)
        names = {t: f"cut_{i}" for i, t in enumerate(self._cut)}
        inside = set(self._members)
        for tensor, name in names.items():
            node = made.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
        for op in self._members:
            node = made.node.add()
            node.CopyFrom(op.node_def)
            # Colocation and devices name nodes and devices that the copy does not have.
            node.attr.pop("_class", None)
            node.device = ""
            node.input[:] = [names.get(t) or t._as_node_def_input() for t in op.inputs]
            node.input.extend(f"^{c.name}" for c in op.control_inputs if c in inside)
            if op in self._outermost:
                self._add_source(made, op, node)
        for loop in _every([self._pair.forward]):
            self._add_exits(made, loop)
        self._names = names
        return made

    @staticmethod
    def _add_source(made: messages.GraphDef, enter: Operation, node: messages.NodeDef) -> None:
        """Puts an Identity, or a copy of the Const, before an Enter: two Enters of one tensor have separate gradients then."""
        tensor = enter.inputs[0]
        source = made.node.add(name=f"source_{len(made.node)}", op="Identity", input=[node.input[0]])
        if tensor.op.type == "Const":
            source.CopyFrom(messages.NodeDef(name=source.name, op="Const", attr=tensor.op.node_def.attr))
            source.attr.pop("_class", None)
        else:
            source.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
        node.input[0] = source.name

    def _add_exits(self, made: messages.GraphDef, loop: Loop) -> None:
        """Adds an Exit for each loop variable without one: a file lacks unused Exits, and the gradients of a loop start from all of them."""
        for variable in loop.variables():
            if variable.exit is None and variable.switch is not None and variable.enter in self._pair.own:
                node = made.node.add(name=f"exit_{len(made.node)}", op="Exit", input=[variable.switch.name])
                node.attr["T"].CopyFrom(variable.switch.node_def.attr["T"])
                self._added_names.append(node.name)

    def _of(self, tensor: Tensor) -> Tensor:
        """Returns the copy of a tensor."""
        if tensor in self._names:
            return self._graph._nodes_by_name[self._names[tensor]].outputs[0]
        return self._graph._nodes_by_name[tensor.op.name].outputs[tensor.value_index]

    def proven(self) -> dict[Operation, list[Operation]] | None:
        """Returns the backward Exits by the forward Enter whose gradient they are; None where one of them is something else.

        Raises:
          CannotBeRebuilt: a node of the forward loop has no gradient that can be made here.
        """
        pair = self._pair
        # The import knows nodes only: the while contexts that the gradients need are rebuilt from the loops' structure.
        ops = topological(self._graph.get_operations())
        loops, _ = find_loops(ops)
        copied = self._of(pair.count.outputs[0]).op
        (forward,) = (loop for loop in loops if copied in loop.members)
        own = self._added.union(self._of(op.outputs[0]).op for op in pair.own if op.outputs)
        tests = {loop.condition.outputs[0] for loop in _every(loops) if loop.condition is not None}
        with _rebuilding(), self._graph.as_default():
            give_contexts(forward, own, guards_of(ops, tests))
            given = {self._of(exit.outputs[0]): self._of(e.inputs[0]) for e, exit in pair.given if not _is_zero(e.inputs[0])}
            xs = {enter: self._of(enter.outputs[0]).op.inputs[0] for enter in pair.entries}
            grads = gradients_of_results(given, list(xs.values()))
        # Every part of every new gradient must equal one Exit of the file's loop, and no Exit may be left over.
        comparison = Comparison()
        proven: dict[Operation, list[Operation]] = {}
        for (enter, left), grad in zip(pair.entries.items(), grads):
            parts = [] if grad is None else [grad.values, grad.indices, grad.dense_shape] if isinstance(grad, IndexedSlices) else [grad]
            matched = [next((op for op in left if comparison.same(part, self._of(op.outputs[0]))), None) for part in parts if part is not None]
            if not matched or len(matched) != len(left) or any(op is None for op in matched):
                return None
            proven[enter] = [op for op in matched if op is not None]
        return proven if comparison.stacks_are_alone() else None


def _every(loops: Iterable[Loop]) -> Iterable[Loop]:
    """Yields loops and the loops nested in them."""
    for loop in loops:
        yield loop
        yield from _every(loop.children)
