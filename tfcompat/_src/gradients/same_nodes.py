"""Whether two tensors of a graph are computed by the same nodes of the same values."""

from __future__ import annotations

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.stack import POP, PUSH, STACK

_OF_NO_VALUE = frozenset(("frame_name", "stack_name", "swap_memory", "parallel_iterations"))
"""Attributes that change no value; neither do those that begin with "_"."""


class Comparison:
    """Pairs of nodes that are the same; a pair that is met again on the way, as in loops, is taken to be one."""

    def __init__(self) -> None:
        self._pairs: set[tuple[Operation, Operation]] = set()

    def same(self, a: Tensor, b: Tensor) -> bool:
        """Whether two tensors are the same; what was found on the way stays only where they are."""
        pairs = self._pairs.copy()
        if _all_same([(a, b)], pairs):
            self._pairs = pairs
            return True
        return False

    def stacks_are_alone(self) -> bool:
        """Whether each stack stands for one other, and is popped once."""
        stacks = [pair for pair in self._pairs if pair[0].type == STACK]
        alone = all(len(set(side)) == len(stacks) for side in zip(*stacks))
        return alone and all(len(_users(op, POP)) == 1 for _, op in stacks)


def _all_same(pending: list[tuple[Tensor, Tensor]], pairs: set[tuple[Operation, Operation]]) -> bool:
    """Whether pairs of tensors are the same, where `pairs` are taken to be; those that are met on the way are added to them."""
    while pending:
        one, other = map(_passed_on, pending.pop())
        pair = one.op, other.op
        if one is other:
            continue
        if one.value_index != other.value_index or (pair not in pairs and not _alike(*pair)):
            return False
        if pair in pairs:
            continue
        pairs.add(pair)
        pending += zip(*(op.inputs for op in pair))
        if one.op.type == STACK:
            pushes = [_users(op, PUSH) for op in pair]
            if [len(found) for found in pushes] != [1, 1]:
                return False
            pending += zip(*(found[0].inputs for found in pushes))
    return True


def _passed_on(tensor: Tensor) -> Tensor:
    """The tensor that Identity nodes pass on: some stand only where gradients wait for each other."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _users(stack: Operation, kind: str) -> list[Operation]:
    """The operations of a type that take the handle of a stack."""
    found: list[Operation] = []
    pending, seen = list(stack.outputs), set[Operation]()
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
    """Whether two nodes have the same type and attributes, and as many inputs; nodes that act or draw random numbers are each their own."""
    effects = a.spec.effects
    if (effects.random or effects.writes or effects.external) and a.type not in (STACK, PUSH, POP):
        return False
    if a.type != b.type or len(a.inputs) != len(b.inputs):
        return False
    keys = {key for key in (*a.attrs, *b.attrs) if key not in _OF_NO_VALUE and not key.startswith("_")}
    return all(_equal(a.attrs.get(key), b.attrs.get(key)) for key in keys)


def _equal(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
