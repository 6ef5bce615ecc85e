"""TensorFlow Serving's REST interface: from a method, path and body to a status, headers and body.

Paths, replies and texts: TensorFlow Serving's REST reference and model_servers/http_rest_api_{handler,util}.cc.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import Any, NamedTuple

from google.protobuf import json_format

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages, pool
from tfcompat._src.serving import inference, json_replies, json_requests, tensors
from tfcompat._src.serving.inference import invalid
from tfcompat._src.serving.manager import Manager
from tfcompat._src.serving.metrics import counted
from tfcompat._src.serving.servable import Servable

_VERSION = r"(?:(?:/versions/(?P<version>[0-9]+))|(?:/labels/(?P<label>[^/:]+)))?"
_POST = re.compile(rf"/v1/models/(?P<name>[^/:]+){_VERSION}:(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(rf"/v1/models(?:/(?P<name>[^/:]+))?{_VERSION}(?:/(?P<metadata>metadata))?", re.IGNORECASE)
_HTTP_STATUS = {
    errors.CANCELLED: 499, errors.INVALID_ARGUMENT: 400, errors.DEADLINE_EXCEEDED: 504, errors.NOT_FOUND: 404, errors.ALREADY_EXISTS: 409,
    errors.PERMISSION_DENIED: 403, errors.UNAUTHENTICATED: 401, errors.RESOURCE_EXHAUSTED: 429, errors.FAILED_PRECONDITION: 400,
    errors.ABORTED: 409, errors.OUT_OF_RANGE: 400, errors.UNIMPLEMENTED: 501, errors.UNAVAILABLE: 503,
}  # fmt: skip
_LARGEST_VERSION = 2**63


class Reply(NamedTuple):
    """An HTTP status, the body's type, and the body."""

    status: int
    content_type: str
    body: bytes


def failure(error: BaseException) -> Reply:
    """The reply for a failure."""
    code, text = wire.status_of(error)
    return Reply(_HTTP_STATUS.get(code, 500), "application/json", json_replies.error(text))


class RestApi:
    """Answers requests of the REST interface.

    Args:
      manager: of the models. seconds: how long a request may run.
    """

    def __init__(self, manager: Manager, seconds: float) -> None:
        self._manager, self._seconds = manager, seconds

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        """The reply to a request; `path` begins with /v1/."""
        path = path.partition("?")[0]
        try:
            if method == "POST" and (match := _POST.fullmatch(path)):
                return Reply(200, "application/json", self._infer(match["method"].lower(), _spec(match), body))
            if method == "GET" and (match := _GET.fullmatch(path)):
                return Reply(200, "application/json", self._describe(match))
            raise invalid(f"Malformed request: {method} {path}")
        except wire.FAILURES as e:
            return failure(e)

    def _infer(self, method: str, spec: Any, body: bytes) -> bytes:
        with counted(self._manager.label(spec.name), method.capitalize(), "REST"), self._manager.use(spec) as servable:
            document = json_requests.parse(body)
            spec.signature_name = json_requests.signature_name(document)
            if method == "predict":
                return self._predict(servable, document, spec)
            if method == "classify":
                request, infer, write = messages.serving.ClassificationRequest(model_spec=spec), inference.classify, json_replies.classifications
            else:
                request, infer, write = messages.serving.RegressionRequest(model_spec=spec), inference.regress, json_replies.regressions
            json_requests.fill_input(document, request)
            reply = infer(servable, request, self._seconds)
            self._manager.logs.add(servable, method.capitalize(), lambda: (request, reply))
            return write(reply.result)

    def _predict(self, servable: Servable, document: object, spec: object) -> bytes:
        name = inference.signature_name(spec)
        if name not in servable.signatures:
            raise invalid(f'Serving signature name: "{name}" not found in signature def')
        request = json_requests.predict_request(document, servable.signatures[name].inputs)
        outputs = inference.predict(servable, name, request.inputs, seconds=self._seconds)
        self._manager.logs.add(
            servable, "Predict", lambda: (tensors.predict_request(spec, request.inputs), tensors.predict_response(servable, spec, outputs))
        )
        return json_replies.rows(outputs) if request.form == json_requests.ROW else json_replies.columns(outputs)

    def _describe(self, match: re.Match[str]) -> bytes:
        if not match["name"]:
            raise invalid("Missing model name in request.")
        spec = _spec(match)
        if not match["metadata"]:
            return _written(self._manager.status(spec)).encode()
        with self._manager.use(spec) as servable:
            request = messages.serving.GetModelMetadataRequest(model_spec=spec, metadata_field=["signature_def"])
            reply = inference.metadata(servable, request)
        signatures = messages.serving.SignatureDefMap()
        reply.metadata["signature_def"].Unpack(signatures)
        return (
            f'{{\n"model_spec":{_written(reply.model_spec)},\n"metadata": {{"signature_def": {_written(signatures)}}}\n}}\n'
        ).encode()


def _spec(match: re.Match[str]) -> Any:
    spec = messages.serving.ModelSpec(name=urllib.parse.unquote(match["name"]))
    if match["version"]:
        if int(match["version"][:20]) >= _LARGEST_VERSION or len(match["version"]) > 20:
            raise invalid(f"Failed to convert version: {match['version']} to numeric.")
        spec.version.value = int(match["version"])
    elif match["label"]:
        spec.version_label = urllib.parse.unquote(match["label"])
    return spec


def _written(message: Any) -> str:
    return json_format.MessageToJson(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True, indent=1, descriptor_pool=pool.POOL
    )
