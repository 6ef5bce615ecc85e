"""Linear models of columns: tf.feature_column.linear_model, and LinearModel for columns of the newer interface."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    _CategoricalColumn,
    _DenseColumn,
    _FeatureColumn,
    normalize_feature_columns,
)  # fmt: skip
from tfcompat._src.feature_column.inputs import FeatureTransformationCache, _LazyBuilder
from tfcompat._src.feature_column.serialization import deserialize_feature_columns, serialize_feature_columns
from tfcompat._src.feature_column.state import (
    ScopeState,
    _StateManagerImpl,
    add_to_weight_collections,
    with_default_collections,
)  # fmt: skip
from tfcompat._src.feature_column.utils import check_static_batch_sizes
from tfcompat._src.feature_column.weighted_sum import num_weights_of, weighted_sum
from tfcompat._src.graph.scopes import get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine import base_layer
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.layers import scoped_layer
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable, get_variable_scope, pure_variable_scope, variable_scope


def _sum_with_bias(sums: list[Tensor], bias: Any) -> Tensor:
    """The sum of the parts of columns and what `bias` gives once their sum is made."""
    return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias(), name="weighted_sum")


@export("feature_column.linear_model")
def linear_model(
    features: dict[Any, Any], feature_columns: object, units: int = 1, sparse_combiner: str = "sum",
    weight_collections: object = None, trainable: bool = True, cols_to_vars: dict | None = None,
) -> Tensor:  # fmt: skip
    """A linear function of columns.

    Args:
      features: dict from key to Tensor or SparseTensor.
      feature_columns: dense and categorical columns.
      units: number of outputs.
      sparse_combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      weight_collections: further collections of the variables.
      trainable: whether the variables may be trained.
      cols_to_vars: dict that gets the list of variables of each column, and those of the key "bias".

    Returns:
      float32 Tensor [batch, units].

    Raises:
      ValueError: a column is neither dense nor categorical, or batch sizes differ.
    """
    with variable_scope(None, "linear_model") as scope:
        name = _last_part(scope.name)
    model = _LinearModel(feature_columns, units, sparse_combiner, weight_collections, trainable, name=name)
    result = model(features)
    if cols_to_vars is not None:
        cols_to_vars.update(model.cols_to_vars())
    return result


def _last_part(name: str) -> str:
    return name.rsplit("/", 1)[-1]


class _FCLinearWrapper(scoped_layer.Layer):
    """The weights of one column in a linear model."""

    def __init__(
        self, feature_column: object, units: int = 1, sparse_combiner: str = "sum", weight_collections: object = None,
        trainable: bool = True, name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_column, self._units, self._sparse_combiner = feature_column, units, sparse_combiner
        self._weight_collections = weight_collections

    def build(self, _: Any) -> None:
        self._weight_var = self.add_variable(
            name="weights", shape=(num_weights_of(self._feature_column), self._units), initializer=Zeros(),
            trainable=self.trainable,
        )  # fmt: skip
        add_to_weight_collections(self._weight_var, self._weight_collections)
        self.built = True

    def call(self, builder: _LazyBuilder) -> Tensor:
        state = ScopeState(self._weight_collections, self.trainable)
        return weighted_sum(self._feature_column, builder, state, self._sparse_combiner, self._weight_var)


class _BiasLayer(scoped_layer.Layer):
    """The bias of a linear model."""

    def __init__(
        self,
        units: int = 1,
        trainable: bool = True,
        weight_collections: object = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._units, self._weight_collections = units, weight_collections

    def build(self, _: Any) -> None:
        self._bias_variable = self.add_variable(
            "bias_weights", shape=[self._units], initializer=Zeros(), trainable=self.trainable
        )
        add_to_weight_collections(self._bias_variable, self._weight_collections)
        self.built = True

    def call(self, _: Any) -> Any:
        return self._bias_variable


class _LinearModel(Model):
    """The linear model of columns of the earlier interface; see linear_model."""

    def __init__(
        self, feature_columns: object, units: int = 1, sparse_combiner: str = "sum", weight_collections: object = None,
        trainable: bool = True, name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self._feature_columns = normalize_feature_columns(feature_columns, _FeatureColumn)
        self._weight_collections = with_default_collections(weight_collections)
        self._column_layers = {}
        for column in self._feature_columns:
            with variable_scope(None, default_name=column._var_scope_name) as scope:
                column_name = _last_part(scope.name)
            layer = _FCLinearWrapper(
                column, units, sparse_combiner, self._weight_collections, trainable, column_name, **kwargs
            )
            self._column_layers[column_name] = layer
            setattr(self, f"layer-{column_name}", layer)
        self._bias_layer = _BiasLayer(units, trainable, self._weight_collections, name="bias_layer", **kwargs)
        self._cols_to_vars: dict[Any, Any] = {}

    def cols_to_vars(self) -> dict[Any, Any]:
        """The list of variables of each column, and those of the key "bias"."""
        return self._cols_to_vars

    def call(self, features: dict[Any, Any]) -> Tensor:
        with variable_scope(self.name):
            for column in self._feature_columns:
                if not isinstance(column, (_DenseColumn, _CategoricalColumn)):
                    raise ValueError(
                        f"Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: {column}"
                    )
            builder, layers, sums = _LazyBuilder(features), self._ordered_layers(), []
            for layer in layers:
                sums.append(layer(builder))
                variables = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=layer.scope_name)
                self._cols_to_vars[layer._feature_column] = variables
            check_static_batch_sizes(sums, [layer._feature_column for layer in layers])
            result = _sum_with_bias(sums, lambda: self._bias_layer(builder, scope=get_variable_scope()))
            bias = self._bias_layer.variables[0]
            self._cols_to_vars["bias"] = list(bias) if isinstance(bias, PartitionedVariable) else [bias]
        return result

    def _ordered_layers(self) -> list[_FCLinearWrapper]:
        return sorted(self._column_layers.values(), key=lambda layer: layer.name)


class _LinearModelLayer(base_layer.Layer):
    """The linear model of columns as a layer; see LinearModel."""

    def __init__(
        self, feature_columns: object, units: int = 1, sparse_combiner: str = "sum", trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = normalize_feature_columns(feature_columns)
        for column in self._feature_columns:
            if not isinstance(column, (DenseColumn, CategoricalColumn)):
                raise ValueError(
                    f"Items of feature_columns must be either a DenseColumn or CategoricalColumn. Given: {column}"
                )
        self._units, self._sparse_combiner = units, sparse_combiner
        self._state_manager = _StateManagerImpl(self, self.trainable)
        self.bias = None

    def build(self, _: Any) -> None:
        with pure_variable_scope(self.name):
            for column in self._feature_columns:
                with pure_variable_scope(column.name):
                    column.create_state(self._state_manager)
                    self._state_manager.create_variable(
                        column, name="weights", dtype=dtypes.float32, shape=(num_weights_of(column), self._units),
                        initializer=Zeros(), trainable=self.trainable,
                    )  # fmt: skip
            self.bias = self.add_variable(
                name="bias_weights", dtype=dtypes.float32, shape=[self._units], initializer=Zeros(),
                trainable=self.trainable, use_resource=True, getter=get_variable,
            )  # fmt: skip
        super().build(None)

    def call(self, features: dict[Any, Any]) -> Tensor:
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
        with name_scope(self.name):
            cache, sums = FeatureTransformationCache(features), []
            for column in self._feature_columns:
                with name_scope(column.name):
                    weights = self._state_manager.get_variable(column, "weights")
                    sums.append(weighted_sum(column, cache, self._state_manager, self._sparse_combiner, weights))
            check_static_batch_sizes(sums, self._feature_columns)
            return _sum_with_bias(sums, lambda: self.bias)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "feature_columns": serialize_feature_columns(self._feature_columns),
            "units": self._units,
            "sparse_combiner": self._sparse_combiner,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> _LinearModelLayer:
        """The layer of a configuration."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects=custom_objects)
        return cls(**{**config, "feature_columns": columns})


class LinearModel(Model):
    """A linear function of columns.

    Args:
      feature_columns: dense and categorical columns.
      units: number of outputs.
      sparse_combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      trainable: whether the variables are trained.
      name: of the model.

    Raises:
      ValueError: a column is neither dense nor categorical; later, the features are no dict or batch sizes differ.
    """

    def __init__(
        self, feature_columns: object, units: int = 1, sparse_combiner: str = "sum", trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.layer = _LinearModelLayer(feature_columns, units, sparse_combiner, trainable, name=self.name, **kwargs)

    bias = property(lambda self: self.layer.bias)

    def call(self, features: dict[Any, Any]) -> Tensor:
        return self.layer(features)
