"""What `features` dicts of the parse functions hold, and how they become arguments of the parse ops."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.sparse.convert import sparse_merge


@export("VarLenFeature", "io.VarLenFeature")
class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature of any number of values of `dtype`: a SparseTensor."""


@export("SparseFeature", "io.SparseFeature")
class SparseFeature(collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])):
    """A sparse row in two features of an Example: a SparseTensor.

    Args:
      index_key: key of the int64 positions, or a list of keys, one for each dimension.
      value_key: key of the values.
      dtype: dtype of the values.
      size: number of positions, or a list.
      already_sorted: whether the positions are in order.
    """

    def __new__(cls, index_key: object, value_key: object, dtype: object, size: object, already_sorted: bool = False) -> SparseFeature:
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


@export("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of one shape: a Tensor.

    Args:
      shape: its shape. dtype: its dtype.
      default_value: what stands for it in an example that lacks it; by default every example must have it.
    """

    def __new__(cls, shape: object, dtype: object, default_value: object = None) -> FixedLenFeature:
        return super().__new__(cls, shape, dtype, default_value)


@export("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"])
):
    """A feature of any number of rows of one shape: a Tensor, filled up to the longest of the batch.

    Args:
      shape: the shape of one row. dtype: its dtype.
      allow_missing: whether an example may lack it, which counts as no rows.
      default_value: scalar that fills up; by default 0 or "".
    """

    def __new__(cls, shape: object, dtype: object, allow_missing: bool = False, default_value: object = None) -> FixedLenSequenceFeature:
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class FeatureLists:
    """The keys, dtypes, shapes and defaults of `features`, sorted by key, apart for sparse and dense ones.

    Args:
      features: dict from key to a feature, or None.
      allowed: the kinds of features that may be in it.

    Raises:
      ValueError: a feature is of another kind, has no dtype or shape, or contradicts another.
    """

    def __init__(self, features: dict | None, allowed: tuple[type, ...]) -> None:
        self.sparse_keys: list[str] = []
        self.sparse_types: list[Any] = []
        self.dense_keys: list[str] = []
        self.dense_types: list[Any] = []
        self.dense_shapes: list[Any] = []
        self.dense_defaults: dict[str, Any] = {}
        for key in sorted(features or {}):
            feature = features[key]
            add = self._adder(feature)
            if add is None:
                raise ValueError(f"Invalid feature {key}:{feature}.")
            if not isinstance(feature, allowed):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
            add(key, feature)

    def _adder(self, feature: object) -> Callable[[str, Any], None] | None:
        for kind, add in (
            (VarLenFeature, self._add_variable), (SparseFeature, self._add_sparse), (FixedLenFeature, self._add_fixed),
            (FixedLenSequenceFeature, self._add_sequence),
        ):  # fmt: skip
            if isinstance(feature, kind):
                return add
        return None

    def _add_variable(self, key: str, feature: VarLenFeature) -> None:
        _check_dtype(key, feature)
        self.sparse_keys.append(key)
        self.sparse_types.append(feature.dtype)

    def _add_sparse(self, key: str, feature: SparseFeature) -> None:
        for part in ("index_key", "value_key"):
            if not getattr(feature, part):
                raise ValueError(f"Missing {part} for SparseFeature {feature}.")
        _check_dtype(key, feature)
        names = [feature.index_key] if isinstance(feature.index_key, str) else sorted(feature.index_key)
        for index_key in names:
            self._add_part(index_key, dtypes.int64, "int64")
        self._add_part(feature.value_key, feature.dtype, feature.dtype)

    def _add_part(self, key: str, dtype: object, text: object) -> None:
        if key not in self.sparse_keys:
            self.sparse_keys.append(key)
            self.sparse_types.append(dtype)
        elif (known := self.sparse_types[self.sparse_keys.index(key)]) != dtype:
            raise ValueError(f"Conflicting type {known} vs {text} for feature {key}.")

    def _add_dense(self, key: str, feature: Any) -> None:
        self.dense_keys.append(key)
        self.dense_shapes.append(feature.shape)
        self.dense_types.append(feature.dtype)
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def _add_fixed(self, key: str, feature: FixedLenFeature) -> None:
        _check_dtype(key, feature)
        _check_shape(key, feature)
        shape = as_shape(feature.shape)
        if feature.shape and shape.ndims and shape.sizes[0] is None:
            raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
        if not shape.is_fully_defined():
            raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {feature.shape}.")
        self._add_dense(key, feature)

    def _add_sequence(self, key: str, feature: FixedLenSequenceFeature) -> None:
        _check_dtype(key, feature)
        _check_shape(key, feature)
        if feature.allow_missing:
            self.dense_defaults[key] = None
        self._add_dense(key, feature)

    def default_tensors(self, reshaped: bool = True) -> list[Tensor]:
        """The default of each dense feature as a tensor, empty where there is none."""
        found = []
        for key, dtype, shape in zip(self.dense_keys, self.dense_types, self.dense_shapes):
            value, shape = self.dense_defaults.get(key), as_shape(shape)
            if shape.ndims and shape.sizes[0] is None:
                found.append(_padding(key, value, dtype))
            elif value is None:
                found.append(constant([], dtype=dtype))
            elif isinstance(value, Tensor):
                found.append(value)
            else:
                tensor = convert_to_tensor(value, dtype=dtype, name="key_" + node_name(key))
                found.append(reshape(tensor, shape) if reshaped else tensor)
        return found

    def shapes(self) -> list[TensorShape]:
        return [as_shape(s) for s in self.dense_shapes]

    def outputs(self, indices: list, values: list, shapes: list, dense: list) -> dict[str, Any]:
        """The outputs of a parse op by key."""
        sparse = [SparseTensor(i, v, s) for i, v, s in zip(indices, values, shapes)]
        return dict(zip(self.sparse_keys + self.dense_keys, sparse + list(dense)))


def _check_dtype(key: str, feature: Any) -> None:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")


def _check_shape(key: str, feature: Any) -> None:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")


def node_name(key: str) -> str:
    """A key as part of a node name."""
    return re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)


def _padding(key: str, value: object, dtype: Any) -> Tensor:
    if value is None:
        return convert_to_tensor("" if dtype == dtypes.string else 0, dtype=dtype)
    return reshape(convert_to_tensor(value, dtype=dtype, name="padding_" + node_name(key)), [])


def with_batch_rows(features: dict) -> dict:
    """`features` with the unknown number of rows as first dimension of sequence features.

    Raises:
      ValueError: a sequence feature may not be missing.
    """
    found = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            found[key] = feature._replace(shape=[None, *feature.shape])
    return found


def with_sparse_features(features: dict, tensors: dict[str, Any]) -> dict[str, Any]:
    """`tensors` of the keys of `features`, SparseFeatures made of their parts."""
    tensors = dict(tensors)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            single = isinstance(feature.index_key, str)
            ids = tensors[feature.index_key] if single else [tensors[k] for k in feature.index_key]
            tensors[key] = sparse_merge(
                ids, tensors[feature.value_key], vocab_size=feature.size, already_sorted=feature.already_sorted
            )
    return {key: value for key, value in tensors.items() if key in features}
