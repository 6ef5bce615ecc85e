"""A layer that normalizes features by the mean and variance of data."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.engine.base_preprocessing_layer import Combiner, CombinerPreprocessingLayer
from tfcompat._src.ops.array.shape import reshape


class Moments(NamedTuple):
    """Count, mean and variance of samples."""

    count: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class _NormalizingCombiner(Combiner):
    """Moments over all axes but `axis`."""

    def __init__(self, axis: Any) -> None:
        self.axis = axis

    def compute(self, batch_values: Any, accumulator: Moments | None = None) -> Moments:
        values = np.asarray(batch_values)
        others = tuple(int(i) for i in np.delete(np.arange(values.ndim), self.axis))
        count = np.prod(np.delete(values.shape, self.axis), dtype=np.int32)
        mean, variance = np.mean(values, others, dtype=np.float64), np.var(values, others, dtype=np.float64)
        found = self._create_accumulator(count, mean, variance)
        return found if accumulator is None else self.merge([accumulator, found])

    def merge(self, accumulators: list[Moments]) -> Moments:
        count = np.sum([a.count for a in accumulators])
        mean = np.add.reduce([a.mean * a.count for a in accumulators]) / count
        spread = [a.count * (a.variance + np.square(a.mean - mean)) for a in accumulators]
        return self._create_accumulator(count, mean, np.add.reduce(spread) / count)

    def extract(self, accumulator: Moments) -> dict[str, Any]:
        return accumulator._asdict()

    def restore(self, output: dict[str, Any]) -> Moments:
        """The accumulator that means a state; RuntimeError where the moments are known and the count is not."""
        if output["count"] == 0 and (np.any(output["mean"]) or np.any(output["variance"])):
            raise RuntimeError(
                "The mean and/or variance of a Normalization preprocessing layer were set without also setting 'count'. "
                "If 'count' is not also set, 'adapt' cannot be called unless the 'reset_state' arg is True."
            )
        return self._create_accumulator(**output)

    def _create_accumulator(self, count: Any, mean: Any, variance: Any) -> Moments:
        return Moments(np.array(count), np.nan_to_num(mean), np.nan_to_num(variance))

    def serialize(self, accumulator: Moments) -> bytes:
        return json.dumps({name: value.tolist() for name, value in accumulator._asdict().items()}).encode()

    def deserialize(self, encoded_accumulator: bytes) -> Moments:
        return self._create_accumulator(**{name: np.array(value) for name, value in json.loads(encoded_accumulator).items()})


class Normalization(CombinerPreprocessingLayer):
    """(inputs - mean) / variance, of the moments that `adapt` finds.

    Args:
      axis: int or tuple of ints, the axes that keep moments of their own; the last by default.
      dtype: of the layer; floatx by default.

    Raises:
      ValueError: `axis` is 0.
    """

    _NormalizingCombiner = _NormalizingCombiner

    def __init__(self, axis: Any = -1, dtype: object = None, **kwargs: Any) -> None:
        super().__init__(combiner=_NormalizingCombiner(axis), dtype=dtype or floatx(), **kwargs)
        if axis == 0:
            raise ValueError("The argument 'axis' may not be 0.")
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        axes = list(self.axis) if isinstance(self.axis, (tuple, list)) else [self.axis]
        sizes = [input_shape[i] for i in axes]
        self._broadcast_shape = [1] * len(input_shape)
        for i, size in zip(axes, sizes):
            self._broadcast_shape[i] = size
        self.mean = self._add_state_variable("mean", sizes, floatx(), "zeros")
        self.variance = self._add_state_variable("variance", sizes, floatx(), "zeros")
        self.count = self._add_state_variable("count", (), dtypes.int32, "zeros")
        super().build(input_shape)

    def call(self, inputs: Any) -> Tensor:
        """The normalized inputs."""
        mean, variance = reshape(self.mean, self._broadcast_shape), reshape(self.variance, self._broadcast_shape)
        return (inputs - mean) / variance

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the inputs."""
        return input_shape

    def compute_output_signature(self, input_signature: object) -> Any:
        """The specification of the inputs."""
        return input_signature

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "axis": self.axis}

    def set_weights(self, weights: list[Any]) -> None:
        """Sets mean and variance, and the count where it is given."""
        super().set_weights([*weights, np.array(0)] if len(weights) == 2 else weights)
