"""tf.contrib.layers' columns of ids: hashed, integers, of vocabularies, weighted, and as counts."""

from __future__ import annotations

import abc
import collections
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.layers.flatten import as_rank, inner_flatten
from tfcompat._src.contrib.layers.sparse_ops import dense_to_sparse_tensor
from tfcompat._src.contrib.lookup.tables import index_table_from_tensor
from tfcompat._src.feature_column.base import _CategoricalColumn, _DenseColumn
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.vocabulary import index_table_from_file
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.parsing.features import VarLenFeature
from tfcompat._src.ops.sparse.combine import sparse_concat
from tfcompat._src.ops.sparse.convert import sparse_merge, sparse_tensor_to_dense
from tfcompat._src.ops.sparse.layout import sparse_slice
from tfcompat._src.ops.strings.hashing import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.platform import logging
from tfcompat._src.variables.initializers import Zeros

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DType

_LinearEmbeddingLookupArguments = collections.namedtuple(
    "_LinearEmbeddingLookupArguments", ["input_tensor", "weight_tensor", "vocab_size", "initializer", "combiner"]
)
_SPARSE = ("column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype")


class _FeatureColumn(abc.ABC):
    """A column of tf.contrib.layers; those that are also columns of tf.feature_column work there."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Of the column and its scopes."""

    @property
    @abc.abstractmethod
    def config(self) -> dict[str, Any]:
        """The features that it needs, by key."""

    key = property(lambda self: str(self))
    _parse_example_spec = property(lambda self: self.config)

    @abc.abstractmethod
    def _transform_feature(self, inputs: Any) -> Any:
        """The tensors of the column, of what `inputs.get` gives for features and columns."""

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Adds the tensors of the column to those of features and columns."""
        columns_to_tensors[self] = self._transform_feature(_TensorsOfFeatures(columns_to_tensors))

    def _to_dnn_input_layer(
        self, input_tensor: Any, weight_collections: Any = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        raise ValueError("Calling an abstract method.")

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        raise NotImplementedError(f"No deep embedding lookup arguments for column {self}.")

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> _LinearEmbeddingLookupArguments:
        raise NotImplementedError(f"No wide embedding lookup arguments for column {self}.")

    def _to_dense_tensor(self, input_tensor: Any) -> Tensor:
        raise NotImplementedError(f"No dense tensor representation for column {self}.")

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        return None

    def _key_without_properties(self, properties: list[str]) -> str:
        shown = (f"{field}={value}" for field, value in zip(self._fields, self) if field not in properties)
        return f"{type(self).__name__}({', '.join(shown)})"


class _LazyBuilderByColumnsToTensor:
    """Gives the tensors of features and columns in a dict, and adds those of columns that are not in it."""

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors

    def get(self, key: Any) -> Any:
        """The tensors of a feature or column; ValueError for a missing feature, TypeError for another `key`."""
        if key not in self._columns_to_tensors:
            if isinstance(key, str):
                raise ValueError(f"features dictionary doesn't contain key ({key})")
            if not isinstance(key, _FeatureColumn):
                raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
            key.insert_transformed_feature(self._columns_to_tensors)
        return self._columns_to_tensors[key]


class _TensorsOfFeatures(_LazyBuilderByColumnsToTensor):
    """The same, where a missing feature is the dict's KeyError."""

    def get(self, key: object) -> Any:
        return self._columns_to_tensors[key] if isinstance(key, str) else super().get(key)


