"""Tests that send an example to the left or the right child of a node, as arrays and as protos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfcompat._src.contrib.tensor_forest.examples import Examples, invalid
from tfcompat._src.proto import pool

_COMPARISONS = (np.less_equal, np.less, np.greater_equal, np.greater)
"""By InequalityTest.Type."""


def tree_message(name: str) -> Any:
    """The class of a message of decision trees."""
    return pool.message(f"tensorflow.decision_trees.{name}")


@dataclass(frozen=True)
class Inequality:
    """A feature, or a weighted sum of features, compared with a threshold."""

    features: tuple[int, ...]
    threshold: np.float32
    kind: int = 0
    weights: tuple[float, ...] | None = None

    def goes_left(self, examples: Examples, rows: np.ndarray) -> np.ndarray:
        """Whether each of the examples `rows` goes left."""
        if self.weights is None:
            return _COMPARISONS[self.kind](examples.values(rows, np.full(rows.shape, self.features[0])), self.threshold)
        total = np.zeros(rows.shape, np.float32)
        for weight, feature in zip(self.weights, self.features, strict=True):
            total += np.float32(weight) * examples.values(rows, np.full(rows.shape, feature))
        return total <= self.threshold

    def with_average(self, value: np.float32) -> Inequality:
        """The same test with the threshold half way to a value."""
        return replace(self, threshold=(self.threshold + value) / np.float32(2))

    def write(self, node: Any) -> None:
        """Fills in a BinaryNode."""
        test = node.inequality_left_child_test
        if self.weights is None:
            test.feature_id.id.value = str(self.features[0])
        else:
            for feature in self.features:
                test.oblique.features.add().id.value = str(feature)
            test.oblique.weights.extend(self.weights)
        test.type = self.kind
        test.threshold.float_value = self.threshold


@dataclass(frozen=True)
class Matching:
    """A feature that is one of some values, or none of them."""

    features: tuple[int, ...]
    values: tuple[np.float32, ...]
    inverse: bool = False

    def goes_left(self, examples: Examples, rows: np.ndarray) -> np.ndarray:
        """Whether each of the examples `rows` goes left."""
        found = examples.values(rows, np.full(rows.shape, self.features[0]))
        return np.isin(found, np.array(self.values, np.float32)) != self.inverse

    def write(self, node: Any) -> None:
        """Fills in a BinaryNode."""
        test = tree_message("MatchingValuesTest")()
        test.feature_id.id.value = str(self.features[0])
        for value in self.values:
            test.value.add().float_value = value
        test.inverse = self.inverse
        node.custom_left_child_test.Pack(test)


Split = Inequality | Matching


def _feature(feature_id: Any) -> int:
    if not feature_id.id.value.isdigit():
        raise invalid(f"Invalid feature ID: [{feature_id.id.value}]")
    return int(feature_id.id.value)


def read_split(node: Any) -> Split:
    """The test of a BinaryNode.

    Raises:
      errors.InvalidArgumentError: a test of another kind.
    """
    if node.HasField("inequality_left_child_test"):
        test = node.inequality_left_child_test
        threshold = np.float32(test.threshold.float_value)
        if test.HasField("oblique"):
            return Inequality(
                tuple(map(_feature, test.oblique.features)), threshold, test.type, tuple(test.oblique.weights)
            )
        return Inequality((_feature(test.feature_id),), threshold, test.type)
    test = tree_message("MatchingValuesTest")()
    if not node.custom_left_child_test.Unpack(test):
        raise invalid(f"Unknown split test: {node}")
    return Matching((_feature(test.feature_id),), tuple(np.float32(v.float_value) for v in test.value), test.inverse)


class SplitTable:
    """Many splits (None where there is none), which are asked together."""

    def __init__(self, splits: Sequence[Split | None]) -> None:
        self._splits = splits
        self._features = np.zeros(len(splits), np.int64)
        self._thresholds = np.zeros(len(splits), np.float32)
        self._kinds = np.full(len(splits), len(_COMPARISONS))
        for i, split in enumerate(splits):
            if isinstance(split, Inequality) and split.weights is None:
                self._features[i], self._thresholds[i], self._kinds[i] = split.features[0], split.threshold, split.kind
        found = set(self._kinds.tolist())
        self._only = found.pop() if len(found) == 1 else None

    def goes_left(self, examples: Examples, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Whether the examples `rows` go left at the splits `which` (arrays that broadcast)."""
        if self._only is not None and self._only < len(_COMPARISONS):
            return _COMPARISONS[self._only](examples.values(rows, self._features[which]), self._thresholds[which])
        rows, which = np.broadcast_arrays(rows, which)
        left = np.zeros(rows.shape, bool)
        kinds = self._kinds[which]
        for kind in np.unique(kinds):
            here = kinds == kind
            if kind < len(_COMPARISONS):
                values = examples.values(rows[here], self._features[which[here]])
                left[here] = _COMPARISONS[kind](values, self._thresholds[which[here]])
            else:
                for each in np.unique(which[here]):
                    there = which == each
                    left[there] = self._splits[each].goes_left(examples, rows[there])
        return left
