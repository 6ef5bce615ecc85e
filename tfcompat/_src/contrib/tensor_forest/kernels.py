"""The operations of tf.contrib.tensor_forest on trees and on the statistics of their leaves."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.contrib.tensor_forest.examples import Examples, Targets, feature_sampler, invalid
from tfcompat._src.contrib.tensor_forest.growth import STATS, FertileStatistics
from tfcompat._src.contrib.tensor_forest.params import read_params
from tfcompat._src.contrib.tensor_forest.splits import tree_message
from tfcompat._src.contrib.tensor_forest.tree import Tree
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.reader_state import strings

_DATA = "input_data: float, sparse_input_indices: int64, sparse_input_values: float, sparse_input_shape: int64"


def _params(context: Any) -> Any:
    return read_params(context.op.attrs["params"])


def _examples(context: Any, *tensors: Any) -> Examples:
    return Examples(*tensors, context.op.attrs["input_spec"].decode())


def _scalar_bytes(value: Any, what: str) -> bytes:
    if np.ndim(value):
        raise invalid(f"{what} config must be a scalar.")
    return np.asarray(value, object).item()


def _tree(context: object, config: object) -> Tree:
    model = tree_message("Model")()
    try:
        model.ParseFromString(_scalar_bytes(config, "Tree"))
    except DecodeError as error:
        raise invalid("Unable to parse tree  config.") from error
    return Tree(_params(context), model)


def _statistics(context: object, config: object) -> FertileStatistics:
    return FertileStatistics(_params(context), _scalar_bytes(config, "Stats"))


def _create(make: Any, context: Any, handle: Held, config: Any) -> tuple:
    handle.create(lambda: make(context, config))
    return ()


def _replace(make: Any, context: Any, handle: Held, config: Any) -> tuple:
    with handle.lock:
        handle.held()
        handle.content = make(context, config)
    return ()


def _serialize(context: object, handle: Held) -> np.ndarray:
    with handle.lock:
        return np.array(handle.held().serialize(), object)


def _examples_known(c: si.InferenceContext) -> int | None:
    """The number of examples, where the shape of dense features tells."""
    sizes = c.inputs[1]
    return sizes[0] if sizes and sizes[0] else None


for _type, _config, _word, _variable, _made, _params_attr in (
    ("DecisionTreeResource", "tree_config", "Tree", "Tree", _tree, ""),
    ("FertileStatsResource", "stats_config", "FertileStats", "FertileStats", _statistics, ", *, params: string"),
):
    _resource = "tree_handle" if _word == "Tree" else "stats_handle"
    _with_config = f"({_resource}: resource, {_config}: string, *, params: string) -> ()"
    handle_op(f"{_type}HandleOp", f"N10tensorflow12tensorforest{len(_type)}{_type}E")
    is_initialized_op(f"{_word}IsInitializedOp", _resource)
    held_op(
        f"Create{_variable}Variable",
        _with_config,
        shape=si.no_outputs,
        kernel=functools.partial(_create, _made),
    )
    held_op(f"{_word}Serialize", f"({_resource}: resource{_params_attr}) -> ({_config}: string)", shape=si.scalar,
         kernel=_serialize)  # fmt: skip
    held_op(
        f"{_word}Deserialize",
        _with_config,
        shape=si.no_outputs,
        kernel=functools.partial(_replace, _made),
    )


@held_op("TreeSize", "(tree_handle: resource) -> (tree_size: int32)", shape=si.scalar)
def _size(context: object, tree: Held) -> np.int32:
    return np.int32(tree.held().size)


@held_op(
    "TreePredictionsV4",
    f"(tree_handle: resource, {_DATA}, *, input_spec: string, params: string) -> (predictions: float, tree_paths: string)",
    shape=lambda c: [(_examples_known(c), None), (None,)],
    gradient=NotDifferentiable("1.15 takes the predictions of a tree as they are"),
)  # fmt: skip
def _predictions(context: object, tree: Held, *data: object) -> tuple[np.ndarray, np.ndarray]:
    examples = _examples(context, *data)
    with tree.lock:
        predictions = tree.held().predictions(examples)
        with_paths = _params(context).inference_tree_paths
        return predictions, strings(tree.held().paths(examples, STATS.TreePath) if with_paths else [])


@held_op("TraverseTreeV4", f"(tree_handle: resource, {_DATA}, *, input_spec: string, params: string) -> (leaf_ids: int32)",
      shape=lambda c: [(_examples_known(c),)])  # fmt: skip
def _traverse(context: object, tree: Held, *data: object) -> np.ndarray:
    with tree.lock:
        return tree.held().leaves(_examples(context, *data))


@held_op("UpdateModelV4", "(tree_handle: resource, leaf_ids: int32, input_labels: float, input_weights: float, *, params: string) -> ()",
      shape=si.no_outputs)  # fmt: skip
def _update(context: object, tree: Held, leaf_ids: object, labels: object, weights: object) -> tuple:
    targets = Targets(labels, weights, _params(context).is_regression)
    with tree.lock:
        tree.held().update(np.asarray(leaf_ids).reshape(-1), targets)
    return ()


@held_op("FeatureUsageCounts", "(tree_handle: resource, *, params: string) -> (feature_counts: int32)",
      shape=lambda c: [(None,)])  # fmt: skip
def _feature_counts(context: object, tree: Held) -> np.ndarray:
    with tree.lock:
        return tree.held().feature_counts()


@held_op(
    "ProcessInputV4",
    f"(tree_handle: resource, stats_handle: resource, {_DATA}, input_labels: float, input_weights: float, leaf_ids: int32, *, "
    "random_seed: int, input_spec: string, params: string) -> (finished_nodes: int32)",
    shape=lambda c: [(None,)],
)  # fmt: skip
def _process(
    context: object, tree: Held, stats: Held, dense: object, indices: object, values: object, sizes: object, labels: object, weights: object,
    leaf_ids: object, *, random_seed: int,
) -> np.ndarray:  # fmt: skip
    examples = _examples(context, dense, indices, values, sizes)
    targets = Targets(labels, weights, _params(context).is_regression)
    tree.held()
    with stats.lock:
        finished = stats.held().process(examples, targets, np.asarray(leaf_ids), feature_sampler(random_seed))
    return np.array(finished, np.int32)


@held_op("GrowTreeV4", "(tree_handle: resource, stats_handle: resource, finished_nodes: int32, *, params: string) -> ()",
      shape=si.no_outputs)  # fmt: skip
def _grow(context: object, tree: Held, stats: Held, finished_nodes: object) -> tuple:
    with stats.lock, tree.lock:
        stats.held().grow(tree.held(), np.asarray(finished_nodes).reshape(-1).tolist())
    return ()


@held_op(
    "FinalizeTree",
    "(tree_handle: resource, stats_handle: resource, *, params: string) -> ()",
    shape=si.no_outputs,
)
def _finalize(context: object, tree: Held, stats: Held) -> tuple:
    """The leaves of regression are final; 1.15 ends the process where there are classes."""
    tree.held(), stats.held()
    if not _params(context).is_regression:
        raise errors.UnimplementedError(None, None, "FinalizeTreeOp is disabled for now.")
    return ()
