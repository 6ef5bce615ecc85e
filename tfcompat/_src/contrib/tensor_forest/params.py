"""The parameters of a forest as its operations hold them: a serialized TensorForestParams."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.contrib.tensor_forest.examples import invalid
from tfcompat._src.proto import pool

PARAMS = pool.module("tensorflow/contrib/tensor_forest/proto/tensor_forest_params.proto")
SPARSE_MODEL = PARAMS.MODEL_SPARSE_CLASSIFICATION
_MODELS = (PARAMS.MODEL_DENSE_CLASSIFICATION, PARAMS.MODEL_SPARSE_CLASSIFICATION, PARAMS.MODEL_REGRESSION)
_STATS = (PARAMS.STATS_DENSE_GINI, PARAMS.STATS_SPARSE_GINI, PARAMS.STATS_LEAST_SQUARES_REGRESSION)


@functools.lru_cache
def read_params(serialized: bytes) -> Any:
    """The message of the attribute `params`.

    Raises:
      errors.InvalidArgumentError: bytes that are none.
      errors.UnimplementedError: leaves, statistics or collections of splits that are not done.
    """
    try:
        params = PARAMS.TensorForestParams.FromString(serialized)
    except DecodeError as error:
        raise invalid("Unable to parse forest params.") from error
    for field, done, kinds in (
        ("leaf_type", _MODELS, PARAMS.LeafModelType),
        ("stats_type", _STATS, PARAMS.StatsModelType),
        ("collection_type", (PARAMS.COLLECTION_BASIC,), PARAMS.SplitCollectionType),
    ):
        value = getattr(params, field)
        if value not in done:
            raise errors.UnimplementedError(None, None, f"tensor_forest: {field} {kinds.Name(value)} is not done.")
    if params.is_regression != (params.leaf_type == PARAMS.MODEL_REGRESSION == params.stats_type):
        raise invalid("is_regression, leaf_type and stats_type of forest params must agree.")
    return params


def resolve(param: Any, depth: int) -> np.float32:
    """A DepthDependentParam at a depth."""
    kind = param.WhichOneof("ParamType")
    if kind is None:
        raise invalid("unknown parameter type")
    value = getattr(param, kind)
    if kind == "constant_value":
        return np.float32(value)
    if kind == "linear":
        return np.float32(min(max(depth * value.slope + value.y_intercept, value.min_val), value.max_val))
    if kind == "exponential":
        return np.float32(value.bias + value.multiplier * np.float32(value.base ** (value.depth_multiplier * depth)))
    return np.float32(value.on_value if depth >= value.threshold else value.off_value)
