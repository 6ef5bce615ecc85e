"""The loops over epochs and batches behind fit, evaluate and predict."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.framework import errors, nest
from tfcompat._src.keras.backend.session import symbolic_learning_phase
from tfcompat._src.keras.backend.values import is_sparse
from tfcompat._src.keras.callbacks.base import make_logs
from tfcompat._src.keras.callbacks.loggers import ProgbarLogger, configure_callbacks, set_callback_parameters
from tfcompat._src.keras.engine.training_data import (
    ModelInputs,
    batch_shuffle,
    check_num_samples,
    is_composite,
    should_run_validation,
)
from tfcompat._src.keras.utils.generic_utils import make_batches, slice_arrays, to_list
from tfcompat._src.keras.utils.mode_keys import ModeKeys
from tfcompat._src.keras.utils.sequences import (
    GeneratorEnqueuer,
    OrderedEnqueuer,
    Sequence,
    is_generator_or_sequence,
    iter_sequence_infinite,
)
from tfcompat._src.platform import logging


class Batch(NamedTuple):
    """One batch of an epoch: its number, the first sample and the end, its size for the logs, and what computes it."""

    number: int
    start: int
    end: int
    size: int
    compute: Callable[[], Any]


class ArraySource:
    """Arrays in batches, or tensors that give a new batch in each of `steps` steps.

    Args:
      model: the compiled model.
      mode: train, test or predict.
      inputs, targets, sample_weights: lists of arrays.
      batch_size: samples in a batch.
      steps: batches in an epoch, in place of a batch size.
      shuffle: True, False or "batch".
    """

    def __init__(
        self, model: Any, mode: str, inputs: Any, targets: Any = None, sample_weights: Any = None,
        batch_size: int | None = None, steps: int | None = None, shuffle: Any = False, steps_name: str = "steps",
    ) -> None:  # fmt: skip
        self.arrays = ModelInputs(inputs).as_list() + (targets or []) + (sample_weights or [])
        self.batch_size, self.steps, self.shuffle = batch_size, steps, shuffle
        self.samples = None if steps else check_num_samples(self.arrays, batch_size, steps, steps_name)
        if mode != ModeKeys.PREDICT:
            model._update_sample_weight_modes(sample_weights=sample_weights)
        self._function = model._make_execution_function(mode)
        feeds_phase = mode == ModeKeys.TRAIN and not isinstance(symbolic_learning_phase(), int)
        self._phase = [True] if feeds_phase else []
        fed = model._feed_inputs if mode == ModeKeys.PREDICT else model._feed_inputs + model._feed_targets
        self._to_dense = [
            i for i, (x, t) in enumerate(zip(self.arrays, fed)) if hasattr(x, "toarray") and not is_sparse(t)
        ]

    uses_steps = property(lambda self: self.steps is not None)
    count = property(lambda self: self.steps or self.samples)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        if self.uses_steps:
            for step in range(self.steps):
                yield Batch(step, 0, 0, 1, functools.partial(self._function, self.arrays + self._phase))
            return
        order = np.arange(self.samples)
        if self.shuffle == "batch":
            order = batch_shuffle(order, self.batch_size)
        elif self.shuffle:
            np.random.shuffle(order)
        batches = make_batches(self.samples, self.batch_size)
        for number, (start, end) in enumerate(batches):
            compute = functools.partial(self._compute, order[start:end], len(batches) == 1)
            yield Batch(number, start, end, end - start, compute)

    def _compute(self, samples: np.ndarray, all_at_once: bool) -> Any:
        arrays = list(self.arrays)
        if not all_at_once:
            try:
                arrays = slice_arrays(arrays, samples)
            except TypeError:
                raise TypeError(
                    'TypeError while preparing batch. If using HDF5 input data, pass shuffle="batch".'
                ) from None
        for i in self._to_dense:
            arrays[i] = arrays[i].toarray()
        return self._function(arrays + self._phase)

    def stop(self) -> None:
        """Nothing is left to stop."""


class GeneratorSource:
    """Batches of a generator or Sequence, by threads or processes where `workers` says so.

    Args:
      model: the model.
      mode: train, test or predict.
      data: generator or Sequence of (inputs,), (inputs, targets) or (inputs, targets, sample weights).
      steps: batches in an epoch; by default the length of a Sequence.
      class_weight: dict from classes to weights.
      workers: how many read ahead; 0 reads in this thread.
      use_multiprocessing: whether the workers are processes.
      max_queue_size: how many batches are read ahead.
      shuffle: whether the order of a Sequence changes from epoch to epoch.

    Raises:
      ValueError: the number of steps is not known.
    """

    uses_steps, samples, last_size = True, None, 0

    def __init__(
        self, model: Any, mode: str, data: Any, steps: int | None = None, class_weight: Any = None, workers: int = 1,
        use_multiprocessing: bool = False, max_queue_size: int = 10, shuffle: bool = False,
    ) -> None:  # fmt: skip
        is_sequence = isinstance(data, Sequence)
        if not is_sequence and use_multiprocessing and workers > 1:
            logging.warning(
                "Using a generator with `use_multiprocessing=True` and multiple workers may duplicate your data. "
                "Please consider using the `keras.utils.Sequence` class."
            )
        self.steps = len(data) if steps is None and is_sequence else steps
        if self.steps is None:
            argument = "steps_per_epoch" if mode == ModeKeys.TRAIN else "steps"
            raise ValueError(f"Please specify the number of steps via the `{argument}` argument.")
        self._function = _on_batch(model, mode, class_weight)
        self._enqueuer: Any = None
        if workers > 0:
            if is_sequence:
                self._enqueuer = OrderedEnqueuer(data, use_multiprocessing=use_multiprocessing, shuffle=shuffle)
            else:
                self._enqueuer = GeneratorEnqueuer(data, use_multiprocessing=use_multiprocessing)
            self._enqueuer.start(workers=workers, max_queue_size=max_queue_size)
            self._generator = self._enqueuer.get()
        else:
            self._generator = iter_sequence_infinite(data) if is_sequence else data

    count = property(lambda self: self.steps)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the generator ends before."""
        for step in range(self.steps):
            data = self._next()
            self.last_size = int(nest.flatten(data)[0].shape[0])
            yield Batch(step, 0, 0, self.last_size, functools.partial(self._function, *data))

    def _next(self) -> tuple:
        try:
            data = next(self._generator)
        except StopIteration:
            raise errors.OutOfRangeError(None, None, "the generator has no more batches") from None
        data = data if isinstance(data, tuple) else (data,)
        if len(data) not in (1, 2, 3):
            raise ValueError(
                "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, target) or (input, "
                f"target, sample_weights). Received {data}"
            )
        return data

    def stop(self) -> None:
        """Ends the threads or processes."""
        if self._enqueuer is not None:
            self._enqueuer.stop()


