"""What canned models have in common: model functions with settings, checks of features, summaries of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.nn.zero_fraction import zero_fraction
from tfcompat._src.summary.summary import histogram, scalar
from tfcompat._src.variables.partitioners import min_max_variable_partitioner

V1_COLUMN_IN_V2 = (
    "Received a feature column from TensorFlow v1, but this is a TensorFlow v2 Estimator. Please either use v2 feature columns "
    "(accessible via tf.feature_column.* in TF 2.x) with this Estimator, or switch to a v1 Estimator for use with v1 feature "
    "columns (accessible via tf.compat.v1.estimator.* and tf.compat.v1.feature_column.*, respectively."
)


def model_fn_with(build: Callable, **settings: object) -> Callable:
    """The model function of an Estimator that calls `build` with these settings."""

    def _model_fn(features: object, labels: object, mode: str, config: object) -> Any:
        return build(features=features, labels=labels, mode=mode, config=config, **settings)

    return _model_fn


def check_features(features: object) -> None:
    """ValueError where features are no dict."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def partitioner_of(config: Any, **limits: Any) -> Callable:
    """The partitioner that gives each parameter server a part of a variable."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0, **limits)


def add_layer_summary(value: Tensor, tag: str) -> None:
    """Summaries of a layer's values: how many are 0, and how they are distributed."""
    scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    histogram(f"{tag}/activation", value)
