"""Columns of ids: hashed, given as they are, found in a vocabulary, or with weights."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column import utils
from tfcompat._src.feature_column.base import (
    CategoricalColumn,
    EarlierInterface,
    _CategoricalColumn,
    num_buckets_of,
    parse_spec_of,
)  # fmt: skip
from tfcompat._src.feature_column.inputs import to_sparse_input
from tfcompat._src.feature_column.serialization import Configured, serializable
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.lookup.vocabulary import index_table_from_file, index_table_from_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_less
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_or
from tfcompat._src.ops.parsing.features import VarLenFeature
from tfcompat._src.ops.strings.hashing import string_to_hash_bucket_fast
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.platform import file_io, logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType

_HASHED = ("key", "hash_bucket_size", "dtype")
_FILE = ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value")
_LIST = ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets")
_WEIGHTED = ("categorical_column", "weight_feature_key", "dtype")


class _Keyed(EarlierInterface):
    """What columns of ids of one feature do."""

    name = property(lambda self: self.key)
    parents = property(lambda self: [self.key])
    parse_example_spec = property(lambda self: {self.key: VarLenFeature(self.dtype)})

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)

    def _sparse_input(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        return to_sparse_input(transformation_cache.get(self.key, state_manager))

    def _check_kind(self, values: SparseTensor) -> None:
        if self.dtype.is_integer != values.dtype.is_integer:
            raise ValueError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: {self.dtype}, "
                f"tensor dtype: {values.dtype}"
            )

    def _check_input_dtype(self, values: SparseTensor) -> None:
        utils.assert_string_or_int(values.dtype, prefix=f"column_name: {self.key} input_tensor")


class Hashed(_Keyed):
    """What columns of hashed ids do."""

    num_buckets = property(lambda self: self.hash_bucket_size)

    def transform_feature(self, transformation_cache: object, state_manager: object) -> SparseTensor:
        sparse = self._sparse_input(transformation_cache, state_manager)
        self._check_input_dtype(sparse)
        self._check_kind(sparse)
        texts = sparse.values if self.dtype == dtypes.string else as_string(sparse.values)
        ids = string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")
        return SparseTensor(sparse.indices, ids, sparse.dense_shape)


@serializable
class HashedCategoricalColumn(
    Hashed,
    Configured,
    CategoricalColumn,
    _CategoricalColumn,
    collections.namedtuple("HashedCategoricalColumn", _HASHED),
):
    """See categorical_column_with_hash_bucket."""


class _HashedCategoricalColumn(Hashed, _CategoricalColumn, collections.namedtuple("_HashedCategoricalColumn", _HASHED)):
    """HashedCategoricalColumn with the earlier interface alone."""


class _Vocabulary(_Keyed):
    def transform_feature(self, transformation_cache: object, state_manager: Any) -> SparseTensor:
        sparse = self._sparse_input(transformation_cache, state_manager)
        self._check_kind(sparse)
        self._check_input_dtype(sparse)
        key_dtype = self.dtype
        if sparse.dtype.is_integer:
            key_dtype = dtypes.int64
            sparse = cast(sparse, dtypes.int64)
        name = f"{self.key}_lookup"
        table = self._table(key_dtype, name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table.lookup(sparse)


class VocabularyFile(_Vocabulary):
    """What columns of the words of a file do."""

    num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

    def _table(self, key_dtype: object, name: str) -> Any:
        return index_table_from_file(
            vocabulary_file=self.vocabulary_file, num_oov_buckets=self.num_oov_buckets, vocab_size=self.vocabulary_size,
            default_value=self.default_value, key_dtype=key_dtype, name=name,
        )  # fmt: skip


@serializable
class VocabularyFileCategoricalColumn(
    VocabularyFile, Configured, CategoricalColumn, _CategoricalColumn,
    collections.namedtuple("VocabularyFileCategoricalColumn", _FILE),
):  # fmt: skip
    """See categorical_column_with_vocabulary_file."""


class _VocabularyFileCategoricalColumn(
    VocabularyFile, _CategoricalColumn, collections.namedtuple("_VocabularyFileCategoricalColumn", _FILE)
):
    """VocabularyFileCategoricalColumn with the earlier interface alone."""


class VocabularyList(_Vocabulary):
    """What columns of the words of a list do."""

    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _table(self, key_dtype: Any, name: str) -> Any:
        return index_table_from_tensor(
            vocabulary_list=tuple(self.vocabulary_list), default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets, dtype=key_dtype, name=name,
        )  # fmt: skip


@serializable
class VocabularyListCategoricalColumn(
    VocabularyList, Configured, CategoricalColumn, _CategoricalColumn,
    collections.namedtuple("VocabularyListCategoricalColumn", _LIST),
):  # fmt: skip
    """See categorical_column_with_vocabulary_list."""


class _VocabularyListCategoricalColumn(
    VocabularyList, _CategoricalColumn, collections.namedtuple("_VocabularyListCategoricalColumn", _LIST)
):
    """VocabularyListCategoricalColumn with the earlier interface alone."""


class Identity(_Keyed):
    """What columns of integers that are ids do."""

    dtype = dtypes.int64
    _select = staticmethod(where_v2)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        sparse = self._sparse_input(transformation_cache, state_manager)
        if not sparse.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {sparse.dtype}")
        ids = cast(sparse.values, dtypes.int64, name="values")
        limit = cast(self.num_buckets, dtypes.int64, name="num_buckets")
        zero = cast(0, dtypes.int64, name="zero")
        ids = self._checked(ids, limit, zero) if self.default_value is None else self._replaced(ids, limit, zero)
        return SparseTensor(indices=sparse.indices, values=ids, dense_shape=sparse.dense_shape)

    def _checked(self, ids: Any, limit: Any, zero: Any) -> Any:
        column = f'for categorical column "{self.name}"'
        below = assert_less(
            ids, limit, data=(ids, limit), message=f"Bucket index {column} exceeds number of buckets",
            name="assert_less_than_num_buckets",
        )  # fmt: skip
        above = assert_greater_equal(
            ids, zero, data=(ids,), message=f"Negative bucket index {column}", name="assert_greater_or_equal_0"
        )
        with control_dependencies((below, above)):
            return identity(ids)

    def _replaced(self, ids: Any, limit: Any, zero: Any) -> Any:
        outside = logical_or(ids < zero, ids >= limit, name="out_of_range")
        default = fill(shape_of(ids), cast(self.default_value, dtypes.int64), name="default_values")
        return self._select(outside, default, ids)


@serializable
class IdentityCategoricalColumn(
    Identity, Configured, CategoricalColumn, _CategoricalColumn,
    collections.namedtuple("IdentityCategoricalColumn", ("key", "number_buckets", "default_value")),
):  # fmt: skip
    """See categorical_column_with_identity."""

    num_buckets = property(lambda self: self.number_buckets)


class _IdentityCategoricalColumn(
    Identity, _CategoricalColumn,
    collections.namedtuple("_IdentityCategoricalColumn", ("key", "num_buckets", "default_value")),
):  # fmt: skip
    """IdentityCategoricalColumn with the earlier interface alone."""

    _select = staticmethod(where)


class Weighted(EarlierInterface):
    """What columns of ids with weights do."""

    name = property(lambda self: f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}")
    parents = property(lambda self: [self.categorical_column, self.weight_feature_key])
    num_buckets = property(lambda self: num_buckets_of(self.categorical_column))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        features = parse_spec_of(self.categorical_column)
        if self.weight_feature_key in features:
            raise ValueError(
                f"Parse config {features[self.weight_feature_key]} already exists for {self.weight_feature_key}."
            )
        return {**features, self.weight_feature_key: VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> tuple:
        weights = self._weights(transformation_cache.get(self.weight_feature_key, state_manager))
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def _weights(self, weights: TensorLike) -> SparseTensor:
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights = convert_to_tensor_or_sparse_tensor(weights)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse_input(weights, ignore_value=0.0)
        return weights if weights.dtype.is_floating else cast(weights, dtypes.float32)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        return CategoricalColumn.IdWeightPair(*transformation_cache.get(self, state_manager))


@serializable
class WeightedCategoricalColumn(
    Weighted, Configured, CategoricalColumn, _CategoricalColumn,
    collections.namedtuple("WeightedCategoricalColumn", _WEIGHTED),
):  # fmt: skip
    """See weighted_categorical_column."""


class _WeightedCategoricalColumn(
    Weighted, _CategoricalColumn, collections.namedtuple("_WeightedCategoricalColumn", _WEIGHTED)
):
    """WeightedCategoricalColumn with the earlier interface alone."""


def _checked_hashed(key: str, hash_bucket_size: int, dtype: Any = dtypes.string) -> tuple:
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    utils.assert_key_is_string(key)
    utils.assert_string_or_int(dtype, prefix=f"column_name: {key}")
    return key, hash_bucket_size, dtype


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: object = dtypes.string
) -> HashedCategoricalColumn:
    """A column whose ids are hashes of a feature; in a dense feature, "" and -1 stand for no value.

    Args:
      key: of the feature.
      hash_bucket_size: the number of ids.
      dtype: string or an integer one, which is hashed as text.

    Raises:
      ValueError: the number is missing or below 1, the key is no string, or another dtype.
    """
    return HashedCategoricalColumn(*_checked_hashed(key, hash_bucket_size, dtype))


def _categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: object = dtypes.string
) -> _HashedCategoricalColumn:
    return _HashedCategoricalColumn(*_checked_hashed(key, hash_bucket_size, dtype))


def _check_oov(num_oov_buckets: Any, default_value: object, default: object, key: str) -> None:
    if not num_oov_buckets:
        return
    if default_value != default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def _checked_file(
    key: str, vocabulary_file: object, vocabulary_size: Any, num_oov_buckets: object, default_value: object, dtype: Any
) -> tuple:
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not file_io.exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with file_io.FileIO(vocabulary_file, "r") as lines:
            vocabulary_size = sum(1 for _ in lines)
        logging.info(
            "vocabulary_size = %d in %s is inferred from the number of elements in the vocabulary_file %s.",
            vocabulary_size, key, vocabulary_file,
        )  # fmt: skip
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_oov(num_oov_buckets, default_value, None, key)
    utils.assert_string_or_int(dtype, prefix=f"column_name: {key}")
    utils.assert_key_is_string(key)
    return (
        key,
        vocabulary_file,
        vocabulary_size,
        num_oov_buckets or 0,
        dtype,
        -1 if default_value is None else default_value,
    )


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: object, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
    default_value: int | None = None, dtype: object = dtypes.string,
) -> VocabularyFileCategoricalColumn:  # fmt: skip
    """A column whose ids are the lines of a file in which the words of a feature stand.

    Args:
      key: of the feature; where it is dense, "" and -1 stand for no value.
      vocabulary_file: path of the words, one a line.
      vocabulary_size: how many of them are used; by default all.
      num_oov_buckets: number of further ids, among which other words are hashed.
      default_value: id of other words where there are none; -1 (they are left out) by default.
      dtype: string or an integer one.

    Raises:
      ValueError: there is no file, a number is negative, both ways for other words are given, or another dtype.
    """
    return VocabularyFileCategoricalColumn(
        *_checked_file(key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype)
    )


@export("compat.v2.feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file_v2(
    key: str, vocabulary_file: object, vocabulary_size: int | None = None, dtype: object = dtypes.string,
    default_value: int | None = None, num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:  # fmt: skip
    """`categorical_column_with_vocabulary_file` with the arguments in the order of TensorFlow 2."""
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )


def _categorical_column_with_vocabulary_file(
    key: str, vocabulary_file: object, vocabulary_size: int | None = None, num_oov_buckets: int = 0,
    default_value: int | None = None, dtype: object = dtypes.string,
) -> _VocabularyFileCategoricalColumn:  # fmt: skip
    return _VocabularyFileCategoricalColumn(
        *_checked_file(key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype)
    )


def _checked_list(key: str, vocabulary_list: Any, dtype: Any, default_value: int, num_oov_buckets: int) -> tuple:
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    found = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_oov(num_oov_buckets, default_value, -1, key)
    utils.assert_string_or_int(found, prefix=f"column_name: {key} vocabulary")
    if dtype is not None and dtype.is_integer != found.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {found} do not match, column_name: {key}")
    dtype = found if dtype is None else dtype
    utils.assert_string_or_int(dtype, prefix=f"column_name: {key}")
    utils.assert_key_is_string(key)
    return key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> VocabularyListCategoricalColumn:
    """A column whose ids are the places in a list at which the words of a feature stand.

    Args:
      key: of the feature; where it is dense, "" and -1 stand for no value.
      vocabulary_list: the words, strings or integers.
      dtype: string or an integer one; by default that of the words.
      default_value: id of other words; by default they are left out.
      num_oov_buckets: number of further ids, among which other words are hashed.

    Raises:
      ValueError: the list is empty or repeats a word, a number is negative, both ways for other words are given, or
        the dtype does not fit.
    """
    return VocabularyListCategoricalColumn(*_checked_list(key, vocabulary_list, dtype, default_value, num_oov_buckets))


def _categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> _VocabularyListCategoricalColumn:
    return _VocabularyListCategoricalColumn(*_checked_list(key, vocabulary_list, dtype, default_value, num_oov_buckets))


def _checked_identity(key: str, num_buckets: int, default_value: int | None = None) -> tuple:
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    utils.assert_key_is_string(key)
    return key, num_buckets, default_value


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """A column whose ids are the integers of a feature.

    Args:
      key: of the feature; where it is dense, -1 stands for no value.
      num_buckets: the number of ids.
      default_value: id that stands for integers outside [0, num_buckets); by default they are errors of the run.

    Raises:
      ValueError: `num_buckets` is below 1, the default is no id, or the key is no string.
    """
    return IdentityCategoricalColumn(*_checked_identity(key, num_buckets, default_value))


def _categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> _IdentityCategoricalColumn:
    return _IdentityCategoricalColumn(*_checked_identity(key, num_buckets, default_value))


def _check_weights(dtype: DType) -> None:
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: object, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """A column of ids with weights, which another feature holds at the same places.

    Args:
      categorical_column: the column of the ids.
      weight_feature_key: key of the feature of the weights.
      dtype: of the weights, floating or an integer one.

    Raises:
      ValueError: another dtype.
    """
    _check_weights(dtype)
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def _weighted_categorical_column(
    categorical_column: object, weight_feature_key: str, dtype: Any = dtypes.float32
) -> _WeightedCategoricalColumn:
    _check_weights(dtype)
    return _WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)
