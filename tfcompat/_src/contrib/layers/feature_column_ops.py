"""tf.contrib.layers: tensors of columns side by side, weighted sums of columns, and parsing for columns."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers.crossed_column import _CrossedColumn
from tfcompat._src.contrib.layers.embedding_columns import (
    _EmbeddingColumn,
    _embeddings_from_arguments,
    _ScatteredEmbeddingColumn,
    maybe_restore_from_checkpoint,
    parts_of_variable,
)
from tfcompat._src.contrib.layers.feature_column import _get_feature_config, _OneHotColumn, _WeightedSparseColumn
from tfcompat._src.contrib.layers.flatten import inner_flatten
from tfcompat._src.contrib.layers.real_valued_columns import (
    _BucketizedColumn,
    _RealValuedColumn,
    _RealValuedVarLenColumn,
    real_valued_column,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.composed.sparse_placeholder import sparse_placeholder
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.parsing.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from tfcompat._src.ops.parsing.functions import parse_example, parse_single_sequence_example
from tfcompat._src.ops.sparse.combine import sparse_concat
from tfcompat._src.ops.sparse.embedding import contrib_safe_embedding_lookup_sparse
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.platform import logging
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SEQUENCE_COLUMNS = (_OneHotColumn, _EmbeddingColumn, _RealValuedColumn, _RealValuedVarLenColumn)
_NOT_IN_SEQUENCES = (_ScatteredEmbeddingColumn, _BucketizedColumn, _CrossedColumn)


class _Transformer:
    """Adds the tensors of columns to those of features.

    Args:
      columns_to_tensors: dict from keys of features and columns to tensors.
    """

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors

    def transform(self, feature_column: Any) -> Any:
        """The tensors of a column, made where they are not there; ValueError where the column makes none."""
        logging.debug("Transforming feature_column %s", feature_column)
        if feature_column not in self._columns_to_tensors:
            feature_column.insert_transformed_feature(self._columns_to_tensors)
        if feature_column not in self._columns_to_tensors:
            raise ValueError(f"Column {feature_column.name} is not supported.")
        return self._columns_to_tensors[feature_column]


def _in_order(feature_columns: Any) -> list[Any]:
    return sorted(set(feature_columns), key=lambda column: column.key)


def _completed(weight_collections: Any) -> Any:
    """Collections, where there are any, with that of all variables."""
    return list({*weight_collections, GraphKeys.GLOBAL_VARIABLES}) if weight_collections else weight_collections


@export("contrib.layers.check_feature_columns", "contrib.slim.check_feature_columns")
def check_feature_columns(feature_columns: Any) -> None:
    """ValueError where two columns are the same, or a dict is given."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.key in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means that the column is "
                "almost identical to another column, and one must be discarded."
            )
        seen.add(column.key)


# ---- tensors side by side ----


def _maybe_reshape_input_tensor(tensor: Any, column_name: str, output_rank: int) -> Any:
    """A tensor with `output_rank` dimensions: one more, or several as one; ValueError where it has far fewer."""
    rank = tensor.get_shape().ndims
    if rank is None and isinstance(tensor, SparseTensor):
        rank = tensor.dense_shape.get_shape().as_list()[0]
    where = f"Error while processing column {column_name}. Rank of input Tensor "
    if rank is None:
        raise ValueError(f"{where}can not be None.")
    if output_rank > rank + 1:
        raise ValueError(
            f"{where}({rank}) should be the same as output_rank ({output_rank}). For example, sequence data should typically "
            "be 3 dimensional (rank 3) while non-sequence data is typically 2 dimensional (rank 2)."
        )
    if output_rank == rank + 1:
        if isinstance(tensor, SparseTensor):
            return sparse_reshape(tensor, concat([tensor.dense_shape, [1]], 0))
        return expand_dims(tensor, -1)
    return inner_flatten(tensor, output_rank) if output_rank < rank else tensor


