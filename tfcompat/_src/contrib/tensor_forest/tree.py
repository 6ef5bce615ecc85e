"""A tree of a forest: which leaf an example falls into, and what the leaves predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.contrib.tensor_forest.examples import Examples, Targets, invalid
from tfcompat._src.contrib.tensor_forest.params import SPARSE_MODEL
from tfcompat._src.contrib.tensor_forest.splits import Split, SplitTable, read_split, tree_message

_LEAF = -1


class Tree:
    """Nodes in the order of their numbers; the first is the root.

    Args:
      params: a TensorForestParams.
      model: a decision_trees.Model; one without nodes makes a tree that is a leaf.
    """

    def __init__(self, params: Any, model: Any) -> None:
        self._params = params
        self._splits: list[Split | None] = []
        self._children: list[tuple[int, int]] = []
        self._values = np.zeros((1, params.num_outputs), np.float32)
        for node in model.decision_tree.nodes:
            self._add(self._read_leaf(node.leaf))
            if not node.HasField("leaf"):
                if not node.HasField("binary_node"):
                    raise invalid("Unable to parse tree  config.")
                children = node.binary_node.left_child_id.value, node.binary_node.right_child_id.value
                self._splits[-1], self._children[-1] = read_split(node.binary_node), children
        if not self._splits:
            self._add(np.zeros(params.num_outputs, np.float32))
        for parent, children in enumerate(self._children):
            if self._splits[parent] is not None and not all(parent < child < self.size for child in children):
                raise invalid("Unable to parse tree  config.")
        self._compiled: tuple[SplitTable, np.ndarray] | None = None

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self._splits)

    def _add(self, values: np.ndarray) -> None:
        if self.size == len(self._values):
            self._values = np.concatenate([self._values, np.zeros_like(self._values)])
        self._values[self.size] = values
        self._splits.append(None)
        self._children.append((_LEAF, _LEAF))

    def _read_leaf(self, leaf: Any) -> np.ndarray:
        values = np.zeros(self._params.num_outputs, np.float32)
        if leaf.HasField("vector"):
            if len(leaf.vector.value) != len(values):
                raise invalid("Unable to parse tree  config.")
            values[:] = [value.float_value for value in leaf.vector.value]
        for i, value in leaf.sparse_vector.sparse_value.items():
            if not 0 <= i < len(values):
                raise invalid("Unable to parse tree  config.")
            values[i] = value.float_value
        return values

    def _arrays(self) -> tuple[SplitTable, np.ndarray]:
        if self._compiled is None:
            self._compiled = SplitTable(self._splits), np.array(self._children, np.int32)
        return self._compiled

    def leaves(self, examples: Examples) -> np.ndarray:
        """int32 [examples]: the number of each example's leaf."""
        return self._paths(examples)[-1]

    def _paths(self, examples: Examples) -> list[np.ndarray]:
        """The numbers of the nodes that the examples are at, step by step from the root; those at a leaf stay there."""
        table, children = self._arrays()
        at = np.zeros(examples.count, np.int32)
        steps = [at]
        while (walking := np.flatnonzero(children[at, 0] != _LEAF)).size:
            nodes = at[walking]
            right = ~table.goes_left(examples, walking, nodes)
            at = at.copy()
            at[walking] = children[nodes, right.astype(np.int32)]
            steps.append(at)
        return steps

    def predictions(self, examples: Examples) -> np.ndarray:
        """float32 [examples, outputs]: the values of regression, or the shares of the classes."""
        found = self._values[self.leaves(examples)]
        if not self._params.is_regression and found.size:
            total = np.cumsum(found, axis=1)[:, -1:]
            np.divide(found, total, out=found, where=(total > 0) & (total != 1))
        return found

    def update(self, leaves: np.ndarray, targets: Targets) -> None:
        """Counts the classes of examples in their leaves; the leaves of regression are left as they are."""
        if self._params.is_regression:
            return
        leaves, labels = leaves[: targets.count], targets.classes(self._params.num_outputs)[: targets.count]
        if len(leaves) < len(labels) or ((leaves < 0) | (leaves >= self.size)).any():
            raise invalid("leaf_ids must name a node for each label.")
        np.add.at(self._values, (leaves, labels), targets.weights[: len(labels)])

    def split(self, node: int, split: Split, left: np.ndarray, right: np.ndarray) -> tuple[int, int]:
        """Makes a leaf an inner node with two new leaves that predict `left` and `right`; gives their numbers."""
        children = self.size, self.size + 1
        self._add(left)
        self._add(right)
        self._splits[node], self._children[node] = split, children
        self._compiled = None
        return children

    def feature_counts(self) -> np.ndarray:
        """int32 [features]: how many nodes use each feature."""
        used = [feature for split in self._splits if split is not None for feature in split.features]
        if any(feature >= self._params.num_features for feature in used):
            raise invalid(f"Feature {max(used)} is out of range: num_features is {self._params.num_features}.")
        return np.bincount(np.array(used, np.int64), minlength=self._params.num_features).astype(np.int32)

    # ---- protos ----

    def _write(self, number: int, node: Any) -> None:
        """Fills in a TreeNode."""
        if number:
            node.node_id.value = number
        split = self._splits[number]
        if split is not None:
            split.write(node.binary_node)
            node.binary_node.left_child_id.value, node.binary_node.right_child_id.value = self._children[number]
        elif self._params.leaf_type == SPARSE_MODEL:
            node.leaf.SetInParent()
            for i in np.flatnonzero(self._values[number]):
                node.leaf.sparse_vector.sparse_value[i].float_value = self._values[number, i]
        else:
            for value in self._values[number]:
                entry = node.leaf.vector.value.add()
                if number or value:
                    entry.float_value = value

    def serialize(self) -> bytes:
        """The tree as a decision_trees.Model."""
        model = tree_message("Model")()
        model.decision_tree.SetInParent()
        for number in range(self.size):
            self._write(number, model.decision_tree.nodes.add())
        return model.SerializeToString(deterministic=True)

    def paths(self, examples: Examples, path_type: type) -> list[bytes]:
        """For each example the nodes from the root to its leaf, as a serialized message."""
        found = []
        for visited in np.stack(self._paths(examples), axis=1):
            path = path_type()
            for step, number in enumerate(visited):
                if step == 0 or number != visited[step - 1]:
                    self._write(int(number), path.nodes_visited.add())
            found.append(path.SerializeToString(deterministic=True))
        return found
