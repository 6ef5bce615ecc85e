"""What names metrics: tf.keras.metrics.get, serialize and deserialize; copies of metrics."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import init_scope
from tfcompat._src.keras import losses
from tfcompat._src.keras.metrics import confusion, metric, wrapped
from tfcompat._src.keras.metrics.metric import Metric
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object

_FUNCTIONS = (
    "binary_crossentropy", "categorical_crossentropy", "categorical_hinge", "cosine_proximity", "cosine_similarity",
    "hinge", "kullback_leibler_divergence", "logcosh", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "poisson", "sparse_categorical_crossentropy",
    "squared_hinge", "mse", "MSE", "mae", "MAE", "mape", "MAPE", "msle", "MSLE",
)  # fmt: skip
_NAMES = {**{f: getattr(losses, f) for f in _FUNCTIONS}, **vars(metric), **vars(wrapped), **vars(confusion)}


def clone_metric(metric: object) -> Any:
    """A new metric with the configuration of `metric`; anything else itself."""
    if not isinstance(metric, Metric):
        return metric
    with init_scope():
        return type(metric).from_config(metric.get_config())


def clone_metrics(metrics: Any) -> Any:
    """`clone_metric` of each in a list or dict."""
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        return {key: clone_metric(value) for key, value in metrics.items()}
    return [clone_metric(m) for m in metrics]


@export("keras.metrics.serialize")
def serialize(metric: object) -> Any:
    """The name of a metric function, or the configuration of a metric."""
    return serialize_keras_object(metric)


@export("keras.metrics.deserialize")
def deserialize(config: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The metric that `serialize` gave `config` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        config, module_objects=_NAMES, custom_objects=custom_objects, printable_module_name="metric function"
    )


@export("keras.metrics.get")
def get(identifier: object) -> Any:
    """The metric of a name or configuration, or a function itself; ValueError for anything else."""
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")