def _input_from_feature_columns(
    columns_to_tensors: dict[Any, Any], feature_columns: object, weight_collections: object, trainable: bool, scope: object,
    output_rank: int, default_name: str, cols_to_outs: dict | None = None,
) -> Tensor:  # fmt: skip
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise ValueError("cols_to_outs must be a dict unless None")
    with variable_scope(scope, default_name=default_name, values=tensors.values()):
        transformer, outputs = _Transformer(tensors), []
        collections = _completed(weight_collections)
        for column in _in_order(feature_columns):
            with variable_scope(None, default_name=column.name, values=tensors.values()):
                transformed = transformer.transform(column)
                if output_rank == 3:
                    reshaped = functools.partial(_maybe_reshape_input_tensor, column_name=column.name, output_rank=3)
                    transformed = nest.map_structure(reshaped, transformed)
                outputs.append(_dense_output(column, transformed, collections, trainable, output_rank))
                if cols_to_outs is not None:
                    cols_to_outs[column] = outputs[-1]
        return concat(outputs, output_rank - 1)


def _dense_output(column: Any, transformed: Any, collections: Any, trainable: bool, output_rank: int) -> Tensor:
    try:
        arguments = column._deep_embedding_lookup_arguments(transformed)
    except NotImplementedError as no_embedding:
        try:
            return column._to_dnn_input_layer(transformed, collections, trainable, output_rank=output_rank)
        except ValueError as e:
            raise ValueError(f"Error creating input layer for column: {column.name}.\n{e}, {no_embedding}") from e
    return _embeddings_from_arguments(column, arguments, collections, trainable, output_rank=output_rank)


@export("contrib.layers.input_from_feature_columns", "contrib.slim.input_from_feature_columns")
def input_from_feature_columns(
    columns_to_tensors: dict[Any, Any], feature_columns: object, weight_collections: object = None, trainable: bool = True,
    scope: object = None, cols_to_outs: dict | None = None,
) -> Tensor:  # fmt: skip
    """The tensors of dense columns side by side, in the order of their keys.

    Args:
      columns_to_tensors: dict from key of a feature to Tensor or SparseTensor.
      feature_columns: columns of numbers, buckets, counts and embeddings.
      weight_collections: further collections of the variables.
      trainable: whether the variables are trained.
      scope: variable scope, "input_from_feature_columns" by default.
      cols_to_outs: dict that gets the part of each column.

    Returns:
      Tensor [batch, elements of all columns].

    Raises:
      ValueError: a column cannot be dense, or is given twice.
    """
    return _input_from_feature_columns(
        columns_to_tensors, feature_columns, weight_collections, trainable, scope, output_rank=2,
        default_name="input_from_feature_columns", cols_to_outs=cols_to_outs,
    )  # fmt: skip


@export("contrib.layers.sequence_input_from_feature_columns", "contrib.slim.sequence_input_from_feature_columns")
def sequence_input_from_feature_columns(
    columns_to_tensors: dict[Any, Any], feature_columns: object, weight_collections: object = None, trainable: bool = True,
    scope: object = None,
) -> Tensor:  # fmt: skip
    """`input_from_feature_columns` for features [batch, time, ...]: a Tensor [batch, time, elements of all columns]."""
    sequence_types_checked(feature_columns)
    for column in _with_parents(feature_columns):
        if isinstance(column, _NOT_IN_SEQUENCES):
            raise ValueError(
                f"Column {column.name} is of type {type(column).__name__}, which is not currently supported for sequences."
            )
    return _input_from_feature_columns(
        columns_to_tensors, feature_columns, weight_collections, trainable, scope, output_rank=3,
        default_name="sequence_input_from_feature_columns",
    )  # fmt: skip


def sequence_types_checked(feature_columns: Any) -> None:
    """ValueError where a column is of a type that steps of a sequence do not have."""
    for column in feature_columns:
        if not isinstance(column, _SEQUENCE_COLUMNS):
            raise ValueError(
                f"FeatureColumn type {type(column).__name__} is not currently supported for sequence data."
            )


