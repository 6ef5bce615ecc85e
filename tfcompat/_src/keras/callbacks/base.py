"""What is called while a model trains, is evaluated or predicts; the list of such callbacks."""

from __future__ import annotations

import collections
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys


@export("keras.callbacks.Callback")
class Callback:
    """Methods that a model calls; a subclass defines those it needs.

    `logs` is a dict of what is known then: loss and metrics, and "batch" and "size" for batches.

    Attributes:
      params: dict of what `fit` was called with. model: the model.
    """

    def __init__(self) -> None:
        self.validation_data = None
        self.model: Any = None
        self._chief_worker_only: bool | None = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Takes what `fit` was called with."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Takes the model."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """The older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """The older name of `on_train_batch_end`."""

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """An epoch of training begins."""

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """An epoch of training ended, validation included."""

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """A training step begins."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """A training step ended."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """A batch is to be evaluated, in validation too."""

    def on_test_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """A batch was evaluated."""

    def on_predict_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """The predictions of a batch begin."""

    def on_predict_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """The predictions of a batch are made."""

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Training begins."""

    def on_train_end(self, logs: dict | None = None) -> None:
        """Training ended."""

    def on_test_begin(self, logs: dict | None = None) -> None:
        """Evaluation or validation begins."""

    def on_test_end(self, logs: dict | None = None) -> None:
        """Evaluation or validation ended."""

    def on_predict_begin(self, logs: dict | None = None) -> None:
        """Predictions begin."""

    def on_predict_end(self, logs: dict | None = None) -> None:
        """Predictions ended."""


class CallbackList:
    """Callbacks that are called one after another.

    Args:
      callbacks: the callbacks.
      queue_length: over how many batches the time that they take is observed.
    """

    def __init__(self, callbacks: Iterable[Callback] | None = None, queue_length: int = 10) -> None:
        self.callbacks = list(callbacks or ())
        self.queue_length = queue_length
        self.params: dict[str, Any] = {}
        self.model: Any = None
        self._reset_batch_timing()

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def _reset_batch_timing(self) -> None:
        self._delta_t_batch = 0.0
        self._delta_ts: dict[str, Any] = collections.defaultdict(lambda: collections.deque(maxlen=self.queue_length))

    def append(self, callback: Callback) -> None:
        """Adds a callback."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Hands on what `fit` was called with."""
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: object) -> None:
        """Hands on the model."""
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, hook: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(*args)

    def _call_batch_hook(self, mode: str, hook: str, batch: int, logs: dict | None = None) -> None:
        """Calls a method for a batch, and warns where callbacks take longer than the batch."""
        if not self.callbacks:
            return
        name = f"on_{mode}_batch_{hook}"
        started = time.time()
        if hook == "begin":
            self._t_enter_batch = started
        else:
            self._delta_t_batch = started - self._t_enter_batch
        self._call(name, batch, logs or {})
        times = self._delta_ts[name]
        times.append(time.time() - started)
        median = np.median(times)
        if self._delta_t_batch > 0.0 and median > 0.95 * self._delta_t_batch and median > 0.1:
            logging.warning(
                "Method (%s) is slow compared to the batch update (%f). Check your callbacks.", name, median
            )

    def _call_begin_hook(self, mode: str) -> None:
        getattr(self, f"on_{mode}_begin")()

    def _call_end_hook(self, mode: str) -> None:
        getattr(self, f"on_{mode}_end")()

    def on_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.TRAIN, "begin", batch, logs)

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.TRAIN, "end", batch, logs)

    on_train_batch_begin, on_train_batch_end = on_batch_begin, on_batch_end

    def on_test_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.TEST, "begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.TEST, "end", batch, logs)

    def on_predict_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.PREDICT, "begin", batch, logs)

    def on_predict_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._call_batch_hook(ModeKeys.PREDICT, "end", batch, logs)

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._call("on_epoch_begin", epoch, {} if logs is None else logs)
        self._reset_batch_timing()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._call("on_epoch_end", epoch, {} if logs is None else logs)

    def on_train_begin(self, logs: dict | None = None) -> None:
        self._call("on_train_begin", logs)

    def on_train_end(self, logs: dict | None = None) -> None:
        self._call("on_train_end", logs)

    def on_test_begin(self, logs: dict | None = None) -> None:
        self._call("on_test_begin", logs)

    def on_test_end(self, logs: dict | None = None) -> None:
        self._call("on_test_end", logs)

    def on_predict_begin(self, logs: dict | None = None) -> None:
        self._call("on_predict_begin", logs)

    def on_predict_end(self, logs: dict | None = None) -> None:
        self._call("on_predict_end", logs)


def make_logs(model: Any, logs: dict, outputs: Any, mode: str, prefix: str = "") -> dict:
    """`logs` with a batch's outputs: by the names of the metrics, or as "outputs" of a prediction."""
    if mode == ModeKeys.PREDICT:
        logs["outputs"] = outputs
    elif hasattr(model, "metrics_names"):
        logs.update((prefix + name, output) for name, output in zip(model.metrics_names, outputs))
    return logs
