"""Exports of estimators of tf.contrib.learn in the format of the time before SavedModels, with signatures as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.session_bundle import exporter, gc
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.collections import global_variables, local_variables_initializer, tables_initializer
from tfcompat._src.variables.training_util import create_global_step, get_global_step


def _needed(examples: object) -> None:
    if examples is None:
        raise ValueError("examples cannot be None when using this signature fn.")


def _of_key(predictions: Any, key: str) -> Tensor:
    return predictions[key] if isinstance(predictions, dict) else predictions


def generic_signature_fn(examples: Any, unused_features: object, predictions: object) -> tuple[Any, dict[str, Any]]:
    """A signature of all predictions by their names, with `examples` as "inputs".

    Args:
      examples: string Tensor of serialized Examples.
      unused_features: dict of features.
      predictions: Tensor ("outputs") or dict of them.

    Returns:
      (Signature message, {}): the default signature and those with names.

    Raises:
      ValueError: `examples` is None.
    """
    _needed(examples)
    outputs = predictions if isinstance(predictions, dict) else {"outputs": predictions}
    return exporter.generic_signature({"inputs": examples, **outputs}), {}


def classification_signature_fn(examples: Any, unused_features: object, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """A signature of classes, the prediction "classes"; otherwise as `generic_signature_fn`."""
    _needed(examples)
    return exporter.classification_signature(examples, classes_tensor=_of_key(predictions, "classes")), {}


def classification_signature_fn_with_prob(
    examples: Any, unused_features: object, predictions: Any
) -> tuple[Any, dict[str, Any]]:
    """A signature of scores, the prediction "probabilities"; otherwise as `generic_signature_fn`."""
    _needed(examples)
    return exporter.classification_signature(examples, scores_tensor=_of_key(predictions, "probabilities")), {}


def regression_signature_fn(examples: Any, unused_features: object, predictions: Any) -> tuple[Any, dict[str, Any]]:
    """A signature of one Tensor of numbers; otherwise as `generic_signature_fn`."""
    _needed(examples)
    return exporter.regression_signature(input_tensor=examples, output_tensor=predictions), {}


def logistic_regression_signature_fn(
    examples: Any, unused_features: object, predictions: object
) -> tuple[Any, dict[str, Any]]:
    """A signature of the second of two probabilities, as a regression; otherwise as `generic_signature_fn`."""
    _needed(examples)
    probabilities = _of_key(predictions, "probabilities")
    shape = probabilities.get_shape()
    if len(shape) != 2:
        logging.fatal(
            "Expected predictions to have rank 2, but received predictions with rank: %d and shape: %s", len(shape), shape
        )
    if shape[1] != 2:
        logging.fatal(
            "Expected predictions to have 2nd dimension: 2, but received predictions with 2nd dimension: %s and shape: %s. "
            "Did you mean to use regression_signature_fn or classification_signature_fn_with_prob instead?", shape[1], shape,
        )  # fmt: skip
    return exporter.regression_signature(input_tensor=examples, output_tensor=probabilities[:, 1]), {}


def _default_input_fn(estimator: Any, examples: Tensor) -> Any:
    return estimator._get_feature_ops_from_example(examples)


@export("contrib.learn.utils.export_estimator")
def export_estimator(
    estimator: object, export_dir: str, signature_fn: Callable | None = None, input_fn: Callable = _default_input_fn,
    default_batch_size: int | None = 1, exports_to_keep: int | None = None,
) -> None:  # fmt: skip
    """Exports the model of the latest checkpoint.

    Args:
      estimator: the estimator.
      export_dir: folder of all versions.
      signature_fn: function of examples, features and predictions that gives (Signature message, dict of them).
      input_fn: function of the estimator and a string Tensor of serialized Examples that gives features.
      default_batch_size: size of the batch that is served, None: any.
      exports_to_keep: how many of the latest versions are kept; by default all.

    Raises:
      ValueError: there are neither features nor examples.
    """
    _export_estimator(
        estimator, export_dir, signature_fn=signature_fn, input_fn=input_fn, default_batch_size=default_batch_size,
        exports_to_keep=exports_to_keep,
    )  # fmt: skip


def _export_estimator(
    estimator: Any, export_dir: str, signature_fn: Callable | None, input_fn: Callable | None,
    default_batch_size: int | None, exports_to_keep: int | None, input_feature_key: str | None = None,
    use_deprecated_input_fn: bool = True, prediction_key: str | None = None, checkpoint_path: str | None = None,
) -> bytes:  # fmt: skip
    if input_fn is None and not use_deprecated_input_fn:
        raise ValueError("input_fn must be defined.")
    checkpoint_path = checkpoint_path or latest_checkpoint(estimator._model_dir)
    with Graph().as_default() as graph:
        create_global_step(graph)
        if use_deprecated_input_fn:
            examples = placeholder(dtypes.string, shape=[default_batch_size], name="input_example_tensor")
            features = (input_fn or _default_input_fn)(estimator, examples)
        else:
            features, _ = input_fn()  # type: ignore[misc]
            examples = None if input_feature_key is None else features.pop(input_feature_key)
        if not features and examples is None:
            raise ValueError("Either features or examples must be defined.")
        predictions = estimator._get_predict_ops(features).predictions
        if prediction_key is not None:
            predictions = predictions[prediction_key]
        signature, named = _signature_fn(estimator, signature_fn)(examples, features, predictions)
        return _export_graph(graph, _get_saver(), checkpoint_path, export_dir, signature, named, exports_to_keep)


def _signature_fn(estimator: object, signature_fn: Callable | None) -> Callable:
    if signature_fn is not None:
        return signature_fn
    if hasattr(estimator, "_create_signature_fn"):
        return estimator._create_signature_fn()
    logging.warning("Using generic signatures. To keep this, pass signature_fn=export.generic_signature_fn.")
    return generic_signature_fn


def _get_saver() -> Saver | None:
    """The graph's Saver, made where there is none."""
    saver = next(iter(get_collection(GraphKeys.SAVERS)), None)
    if saver is None and global_variables():
        saver = Saver()
        add_to_collection(GraphKeys.SAVERS, saver)
    return saver


def _export_graph(
    graph: Graph, saver: Any, checkpoint_path: str | None, export_dir: str, default_graph_signature: object,
    named_graph_signatures: dict[str, Any], exports_to_keep: int | None,
) -> bytes:  # fmt: skip
    with graph.as_default(), Session("") as session:
        saver.restore(session, checkpoint_path)
        made = exporter.Exporter(saver)
        made.init(
            init_op=group(local_variables_initializer(), tables_initializer()),
            default_graph_signature=default_graph_signature, named_graph_signatures=named_graph_signatures,
            assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
        )  # fmt: skip
        kept = None if exports_to_keep is None else gc.largest_export_versions(exports_to_keep)
        return made.export(export_dir, get_global_step(), session, exports_to_keep=kept)
