"""tf.contrib.learn's input functions of exported models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.parsing.functions import parse_example


@export("contrib.learn.InputFnOps", "contrib.learn.utils.InputFnOps", "contrib.learn.utils.input_fn_utils.InputFnOps")
class InputFnOps(NamedTuple):
    """The features of a model, its labels, and the tensors that are fed."""

    features: Any
    labels: Any
    default_inputs: Any


@export(
    "contrib.learn.build_parsing_serving_input_fn",
    "contrib.learn.utils.build_parsing_serving_input_fn",
    "contrib.learn.utils.input_fn_utils.build_parsing_serving_input_fn",
)
def build_parsing_serving_input_fn(feature_spec: dict[str, Any], default_batch_size: int | None = None) -> Callable:
    """The input function of a model that is fed serialized examples.

    Args:
      feature_spec: features, as tf.parse_example takes them.
      default_batch_size: batch size; any by default.
    """

    def input_fn() -> InputFnOps:
        examples = placeholder(dtype=dtypes.string, shape=[default_batch_size], name="input_example_tensor")
        return InputFnOps(parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn


@export(
    "contrib.learn.utils.build_default_serving_input_fn",
    "contrib.learn.utils.input_fn_utils.build_default_serving_input_fn",
)
def build_default_serving_input_fn(features: dict[str, Any], default_batch_size: int | None = None) -> Callable:
    """The input function of a model that is fed tensors like `features`, with another batch size."""

    def input_fn() -> InputFnOps:
        fed = {
            name: placeholder(
                dtype=tensor.dtype, shape=[default_batch_size, *tensor.get_shape().as_list()[1:]], name=tensor.op.name
            )
            for name, tensor in features.items()
        }
        return InputFnOps(fed, None, fed)

    return input_fn
