"""A model server: models, and the ports where they are asked."""

from __future__ import annotations

import os
import re
import threading
import time
import traceback
from typing import Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.serving import grpc_server, metrics, server_config, tls
from tfcompat._src.serving.batching import Batching
from tfcompat._src.serving.grpc_server import GrpcServer, Health, Services, Sessions
from tfcompat._src.serving.http_server import (
    DEFAULT_METRICS_PATH,
    HEADER_SECONDS,
    LARGEST_BODY,
    LARGEST_INFLATED,
    MOST_CONNECTIONS,
    MOST_WAITING,
    HttpServer,
)
from tfcompat._src.serving.manager import Loading, Manager
from tfcompat._src.serving.page import Page
from tfcompat._src.serving.prepare import prepare
from tfcompat._src.serving.processes import Group
from tfcompat._src.serving.rest import RestApi
from tfcompat._src.serving.servable import Servable

_THREADS = 4 * (os.cpu_count() or 1)


class Settings(NamedTuple):
    """What tensorflow_model_server's flags say; a port that is None is off, and 0 is a free one."""

    port: int | None = 8500
    grpc_socket_path: str = ""
    grpc_max_threads: int = _THREADS
    rest_api_port: int | None = None
    rest_api_num_threads: int = _THREADS
    rest_api_timeout_in_ms: int = 30000
    max_waiting_requests: int = MOST_WAITING
    rest_api_max_body_bytes: int = LARGEST_BODY
    rest_api_max_inflated_bytes: int = LARGEST_INFLATED
    rest_api_max_connections: int = MOST_CONNECTIONS
    rest_api_header_seconds: float = HEADER_SECONDS
    max_request_elements: int = grpc_server.MOST_ELEMENTS
    drain_seconds: float = 30.0
    host: str = "0.0.0.0"
    processes: int = 1
    model_name: str = "default"
    model_base_path: str = ""
    model_config_file: str = ""
    model_config_file_poll_wait_seconds: float = 0.0
    file_system_poll_wait_seconds: float = 1.0
    max_num_load_retries: int = 5
    load_retry_interval_micros: int = 60_000_000
    allow_version_labels_for_unavailable_models: bool = False
    saved_model_tags: str = "serve"
    enable_batching: bool = False
    batching_parameters_file: str = ""
    prepared_batch_sizes: str = ""
    enable_model_warmup: bool = True
    ssl_config_file: str = ""
    rest_api_ssl_config_file: str = ""
    monitoring_config_file: str = ""
    enable_grpc_healthcheck_service: bool = False
    enable_session_service: bool = False
    enable_page: bool = True


