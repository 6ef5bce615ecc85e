"""The models of contrib.learn's canned estimators on feature columns, of contrib.layers or of tf.feature_column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.contrib.layers.core import dropout, fully_connected
from tfcompat._src.contrib.layers.embedding_columns import _EmbeddingColumn
from tfcompat._src.contrib.layers.feature_column import _FeatureColumn
from tfcompat._src.contrib.layers.feature_column_ops import (
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)  # fmt: skip
from tfcompat._src.feature_column.input_layer import input_layer
from tfcompat._src.feature_column.linear_model import linear_model
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.partitioners import min_max_variable_partitioner
from tfcompat._src.variables.scope import variable_scope


def feature_dict(features: object) -> dict[str, Any]:
    """Features as a dict; a single tensor has the name ""."""
    return features if isinstance(features, dict) else {"": features}


def made(optimizer: object) -> Any:
    """An optimizer, or what a function that gives one gives."""
    return optimizer() if callable(optimizer) else optimizer


def partitioner_of(config: Any, min_slice_size: int | None = None) -> Callable:
    """The partitioner that gives each parameter server a part of a variable."""
    replicas = config.num_ps_replicas if config else 0
    if min_slice_size is None:
        return min_max_variable_partitioner(max_partitions=replicas)
    return min_max_variable_partitioner(max_partitions=replicas, min_slice_size=min_slice_size)


def _are_of_layers(columns: Sequence[Any]) -> bool:
    return all(isinstance(column, _FeatureColumn) for column in columns)


def deep_logits(
    features: dict[str, Any], columns: Sequence[Any], hidden_units: Sequence[int], units: int, activation_fn: object,
    rate: float | None, input_partitioner: Callable, add_summary: Callable,
) -> tuple[Tensor, str]:  # fmt: skip
    """The logits of a fully connected network in the open scope "dnn", and the scope of its input layer.

    Args:
      features: dict of tensors.
      columns: dense columns.
      hidden_units: sizes of the hidden layers.
      units: size of the last dimension of the logits.
      activation_fn: function of the hidden layers' sums.
      rate: probability with which a value is dropped, or None.
      input_partitioner: partitioner of the embeddings.
      add_summary: function of a layer's values and name.
    """
    values, collections = tuple(features.values()), ["dnn"]
    with variable_scope("input_from_feature_columns", values=values, partitioner=input_partitioner) as input_scope:
        if _are_of_layers(columns):
            net = input_from_feature_columns(
                columns_to_tensors=features, feature_columns=columns, weight_collections=collections, scope=input_scope
            )
        else:
            net = input_layer(features=features, feature_columns=columns, weight_collections=collections)
    for number, size in enumerate(hidden_units):
        with variable_scope(f"hiddenlayer_{number}", values=(net,)) as scope:
            net = fully_connected(
                net, size, activation_fn=activation_fn, variables_collections=collections, scope=scope
            )
            if rate is not None:
                net = dropout(net, keep_prob=1.0 - rate)
        add_summary(net, scope.name)
    with variable_scope("logits", values=(net,)) as scope:
        logits = fully_connected(net, units, activation_fn=None, variables_collections=collections, scope=scope)
    add_summary(logits, scope.name)
    return logits, input_scope.name


def linear_logits(
    features: dict[str, Any], columns: Sequence[Any], units: int, joint_weights: bool, scope: object
) -> Tensor:
    """The logits of a linear model in the open scope "linear"."""
    if not _are_of_layers(columns):
        return linear_model(features=features, feature_columns=columns, units=units, weight_collections=["linear"])
    weigh = joint_weighted_sum_from_feature_columns if joint_weights else weighted_sum_from_feature_columns
    logits, _, _ = weigh(
        columns_to_tensors=features, feature_columns=columns, num_outputs=units, weight_collections=["linear"], scope=scope
    )
    return logits


def _get_embedding_variable(column: Any, collection_key: str, input_layer_scope: str) -> list[Any]:
    """The variables of an embedding column in the scope of an input layer."""
    return get_collection(collection_key, f"{input_layer_scope}/{column.name}")


def embedding_multipliers(multipliers: dict[Any, float] | None, collection: str, scope: str) -> dict[Any, float] | None:
    """Multipliers of gradients by variable, from those by embedding column; ValueError where a column has no variable."""
    if not multipliers:
        return None
    found = {}
    for column, multiplier in multipliers.items():
        if not isinstance(column, _EmbeddingColumn):
            raise ValueError(
                f"learning rate multipler can only be defined for embedding columns. It is defined for {column}"
            )
        variables = _get_embedding_variable(column, collection, scope)
        if not variables:
            raise ValueError(f"Couldn't find a variable for column {column}")
        found.update({variable: multiplier for variable in variables})
    return found
