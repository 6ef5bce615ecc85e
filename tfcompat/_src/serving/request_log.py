"""Logs of requests and their replies: PredictionLog messages in TFRecord files, for a part of the requests that is drawn at random.

Configuration and rules: TensorFlow Serving's LoggingConfig and core/{request_logger,server_request_logger}.cc. A file of them can be the
warm-up file of a version.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.io import tfrecord
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.serving import inference
from tfcompat._src.serving.metrics import REQUEST_LOG_COUNT
from tfcompat._src.serving.servable import Servable

COLLECTOR = "tfrecord"
_FIELDS = {"Predict": "predict_log", "Classify": "classify_log", "Regress": "regress_log", "MultiInference": "multi_inference_log"}


class _Log:
    """The file of one LoggingConfig, which is made at its first record."""

    def __init__(self, config: Any) -> None:
        self.sampling = config.sampling_config
        self.path = f"{config.log_collector_config.filename_prefix}-{time.time_ns()}-{os.getpid()}.tfrecord"
        self._lock = threading.Lock()
        self._writer: tfrecord.TFRecordWriter | None = None

    def write(self, record: bytes) -> None:
        with self._lock:
            if self._writer is None:
                self._writer = tfrecord.TFRecordWriter(self.path)
            self._writer.write(record)
            self._writer.flush()

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None


class RequestLogs:
    """The logs of all models; `update` says which there are."""

    def __init__(self) -> None:
        self._logs: dict[bytes, _Log] = {}
        self._of_models: dict[str, _Log] = {}

    def update(self, models: Mapping[str, Any]) -> None:
        """Logs requests as ModelConfigs say; a log whose configuration stays goes on.

        Raises:
          errors.NotFoundError: a collector has another type than "tfrecord". errors.InvalidArgumentError: it has no prefix of files, or
          a rate is not between 0 and 1.
        """
        configs = {name: model.logging_config for name, model in models.items() if model.HasField("logging_config")}
        for name, config in configs.items():
            _check(name, config)
        keys = {name: config.SerializeToString(deterministic=True) for name, config in configs.items()}
        logs = {keys[name]: self._logs.get(keys[name]) or _Log(config) for name, config in configs.items()}
        old, self._logs = self._logs, logs
        self._of_models = {name: logs[key] for name, key in keys.items()}
        for key in old.keys() - logs.keys():
            old[key].close()

    def add(self, servable: Servable, method: str, made: Callable[[], tuple[Any, Any]]) -> None:
        """Writes a request and its reply, where the model has a log and this request is drawn. A failure is counted and told in the server's log.

        Args:
          servable: what answered. method: such as "Predict". made: gives both messages.
        """
        log = self._of_models.get(servable.name)
        if log is None or random.random() >= log.sampling.sampling_rate:
            return
        request, reply = made()
        spec = request.tasks[0].model_spec if method == "MultiInference" else request.model_spec
        record = messages.serving.PredictionLog()
        record.log_metadata.model_spec.CopyFrom(inference.reply_spec(servable, spec))
        record.log_metadata.sampling_config.CopyFrom(log.sampling)
        record.log_metadata.saved_model_tags.extend(servable.tags)
        kind = getattr(record, _FIELDS[method])
        kind.request.CopyFrom(request)
        kind.response.CopyFrom(reply)
        status = "OK"
        try:
            log.write(record.SerializeToString())
        except wire.FAILURES as e:
            code, text = wire.status_of(e)
            status = messages.error.Code.Name(code)
            logging.error("A request of model %s could not be logged in %s: %s", servable.name, log.path, text)
        REQUEST_LOG_COUNT.add(servable.name, status)

    def close(self) -> None:
        """Closes all files."""
        self.update({})


def _check(name: str, config: Any) -> None:
    collector, rate = config.log_collector_config, config.sampling_config.sampling_rate
    if collector.type != COLLECTOR:
        raise errors.NotFoundError(
            None, None, f"Cannot find LogCollector::Factory for type: {collector.type}. Model {name} can have type {COLLECTOR!r}."
        )
    if not collector.filename_prefix:
        raise errors.InvalidArgumentError(None, None, f"The log_collector_config of model {name} has no filename_prefix.")
    if not 0 <= rate <= 1:
        raise errors.InvalidArgumentError(None, None, f"The sampling_rate of model {name} is {rate}; it is between 0 and 1.")