def batches_of_arrays(model: Any, data: tuple, batch_size: int) -> GeneratorSource:
    """A test on arrays (inputs, targets) or (inputs, targets, sample weights), in batches."""
    data = tuple(part for part in data if any(x is not None for x in nest.flatten(part)))
    batches = make_batches(int(nest.flatten(data)[0].shape[0]), batch_size)
    generator = (nest.map_structure(lambda x, s=slice(*b): x[s], data) for b in batches)
    return GeneratorSource(model, ModeKeys.TEST, generator, len(batches), workers=0)


def _on_batch(model: Any, mode: str, class_weight: Any) -> Callable:
    if mode == ModeKeys.TRAIN:
        return functools.partial(model.train_on_batch, class_weight=class_weight, reset_metrics=False)
    if mode == ModeKeys.TEST:
        return functools.partial(model.test_on_batch, reset_metrics=False)
    return lambda x, y=None, sample_weights=None: model.predict_on_batch(x)


# ---- results of an epoch ----


class _Metrics:
    """The mean loss of the batches, and the last values of the metrics, which are means themselves."""

    def __init__(self, source: Any) -> None:
        self._source, self.results = source, []

    def add(self, batch: Batch, outputs: list[Any]) -> None:
        weight = 1 if self._source.uses_steps else batch.end - batch.start
        total = (self.results[0] if self.results else 0.0) + np.float64(outputs[0]) * weight
        self.results = [total, *outputs[1:]]

    def finish(self) -> list[Any]:
        if not self.results:
            raise ValueError("Empty training data.")
        self.results[0] /= self._source.count
        return self.results


class _Outputs:
    """The outputs of all batches, one after the other."""

    def __init__(self, source: Any) -> None:
        self._parts: list[list[Any]] = []
        self._structure: Any = None

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
    model: Any, source: Any, mode: str, epochs: int = 1, verbose: int = 1, callbacks: Any = None,
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
    for epoch in range(initial_epoch, epochs):
        if callbacks.model.stop_training:
            break
        model.reset_metrics()
        logs: dict[str, Any] = {}
        if mode == ModeKeys.TRAIN:
            callbacks.on_epoch_begin(epoch, logs)
        progress.on_epoch_begin(epoch, logs)
        results = _run_epoch(model, source, mode, callbacks, progress, parameters, steps_name, epochs)
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
    model: Any, source: Any, mode: str, callbacks: Any, progress: Any, parameters: dict, steps_name: str, epochs: int
) -> list[Any]:
    collected = (_Outputs if mode == ModeKeys.PREDICT else _Metrics)(source)
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
            callbacks.model.stop_training = True
            logging.warning(
                "Your dataset iterator ran out of data; interrupting training. Make sure that your iterator can "
                f"generate at least `{steps_name} * epochs` batches (in this case, {source.steps * epochs} batches). "
                "You may need touse the repeat() function when building your dataset."
            )
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


def print_train_info(count: int | None, validation_count: int | None) -> None:
    """Says how many samples an epoch has."""
    print(f"Train on {count} samples" + (f", validate on {validation_count} samples" if validation_count else ""))


def check_generator_arguments(y: Any = None, sample_weight: Any = None, validation_split: Any = None) -> None:
    """Raises ValueError for arguments that a generator takes the place of."""
    if y is not None:
        raise ValueError(
            "`y` argument is not supported when data isa generator or Sequence instance. Instead pass targets as the "
            "second element of the generator."
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when data isa generator or Sequence instance. Instead pass "
            "sample weights as the third element of the generator."
        )
    if validation_split:
        raise ValueError(
            "If your data is in the form of a Python generator, you cannot use `validation_split`."
        )


def is_generator(data: Any) -> bool:
    """Whether batches come from a generator or a Sequence."""
    return is_generator_or_sequence(data) or inspect.isgenerator(data)
