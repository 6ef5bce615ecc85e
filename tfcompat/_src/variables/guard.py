"""Initial values that are made of other variables use those variables' initialized values, so the order of
initializers is free."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

_VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_SAFE = frozenset(("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"))


def guard_initial_value(name: str, initial_value: Tensor) -> Tensor:
    """`initial_value`, recomputed from initialized values where it depends on other variables.

    Args:
      name: the new variable's scope name; new nodes are called after it.
      initial_value: the tensor to assign.
    """
    ancestors = _ancestors(initial_value.op)
    if ancestors is None or not any(op.type in _VARIABLES for op in ancestors):
        return initial_value
    replaced: dict[Operation, Operation] = {}
    for op in ancestors:
        replaced[op] = _safe_op(name, op, replaced)
    return replaced[initial_value.op].outputs[initial_value._value_index]


def _ancestors(root: Operation) -> list[Operation] | None:
    """What `root` is computed from by data edges, inputs before users; None where the graph behind it has a cycle."""
    order: list[Operation] = []
    done: dict[Operation, bool] = {}
    stack: list[tuple[Operation, bool]] = [(root, False)]
    while stack:
        op, leaving = stack.pop()
        if leaving:
            done[op] = True
            order.append(op)
        elif op not in done:
            done[op] = False
            stack.append((op, True))
            if op.type in _SAFE:
                continue
            inputs = [t.op for t in reversed(op.inputs)]
            if any(done.get(i) is False for i in inputs):
                return None
            stack.extend((i, False) for i in inputs)
    return order


def _safe_op(name: str, op: Operation, replaced: dict[Operation, Operation]) -> Operation:
    if op.type in _SAFE:
        return op
    if op.type in _VARIABLES:
        value = _initialized_value(op)
        return op if value is None else value.op
    inputs = [replaced[t.op].outputs[t._value_index] for t in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs)):
        return op
    op_type = "Switch" if op.type == "RefSwitch" else op.type
    dtypes = [t.dtype.base_dtype if op_type != op.type else t.dtype for t in op.outputs]
    return op.graph.create_op(
        op_type, inputs, dtypes, name=f"{op.name}_{name}".replace(":", "_"), attrs=dict(op.attrs)
    )


def _initialized_value(variable_op: Operation) -> Any:
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in variable_op.graph.get_collection(key):
            if getattr(variable, "name", None) in (variable_op.name, variable_op.name + ":0"):
                return variable.initialized_value()
    return None