def parents_of(column: object) -> tuple[Any, ...]:
    """The columns that a column is made from."""
    if isinstance(column, (_WeightedSparseColumn, _OneHotColumn, _EmbeddingColumn)):
        return (column.sparse_id_column,)
    if isinstance(column, _BucketizedColumn):
        return (column.source_column,)
    return tuple(column.columns) if isinstance(column, _CrossedColumn) else ()


def _with_parents(feature_columns: Any) -> list[Any]:
    return [each for column in feature_columns for each in (column, *_with_parents(parents_of(column)))]


# ---- weighted sums ----


def _weights(name: str, shape: list[Any], initializer: object, trainable: bool, collections: object) -> Any:
    return model_variable(
        name, shape=shape, dtype=dtypes.float32, initializer=initializer, trainable=trainable, collections=collections
    )


def _with_bias(prediction: Tensor, num_outputs: int, trainable: bool, weight_collections: object) -> tuple[Tensor, Any]:
    bias = _weights("bias_weight", [num_outputs], Zeros(), trainable, _completed(weight_collections))
    for part in parts_of_variable(bias):
        logging.info("Created variable %s, with device=%s", part.name, part.device)
    return bias_add(prediction, bias), bias


@export("contrib.layers.weighted_sum_from_feature_columns", "contrib.slim.weighted_sum_from_feature_columns")
def weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any], feature_columns: object, num_outputs: int, weight_collections: object = None,
    trainable: bool = True, scope: object = None,
) -> tuple[Tensor, dict[Any, list[Any]], Any]:  # fmt: skip
    """A linear function of columns.

    Args:
      columns_to_tensors: dict from key of a feature to Tensor or SparseTensor.
      feature_columns: columns of ids and numbers.
      num_outputs: number of outputs.
      weight_collections: further collections of the variables.
      trainable: whether the variables are trained.
      scope: variable scope, "weighted_sum_from_feature_columns" by default.

    Returns:
      the Tensor [batch, num_outputs], a dict from column to the list of its variables, and the bias.

    Raises:
      ValueError: a column cannot be in a linear model, or is given twice.
    """
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with variable_scope(scope, default_name="weighted_sum_from_feature_columns", values=tensors.values()):
        transformer, sums, column_to_variable = _Transformer(tensors), [], {}
        settings = trainable, weight_collections
        for column in _in_order(feature_columns):
            variables, prediction = _weighted(column, transformer.transform(column), tensors, num_outputs, settings)
            sums.append(reshape(prediction, shape=(-1, num_outputs)))
            column_to_variable[column] = variables
            maybe_restore_from_checkpoint(column._checkpoint_path(), variables)
        prediction, bias = _with_bias(add_n(sums), num_outputs, *settings)
        return prediction, column_to_variable, bias


def _weighted(
    column: Any, transformed: Any, tensors: dict[Any, Any], num_outputs: int, settings: tuple
) -> tuple[list[Any], Tensor]:
    """The variables of a column and its part of the sum."""
    try:
        arguments = column._wide_embedding_lookup_arguments(transformed)
    except NotImplementedError:
        with variable_scope(None, default_name=column.name, values=tensors.values()):
            dense = _maybe_reshape_input_tensor(column._to_dense_tensor(transformed), column.name, output_rank=2)
            weight = _weights("weight", [dense.get_shape()[1], num_outputs], Zeros(), *settings)
            return [weight], matmul(dense, weight, name="matmul")
    except ValueError as e:
        raise ValueError(f"Error creating weighted sum for column: {column.name}.\n{e}") from e
    with variable_scope(None, default_name=column.name, values=tensors.values()):
        shape = [arguments.vocab_size, num_outputs]
        parts = parts_of_variable(_weights("weights", shape, arguments.initializer, *settings))
        prediction = contrib_safe_embedding_lookup_sparse(
            parts, arguments.input_tensor, sparse_weights=arguments.weight_tensor, combiner=arguments.combiner,
            name=column.name + "_weights",
        )  # fmt: skip
        return parts, prediction


