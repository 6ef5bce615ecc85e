"""The gRPC port of a model server: PredictionService, ModelService and, where wanted, the standard health service."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages, pool
from tfcompat._src.serving import inference
from tfcompat._src.serving.manager import Manager
from tfcompat._src.serving.metrics import counted
from tfcompat._src.serving.servable import Servable
from tfcompat._src.serving.tensors import fill_tensor, predict_response

PREDICTION, MODEL, HEALTH = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService", "grpc.health.v1.Health"
SESSION = "tensorflow.serving.SessionService"
HEALTHY_SERVICES = ("", "ModelService", "PredictionService")
MOST_WAITING = 1000
MOST_ELEMENTS = 2**26
_LARGEST_MESSAGE = 2**31 - 1
_MOST_DIMENSIONS = 64
"""Of an array, by NumPy."""
_FOREVER = 10**8
"""Seconds: what gRPC says remains of a call without a deadline is more."""
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Services:
    """Answers the requests of the two services: a method takes the request and how many seconds are left for it, 0 for any time.

    Args:
      manager: of the models. is_alone: whether no other process listens at the same port.
      most_elements: that the tensors of a request have together.
    """

    def __init__(self, manager: Manager, is_alone: bool = True, most_elements: int = MOST_ELEMENTS) -> None:
        self._manager, self._is_alone, self._most_elements = manager, is_alone, most_elements

    def Predict(self, request: Any, seconds: float) -> Any:
        name = inference.signature_name(request.model_spec)

        def predicted(servable: Servable) -> Any:
            inputs = _arrays(request.inputs, self._most_elements)
            outputs = inference.predict(servable, name, inputs, request.output_filter, seconds)
            return predict_response(servable, request.model_spec, outputs)

        return self._infer("Predict", request, request.model_spec, predicted)

    def Classify(self, request: Any, seconds: float) -> Any:
        return self._infer("Classify", request, request.model_spec, lambda servable: inference.classify(servable, request, seconds))

    def Regress(self, request: Any, seconds: float) -> Any:
        return self._infer("Regress", request, request.model_spec, lambda servable: inference.regress(servable, request, seconds))

    def MultiInference(self, request: Any, seconds: float) -> Any:
        if not request.tasks:
            raise inference.invalid("Inference request must contain at least one task.")
        spec = request.tasks[0].model_spec
        return self._infer("MultiInference", request, spec, lambda servable: inference.multi_inference(servable, request, seconds))

    def _infer(self, method: str, request: object, spec: Any, work: Callable[[Servable], Any]) -> Any:
        with counted(self._manager.label(spec.name), method, "GRPC"), self._manager.use(spec) as servable:
            reply = work(servable)
            self._manager.logs.add(servable, method, lambda: (request, reply))
            return reply

    def GetModelMetadata(self, request: Any, seconds: float) -> Any:
        if not request.HasField("model_spec"):
            raise inference.invalid("Missing ModelSpec")
        with self._manager.use(request.model_spec) as servable:
            return inference.metadata(servable, request)

    def GetModelStatus(self, request: Any, seconds: float) -> Any:
        if not request.HasField("model_spec"):
            raise inference.invalid("Missing ModelSpec")
        return self._manager.status(request.model_spec)

    def HandleReloadConfigRequest(self, request: Any, seconds: float) -> Any:
        reply = messages.serving.ReloadConfigResponse()
        try:
            if not self._is_alone:
                raise errors.FailedPreconditionError(
                    None, None,
                    "This server has several processes, of which a request reaches one: change its model_config_file, "
                    "which all read with model_config_file_poll_wait_seconds",
                )  # fmt: skip
            if request.config.WhichOneof("config") != "model_config_list":
                raise errors.InvalidArgumentError(None, None, "ServerModelConfig needs to be of type model_config_list")
            self._manager.reload(request.config, seconds)
        except wire.FAILURES as e:  # this method tells failures in its reply
            reply.status.error_code, reply.status.error_message = wire.status_of(e)
        return reply


def _arrays(protos: Mapping[str, Any], most: int) -> dict[str, NDArray]:
    """The arrays of a request's TensorProtos; errors.InvalidArgumentError if they have more than `most` elements together."""
    total = sum(_count(key, proto) for key, proto in protos.items())
    if total > most:
        raise inference.invalid(f"The inputs have {total} elements; this server takes {most} at most (max_request_elements)")
    return {key: wire.from_proto(proto) for key, proto in protos.items()}


def _count(key: str, proto: Any) -> int:
    """How many elements a TensorProto has, of which the last value may stand for many; 0 for a shape that is none."""
    dimensions = len(proto.tensor_shape.dim)
    if dimensions > _MOST_DIMENSIONS:
        raise inference.invalid(f"Input {key} has {dimensions} dimensions; a tensor has {_MOST_DIMENSIONS} at most")
    return max(0, math.prod(dim.size for dim in proto.tensor_shape.dim))


