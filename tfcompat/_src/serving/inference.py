"""Predict, Classify, Regress and MultiInference: from arrays and Examples by way of a signature to arrays and results.

Texts of errors are TensorFlow Serving's (servables/tensorflow/{predict_util,classifier,regressor,multi_inference}.cc).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import signature_constants as constants
from tfcompat._src.serving.metrics import EXAMPLE_COUNT
from tfcompat._src.serving.servable import Servable, dtype_of

_PREDICTABLE = (constants.PREDICT_METHOD_NAME, constants.CLASSIFY_METHOD_NAME, constants.REGRESS_METHOD_NAME)
Results = dict[str, NDArray]


def invalid(text: str) -> errors.OpError:
    """The error for a request that cannot be answered as it is."""
    return errors.InvalidArgumentError(None, None, text)


def signature_name(spec: Any) -> str:
    """The signature that a ModelSpec names."""
    return spec.signature_name or constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def reply_spec(servable: Servable, spec: object) -> Any:
    """The ModelSpec that says which model, version and signature answered."""
    reply = messages.serving.ModelSpec(name=servable.name, signature_name=signature_name(spec))
    reply.version.value = servable.version
    return reply


# ---- Predict ----


def predict(
    servable: Servable, name: str, inputs: Mapping[str, NDArray], output_filter: Sequence[str] = (), seconds: float = 0
) -> Results:
    """The outputs of a signature by key.

    Args:
      servable: the model. name: of the signature. inputs: values by key, one for each input of the signature.
      output_filter: keys of the outputs that are wanted; none for all. seconds: time limit; 0 for none.

    Raises:
      errors.OpError: there is no such signature, input or output, or the run fails.
    """
    signature = servable.signatures.get(name)
    if signature is None:
        raise errors.FailedPreconditionError(None, None, f'Serving signature key "{name}" not found.')
    if signature.method_name not in _PREDICTABLE:
        expected = ", ".join(_PREDICTABLE)
        raise errors.InternalError(
            None, None, f"Expected prediction signature method_name to be one of {{{expected}}}. Was: {signature.method_name}"
        )
    sent, needed = set(inputs), set(signature.inputs)
    if sent != needed:
        raise invalid(
            f"input size does not match signature: {len(sent)}!={len(needed)} len({_braced(sent)}) != len({_braced(needed)}). "
            f"Sent extra: {_braced(sent - needed)}. Missing but required: {_braced(needed - sent)}."
        )
    keys = list(output_filter) or sorted(signature.outputs)
    for key in keys:
        if key not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {key} Outputs expected to be in the set {_braced(signature.outputs)}."
            )
    if len(set(keys)) < len(keys):
        raise invalid(f"duplicate output tensor alias: {next(key for key in keys if keys.count(key) > 1)}")
    feeds = {signature.inputs[key].name: value for key, value in inputs.items()}
    found = servable.run(feeds, [signature.outputs[key].name for key in keys], seconds)
    return dict(zip(keys, found, strict=True))


def _braced(names: Iterable[str]) -> str:
    return "{" + ",".join(sorted(names)) + "}"


# ---- Classify, Regress ----


def examples(request_input: Any) -> NDArray:
    """The serialized Examples of an Input message, each with the context's features that it does not have itself.

    Raises:
      errors.InvalidArgumentError: there are none.
    """
    kind = request_input.WhichOneof("kind")
    each = list(getattr(request_input, kind).examples) if kind else []
    if not each:
        raise invalid("Input is empty.")
    if kind == "example_list_with_context":
        context = request_input.example_list_with_context.context
        each = [_with_context(context, example) for example in each]
    serialized = np.empty(len(each), object)
    serialized[:] = [example.SerializeToString() for example in each]
    return serialized


def _with_context(context: object, example: object) -> Any:
    joined = messages.Example()
    joined.CopyFrom(context)
    joined.MergeFrom(example)
    return joined


def classify(servable: Servable, request: Any, seconds: float = 0) -> Any:
    """The ClassificationResponse to a ClassificationRequest; errors.OpError where there is none."""
    return messages.serving.ClassificationResponse(
        model_spec=reply_spec(servable, request.model_spec), result=_infer_one(servable, request, constants.CLASSIFY_METHOD_NAME, seconds)
    )


def regress(servable: Servable, request: Any, seconds: float = 0) -> Any:
    """The RegressionResponse to a RegressionRequest; errors.OpError where there is none."""
    return messages.serving.RegressionResponse(
        model_spec=reply_spec(servable, request.model_spec), result=_infer_one(servable, request, constants.REGRESS_METHOD_NAME, seconds)
    )


def _infer_one(servable: Servable, request: Any, method: str, seconds: float) -> Any:
    name = signature_name(request.model_spec)
    signature = servable.signatures.get(name)
    if signature is None:
        raise invalid(f"No signature was found with the name: {name}")
    source, outputs = _RULES[method].tensors(signature)
    serialized = examples(request.input)
    EXAMPLE_COUNT.add(servable.name, amount=len(serialized))
    values = servable.run({source: serialized}, list(outputs.values()), seconds)
    return _RULES[method].result(dict(zip(outputs, values, strict=True)), len(serialized))


def multi_inference(servable: Servable, request: Any, seconds: float = 0) -> Any:
    """The MultiInferenceResponse to a MultiInferenceRequest: one run answers all of its tasks.

    Raises:
      errors.OpError: tasks are of several models, repeat a signature or name one that does not fit; or the run fails.
    """
    wanted: dict[str, tuple[Any, dict[str, str]]] = {}
    sources = set()
    for task in request.tasks:
        if not task.model_spec.name:
            raise invalid("Found ModelSpec with an empty model name.")
        if task.model_spec.name != request.tasks[0].model_spec.name:
            raise invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
        name = signature_name(task.model_spec)
        if name in wanted:
            raise invalid(f"Duplicate evaluation of signature: {name}")
        if name not in servable.signatures:
            raise invalid(f"Requested signature not found in model graph: {name}")
        if task.method_name not in _RULES:
            raise errors.UnimplementedError(None, None, f"Unsupported signature method_name: {task.method_name}")
        source, outputs = _RULES[task.method_name].tensors(servable.signatures[name])
        sources.add(source)
        wanted[name] = task, outputs
    serialized = examples(request.input)
    EXAMPLE_COUNT.add(servable.name, amount=len(serialized))
    fetches = sorted({tensor for _, outputs in wanted.values() for tensor in outputs.values()})
    values = dict(zip(fetches, servable.run(dict.fromkeys(sources, serialized), fetches, seconds), strict=True))
    reply = messages.serving.MultiInferenceResponse()
    for task, outputs in wanted.values():
        rule = _RULES[task.method_name]
        result = rule.result({key: values[tensor] for key, tensor in outputs.items()}, len(serialized))
        reply.results.add(model_spec=reply_spec(servable, task.model_spec), **{rule.field: result})
    return reply


def _source(signature: Any, word: str, key: str) -> str:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if key not in signature.inputs:
        raise invalid(f"No {word} inputs found in SignatureDef: {signature}")
    return signature.inputs[key].name


def _require_method(signature: Any, word: str, method: str) -> None:
    if signature.method_name != method:
        raise invalid(f"Expected {word} signature method_name to be {method}. Was: {signature.method_name}")


class _Classification:
    """How a classification signature is run, and what its outputs mean."""

    field = "classification_result"

    @staticmethod
    def tensors(signature: Any) -> tuple[str, dict[str, str]]:
        """The tensor that takes Examples, and those of classes and scores by key."""
        _require_method(signature, "classification", constants.CLASSIFY_METHOD_NAME)
        source = _source(signature, "classification", constants.CLASSIFY_INPUTS)
        if len(signature.outputs) not in (1, 2):
            raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
        keys = (constants.CLASSIFY_OUTPUT_CLASSES, constants.CLASSIFY_OUTPUT_SCORES)
        outputs = {key: signature.outputs[key].name for key in keys if key in signature.outputs}
        if not outputs:
            raise invalid(
                f'Expected classification signature outputs to contain at least one of "{keys[0]}" or "{keys[1]}". Signature was: {signature}'
            )
        return source, outputs

    @staticmethod
    def result(outputs: Results, count: int) -> Any:
        """The ClassificationResult for `count` Examples."""
        classes = outputs.get(constants.CLASSIFY_OUTPUT_CLASSES)
        scores = outputs.get(constants.CLASSIFY_OUTPUT_SCORES)
        for word, value, dtype in (("classes", classes, "string"), ("scores", scores, "float32")):
            if value is not None:
                _check_classes(word, value, dtype, count)
        if classes is not None and scores is not None and classes.shape[1] != scores.shape[1]:
            raise invalid(f"Tensors class and score should match in dim_size(1). Got {classes.shape[1]} vs. {scores.shape[1]}")
        result = messages.serving.ClassificationResult()
        for row in range(count):
            labels = [None] * scores.shape[1] if classes is None else classes[row].tolist()
            numbers = [None] * len(labels) if scores is None else scores[row].tolist()
            added = result.classifications.add()
            for label, score in zip(labels, numbers, strict=True):
                added.classes.add(label=label, score=score)
        return result


def _check_classes(word: str, value: NDArray, dtype: str, count: int) -> None:
    if value.ndim != 2:
        raise invalid(f"Expected Tensor shape: [batch_size num_classes] but got {_shape(value)}")
    if (given := dtype_of(value)).name != dtype:
        wanted = "DT_STRING" if dtype == "string" else "DT_FLOAT"
        raise invalid(f"Expected {word} Tensor of {wanted}. Got: {messages.DataType.Name(given.as_datatype_enum)}")
    if len(value) != count:
        raise invalid(f"Expected {word} output batch size of {count}. Got: {len(value)}")


class _Regression:
    """How a regression signature is run, and what its output means."""

    field = "regression_result"

    @staticmethod
    def tensors(signature: Any) -> tuple[str, dict[str, str]]:
        """The tensor that takes Examples, and that of the values by key."""
        _require_method(signature, "regression", constants.REGRESS_METHOD_NAME)
        source = _source(signature, "regression", constants.REGRESS_INPUTS)
        if len(signature.outputs) != 1:
            raise invalid("Expected one output Tensor.")
        if constants.REGRESS_OUTPUTS not in signature.outputs:
            raise invalid(f"No regression outputs found in SignatureDef: {signature}")
        return source, {constants.REGRESS_OUTPUTS: signature.outputs[constants.REGRESS_OUTPUTS].name}

    @staticmethod
    def result(outputs: Results, count: int) -> Any:
        """The RegressionResult for `count` Examples."""
        value = outputs[constants.REGRESS_OUTPUTS]
        if value.ndim != 1 and value.shape[1:] != (1,):
            raise invalid(f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {_shape(value)}")
        if len(value) != count:
            raise invalid(f"Input batch size did not match output batch size: {count} vs. {len(value)}")
        if (given := dtype_of(value)).name != "float32":
            raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {messages.DataType.Name(given.as_datatype_enum)}")
        result = messages.serving.RegressionResult()
        for number in value.ravel().tolist():
            result.regressions.add(value=number)
        return result


def _shape(value: NDArray) -> str:
    return "[" + ",".join(map(str, value.shape)) + "]"


_RULES: dict[str, Any] = {constants.CLASSIFY_METHOD_NAME: _Classification, constants.REGRESS_METHOD_NAME: _Regression}


# ---- metadata ----


def metadata(servable: Servable, request: Any) -> Any:
    """The GetModelMetadataResponse with the signatures of a model; errors.InvalidArgumentError where something else is asked for."""
    if not request.metadata_field:
        raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
    for field in request.metadata_field:
        if field != "signature_def":
            raise invalid(f"Metadata field {field} is not supported")
    reply = messages.serving.GetModelMetadataResponse()
    reply.model_spec.name = servable.name
    reply.model_spec.version.value = servable.version
    signatures = messages.serving.SignatureDefMap()
    for key, signature in servable.signatures.items():
        signatures.signature_def[key].CopyFrom(signature)
    reply.metadata["signature_def"].Pack(signatures)
    return reply
