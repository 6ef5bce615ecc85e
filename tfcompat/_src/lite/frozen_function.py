"""`tensorflow.python.framework.convert_to_constants`: functions with constants in place of the variables that they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.function.wrapped_function import WrappedFunction, function_from_graph_def
from tfcompat._src.graph.graph_util import FORWARDS_HANDLE, add_frozen, origin
from tfcompat._src.lite.freeze import inlined
from tfcompat._src.proto import messages

_ON_CONSTANTS = FORWARDS_HANDLE | {"ReadVariableOp", "ResourceGather"}
"""What takes a variable, and becomes an operation on a constant."""


def convert_variables_to_constants_v2(func: ConcreteFunction, lower_control_flow: bool = True) -> WrappedFunction:
    """A function without variables that gives what `func` gives now, with the functions that it calls copied into it.

    Args:
      func: a ConcreteFunction, whose variables have values. lower_control_flow: True: conditionals and loops are what they were.

    Raises:
      NotImplementedError: a conditional or loop uses a variable, or control flow is not to be lowered.
    """
    if not lower_control_flow:
        raise NotImplementedError("tfcompat has no convert_variables_to_constants_v2 with lower_control_flow=False.")
    values = dict(_captured_values(func))
    graph_def = inlined(func.graph, func.graph.outputs)
    nodes = {node.name: node for node in graph_def.node}
    for name, (dtype, _) in values.items():
        if name in nodes:
            nodes[name].attr["dtype"].type = dtype.as_datatype_enum
    handles = {inner.op.name for outer, inner in func.graph.captures.items() if outer.dtype == dtypes.resource}
    found = messages.GraphDef(library=graph_def.library, versions=graph_def.versions)
    for node in graph_def.node:
        sources = [name for name in node.input if not name.startswith("^")]
        if node.op not in _ON_CONSTANTS and any(origin(name, nodes) in handles for name in sources):
            raise NotImplementedError(f"tfcompat makes no constants of variables that {node.name!r} ({node.op}) uses.")
        add_frozen(found, node, nodes, {name: value for name, (_, value) in values.items()})
    inputs = func.inputs[: len(func.inputs) - len(func.graph.captures)]
    return function_from_graph_def(found, [t.name for t in inputs], [t.name for t in func.outputs])


def _captured_values(func: ConcreteFunction) -> Iterator[tuple[str, tuple[dtypes.DType, Any]]]:
    """What stands for a tensor or variable from outside of a function: the node's name, and the dtype and value that it has now."""
    for outer, inner in func.graph.captures.items():
        variable = outer.variable() if outer.dtype == dtypes.resource and hasattr(outer, "variable") else outer
        yield inner.op.name, (variable.dtype, variable.numpy())