class Sessions:
    """Answers SessionService: runs of any tensors and operations of a model's graph."""

    def __init__(self, manager: Manager, most_elements: int = MOST_ELEMENTS) -> None:
        self._manager, self._most_elements = manager, most_elements

    def SessionRun(self, request: Any, seconds: float) -> Any:
        with counted(self._manager.label(request.model_spec.name), "SessionRun", "GRPC"), self._manager.use(request.model_spec) as servable:
            options = messages.RunOptions()
            options.CopyFrom(request.options)
            if seconds:
                left = max(1, int(seconds * 1000))
                options.timeout_in_ms = min(options.timeout_in_ms or left, left)
            reply = messages.serving.SessionRunResponse(model_spec=request.model_spec)
            feeds = _arrays({feed.name: feed.tensor for feed in request.feed}, self._most_elements)
            values = servable.run_session(feeds, request.fetch, request.target, options, reply.metadata if options.trace_level else None)
            for name, value in zip(request.fetch, values, strict=True):
                fill_tensor(reply.tensor.add(name=name).tensor, value)
            reply.model_spec.version.value = servable.version
            return reply


class Health:
    """The standard health service (grpc.health.v1) of a server."""

    def __init__(self) -> None:
        self._state = messages.grpc.health.v1.HealthCheckResponse.NOT_SERVING

    def set_serving(self, is_serving: bool) -> None:
        """What clients are told from now on."""
        states = messages.grpc.health.v1.HealthCheckResponse
        self._state = states.SERVING if is_serving else states.NOT_SERVING

    def Check(self, request: Any, seconds: float) -> Any:
        if request.service not in HEALTHY_SERVICES:
            raise errors.NotFoundError(None, None, f"unknown service {request.service}")
        return messages.grpc.health.v1.HealthCheckResponse(status=self._state)


class GrpcServer:
    """Listens at addresses and answers in threads.

    Args:
      services: what answers, by the full names of gRPC services. addresses: where to listen, "host:port" or "unix:PATH"; the port of
      the first is `port`. threads: how many requests are answered at the same time, and `waiting` how many more may wait.
      credentials: of a server with TLS, or None. is_shared: whether other processes listen at these addresses too.

    Raises:
      OSError: it cannot listen there.
    """

    def __init__(
        self, services: dict[str, Any], addresses: Iterable[str], threads: int = 16, waiting: int = MOST_WAITING,
        credentials: grpc.ServerCredentials | None = None, is_shared: bool = False,
    ) -> None:  # fmt: skip
        options = [
            ("grpc.max_send_message_length", _LARGEST_MESSAGE), ("grpc.max_receive_message_length", _LARGEST_MESSAGE), ("grpc.so_reuseport", int(is_shared)),
        ]  # fmt: skip
        self._threads = ThreadPoolExecutor(threads, "tfcompat-serving-grpc")
        self._grpc = grpc.server(self._threads, handlers=[_Handlers(services)], options=options, maximum_concurrent_rpcs=threads + waiting)
        self._addresses, self._credentials = addresses, credentials
        self._is_shared, self.port = is_shared, 0
        if not is_shared:
            self._listen()

    def _listen(self) -> None:
        ports = []
        for address in self._addresses:
            try:
                ports.append(
                    self._grpc.add_insecure_port(address) if self._credentials is None
                    else self._grpc.add_secure_port(address, self._credentials)
                )  # fmt: skip
            except RuntimeError as e:
                raise OSError(f"Cannot listen at {address}: {e}") from None
        self.port = ports[0]

    def start(self) -> None:
        """Begins to answer."""
        if self._is_shared:
            self._listen()  # earlier, connections that others could answer would wait here
        self._grpc.start()

    def stop(self, seconds: float | None = None) -> None:
        """Takes no more calls, and returns when those under way are answered, at the latest after `seconds`."""
        self._grpc.stop(seconds if seconds is not None else _FOREVER).wait()
        self._threads.shutdown(wait=seconds is None)


class _Handlers(grpc.GenericRpcHandler):
    """Finds what answers a call by its path."""

    def __init__(self, services: dict[str, Any]) -> None:
        self._by_path = {
            method.path: grpc.unary_unary_rpc_method_handler(
                _answering(getattr(answers, name)), method.request.FromString, method.reply.SerializeToString
            )
            for service, answers in services.items()
            for name, method in pool.service(service).items()
            if hasattr(answers, name)
        }

    def service(self, handler_call_details: Any) -> Any:
        return self._by_path.get(handler_call_details.method)


def _answering(method: Callable[[Any, float], Any]) -> Callable[[Any, Any], Any]:
    def answer(request: object, context: Any) -> Any:
        left = context.time_remaining()
        try:
            return method(request, 0 if left is None or left > _FOREVER else max(left, 1e-3))
        except wire.FAILURES as e:
            code, text = wire.status_of(e)
        context.abort(_CODES[code], wire.status_text(text))

    return answer
