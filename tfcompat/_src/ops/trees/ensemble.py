"""An ensemble of boosted trees: the message that is its state, and the trees as arrays that many examples walk at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.proto import pool

NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)

_SPLITS = ("bucketized_split", "categorical_split")
_LAYER_WEIGHT = 1.0
_LEAST_CHANGE_OF_BIAS = 0.01


def message(name: str) -> Any:
    """The class of a message of boosted trees."""
    return pool.message(f"tensorflow.boosted_trees.{name}")


@dataclass
class Split:
    """What becomes of a leaf: examples with at most `threshold` (`is_equality`: just it) in a feature go left."""

    feature: int
    gain: float
    threshold: int
    left: np.float32
    right: np.float32
    dimension: int = 0
    is_equality: bool = False
    default_right: bool = False


def _split_of(node: Any) -> Any:
    """The message of a node's split, or None for a leaf."""
    kind = node.WhichOneof("node")
    return getattr(node, kind) if kind in _SPLITS else None


def _leaf_values(leaf: Any, logits_dimension: int) -> list[float]:
    values = list(leaf.vector.value) if leaf.HasField("vector") else [leaf.scalar]
    if len(values) != logits_dimension:
        raise errors.InternalError(
            None, None, f"Expected node_logits.size() == logits_dimension, got {len(values)} vs {logits_dimension}"
        )
    return values


class Walk:
    """A tree as arrays by node: which feature is compared with what, the children, and the logits.

    Args:
      tree: the message.
      logits_dimension: how many logits a leaf has.
    """

    def __init__(self, tree: Any, logits_dimension: int) -> None:
        splits = [_split_of(node) for node in tree.nodes]
        count = len(splits)
        self.is_leaf = np.array([split is None for split in splits], bool)
        self.feature = np.array([0 if s is None else s.feature_id for s in splits], np.int64)
        self.is_equality = np.array([node.WhichOneof("node") == "categorical_split" for node in tree.nodes], bool)
        limits = [0 if s is None else s.value if e else s.threshold for s, e in zip(splits, self.is_equality)]
        self.limit = np.array(limits, np.int64)
        self.left = np.array([0 if s is None else s.left_id for s in splits], np.int64)
        self.right = np.array([0 if s is None else s.right_id for s in splits], np.int64)
        for children in (self.left, self.right):
            if not np.all(self.is_leaf | ((children > np.arange(count)) & (children < count))):
                raise invalid("A node of the tree ensemble has a child that is not a later node of its tree.")
        self.logits = np.zeros((count, logits_dimension), np.float32)
        self.has_logits = np.zeros(count, bool)
        for at, node in enumerate(tree.nodes):
            leaf = node.leaf if splits[at] is None else node.metadata.original_leaf
            if splits[at] is None or node.metadata.HasField("original_leaf"):
                self.logits[at], self.has_logits[at] = _leaf_values(leaf, logits_dimension), True

    def step(self, nodes: np.ndarray, features: np.ndarray, examples: np.ndarray) -> np.ndarray:
        """The children that `examples` (columns of `features`) at `nodes`, none of them a leaf, go to."""
        wanted = self.feature[nodes]
        if wanted.size and not 0 <= wanted.min() <= wanted.max() < len(features):
            raise invalid(f"A tree splits by a feature that is not among the {len(features)} that are given.")
        values, limits = features[wanted, examples], self.limit[nodes]
        goes_left = np.where(self.is_equality[nodes], values == limits, values <= limits)
        return np.where(goes_left, self.left[nodes], self.right[nodes])

    def leaves(self, nodes: np.ndarray, features: np.ndarray, examples: np.ndarray) -> np.ndarray:
        """The leaves that `examples` come to from `nodes`."""
        nodes = nodes.copy()
        on_way = np.flatnonzero(~self.is_leaf[nodes])
        while on_way.size:
            nodes[on_way] = self.step(nodes[on_way], features, examples[on_way])
            on_way = on_way[~self.is_leaf[nodes[on_way]]]
        return nodes


