"""FunctionDef messages of function bodies.

Inside a FunctionDef, an input is `argument` or `node:output:index`, where `output` is an output of the signature and `index` counts
its tensors; a GraphDef writes `node:index`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph

_SOURCES = ("NoOp", "ControlTrigger", "VarHandleOp", "HashTableV2", "Placeholder")
"""Op types without a side effect of their own, although they are stateful or have no outputs."""


class Body(Protocol):
    """The graph of a function's body."""

    inputs: list[Tensor]
    outputs: list[Tensor]

    def get_operations(self) -> list[Operation]: ...


class Function(Protocol):
    """A function in a graph's function library, as far as FunctionDefs need it."""

    name: str
    attrs: dict[str, Any]
    arg_names: list[str]
    out_names: list[str]
    grad_func_name: str | None
    description: str
    acts_in_order: bool

    @property
    def body(self) -> Body: ...

    @property
    def spec(self) -> op_spec.OpSpec: ...

    @property
    def definition(self) -> messages.FunctionDef: ...


# ---- whole functions ----


def definition_of(function: Function) -> messages.FunctionDef:
    """Returns the FunctionDef message of a GraphFunction."""
    body = function.body
    # The placeholders of the arguments are not nodes of a FunctionDef: the signature lists them.
    arguments = {t.op for t in body.inputs}
    nodes = [op for op in body.get_operations() if op not in arguments]
    found = messages.FunctionDef()
    found.signature.CopyFrom(attr_values.op_def(function.spec))
    found.signature.description = function.description
    names = names_beside(function.arg_names, function.out_names, nodes)
    write_nodes(found, names, dict(zip(body.inputs, function.arg_names)), list(zip(function.out_names, body.outputs)))
    if function.acts_in_order:
        _write_order(found, nodes, names)
    for key, value in function.attrs.items():
        attr_values.fill(found.attr[key], value)
    return found


def _write_order(found: messages.FunctionDef, nodes: list[Operation], names: dict[Operation, str]) -> None:
    """Adds control inputs between operations on one resource, and control outputs for all side effects (automatic dependencies).

    tfcompat runs a body's side effects in creation order; TensorFlow, which may load this message, needs them as control edges.
    """
    written = {node.name: node for node in found.node_def}
    # The last user of each resource, within each control flow context: an edge must not cross the border of a branch or loop.
    last: dict[tuple[Any, ...], Operation] = {}
    for op in nodes:
        context = op._get_control_flow_context()
        for tensor in op.inputs:
            if tensor.dtype == dtypes.resource:
                before = last.get((tensor, context))
                if before is not None and before is not op:
                    _wait(written[names[op]], names[before])
                last[tensor, context] = op
        # An operation with side effects must run even if no result depends on it: the call waits for it through control_ret.
        effects = getattr(op, "call_spec", op.spec).effects
        acts = (effects.is_stateful and not effects.random) or effects.writes or effects.reads or not op.outputs
        if acts and context is None and op.type not in _SOURCES:
            found.control_ret[names[op]] = names[op]
    found.signature.control_output.extend(sorted(found.control_ret))


def _wait(node: messages.NodeDef, source: str) -> None:
    """Adds a control input to a node unless it has it."""
    if f"^{source}" not in node.input:
        node.input.append(f"^{source}")


def graph_to_function_def(
    graph: Graph, operations: list[Operation], inputs: list[Tensor], outputs: list[Tensor], out_names: list[str] | None = None
) -> messages.FunctionDef:
    """Returns part of a graph as a FunctionDef message named "_"; its nodes keep their names.

    Args:
      graph: the graph.
      operations: its nodes that make up the body.
      inputs: the tensors that become the arguments.
      outputs: the tensors that become the results.
      out_names: names of the results; by default those of the tensors.

    Raises:
      errors.InvalidArgumentError: the numbers of names and results differ.
      ValueError: two results have the same name.
    """
    if out_names is not None and len(out_names) != len(outputs):
        raise errors.InvalidArgumentError(
            None, None, "output names must be either empty or equal in size to outputs. "
            f"output names size = {len(out_names)} outputs size = {len(outputs)}",
        )  # fmt: skip
    if out_names is not None and len(set(out_names)) < len(out_names):
        raise ValueError(f"Must not have duplicates in out_names: {', '.join(out_names)}")
    arguments = dict(zip(inputs, _tensor_names(inputs)))
    results = list(zip(_tensor_names(outputs) if out_names is None else out_names, outputs))
    found = messages.FunctionDef()
    found.signature.name = "_"
    for tensor, name in arguments.items():
        found.signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
    for name, tensor in results:
        found.signature.output_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
    # The node that makes an argument is outside of the function, even if the caller lists it.
    inside = [op for op in operations if not any(t in arguments for t in op.outputs)]
    found.signature.is_stateful = any(op.op_def.is_stateful for op in inside)
    write_nodes(found, {op: op.name for op in inside}, arguments, results)
    return found


