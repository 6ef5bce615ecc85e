"""Layers that learn their state from a pass over data, before a model is trained."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.keras.backend.values import batch_set_value, get_value
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.training_datasets import is_infinite, values_of


class PreprocessingLayer(Layer, abc.ABC):
    """A layer whose state comes from `adapt`."""

    @abc.abstractmethod
    def adapt(self, data: Any, reset_state: bool = True) -> None:
        """Sets the state from data.

        Args:
          data: a dataset of batches, or an array.
          reset_state: whether the state is forgotten first.
        """


class CombinerPreprocessingLayer(PreprocessingLayer):
    """A layer whose state a Combiner makes.

    Args:
      combiner: the Combiner.
      kwargs: of every layer.
    """

    def __init__(self, combiner: Combiner, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._combiner = combiner
        self.state_variables = {}

    def _add_state_variable(
        self, name: str, shape: object, dtype: object, initializer: object = None, partitioner: object = None,
        use_resource: bool | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Makes a weight that `adapt` sets from what the combiner extracts under `name`."""
        weight = self.add_weight(
            name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=False, partitioner=partitioner,
            use_resource=use_resource, **kwargs,
        )  # fmt: skip
        self.state_variables[name] = weight
        return weight

    def _restore_updates(self) -> dict[str, Any]:
        return {name: get_value(variable) for name, variable in self.state_variables.items()}

    def adapt(self, data: object, reset_state: bool = True) -> None:
        """Sets the state from data.

        Args:
          data: a dataset of batches, or an array that is one batch.
          reset_state: whether the state is forgotten first.

        Raises:
          ValueError: `data` is something else or has no end.
        """
        if not isinstance(data, (DatasetV2, np.ndarray)):
            raise ValueError(f"adapt() requires a Dataset or a Numpy array as input, got {type(data)}")
        accumulator = None if reset_state else self._combiner.restore(self._restore_updates())
        for batch in self._batches(data):
            if not self.built:
                self.build(getattr(batch, "shape", None))
            accumulator = self._combiner.compute(batch, accumulator)
        self._set_state_variables(self._combiner.extract(accumulator))

    @staticmethod
    def _batches(data: Any) -> Iterator[Any]:
        if isinstance(data, np.ndarray):
            return iter([data])
        if is_infinite(data):
            raise ValueError(
                'The dataset passed to "adapt()" has an infinite number of elements. Please use dataset.take(...) to '
                "make the number of elements finite."
            )
        return values_of(data)

    def _set_state_variables(self, updates: dict[str, Any]) -> None:
        if not self.built:
            raise RuntimeError("_set_state_variables() must be called after build().")
        batch_set_value([(self.state_variables[name], value) for name, value in updates.items()])


class Combiner(abc.ABC):
    """A computation over batches whose parts can be joined; what it knows so far is an accumulator."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @abc.abstractmethod
    def compute(self, batch_values: Any, accumulator: Any = None) -> Any:
        """An accumulator of a batch, joined with `accumulator` where it is given."""

    @abc.abstractmethod
    def merge(self, accumulators: list[Any]) -> Any:
        """The accumulator of all that went into several."""

    @abc.abstractmethod
    def extract(self, accumulator: Any) -> dict[str, Any]:
        """The state that an accumulator means, a dict of arrays."""

    @abc.abstractmethod
    def restore(self, output: dict[str, Any]) -> Any:
        """The accumulator that means a state."""

    @abc.abstractmethod
    def serialize(self, accumulator: Any) -> bytes:
        """An accumulator as bytes."""

    @abc.abstractmethod
    def deserialize(self, encoded_accumulator: bytes) -> Any:
        """The accumulator of `serialize`."""
