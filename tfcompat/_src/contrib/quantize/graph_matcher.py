"""Patterns of operations and what they take, found in a graph; used to rewrite graphs for quantization."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

_MOST_UNORDERED_INPUTS = 8


class MatchResult:
    """The operation, and the tensor of it, that each pattern stands for."""

    def __init__(self) -> None:
        self._found: dict[Pattern, tuple[Operation, Tensor | None]] = {}
        self._names: dict[str, Pattern] = {}

    def add(self, pattern: Pattern, op: Operation, tensor: Tensor | None) -> None:
        """Notes what a pattern stands for; ValueError where its name is another pattern's."""
        if pattern.name is not None and self._names.setdefault(pattern.name, pattern) is not pattern:
            raise ValueError(f"Name {pattern.name} is already bound to another pattern")
        self._found[pattern] = op, tensor

    def merge_from(self, other: MatchResult) -> None:
        """Adds what another result holds."""
        self._found.update(other._found)
        self._names.update(other._names)

    def _of(self, pattern: Pattern | str) -> tuple[Operation | None, Tensor | None]:
        if not isinstance(pattern, (Pattern, str)):
            raise ValueError(f"pattern_or_name has type {type(pattern)}. Expect Pattern or str.")
        key = self._names.get(pattern) if isinstance(pattern, str) else pattern
        return (None, None) if key is None else self._found.get(key, (None, None))

    def get_op(self, pattern_or_name: Pattern | str) -> Operation | None:
        """The operation that a pattern, or the pattern of a name, stands for; None where it is not part of the match."""
        return self._of(pattern_or_name)[0]

    def get_tensor(self, pattern_or_name: Pattern | str) -> Tensor | None:
        """The tensor through which the operation was reached; None for the root and for what is not part of the match."""
        return self._of(pattern_or_name)[1]


class Pattern(ABC):
    """What an operation may look like."""

    name: str | None = None

    @abstractmethod
    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """What the parts of the pattern stand for, or None where the operation is another one."""


class OpTypePattern(Pattern):
    """An operation of some types, with patterns for its inputs.

    Args:
      op_type: types with "|" between them, or "*" for all.
      name: a name for `MatchResult`.
      inputs: a pattern, or a text as `op_type`, for each input; by default anything goes.
      ordered_inputs: False: the inputs may come in any order.

    Raises:
      ValueError: more inputs than can be tried in each order.
    """

    def __init__(self, op_type: str, name: str | None = None, inputs: Iterable | None = None, ordered_inputs: bool = True) -> None:
        self.name = name
        self._types = None if op_type == "*" else frozenset(op_type.split("|"))
        self._inputs = [i if isinstance(i, Pattern) else OpTypePattern(i) for i in inputs or ()]
        self._ordered = ordered_inputs
        if len(self._inputs) > _MOST_UNORDERED_INPUTS:
            raise ValueError(f"Only {_MOST_UNORDERED_INPUTS} inputs are allowed when ordered_inputs is False.")

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        if self._types is not None and op.type not in self._types:
            return None
        if self._inputs and len(self._inputs) != len(op.inputs):
            return None
        orders = [self._inputs] if self._ordered else itertools.permutations(self._inputs)
        for order in orders:
            parts = [pattern.match(t.op, t) for pattern, t in zip(order, op.inputs)] if self._inputs else []
            if None not in parts:
                found = MatchResult()
                found.add(self, op, tensor)
                for part in parts:
                    found.merge_from(part)
                return found
        return None


class OneofPattern(Pattern):
    """The first of several patterns that fits."""

    def __init__(self, sub_patterns: Iterable[Pattern]) -> None:
        self._choices = list(sub_patterns)

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        matches = (pattern.match(op, tensor) for pattern in self._choices)
        return next((m for m in matches if m is not None), None)


class GraphMatcher:
    """Finds a pattern."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def match_op(self, op: Operation) -> MatchResult | None:
        """The match with `op` at its root, or None."""
        return self._pattern.match(op, None)

    def match_ops(self, ops: Iterable[Operation]) -> Iterator[Any]:
        """The match of each operation that has one."""
        return (match for match in map(self.match_op, ops) if match is not None)

    def match_graph(self, graph: Graph) -> Iterator[Any]:
        """The match of each operation of a graph that has one."""
        return self.match_ops(graph.get_operations())
