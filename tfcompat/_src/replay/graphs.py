"""Makes a recorded GraphDef runnable here: data from outside comes as values, and side effects outside of the process are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.proto import messages
from tfcompat._src.replay import recorder

PREFIX = "tfcompat_replay/"
LEFT_OUT = re.compile(
    r"Queue(Enqueue|Close)\w*|(Sharded)?Save(V2|Slices)?|MergeV2Checkpoints|WriteFile|PrintV2|MakeIterator|(Ordered)?MapStage|Stage|ReaderReset(V2)?"
    r"|Write\w*Summary|(Create|Close|Flush)SummaryWriter|CreateSummary\w+|Barrier(InsertMany|Close)|IteratorFromStringHandle"
)
"""Op types with effects outside of the session, which a replay does not repeat: they become a NoOp that waits as they did."""


class Setter(NamedTuple):
    """Names for one variable: the tensor to feed and the operation to run to set it, and the tensor that reads it."""

    value: str
    assign: str
    read: str


class Replayable(NamedTuple):
    """A GraphDef to import.

    Attributes:
      inputs: by tensor of an operation that took data from outside, the placeholder that replaces it. setters: by variable.
      replaced: how many operations of each type were replaced or left out.
    """

    graph_def: messages.GraphDef
    inputs: Mapping[str, str]
    setters: Mapping[str, Setter]
    replaced: Mapping[str, int]


def op_of(tensor: str) -> str:
    """The name of the operation in the name of a tensor ("a:0", "a") or of a control input ("^a")."""
    return tensor.lstrip("^").partition(":")[0]


def replayable(graph_def: messages.GraphDef, roots: Iterable[str], sources: Mapping[str, str]) -> Replayable:
    """Returns what to import of a recorded graph.

    Args:
      roots: names of the tensors and operations that are needed. sources: recorded tensors of operations that took data from outside; their types.
    """
    made = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    outputs: dict[str, dict[int, str]] = {}
    for tensor, dtype in sources.items():
        name, _, index = tensor.partition(":")
        outputs.setdefault(name, {})[int(index)] = dtype
    nodes = {node.name: node for node in graph_def.node}
    inputs: dict[str, str] = {}
    replaced: dict[str, int] = {}
    changed: dict[str, list[messages.NodeDef]] = {}
    for name, node in nodes.items():
        if name in outputs:
            changed[name] = _values_for(node, outputs[name], inputs)
        elif recorder.is_whole(LEFT_OUT, node.op):
            changed[name] = [messages.NodeDef(name=name, op="NoOp", input=[source for source in node.input if source.startswith("^")])]
        elif node.op == "Print":
            changed[name] = [messages.NodeDef(name=name, op="Identity", input=[node.input[0]], attr={"T": node.attr["T"]})]
    wanted = _closure(nodes, changed, roots)
    for name, node in nodes.items():
        if name not in wanted:
            continue
        if name in changed:
            replaced[node.op] = replaced.get(node.op, 0) + 1
            made.node.extend(changed[name])
        else:
            made.node.append(node)
    for node in made.node:
        _move_here(node, wanted)
    setters = {name: _setter(made, node, i) for i, (name, node) in enumerate(nodes.items()) if name in wanted and node.op in recorder.VARIABLES}
    return Replayable(made, inputs, setters, replaced)


def _values_for(node: messages.NodeDef, outputs: dict[int, str], inputs: dict[str, str]) -> list[messages.NodeDef]:
    """Placeholders for the outputs of a node, and a node of its name that hands them on."""
    found = []
    kinds = [outputs.get(i, "float32") for i in range(max(outputs) + 1)]
    for i, kind in enumerate(kinds):
        placeholder = messages.NodeDef(name=f"{PREFIX}{node.name}_{i}", op="Placeholder")
        placeholder.attr["dtype"].type = dtypes.as_dtype(kind).as_datatype_enum
        placeholder.attr["shape"].shape.unknown_rank = True
        found.append(placeholder)
        inputs[f"{node.name}:{i}"] = placeholder.name + ":0"
    own = messages.NodeDef(name=node.name, op="IdentityN", input=[p.name for p in found] + [s for s in node.input if s.startswith("^")])
    own.attr["T"].list.type.extend(dtypes.as_dtype(kind).as_datatype_enum for kind in kinds)
    return [*found, own]


def _closure(nodes: Mapping[str, messages.NodeDef], changed: Mapping[str, list[messages.NodeDef]], roots: Iterable[str]) -> set[str]:
    """The names of the nodes that `roots` need; a name that the graph lacks is left to who asks for it."""
    found: set[str] = set()
    rest = [op_of(root) for root in roots]
    while rest:
        name = rest.pop()
        if name in found or name not in nodes:
            continue
        found.add(name)
        for node in changed.get(name, [nodes[name]]):
            rest += [op_of(source) for source in node.input]
    return found


def _move_here(node: messages.NodeDef, wanted: set[str]) -> None:
    """Takes the job and task out of a node's device, and colocation with nodes that are not imported out of its attributes."""
    node.device = re.sub(r"/(job|replica|task):[^/]*", "", node.device)
    if "_class" in node.attr:
        kept = [place for place in node.attr["_class"].list.s if place.removeprefix(b"loc:@").decode() in wanted]
        del node.attr["_class"]
        if kept:
            node.attr["_class"].list.s.extend(kept)


def _setter(made: messages.GraphDef, node: messages.NodeDef, number: int) -> Setter:
    """Adds the nodes that set and read a variable."""
    dtype = node.attr["dtype"].type
    value = made.node.add(name=f"{PREFIX}value_{number}", op="Placeholder", device=node.device)
    value.attr["dtype"].type = dtype
    value.attr["shape"].shape.unknown_rank = True
    assign = made.node.add(name=f"{PREFIX}assign_{number}", input=[node.name, value.name], device=node.device)
    if node.op == "VarHandleOp":
        assign.op = "AssignVariableOp"
        assign.attr["dtype"].type = dtype
        read = made.node.add(name=f"{PREFIX}read_{number}", op="ReadVariableOp", input=[node.name], device=node.device)
        read.attr["dtype"].type = dtype
        return Setter(value.name + ":0", assign.name, read.name + ":0")
    assign.op = "Assign"
    assign.attr["T"].type = dtype
    assign.attr["validate_shape"].b = False
    assign.attr["use_locking"].b = True
    return Setter(value.name + ":0", assign.name, node.name + ":0")

