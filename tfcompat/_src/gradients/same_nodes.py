"""Structural equality of two subgraphs, which may have cycles: whether two tensors are computed by equal nodes from the same values.

Equality is the greatest bisimulation: a pair of nodes that is met again, as in loops, counts as equal unless a difference turns up elsewhere.
"""

from __future__ import annotations

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.stack import POP, PUSH, STACK

_OF_NO_VALUE = frozenset(("frame_name", "stack_name", "swap_memory", "parallel_iterations"))
"""Attributes that do not affect values; those that begin with "_" do not either."""


class Comparison:
    """The pairs of nodes that are known to be equal, shared by several comparisons."""

    def __init__(self) -> None:
        self._pairs: set[tuple[Operation, Operation]] = set()

    def same(self, a: Tensor, b: Tensor) -> bool:
        """Whether two tensors are equal; the pairs that the comparison visits are kept only if they are."""
        pairs = self._pairs.copy()
        if _all_same([(a, b)], pairs):
            self._pairs = pairs
            return True
        return False

    def stacks_are_alone(self) -> bool:
        """Whether the stacks are paired one to one, and each stack of the second graph has one pop only."""
        stacks = [pair for pair in self._pairs if pair[0].type == STACK]
        alone = all(len(set(side)) == len(stacks) for side in zip(*stacks))
        return alone and all(len(_users(op, POP)) == 1 for _, op in stacks)


def _all_same(pending: list[tuple[Tensor, Tensor]], pairs: set[tuple[Operation, Operation]]) -> bool:
    """Whether all pairs of tensors are equal under the assumption that `pairs` are; adds the pairs of nodes that it visits."""
    while pending:
        # Both tensors of a pair are walked towards their sources at the same time.
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
        # A popped value depends on the push, to which no edge leads back: equal stacks must have one push each, of equal values.
        if one.op.type == STACK:
            pushes = [_users(op, PUSH) for op in pair]
            if [len(users) for users in pushes] != [1, 1]:
                return False
            pending += zip(*(users[0].inputs for users in pushes))
    return True


def _passed_on(tensor: Tensor) -> Tensor:
    """Returns the tensor that a chain of Identity nodes forwards; gate_gradients adds such nodes."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _users(stack: Operation, kind: str) -> list[Operation]:
    """Returns the operations of one type that take a stack's handle, through nodes that forward it into loops and branches."""
    users: list[Operation] = []
    pending, seen = list(stack.outputs), set[Operation]()
    while pending:
        tensor = pending.pop()
        for op in dict.fromkeys(tensor.consumers()):
            if op.type == kind:
                users.append(op)
            elif op not in seen and op.type in ("Enter", "Switch", "Identity", "Merge"):
                seen.add(op)
                pending += op.outputs
    return users


def _alike(a: Operation, b: Operation) -> bool:
    """Whether two nodes agree in type, attributes and number of inputs. A node with side effects or random numbers equals only itself."""
    effects = a.spec.effects
    if (effects.random or effects.writes or effects.external) and a.type not in (STACK, PUSH, POP):
        return False
    if a.type != b.type or len(a.inputs) != len(b.inputs):
        return False
    # A missing attribute and one that is None are the same.
    keys = {key for key in (*a.attrs, *b.attrs) if key not in _OF_NO_VALUE and not key.startswith("_")}
    return all(_equal(a.attrs.get(key), b.attrs.get(key)) for key in keys)


def _equal(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
