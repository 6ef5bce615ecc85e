"""SignatureDef messages: named inputs and outputs of a graph, and the serving method that they fit."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import signature_constants as names
from tfcompat._src.saved_model.tensor_info import (
    build_tensor_info,
    build_tensor_info_from_op,
    get_element_from_tensor_info,
)

_KINDS = {dtypes.string: "string", dtypes.float32: "float"}


@export("saved_model.build_signature_def", "saved_model.signature_def_utils.build_signature_def")
def build_signature_def(inputs: object = None, outputs: object = None, method_name: str | None = None) -> Any:
    """A SignatureDef message.

    Args:
      inputs: TensorInfo messages by key. outputs: the same.
      method_name: of the serving method.
    """
    return messages.SignatureDef(inputs=inputs, outputs=outputs, method_name=method_name)


def _info(tensor: object, dtype: dtypes.DType, what: str) -> Any:
    """The TensorInfo of a tensor that must have the given type."""
    found = build_tensor_info(tensor)
    if found.dtype != dtype.as_datatype_enum:
        raise ValueError(f"{what} must be a {_KINDS[dtype]} Tensor.")
    return found


def _examples_info(examples: object, what: str) -> Any:
    if examples is None:
        raise ValueError(f"{what} examples cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(f"{what} examples must be a string Tensor.")
    return _info(examples, dtypes.string, f"{what} examples")


@export("saved_model.regression_signature_def", "saved_model.signature_def_utils.regression_signature_def")
def regression_signature_def(examples: Tensor, predictions: Tensor) -> Any:
    """The signature of a model for TensorFlow Serving's Regress.

    Args:
      examples: strings, serialized tf.train.Examples. predictions: float32.

    Raises:
      ValueError: an argument is None or of another type.
    """
    inputs = _examples_info(examples, "Regression")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    outputs = _info(predictions, dtypes.float32, "Regression output")
    return build_signature_def(
        {names.REGRESS_INPUTS: inputs}, {names.REGRESS_OUTPUTS: outputs}, names.REGRESS_METHOD_NAME
    )


@export("saved_model.classification_signature_def", "saved_model.signature_def_utils.classification_signature_def")
def classification_signature_def(examples: Tensor, classes: Tensor | None, scores: Tensor | None) -> Any:
    """The signature of a model for TensorFlow Serving's Classify.

    Args:
      examples: strings, serialized tf.train.Examples.
      classes: strings, the labels. scores: float32; one of the two may be None.

    Raises:
      ValueError: `examples` or both others are None, or of another type.
    """
    inputs = _examples_info(examples, "Classification")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _info(classes, dtypes.string, "Classification classes")
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _info(scores, dtypes.float32, "Classification scores")
    return build_signature_def({names.CLASSIFY_INPUTS: inputs}, outputs, names.CLASSIFY_METHOD_NAME)


@export("saved_model.predict_signature_def", "saved_model.signature_def_utils.predict_signature_def")
def predict_signature_def(inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
    """The signature of a model for TensorFlow Serving's Predict.

    Args:
      inputs: tensors by key. outputs: the same.

    Raises:
      ValueError: one of them is None or empty.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def _infos(tensors: dict[str, Any] | None) -> dict[str, Any]:
    return {key: build_tensor_info(tensor) for key, tensor in (tensors or {}).items()}


def supervised_train_signature_def(inputs: dict, loss: dict, predictions: dict | None = None, metrics: dict | None = None) -> Any:
    """The signature of a training step: tensors by key; ValueError where there are no inputs."""
    return _supervised(names.SUPERVISED_TRAIN_METHOD_NAME, inputs, loss, predictions, metrics)


def supervised_eval_signature_def(inputs: dict, loss: dict, predictions: dict | None = None, metrics: dict | None = None) -> Any:
    """The signature of an evaluation: tensors by key; ValueError where there are no inputs."""
    return _supervised(names.SUPERVISED_EVAL_METHOD_NAME, inputs, loss, predictions, metrics)


def _supervised(method_name: str, inputs: dict, *outputs: dict | None) -> Any:
    if not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    found = {key: info for group in outputs for key, info in _infos(group).items()}
    return build_signature_def(_infos(inputs), found, method_name)


@export("saved_model.is_valid_signature", "saved_model.signature_def_utils.is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Whether TensorFlow Serving can serve a SignatureDef by its method."""
    if signature_def is None:
        return False
    inputs, outputs = dict(signature_def.inputs), dict(signature_def.outputs)
    if signature_def.method_name == names.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    string, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    if signature_def.method_name == names.REGRESS_METHOD_NAME:
        return _types(inputs) == {names.REGRESS_INPUTS: string} and _types(outputs) == {names.REGRESS_OUTPUTS: number}
    if signature_def.method_name == names.CLASSIFY_METHOD_NAME:
        allowed = {names.CLASSIFY_OUTPUT_CLASSES: string, names.CLASSIFY_OUTPUT_SCORES: number}
        fits = bool(outputs) and _types(outputs).items() <= allowed.items()
        return fits and _types(inputs) == {names.CLASSIFY_INPUTS: string}
    return False


def _types(infos: dict[str, Any]) -> dict[str, int]:
    return {key: info.dtype for key, info in infos.items()}


def op_signature_def(op: object, key: str) -> Any:
    """A signature whose one output names an operation."""
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def: Any, key: str, import_scope: str | None = None) -> Any:
    """The operation or tensor of the default graph that `op_signature_def` named.

    Raises:
      errors.NotFoundError: the graph has none of that name.
    """
    try:
        return get_element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except KeyError:
        raise errors.NotFoundError(
            None, None,
            f"The {key} could not be found in the graph: the signature of this key, which is reserved for an operation, names "
            f"{signature_def.outputs[key].name!r}. Give other signatures another key.",
        ) from None  # fmt: skip
