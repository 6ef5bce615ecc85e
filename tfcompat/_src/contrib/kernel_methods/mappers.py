"""tf.contrib.kernel_methods: features whose inner products approximate a kernel."""

from __future__ import annotations

import abc
import math

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.math.binary import add
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import cos


class InvalidShapeError(Exception):
    """A tensor has another shape than a mapper takes."""


class DenseKernelMapper(abc.ABC):
    """Maps dense tensors to dense tensors."""

    @abc.abstractmethod
    def map(self, input_tensor: Tensor) -> Tensor:
        """What the rows of a matrix are mapped to."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the mapper."""

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """The length of what a row is mapped to."""


@export("contrib.kernel_methods.RandomFourierFeatureMapper")
class RandomFourierFeatureMapper(DenseKernelMapper):
    """Maps x to sqrt(2 / D) cos(x W + b): inner products approximate exp(-|x - y|^2 / (2 stddev^2)) (Rahimi and Recht 2007).

    Args:
      input_dim: length of x.
      output_dim: D.
      stddev: standard deviation of the kernel; W is normal with its inverse, b uniform in [0, 2 pi).
      seed: W and b are drawn from NumPy's global generator, given this seed.
      name: name of the mapper.
    """

    def __init__(
        self, input_dim: int, output_dim: int, stddev: float = 1.0, seed: int = 1, name: str | None = None
    ) -> None:
        self._input_dim, self._output_dim, self._stddev, self._seed, self._name = (
            input_dim,
            output_dim,
            stddev,
            seed,
            name,
        )

    @property
    def name(self) -> str:
        return self._name or str(id(self))

    @property
    def input_dim(self) -> int:
        """The length of x."""
        return self._input_dim

    @property
    def output_dim(self) -> int:
        return self._output_dim

    def map(self, input_tensor: Tensor) -> Tensor:
        """What the rows [n, input_dim] are mapped to [n, output_dim].

        Raises:
          InvalidShapeError: another shape.
        """
        sizes = input_tensor.get_shape()
        if len(sizes) != 2:
            raise InvalidShapeError(f"The shape of the tensor should be 2. Got {len(sizes)} instead.")
        if sizes[1] != self._input_dim:
            raise InvalidShapeError(
                f"Invalid dimension: expected {self._input_dim} input features, got {sizes[1]} instead."
            )
        np.random.seed(self._seed)
        weights = np.random.normal(scale=1.0 / self._stddev, size=[self._input_dim, self._output_dim])
        weights = constant(weights, dtype=dtypes.float32)
        bias = constant(np.random.uniform(low=0.0, high=2 * np.pi, size=[self._output_dim]), dtype=dtypes.float32)
        return math.sqrt(2.0 / self._output_dim) * cos(add(matmul(input_tensor, weights), bias))
