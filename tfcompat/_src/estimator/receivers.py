"""tf.estimator.export: what a served model receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.estimator.util import parse_input_fn_result
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.parsing.functions import parse_example
from tfcompat._src.saved_model.model_utils.export_utils import (
    SINGLE_FEATURE_DEFAULT_NAME,
    SINGLE_LABEL_DEFAULT_NAME,
    SINGLE_RECEIVER_DEFAULT_NAME,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SINGLE_TENSOR_DEFAULT_NAMES = {
    "feature": SINGLE_FEATURE_DEFAULT_NAME,
    "label": SINGLE_LABEL_DEFAULT_NAME,
    "receiver_tensor": SINGLE_RECEIVER_DEFAULT_NAME,
    "receiver_tensors_alternative": SINGLE_RECEIVER_DEFAULT_NAME,
}


def wrap_and_check_input_tensors(tensors: object, field_name: str, allow_int_keys: bool = False) -> dict[Any, Any]:
    """A tensor or dict of tensors as a dict.

    Args:
      tensors: the tensors. field_name: what they are, which names a single one. allow_int_keys: whether keys may be
        int.

    Raises:
      ValueError: None, a key of another type, or a value that is no Tensor or SparseTensor.
    """
    if tensors is None:
        raise ValueError(f"{field_name}s must be defined.")
    if not isinstance(tensors, dict):
        tensors = {_SINGLE_TENSOR_DEFAULT_NAMES[field_name]: tensors}
    for name, tensor in tensors.items():
        _check_tensor_key(name, field_name, allow_int_keys)
        _check_tensor(tensor, name, field_name)
    return tensors


def _check_tensor(tensor: TensorLike, name: object, error_label: str = "feature") -> None:
    """Raises ValueError for what is no Tensor, SparseTensor or object with a `tensor` that converts to one."""
    if isinstance(tensor, (Tensor, SparseTensor)):
        return
    error = ValueError(f"{error_label}{f' {name}' if name else ''} must be a Tensor or SparseTensor.")
    if not hasattr(tensor, "tensor"):
        raise error
    try:
        convert_to_tensor(tensor)
    except TypeError:
        raise error from None


def _check_tensor_key(name: object, error_label: str = "feature", allow_ints: bool = False) -> None:
    if isinstance(name, str) or (allow_ints and isinstance(name, int)):
        return
    raise ValueError(f"{error_label} keys must be strings{' or ints' if allow_ints else ''}: {name}.")


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any = None


@export("estimator.export.ServingInputReceiver", "compat.v2.estimator.export.ServingInputReceiver")
class ServingInputReceiver(_Receiver):
    """The tensors that are fed to a served model and the features that are made of them.

    Args:
      features: tensor or dict of tensors by str or int.
      receiver_tensors: tensor or dict of tensors by str.
      receiver_tensors_alternatives: dict of further ones by name of the signature, or None.

    Raises:
      ValueError: a key or value of another type.
    """

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        features = wrap_and_check_input_tensors(features, "feature", allow_int_keys=True)
        receiver_tensors = wrap_and_check_input_tensors(receiver_tensors, "receiver_tensor")
        alternatives = receiver_tensors_alternatives
        if alternatives is not None:
            if not isinstance(alternatives, dict):
                raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
            alternatives.update(
                {n: wrap_and_check_input_tensors(t, "receiver_tensors_alternative") for n, t in alternatives.items()}
            )
        return super().__new__(cls, features, receiver_tensors, alternatives)


@export("estimator.export.TensorServingInputReceiver", "compat.v2.estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(_Receiver):
    """A ServingInputReceiver for a model function that takes one tensor as its features; arguments are the same.

    Raises:
      ValueError: `features` is no Tensor or SparseTensor.
    """

    def __new__(
        cls, features: TensorLike, receiver_tensors: object, receiver_tensors_alternatives: object = None
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        _check_tensor(features, None)
        made = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return super().__new__(
            cls, made.features[SINGLE_FEATURE_DEFAULT_NAME], made.receiver_tensors, made.receiver_tensors_alternatives
        )


class UnsupervisedInputReceiver(ServingInputReceiver):
    """What a graph for training or evaluation without labels receives; arguments are those of ServingInputReceiver."""

    def __new__(cls, features: object, receiver_tensors: object) -> UnsupervisedInputReceiver:  # type: ignore[misc]
        return super().__new__(cls, features, receiver_tensors)  # type: ignore[return-value]


class _SupervisedReceiver(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: Any


class SupervisedInputReceiver(_SupervisedReceiver):
    """What a graph for training or evaluation receives.

    Args:
      features, labels: tensor or dict of tensors by str or int.
      receiver_tensors: tensor or dict of tensors by str.

    Raises:
      ValueError: a key or value of another type.
    """

    def __new__(cls, features: object, labels: object, receiver_tensors: object) -> SupervisedInputReceiver:
        wrap_and_check_input_tensors(features, "feature", allow_int_keys=True)
        wrap_and_check_input_tensors(labels, "label", allow_int_keys=True)
        return super().__new__(cls, features, labels, wrap_and_check_input_tensors(receiver_tensors, "receiver_tensor"))


@export(
    "estimator.export.build_parsing_serving_input_receiver_fn",
    "compat.v2.estimator.export.build_parsing_serving_input_receiver_fn",
)
def build_parsing_serving_input_receiver_fn(
    feature_spec: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver of serialized tf.Example messages.

    Args:
      feature_spec: as for tf.io.parse_example.
      default_batch_size: how many messages a batch has, None for any number.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return serving_input_receiver_fn


def _placeholder_from_tensor(t: Any, default_batch_size: int | None = None) -> Tensor:
    """A placeholder like a tensor, with another first dimension."""
    shape = TensorShape([default_batch_size]).concatenate(t.get_shape()[1:])
    return placeholder(t.dtype, shape, name=t.op.name if hasattr(t, "op") else None)


def _placeholders(values: object, single_name: str, default_batch_size: int | None) -> tuple[Any, dict[str, Tensor]]:
    """Placeholders in the structure of `values`, a tensor or dict of them, and as a dict."""
    if isinstance(values, dict):
        made = {name: _placeholder_from_tensor(t, default_batch_size) for name, t in values.items()}
        return made, made
    single = _placeholder_from_tensor(values, default_batch_size)
    return single, {single_name: single}


@export(
    "estimator.export.build_raw_serving_input_receiver_fn",
    "compat.v2.estimator.export.build_raw_serving_input_receiver_fn",
)
def build_raw_serving_input_receiver_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes a receiver of the features themselves.

    Args:
      features: dict of tensors whose types, shapes and names the placeholders get.
      default_batch_size: size of their first dimension, None for any.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        receiver_tensors = {name: _placeholder_from_tensor(t, default_batch_size) for name, t in features.items()}
        return ServingInputReceiver(receiver_tensors, receiver_tensors)

    return serving_input_receiver_fn


@export(
    "estimator.experimental.build_raw_supervised_input_receiver_fn",
    "contrib.estimator.build_raw_supervised_input_receiver_fn",
    "compat.v2.estimator.experimental.build_raw_supervised_input_receiver_fn",
)
def build_raw_supervised_input_receiver_fn(
    features: object, labels: object, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """A function that makes a receiver of features and labels.

    Args:
      features, labels: tensor or dict of tensors whose types, shapes and names the placeholders get.
      default_batch_size: size of their first dimension, None for any.

    Raises:
      ValueError: features and labels share a key.
    """
    feature_keys = features.keys() if hasattr(features, "keys") else [SINGLE_RECEIVER_DEFAULT_NAME]
    label_keys = labels.keys() if hasattr(labels, "keys") else [SINGLE_LABEL_DEFAULT_NAME]
    overlap = set(feature_keys) & set(label_keys)
    if overlap:
        raise ValueError(f"Features and labels must have distinct keys. Found overlapping keys: {overlap}")

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        fed_features, by_feature = _placeholders(features, SINGLE_RECEIVER_DEFAULT_NAME, default_batch_size)
        fed_labels, by_label = _placeholders(labels, SINGLE_LABEL_DEFAULT_NAME, default_batch_size)
        return SupervisedInputReceiver(fed_features, fed_labels, {**by_feature, **by_label})

    return supervised_input_receiver_fn


@export("contrib.estimator.build_supervised_input_receiver_fn_from_input_fn")
def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable, **input_fn_args: object
) -> Callable[[], SupervisedInputReceiver]:
    """A function that makes a receiver of what an input function gives when it is called with `input_fn_args`."""
    with Graph().as_default():
        features, labels, _ = parse_input_fn_result(input_fn(**input_fn_args))
    return build_raw_supervised_input_receiver_fn(features, labels)
