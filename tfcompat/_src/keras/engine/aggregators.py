"""`tensorflow.python.keras.engine.training_utils`: what batches give, put together."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.ops.composed.composite_values import append_composite_tensor, is_composite_or_composite_value


class Aggregator(abc.ABC):
    """Puts together what batches give: `create` with what the first gives, `aggregate` with each, then `finalize`; it is in `results`.

    Args:
      use_steps: whether batches are counted, and not samples.
      num_samples: how many samples there are. steps: how many batches. batch_size: how many samples each of them has.
    """

    def __init__(self, use_steps: bool, num_samples: int | None = None, steps: int | None = None, batch_size: int | None = None) -> None:
        self.use_steps, self.num_samples, self.steps, self.batch_size = use_steps, num_samples, steps, batch_size
        self.results: Any = []

    @abc.abstractmethod
    def create(self, batch_outs: Any) -> None:
        """Makes room, by what the first batch gives."""

    @abc.abstractmethod
    def aggregate(self, batch_outs: Any, batch_start: int | None = None, batch_end: int | None = None) -> None:
        """Takes what a batch gives, which begins and ends with these samples."""

    @abc.abstractmethod
    def finalize(self) -> None:
        """Makes `results` what all gave."""


class MetricsAggregator(Aggregator):
    """The mean of the losses, weighted by samples where these are counted, and the metrics after the last batch."""

    def __init__(self, use_steps: bool, num_samples: int | None = None, steps: int | None = None) -> None:
        super().__init__(use_steps, num_samples, steps)

    def create(self, batch_outs: Any) -> None:
        self.results = [0.0] * len(batch_outs)

    def aggregate(self, batch_outs: Any, batch_start: int | None = None, batch_end: int | None = None) -> None:
        weight = 1 if self.use_steps or batch_start is None or batch_end is None else batch_end - batch_start
        self.results[0] += batch_outs[0] * weight
        self.results[1:] = batch_outs[1:]

    def finalize(self) -> None:
        if not self.results:
            raise ValueError("Empty training data.")
        self.results[0] /= self.num_samples or self.steps


def _batch_size_error(got: object, wanted: object) -> ValueError:
    return ValueError(
        "Mismatch between expected batch size and model output batch size. "
        f"Output shape = {got}, expected output shape = shape {wanted}"
    )


class ConcatAggregator(Aggregator):
    """The batches one after the other; ValueError for one of more than `batch_size` samples."""

    def __init__(self, batch_size: int | None) -> None:
        super().__init__(use_steps=True, batch_size=batch_size)
        self.composite = False

    def create(self, batch_element: object) -> None:  # type: ignore[override]  # 1.15's name
        self.composite = is_composite_or_composite_value(batch_element)

    def aggregate(self, batch_element: Any, batch_start: int | None = None, batch_end: int | None = None) -> None:  # type: ignore[override]
        if self.batch_size and self.batch_size < batch_element.shape[0]:
            raise _batch_size_error(batch_element.shape, (self.batch_size, *batch_element.shape[1:]))
        self.results.append(batch_element)

    def finalize(self) -> None:
        first, *rest = self.results
        if self.composite:
            for each in rest:
                first = append_composite_tensor(first, each)
        elif rest:
            first = np.concatenate(self.results, axis=0)
        self.results = first.numpy() if isinstance(first, EagerTensor) else first


class SliceAggregator(Aggregator):
    """The batches at their places in an array for all samples."""

    def __init__(self, num_samples: int, batch_size: int | None) -> None:
        super().__init__(use_steps=False, num_samples=num_samples, batch_size=batch_size)

    def create(self, batch_element: Any) -> None:  # type: ignore[override]  # 1.15's name
        dtype = batch_element.dtype.as_numpy_dtype if isinstance(batch_element, EagerTensor) else batch_element.dtype
        self.results = np.empty((self.num_samples, *batch_element.shape[1:]), dtype)

    def aggregate(self, batch_element: Any, batch_start: int, batch_end: int) -> None:  # type: ignore[override]
        if batch_end - batch_start != self.num_samples:
            self.results[batch_start:batch_end] = batch_element
        elif self.num_samples != batch_element.shape[0]:
            raise _batch_size_error(batch_element.shape, self.results.shape)
        else:
            self.results = batch_element

    def finalize(self) -> None:
        """Nothing: all is at its place."""


class OutputsAggregator(Aggregator):
    """A nest of outputs, each put together by itself; RuntimeError for one that is neither an array nor made of tensors."""

    _structure: Any = None

    def create(self, batch_outs: object) -> None:
        self._structure = nest.get_traverse_shallow_structure(lambda x: not is_composite_or_composite_value(x), batch_outs)
        for element in nest.flatten_up_to(self._structure, batch_outs):
            is_composite = is_composite_or_composite_value(element)
            if not (is_composite or isinstance(element, (np.ndarray, EagerTensor))):
                raise RuntimeError(f"Attempted to aggregate unsupported object {element}.")
            one_after_other = is_composite or self.use_steps or self.num_samples is None
            made = ConcatAggregator(self.batch_size) if one_after_other else SliceAggregator(self.num_samples or 0, self.batch_size)
            made.create(element)
            self.results.append(made)

    def aggregate(self, batch_outs: object, batch_start: int | None = None, batch_end: int | None = None) -> None:
        for element, result in zip(nest.flatten_up_to(self._structure, batch_outs), self.results):
            result.aggregate(element, batch_start, batch_end)

    def finalize(self) -> None:
        for result in self.results:
            result.finalize()
        self.results = nest.pack_sequence_as(self._structure, [result.results for result in self.results])
