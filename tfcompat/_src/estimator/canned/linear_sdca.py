"""tf.estimator.experimental.LinearSDCA: stochastic dual coordinate ascent for linear estimators."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.sdca_model import SdcaModel
from tfcompat._src.estimator.canned.sparse_feature_column import of_ids
from tfcompat._src.feature_column.base import CategoricalColumn, DenseColumn, is_feature_column_v2
from tfcompat._src.feature_column.inputs import FeatureTransformationCache
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.platform import logging
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunHook


class _Model(SdcaModel):
    """The model that takes the L2 penalty as it is."""

    _SLOT = "_unshrunk"

    def _training_l2(self) -> float:
        return self._options["symmetric_l2_regularization"]


@export("estimator.experimental.LinearSDCA")
class LinearSDCA:
    """What `optimizer` of LinearClassifier (two classes) and LinearRegressor (one number) may be: dual coordinate ascent.

    Columns must be of the newer interface; `sparse_combiner` must be "sum".

    Args:
      example_id_column: the feature with the ids of examples, a string vector.
      num_loss_partitions: how many models are trained at once: the number of workers.
      num_table_shards: shards of the table of examples; None: 1.
      symmetric_l1_regularization: weight of the L1 penalty, not negative.
      symmetric_l2_regularization: weight of the L2 penalty, positive, as a rule more than 1.
      adaptive: takes examples with a large gap more often.
    """

    def __init__(
        self, example_id_column: str, num_loss_partitions: int = 1, num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0, symmetric_l2_regularization: float = 1.0, adaptive: bool = False,
    ) -> None:  # fmt: skip
        self._example_id_column = example_id_column
        self._options = {
            "symmetric_l1_regularization": symmetric_l1_regularization, "symmetric_l2_regularization": symmetric_l2_regularization,
            "adaptive": adaptive, "num_loss_partitions": num_loss_partitions, "num_table_shards": num_table_shards,
        }  # fmt: skip

    def get_train_step(
        self, state_manager: Any, weight_column_name: str | None, loss_type: str, feature_columns: Any, features: dict,
        targets: Tensor, bias_var: object, global_step: object,
    ) -> tuple[SdcaModel, Operation]:  # fmt: skip
        """The model, and the operation that trains it.

        Args:
          state_manager: has the variable "weights" of each column.
          weight_column_name: the feature with the weights of examples; None: all are 1.
          loss_type: "logistic_loss" or "squared_loss".
          feature_columns: dense and categorical columns.
          features: tensors by name.
          targets: the labels.
          bias_var: the variable of the bias.
          global_step: a variable that counts, or None.

        Raises:
          ValueError: a column of a kind that is not supported, a dense one of several dimensions, or a penalty out of range.
        """
        self._check_penalties()
        batch, cache = shape(targets)[0], FeatureTransformationCache(features)
        dense, dense_weights, sparse, sparse_weights = [], [], [], []
        for column in sorted(feature_columns, key=lambda c: c.name):
            if isinstance(column, CategoricalColumn):
                found = column.get_sparse_tensors(cache, state_manager)
                sparse.append(of_ids(found.id_tensor, found.weight_tensor))
                sparse_weights.append(state_manager.get_variable(column, "weights"))
            elif isinstance(column, DenseColumn):
                if column.variable_shape.ndims != 1:
                    raise ValueError(f"Column {type(column).__name__} has rank {column.variable_shape.ndims}, larger than 1.")
                dense.append(column.get_dense_tensor(cache, state_manager))
                dense_weights.append(state_manager.get_variable(column, "weights"))
            else:
                raise ValueError(f"LinearSDCA does not support column type {type(column).__name__}.")
        weights = reshape(features[weight_column_name], [-1]) if weight_column_name else ones([batch])
        model = _Model(
            examples={
                "sparse_features": sparse, "dense_features": [*dense, ones([batch, 1])], "example_weights": weights,
                "example_labels": cast(reshape(targets, [-1]), dtypes.float32), "example_ids": features[self._example_id_column],
            },
            variables={"sparse_features_weights": sparse_weights, "dense_features_weights": [*dense_weights, bias_var]},
            options={**self._options, "loss_type": loss_type},
        )  # fmt: skip
        return model, model.minimize(global_step=global_step)

    def _check_penalties(self) -> None:
        if self._options["symmetric_l2_regularization"] <= 0.0:
            raise ValueError("symmetric_l2_regularization should be positive.")
        if self._options["symmetric_l2_regularization"] <= 1.0:
            logging.warning(
                "symmetric_l2_regularization of LinearSDCA is at most 1; it should as a rule be larger than for other optimizers: "
                "about the mean L2 norm of the training examples."
            )
        if self._options["symmetric_l1_regularization"] < 0.0:
            raise ValueError("symmetric_l1_regularization should be non-negative.")


class UpdateWeightsHook(SessionRunHook):
    """Makes the weights from what was trained, in each step."""

    def __init__(self, model: SdcaModel, train_op: Operation) -> None:
        self._model, self._train_op = model, train_op

    def begin(self) -> None:
        self._update_op = self._model.update_weights(self._train_op)

    def before_run(self, run_context: object) -> SessionRunArgs:
        return SessionRunArgs(self._update_op)


def check_settings(optimizer: object, feature_columns: object, sparse_combiner: str) -> bool:
    """Whether the optimizer is a LinearSDCA; ValueError where it is and other settings do not suit it."""
    if not isinstance(optimizer, LinearSDCA):
        return False
    if sparse_combiner != "sum":
        raise ValueError('sparse_combiner must be "sum" when optimizer is a LinearSDCA object.')
    if not is_feature_column_v2(feature_columns):
        raise ValueError("V2 feature columns required when optimizer is a LinearSDCA object.")
    return True