@dataclass
class Ensemble:
    """The trees with their weights, and how far growing them is.

    `state` is a TreeEnsemble message; `stamp` counts its changes.
    """

    state: Any
    stamp: int
    _walks: dict[tuple[int, int], Walk] = field(default_factory=dict)

    @classmethod
    def parse(cls, serialized: Any, stamp: Any) -> Ensemble:
        """An ensemble from a serialized message.

        Raises:
          errors.InvalidArgumentError: it is none.
        """
        for what, value in (("stamp_token", stamp), ("tree_ensemble_serialized", serialized)):
            if np.ndim(value):
                raise invalid(f"{what} must be a scalar, got a tensor of shape {list(np.shape(value))}")
        state = message("TreeEnsemble")()
        try:
            state.ParseFromString(np.asarray(serialized, object).item())
        except DecodeError as error:
            raise invalid("Unable to parse tree ensemble proto.") from error
        if len(state.trees) != len(state.tree_weights) or not all(tree.nodes for tree in state.trees):
            raise invalid("A tree ensemble needs as many weights as trees, and trees need nodes.")
        return cls(state, int(stamp))

    def serialize(self) -> bytes:
        return self.state.SerializeToString()

    @property
    def last(self) -> int:
        """The index of the last tree, -1 where there is none."""
        return len(self.state.trees) - 1

    def metadata(self, tree: int) -> Any:
        """How far a tree is; ensembles that only predict may lack that."""
        if len(self.state.tree_metadata) <= tree:
            raise invalid(f"The tree ensemble has no metadata of tree {tree}, which growing it needs.")
        return self.state.tree_metadata[tree]

    def is_finalized(self, tree: int) -> bool:
        return self.metadata(tree).is_finalized

    def weight(self, tree: int) -> np.float32:
        return np.float32(self.state.tree_weights[tree])

    def walk(self, tree: int, logits_dimension: int) -> Walk:
        """A tree as arrays."""
        key = (tree, logits_dimension)
        if key not in self._walks:
            self._walks[key] = Walk(self.state.trees[tree], logits_dimension)
        return self._walks[key]

    def after_pruning(self, tree: int, nodes: np.ndarray, logits_dimension: int) -> tuple[np.ndarray, np.ndarray]:
        """Where nodes of a tree are after it was pruned, and how that changes logits; -1 stays.

        Returns:
          Node ids [n], and float32 [n, logits_dimension].
        """
        pruned = self.metadata(tree).post_pruned_nodes_meta if self.is_finalized(tree) else ()
        count = len(pruned) or len(self.state.trees[tree].nodes)
        if nodes.max(initial=-1) >= count:
            raise invalid(f"cached_node_ids has a node that is not among the {count} of tree {tree}")
        if not pruned:
            return nodes, np.zeros((len(nodes), logits_dimension), np.float32)
        new = np.array([*(each.new_node_id for each in pruned), -1], np.int64)
        change = np.array([*(each.logit_change for each in pruned), [0.0] * logits_dimension], np.float32)
        return new[nodes], change[nodes]

    def states(self) -> tuple:
        """Stamp, number of trees, of finished trees and of tried layers, and the range of the last layer's nodes."""
        count, growing = len(self.state.trees), self.state.growing_metadata
        finished = count if not count or self.is_finalized(count - 1) else count - 1
        nodes = np.array([growing.last_layer_node_start, max(1, growing.last_layer_node_end)], np.int32)
        tried = np.int32(growing.num_layers_attempted)
        return np.int64(self.stamp), np.int32(count), np.int32(finished), tried, nodes

    # ---- growing ----

    def _add_tree(self, logits: float) -> None:
        self.state.trees.add().nodes.add().leaf.scalar = logits
        self.state.tree_weights.append(_LAYER_WEIGHT)
        self.state.tree_metadata.add()

    def _changed(self, tree: int) -> None:
        for key in [key for key in self._walks if key[0] == tree]:
            del self._walks[key]

    def _count_try(self) -> None:
        growing, count = self.state.growing_metadata, len(self.state.trees)
        growing.num_layers_attempted += 1
        starts_tree = count and (count == 1 or self.is_finalized(count - 2)) and len(self.state.trees[-1].nodes) == 1
        if not count or starts_tree:
            growing.num_trees_attempted += 1

    def grow(self, splits: dict[int, Split], max_depth: int, pruning: int) -> bool:
        """Splits leaves of the last tree.

        Args:
          splits: by node.
          max_depth: how many layers finish a tree; another begins then.
          pruning: NO_PRUNING, PRE_PRUNING (no split that loses) or POST_PRUNING (cut back what loses in a finished tree).

        Returns:
          Whether there was a split to consider.
        """
        self.stamp += 1
        last_nodes = self.state.trees[-1].nodes if self.state.trees else [None]
        for node in splits:
            if not 0 <= node < len(last_nodes) or (last_nodes[node] is not None and _split_of(last_nodes[node]) is not None):
                raise invalid(f"Node {node}, which is to be split, is no leaf of the last tree.")
        self._count_try()
        if not self.state.trees:
            self._add_tree(0.0)
        if not splits:
            return False
        current = self.last
        tree, metadata = self.state.trees[current], self.metadata(current)
        start = len(tree.nodes)
        for node, split in sorted(splits.items()):
            if pruning != PRE_PRUNING or not split.gain < 0:
                _add_split(tree, node, split)
        end = len(tree.nodes)
        if end == start:
            return True
        self._changed(current)
        metadata.num_layers_grown += 1
        if metadata.num_layers_grown >= max_depth:
            start, end = 0, 1
            metadata.is_finalized = True
            if pruning == POST_PRUNING:
                _prune(tree, metadata)
            self._add_tree(0.0)
        growing = self.state.growing_metadata
        growing.last_layer_node_start, growing.last_layer_node_end = start, end
        return True

    def center(self, logits: np.float32) -> bool:
        """Adds `logits` to the root of the first tree.

        Returns:
          Whether that has changed it by more than a hundredth.
        """
        self.stamp += 1
        if not self.state.trees:
            self._add_tree(logits)
            return True
        root = self.state.trees[0].nodes[0]
        if root.WhichOneof("node") != "leaf":
            raise errors.InternalError(None, None, "Expected a leaf as root of the first tree while its bias is centered.")
        current = np.float32(root.leaf.scalar)
        with np.errstate(divide="ignore", invalid="ignore"):
            goes_on = np.abs(logits / current) > np.float32(_LEAST_CHANGE_OF_BIAS)
        root.leaf.scalar = current + logits
        self._changed(0)
        return bool(goes_on)


