"""The random operations of a Session: one Philox counter each, advanced as it runs."""

from __future__ import annotations

import numpy as np

from tfcompat._src.framework.operation import Operation
from tfcompat._src.ops.random.philox import seed_to_key_counter


class RandomState:
    """Keys and counters by operation; a new Session starts again."""

    def __init__(self) -> None:
        self._starts: dict[Operation, np.ndarray] = {}
        self._moved: dict[Operation, int] = {}

    def wait_for(self, ops: list[Operation]) -> None:
        """Returns when operations may draw, which is at once here. A thread asks before it takes the lock of the variables."""

    def row(self, op: Operation) -> np.ndarray:
        """uint32[6] for the next execution of `op`: the key (2), then the counter (4), least significant word first."""
        start = self._starts.get(op)
        if start is None:
            key, counter = seed_to_key_counter(op._attrs["seed"], op._attrs["seed2"])
            start = self._starts[op] = np.concatenate([key, counter]).astype(np.uint32)
            self._moved[op] = 0
        moved = self._moved[op]
        if not moved:
            return start
        total = sum(int(w) << (32 * i) for i, w in enumerate(start[2:])) + moved
        words = [(total >> (32 * i)) & 0xFFFFFFFF for i in range(4)]
        return np.array([start[0], start[1], *words], np.uint32)

    def rows(self, ops: list[Operation]) -> np.ndarray:
        """The rows of several operations, uint32[n, 6]."""
        return np.stack([self.row(op) for op in ops])

    def positions(self) -> dict[Operation, int]:
        """How far each operation has come."""
        return dict(self._moved)

    def advance(self, op: Operation, steps: int) -> None:
        """Moves the counter of `op` on by `steps` draws."""
        self._moved[op] = self._moved.get(op, 0) + int(steps)
