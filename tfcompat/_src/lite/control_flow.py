"""Conditionals and loops -> IF and WHILE, whose branches, conditions and bodies are subgraphs of their own.

The runtime's items (`runtime/passes/structure`) say what belongs to which branch and which loop. A subgraph has inputs only: what a branch uses
from outside is an input of the IF; what a loop uses is a loop variable of the WHILE that its body hands on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.lowering import Lowering, finish
from tfcompat._src.ops.control.guards import MERGE, SWITCH
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopItem, LoopProgram


def lower_items(low: Lowering, items: Iterable[Item], side: bool | None = None) -> None:
    """Adds the operators of items. side: of which branch they are, or None."""
    for item in items:
        if isinstance(item, CondItem):
            _lower_cond(low, item)
        elif isinstance(item, LoopItem):
            _lower_loop(low, item)
        elif not isinstance(item, OpItem):
            raise ConverterError(f"{item.type} '{item.name}' cannot be converted.")
        elif item.op.type in SWITCH and side is not None and item.op.takes[0] is item.op.takes[1]:
            low.values[item.op.outputs[side]] = np.array(side)
        elif item.op.type in SWITCH and (side is not None or item.op.takes[1] in low.values):
            low.forward(item.op.takes[0], item.op.outputs[bool(low.values.get(item.op.takes[1], side))])
        elif item.op.type in MERGE:  # of branches that a known predicate decides
            low.forward(next(t for t in item.op.takes if t in low.tensors or t in low.values), item.op.outputs[0])
        else:
            low.lower([item.op])


def _lower_cond(low: Lowering, item: CondItem) -> None:
    outputs = [m.outputs[0] for m in item.merges]
    others = [t for t in item.outputs if t.op not in item.merges or t.value_index]
    if others:
        raise ConverterError(f"'{others[0].name}' is used outside of the branch of tf.cond that makes it, which an IF cannot do.")
    sides = {on: low.inner(op for i in item.on_side(on) for op in i.operations) for on in (True, False)}
    results = {}
    for on, inner in sides.items():
        lower_items(inner, item.on_side(on), on)
        results[on] = [next(t for t in m.takes if item.is_alive(t, on)) for m in item.merges]
        for tensor in results[on]:
            inner.tensor(tensor)  # a result that the branch takes from outside is an input of it, too
    captured = list(dict.fromkeys(t for inner in sides.values() for t in inner.captures))
    indices = {on: len(low.subgraphs) + position for position, on in enumerate(sides)}
    low.subgraphs += [lite.Subgraph([], [], []) for _ in sides]
    for on, inner in sides.items():
        inputs = [inner.captures.get(t) or inner.input_like(low.tensor(t)) for t in captured]
        low.subgraphs[indices[on]] = finish(inner, inputs, results[on], True, f"{item.name}/{on}")
    taken = [low.tensor(item.predicate), *(low.tensor(t) for t in captured)]
    low.emit("IF", taken, [low.tensor(t) for t in outputs], then_subgraph_index=indices[True], else_subgraph_index=indices[False])


def _lower_loop(low: Lowering, item: LoopItem) -> None:
    program = item.program
    if program.condition is None:
        raise ConverterError(f"{item.name} has no condition.")
    condition, body = (low.inner(program.operations) for _ in range(2))
    wanted = [v.following for v in program.variables]
    state = {inner: [_enter(inner, program, low, position) for position in range(len(program.variables))] for inner in (condition, body)}
    lower_items(condition, program.condition_items)
    lower_items(body, (*program.condition_items, *program.body_items))
    for inner, results in ((condition, [program.predicate]), (body, wanted)):
        for tensor in results:
            inner.tensor(tensor)
    captured = list(dict.fromkeys([*condition.captures, *body.captures]))
    first = len(low.subgraphs)
    low.subgraphs += [lite.Subgraph([], [], []) for _ in range(2)]
    for position, (inner, results) in enumerate(((condition, [program.predicate]), (body, wanted))):
        carried = [inner.captures.get(t) or inner.input_like(low.tensor(t)) for t in captured]
        subgraph = finish(inner, [*state[inner], *carried], results, True, f"{program.name}/{position}")
        if inner is body:
            subgraph.outputs += [inner.copied(t, t.name + "/next") for t in carried]
        low.subgraphs[first + position] = subgraph
    sources = [*(low.tensor(v.enter.takes[0]) for v in program.variables), *(low.tensor(t) for t in captured)]
    outputs = _results(low, program, state[body]) + [low.temporary(t.name + "/after", t.shape, t.dtype) for t in sources[len(wanted) :]]
    low.emit("WHILE", list(sources), outputs, cond_subgraph_index=first, body_subgraph_index=first + 1)


def _enter(inner: Lowering, program: LoopProgram, low: Lowering, position: int) -> lite.Tensor:
    """The input of a subgraph that is a loop variable, under all the names that it has inside."""
    variable = program.variables[position]
    source = low.tensor(variable.enter.takes[0])
    found = lite.Tensor(inner.name(variable.merge.name), source.shape, source.dtype)
    for tensor in program.names_inside(variable):
        inner.tensors[tensor] = found
    if position == 0:
        for enter in program.constants:
            inner.outer[enter.outputs[0]] = enter.takes[0]
        inner.outer.update({tensor: enter.takes[0] for tensor, enter in program.aliases.items()})
        inner.values.update(program.known)
    return found


def _results(low: Lowering, program: LoopProgram, state: Sequence[lite.Tensor]) -> list[lite.Tensor]:
    """What the WHILE gives for each variable: the tensors of its Exit nodes where there are some."""
    exits: dict[Operation, Tensor] = {}
    for op in program.exits:
        enter = program.entering(op)
        if enter in (v.enter for v in program.variables):
            exits[enter] = op.outputs[0]
        else:
            low.forward(enter.takes[0], op.outputs[0])
    found = []
    for variable, inside in zip(program.variables, state):
        if variable.enter in exits:
            output = lite.Tensor(low.name(exits[variable.enter].name.removesuffix(":0")), inside.shape, inside.dtype)
            low.tensors[exits[variable.enter]] = output
        else:
            output = low.temporary(inside.name + "/after", inside.shape, inside.dtype)
        found.append(output)
    return found


def is_pivot(node: object, nodes: dict[str, object]) -> bool:
    """Whether control edges from a NodeDef say only in which branch or loop the other node is."""
    op = getattr(node, "op", "")
    if op in ("Merge", "Switch"):
        return True
    inputs = getattr(node, "input", ())
    return op == "Identity" and len(inputs) > 0 and getattr(nodes.get(inputs[0].split(":")[0]), "op", "") in SWITCH