class _IdColumn(_FeatureColumn, _CategoricalColumn):
    """A column whose tensors are ids, or ids and weights."""

    _num_buckets = property(lambda self: self.length)

    def id_tensor(self, input_tensor: Any) -> SparseTensor:
        """The ids of the tensors of the column."""
        return input_tensor

    def weight_tensor(self, input_tensor: Any) -> SparseTensor | None:
        """The weights of the tensors of the column, or None."""
        return None

    def _get_sparse_tensors(self, inputs: Any, weight_collections: object = None, trainable: object = None) -> Any:
        tensors = inputs.get(self)
        return self.IdWeightPair(self.id_tensor(tensors), self.weight_tensor(tensors))

    def _wide_embedding_lookup_arguments(self, input_tensor: object) -> _LinearEmbeddingLookupArguments:
        return _LinearEmbeddingLookupArguments(
            self.id_tensor(input_tensor), self.weight_tensor(input_tensor), self._num_buckets, Zeros(), self.combiner
        )

    def _to_dnn_input_layer(
        self, input_tensor: Any, weight_collections: Any = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        raise ValueError(
            f"{self._kind} is not supported in DNN. Please use {self._in_dnn}. column: {self}"
        )  # fmt: skip


class _SparseIdLookupConfig(
    collections.namedtuple(
        "_SparseIdLookupConfig", ["vocabulary_file", "keys", "num_oov_buckets", "vocab_size", "default_value"]
    )
):
    """The vocabulary of a column."""

    def __new__(
        cls, vocabulary_file: object = None, keys: object = None, num_oov_buckets: int = 0, vocab_size: int | None = None,
        default_value: int = -1,
    ) -> _SparseIdLookupConfig:  # fmt: skip
        return super().__new__(cls, vocabulary_file, keys, num_oov_buckets, vocab_size, default_value)


class _SparseColumn(_IdColumn, collections.namedtuple("_SparseColumn", _SPARSE)):
    """A column of the ids of one feature; a class says how they are made (`_do_transform`)."""

    _kind, _in_dnn = "SparseColumn", "embedding_column or one_hot_column"

    def __new__(
        cls, column_name: str, is_integerized: bool = False, bucket_size: int | None = None, lookup_config: Any = None,
        combiner: str = "sum", dtype: Any = dtypes.string,
    ) -> _SparseColumn:  # fmt: skip
        where = f"column_name: {column_name}"
        if is_integerized and bucket_size is None:
            raise ValueError(f"bucket_size must be set if is_integerized is True. {where}")
        if is_integerized and not dtype.is_integer:
            raise ValueError(f"dtype must be an integer if is_integerized is True. dtype: {dtype}, {where}.")
        if dtype != dtypes.string and not dtype.is_integer:
            raise ValueError(f"dtype must be string or integer. dtype: {dtype}, {where}")
        if bucket_size is None and lookup_config is None:
            raise ValueError(f"one of bucket_size or lookup_config must be set. {where}")
        if bucket_size is not None and lookup_config:
            raise ValueError(f"one and only one of bucket_size or lookup_config must be set. {where}")
        if bucket_size is not None and bucket_size < 1:
            raise ValueError(f"bucket_size must be at least 1. bucket_size: {bucket_size}, {where}")
        if lookup_config and not isinstance(lookup_config, _SparseIdLookupConfig):
            raise TypeError(
                "lookup_config must be an instance of _SparseIdLookupConfig. Given one is in type "
                f"{type(lookup_config)} for column_name {column_name}"
            )
        if lookup_config and lookup_config.vocabulary_file and lookup_config.vocab_size is None:
            raise ValueError(f"vocab_size must be defined. {where}")
        return super().__new__(cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype)

    name = property(lambda self: self.column_name)
    config = property(lambda self: {self.column_name: VarLenFeature(self.dtype)})

    @property
    def length(self) -> int:
        """The number of ids."""
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    def is_compatible(self, other_column: Any) -> bool:
        """Whether another column may share embeddings with this one."""
        if self.lookup_config and other_column.lookup_config:
            return self.lookup_config == other_column.lookup_config
        integers = self.dtype.is_integer and other_column.dtype.is_integer
        compatible = self.length == other_column.length and (self.dtype == other_column.dtype or integers)
        if compatible:
            logging.warning(f"Column {self.name} and {other_column.name} may not have the same vocabulary.")
        return compatible

    def _transform_feature(self, inputs: Any) -> SparseTensor:
        feature = inputs.get(self.name)
        if not isinstance(feature, SparseTensor):
            missing = "" if feature.dtype == dtypes.string else -1
            feature = dense_to_sparse_tensor(as_rank(feature, 2, self.name), ignore_value=missing)
        return self._do_transform(feature)

    @abc.abstractmethod
    def _do_transform(self, input_tensor: SparseTensor) -> SparseTensor:
        """The ids of the elements of a feature."""


class _SparseColumnIntegerized(_SparseColumn):
    def _do_transform(self, input_tensor: SparseTensor) -> SparseTensor:
        ids = floormod(input_tensor.values, self.bucket_size, name="mod")
        return SparseTensor(input_tensor.indices, ids, input_tensor.dense_shape)


class _SparseColumnHashed(_SparseColumn):
    def __new__(
        cls, column_name: str, is_integerized: bool = False, bucket_size: int | None = None, lookup_config: object = None,
        combiner: str = "sum", dtype: object = dtypes.string, hash_keys: object = None,
    ) -> _SparseColumnHashed:  # fmt: skip
        if hash_keys is not None:
            if not isinstance(hash_keys, list) or not hash_keys:
                raise ValueError("hash_keys must be a non-empty list.")
            pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in hash_keys)
            if not pairs or not all(isinstance(key, int) for key in nest.flatten(hash_keys)):
                raise ValueError("Each element of hash_keys must be a pair of integers.")
        column = super().__new__(cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype)
        column.hash_keys = hash_keys
        return column

    def _do_transform(self, input_tensor: SparseTensor) -> SparseTensor:
        texts = as_string(input_tensor.values) if self.dtype.is_integer else input_tensor.values
        if not self.hash_keys:
            ids = string_to_hash_bucket_fast(texts, self.bucket_size, name="lookup")
            return SparseTensor(input_tensor.indices, ids, input_tensor.dense_shape)
        hashed = []
        for key in self.hash_keys:
            ids = string_to_hash_bucket_strong(texts, self.bucket_size, key)
            hashed.append(SparseTensor(input_tensor.indices, ids, input_tensor.dense_shape))
        return sparse_concat(axis=1, sp_inputs=hashed, name="lookup")


