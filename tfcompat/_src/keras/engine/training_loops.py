"""The loops over epochs and batches behind fit, evaluate and predict."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors, nest
from tfcompat._src.keras.callbacks.base import make_logs
from tfcompat._src.keras.callbacks.loggers import ProgbarLogger, configure_callbacks, set_callback_parameters
from tfcompat._src.keras.engine.training_data import is_composite, should_run_validation
from tfcompat._src.keras.engine.training_sources import Batch
from tfcompat._src.keras.utils.generic_utils import to_list
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys

# ---- results of an epoch ----


class _Metrics:
    """The mean loss of the batches of an epoch, and the last values of the metrics, which are means themselves.

    As in 1.15, an epoch without a batch has the results of the one before, the loss divided once more by the number of batches.
    """

    def __init__(self, source: Any) -> None:
        self._source, self._results, self._is_new = source, [], True

    def begin(self) -> None:
        """Begins an epoch, whose first batch replaces the results."""
        self._is_new = True

    def add(self, batch: Batch, outputs: list[Any]) -> None:
        weight = 1 if self._source.uses_steps else batch.end - batch.start
        before = 0.0 if self._is_new else self._results[0]
        self._results, self._is_new = [before + np.float64(outputs[0]) * weight, *outputs[1:]], False

    def finish(self) -> list[Any]:
        if not self._results:
            raise ValueError("Empty training data.")
        self._results[0] /= self._source.count
        return list(self._results)


class _Outputs:
    """The outputs of all batches, one after the other."""

    def __init__(self, source: object) -> None:
        self._parts: list[list[Any]] = []
        self._structure: Any = None

    def begin(self) -> None:
        """Does nothing: a prediction has one epoch."""

    def add(self, batch: Batch, outputs: list[Any]) -> None:
        flat = nest.flatten(outputs)
        self._structure = outputs
        self._parts = self._parts or [[] for _ in flat]
        for parts, value in zip(self._parts, flat):
            if batch.end and value.shape[0] != batch.end - batch.start:
                raise ValueError(
                    "Mismatch between expected batch size and model output batch size. "
                    f"Output shape = {value.shape}, expected output shape = shape "
                    f"{(batch.end - batch.start, *value.shape[1:])}"
                )
            parts.append(value)

    def finish(self) -> list[Any]:
        joined = [parts[0] if len(parts) == 1 else _joined(parts) for parts in self._parts]
        return nest.pack_sequence_as(self._structure, joined)


def _joined(parts: list[Any]) -> Any:
    if is_composite(parts[0]):
        raise NotImplementedError("tfcompat does not join sparse or ragged outputs of several batches: call predict with one batch of all samples.")
    return np.concatenate(parts, axis=0)


# ---- the loop ----


class Validation(NamedTuple):
    """What is evaluated after an epoch: a function that makes the source, when, and whether it shows a bar."""

    source: Callable[[], Any]
    frequency: Any
    verbose: int
    count: int | None = None


def iterate(
    model: object, source: Any, mode: str, epochs: int = 1, verbose: int = 1, callbacks: object = None,
    validation: Validation | None = None, initial_epoch: int = 0, batch_size: int | None = None,
    steps_name: str = "steps",
) -> Any:  # fmt: skip
    """Runs epochs, and returns the History of training, the results of a test, or the outputs of a prediction."""
    try:
        return _iterate(model, source, mode, epochs, verbose, callbacks, validation, initial_epoch, batch_size, steps_name)
    finally:
        source.stop()


def _iterate(
    model: Any, source: Any, mode: str, epochs: int, verbose: int, callbacks: Any, validation: Validation | None,
    initial_epoch: int, batch_size: int | None, steps_name: str,
) -> Any:  # fmt: skip
    parameters = {
        "do_validation": validation is not None, "batch_size": batch_size, "epochs": epochs,
        "steps_per_epoch": source.steps, "samples": source.count, "mode": mode,
    }  # fmt: skip
    callbacks = configure_callbacks(callbacks, model, verbose=0, **parameters)
    progress = ProgbarLogger(
        "steps" if source.uses_steps else "samples", stateful_metrics=getattr(model, "metrics_names", [""])[1:]
    )
    progress.params = callbacks.params
    progress.params["verbose"] = verbose
    callbacks.model.stop_training = False
    callbacks._call_begin_hook(mode)
    progress.on_train_begin()
    results: Any = None
    collected = (_Outputs if mode == ModeKeys.PREDICT else _Metrics)(source)
    for epoch in range(initial_epoch, epochs):
        if callbacks.model.stop_training:
            break
        model.reset_metrics()
        logs: dict[str, Any] = {}
        if mode == ModeKeys.TRAIN:
            callbacks.on_epoch_begin(epoch, logs)
        progress.on_epoch_begin(epoch, logs)
        results = _run_epoch(model, source, collected, mode, callbacks, progress, parameters, steps_name, epochs)
        logs = make_logs(model, logs, results, mode)
        results = results[0] if len(results) == 1 else results
        if validation is not None and not callbacks.model.stop_training:
            if should_run_validation(validation.frequency, epoch):
                found = iterate(
                    model, validation.source(), ModeKeys.TEST, callbacks=callbacks, verbose=validation.verbose,
                    batch_size=batch_size, steps_name="validation_steps",
                )  # fmt: skip
                logs = make_logs(model, logs, to_list(found), mode, prefix="val_")
        if mode == ModeKeys.TRAIN:
            callbacks.on_epoch_end(epoch, logs)
        progress.on_epoch_end(epoch, logs)
    callbacks._call_end_hook(mode)
    return model.history if mode == ModeKeys.TRAIN else results


def _run_epoch(
    model: Any, source: Any, collected: _Outputs | _Metrics, mode: str, callbacks: Any, progress: Any, parameters: dict, steps_name: str, epochs: int
) -> list[Any]:
    """Runs the batches of an epoch; returns its results as `collected` gives them."""
    collected.begin()
    batches = source.epoch()
    for number in itertools.count():
        try:
            batch = next(batches, None)
            if batch is None:
                break
            logs = {"batch": number, "size": batch.size}
            callbacks._call_batch_hook(mode, "begin", number, logs)
            progress.on_batch_begin(number, logs)
            compiled = model._is_compiled
            outputs = to_list(batch.compute())
        except errors.OutOfRangeError:
            if source.ran_out(number, epochs, steps_name):
                callbacks.model.stop_training = True
            elif mode == ModeKeys.TRAIN:
                progress.params["steps"] = progress.progbar.target = source.steps
            break
        if not compiled and model._is_compiled:
            verbose = progress.params["verbose"]
            set_callback_parameters(callbacks, model, verbose=verbose, **parameters)
            progress.params = callbacks.params
        collected.add(batch, outputs)
        logs = make_logs(model, logs, outputs, mode)
        callbacks._call_batch_hook(mode, "end", number, logs)
        progress.on_batch_end(number, logs)
        if callbacks.model.stop_training:
            break
    return collected.finish()


def print_train_info(count: int | None, validation_count: int | None, unit: str) -> None:
    """Says how many samples or steps an epoch has."""
    print(f"Train on {count} {unit}" + (f", validate on {validation_count} {unit}" if validation_count else ""))
