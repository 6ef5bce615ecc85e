"""Callbacks that keep or show what is logged, and how a model is given its callbacks."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.callbacks.base import Callback, CallbackList
from tfcompat._src.keras.utils.io_utils import optional_module
from tfcompat._src.keras.utils.progbar import Progbar
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys


@export("keras.callbacks.BaseLogger")
class BaseLogger(Callback):
    """Replaces what is logged at the end of an epoch by averages over its samples.

    Args:
      stateful_metrics: names of metrics that are logged as they are.
    """

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        logs = logs or {}
        size = logs.get("size", 0)
        self.seen += size * logs.get("num_steps", 1)
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + np.float64(value) * size

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        if logs is None:
            return
        for name in self.params["metrics"]:
            if name in self.totals:
                total = self.totals[name]
                logs[name] = total if name in self.stateful_metrics else total / self.seen


@export("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Stops training where the loss is not finite."""

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


@export("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Shows a progress bar.

    Args:
      count_mode: "samples" or "steps".
      stateful_metrics: names of metrics that are shown as they are instead of averaged.

    Raises:
      ValueError: `count_mode` is something else.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())

    def on_train_begin(self, logs: dict | None = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self.seen = 0
        self.target = self.params["steps" if self.use_steps else "samples"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(
            target=self.target, verbose=self.verbose, stateful_metrics=self.stateful_metrics,
            unit_name="step" if self.use_steps else "sample",
        )  # fmt: skip

    def on_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self.log_values: list[tuple[str, Any]] = []

    def _note(self, logs: dict) -> None:
        self.log_values += [(name, logs[name]) for name in self.params["metrics"] if name in logs]

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        logs = logs or {}
        steps = logs.get("num_steps", 1)
        self.seen += steps if self.use_steps else logs.get("size", 0) * steps
        self._note(logs)
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._note(logs or {})
        if self.verbose:
            self.progbar.update(self.seen, self.log_values)


@export("keras.callbacks.History")
class History(Callback):
    """Keeps what is logged at the end of each epoch: `epoch`, a list of numbers, and `history`, a dict of lists."""

    def on_train_begin(self, logs: dict | None = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


@export("keras.callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Posts what is logged at the end of each epoch to a server.

    Args:
      root, path: the address.
      field: name of the form field that holds the JSON text.
      headers: dict of HTTP headers.
      send_as_json: whether the body is the JSON itself.
    """

    def __init__(
        self, root: str = "http://localhost:9000", path: str = "/publish/epoch/end/", field: str = "data",
        headers: dict | None = None, send_as_json: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        requests = optional_module("requests", "RemoteMonitor")
        values = {"epoch": epoch, **(logs or {})}
        body = {"json": values} if self.send_as_json else {"data": {self.field: json.dumps(values)}}
        try:
            requests.post(self.root + self.path, headers=self.headers, **body)
        except requests.exceptions.RequestException:
            logging.warning("Warning: could not reach RemoteMonitor root server at %s", self.root)


@export("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes what is logged at the end of each epoch to a file, one row each.

    Args:
      filename: the file.
      separator: between two values.
      append: whether rows are added to an existing file.
    """

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.sep, self.filename, self.append = separator, filename, append
        self.writer: Any = None
        self.keys: list[str] | None = None
        self.append_header = True

    def on_train_begin(self, logs: dict | None = None) -> None:
        if self.append and os.path.exists(self.filename):
            self.append_header = os.path.getsize(self.filename) == 0
        self.csv_file = open(self.filename, "a" if self.append else "w", newline="\n")  # noqa: SIM115

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
        if self.model.stop_training:
            logs = {k: logs.get(k, "NA") for k in self.keys}
        if self.writer is None:
            self.writer = csv.DictWriter(self.csv_file, fieldnames=["epoch", *self.keys], delimiter=self.sep)
            if self.append_header:
                self.writer.writeheader()
        self.writer.writerow({"epoch": epoch, **{k: _cell(logs[k]) for k in self.keys}})
        self.csv_file.flush()

    def on_train_end(self, logs: dict | None = None) -> None:
        self.csv_file.close()
        self.writer = None


def _cell(value: object) -> Any:
    """A value as one cell of a row: of several, their list as text."""
    if isinstance(value, str) or not isinstance(value, Iterable) or np.ndim(value) == 0:
        return value
    return f'"[{", ".join(map(str, value))}]"'


@export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """A callback of functions; `kwargs` are other methods of tf.keras.callbacks.Callback by their names."""

    def __init__(
        self, on_epoch_begin: Callable | None = None, on_epoch_end: Callable | None = None,
        on_batch_begin: Callable | None = None, on_batch_end: Callable | None = None,
        on_train_begin: Callable | None = None, on_train_end: Callable | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end,
        }  # fmt: skip
        self.__dict__.update({name: f for name, f in given.items() if f is not None}, **kwargs)


def configure_callbacks(
    callbacks: Any, model: Any, do_validation: bool = False, batch_size: int | None = None, epochs: int | None = None,
    steps_per_epoch: int | None = None, samples: int | None = None, verbose: int = 1, count_mode: str = "steps",
    mode: str = ModeKeys.TRAIN,
) -> CallbackList:  # fmt: skip
    """The callbacks of a run as a list that knows the model and what it was called with.

    Args:
      callbacks: callbacks, or the list that this function made.
      model: the model; in training it gets a new `history`.
      do_validation, batch_size, epochs, steps_per_epoch, samples, verbose: told to the callbacks.
      count_mode: what the progress bar counts, "steps" or "samples".
      mode: one of ModeKeys.
    """
    if isinstance(callbacks, CallbackList):
        return callbacks
    found = list(callbacks or ())
    if mode == ModeKeys.TRAIN:
        model.history = History()
        found = [BaseLogger(), *found, model.history, *([ProgbarLogger(count_mode)] if verbose else [])]
    made = CallbackList(found)
    made.set_model(model._get_callback_model())
    set_callback_parameters(
        made, model, do_validation=do_validation, batch_size=batch_size, epochs=epochs, steps_per_epoch=steps_per_epoch,
        samples=samples, verbose=verbose, mode=mode,
    )  # fmt: skip
    made.model.stop_training = False
    return made


def set_callback_parameters(
    callback_list: CallbackList, model: Any, do_validation: bool = False, batch_size: int | None = None,
    epochs: int | None = None, steps_per_epoch: int | None = None, samples: int | None = None, verbose: int = 1,
    mode: str = ModeKeys.TRAIN,
) -> None:  # fmt: skip
    """Tells the callbacks what a run was called with, and which metrics it logs; see `configure_callbacks`."""
    for callback in callback_list:
        if isinstance(callback, (BaseLogger, ProgbarLogger)):
            callback.stateful_metrics = model.metrics_names[1:]
    metrics = list(model.metrics_names) if mode != ModeKeys.PREDICT and hasattr(model, "metrics_names") else []
    if do_validation:
        metrics += ["val_" + name for name in metrics]
    callback_list.set_params(
        {
            "batch_size": batch_size, "epochs": epochs, "steps": steps_per_epoch, "samples": samples,
            "verbose": verbose, "do_validation": do_validation, "metrics": metrics,
        }
    )  # fmt: skip
