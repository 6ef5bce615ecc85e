"""Data and checks that tests of contrib.learn's estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.learn.tables import Dataset, load_iris
from tfcompat._src.nodes.convert import constant

_MEMBERS = ("config", "evaluate", "export", "fit", "get_variable_names", "get_variable_value", "model_dir", "predict")


def get_quantile_based_buckets(feature_values: object, num_buckets: int) -> list[float]:
    """The boundaries that part values into `num_buckets` + 1 parts of one size."""
    shares = [100.0 * (i + 1.0) / (num_buckets + 1.0) for i in range(num_buckets)]
    return list(np.percentile(np.array(feature_values), shares))


def prepare_iris_data_for_logistic_regression() -> Dataset:
    """The irises of the first two kinds."""
    iris = load_iris()
    return Dataset(data=iris.data[iris.target < 2], target=iris.target[iris.target < 2])


def _as_inputs(iris: Dataset) -> tuple[dict[str, Any], Any]:
    features = {"feature": constant(iris.data, dtype=dtypes.float32)}
    return features, constant(iris.target, shape=(len(iris.target), 1), dtype=dtypes.int32)


def iris_input_multiclass_fn() -> tuple[dict[str, Any], Any]:
    """Features and labels of all irises."""
    return _as_inputs(load_iris())


def iris_input_logistic_fn() -> tuple[dict[str, Any], Any]:
    """Features and labels of the irises of the first two kinds."""
    return _as_inputs(prepare_iris_data_for_logistic_regression())


def assert_estimator_contract(tester: Any, estimator_class: type) -> None:
    """Fails where a class lacks a member of estimators."""
    for name in _MEMBERS:
        tester.assertTrue(hasattr(estimator_class, name), name)


def assert_in_range(min_value: float, max_value: float, key: str, metrics: dict[str, Any]) -> None:
    """Raises ValueError where a metric is out of range."""
    if metrics[key] < min_value:
        raise ValueError(f"{key}: {metrics[key]} < {min_value}.")
    if metrics[key] > max_value:
        raise ValueError(f"{key}: {metrics[key]} > {max_value}.")
