"""What a feature column is: the interface of 1.15's columns, and the earlier one with leading underscores.

A column is written once, against the newer interface. `EarlierInterface` gives it the methods of the earlier one, which
`tf.feature_column.input_layer` and `linear_model` call; classes with a leading underscore have that one alone.
"""

from __future__ import annotations

import abc
import collections
from typing import Any

from tfcompat._src.feature_column.state import ScopeState


class _Named(abc.ABC):
    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the column, also of its scopes."""

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: object) -> bool:
        return str(self) > str(other)


class FeatureColumn(_Named):
    """A column of features: how it is read from examples and made into tensors."""

    @abc.abstractmethod
    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The tensor or tensors of the column, made of what `transformation_cache` gives for its parents."""

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """From key to the feature that tf.io.parse_example is to read."""

    def create_state(self, state_manager: Any) -> None:
        """Makes the variables of the column."""

    @property
    @abc.abstractmethod
    def _is_v2_column(self) -> bool:
        """Whether the column and all that it is made of have this interface."""

    @property
    @abc.abstractmethod
    def parents(self) -> list[Any]:
        """The columns and keys of features that it is made of."""

    @abc.abstractmethod
    def _get_config(self) -> dict[str, Any]:
        """What `_from_config` makes the column of."""

    @classmethod
    def _from_config(cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None) -> Any:
        """The column of a configuration."""


class DenseColumn(FeatureColumn):
    """A column that gives a dense tensor."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> Any:
        """TensorShape of the tensor without the batch dimension."""

    @abc.abstractmethod
    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The Tensor [batch, *variable_shape]."""


class CategoricalColumn(FeatureColumn):
    """A column that gives ids."""

    IdWeightPair = collections.namedtuple("IdWeightPair", ("id_tensor", "weight_tensor"))

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    @abc.abstractmethod
    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The IdWeightPair of SparseTensors; the weights may be None."""


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a dense tensor for each step of sequences."""

    TensorSequenceLengthPair = collections.namedtuple("TensorSequenceLengthPair", ("dense_tensor", "sequence_length"))

    @abc.abstractmethod
    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The TensorSequenceLengthPair of a Tensor [batch, time, ...] and lengths [batch]."""


class _FeatureColumn(_Named):
    """The earlier FeatureColumn."""

    @property
    def _var_scope_name(self) -> str:
        return self.name

    @abc.abstractmethod
    def _transform_feature(self, inputs: Any) -> Any:
        """As FeatureColumn.transform_feature; `inputs` is a _LazyBuilder."""

    @property
    @abc.abstractmethod
    def _parse_example_spec(self) -> dict[str, Any]:
        """As FeatureColumn.parse_example_spec."""

    def _reset_config(self) -> None:
        """Forgets what the column holds of an earlier model."""


class _DenseColumn(_FeatureColumn):
    """The earlier DenseColumn."""

    @property
    @abc.abstractmethod
    def _variable_shape(self) -> Any:
        """As DenseColumn.variable_shape."""

    @abc.abstractmethod
    def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        """As DenseColumn.get_dense_tensor, with the collections of its variables and whether they are trained."""


class _CategoricalColumn(_FeatureColumn):
    """The earlier CategoricalColumn."""

    IdWeightPair = CategoricalColumn.IdWeightPair

    @property
    @abc.abstractmethod
    def _num_buckets(self) -> int:
        """As CategoricalColumn.num_buckets."""

    @abc.abstractmethod
    def _get_sparse_tensors(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        """As CategoricalColumn.get_sparse_tensors."""


class _SequenceDenseColumn(_FeatureColumn):
    """The earlier SequenceDenseColumn."""

    TensorSequenceLengthPair = SequenceDenseColumn.TensorSequenceLengthPair

    @abc.abstractmethod
    def _get_sequence_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        """As SequenceDenseColumn.get_sequence_dense_tensor."""


class EarlierInterface:
    """The methods of the earlier interface, of those of the newer one."""

    _parse_example_spec = property(lambda self: self.parse_example_spec)
    _variable_shape = property(lambda self: self.variable_shape)
    _num_buckets = property(lambda self: self.num_buckets)

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(inputs, None)

    def _get_sparse_tensors(self, inputs: object, weight_collections: object = None, trainable: object = None) -> Any:
        return self.get_sparse_tensors(inputs, ScopeState(weight_collections, trainable))

    def _get_dense_tensor(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
        return self.get_dense_tensor(inputs, ScopeState(weight_collections, trainable))

    def _get_sequence_dense_tensor(self, inputs: object, weight_collections: object = None, trainable: object = None) -> Any:
        return self.get_sequence_dense_tensor(inputs, ScopeState(weight_collections, trainable))


def is_feature_column_v2(feature_columns: Any) -> bool:
    """Whether all columns, and all that they are made of, have the newer interface."""
    return all(isinstance(column, FeatureColumn) and column._is_v2_column for column in feature_columns)


def parse_spec_of(column: Any) -> dict[str, Any]:
    """The features that a column of either interface reads, by key."""
    return column.parse_example_spec if isinstance(column, FeatureColumn) else column._parse_example_spec


def num_buckets_of(column: Any) -> int:
    """The number of ids of a column of either interface."""
    return column.num_buckets if isinstance(column, FeatureColumn) else column._num_buckets


def normalize_feature_columns(feature_columns: Any, kind: type = FeatureColumn) -> list[Any]:
    """One column, or an iterable of columns of one interface, as a list.

    Raises:
      ValueError: there is none, two have one name, or something else is given.
    """
    if isinstance(feature_columns, kind):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, collections.abc.Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(
                f"Items of feature_columns must be a {kind.__name__}. Given (type {type(column)}): {column}."
            )
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for column in feature_columns:
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. This usually "
                "means that these columns refer to same base feature. Either one must be discarded or a duplicated "
                "but renamed item must be inserted in features dict."
            )
        by_name[column.name] = column
    return sorted(feature_columns, key=lambda column: column.name)


def merged_parse_specs(feature_columns: Any, kind: type) -> dict[str, Any]:
    """The features of columns of one interface by key; ValueError where two columns want one key in different ways."""
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(f"All feature_columns must be {kind.__name__} instances. Given: {column}")
        specs = column.parse_example_spec if kind is FeatureColumn else column._parse_example_spec
        for key, value in specs.items():
            if key in result and value != result[key]:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {value} and {result[key]}"
                )
        result.update(specs)
    return result
