"""FunctionDef messages of function bodies: nodes with inputs written as `node:output:index`."""

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


class Body(Protocol):
    """The graph of a function's nodes."""

    inputs: list[Tensor]
    outputs: list[Tensor]

    def get_operations(self) -> list[Operation]: ...


class Function(Protocol):
    """A function that a graph may hold."""

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


def definition_of(function: Function) -> messages.FunctionDef:
    """The FunctionDef of a GraphFunction."""
    body = function.body
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
    """Lets operations on one resource wait for one another, and the function for all that acts, as its graph says by their order."""
    written = {node.name: node for node in found.node_def}
    last: dict[tuple[Any, ...], Operation] = {}
    for op in nodes:
        context = op._get_control_flow_context()
        for tensor in op.inputs:
            if tensor.dtype == dtypes.resource:
                before = last.get((tensor, context))
                if before is not None and before is not op:
                    _wait(written[names[op]], names[before])
                last[tensor, context] = op
        effects = getattr(op, "call_spec", op.spec).effects
        acts = (effects.is_stateful and not effects.random) or effects.writes or effects.reads or not op.outputs
        if acts and context is None and op.type not in _SOURCES:
            found.control_ret[names[op]] = names[op]
    found.signature.control_output.extend(sorted(found.control_ret))


def _wait(node: messages.NodeDef, source: str) -> None:
    if f"^{source}" not in node.input:
        node.input.append(f"^{source}")


def graph_to_function_def(
    graph: Graph, operations: list[Operation], inputs: list[Tensor], outputs: list[Tensor], out_names: list[str] | None = None
) -> messages.FunctionDef:
    """Part of a graph as a FunctionDef message named "_", whose nodes keep their names.

    Args:
      graph: the graph. operations: its nodes that belong to the function. inputs: the arguments. outputs: the results.
      out_names: names of the results, by default those of the tensors.

    Raises:
      errors.InvalidArgumentError: number of names and results differ. ValueError: two results have one name.
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
    inside = [op for op in operations if not any(t in arguments for t in op.outputs)]
    found.signature.is_stateful = any(op.op_def.is_stateful for op in inside)
    write_nodes(found, {op: op.name for op in inside}, arguments, results)
    return found


def _tensor_names(tensors: list[Tensor]) -> list[str]:
    """The name of each tensor as that of an argument, each once."""
    found: list[str] = []
    for tensor in tensors:
        name = tensor.name.removesuffix(":0").replace(":", "_o")
        others = (f"{name}_U{i}" for i in itertools.count())
        found.append(next(each for each in itertools.chain([name], others) if each not in found))
    return found


def write_nodes(
    found: messages.FunctionDef, names: dict[Operation, str], arguments: dict[Tensor, str], results: list[tuple[str, Tensor]]
) -> None:
    """Writes nodes, with these names, and results into a FunctionDef."""
    for op in names:
        node = found.node_def.add()
        node.CopyFrom(op.node_def)
        node.name = names[op]
        del node.input[:]
        node.input.extend(_source(t, arguments, names) for t in op.inputs)
        node.input.extend("^" + names[c] for c in op.control_inputs if c in names)
    for name, tensor in results:
        found.ret[name] = _source(tensor, arguments, names)


def names_beside(arguments: Iterable[str], results: Iterable[str], nodes: list[Operation]) -> dict[Operation, str]:
    """The names of nodes, which are others where an argument or result is called so."""
    taken = {*arguments, *results}
    return {op: _unique(op.name, taken) for op in nodes}


def _unique(name: str, taken: set[str]) -> str:
    found, count = name, 0
    while found in taken:
        found, count = f"{name}_{count}", count + 1
    taken.add(found)
    return found


def _source(tensor: Tensor, arguments: dict[Tensor, str], names: dict[Operation, str]) -> str:
    if tensor in arguments:
        return arguments[tensor]
    output, index = output_name(tensor)
    return f"{names[tensor.op]}:{output}:{index}"


def output_name(tensor: Tensor) -> tuple[str, int]:
    """The output of the signature that a tensor belongs to, and its place in it."""
    op, start = tensor.op, 0
    spec = getattr(op, "call_spec", op.spec)
    for arg in spec.signature.outputs:
        count = Operation.arg_length(op, arg)
        if tensor.value_index < start + count:
            return arg.name, tensor.value_index - start
        start += count
    raise ValueError(f"{tensor.name} is no output of its operation")


def argument_names(tensors: list[Tensor]) -> list[str]:
    """Names of arguments or results: those of the nodes, in small letters, each once."""
    taken: set[str] = set()
    return [_unique_argument(re.sub(r"[^a-z0-9_]", "_", t.op.name.lower()), taken) for t in tensors]


def _unique_argument(name: str, taken: set[str]) -> str:
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
