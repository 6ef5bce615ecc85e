"""What boosted trees see of feature columns: vectors of bucket numbers, and how many buckets each has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    _CategoricalColumn,
    _DenseColumn,
    is_feature_column_v2,
)
from tfcompat._src.feature_column.indicator import Indicator
from tfcompat._src.feature_column.input_layer import _transform_features, _transform_features_v2
from tfcompat._src.feature_column.numeric import Bucketized
from tfcompat._src.feature_column.state import _StateManagerImpl
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import unstack
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.math.cast import to_int32

_OF_INDICATOR = 2
"""An indicator is there or not."""


def _refused(column: object) -> ValueError:
    if isinstance(column, (CategoricalColumn, _CategoricalColumn)):
        return ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    return ValueError(f"Got unexpected feature column type: {column}")


def _is_dense(column: object) -> bool:
    return isinstance(column, (DenseColumn, _DenseColumn))


def _number_of_ids(column: Any) -> int:
    categorical = column.categorical_column
    return categorical.num_buckets if hasattr(categorical, "num_buckets") else categorical._num_buckets


def _variable_shape(column: Any) -> Any:
    return column.variable_shape if is_feature_column_v2([column]) else column._variable_shape


def _size(column: object) -> int:
    """How many features a column gives."""
    if isinstance(column, Indicator):
        return _number_of_ids(column)
    if isinstance(column, Bucketized):
        return 1
    if not _is_dense(column):
        raise _refused(column)
    sizes = _variable_shape(column).as_list()
    return sizes[0] if sizes else 1


def is_float_column(column: Any) -> bool:
    """Whether a column gives floats, which are to be put into buckets by their quantiles.

    Raises:
      ValueError: it is a column of another kind.
    """
    if isinstance(column, (CategoricalColumn, _CategoricalColumn, Bucketized, Indicator)):
        return False
    if not _is_dense(column):
        raise ValueError(f"Encountered unexpected column {column}")
    return column.dtype.is_floating


def number_of_features(columns: Iterable[Any]) -> int:
    """How many features columns give; ValueError for a column of another kind."""
    return sum(_size(column) for column in columns)


def names_of_features(columns: Iterable[Any]) -> list[str]:
    """The name of the column of each feature; ValueError for a column of another kind."""
    names: list[str] = []
    for column in columns:
        name = column.categorical_column.name if isinstance(column, Indicator) else column.name
        names += [name] * _size(column)
    return names


def grouped_by_buckets(columns: Iterable[Any], num_quantiles: int) -> tuple[list[int], list[list[int]]]:
    """The numbers of features by how many buckets they have; all bucketized columns have as many as the largest of them.

    Args:
      columns: sorted by name.
      num_quantiles: how many buckets float features have.

    Returns:
      Numbers of buckets, and for each the list of features.
    """
    groups: dict[int, list[int]] = {}
    bucketized: list[int] = []
    largest, feature = _OF_INDICATOR, 0
    for column in columns:
        features = list(range(feature, feature := feature + _size(column)))
        if isinstance(column, Bucketized):
            largest = max(largest, len(column.boundaries) + 1)
            bucketized += features
        else:
            groups.setdefault(_OF_INDICATOR if isinstance(column, Indicator) else num_quantiles, []).extend(features)
    if bucketized:
        groups.setdefault(largest, []).extend(bucketized)
    return list(groups), list(groups.values())


def boundaries_by_column(float_columns: Iterable[Any], boundaries: list[Tensor]) -> dict[str, list[Tensor]]:
    """The bucket boundaries of each float column's features, by its name."""
    found, start = {}, 0
    for column in float_columns:
        found[column.name] = boundaries[start : start + _size(column)]
        start += _size(column)
    return found


def transformed(features: dict[str, Any], columns: Iterable[Any]) -> dict[Any, Any]:
    """What columns make of features, by column."""
    newer = [column for column in columns if is_feature_column_v2([column])]
    earlier = [column for column in columns if not is_feature_column_v2([column])]
    found = _transform_features_v2(features, newer, _StateManagerImpl(layer=None, trainable=False)) if newer else {}
    if earlier:
        found.update(_transform_features(features, earlier))
    return found


def feature_vectors(
    features: dict[str, Any], columns: list[Any], boundaries: dict[str, list[Tensor]] | None = None, known: dict[Any, Any] | None = None
) -> list[Tensor]:
    """A vector [batch] for each feature of columns.

    Args:
      features: by key.
      columns: sorted by name.
      boundaries: of float columns, by name, where their features are to be bucket numbers.
      known: what some columns have made of the features.

    Raises:
      ValueError: a column or its shape is not supported.
    """
    known = known or {}
    tensors = {**transformed(features, [column for column in columns if column not in known]), **known}
    found: list[Tensor] = []
    for column in columns:
        if isinstance(column, Bucketized):
            found.append(_vector(tensors[column], column, features))
        elif isinstance(column, Indicator):
            found += _indicators(tensors[column], column, features)
        elif _is_dense(column):
            found += _floats(tensors[column], column, boundaries)
        else:
            raise _refused(column)
    return found


def _vector(tensor: Tensor, column: Any, features: dict[str, Any]) -> Tensor:
    vector, name = squeeze(tensor, axis=1), column.source_column.name
    if len(vector.shape) > 1:
        raise ValueError(
            f"For now, only supports features equivalent to rank 1 but column `{name}` got: {features[name].shape}"
        )
    return vector


def _indicators(tensor: Tensor, column: Any, features: dict[str, Any]) -> list[Tensor]:
    tensor, name = to_int32(tensor), column.categorical_column.name
    if len(tensor.shape) > 2:
        raise ValueError(f"Rank of indicator column must be no more than 2, but column `{name}` got: {features[name].shape}")
    return unstack(tensor, axis=1)


def _floats(tensor: Tensor, column: Any, boundaries: dict[str, list[Tensor]] | None) -> list[Tensor]:
    if _variable_shape(column).rank > 1:
        raise ValueError(
            f"For now, we only support Dense column with rank of 1, but column `{column.name}` got: {_variable_shape(column)}"
        )
    vectors = unstack(tensor, axis=1)
    if not boundaries:
        return vectors
    return list(raw.BoostedTreesBucketize(vectors, boundaries[column.name]))