@export(
    "contrib.layers.joint_weighted_sum_from_feature_columns", "contrib.slim.joint_weighted_sum_from_feature_columns"
)
def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any], feature_columns: object, num_outputs: int, weight_collections: object = None,
    trainable: bool = True, scope: object = None,
) -> tuple[Tensor, list[Any], Any]:  # fmt: skip
    """`weighted_sum_from_feature_columns` for columns of ids, with one variable for all of them.

    Returns:
      the Tensor [batch, num_outputs], the list of the variable's parts, and the bias.

    Raises:
      NotImplementedError: a column of numbers. AssertionError: a column with weights, another combiner than "sum", or none.
    """
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with variable_scope(scope, default_name="joint_weighted_sum_from_feature_columns", values=tensors.values()):
        transformer, arguments = _Transformer(tensors), []
        for column in _in_order(feature_columns):
            transformed = transformer.transform(column)
            try:
                arguments.append(column._wide_embedding_lookup_arguments(transformed))
            except NotImplementedError as e:
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns instead, or bucketize these "
                    "columns."
                ) from e
        ids, size = _joint_ids(arguments)
        with variable_scope(None, default_name="linear_weights", values=tensors.values()):
            variable = _weights("weights", [size, num_outputs], Zeros(), trainable, weight_collections)
            parts = parts_of_variable(variable)
            prediction = contrib_safe_embedding_lookup_sparse(parts, ids, combiner="sum", name="_weights")
        prediction, bias = _with_bias(prediction, num_outputs, trainable, weight_collections)
        return prediction, parts, bias


def _joint_ids(arguments: list[Any]) -> tuple[SparseTensor, int]:
    """The ids of several columns as those of one, and how many there are."""
    use = "Please use weighted_sum_from_feature_columns instead."
    for argument in arguments:
        if argument.weight_tensor is not None:
            raise AssertionError(f"Joint sums for weighted sparse columns are not supported. {use}")
        if argument.combiner != "sum":
            raise AssertionError(f"Combiners other than sum are not supported for joint sums. {use}")
    if not arguments:
        raise AssertionError("At least one column must be in the model.")
    size, shifted = 0, []
    for argument in arguments:
        ids = argument.input_tensor
        shifted.append(SparseTensor(ids.indices, ids.values + size, ids.dense_shape))
        size += argument.vocab_size
    return sparse_concat(1, shifted), size


# ---- parsing ----


@export("contrib.layers.create_feature_spec_for_parsing", "contrib.slim.create_feature_spec_for_parsing")
def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """The features that columns need, by key, for tf.io.parse_example.

    Args:
      feature_columns: iterable or dict of columns.

    Raises:
      TypeError: something is no column.
    """
    columns = feature_columns.values() if isinstance(feature_columns, dict) else feature_columns
    return {key: feature for column in columns for key, feature in _get_feature_config(column).items()}


