"""Layers that disturb their inputs while training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend import nn
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.function import in_train_phase
from tfcompat._src.keras.layers.elementwise import ElementwiseLayer
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@export("keras.layers.GaussianNoise")
class GaussianNoise(ElementwiseLayer):
    """Adds normal values with deviation `stddev` while training."""

    _config = ("stddev",)

    def __init__(self, stddev, **kwargs) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs: Any, training: Any = None) -> Any:
        def noised() -> Any:
            return inputs + nn.random_normal(shape=shape_of(inputs), mean=0.0, stddev=self.stddev)

        return in_train_phase(noised, inputs, training=training)


@export("keras.layers.GaussianDropout")
class GaussianDropout(ElementwiseLayer):
    """Multiplies by normal values around 1 with variance rate / (1 - rate) while training."""

    _config = ("rate",)

    def __init__(self, rate, **kwargs) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0 < self.rate < 1:
            return inputs

        def noised() -> Any:
            stddev = np.sqrt(self.rate / (1.0 - self.rate))
            return inputs * nn.random_normal(shape=shape_of(inputs), mean=1.0, stddev=stddev)

        return in_train_phase(noised, inputs, training=training)


@export("keras.layers.AlphaDropout")
class AlphaDropout(ElementwiseLayer):
    """Dropout that keeps mean and variance of the outputs of selu (Klambauer et al., arXiv 1706.02515).

    Args:
      rate: part of the elements that is dropped.
      noise_shape: shape of the random decisions, by default that of the inputs.
      seed: op seed.
    """

    _config = ("rate",)

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _get_noise_shape(self, inputs: TensorLike) -> Any:
        return self.noise_shape or shape_of(inputs)

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0.0 < self.rate < 1.0:
            return inputs
        noise_shape = self._get_noise_shape(inputs)

        def dropped() -> Any:
            lowest = -_SELU_ALPHA * _SELU_SCALE
            kept = cast(greater_equal(nn.random_uniform(noise_shape, seed=self.seed), self.rate), floatx())
            slope = ((1 - self.rate) * (1 + self.rate * lowest**2)) ** -0.5
            return slope * (inputs * kept + lowest * (1 - kept)) + -slope * lowest * self.rate

        return in_train_phase(dropped, inputs, training=training)