class _SparseColumnKeys(_SparseColumn):
    def _do_transform(self, input_tensor: SparseTensor) -> SparseTensor:
        table = index_table_from_tensor(
            mapping=tuple(self.lookup_config.keys), default_value=self.lookup_config.default_value, dtype=self.dtype,
            name="lookup",
        )  # fmt: skip
        return table.lookup(input_tensor)


class _SparseColumnVocabulary(_SparseColumn):
    def _do_transform(self, input_tensor: SparseTensor) -> SparseTensor:
        texts = input_tensor
        if self.dtype.is_integer:
            texts = SparseTensor(input_tensor.indices, as_string(input_tensor.values), input_tensor.dense_shape)
        words = self.lookup_config
        table = index_table_from_file(
            vocabulary_file=words.vocabulary_file, num_oov_buckets=words.num_oov_buckets, vocab_size=words.vocab_size,
            default_value=words.default_value, name=self.name + "_lookup",
        )  # fmt: skip
        return table.lookup(texts)


class _WeightedSparseColumn(
    _IdColumn, collections.namedtuple("_WeightedSparseColumn", ["sparse_id_column", "weight_column_name", "dtype"])
):
    """See weighted_sparse_column."""

    _kind, _in_dnn = "WeightedSparseColumn", "embedding_column or one_hot_column"

    name = property(lambda self: f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}")
    length = property(lambda self: self.sparse_id_column.length)
    lookup_config = property(lambda self: self.sparse_id_column.lookup_config)
    combiner = property(lambda self: self.sparse_id_column.combiner)

    @property
    def config(self) -> dict[str, Any]:
        return {**_get_feature_config(self.sparse_id_column), self.weight_column_name: VarLenFeature(self.dtype)}

    def id_tensor(self, input_tensor: Any) -> SparseTensor:
        return input_tensor[0]

    def weight_tensor(self, input_tensor: Any) -> SparseTensor:
        return input_tensor[1]

    def _transform_feature(self, inputs: Any) -> tuple[SparseTensor, SparseTensor]:
        ids, weights = inputs.get(self.sparse_id_column), inputs.get(self.weight_column_name)
        if not isinstance(weights, SparseTensor):
            weights = dense_to_sparse_tensor(weights)
        return ids, weights if self.dtype.is_floating else cast(weights, dtypes.float32)

    def is_compatible(self, other_column: object) -> bool:
        """Whether another column may share embeddings with this one."""
        weighted = isinstance(other_column, _WeightedSparseColumn)
        return self.sparse_id_column.is_compatible(other_column.sparse_id_column if weighted else other_column)


class _OneHotColumn(_FeatureColumn, _DenseColumn, collections.namedtuple("_OneHotColumn", ["sparse_id_column"])):
    """See one_hot_column."""

    name = property(lambda self: f"{self.sparse_id_column.name}_one_hot")
    length = property(lambda self: self.sparse_id_column.length)
    config = property(lambda self: _get_feature_config(self.sparse_id_column))
    _variable_shape = property(lambda self: TensorShape([self.length]))

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        ids = _LazyBuilderByColumnsToTensor(columns_to_tensors).get(self.sparse_id_column)
        columns_to_tensors[self] = ids

    def _transform_feature(self, inputs: Any) -> Tensor:
        return self._to_dnn_input_layer(inputs.get(self.sparse_id_column))

    def _get_dense_tensor(self, inputs: Any, weight_collections: object = None, trainable: object = None) -> Tensor:
        return inputs.get(self)

    def _to_dnn_input_layer(
        self, input_tensor: object, weight_collections: object = None, trainable: bool = True, output_rank: int = 2
    ) -> Tensor:
        ids = inner_flatten(self.sparse_id_column.id_tensor(input_tensor), output_rank)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        if weights is None:
            dense = sparse_tensor_to_dense(ids, default_value=-1)
            return reduce_sum(one_hot(dense, depth=self.length, on_value=1.0, off_value=0.0), axis=[output_rank - 1])
        weighted = sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=self.length)
        weighted = sparse_slice(weighted, zeros_like(weighted.dense_shape), weighted.dense_shape)
        dense = sparse_tensor_to_dense(weighted)
        batch = shape_of(dense)[:-1]
        return reshape(dense, concat([batch, [self.length]], axis=0))


