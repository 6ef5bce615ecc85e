"""The ensemble of decision trees of tf.contrib.boosted_trees: the message that is its state, and how examples walk and trees grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.random.words import Words
from tfcompat._src.proto import pool

_SPARSE = {"sparse_float_binary_split_default_left": True, "sparse_float_binary_split_default_right": False}
"""Splits of sparse floats, and whether examples without a value go left."""
_CATEGORICAL = ("categorical_id_binary_split", "categorical_id_set_membership_binary_split")


def tree_message(name: str) -> Any:
    """The class of a message of tree_config.proto."""
    return pool.message(f"tensorflow.boosted_trees.trees.{name}")


def learner_message(name: str) -> Any:
    """The class of a message of learner.proto or split_info.proto."""
    return pool.message(f"tensorflow.boosted_trees.learner.{name}")


LearnerConfig = learner_message("LearnerConfig")


def parsed(message: Any, serialized: object, what: str) -> Any:
    """A message of its serialized form; InvalidArgumentError where it is none."""
    found = message()
    try:
        found.ParseFromString(bytes(np.asarray(serialized, object).item()))
    except DecodeError as error:
        raise invalid(f"Unable to parse {what}.") from error
    return found


def read_config(serialized: bytes) -> Any:
    """The LearnerConfig of an operation; UnimplementedError for what is not done."""
    config = parsed(LearnerConfig, serialized, "learner config")
    if config.weak_learner_type == LearnerConfig.OBLIVIOUS_DECISION_TREE:
        raise errors.UnimplementedError(None, None, "tf.contrib.boosted_trees: OBLIVIOUS_DECISION_TREE is not done")
    if config.each_tree_start.nodes:
        raise errors.UnimplementedError(None, None, "tf.contrib.boosted_trees: each_tree_start is not done")
    return config


def dropped_trees(seed: int, config: Any, kept: set[int], count: int) -> list[int]:
    """The trees that a step of training leaves out, always the same for a seed.

    Args:
      seed: a number.
      config: the LearnerConfig; without dropout nothing is left out.
      kept: trees that are not left out.
      count: how many trees there are.
    """
    if config.learning_rate_tuner.WhichOneof("tuner") != "dropout":
        return []
    dropout = config.learning_rate_tuner.dropout
    skip, drop = dropout.probability_of_skipping_dropout, dropout.dropout_probability
    for what, probability in (("Dropout probability", drop), ("Probability of skipping dropout", skip)):
        if not 0 <= probability <= 1:
            raise invalid(f"{what} must be in [0,1] range")
    if drop == 0 or skip == 1:
        return []
    seed &= 2**64 - 1
    random = Words(np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32), np.zeros(4, np.uint32))
    if skip and random.double() < skip:
        return []
    return [tree for tree in range(count) if tree not in kept and random.double() < drop]


class Sparse(NamedTuple):
    """A sparse feature: places [entries, 2] of (example, dimension), values [entries]."""

    indices: np.ndarray
    values: np.ndarray


class Features:
    """The features of a batch.

    Args:
      dense: float arrays [batch, 1].
      sparse_floats, sparse_ints: (indices, values, shapes), each an array per feature.
    """

    def __init__(self, dense: tuple, sparse_floats: tuple, sparse_ints: tuple) -> None:
        sizes = [len(each) for each in dense] + [int(np.asarray(shape)[0]) for _, _, s in (sparse_floats, sparse_ints) for shape in s]
        if not sizes or len(set(sizes)) > 1:
            raise invalid(f"Features must be of one batch, got sizes {sizes}")
        for values in dense:
            if np.ndim(values) != 2 or np.shape(values)[1] != 1:
                raise invalid(f"Dense float features may not be multivalent: got shape {list(np.shape(values))}")
        self.size = sizes[0]
        self._dense = [np.asarray(values)[:, 0] for values in dense]
        self._floats = [self._checked(i, v, s) for i, v, s in zip(*sparse_floats)]
        self._ints = [self._checked(i, v, s) for i, v, s in zip(*sparse_ints)]
        self._expanded: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    @staticmethod
    def _checked(indices: object, values: object, shape: object) -> Sparse:
        indices, values, shape = np.asarray(indices), np.asarray(values), np.asarray(shape)
        if indices.shape != (len(values), 2) or shape.shape != (2,):
            raise invalid("Sparse features must have indices [entries, 2], as many values, and a shape of two numbers.")
        if np.any(indices < 0) or np.any(indices >= shape):
            raise invalid("Indices of a sparse feature are outside of its shape.")
        return Sparse(indices, values)

    @staticmethod
    def _column(columns: list, number: int) -> Any:
        if not 0 <= number < len(columns):
            raise invalid(f"A tree splits by feature column {number}, of which there are {len(columns)}.")
        return columns[number]

    def _float(self, column: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
        """Values of a sparse float feature by example, and where there are any."""
        key = (column, dimension)
        if key not in self._expanded:
            sparse = self._column(self._floats, column)
            there = sparse.indices[:, 1] == dimension
            values, has = np.zeros(self.size, np.float32), np.zeros(self.size, bool)
            values[sparse.indices[there, 0]], has[sparse.indices[there, 0]] = sparse.values[there], True
            self._expanded[key] = values, has
        return self._expanded[key]

    def goes_left(self, node: Any, examples: np.ndarray) -> np.ndarray:
        """Which of the examples a split sends left."""
        kind = node.WhichOneof("node")
        if kind == "dense_float_binary_split":
            split = node.dense_float_binary_split
            return self._column(self._dense, split.feature_column)[examples] <= np.float32(split.threshold)
        if kind in _SPARSE:
            split = getattr(node, kind).split
            values, has = self._float(split.feature_column, split.dimension_id)
            fits = values[examples] <= np.float32(split.threshold)
            return np.where(has[examples], fits, _SPARSE[kind])
        if kind in _CATEGORICAL:
            split = getattr(node, kind)
            sparse = self._column(self._ints, split.feature_column)
            wanted = [split.feature_id] if kind == _CATEGORICAL[0] else list(split.feature_ids)
            return np.isin(examples, sparse.indices[np.isin(sparse.values, wanted), 0])
        raise errors.UnimplementedError(None, None, f"tf.contrib.boosted_trees: nodes {kind} are not done")

    def leaves(self, tree: Any) -> np.ndarray:
        """The leaf of a tree for each example, int32; 0 for a tree without nodes."""
        found = np.zeros(self.size, np.int32)
        stack = [(0, np.arange(self.size))] if tree.nodes else []
        while stack:
            at, examples = stack.pop()
            node = tree.nodes[at]
            if node.WhichOneof("node") == "leaf":
                found[examples] = at
                continue
            left = self.goes_left(node, examples)
            for child, part in zip(children(node), (examples[left], examples[~left])):
                if not at < child < len(tree.nodes):
                    raise invalid(f"Node {at} of a tree has a child {child} that is not a later node.")
                if part.size:
                    stack.append((child, part))
        return found


def _linked(node: Any) -> Any:
    """The message that holds the children of a split, or None for a leaf."""
    kind = node.WhichOneof("node")
    if kind in ("leaf", None):
        return None
    return getattr(node, kind).split if kind in _SPARSE else getattr(node, kind)


def children(node: object) -> tuple[int, ...]:
    """The children of a node."""
    split = _linked(node)
    return () if split is None else (split.left_id, split.right_id)


def _link(node: object, left: int, right: int) -> None:
    split = _linked(node)
    split.left_id, split.right_id = left, right


class Candidate(NamedTuple):
    """A split that a handler proposes for a node."""

    handler: int
    gain: float
    info: Any

    def beats(self, other: Candidate) -> bool:
        """Equal gains are decided by the type of the split, then by the number of the handler."""
        if self.gain != other.gain:
            return self.gain > other.gain
        mine, others = (_node_case(each.info.split_node) for each in (self, other))
        return mine < others or (mine == others and self.handler > other.handler)


def _node_case(node: Any) -> int:
    return node.DESCRIPTOR.fields_by_name[node.WhichOneof("node")].number


def is_worth(candidate: Candidate, config: Any) -> bool:
    """Whether a candidate splits anything, and does not lose where trees are pruned while they grow."""
    info = candidate.info
    if info.split_node.WhichOneof("node") is None or (config.pruning_mode == config.PRE_PRUNE and candidate.gain < 0):
        return False
    return all(leaf.WhichOneof("leaf") is not None for leaf in (info.left_child, info.right_child))


def _add_leaf(source: Any, leaf: Any) -> None:
    """Adds the weights of `source` to those of a leaf."""
    if leaf.WhichOneof("leaf") is None:
        leaf.CopyFrom(source)
        return
    kind = source.WhichOneof("leaf")
    if kind is None or not getattr(source, kind).value:
        return
    if kind != leaf.WhichOneof("leaf"):
        raise invalid("Leaves with vectors and with sparse vectors cannot be added.")
    if kind == "vector":
        if len(source.vector.value) != len(leaf.vector.value):
            raise invalid("Leaves of different sizes cannot be added.")
        leaf.vector.value[:] = np.float32(leaf.vector.value) + np.float32(source.vector.value)
        return
    sums = dict(zip(leaf.sparse_vector.index, np.float32(leaf.sparse_vector.value)))
    for index, value in zip(source.sparse_vector.index, np.float32(source.sparse_vector.value)):
        sums[index] = sums.get(index, np.float32(0)) + value
    # What came last comes first, as in a hash table of the GNU C++ library.
    leaf.sparse_vector.index[:], leaf.sparse_vector.value[:] = list(sums)[::-1], list(sums.values())[::-1]


@dataclass
class GradientTrees:
    """The trees with their weights, and how far growing them is; `stamp` tells what was computed with them from what is too late."""

    state: Any
    stamp: int

    @classmethod
    def parse(cls, serialized: object, stamp: Any) -> GradientTrees:
        """The trees of a serialized DecisionTreeEnsembleConfig."""
        state = parsed(tree_message("DecisionTreeEnsembleConfig"), serialized, "tree ensemble config")
        if len(state.trees) != len(state.tree_weights) or not all(tree.nodes for tree in state.trees):
            raise invalid("A tree ensemble needs as many weights as trees, and trees need nodes.")
        return cls(state, int(stamp))

    def check(self, stamp: Any) -> None:
        """InvalidArgumentError where a stamp is not that of the trees."""
        if int(stamp) != self.stamp:
            raise invalid(f"The stamp {int(stamp)} is not that of the tree ensemble, which is {self.stamp}.")

    def advance(self, stamp: Any, following: Any) -> None:
        """Changes the stamp."""
        self.check(stamp)
        if int(stamp) == int(following):
            raise invalid(f"The next stamp of the tree ensemble must differ from {int(stamp)}.")
        self.stamp = int(following)

    @property
    def is_finished(self) -> bool:
        """Whether the last tree is, or there is none."""
        return not self.state.trees or self._last_metadata.is_finalized

    @property
    def _last_metadata(self) -> Any:
        if len(self.state.tree_metadata) != len(self.state.trees):
            raise invalid("A tree ensemble that grows needs metadata for each tree.")
        return self.state.tree_metadata[-1]

    def stats(self) -> tuple:
        """Finished trees, layers, trees, layers of the last tree, attempted trees, attempted layers: int64."""
        count, growing = len(self.state.trees), self.state.growing_metadata
        layers = [each.num_layers_grown for each in self.state.tree_metadata]
        numbers = (
            count if self.is_finished else count - 1, sum(layers), count, layers[-1] if layers else 0,
            growing.num_trees_attempted, growing.num_layers_attempted,
        )  # fmt: skip
        return tuple(np.int64(number) for number in numbers)

    def _count_attempt(self) -> None:
        self.state.growing_metadata.num_layers_attempted += 1
        if self.is_finished:
            self.state.growing_metadata.num_trees_attempted += 1

    def _add_tree(self, weight: float) -> Any:
        self.state.tree_weights.append(weight)
        self.state.tree_metadata.add(num_layers_grown=1)
        tree = self.state.trees.add()
        tree.nodes.add().leaf.SetInParent()
        return tree

    def center(self, changes: np.ndarray, epsilon: float) -> bool:
        """Adds `changes` to the only leaf of the only tree; whether they add up to more than `epsilon`."""
        if len(self.state.trees) > 1 or any(len(tree.nodes) != 1 for tree in self.state.trees):
            raise invalid("Unable to center bias on an already grown ensemble")
        if not self.state.trees:
            self._count_attempt()
            self._add_tree(1.0).nodes[0].leaf.vector.value.extend([0.0] * len(changes))
        values = self.state.trees[0].nodes[0].leaf.vector.value
        if len(values) != len(changes):
            raise invalid(f"The bias has {len(values)} logits, and there are {len(changes)} updates.")
        values[:] = np.float32(values) + changes
        goes_on = float(np.sum(np.abs(changes), dtype=np.float32)) > epsilon
        if not goes_on:
            self._last_metadata.is_finalized = True
        return goes_on

    def _share_weight(self, dropped: list[int]) -> None:
        """Gives the last tree a part of the weight of the trees that it was grown without."""
        weights, count = self.state.tree_weights, len(dropped)
        if not dropped:
            return
        weights[-1] = float(np.float32(sum(weights[tree] for tree in dropped))) / (count + 1)
        for tree in dropped:
            weights[tree] = float(np.float32(weights[tree]) * np.float32(count) / np.float32(count + 1))
        for tree in (*dropped, len(weights) - 1):
            self.state.tree_metadata[tree].num_tree_weight_updates += 1

    def grow(
        self, best: dict[int, Candidate], config: Any, learning_rate: float, max_depth: int, seed: int, center_bias: bool
    ) -> bool:
        """Splits nodes of the last tree, or of a new one where that is finished; whether there was a split.

        Args:
          best: a split for each node.
          config: the LearnerConfig.
          learning_rate: the weight of a new tree.
          max_depth: how many layers finish a tree.
          seed: that of the trees which were left out.
          center_bias: whether the first tree is the bias, and never left out.
        """
        self._count_attempt()
        if not best:
            return False
        if self.is_finished:
            self._add_tree(learning_rate)
            self._last_metadata.num_tree_weight_updates = 1
        else:
            self._last_metadata.num_layers_grown += 1
        self._last_metadata.is_finalized = self._last_metadata.num_layers_grown >= max_depth
        if self._last_metadata.is_finalized:
            count = len(self.state.trees)
            self._share_weight(dropped_trees(seed, config, {count - 1} | ({0} if center_bias else set()), count))
        tree = self.state.trees[-1]
        for node, candidate in sorted(best.items()):
            self._split(tree, node, candidate, config)
        if config.pruning_mode == config.POST_PRUNE and self._last_metadata.is_finalized and not _prune(tree):
            for field in (self.state.trees, self.state.tree_weights, self.state.tree_metadata):
                del field[-1]
        return True

    def _split(self, tree: Any, at: int, candidate: Candidate, config: Any) -> None:
        if not 0 <= at < len(tree.nodes) or tree.nodes[at].WhichOneof("node") != "leaf":
            raise invalid(f"Invalid node {at} to split.")
        info, left = candidate.info, len(tree.nodes)
        for child in (info.left_child, info.right_child):
            if config.growing_mode != config.WHOLE_TREE:
                _add_leaf(tree.nodes[at].leaf, child)
            tree.nodes.add().leaf.CopyFrom(child)
        _link(info.split_node, left, left + 1)
        info.split_node.node_metadata.gain = candidate.gain
        if config.pruning_mode == config.POST_PRUNE:
            info.split_node.node_metadata.original_leaf.CopyFrom(tree.nodes[at].leaf)
        tree.nodes[at].CopyFrom(info.split_node)
        if config.constraints.max_number_of_unique_feature_columns:
            used = self.state.growing_metadata.used_handler_ids
            used[:] = sorted({*used, candidate.handler})


def _cut(nodes: list, at: int) -> None:
    """Makes splits that lose and have leaves only into leaves, from the bottom up."""
    below = children(nodes[at])
    for child in below:
        _cut(nodes, child)
    if not below:
        return
    metadata = nodes[at].node_metadata
    if metadata.gain < 0 and all(nodes[child].WhichOneof("node") == "leaf" for child in below):
        original = tree_message("Leaf")()
        original.CopyFrom(metadata.original_leaf)
        nodes[at].leaf.CopyFrom(original)
        nodes[at].ClearField("node_metadata")
    else:
        metadata.ClearField("original_leaf")


def _prune(tree: Any) -> bool:
    """Cuts back a finished tree; False where nothing is left."""
    nodes = [tree_message("TreeNode").FromString(node.SerializeToString()) for node in tree.nodes]
    _cut(nodes, 0)
    kept, place = [0], 0
    while place < len(kept):
        below = children(nodes[kept[place]])
        if below:
            _link(nodes[kept[place]], len(kept), len(kept) + 1)
            kept += below
        place += 1
    del tree.nodes[:]
    tree.nodes.extend(nodes[at] for at in kept)
    return len(kept) > 1 or tree.nodes[0].node_metadata.gain > 0
