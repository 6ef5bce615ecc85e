"""Where the batches of fit, evaluate and predict come from."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors, nest
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.keras.backend.values import is_sparse
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.training_data import ModelInputs, batch_shuffle, check_num_samples
from tfcompat._src.keras.engine.training_datasets import infer_steps_for_dataset, initialize, iterator_of
from tfcompat._src.keras.utils.generic_utils import make_batches, slice_arrays
from tfcompat._src.keras.utils.sequences import (
    GeneratorEnqueuer,
    OrderedEnqueuer,
    Sequence,
    iter_sequence_infinite,
)
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys


class Batch(NamedTuple):
    """One batch of an epoch: its number, the first sample and the end, its size for the logs, and what computes it."""

    number: int
    start: int
    end: int
    size: int
    compute: Callable[[], Any]


class Source:
    """Where the batches of an epoch come from."""

    uses_steps, samples, steps = True, None, None
    count = property(lambda self: self.steps)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the data end before."""
        raise NotImplementedError(f"{type(self).__name__} defines no epoch.")

    def ran_out(self, step: int, epochs: int, steps_name: str) -> bool:
        """Whether the end of the data at `step` of an epoch ends the training; it does, with a warning."""
        logging.warning(
            "Your dataset iterator ran out of data; interrupting training. Make sure that your iterator can generate "
            f"at least `{steps_name} * epochs` batches (in this case, {self.steps * epochs} batches). You may need touse "
            "the repeat() function when building your dataset."
        )
        return True

    def stop(self) -> None:
        """Ends the threads or processes that read ahead."""


class ArraySource(Source):
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
        self._inputs = ModelInputs(inputs).as_list()
        self.arrays = self._inputs + (targets or []) + (sample_weights or [])
        self.batch_size, self.steps, self.shuffle = batch_size, steps, shuffle
        self.samples = None if steps else check_num_samples(self.arrays, batch_size, steps, steps_name)
        self._function = model._batch_function(mode, inputs, targets, sample_weights)
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
                yield Batch(step, 0, 0, 1, functools.partial(self._function, self.arrays))
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
        return self._function(arrays)


class DatasetSource(Source):
    """Batches of a dataset, read by the graph.

    Args:
      model: the compiled model.
      mode: train, test or predict.
      dataset: of inputs, (inputs, targets) or (inputs, targets, sample weights).
      steps: batches in an epoch; epochs go on where the one before ended. By default all batches are an epoch.
      epochs: how many there are to be.
      steps_name: the argument that `steps` comes from.
      restarts: whether each epoch begins anew, also with `steps`.

    Raises:
      ValueError: the dataset has no end and `steps` is None, or the batches do not fit.
    """

    def __init__(
        self, model: Any, mode: str, dataset: Any, steps: int | None = None, epochs: int = 1,
        steps_name: str = "steps", restarts: bool = False,
    ) -> None:  # fmt: skip
        self._restarts = restarts or steps is None
        self.steps = infer_steps_for_dataset(dataset, None, epochs, steps_name) if steps is None else steps
        self._iterator, self._begun = iterator_of(dataset), True
        inputs, targets, weights = model._standardize_user_data(self._iterator)
        self._tensors = ArraySource(model, mode, inputs, targets, weights, steps=sys.maxsize)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the dataset ends before."""
        if self._restarts and not self._begun:
            initialize(self._iterator)
        self._begun, self._tensors.steps = False, self.steps or sys.maxsize
        return self._tensors.epoch()

    def ran_out(self, step: int, epochs: int, steps_name: str) -> bool:
        """Takes note that an epoch ended at `step`; whether that ends the training, with a warning."""
        if self.steps is None:
            self.steps = step or None
            return False
        logging.warning(
            "Your dataset ran out of data; interrupting training. Make sure that your dataset can generate at least "
            f"`{steps_name} * epochs` batches (in this case, {self.steps * epochs} batches). You may need to use the "
            "repeat() function when building your dataset."
        )
        return True


class EagerDatasetSource(Source):
    """Batches of a dataset, read where operations run when they are called; arguments as of DatasetSource.

    Args:
      class_weight: dict from classes to weights.
    """

    def __init__(
        self, model: Any, mode: str, dataset: Any, steps: int | None = None, epochs: int = 1,
        steps_name: str = "steps", restarts: bool = False, class_weight: Any = None,
    ) -> None:  # fmt: skip
        self._dataset, self._restarts = dataset, restarts or steps is None
        self.steps = infer_steps_for_dataset(dataset, None, epochs, steps_name) if steps is None else steps
        self._function, self._iterator = _on_batch(model, mode, class_weight), iter(dataset)
        self._begun = True

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the dataset ends before."""
        if self._restarts and not self._begun:
            self._iterator = iter(self._dataset)
        self._begun = False
        for step in itertools.count() if self.steps is None else range(self.steps):
            data = _checked_batch(next(self._iterator, None))
            yield Batch(step, 0, 0, _batch_size(data), functools.partial(self._function, *data))

    ran_out = DatasetSource.ran_out


def _batch_size(data: tuple) -> int:
    return int(nest.flatten(data)[0].shape[0])


def _checked_batch(data: object) -> tuple:
    """(inputs,), (inputs, targets) or (inputs, targets, sample weights).

    Raises:
      errors.OutOfRangeError: there is no batch. ValueError: a tuple of another length.
    """
    if data is None:
        raise errors.OutOfRangeError(None, None, "there are no more batches")
    data = data if isinstance(data, tuple) else (data,)
    if len(data) not in (1, 2, 3):
        raise ValueError(
            "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, target) or (input, "
            f"target, sample_weights). Received {data}"
        )
    return data


class GeneratorSource(Source):
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

    last_size = 0

    def __init__(
        self, model: object, mode: str, data: Any, steps: int | None = None, class_weight: object = None, workers: int = 1,
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

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch; errors.OutOfRangeError where the generator ends before."""
        for step in range(self.steps):
            data = _checked_batch(next(self._generator, None))
            self.last_size = _batch_size(data)
            yield Batch(step, 0, 0, self.last_size, functools.partial(self._function, *data))

    def stop(self) -> None:
        """Ends the threads or processes."""
        if self._enqueuer is not None:
            self._enqueuer.stop()


def batches_of_arrays(model: object, data: tuple, batch_size: int) -> GeneratorSource:
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


def check_generator_arguments(y: object = None, sample_weight: object = None, validation_split: object = None) -> None:
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


def dataset_source(model: Any, mode: str, dataset: Any, class_weight: Any = None, **settings: Any) -> Source:
    """The batches of a dataset; arguments as of DatasetSource and EagerDatasetSource."""
    if model._distribution_strategy is not None:
        return registry.get("distributed_datasets")(model, mode, dataset, **settings)
    if executing_eagerly():
        return EagerDatasetSource(model, mode, dataset, class_weight=class_weight, **settings)
    return DatasetSource(model, mode, dataset, **settings)


def array_source(
    model: Any, mode: str, inputs: object, targets: object, sample_weights: object, batch_size: int | None, steps: int | None,
    shuffle: bool = False, steps_name: str = "steps", epochs: int = 1,
) -> Source:  # fmt: skip
    """The batches of arrays or tensors; arguments as of ArraySource, and how many epochs there are to be."""
    if model._distribution_strategy is not None:
        return registry.get("distributed_arrays")(model, mode, inputs, targets, sample_weights, batch_size, steps, shuffle, steps_name, epochs)
    return ArraySource(model, mode, inputs, targets, sample_weights, batch_size, steps, shuffle, steps_name)
