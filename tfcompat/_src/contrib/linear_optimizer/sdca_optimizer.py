"""tf.contrib.linear_optimizer.SDCAOptimizer: the SdcaModel of the columns of an estimator of contrib.learn."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.crossed_column import _CrossedColumn
from tfcompat._src.contrib.layers.feature_column import _SparseColumn, _WeightedSparseColumn
from tfcompat._src.contrib.layers.real_valued_columns import _BucketizedColumn, _RealValuedColumn
from tfcompat._src.estimator.canned.sdca_model import SdcaModel
from tfcompat._src.estimator.canned.sparse_feature_column import SparseFeatureColumn, of_ids
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.composed.rank_checks import assert_rank_in
from tfcompat._src.ops.math.cast import cast


def _of_dense(matrix: Tensor) -> SparseFeatureColumn:
    """The elements of a matrix other than 0."""
    places = where(raw.NotEqual(matrix, cast(0.0, matrix.dtype)))
    return SparseFeatureColumn(places[:, 0], places[:, 1], cast(gather_nd(matrix, places), dtypes.float32))


@export("contrib.linear_optimizer.SDCAOptimizer")
class SDCAOptimizer:
    """Trains linear estimators of tf.contrib.learn by stochastic dual coordinate ascent.

    Args:
      example_id_column: the feature with the ids of examples, a string vector.
      num_loss_partitions: how many models are trained at once: workers times training operations of each.
      num_table_shards: shards of the table of examples; None: 1.
      symmetric_l1_regularization, symmetric_l2_regularization: weights of the penalties.
      adaptive: takes examples with a large gap more often.
      partitioner: divides the weights, or None.
    """

    def __init__(
        self, example_id_column: str, num_loss_partitions: int = 1, num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0, symmetric_l2_regularization: float = 1.0, adaptive: bool = True,
        partitioner: object = None,
    ) -> None:  # fmt: skip
        self._example_id_column, self._num_loss_partitions = example_id_column, num_loss_partitions
        self._num_table_shards, self._adaptive, self._partitioner = num_table_shards, adaptive, partitioner
        self._symmetric_l1_regularization = symmetric_l1_regularization
        self._symmetric_l2_regularization = symmetric_l2_regularization

    example_id_column = property(lambda self: self._example_id_column)
    num_loss_partitions = property(lambda self: self._num_loss_partitions)
    num_table_shards = property(lambda self: self._num_table_shards)
    symmetric_l1_regularization = property(lambda self: self._symmetric_l1_regularization)
    symmetric_l2_regularization = property(lambda self: self._symmetric_l2_regularization)
    adaptive = property(lambda self: self._adaptive)
    partitioner = property(lambda self: self._partitioner)

    def get_name(self) -> str:
        return "SDCAOptimizer"

    def get_train_step(
        self, columns_to_variables: dict, weight_column_name: str | None, loss_type: str, features: dict, targets: Tensor,
        global_step: object,
    ) -> tuple[SdcaModel, Operation]:  # fmt: skip
        """The model, and the operation that trains it.

        Args:
          columns_to_variables: the variables of each column.
          weight_column_name: the feature with the weights of examples; None: all are 1.
          loss_type: see SdcaModel.
          features: tensors by name, and by column.
          targets: the labels.
          global_step: a variable that counts, or None.

        Raises:
          ValueError: a column of a kind that is not supported.
        """
        dense, dense_weights, sparse, sparse_weights = [], [], [], []
        for column in sorted(columns_to_variables, key=lambda c: c.key):
            variables, tensor = columns_to_variables[column], features[column]
            if isinstance(column, _RealValuedColumn):
                with control_dependencies([assert_rank_in(tensor, (1, 2))]):
                    dense.append(reshape(tensor, [shape(tensor)[0], -1]))
                dense_weights.append(variables[0])
                continue
            sparse.append(self._sparse(column, tensor))
            sparse_weights.append(variables if len(variables) > 1 else variables[0])
        weights = reshape(features[weight_column_name], [-1]) if weight_column_name else ones([targets.shape[0]])
        model = SdcaModel(
            examples={
                "sparse_features": sparse, "dense_features": dense, "example_weights": weights,
                "example_labels": cast(reshape(targets, [-1]), dtypes.float32), "example_ids": features[self._example_id_column],
            },
            variables={"sparse_features_weights": sparse_weights, "dense_features_weights": dense_weights},
            options={
                "symmetric_l1_regularization": self._symmetric_l1_regularization, "loss_type": loss_type,
                "symmetric_l2_regularization": self._symmetric_l2_regularization, "adaptive": self._adaptive,
                "num_loss_partitions": self._num_loss_partitions, "num_table_shards": self._num_table_shards,
            },
        )  # fmt: skip
        return model, model.minimize(global_step=global_step)

    @staticmethod
    def _sparse(column: object, tensor: object) -> SparseFeatureColumn:
        if isinstance(column, _BucketizedColumn):
            return _of_dense(column._to_dnn_input_layer(tensor))
        if isinstance(column, _WeightedSparseColumn):
            return of_ids(column.id_tensor(tensor), column.weight_tensor(tensor))
        if isinstance(column, (_CrossedColumn, _SparseColumn)):
            return of_ids(tensor, None)
        raise ValueError(f"SDCAOptimizer does not support column type {type(column).__name__}.")