def _create_sequence_feature_spec_for_parsing(
    sequence_feature_columns: object, allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """The features that columns need in sequences, by key."""
    features = create_feature_spec_for_parsing(sequence_feature_columns)
    return {key: _in_sequences(key, feature, allow_missing_by_default) for key, feature in features.items()}


def _in_sequences(key: str, feature: object, allow_missing: bool) -> Any:
    if isinstance(feature, VarLenFeature):
        return feature
    if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
        raise TypeError(f"Unsupported feature type: {type(feature).__name__}")
    has_default = feature.default_value is not None
    if has_default:
        logging.warning(
            f'Found default value {feature.default_value} for feature "{key}". Ignoring this value and setting '
            "`allow_missing=True` instead."
        )
    return FixedLenSequenceFeature(shape=feature.shape, dtype=feature.dtype, allow_missing=allow_missing or has_default)


@export(
    "contrib.layers.make_place_holder_tensors_for_base_features",
    "contrib.slim.make_place_holder_tensors_for_base_features",
)
def make_place_holder_tensors_for_base_features(feature_columns: object) -> dict[str, Any]:
    """Placeholders for the features that columns need, by key."""
    placeholders = {}
    for key, feature in create_feature_spec_for_parsing(feature_columns).items():
        name = f"Placeholder_{key}"
        if isinstance(feature, VarLenFeature):
            placeholders[key] = sparse_placeholder(feature.dtype, name=name)
        else:
            placeholders[key] = placeholder(feature.dtype, shape=(None, feature.shape[0]), name=name)
    return placeholders


@export("contrib.layers.parse_feature_columns_from_examples", "contrib.slim.parse_feature_columns_from_examples")
def parse_feature_columns_from_examples(
    serialized: TensorLike, feature_columns: object, name: str | None = None, example_names: object = None
) -> dict[Any, Any]:
    """Parses examples, and makes the tensors of columns.

    Args:
      serialized: string vector of serialized Examples.
      feature_columns: the columns.
      name: node name.
      example_names: string vector of names of the examples, for messages.

    Returns:
      dict from features and columns to tensors.
    """
    check_feature_columns(feature_columns)
    features = create_feature_spec_for_parsing(feature_columns)
    tensors = parse_example(serialized=serialized, features=features, name=name, example_names=example_names)
    transformer = _Transformer(tensors)
    for column in _in_order(feature_columns):
        transformer.transform(column)
    return tensors


@export(
    "contrib.layers.parse_feature_columns_from_sequence_examples",
    "contrib.slim.parse_feature_columns_from_sequence_examples",
)
def parse_feature_columns_from_sequence_examples(
    serialized: TensorLike, context_feature_columns: object, sequence_feature_columns: object, name: str | None = None,
    example_name: object = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """Parses one SequenceExample.

    Args:
      serialized: the serialized example, a scalar string.
      context_feature_columns, sequence_feature_columns: the columns of its context and of its sequences.
      name: node name.
      example_name: name of the example, for messages.

    Returns:
      dicts from feature to tensor, of the context and of the sequences.

    Raises:
      ValueError: more than one example.
    """
    try:
        serialized = reshape(serialized, [])
    except ValueError as e:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after parsing for sequence examples. "
            f"Error: {e}"
        ) from e
    context, sequence = context_feature_columns or [], sequence_feature_columns or []
    check_feature_columns(context)
    context_features = create_feature_spec_for_parsing(context)
    check_feature_columns(sequence)
    sequence_features = _create_sequence_feature_spec_for_parsing(sequence)
    return parse_single_sequence_example(serialized, context_features, sequence_features, example_name, name)


@export("contrib.layers.transform_features", "contrib.slim.transform_features")
def transform_features(features: dict[Any, Any], feature_columns: Any) -> dict[Any, Any]:
    """The tensors of columns.

    Args:
      features: dict from key of a feature to Tensor or SparseTensor.
      feature_columns: the columns.

    Returns:
      dict from column to its tensors.
    """
    tensors = features.copy()
    check_feature_columns(feature_columns)
    transformer = _Transformer(tensors)
    for column in _in_order(feature_columns):
        transformer.transform(column)
    return {key: tensor for key, tensor in tensors.items() if key in feature_columns}


def _infer_real_valued_column_for_tensor(name: str, tensor: Any) -> _RealValuedColumn:
    where = f"Please define corresponding FeatureColumn for tensor {name} {tensor}."
    if isinstance(tensor, SparseTensor):
        raise ValueError(f"SparseTensor is not supported for auto detection. {where}")
    if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        raise ValueError(f"Non integer or non floating types are not supported for auto detection. {where}")
    return real_valued_column(name, dimension=tensor.shape[1:].num_elements(), dtype=tensor.dtype)


@export("contrib.layers.infer_real_valued_columns", "contrib.slim.infer_real_valued_columns")
def infer_real_valued_columns(features: object) -> list[_RealValuedColumn]:
    """Columns of numbers for tensors.

    Args:
      features: a Tensor, or a dict from key to Tensor.

    Raises:
      ValueError: a SparseTensor, or another dtype.
    """
    named = features.items() if isinstance(features, dict) else [("", features)]
    return [_infer_real_valued_column_for_tensor(name, tensor) for name, tensor in named]
