"""Which features matter: to an ensemble by their gains, to an example by how each split changes its prediction."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.ops.trees.ensemble import message


def sums_by_column(names: Iterable[str], values: Iterable[float]) -> collections.OrderedDict:
    """Values of features summed by the name of their column, the largest absolute sums first."""
    sums: dict[str, float] = {}
    for name, value in zip(names, values):
        sums[name] = sums.get(name, 0) + value
    return collections.OrderedDict(sorted(sums.items(), key=lambda pair: abs(pair[1]), reverse=True))


def _gains(tree: Any, num_features: int) -> np.ndarray:
    found = np.zeros(num_features)
    for node in tree.nodes:
        kind = node.WhichOneof("node")
        if kind == "bucketized_split":
            found[node.bucketized_split.feature_id] += node.metadata.gain
        elif kind != "leaf":
            raise ValueError(f"Unexpected split type {kind}")
    return found


def feature_importances(serialized: bytes, num_features: int, normalize: bool) -> np.ndarray:
    """The gains of the splits by each feature.

    Args:
      serialized: a TreeEnsemble.
      num_features: how many features there are.
      normalize: whether they are to add up to 1.

    Raises:
      AssertionError: gains that are to be normalized are negative or all zero.
    """
    ensemble = message("TreeEnsemble").FromString(serialized)
    gains = np.array([_gains(tree, num_features) for tree in ensemble.trees])
    found = np.sum(gains * np.array(ensemble.tree_weights).reshape(-1, 1), axis=0)
    if normalize:
        if not np.all(found >= 0):
            raise AssertionError("feature_importances must be non-negative.")
        if not np.sum(found) > 0:
            raise AssertionError("Trees are all empty or contain only a root node.")
        found = found / np.sum(found)
    return found


def _sigmoid(logits: object) -> np.ndarray:
    return 1 / (1 + np.exp(-np.array(logits)))


def explanation(serialized: bytes, names: list[str], is_classification: bool) -> tuple[float, collections.OrderedDict]:
    """What the prediction of an example is made of.

    Args:
      serialized: its DebugOutput.
      names: the column of each feature.
      is_classification: whether probabilities are explained, not logits.

    Returns:
      The prediction without any feature, and how those of each column change it.
    """
    output = message("DebugOutput").FromString(serialized)
    activation: Callable = _sigmoid if is_classification else np.array
    predictions = activation(list(output.logits_path))
    changes = np.bincount(
        np.array(output.feature_ids, np.int64), weights=predictions[1:] - predictions[:-1], minlength=len(names)
    )
    return predictions[0], sums_by_column(names, changes)
