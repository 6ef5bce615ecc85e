"""tf.feature_column.input_layer: dense columns of the earlier interface side by side in one tensor."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.feature_column.base import (
    FeatureColumn,
    _DenseColumn,
    _FeatureColumn,
    merged_parse_specs,
    normalize_feature_columns,
)  # fmt: skip
from tfcompat._src.feature_column.inputs import FeatureTransformationCache, _LazyBuilder
from tfcompat._src.feature_column.state import ScopeState, with_default_collections
from tfcompat._src.feature_column.utils import check_static_batch_sizes
from tfcompat._src.feature_column.weighted_sum import as_rows
from tfcompat._src.graph.scopes import get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.variables.scope import get_variable_scope, variable_scope
from tfcompat._src.variables.template import make_template

Watcher = Callable[[dict[Any, Any], Any, dict[Any, Any]], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("_WATCHER", default=None)


@contextlib.contextmanager
def watching_input_layers(watcher: Watcher) -> Iterator[None]:
    """A context in which each input layer of columns of the earlier interface tells `watcher` its features, its columns, and the
    tensor of each column.
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def _internal_input_layer(
    features: dict[Any, Any], feature_columns: object, weight_collections: object = None, trainable: bool = True,
    cols_to_vars: dict | None = None, scope: object = None, cols_to_output_tensors: dict | None = None,
    from_template: bool = False,
) -> Tensor:  # fmt: skip
    columns = normalize_feature_columns(feature_columns, _FeatureColumn)
    for column in columns:
        if not isinstance(column, _DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    outputs: dict[Any, Any] = {}
    with contextlib.nullcontext() if from_template else variable_scope(scope, default_name="input_layer", values=features.values()):
        found = _side_by_side(features, columns, with_default_collections(weight_collections), trainable, cols_to_vars, outputs)
    if cols_to_output_tensors is not None:
        cols_to_output_tensors.update(outputs)
    if (watcher := _WATCHER.get()) is not None:
        watcher(features, feature_columns, outputs)
    return found


def _side_by_side(
    features: dict[Any, Any], columns: list[Any], weight_collections: list[str], trainable: bool,
    cols_to_vars: dict | None, outputs: dict[Any, Any],
) -> Tensor:  # fmt: skip
    builder, tensors = _LazyBuilder(features), []
    for column in columns:
        with variable_scope(None, default_name=column._var_scope_name):
            dense = builder.dense_tensor(column, ScopeState(weight_collections, trainable))
            tensors.append(as_rows(dense, column))
            if cols_to_vars is not None:
                cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name)
            outputs[column] = tensors[-1]
    check_static_batch_sizes(tensors, columns)
    return concat(tensors, 1)


@export("feature_column.input_layer")
def input_layer(
    features: dict[Any, Any], feature_columns: object, weight_collections: object = None, trainable: bool = True,
    cols_to_vars: dict | None = None, cols_to_output_tensors: dict | None = None,
) -> Tensor:  # fmt: skip
    """The tensors of dense columns side by side, in the order of their names.

    Args:
      features: dict from key to Tensor or SparseTensor.
      feature_columns: dense columns.
      weight_collections: further collections of the variables.
      trainable: whether the variables may be trained.
      cols_to_vars: dict that gets the list of variables of each column.
      cols_to_output_tensors: dict that gets the part [batch, elements] of each column.

    Returns:
      float32 Tensor [batch, elements of all columns].

    Raises:
      ValueError: a column is not dense, or batch sizes differ.
    """
    return _internal_input_layer(
        features, feature_columns, weight_collections=weight_collections, trainable=trainable, cols_to_vars=cols_to_vars,
        cols_to_output_tensors=cols_to_output_tensors,
    )  # fmt: skip


@export("contrib.slim.InputLayer")
class InputLayer:
    """`input_layer` as an object, whose calls share variables.

    Args:
      feature_columns, weight_collections, trainable, cols_to_vars: as `input_layer`'s.
      name: of the variable scope.
      create_scope_now: whether the scope is made at once, or by the first call.
    """

    def __init__(
        self, feature_columns: object, weight_collections: object = None, trainable: bool = True,
        cols_to_vars: dict | None = None, name: str = "feature_column_input_layer", create_scope_now: bool = True,
    ) -> None:  # fmt: skip
        self._feature_columns, self._weight_collections, self._trainable = (
            feature_columns,
            weight_collections,
            trainable,
        )
        self._cols_to_vars, self._name = cols_to_vars, name
        self._input_layer_template = make_template(name, _internal_input_layer, create_scope_now_=create_scope_now)
        self._scope = self._input_layer_template.variable_scope

    def __call__(self, features: dict[Any, Any]) -> Tensor:
        return self._input_layer_template(
            features=features, feature_columns=self._feature_columns, weight_collections=self._weight_collections,
            trainable=self._trainable, cols_to_vars=None, from_template=True,
        )  # fmt: skip

    name = property(lambda self: self._name)
    variables = property(lambda self: self._input_layer_template.variables)
    weights = property(lambda self: self._input_layer_template.weights)
    trainable_variables = property(lambda self: self._input_layer_template.trainable_variables)
    trainable_weights = property(lambda self: self._input_layer_template.trainable_weights)
    non_trainable_variables = property(lambda self: self._input_layer_template.non_trainable_variables)
    non_trainable_weights = property(lambda self: self._input_layer_template.non_trainable_weights)


def _transformed(
    cache: FeatureTransformationCache, columns: list[Any], state_manager: object, features: Any
) -> dict[Any, Any]:
    outputs = {}
    with name_scope(None, default_name="transform_features", values=features.values()):
        for column in columns:
            with name_scope(None, default_name=column.name):
                outputs[column] = cache.get(column, state_manager)
    return outputs


def _transform_features(features: dict[Any, Any], feature_columns: object) -> dict[Any, Any]:
    """What columns of the earlier interface make of features."""
    columns = normalize_feature_columns(feature_columns, _FeatureColumn)
    return _transformed(_LazyBuilder(features), columns, None, features)


def _transform_features_v2(features: dict[Any, Any], feature_columns: object, state_manager: object) -> dict[Any, Any]:
    """What columns make of features."""
    columns = normalize_feature_columns(feature_columns)
    return _transformed(FeatureTransformationCache(features), columns, state_manager, features)


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: object) -> dict[str, Any]:
    """The features that columns need, for tf.io.parse_example.

    Args:
      feature_columns: iterable of columns.

    Returns:
      dict from key to FixedLenFeature or VarLenFeature.

    Raises:
      ValueError: something is no column, or two columns want one key in different ways.
    """
    return merged_parse_specs(feature_columns, _FeatureColumn)


@export("compat.v2.feature_column.make_parse_example_spec")
def make_parse_example_spec_v2(feature_columns: object) -> dict[str, Any]:
    """`make_parse_example_spec` for columns of the newer interface."""
    return merged_parse_specs(feature_columns, FeatureColumn)
