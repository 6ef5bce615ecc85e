"""The statistics of all leaves of a tree, and the growth of the tree by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.contrib.tensor_forest.examples import Examples, Targets, invalid
from tfcompat._src.contrib.tensor_forest.statistics import ClassStatistics, LeafStatistics, VarianceStatistics
from tfcompat._src.contrib.tensor_forest.tree import Tree
from tfcompat._src.proto import pool

STATS = pool.module("tensorflow/contrib/tensor_forest/proto/fertile_stats.proto")
_BUCKETS = (3, 7, 17, 37, 79, 167, 337, 709, 1493, 3209, 6427, 12983, 26267, 53201, 107897, 218971)


def hashed_order(numbers: Iterable[int]) -> list[int]:
    """Different numbers in the order in which a hash set that they were put into one after the other gives them.

    The set is that of the GNU C++ library, where a number is its own hash: a new number stands before all others of its bucket,
    or, where the bucket is empty, before all others; when the set grows its members are put in anew in the order they have.
    The order counts where nodes split in one step: it says which numbers their children get.
    """
    sizes = iter(_BUCKETS)
    size, order = 0, []
    for number in dict.fromkeys(numbers):
        if len(order) + 1 >= size:
            size = next(sizes)
            order, old = [], order
            for each in old:
                _insert(order, each, size)
        _insert(order, number, size)
    return order


def _insert(order: list[int], number: int, size: int) -> None:
    bucket = number % size
    order.insert(next((place for place, each in enumerate(order) if each % size == bucket), 0), number)


class FertileStatistics:
    """The statistics of the leaves of a tree, by number.

    Args:
      params: a TensorForestParams.
      serialized: a FertileStats; without leaves, those of a tree that is a leaf.
    """

    def __init__(self, params: Any, serialized: bytes) -> None:
        self._params = params
        self._leaves: dict[int, LeafStatistics] = {}
        try:
            stats = STATS.FertileStats.FromString(serialized)
        except DecodeError as error:
            raise invalid("Unable to parse stats config.") from error
        for slot in stats.node_to_slot:
            self._allocate(slot.node_id, slot.depth).read(slot)
        if not self._leaves:
            self._allocate(0, 0)

    def _allocate(self, node: int, depth: int) -> LeafStatistics:
        kind = VarianceStatistics if self._params.is_regression else ClassStatistics
        self._leaves[node] = kind(self._params, depth)
        return self._leaves[node]

    def _leaf(self, node: int) -> LeafStatistics:
        if node not in self._leaves:
            raise invalid(f"Node {node} has no statistics: it is not a leaf.")
        return self._leaves[node]

    def serialize(self) -> bytes:
        """The statistics as a FertileStats; only which leaves there are, and their depths, without `checkpoint_stats`."""
        stats = STATS.FertileStats()
        for node, leaf in self._leaves.items():
            slot = stats.node_to_slot.add(node_id=node, depth=leaf.depth)
            if self._params.checkpoint_stats:
                leaf.write(slot)
        return stats.SerializeToString(deterministic=True)

    def process(
        self, examples: Examples, targets: Targets, leaves: np.ndarray, below: Callable[[int], int]
    ) -> list[int]:
        """Adds examples to the statistics of their leaves; gives the leaves that are finished."""
        if targets.count < examples.count or leaves.size < examples.count:
            raise invalid(
                f"There are {examples.count} examples, but {targets.count} labels and {leaves.size} leaf_ids."
            )
        numbers = leaves.reshape(-1)[: examples.count].tolist()
        if self._params.collate_examples:
            return self._process_by_leaf(examples, targets, numbers, below)
        waiting: dict[int, list[int]] = {}
        finished: dict[int, int] = {}
        for row, node in enumerate(numbers):
            leaf = self._leaf(node)
            if leaf.is_initialized:
                waiting.setdefault(node, []).append(row)
                continue
            leaf.add_candidate(examples, targets, row, below)
            if leaf.is_finished():
                finished.setdefault(node, row)
        for node, rows in waiting.items():
            position = self._leaves[node].add(examples, targets, np.array(rows))
            if position is not None:
                finished.setdefault(node, rows[position])
        return hashed_order(sorted(finished, key=finished.__getitem__))

    def _process_by_leaf(
        self, examples: Examples, targets: Targets, numbers: list[int], below: Callable[[int], int]
    ) -> list[int]:
        """The same leaf by leaf: a leaf without all its candidates takes these from its examples, and counts none."""
        rows_of: dict[int, list[int]] = {}
        for row, node in enumerate(numbers):
            rows_of.setdefault(node, []).append(row)
        finished = []
        for node in hashed_order(rows_of):
            leaf = self._leaf(node)
            if leaf.is_initialized:
                leaf.add(examples, targets, np.array(rows_of[node]))
            else:
                for row in rows_of[node]:
                    leaf.add_candidate(examples, targets, row, below)
                    if leaf.is_initialized:
                        break
            if leaf.is_finished():
                finished.append(node)
        return hashed_order(finished)

    def grow(self, tree: Tree, finished: Iterable[int]) -> None:
        """Splits finished leaves by their best candidates while the tree has fewer than `max_nodes` nodes.

        A leaf none of whose candidates divides its examples starts anew.
        """
        for node in finished:
            if tree.size >= self._params.max_nodes:
                return
            leaf = self._leaf(node)
            found = leaf.best()
            if found is None:
                self._allocate(node, leaf.depth)
                continue
            for child in tree.split(node, *found):
                self._allocate(child, leaf.depth + 1)
            del self._leaves[node]
