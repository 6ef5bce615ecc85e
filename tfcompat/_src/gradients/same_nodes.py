"""Whether two tensors of a graph are computed by the same nodes of the same values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.stack import POP, PUSH

_OF_NO_VALUE = frozenset(("frame_name", "stack_name", "swap_memory", "parallel_iterations"))
"""Attributes that change no value; neither do those that begin with "_"."""


class Comparison:
    """Pairs of nodes that are the same; a pair that is met again on the way, as in loops, is taken to be one."""

    def __init__(self) -> None:
        self._pairs: dict[Operation, Operation] = {}
        self._stacks: dict[Operation, Operation] = {}

    def same(self, a: Tensor, b: Tensor) -> bool:
        """Whether two tensors are the same; what was found on the way stays only where they are."""
        kept, stacks = dict(self._pairs), dict(self._stacks)
        if self._same(a, b):
            return True
        self._pairs, self._stacks = kept, stacks
        return False

    def _same(self, a: Tensor, b: Tensor) -> bool:
        pending = [(a, b)]
        while pending:
            one, other = map(_passed_on, pending.pop())
            if one is other:
                continue
            if one.value_index != other.value_index:
                return False
            a_op, b_op = one.op, other.op
            if self._pairs.get(a_op) is b_op:
                continue
            if a_op in self._pairs or not _alike(a_op, b_op):
                return False
            self._pairs[a_op] = b_op
            pending += zip(a_op.inputs, b_op.inputs)
            if a_op.type == "StackV2":
                pushed = _pushed(a_op), _pushed(b_op)
                if len(pushed[0]) != 1 or len(pushed[1]) != 1:
                    return False
                self._stacks[a_op] = b_op
                pending += zip(pushed[0][0].inputs, pushed[1][0].inputs)
        return True

    def stacks_are_alone(self) -> bool:
        """Whether each stack stands for one other, and is popped once."""
        return len(set(self._stacks.values())) == len(self._stacks) and all(len(_users(op, POP)) == 1 for op in self._stacks.values())


def _passed_on(tensor: Tensor) -> Tensor:
    """The tensor that Identity nodes pass on: some stand only where gradients wait for each other."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _pushed(stack: Operation) -> list[Operation]:
    return _users(stack, PUSH)


def _users(stack: Operation, kind: str) -> list[Operation]:
    """The operations of a type that take the handle of a stack."""
    found, pending, seen = [], list(stack.outputs), set()
    while pending:
        tensor = pending.pop()
        for op in dict.fromkeys(tensor.consumers()):
            if op.type == kind:
                found.append(op)
            elif op not in seen and op.type in ("Enter", "Switch", "Identity", "Merge"):
                seen.add(op)
                pending += op.outputs
    return found


def _alike(a: Operation, b: Operation) -> bool:
    """Whether two nodes have the same type and attributes, and as many inputs."""
    if a.type != b.type or len(a.inputs) != len(b.inputs):
        return False
    keys = {key for key in (*a.attrs, *b.attrs) if key not in _OF_NO_VALUE and not key.startswith("_")}
    return all(_equal(a.attrs.get(key), b.attrs.get(key)) for key in keys)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
