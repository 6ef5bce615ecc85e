"""What an exported time series model is fed: features one by one, or serialized Examples."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures
from tfcompat._src.contrib.timeseries.head import state_to_dictionary
from tfcompat._src.contrib.timeseries.model import TimeSeriesModel
from tfcompat._src.contrib.timeseries.state_tables import replicate_state
from tfcompat._src.estimator.receivers import ServingInputReceiver
from tfcompat._src.feature_column.input_layer import make_parse_example_spec
from tfcompat._src.feature_column.numeric import numeric_column
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import placeholder, placeholder_with_default
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.shape import shape, squeeze
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.parsing.features import FixedLenFeature
from tfcompat._src.ops.parsing.functions import parse_example


def raw_receiver(model: TimeSeriesModel, batch_size: int | None, series_length: int | None) -> ServingInputReceiver:
    """A placeholder for each feature and for each tensor of the state; values and state need not be fed.

    Args:
      model: the model.
      batch_size, series_length: sizes, or None where they vary.
    """
    windows = [batch_size, series_length]
    times = placeholder(dtypes.int64, windows, name=TrainEvalFeatures.TIMES)
    no_values = zeros([batch_size or 0, series_length or 0, model.num_features], dtype=model.dtype)
    received = {
        TrainEvalFeatures.TIMES: times,
        TrainEvalFeatures.VALUES: placeholder_with_default(
            no_values, [*windows, model.num_features], name=TrainEvalFeatures.VALUES
        ),
    }
    for key, (dtype, sizes) in _exogenous_features(model).items():
        received[key] = placeholder(dtype, [*windows, *sizes], name=key)
    received |= _state_placeholders(model, shape(times)[0], batch_size)
    return ServingInputReceiver(received, received)


def _exogenous_features(model: TimeSeriesModel) -> dict[str, tuple[Any, list[int | None]]]:
    """The dtype and the shape at one time of each feature that the model's columns need."""
    if not model.exogenous_feature_columns:
        return {}
    with Graph().as_default():
        parsed = parse_example(placeholder(dtypes.string, [None]), make_parse_example_spec(model.exogenous_feature_columns))
        return {key: (value.dtype, value.shape.with_rank_at_least(1).as_list()[1:]) for key, value in parsed.items()}


def _state_placeholders(model: TimeSeriesModel, batch_size: Tensor, static_batch_size: int | None) -> dict[str, Tensor]:
    """Placeholders [batch, ...] for a state, which is zero where it is not fed."""
    with Graph().as_default():
        # The model's own start state hangs on its variables; a signature needs no more than its shape.
        model.initialize_graph()
        start_state = nest.map_structure(lambda part: constant_value(zeros_like(part)), model.get_start_state())
    return {
        name: placeholder_with_default(
            replicate_state(constant(part), batch_size), TensorShape([static_batch_size]).concatenate(part.shape), name=name
        )
        for name, part in state_to_dictionary(start_state).items()
    }


def parsing_receiver(
    model: TimeSeriesModel, filtering_length: int, prediction_length: int, batch_size: int | None, values_dtype: object,
    truncate_values: bool,
) -> ServingInputReceiver:  # fmt: skip
    """A placeholder for serialized Examples, each with all features of a series.

    Args:
      model: the model.
      filtering_length: times that have values.
      prediction_length: times that are predicted.
      batch_size: size, or None where it varies.
      values_dtype: dtype of the values in the Examples.
      truncate_values: whether the Examples have values for the times that are predicted too, which are not looked at.

    Raises:
      ValueError: a column needs a feature of varying length that is no string.
    """
    length = filtering_length + prediction_length
    of_series = [
        numeric_column(TrainEvalFeatures.TIMES, dtype=dtypes.int64),
        numeric_column(TrainEvalFeatures.VALUES, dtype=values_dtype, shape=(model.num_features,)),
    ]
    spec = make_parse_example_spec([*model.exogenous_feature_columns, *of_series])
    windows = {key: _of_window(key, feature, length) for key, feature in spec.items()}
    if not truncate_values:
        windows[TrainEvalFeatures.VALUES] = _of_window(TrainEvalFeatures.VALUES, spec[TrainEvalFeatures.VALUES], filtering_length)
    examples = placeholder(dtypes.string, [batch_size], name="input")
    features = parse_example(examples, windows)
    features[TrainEvalFeatures.TIMES] = squeeze(features[TrainEvalFeatures.TIMES], axis=[-1])
    features[TrainEvalFeatures.VALUES] = cast(features[TrainEvalFeatures.VALUES], model.dtype)[:, :filtering_length]
    features |= _state_placeholders(model, shape(features[TrainEvalFeatures.TIMES])[0], batch_size)
    return ServingInputReceiver(features, {"examples": examples})


def _of_window(key: str, feature: Any, length: int) -> FixedLenFeature:
    """The feature of `length` times, given the one of a single time."""
    if isinstance(feature, FixedLenFeature):
        return feature._replace(shape=(length, *feature.shape))
    if feature.dtype == dtypes.string:
        return FixedLenFeature(shape=(length,), dtype=dtypes.string)
    raise ValueError(f"A window of feature '{key}' needs a fixed length at each time, got {feature}.")
