"""Callbacks that watch a metric or the epoch: they stop training, change the learning rate, or save the model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.values import get_value, set_value
from tfcompat._src.keras.callbacks.base import Callback
from tfcompat._src.platform import logging
from tfcompat._src.platform.gfile import file_exists
from tfcompat._src.train.checkpoint_management import latest_checkpoint


def _checked_mode(mode: str, message: str) -> str:
    if mode in ("auto", "min", "max"):
        return mode
    logging.warning(f"{message} %s is unknown, fallback to auto mode.", mode)
    return "auto"


def _available(monitor: str, logs: dict | None, purpose: str) -> Any:
    """The value of a metric in `logs`; None, with a warning, where it is not there."""
    value = (logs or {}).get(monitor)
    if value is None:
        logging.warning(
            "%s conditioned on metric `%s` which is not available. Available metrics are: %s",
            purpose, monitor, ",".join(logs or ()),
        )  # fmt: skip
    return value


@export("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model.

    Args:
      filepath: the file; "{epoch}" and "{name of a metric}" in it stand for their values.
      monitor: the metric that says which model is best.
      verbose: 1 prints what happens.
      save_best_only: saves only where the metric improved.
      save_weights_only: saves the weights instead of the model.
      mode: "min", "max", or "auto": by the metric's name.
      save_freq: "epoch", or a number of samples.
      load_weights_on_restart: whether training begins with the weights saved last.
      period: number of epochs between two files.

    Raises:
      ValueError: `save_freq` is something else.
    """

    def __init__(
        self, filepath: str, monitor: str = "val_loss", verbose: int = 0, save_best_only: bool = False,
        save_weights_only: bool = False, mode: str = "auto", save_freq: object = "epoch", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.filepath, self.monitor, self.verbose = filepath, monitor, verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.epochs_since_last_save = self._samples_seen_since_last_saving = 0
        self.load_weights_on_restart = kwargs.get("load_weights_on_restart", False)
        self.period = kwargs.get("period", 1)
        if "load_weights_on_restart" in kwargs:
            logging.warning(
                "`load_weights_on_restart` argument is deprecated. Please use `model.load_weights()` for loading "
                "weights before the start of `model.fit()`."
            )
        if "period" in kwargs:
            logging.warning(
                "`period` argument is deprecated. Please use `save_freq` to specify the frequency in number of samples "
                "seen."
            )
        mode = _checked_mode(mode, "ModelCheckpoint mode")
        rises = mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure")))
        self.monitor_op: Callable = np.greater if rises else np.less
        self.best = -np.inf if rises else np.inf
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self._chief_worker_only = False

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        if not model._is_graph_network and type(model).__name__ != "Sequential":
            self.save_weights_only = True

    def on_train_begin(self, logs: dict | None = None) -> None:
        if not self.load_weights_on_restart:
            return
        path = self._get_most_recently_modified_file_matching_pattern(self.filepath)
        if path is None or not (file_exists(path) or file_exists(path + ".index")):
            return
        try:
            self.model.load_weights(path)
        except (OSError, ValueError) as e:
            raise ValueError(f"Error loading file from {path}. Reason: {e}") from e

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._current_epoch = epoch

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        if self.save_freq == "epoch":
            return
        self._samples_seen_since_last_saving += (logs or {}).get("size", 1)
        if self._samples_seen_since_last_saving >= self.save_freq:
            self._save_model(self._current_epoch, logs or {})
            self._samples_seen_since_last_saving = 0

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self._save_model(epoch, logs or {})

    def _save_model(self, epoch: int, logs: dict) -> None:
        self.epochs_since_last_save = 0
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            if not self._improved(epoch, logs, path):
                return
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        save = self.model.save_weights if self.save_weights_only else self.model.save
        save(path, overwrite=True)

    def _improved(self, epoch: int, logs: dict, path: str) -> bool:
        current = logs.get(self.monitor)
        if current is None:
            logging.warning("Can save best model only with %s available, skipping.", self.monitor)
            return False
        improved = bool(self.monitor_op(current, self.best))
        if self.verbose > 0 and improved:
            print(
                f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {current:0.5f}, "
                f"saving model to {path}"
            )
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
        if improved:
            self.best = current
        return improved

    def _get_most_recently_modified_file_matching_pattern(self, pattern: str) -> str | None:
        """The newest file with a name like `pattern`; of several, the one with the last name. None without any."""
        folder, name = os.path.split(pattern)
        wanted = re.compile("^" + re.sub(r"{.*}", r".*", name) + "$")
        latest = latest_checkpoint(folder)
        if latest is not None and wanted.match(os.path.basename(latest)):
            return latest
        if not file_exists(folder):
            return None
        found = [os.path.join(folder, f) for f in os.listdir(folder) if wanted.match(f)]
        times = [os.path.getmtime(f) for f in found]
        newest = [f for f, t in zip(found, times) if t == max(times)]
        return newest[0] if len(newest) == 1 else max(found, default=None)


@export("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Stops training where a metric does not improve any more.

    Args:
      monitor: the metric.
      min_delta: a smaller change is no improvement.
      patience: number of epochs without improvement.
      verbose: 1 prints what happens.
      mode: "min", "max", or "auto": by the metric's name.
      baseline: the value to improve on at first.
      restore_best_weights: whether the model gets the weights of the best epoch.
    """

    def __init__(
        self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0, mode: str = "auto",
        baseline: float | None = None, restore_best_weights: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights = restore_best_weights
        self.best_weights: list[Any] | None = None
        self.wait = self.stopped_epoch = 0
        mode = _checked_mode(mode, "EarlyStopping mode")
        rises = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.monitor_op: Callable = np.greater if rises else np.less
        self.min_delta = abs(min_delta) if rises else -abs(min_delta)

    def on_train_begin(self, logs: dict | None = None) -> None:
        self.wait = self.stopped_epoch = 0
        worst = np.inf if self.monitor_op == np.less else -np.inf
        self.best = worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        current = self.get_monitor_value(logs)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: dict | None = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: dict | None) -> Any:
        """The value of the metric; None, with a warning, where it is not logged."""
        return _available(self.monitor, logs, "Early stopping")


@export("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the learning rate at the beginning of each epoch.

    Args:
      schedule: function of the epoch's number and the learning rate, or of the number alone.
      verbose: 1 prints the rate.

    Raises:
      ValueError: in training, the optimizer has no `lr`, or the function gives no float.
    """

    def __init__(self, schedule: Callable, verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            rate = self.schedule(epoch, float(get_value(self.model.optimizer.lr)))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        if logs is not None:
            logs["lr"] = get_value(self.model.optimizer.lr)


@export("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Reduces the learning rate where a metric does not improve any more.

    Args:
      monitor: the metric.
      factor: what the rate is multiplied by, less than 1.
      patience: number of epochs without improvement.
      verbose: 1 prints what happens.
      mode: "min", "max", or "auto": by the metric's name.
      min_delta: a smaller change is no improvement; `epsilon` is its old name.
      cooldown: number of epochs to wait after a reduction.
      min_lr: the smallest rate.

    Raises:
      ValueError: the factor is 1 or more.
    """

    def __init__(
        self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0, mode: str = "auto",
        min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if "epsilon" in kwargs:
            min_delta = kwargs.pop("epsilon")
            logging.warning("`epsilon` argument is deprecated and will be removed, use `min_delta` instead.")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta, self.cooldown, self.min_lr, self.mode = min_delta, cooldown, min_lr, mode
        self._reset()

    def _reset(self) -> None:
        self.mode = _checked_mode(self.mode, "Learning Rate Plateau Reducing mode")
        falls = self.mode == "min" or (self.mode == "auto" and "acc" not in self.monitor)
        self.best = np.inf if falls else -np.inf
        self.monitor_op: Callable = self._is_below if falls else self._is_above
        self.cooldown_counter = self.wait = 0

    def _is_below(self, a: Any, b: Any) -> Any:
        return np.less(a, b - self.min_delta)

    def _is_above(self, a: Any, b: Any) -> Any:
        return np.greater(a, b + self.min_delta)

    def on_train_begin(self, logs: dict | None = None) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        logs = {} if logs is None else logs
        logs["lr"] = get_value(self.model.optimizer.lr)
        current = _available(self.monitor, logs, "Reduce LR on plateau")
        if current is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        old = float(get_value(self.model.optimizer.lr))
        if old <= self.min_lr:
            return
        new = max(old * self.factor, self.min_lr)
        set_value(self.model.optimizer.lr, new)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
        self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """Whether a reduction was made so lately that the metric does not count."""
        return self.cooldown_counter > 0
