"""The contents of staging areas."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.ops.queues.resource import SharedResource, invalid

_BYTES_OF_A_STRING = 24


def _bytes_of(values: Any) -> int:
    return sum(_bytes(v) for v in values if v is not None)


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return sum(_BYTES_OF_A_STRING + len(s) for s in value.reshape(-1).tolist())
    return value.nbytes


class StagingBuffer(SharedResource):
    """Tuples of values in the order in which they came; 0 stands for no limit of number or bytes."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__()
        self.capacity, self.memory_limit = capacity, memory_limit
        self.bytes = 0
        self.tuples: Any = deque()

    def _wait_for_room(self, values: tuple, is_counted: bool = True) -> None:
        """Waits until `values` can be put in, and counts their bytes."""
        size = _bytes_of(values)
        if 0 < self.memory_limit < size:
            raise errors.ResourceExhaustedError(
                None, None, f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a "
                f"memory limit of '{self.memory_limit}'."
            )  # fmt: skip

        def has_room() -> bool:
            fits = not self.memory_limit or self.bytes + size <= self.memory_limit
            return fits and not (is_counted and 0 < self.capacity <= len(self.tuples))

        self.wait(has_room, "Put")
        self.bytes += size

    def put(self, values: tuple) -> None:
        """Adds a tuple; waits while there is no room."""
        with self.lock:
            self._wait_for_room(values)
            self.tuples.append(values)
            self.changed.notify_all()

    def get(self) -> tuple:
        """Takes the oldest tuple; waits for one."""
        with self.lock:
            self.wait(lambda: self.tuples, "Get")
            values = self.tuples.popleft()
            self.bytes -= _bytes_of(values)
            self.changed.notify_all()
            return values

    def peek(self, index: int) -> tuple:
        """The tuple at a place, which stays; waits until there is one."""
        with self.lock:
            self.wait(lambda: 0 <= index < len(self.tuples), "Peek")
            return self.tuples[index]

    def clear(self) -> None:
        with self.lock:
            self.tuples.clear()
            self.bytes = 0
            self.changed.notify_all()


class StagingMap(StagingBuffer):
    """Tuples by key, which may come and go component by component; `ordered` gives the lowest key first."""

    def __init__(self, capacity: int, memory_limit: int, width: int, ordered: bool) -> None:
        super().__init__(capacity, memory_limit)
        self.width, self.ordered = width, ordered
        self.tuples = {}
        self.incomplete: dict[int, list] = {}

    def put_components(self, key: int, indices: list[int], values: tuple) -> None:
        """Adds components of the tuple of a key; waits while there is no room.

        Raises:
          errors.InvalidArgumentError: an index is out of range, or the component is there.
        """
        _check_rising(indices)
        with self.lock:
            is_complete = len(indices) == self.width
            self._wait_for_room(values, is_counted=is_complete)
            present = [None] * self.width if is_complete else self.incomplete.setdefault(key, [None] * self.width)
            for index, value in zip(indices, values):
                self._check_index(key, index)
                if present[index] is not None:
                    raise invalid(f"The tensor for index '{index}' for key '{key}' was already initialized '{self.width}'.")
                present[index] = value
            if all(v is not None for v in present):
                self.incomplete.pop(key, None)
                self.tuples.setdefault(key, present)
            self.changed.notify_all()

    def _check_index(self, key: int, index: int) -> None:
        if not 0 <= index < self.width:
            raise invalid(f"Index '{index}' for key '{key}' was out of bounds '{self.width}'.")

    def peek_components(self, key: int, indices: list[int]) -> tuple:
        """Components of the tuple of a key, which stays; waits until it is complete."""
        _check_rising(indices)
        with self.lock:
            self.wait(lambda: key in self.tuples, "Peek")
            return self._components(key, indices)

    def pop_components(self, key: int, indices: list[int]) -> tuple:
        """Takes components of the tuple of a key; waits until it is complete."""
        _check_rising(indices)
        with self.lock:
            self.wait(lambda: key in self.tuples, "Get")
            return self._taken(key, indices)

    def pop_any(self, indices: list[int]) -> tuple[int, tuple]:
        """Takes components of a complete tuple; its key and they. Waits for one."""
        _check_rising(indices)
        with self.lock:
            self.wait(lambda: self.tuples, "Get")
            key = min(self.tuples) if self.ordered else next(iter(self.tuples))
            return key, self._taken(key, indices)

    def _components(self, key: int, indices: list[int]) -> tuple:
        for index in indices:
            self._check_index(key, index)
            if self.tuples[key][index] is None:
                raise invalid(f"Tensor at index '{index}' for key '{key}' has already been removed.")
        return tuple(self.tuples[key][index] for index in indices)

    def _taken(self, key: int, indices: list[int]) -> tuple:
        found = self._components(key, indices)
        for index in indices:
            self.tuples[key][index] = None
        if all(v is None for v in self.tuples[key]):
            del self.tuples[key]
        self.bytes -= _bytes_of(found)
        self.changed.notify_all()
        return found

    def clear(self) -> None:
        self.incomplete.clear()
        super().clear()


def _check_rising(indices: list[int]) -> None:
    if not indices:
        raise invalid("Indices are empty")
    if any(a >= b for a, b in zip(indices, indices[1:])):
        raise invalid("Indices are not strictly ordered")
