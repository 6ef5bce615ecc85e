"""tf.parse_example and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import expand_dims, rank, squeeze
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.parsing.features import (
    FeatureLists,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    node_name,
    with_batch_rows,
    with_sparse_features,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def _parse_batch(serialized: TensorLike, names: object, lists: FeatureLists, name: str | None) -> dict[str, Any]:
    with name_scope(name, "ParseExample", [serialized, names]):
        outputs = raw.ParseExample(
            serialized, [] if names is None else names, lists.sparse_keys, lists.dense_keys, lists.default_tensors(),
            sparse_types=lists.sparse_types, dense_shapes=lists.shapes(), name=name,
        )  # fmt: skip
        return lists.outputs(*outputs)


@export("parse_example", "io.parse_example")
def parse_example(serialized: TensorLike, features: dict, name: str | None = None, example_names: object = None) -> dict[str, Any]:
    """Parses serialized Example messages.

    Args:
      serialized: string vector [batch].
      features: dict from key to FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or SparseFeature.
      name: name scope.
      example_names: string vector [batch] of names for messages.

    Returns:
      a dict from key to a Tensor [batch, ...] or SparseTensor [batch, longest].

    Raises:
      ValueError: there are no features, or one is not valid.
      InvalidArgumentError: in a run with a string that is no Example, or lacks a feature, or has one of another dtype or size.
    """
    return parse_example_v2(serialized, features, example_names, name)


@export("compat.v2.io.parse_example")
def parse_example_v2(serialized: TensorLike, features: dict, example_names: object = None, name: str | None = None) -> dict[str, Any]:
    """See parse_example."""
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = with_batch_rows(features)
    outputs = _parse_batch(serialized, example_names, FeatureLists(features, _ALL), name)
    return with_sparse_features(features, outputs)


def _as_batch(value: TensorLike, what: str) -> Tensor:
    """A scalar as a vector of one; ValueError where it is no scalar, or an assertion where its rank is not known."""
    tensor = convert_to_tensor(value)
    if tensor.shape.ndims not in (0, None):
        raise ValueError(f"Input {what} must be a scalar")
    if tensor.shape.ndims is None:
        title = what.capitalize()
        check = Assert(raw.Equal(rank(tensor), 0), [f"Input {what} must be a scalar"], name=f"{title}IsScalar")
        tensor = with_dependencies([check], tensor, name=f"{title}Dependencies")
    return expand_dims(tensor, 0)


def _parse_named_single(serialized: TensorLike, names: TensorLike, lists: FeatureLists, name: str | None) -> dict[str, Any]:
    """One example as a batch of one, so that its name stands in messages."""
    with name_scope(name, "ParseSingleExample", [serialized, names]):
        serialized, names = _as_batch(serialized, "serialized"), _as_batch(names, "names")
        outputs = _parse_batch(serialized, names, lists, name)
        for key in lists.dense_keys:
            outputs[key] = squeeze(outputs[key], [0], name="Squeeze_" + node_name(key))
        for key in lists.sparse_keys:
            found = outputs[key]
            outputs[key] = SparseTensor(
                slice_of(found.indices, [0, 1], [-1, -1], name="Slice_Indices_" + node_name(key)), found.values,
                slice_of(found.dense_shape, [1], [-1], name="Squeeze_Shape_" + node_name(key)),
            )  # fmt: skip
        return outputs


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(
    serialized: TensorLike, features: dict, name: str | None = None, example_names: TensorLike | None = None
) -> dict[str, Any]:
    """Parses one serialized Example message.

    Args:
      serialized: string scalar.
      features: dict from key to FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or SparseFeature.
      name: name scope.
      example_names: string scalar, a name for messages.

    Returns:
      a dict from key to a Tensor or SparseTensor.

    Raises:
      ValueError: there are no features, or one is not valid.
      InvalidArgumentError: in a run with a string that is no Example, or lacks a feature, or has one of another dtype or size.
    """
    if not features:
        raise ValueError("Missing features.")
    features = with_batch_rows(features)
    lists = FeatureLists(features, _ALL)
    if example_names is not None:
        return with_sparse_features(features, _parse_named_single(serialized, example_names, lists, name))
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, name="serialized")
        outputs = raw.ParseSingleExample(
            serialized, lists.default_tensors(), num_sparse=len(lists.sparse_keys), sparse_keys=lists.sparse_keys,
            dense_keys=lists.dense_keys, sparse_types=lists.sparse_types, dense_shapes=lists.shapes(), name=name,
        )  # fmt: skip
        outputs = lists.outputs(*outputs)
    return with_sparse_features(features, outputs)


# ---- sequence examples ----


def _sequence_lists(context_features: dict | None, sequence_features: dict | None) -> tuple[FeatureLists, FeatureLists]:
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = FeatureLists(context_features, (VarLenFeature, FixedLenFeature))
    sequence = FeatureLists(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, value in sequence.dense_defaults.items():
        if value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
    return context, sequence


@export("io.parse_sequence_example")
def parse_sequence_example(
    serialized: TensorLike, context_features: dict | None = None, sequence_features: dict | None = None,
    example_names: object = None, name: str | None = None,
) -> tuple[dict, dict, dict]:  # fmt: skip
    """Parses serialized SequenceExample messages.

    Args:
      serialized: string vector [batch].
      context_features: dict from key to FixedLenFeature or VarLenFeature.
      sequence_features: dict from key to FixedLenSequenceFeature or VarLenFeature.
      example_names: string vector [batch] of names for messages.
      name: name scope.

    Returns:
      three dicts from key: context tensors [batch, ...], sequences [batch, longest, ...], and the lengths of the dense
      sequences, int64 [batch].

    Raises:
      ValueError: there are no features, or one is not valid. InvalidArgumentError: in a run with a message that does not fit.
    """
    context, sequence = _sequence_lists(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized]):
        outputs = raw.ParseSequenceExample(
            serialized, [] if example_names is None else example_names, context.default_tensors(reshaped=False),
            Ncontext_sparse=len(context.sparse_keys), Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(sequence.sparse_keys), Nfeature_list_dense=len(sequence.dense_keys),
            context_sparse_keys=context.sparse_keys, context_sparse_types=context.sparse_types,
            context_dense_keys=context.dense_keys, context_dense_shapes=context.shapes(),
            feature_list_sparse_keys=sequence.sparse_keys, feature_list_sparse_types=sequence.sparse_types,
            feature_list_dense_keys=sequence.dense_keys, feature_list_dense_types=sequence.dense_types,
            feature_list_dense_shapes=sequence.shapes(),
            feature_list_dense_missing_assumed_empty=list(sequence.dense_defaults), name=name,
        )  # fmt: skip
        lengths = dict(zip(sequence.dense_keys, outputs[8]))
        return context.outputs(*outputs[:4]), sequence.outputs(*outputs[4:8]), lengths


@export("parse_single_sequence_example", "io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: TensorLike, context_features: dict | None = None, sequence_features: dict | None = None,
    example_name: object = None, name: str | None = None,
) -> tuple[dict, dict]:  # fmt: skip
    """Parses one serialized SequenceExample message.

    Args:
      serialized: string scalar.
      context_features: dict from key to FixedLenFeature or VarLenFeature.
      sequence_features: dict from key to FixedLenSequenceFeature or VarLenFeature.
      example_name: string scalar, a name for messages.
      name: name scope.

    Returns:
      two dicts from key: context tensors, and sequences [length, ...].

    Raises:
      ValueError: there are no features, or one is not valid. InvalidArgumentError: in a run with a message that does not fit.
    """
    context, sequence = _sequence_lists(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        outputs = raw.ParseSingleSequenceExample(
            serialized, list(sequence.dense_defaults), context.sparse_keys, context.dense_keys, sequence.sparse_keys,
            sequence.dense_keys, context.default_tensors(), "" if example_name is None else example_name,
            context_sparse_types=context.sparse_types, context_dense_shapes=context.shapes(),
            feature_list_sparse_types=sequence.sparse_types, feature_list_dense_types=sequence.dense_types,
            feature_list_dense_shapes=sequence.shapes(), name=name,
        )  # fmt: skip
        return context.outputs(*outputs[:4]), sequence.outputs(*outputs[4:8])
