"""tf.contrib.layers.crossed_column: hashes of the combinations of columns."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.feature_column import (
    _get_feature_config,
    _IdColumn,
    _LazyBuilderByColumnsToTensor,
    _SparseColumn,
)
from tfcompat._src.contrib.layers.real_valued_columns import _BucketizedColumn
from tfcompat._src.contrib.layers.sparse_feature_cross import sparse_feature_cross
from tfcompat._src.nodes.sparse_tensor import SparseTensor


class _CrossedColumn(
    _IdColumn,
    collections.namedtuple(
        "_CrossedColumn",
        ["columns", "hash_bucket_size", "hash_key", "combiner", "ckpt_to_load_from", "tensor_name_in_ckpt"],
    ),
):
    """See crossed_column."""

    _kind, _in_dnn = "CrossedColumn", "embedding_column"

    @staticmethod
    def _assert_is_crossable(column: object) -> None:
        if not isinstance(column, (_SparseColumn, _CrossedColumn, _BucketizedColumn)):
            raise TypeError(
                "columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn instances. "
                f"(column {column} is a {type(column).__name__})"
            )

    def __new__(
        cls, columns: Any, hash_bucket_size: int, hash_key: int | None, combiner: str = "sum",
        ckpt_to_load_from: object = None, tensor_name_in_ckpt: object = None,
    ) -> _CrossedColumn:  # fmt: skip
        for column in columns:
            cls._assert_is_crossable(column)
        if len(columns) < 2:
            raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
        if hash_bucket_size < 2:
            raise ValueError(f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}")
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
        ordered = tuple(sorted(columns, key=lambda column: column.name))
        return super().__new__(
            cls, ordered, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
        )

    name = property(lambda self: "_X_".join(sorted(column.name for column in self.columns)))
    length = property(lambda self: self.hash_bucket_size)

    @property
    def config(self) -> dict[str, Any]:
        return {key: feature for column in self.columns for key, feature in _get_feature_config(column).items()}

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        return None if self.ckpt_to_load_from is None else (self.ckpt_to_load_from, self.tensor_name_in_ckpt)

    def _leaves(self) -> list[Any]:
        """The columns, with those of crossed columns in their place."""
        leaves: list[Any] = []
        for column in self.columns:
            leaves += column._leaves() if isinstance(column, _CrossedColumn) else [column]
        return leaves

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        columns_to_tensors[self] = self._transform_feature(_LazyBuilderByColumnsToTensor(columns_to_tensors))

    def _transform_feature(self, inputs: Any) -> SparseTensor:
        crossed = [
            inputs.get(leaf.name) if isinstance(leaf, _SparseColumn) else leaf.to_sparse_tensor(inputs.get(leaf))
            for leaf in self._leaves()
        ]
        return sparse_feature_cross(
            crossed, hashed_output=True, num_buckets=self.hash_bucket_size, hash_key=self.hash_key, name="cross"
        )


@export("contrib.layers.crossed_column", "contrib.slim.crossed_column")
def crossed_column(
    columns: object, hash_bucket_size: int, combiner: str = "sum", ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None, hash_key: int | None = None,
) -> _CrossedColumn:  # fmt: skip
    """A column whose ids are hashes of the combinations of columns.

    Args:
      columns: two or more columns of ids without weights, bucketized or crossed ones.
      hash_bucket_size: the number of ids.
      combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      ckpt_to_load_from, tensor_name_in_ckpt: checkpoint, and the tensor in it, from which the weights start.
      hash_key: the key of the hashes; without one they are combined in an older way.

    Raises:
      TypeError: another column. ValueError: fewer columns or ids than 2, or one of checkpoint and tensor.
    """
    return _CrossedColumn(columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt)
