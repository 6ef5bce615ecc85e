"""FunctionDef messages of function bodies: nodes with inputs written as `node:output:index`."""

from __future__ import annotations

import re
from typing import Any

from tfcompat._src.framework import attr_values
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.proto import messages


def definition_of(function: Any) -> Any:
    """The FunctionDef of a GraphFunction."""
    body = function.body
    arguments = {t: name for t, name in zip(body.inputs, function.arg_names)}
    taken = {*function.arg_names, *function.out_names}
    argument_nodes = {t.op for t in arguments}
    nodes = [op for op in body.get_operations() if op not in argument_nodes]
    names = {op: _unique(op.name, taken) for op in nodes}
    found = messages.FunctionDef()
    found.signature.CopyFrom(attr_values.op_def(function.spec))
    for op in nodes:
        node = found.node_def.add()
        node.CopyFrom(op.node_def)
        node.name = names[op]
        del node.input[:]
        node.input.extend(_source(t, arguments, names) for t in op.inputs)
        node.input.extend("^" + names[c] for c in op.control_inputs if c in names)
    for name, tensor in zip(function.out_names, body.outputs):
        found.ret[name] = _source(tensor, arguments, names)
    for key, value in function.attrs.items():
        attr_values.fill(found.attr[key], value)
    return found


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
