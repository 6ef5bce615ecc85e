"""Columns that count how often each id stands in an example."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.feature_column import utils
from tfcompat._src.feature_column.base import (
    DenseColumn,
    EarlierInterface,
    SequenceDenseColumn,
    _DenseColumn,
    _SequenceDenseColumn,
    num_buckets_of,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.sequence_feature_column import check_sequence
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.sparse.convert import sparse_merge, sparse_tensor_to_dense
from tfcompat._src.ops.sparse.layout import sparse_slice


class Indicator(EarlierInterface):
    """What columns of counts do."""

    kind, layer, sequence_layer = "indicator", "DenseFeatures", "SequenceFeatures"

    name = property(lambda self: f"{self.categorical_column.name}_indicator")
    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: parse_spec_of(self.categorical_column))
    variable_shape = property(lambda self: TensorShape([1, num_buckets_of(self.categorical_column)]))

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        ids, weights = transformation_cache.sparse_tensors(self.categorical_column, state_manager)
        buckets = num_buckets_of(self.categorical_column)
        if weights is not None:
            weighted = sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=buckets)
            weighted = sparse_slice(weighted, [0, 0], weighted.dense_shape)
            return scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        return reduce_sum(one_hot(dense, depth=buckets, on_value=1.0, off_value=0.0), axis=[-2])

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        check_sequence(self, state_manager, wanted=False)
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        check_sequence(self, state_manager, wanted=True)
        dense = transformation_cache.get(self, state_manager)
        ids = transformation_cache.sparse_tensors(self.categorical_column, state_manager).id_tensor
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, utils.sequence_length_from_sparse_tensor(ids))


@serializable
class IndicatorColumn(
    Indicator, Configured, DenseColumn, SequenceDenseColumn, _DenseColumn, _SequenceDenseColumn,
    collections.namedtuple("IndicatorColumn", "categorical_column"),
):  # fmt: skip
    """See indicator_column."""


class _IndicatorColumn(
    Indicator, _DenseColumn, _SequenceDenseColumn, collections.namedtuple("_IndicatorColumn", "categorical_column")
):
    """IndicatorColumn with the earlier interface alone."""

    layer, sequence_layer = "input_layer", "sequence_input_layer"


@export("feature_column.indicator_column")
def indicator_column(categorical_column: object) -> IndicatorColumn:
    """A dense column of how often (or with what weight) each id of a categorical column stands in an example."""
    return IndicatorColumn(categorical_column)


def _indicator_column(categorical_column: object) -> _IndicatorColumn:
    return _IndicatorColumn(categorical_column)