def _tensor_names(tensors: list[Tensor]) -> list[str]:
    """Returns unique argument names for tensors, as 1.15 forms them: "op" or "op_o1", with a suffix "_U0" ... if taken."""
    names: list[str] = []
    for tensor in tensors:
        name = tensor.name.removesuffix(":0").replace(":", "_o")
        others = (f"{name}_U{i}" for i in itertools.count())
        names.append(next(each for each in itertools.chain([name], others) if each not in names))
    return names


def write_nodes(
    found: messages.FunctionDef, names: dict[Operation, str], arguments: dict[Tensor, str], results: list[tuple[str, Tensor]]
) -> None:
    """Writes nodes and results into the FunctionDef `found`.

    Args:
      found: the message.
      names: the nodes, with their names in the message.
      arguments: the argument tensors, with their names.
      results: the names and tensors of the results.
    """
    for op in names:
        # A node keeps its NodeDef; only its name and its inputs are written in the notation of FunctionDefs.
        node = found.node_def.add()
        node.CopyFrom(op.node_def)
        node.name = names[op]
        del node.input[:]
        node.input.extend(_source(t, arguments, names) for t in op.inputs)
        node.input.extend("^" + names[c] for c in op.control_inputs if c in names)
    for name, tensor in results:
        found.ret[name] = _source(tensor, arguments, names)


# ---- names of nodes, arguments and tensors ----


def names_beside(arguments: Iterable[str], results: Iterable[str], nodes: list[Operation]) -> dict[Operation, str]:
    """Returns names for nodes that differ from all argument and result names: the node's own, with a suffix if taken."""
    taken = {*arguments, *results}
    return {op: _unique(op.name, taken) for op in nodes}


def _unique(name: str, taken: set[str]) -> str:
    """Returns `name`, or `name_0`, `name_1` ... if taken, and adds it to `taken`."""
    unique, count = name, 0
    while unique in taken:
        unique, count = f"{name}_{count}", count + 1
    taken.add(unique)
    return unique


def _source(tensor: Tensor, arguments: dict[Tensor, str], names: dict[Operation, str]) -> str:
    """Returns a tensor as a FunctionDef names it: `argument` or `node:output:index`."""
    if tensor in arguments:
        return arguments[tensor]
    output, index = output_name(tensor)
    return f"{names[tensor.op]}:{output}:{index}"


def output_name(tensor: Tensor) -> tuple[str, int]:
    """Returns the name of the signature's output to which a tensor belongs, and its index in that output."""
    op, start = tensor.op, 0
    spec = getattr(op, "call_spec", op.spec)
    for arg in spec.signature.outputs:
        count = Operation.arg_length(op, arg)  # the plain count of the signature; a call may override the method
        if tensor.value_index < start + count:
            return arg.name, tensor.value_index - start
        start += count
    raise ValueError(f"{tensor.name} has an index beyond the outputs in the signature of {op.type}.")


def argument_names(tensors: list[Tensor]) -> list[str]:
    """Returns unique names for arguments or results: the node names in lower case, other characters replaced by "_"."""
    taken: set[str] = set()
    return [_unique_argument(re.sub(r"[^a-z0-9_]", "_", t.op.name.lower()), taken) for t in tensors]


def _unique_argument(name: str, taken: set[str]) -> str:
    """Returns `name`, or `name_1`, `name_2` ... if taken, and adds it to `taken`."""
    unique, count = name, 0
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    taken.add(unique)
    return unique
