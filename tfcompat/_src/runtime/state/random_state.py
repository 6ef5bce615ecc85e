"""The random state of a Session: a Philox 4x32-10 key and counter for each random operation (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", 2011).

As in TensorFlow 1.15 the graph and op seeds determine the key and counter, and each execution advances the counter by the draws it reserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.random.philox import seed_to_key_counter


class RandomState:
    """Keys and counters by operation. Each new Session starts from the seeds."""

    def __init__(self) -> None:
        self._starts: dict[Operation, NDArray] = {}
        self._moved: dict[Operation, int] = {}

    def await_turn(self, ops: list[Operation]) -> None:
        """Waits until the operations may draw; called before the lock of the variables is taken. Here, without parallel calls, it does not wait."""

    def row(self, op: Operation) -> NDArray:
        """Returns uint32[6] for the next execution of `op`: the key (2), then the counter (4), least significant word first."""
        op = self._counted(op)
        # Both seeds 0 mean a seed from the system's entropy, which the session keeps from its first use on.
        start = self._starts.get(op)
        if start is None:
            key, counter = seed_to_key_counter(op.attrs["seed"], op.attrs["seed2"])
            start = self._starts[op] = np.concatenate([key, counter]).astype(np.uint32)
        moved = self._moved.get(op, 0)
        if not moved:
            return start
        # The counter is a 128-bit integer in four words; it wraps around.
        total = sum(int(w) << (32 * i) for i, w in enumerate(start[2:])) + moved
        words = [(total >> (32 * i)) & 0xFFFFFFFF for i in range(4)]
        return np.array([start[0], start[1], *words], np.uint32)

    def rows(self, ops: list[Operation]) -> NDArray:
        """Returns the rows of several operations, uint32[n, 6]."""
        return np.stack([self.row(op) for op in ops])

    def positions(self) -> dict[Operation, int]:
        """Returns the number of draws of each operation so far."""
        return {op: self._moved.get(op, 0) for op in self._starts}

    def rewind(self, ops: Iterable[Operation], positions: Mapping[Operation, int]) -> None:
        """Resets operations to `positions`, a result of `positions()`."""
        self._moved.update({op: positions.get(op, 0) for op in map(self._counted, ops)})

    def advance(self, op: Operation, steps: int) -> None:
        """Advances the counter of `op` by `steps` draws."""
        dict.update(*self.advanced([(op, steps)]))

    def advanced(self, moves: Iterable[tuple[Operation, int]]) -> tuple[dict[Operation, int], dict[Operation, int]]:
        """Returns the dict of counters and the items to put into it to advance operations; the caller stores them in one call into C."""
        new: dict[Operation, int] = {}
        for op, steps in moves:
            op = self._counted(op)
            new[op] = new.get(op, self._moved.get(op, 0)) + int(steps)
        return self._moved, new

    def _counted(self, op: Operation) -> Operation:
        """Returns the operation whose counter `op` uses; subclasses share counters between operations."""
        return op