def _add_split(tree: Any, at: int, split: Split) -> None:
    node, left = tree.nodes[at], len(tree.nodes)
    logits = np.float32(node.leaf.scalar)
    if at or logits:
        node.metadata.original_leaf.CopyFrom(node.leaf)
    node.metadata.gain = split.gain
    made = node.categorical_split if split.is_equality else node.bucketized_split
    made.feature_id, made.dimension_id, made.left_id, made.right_id = split.feature, split.dimension, left, left + 1
    if split.is_equality:
        made.value = split.threshold
    else:
        made.threshold, made.default_direction = split.threshold, int(split.default_right)
    for change in (split.left, split.right):
        tree.nodes.add().leaf.scalar = logits + change


def _cut(nodes: Any, at: int, cuts: dict[int, tuple[int, np.float32]]) -> None:
    """Makes splits that lose and have leaves only into leaves, from the bottom up; `cuts` gets parent and change of their leaves."""
    split = _split_of(nodes[at])
    if split is None:
        return
    children = split.left_id, split.right_id
    for child in children:
        _cut(nodes, child, cuts)
    if nodes[at].metadata.gain < 0 and all(_split_of(nodes[child]) is None for child in children):
        nodes[at].leaf.CopyFrom(nodes[at].metadata.original_leaf)
        nodes[at].ClearField("metadata")
        logits = np.float32(nodes[at].leaf.scalar)
        for child in children:
            cuts[child] = at, logits - np.float32(nodes[child].leaf.scalar)


def _prune(tree: Any, metadata: Any) -> None:
    """Cuts back a finished tree, and notes where its nodes went, for logits of examples that are kept."""
    cuts: dict[int, tuple[int, np.float32]] = {}
    _cut(tree.nodes, 0, cuts)
    if not cuts:
        return
    kept = [at for at in range(len(tree.nodes)) if at not in cuts]
    new = {at: place for place, at in enumerate(kept)}
    for at in range(len(tree.nodes)):
        change, end = np.float32(0), at
        while end in cuts:
            end, step = cuts[end]
            change += step
        metadata.post_pruned_nodes_meta.add(new_node_id=new[end], logit_change=[change])
    nodes = []
    for at in kept:
        node = message("Node")()
        node.CopyFrom(tree.nodes[at])
        if (split := _split_of(node)) is not None:
            split.left_id, split.right_id = new[split.left_id], new[split.right_id]
        nodes.append(node)
    del tree.nodes[:]
    tree.nodes.extend(nodes)
