"""Logs of requests and their replies: PredictionLog messages in TFRecord files, for a part of the requests that is drawn at random.

Configuration and rules: TensorFlow Serving's LoggingConfig and core/{request_logger,server_request_logger}.cc. A file of them can be the
warm-up file of a version.
"""

from __future__ import annotations

import contextlib
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
    """The file of one LoggingConfig, which is made at its first record.

    Where the file was moved or deleted, as programs do that rotate logs, the next record begins one of the same name. What was
    written of a record that has no room on the disk is taken back: behind a broken record nothing could be read.
    """

    def __init__(self, config: Any) -> None:
        self.sampling, self._prefix = config.sampling_config, config.log_collector_config.filename_prefix
        self.path = self._new_path()
        self._lock = threading.Lock()
        self._writer: tfrecord.TFRecordWriter | None = None

    def _new_path(self) -> str:
        return f"{self._prefix}-{time.time_ns()}-{os.getpid()}.tfrecord"

    def write(self, record: bytes) -> None:
        with self._lock:
            if self._writer is not None and not os.path.exists(self.path):
                self._close()
            if self._writer is None:
                self._writer = tfrecord.TFRecordWriter(self.path)
            size = os.path.getsize(self.path)
            try:
                self._writer.write(record)
                self._writer.flush()
            except wire.FAILURES:
                self._take_back(size)
                raise

    def _take_back(self, size: int) -> None:
        """Leaves the file with its first `size` bytes, which are whole records; the next record begins another where there are any."""
        with contextlib.suppress(*wire.FAILURES):
            self._close()
        with contextlib.suppress(OSError):
            os.truncate(self.path, size)
        if size:
            self.path = self._new_path()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


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
        path = log.path
        try:
            log.write(record.SerializeToString())
        except wire.FAILURES as e:
            code, text = wire.status_of(e)
            status = messages.error.Code.Name(code)
            logging.error("A request of model %s could not be logged in %s: %s", servable.name, path, text)
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
