"""The n best entries that were pushed, with the order among equals that the C++ library's heaps give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Best:
    """Keeps the `limit` entries of largest `total`; the entries may change their totals before the next push.

    Up to `limit` entries stand as they were pushed. One more makes a binary heap of them with the worst on top
    (std::make_heap, std::pop_heap), which later entries replace.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._clear()

    def _clear(self) -> None:
        self._entries: list[Any] = []
        self._knows_worst = self._is_heap = False

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    @property
    def is_full(self) -> bool:
        return len(self._entries) == self._limit

    def push(self, entry: Any) -> None:
        """Adds an entry; where there are too many then, the worst one leaves."""
        entries = self._entries
        if self._is_heap:
            if entry.total > entries[0].total:
                _sift(entries, 0, len(entries), entry)
            return
        entries.append(entry)
        if self._knows_worst and not entry.total > entries[0].total:
            entries[0], entries[-1] = entries[-1], entries[0]
        if len(entries) > self._limit:
            for start in range((len(entries) - 2) // 2, -1, -1):
                _sift(entries, start, len(entries), entries[start])
            last = entries.pop()
            _sift(entries, 0, len(entries), last)
            self._is_heap = True

    def worst(self) -> Any:
        """The entry of least total, the first of several."""
        entries = self._entries
        if not self._is_heap and not self._knows_worst:
            place = min(range(len(entries)), key=lambda i: entries[i].total)
            entries[0], entries[place] = entries[place], entries[0]
            self._knows_worst = True
        return entries[0]

    def extract(self) -> list[Any]:
        """All entries in falling order; none are left."""
        entries, is_heap = self._entries, self._is_heap
        self._clear()
        if not is_heap:
            _sort(entries)
            return entries
        for end in range(len(entries) - 1, 0, -1):
            last, entries[end] = entries[end], entries[0]
            _sift(entries, 0, end, last)
        return entries


def _sift(entries: list[Any], hole: int, size: int, entry: Any) -> None:
    """Fills the hole: the smaller children move up to a leaf, then `entry` rises from there."""
    top = hole
    while (child := 2 * hole + 2) < size:
        if entries[child].total > entries[child - 1].total:
            child -= 1
        entries[hole], hole = entries[child], child
    if child == size:
        entries[hole], hole = entries[child - 1], child - 1
    while hole > top and entries[parent := (hole - 1) // 2].total > entry.total:
        entries[hole], hole = entries[parent], parent
    entries[hole] = entry


_SHORT = 16


def _sort(entries: list[Any]) -> None:
    """Sorts in falling order, with equal totals in the order that std::sort gives them."""
    pending = [(0, len(entries))]
    while pending:
        first, last = pending.pop()
        while last - first > _SHORT:
            cut = _partition(entries, first, last)
            pending.append((cut, last))
            last = cut
    entries.sort(key=lambda entry: -entry.total)


def _partition(entries: list[Any], first: int, last: int) -> int:
    """Brings entries better than the median of three to the front; the place where the others begin."""
    candidates = (first + 1, first + (last - first) // 2, last - 1)
    a, b, c = (entries[i].total for i in candidates)
    if a > b:
        chosen = 1 if b > c else 2 if a > c else 0
    else:
        chosen = 0 if a > c else 2 if b > c else 1
    place = candidates[chosen]
    entries[first], entries[place] = entries[place], entries[first]
    pivot, low, high = entries[first].total, first + 1, last
    while True:
        while entries[low].total > pivot:
            low += 1
        high -= 1
        while pivot > entries[high].total:
            high -= 1
        if low >= high:
            return low
        entries[low], entries[high] = entries[high], entries[low]
        low += 1