class ModelServer:
    """Serves models as settings say.

    Args:
      settings: what to serve, and where. group: of the processes that listen at the same ports, or None.

    Raises:
      errors.InvalidArgumentError: settings contradict each other, or a file of them is malformed. OSError: it cannot listen at a port.
    """

    def __init__(self, settings: Settings, group: Group | None = None) -> None:
        self._settings, self._group = settings, group
        if group is not None and settings.grpc_socket_path:
            raise errors.InvalidArgumentError(None, None, "Several processes cannot share grpc_socket_path; they can share ports.")
        self._batching = _batching(settings)
        self._sizes = _sizes(settings.prepared_batch_sizes) | set(self._batching.sizes if self._batching is not None else ())
        self.manager = Manager(
            Loading(
                self._load,
                poll_seconds=settings.file_system_poll_wait_seconds,
                retries=settings.max_num_load_retries,
                retry_seconds=settings.load_retry_interval_micros / 1e6,
                labels_of_unavailable=settings.allow_version_labels_for_unavailable_models,
            )
        )
        self._health = Health()
        self._stopping = threading.Event()
        self._followers: list[threading.Thread] = []
        self.http = self._http() if settings.rest_api_port is not None else None
        self.grpc = self._grpc() if settings.port is not None or settings.grpc_socket_path else None
        if self.http is None and self.grpc is None:
            raise errors.InvalidArgumentError(None, None, "There is no port to listen at: set port, rest_api_port or grpc_socket_path.")

    def _load(self, name: str, version: int, path: str) -> Servable:
        """Loads a version, and does before its first request what would make that slow."""
        batcher = self._batching.batcher() if self._batching is not None else None
        servable = Servable(name, version, path, self._settings.saved_model_tags.split(","), batcher)
        try:
            prepare(servable, sorted(self._sizes), self._settings.enable_model_warmup)
        except BaseException:
            servable.close()
            raise
        return servable

    def _http(self) -> HttpServer:
        settings, totals = self._settings, self._group.totals if self._group is not None else metrics.totals
        return HttpServer(
            (settings.host, settings.rest_api_port or 0),
            RestApi(self.manager, settings.rest_api_timeout_in_ms / 1000),
            _metrics_path(settings.monitoring_config_file),
            settings.rest_api_num_threads,
            settings.max_waiting_requests,
            settings.rest_api_max_body_bytes,
            tls.http_context(settings.rest_api_ssl_config_file) if settings.rest_api_ssl_config_file else None,
            Page(self.manager, totals) if settings.enable_page else None,
            totals,
            self._group is not None,
            settings.rest_api_max_inflated_bytes,
            settings.rest_api_max_connections,
            settings.rest_api_header_seconds,
        )

    def _grpc(self) -> GrpcServer:
        settings, services = self._settings, Services(self.manager, self._group is None, self._settings.max_request_elements)
        answers: dict[str, Any] = {grpc_server.PREDICTION: services, grpc_server.MODEL: services}
        if settings.enable_grpc_healthcheck_service:
            answers[grpc_server.HEALTH] = self._health
        if settings.enable_session_service:
            answers[grpc_server.SESSION] = Sessions(self.manager, settings.max_request_elements)
        addresses = [f"{settings.host}:{settings.port}"] if settings.port is not None else []
        addresses += [f"unix:{settings.grpc_socket_path}"] if settings.grpc_socket_path else []
        credentials = tls.grpc_credentials(settings.ssl_config_file) if settings.ssl_config_file else None
        return GrpcServer(answers, addresses, settings.grpc_max_threads, settings.max_waiting_requests, credentials, self._group is not None)

    def start(self) -> None:
        """Loads the models, then begins to answer.

        Raises:
          errors.OpError: a configuration is wrong, or no version of a model could be loaded.
        """
        self.manager.start(self._config())
        if self._group is not None:
            self._group.start()
        if self._settings.model_config_file and self._settings.model_config_file_poll_wait_seconds:
            follower = threading.Thread(target=self._follow_config, name="tfcompat-serving-config", daemon=True)
            follower.start()
            self._followers.append(follower)
        for port in (self.grpc, self.http):
            if port is not None:
                port.start()
        self._health.set_serving(True)

    def _config(self) -> Any:
        settings = self._settings
        if settings.model_config_file:
            return server_config.read(settings.model_config_file, messages.serving.ModelServerConfig)
        if not settings.model_base_path:
            raise errors.InvalidArgumentError(None, None, "Both model_base_path and model_config_file are empty; set one of them.")
        return server_config.of_one_model(settings.model_name, settings.model_base_path)

    def _follow_config(self) -> None:
        """Reads the file of models again and again; what is wrong with it is logged, and the models stay as they are."""
        while not self._stopping.wait(self._settings.model_config_file_poll_wait_seconds):
            try:
                self.manager.reload(self._config())
            except Exception:  # noqa: BLE001  (the next reading may find it in order)
                logging.error("Reloading %s failed: %s", self._settings.model_config_file, traceback.format_exc())

    def stop(self) -> bool:
        """Takes no more requests, answers those under way, and gives everything back; what takes longer than `drain_seconds` is given up.

        Returns:
          whether all has ended, so that no thread is left.
        """
        deadline = time.monotonic() + self._settings.drain_seconds
        self._health.set_serving(False)
        self._stopping.set()
        for port in (self.http, self.grpc):
            if port is not None:
                port.stop(max(0.0, deadline - time.monotonic()))
        self.manager.stop(max(0.0, deadline - time.monotonic()))
        for follower in self._followers:
            follower.join(max(0.0, deadline - time.monotonic()))
        if self._batching is not None:
            self._batching.stop(deadline)
        return time.monotonic() < deadline


def _batching(settings: Settings) -> Batching | None:
    if not settings.enable_batching:
        if settings.batching_parameters_file:
            raise errors.InvalidArgumentError(None, None, "server_options.batching_parameters_file is set without enable_batching.")
        return None
    kind = messages.serving.BatchingParameters
    return Batching(server_config.read(settings.batching_parameters_file, kind) if settings.batching_parameters_file else kind())


def _sizes(text: str) -> set[int]:
    """The sizes in a list with commas."""
    sizes = text.split(",") if text else []
    for size in sizes:
        if not re.fullmatch("[1-9][0-9]{0,8}", size):
            raise errors.InvalidArgumentError(None, None, f"prepared_batch_sizes is {text!r}; it is a list of positive numbers with commas.")
    return set(map(int, sizes))


def _metrics_path(file: str) -> str | None:
    """Where metrics are given, or None."""
    if not file:
        return None
    config = server_config.read(file, messages.serving.MonitoringConfig).prometheus_config
    return (config.path or DEFAULT_METRICS_PATH) if config.enable else None
