"""tf.estimator.classifier_parse_example_spec and regressor_parse_example_spec: how examples with labels are parsed."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column.input_layer import make_parse_example_spec, make_parse_example_spec_v2
from tfcompat._src.feature_column.numeric import NumericColumn, numeric_column
from tfcompat._src.ops.parsing.features import FixedLenFeature

_Spec = dict[str, Any]


def _with_label(spec: _Spec, label_key: str, label: FixedLenFeature, weight_column: object) -> _Spec:
    if label_key in spec:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {spec.keys()}")
    spec[label_key] = label
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column)
    if not isinstance(weight_column, NumericColumn):
        raise ValueError(
            "weight_column should be an instance of tf.feature_column.numeric_column. "
            f"Given type: {type(weight_column)} value: {weight_column}"
        )
    if weight_column.key in spec:
        raise ValueError(
            "weight_column should not be used as feature. "
            f"weight_column: {weight_column.key}, features: {spec.keys()}"
        )
    spec.update(weight_column.parse_example_spec)
    return spec


@export("estimator.classifier_parse_example_spec")
def classifier_parse_example_spec(
    feature_columns: object, label_key: str, label_dtype: object = dtypes.int64, label_default: object = None,
    weight_column: object = None,
) -> _Spec:  # fmt: skip
    """The features of tf.parse_example for a classifier.

    Args:
      feature_columns: columns of the model.
      label_key: name of the label.
      label_dtype: int64 or string.
      label_default: label of examples without one.
      weight_column: name or numeric column of the examples' weights.

    Raises:
      ValueError: label or weight is a feature too, or the weight column is of another kind.
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label(make_parse_example_spec(feature_columns), label_key, label, weight_column)


@export("estimator.regressor_parse_example_spec")
def regressor_parse_example_spec(
    feature_columns: object, label_key: str, label_dtype: object = dtypes.float32, label_default: object = None,
    label_dimension: int = 1, weight_column: object = None,
) -> _Spec:  # fmt: skip
    """The features of tf.parse_example for a regressor with `label_dimension` numbers; else as the classifier's."""
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label(make_parse_example_spec(feature_columns), label_key, label, weight_column)


@export("compat.v2.estimator.classifier_parse_example_spec")
def classifier_parse_example_spec_v2(
    feature_columns: object, label_key: str, label_dtype: object = dtypes.int64, label_default: object = None,
    weight_column: object = None,
) -> _Spec:  # fmt: skip
    """classifier_parse_example_spec for columns of the second kind only."""
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label(make_parse_example_spec_v2(feature_columns), label_key, label, weight_column)


@export("compat.v2.estimator.regressor_parse_example_spec")
def regressor_parse_example_spec_v2(
    feature_columns: object, label_key: str, label_dtype: object = dtypes.float32, label_default: object = None,
    label_dimension: int = 1, weight_column: object = None,
) -> _Spec:  # fmt: skip
    """regressor_parse_example_spec for columns of the second kind only."""
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label(make_parse_example_spec_v2(feature_columns), label_key, label, weight_column)
