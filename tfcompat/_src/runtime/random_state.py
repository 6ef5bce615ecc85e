"""The random operations of a Session: one Philox counter each, advanced as it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.random.philox import seed_to_key_counter


class RandomState:
    """Keys and counters by operation; a new Session starts again."""

    def __init__(self) -> None:
        self._starts: dict[Operation, NDArray] = {}
        self._moved: dict[Operation, int] = {}

    def await_turn(self, ops: list[Operation]) -> None:
        """Waits until the operations may draw, before the lock of the variables is taken: at once, where no calls run at the same time."""

    def row(self, op: Operation) -> NDArray:
        """uint32[6] for the next execution of `op`: the key (2), then the counter (4), least significant word first."""
        op = self._counted(op)
        start = self._starts.get(op)
        if start is None:
            key, counter = seed_to_key_counter(op.attrs["seed"], op.attrs["seed2"])
            start = self._starts[op] = np.concatenate([key, counter]).astype(np.uint32)
        moved = self._moved.get(op, 0)
        if not moved:
            return start
        total = sum(int(w) << (32 * i) for i, w in enumerate(start[2:])) + moved
        words = [(total >> (32 * i)) & 0xFFFFFFFF for i in range(4)]
        return np.array([start[0], start[1], *words], np.uint32)

    def rows(self, ops: list[Operation]) -> NDArray:
        """The rows of several operations, uint32[n, 6]."""
        return np.stack([self.row(op) for op in ops])

    def positions(self) -> dict[Operation, int]:
        """How far each operation has come."""
        return {op: self._moved.get(op, 0) for op in self._starts}

    def rewind(self, ops: Iterable[Operation], positions: Mapping[Operation, int]) -> None:
        """Puts operations where they were when `positions` were asked for."""
        self._moved.update({op: positions.get(op, 0) for op in map(self._counted, ops)})

    def advance(self, op: Operation, steps: int) -> None:
        """Moves the counter of `op` on by `steps` draws."""
        dict.update(*self.advanced([(op, steps)]))

    def advanced(self, moves: Iterable[tuple[Operation, int]]) -> tuple[dict[Operation, int], dict[Operation, int]]:
        """Where counters stand, and what is to be put there to move operations on by numbers of draws."""
        new: dict[Operation, int] = {}
        for op, steps in moves:
            op = self._counted(op)
            new[op] = new.get(op, self._moved.get(op, 0)) + int(steps)
        return self._moved, new

    def _counted(self, op: Operation) -> Operation:
        """The operation that has the counter of `op`."""
        return op
