"""Columns of the hashed combinations of several features."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    EarlierInterface,
    FeatureColumn,
    _CategoricalColumn,
    _FeatureColumn,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.categorical import HashedCategoricalColumn, _HashedCategoricalColumn
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.parsing.features import VarLenFeature
from tfcompat._src.ops.sparse.cross import sparse_cross_hashed

_CROSSED = ("keys", "hash_bucket_size", "hash_key")


class Crossed(EarlierInterface):
    """What columns of combinations do."""

    parents = property(lambda self: list(self.keys))
    num_buckets = property(lambda self: self.hash_bucket_size)

    @property
    def name(self) -> str:
        return "_X_".join(sorted(leaf if isinstance(leaf, str) else leaf.name for leaf in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        features: dict[str, Any] = {}
        for key in self.keys:
            columns = isinstance(key, (FeatureColumn, _FeatureColumn))
            features.update(parse_spec_of(key) if columns else {key: VarLenFeature(dtypes.string)})
        return features

    def _leaves(self) -> list[Any]:
        """The keys, with those of crossed columns in their place."""
        leaves: list[Any] = []
        for key in self.keys:
            leaves += key._leaves() if isinstance(key, Crossed) else [key]
        return leaves

    def transform_feature(self, transformation_cache: object, state_manager: object) -> SparseTensor:
        inputs = [self._leaf_input(leaf, transformation_cache, state_manager) for leaf in self._leaves()]
        return sparse_cross_hashed(inputs=inputs, num_buckets=self.hash_bucket_size, hash_key=self.hash_key)

    def _leaf_input(self, leaf: Any, transformation_cache: Any, state_manager: Any) -> Any:
        if isinstance(leaf, str):
            return transformation_cache.get(leaf, state_manager)
        if not isinstance(leaf, (CategoricalColumn, _CategoricalColumn)):
            raise ValueError(f"Unsupported column type. Given: {leaf}")
        pair = transformation_cache.sparse_tensors(leaf, state_manager)
        if pair.weight_tensor is not None:
            raise ValueError(
                "crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                f"Given column: {leaf.name}"
            )
        return pair.id_tensor

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)


@serializable
class CrossedColumn(
    Crossed, Configured, CategoricalColumn, _CategoricalColumn, collections.namedtuple("CrossedColumn", _CROSSED)
):
    """See crossed_column."""


class _CrossedColumn(Crossed, _CategoricalColumn, collections.namedtuple("_CrossedColumn", _CROSSED)):
    """CrossedColumn with the earlier interface alone."""


def _checked_crossed(keys: Any, hash_bucket_size: int, hash_key: Any, kinds: tuple[type, ...]) -> tuple:
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, *kinds)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, (HashedCategoricalColumn, _HashedCategoricalColumn)):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                f"increase probability of collision. Instead, use the feature name as a string. Given: {key}"
            )
    return tuple(keys), hash_bucket_size, hash_key


@export("feature_column.crossed_column")
def crossed_column(keys: object, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column whose ids are hashes of the combinations of features.

    Args:
      keys: two or more keys of string features and categorical columns that do not hash.
      hash_bucket_size: the number of ids.
      hash_key: start of the hashes.

    Raises:
      ValueError: fewer keys, one of another kind, or `hash_bucket_size` is below 1.
    """
    kinds = (CategoricalColumn, _CategoricalColumn)
    return CrossedColumn(*_checked_crossed(keys, hash_bucket_size, hash_key, kinds))


def _crossed_column(keys: object, hash_bucket_size: int, hash_key: int | None = None) -> _CrossedColumn:
    return _CrossedColumn(*_checked_crossed(keys, hash_bucket_size, hash_key, (_CategoricalColumn,)))