def _get_feature_config(feature_column: object) -> dict[str, Any]:
    if not isinstance(feature_column, _FeatureColumn):
        raise TypeError(
            f"feature_columns should only contain instances of _FeatureColumn. Given column is {feature_column}"
        )
    return feature_column.config


@export("contrib.layers.sparse_column_with_integerized_feature", "contrib.slim.sparse_column_with_integerized_feature")
def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: object = dtypes.int64
) -> _SparseColumn:
    """A column whose ids are integers modulo `bucket_size`.

    Args:
      column_name: key of the feature.
      bucket_size: the number of ids.
      combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      dtype: an integer one.

    Raises:
      ValueError: `bucket_size` is below 1, or another dtype.
    """
    return _SparseColumnIntegerized(column_name, True, bucket_size, combiner=combiner, dtype=dtype)


@export("contrib.layers.sparse_column_with_hash_bucket", "contrib.slim.sparse_column_with_hash_bucket")
def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: object = dtypes.string, hash_keys: object = None
) -> _SparseColumn:
    """A column whose ids are hashes.

    Args:
      column_name: key of the feature.
      hash_bucket_size: the number of ids.
      combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      dtype: string or an integer one, which is hashed as text.
      hash_keys: list of pairs of ints; each gives an id.

    Raises:
      ValueError: the number is below 1, another dtype, or wrong keys.
    """
    return _SparseColumnHashed(
        column_name, bucket_size=hash_bucket_size, combiner=combiner, dtype=dtype, hash_keys=hash_keys
    )


@export("contrib.layers.sparse_column_with_keys", "contrib.slim.sparse_column_with_keys")
def sparse_column_with_keys(
    column_name: str, keys: Any, default_value: int = -1, combiner: str = "sum", dtype: object = dtypes.string
) -> _SparseColumn:
    """A column whose ids are places in a list.

    Args:
      column_name: key of the feature.
      keys: the list of words or integers.
      default_value: id of others; by default they are left out.
      combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      dtype: string or an integer one.

    Raises:
      ValueError: another dtype.
    """
    keys = tuple(keys)
    words = _SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _SparseColumnKeys(column_name, lookup_config=words, combiner=combiner, dtype=dtype)


@export("contrib.layers.sparse_column_with_vocabulary_file", "contrib.slim.sparse_column_with_vocabulary_file")
def sparse_column_with_vocabulary_file(
    column_name: str, vocabulary_file: object, num_oov_buckets: int = 0, vocab_size: int | None = None,
    default_value: int = -1, combiner: str = "sum", dtype: object = dtypes.string,
) -> _SparseColumn:  # fmt: skip
    """A column whose ids are lines of a file.

    Args:
      column_name: key of the feature.
      vocabulary_file: path of the words, one a line.
      num_oov_buckets: number of further ids, among which other words are hashed.
      vocab_size: how many lines are used.
      default_value: id of other words where there are no further ids; by default they are left out.
      combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      dtype: string or an integer one, which is looked up as text.

    Raises:
      ValueError: `vocab_size` is missing, or another dtype.
    """
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    words = _SparseIdLookupConfig(vocabulary_file, None, num_oov_buckets, vocab_size, default_value)
    return _SparseColumnVocabulary(column_name, lookup_config=words, combiner=combiner, dtype=dtype)


@export("contrib.layers.weighted_sparse_column", "contrib.slim.weighted_sparse_column")
def weighted_sparse_column(
    sparse_id_column: object, weight_column_name: str, dtype: DType = dtypes.float32
) -> _WeightedSparseColumn:
    """A column of ids with weights, which another feature holds at the same places.

    Args:
      sparse_id_column: the column of the ids.
      weight_column_name: key of the weights.
      dtype: of the weights, floating or an integer one.

    Raises:
      ValueError: another dtype.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}")
    return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


@export("contrib.layers.one_hot_column", "contrib.slim.one_hot_column")
def one_hot_column(sparse_id_column: object) -> _OneHotColumn:
    """A dense column of how often (or with what weight) each id of a column stands in an example."""
    return _OneHotColumn(sparse_id_column)
