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
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Effects, NotDifferentiable, op
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.ops.queues.resource import SharedResource

_add = functools.partial(
    op, gradient=NotDifferentiable("a tree is no function of its parameters"), place=HOST, context=True
)
_DATA = "input_data: float, sparse_input_indices: int64, sparse_input_values: float, sparse_input_shape: int64"


class _Holder(SharedResource):
    """What a handle names: nothing at first, then a tree or the statistics of one."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        self.name, self._kind = name, kind
        self.content: Any = None

    def held(self) -> Any:
        """The tree or the statistics; NotFoundError before they are created."""
        if self.content is None:
            kind = f"N10tensorflow12tensorforest{len(self._kind)}{self._kind}E"
            raise errors.NotFoundError(None, None, f"Resource localhost/{self.name}/{kind} does not exist.")
        return self.content

    def cancel(self) -> None:
        """Lets go of what it holds."""
        super().cancel()
        self.content = None


def _handle(context: Any) -> _Holder:
    attrs = context.op.attrs
    name = attrs["shared_name"].decode() or context.op.name
    kind = context.op.type.removesuffix("HandleOp")
    return context.resources.setdefault(f"{kind}/{attrs['container'].decode()}/{name}", _Holder(name, kind))


def _params(context: Any) -> Any:
    return read_params(context.op.attrs["params"])


def _examples(context: Any, *tensors: Any) -> Examples:
    return Examples(*tensors, context.op.attrs["input_spec"].decode())


def _scalar_bytes(value: Any, what: str) -> bytes:
    if np.ndim(value):
        raise invalid(f"{what} config must be a scalar.")
    return np.asarray(value, object).item()


def _tree(context: Any, config: Any) -> Tree:
    model = tree_message("Model")()
    try:
        model.ParseFromString(_scalar_bytes(config, "Tree"))
    except DecodeError as error:
        raise invalid("Unable to parse tree  config.") from error
    return Tree(_params(context), model)


def _statistics(context: Any, config: Any) -> FertileStatistics:
    return FertileStatistics(_params(context), _scalar_bytes(config, "Stats"))


def _create(make: Any, context: Any, handle: _Holder, config: Any) -> tuple:
    """Makes what a handle holds; what it holds already stays."""
    made = make(context, config)
    with handle.lock:
        if handle.content is None:
            handle.content = made
    return ()


def _replace(make: Any, context: Any, handle: _Holder, config: Any) -> tuple:
    with handle.lock:
        handle.held()
        handle.content = make(context, config)
    return ()


def _serialize(context: Any, handle: _Holder) -> np.ndarray:
    with handle.lock:
        return np.array(handle.held().serialize(), object)


def _is_initialized(context: Any, handle: _Holder) -> np.bool_:
    return np.bool_(handle.content is not None)


def _examples_known(c: si.InferenceContext) -> int | None:
    """The number of examples, where the shape of dense features tells."""
    sizes = c.inputs[1]
    return sizes[0] if sizes and sizes[0] else None


_NAMES = '(*, container: string = "", shared_name: string = "") -> (resource: resource)'
for _type, _config, _word, _variable, _made, _params_attr in (
    ("DecisionTreeResource", "tree_config", "Tree", "Tree", _tree, ""),
    ("FertileStatsResource", "stats_config", "FertileStats", "FertileStats", _statistics, ", *, params: string"),
):
    _resource = "tree_handle" if _word == "Tree" else "stats_handle"
    _with_config = f"({_resource}: resource, {_config}: string, *, params: string) -> ()"
    _add(f"{_type}HandleOp", _NAMES, shape=si.scalar, kernel=_handle, effects=Effects(creates=True))
    _add(f"{_word}IsInitializedOp", f"({_resource}: resource) -> (is_initialized: bool)", shape=si.scalar,
         kernel=_is_initialized, effects=EXTERNAL)  # fmt: skip
    _add(
        f"Create{_variable}Variable",
        _with_config,
        shape=si.no_outputs,
        kernel=functools.partial(_create, _made),
        effects=EXTERNAL,
    )
    _add(f"{_word}Serialize", f"({_resource}: resource{_params_attr}) -> ({_config}: string)", shape=si.scalar,
         kernel=_serialize, effects=EXTERNAL)  # fmt: skip
    _add(
        f"{_word}Deserialize",
        _with_config,
        shape=si.no_outputs,
        kernel=functools.partial(_replace, _made),
        effects=EXTERNAL,
    )


@_add("TreeSize", "(tree_handle: resource) -> (tree_size: int32)", shape=si.scalar, effects=EXTERNAL)
def _size(context: Any, tree: _Holder) -> np.int32:
    return np.int32(tree.held().size)


@_add(
    "TreePredictionsV4",
    f"(tree_handle: resource, {_DATA}, *, input_spec: string, params: string) -> (predictions: float, tree_paths: string)",
    shape=lambda c: [(_examples_known(c), None), (None,)], effects=EXTERNAL,
)  # fmt: skip
def _predictions(context: Any, tree: _Holder, *data: Any) -> tuple[np.ndarray, np.ndarray]:
    examples = _examples(context, *data)
    with tree.lock:
        predictions = tree.held().predictions(examples)
        with_paths = _params(context).inference_tree_paths
        return predictions, strings(tree.held().paths(examples, STATS.TreePath) if with_paths else [])


@_add("TraverseTreeV4", f"(tree_handle: resource, {_DATA}, *, input_spec: string, params: string) -> (leaf_ids: int32)",
      shape=lambda c: [(_examples_known(c),)], effects=EXTERNAL)  # fmt: skip
def _traverse(context: Any, tree: _Holder, *data: Any) -> np.ndarray:
    with tree.lock:
        return tree.held().leaves(_examples(context, *data))


@_add("UpdateModelV4", "(tree_handle: resource, leaf_ids: int32, input_labels: float, input_weights: float, *, params: string) -> ()",
      shape=si.no_outputs, effects=EXTERNAL)  # fmt: skip
def _update(context: Any, tree: _Holder, leaf_ids: Any, labels: Any, weights: Any) -> tuple:
    targets = Targets(labels, weights, _params(context).is_regression)
    with tree.lock:
        tree.held().update(np.asarray(leaf_ids).reshape(-1), targets)
    return ()


@_add("FeatureUsageCounts", "(tree_handle: resource, *, params: string) -> (feature_counts: int32)",
      shape=lambda c: [(None,)], effects=EXTERNAL)  # fmt: skip
def _feature_counts(context: Any, tree: _Holder) -> np.ndarray:
    with tree.lock:
        return tree.held().feature_counts()


@_add(
    "ProcessInputV4",
    f"(tree_handle: resource, stats_handle: resource, {_DATA}, input_labels: float, input_weights: float, leaf_ids: int32, *, "
    "random_seed: int, input_spec: string, params: string) -> (finished_nodes: int32)",
    shape=lambda c: [(None,)], effects=EXTERNAL,
)  # fmt: skip
def _process(
    context: Any, tree: _Holder, stats: _Holder, dense: Any, indices: Any, values: Any, sizes: Any, labels: Any, weights: Any,
    leaf_ids: Any, *, random_seed: int,
) -> np.ndarray:  # fmt: skip
    examples = _examples(context, dense, indices, values, sizes)
    targets = Targets(labels, weights, _params(context).is_regression)
    tree.held()
    with stats.lock:
        finished = stats.held().process(examples, targets, np.asarray(leaf_ids), feature_sampler(random_seed))
    return np.array(finished, np.int32)


@_add("GrowTreeV4", "(tree_handle: resource, stats_handle: resource, finished_nodes: int32, *, params: string) -> ()",
      shape=si.no_outputs, effects=EXTERNAL)  # fmt: skip
def _grow(context: Any, tree: _Holder, stats: _Holder, finished_nodes: Any) -> tuple:
    with stats.lock, tree.lock:
        stats.held().grow(tree.held(), np.asarray(finished_nodes).reshape(-1).tolist())
    return ()


@_add(
    "FinalizeTree",
    "(tree_handle: resource, stats_handle: resource, *, params: string) -> ()",
    shape=si.no_outputs,
    effects=EXTERNAL,
)
def _finalize(context: Any, tree: _Holder, stats: _Holder) -> tuple:
    """The leaves of regression are final; 1.15 ends the process where there are classes."""
    tree.held(), stats.held()
    if not _params(context).is_regression:
        raise errors.UnimplementedError(None, None, "FinalizeTreeOp is disabled for now.")
    return ()
