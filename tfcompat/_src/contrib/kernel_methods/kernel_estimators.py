"""tf.contrib.kernel_methods.KernelLinearClassifier: a linear classifier of mapped features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.kernel_methods.mappers import DenseKernelMapper
from tfcompat._src.contrib.layers.real_valued_columns import _RealValuedColumn, real_valued_column
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import multi_class_head
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.linear import _linear_model_fn
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.ops.array.join import concat
from tfcompat._src.platform import logging

_Mappers = dict[Any, list[DenseKernelMapper]]


def _mapped(features: dict, columns: Iterable[Any], mappers: _Mappers | None) -> tuple[dict, Iterable[Any]]:
    """Features and columns, with those that the mappers of some columns add."""
    if mappers is None:
        return features, columns
    found, columns = dict(features), set(columns)
    for column, of_column in mappers.items():
        if not isinstance(column, _RealValuedColumn):
            logging.warning(
                "Updates are currently supported on RealValuedColumns only. Metadata for FeatureColumn %s will not be updated.",
                column.name,
            )
            continue
        name = column.name + "_MAPPED"
        columns.add(real_valued_column(name, sum(mapper.output_dim for mapper in of_column)))
        found[name] = concat([mapper.map(features[column.name]) for mapper in of_column], 1)
    return found, columns


def _model(features: Any, labels: object, mode: str, params: dict[str, Any], config: object = None) -> ModelFnOps:
    features, params["feature_columns"] = _mapped(features, params["feature_columns"], params["kernel_mappers"])
    return _linear_model_fn(features, labels, mode, params, config)


@export("contrib.kernel_methods.KernelLinearClassifier")
class KernelLinearClassifier(Estimator):
    """A linear classifier of features and of what kernel mappers make of them.

    Args:
      feature_columns: columns that are features themselves.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column_name: name of the feature with the examples' weights.
      optimizer: Optimizer, function that gives one, or its name; Ftrl by default.
      kernel_mappers: dict of lists of mappers by the real valued column that they map.
      config: a RunConfig.

    Raises:
      ValueError: fewer than 2 classes, neither columns nor mappers, or a value that is no mapper.
    """

    def __init__(
        self, feature_columns=None, model_dir=None, n_classes=2, weight_column_name=None, optimizer=None, kernel_mappers=None, config=None
    ) -> None:  # fmt: skip
        head = multi_class_head(n_classes=n_classes, weight_column_name=weight_column_name)
        if not feature_columns and not kernel_mappers:
            raise ValueError("You should set at least one of feature_columns, kernel_mappers.")
        if not all(
            isinstance(mapper, DenseKernelMapper) for each in (kernel_mappers or {}).values() for mapper in each
        ):
            raise ValueError("Invalid kernel mappers.")
        params = {
            "head": head, "feature_columns": feature_columns or [], "optimizer": optimizer, "kernel_mappers": kernel_mappers,
        }  # fmt: skip
        super().__init__(model_fn=_model, model_dir=model_dir, config=config, params=params)

    def _outputs(self, input_fn: Callable | None, key: str) -> Iterator[Any]:
        return (prediction[key] for prediction in self.predict(input_fn=input_fn, outputs=[key]))

    def predict_classes(self, input_fn: Callable | None = None) -> Iterator[np.int64]:
        """The class of each example that an input function gives."""
        return self._outputs(input_fn, PredictionKey.CLASSES)

    def predict_proba(self, input_fn: Callable | None = None) -> Iterator[np.ndarray]:
        """The probabilities [classes] of each example that an input function gives."""
        return self._outputs(input_fn, PredictionKey.PROBABILITIES)
