"""Fully connected canned Estimators whose exported graphs say which tensors are features before and after their columns.

Only columns of the earlier interface are noted, as in 1.15.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from google.protobuf import any_pb2

from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.dnn import DNNClassifier, DNNRegressor
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.feature_column.input_layer import make_parse_example_spec, watching_input_layers
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.saved_model.tensor_info import build_tensor_info


class LayerAnnotationsCollectionNames:
    """The collections of a graph that say which tensors are features."""

    UNPROCESSED_FEATURES = "layer_annotations/unprocessed_features"
    PROCESSED_FEATURES = "layer_annotatons/processed_features"
    FEATURE_COLUMNS = "layer_annotations/feature_columns"

    @classmethod
    def keys(cls, collection_name: str) -> str:
        """The collection of the names."""
        return f"{collection_name}/keys"

    @classmethod
    def values(cls, collection_name: str) -> str:
        """The collection of the tensors, in the order of their names."""
        return f"{collection_name}/values"


def serialize_feature_column(feature_column: Any) -> bytes:
    """The column as bytes; the function of an embedding that makes its layer is left out."""
    fields = feature_column._asdict() if hasattr(feature_column, "_asdict") else {}
    return pickle.dumps(feature_column._replace(layer_creator=None) if "layer_creator" in fields else feature_column)


def _note(collection: str, name: str, tensor: object) -> None:
    """Adds a tensor to a collection, as a TensorInfo in an Any, and its name to the one beside it."""
    packed = any_pb2.Any()
    packed.Pack(build_tensor_info(tensor))
    add_to_collection(LayerAnnotationsCollectionNames.keys(collection), name)
    add_to_collection(LayerAnnotationsCollectionNames.values(collection), packed)


def _note_features(features: dict[Any, Any], columns: Iterable[Any], outputs: dict[Any, Any]) -> None:
    """Notes the features that columns take, the columns, and what they give."""
    for key in make_parse_example_spec(columns):
        _note(LayerAnnotationsCollectionNames.UNPROCESSED_FEATURES, key, convert_to_tensor_or_sparse_tensor(features[key]))
    for column in columns:
        add_to_collection(LayerAnnotationsCollectionNames.FEATURE_COLUMNS, serialize_feature_column(column))
    for column, tensor in outputs.items():
        _note(LayerAnnotationsCollectionNames.PROCESSED_FEATURES, column.name, tensor)


def _annotated(original: Estimator, model_dir: Any, config: Any, warm_start_from: Any) -> Estimator:
    """An Estimator of the same model whose graphs have the notes."""

    def model_fn(features: object, labels: object, mode: str, config: object) -> Any:
        with watching_input_layers(_note_features):
            return original.model_fn(features, labels, mode, config)

    return Estimator(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("contrib.estimator.DNNClassifierWithLayerAnnotations")
def DNNClassifierWithLayerAnnotations(
    hidden_units: Sequence[int], feature_columns: object, model_dir: object = None, n_classes: int = 2, weight_column: object = None,
    label_vocabulary: list[str] | None = None, optimizer: object = "Adagrad", activation_fn: Callable | None = relu, dropout: float | None = None,
    input_layer_partitioner: Callable | None = None, config: object = None, warm_start_from: object = None, loss_reduction: str = Reduction.SUM,
) -> Estimator:  # fmt: skip
    """A `tf.estimator.DNNClassifier` whose graphs say which tensors are features; the arguments are the same, and so are its checkpoints."""
    original = DNNClassifier(
        hidden_units, feature_columns, model_dir, n_classes, weight_column, label_vocabulary, optimizer, activation_fn, dropout,
        input_layer_partitioner, config, warm_start_from, loss_reduction,
    )  # fmt: skip
    return _annotated(original, model_dir, config, warm_start_from)


@export("contrib.estimator.DNNRegressorWithLayerAnnotations")
def DNNRegressorWithLayerAnnotations(
    hidden_units: Sequence[int], feature_columns: object, model_dir: object = None, label_dimension: int = 1, weight_column: object = None,
    optimizer: object = "Adagrad", activation_fn: Callable | None = relu, dropout: float | None = None,
    input_layer_partitioner: Callable | None = None, config: object = None, warm_start_from: object = None, loss_reduction: str = Reduction.SUM,
) -> Estimator:  # fmt: skip
    """A `tf.estimator.DNNRegressor` whose graphs say which tensors are features; the arguments are the same, and so are its checkpoints."""
    original = DNNRegressor(
        hidden_units, feature_columns, model_dir, label_dimension, weight_column, optimizer, activation_fn, dropout,
        input_layer_partitioner, config, warm_start_from, loss_reduction,
    )  # fmt: skip
    return _annotated(original, model_dir, config, warm_start_from)
