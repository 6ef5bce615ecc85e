"""A layer that approximates a kernel method (Rahimi & Recht 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import initializers as keras_initializers
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.variables import initializers

_KERNELS = ("gaussian", "laplacian")


def _check_kernel(name: object) -> None:
    if isinstance(name, str) and name.lower() not in _KERNELS:
        raise ValueError(f"Unsupported kernel type: '{name}'. Supported kernel types: {list(_KERNELS)}.")


class RandomFourierFeatures(Layer):
    """Random cosines whose products approximate a shift-invariant kernel.

    Args:
      output_dim: number of features.
      kernel_initializer: "gaussian", "laplacian" or an initializer of the random directions.
      scale: width of the kernel; by default sqrt(size / 2) for "gaussian", else 1.
      trainable: whether the scale is trained.

    Raises:
      ValueError: an argument is none of these, or inputs are no [batch, size] of known size.
    """

    def __init__(
        self, output_dim, kernel_initializer="gaussian", scale=None, trainable=False, name=None, **kwargs
    ) -> None:
        if output_dim <= 0:
            raise ValueError(f"`output_dim` should be a positive integer. Given: {output_dim}.")
        _check_kernel(kernel_initializer)
        if scale is not None and scale <= 0.0:
            raise ValueError(f"When provided, `scale` should be a positive float. Given: {scale}.")
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.output_dim, self.kernel_initializer, self.scale = output_dim, kernel_initializer, scale

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        if shape.ndims != 2:
            raise ValueError(f"The rank of the input tensor should be 2. Got {shape.ndims} instead.")
        size = shape.as_list()[1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `RandomFourierFeatures` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(ndim=2, axes={1: size})
        unscaled = self._add_fixed(
            "unscaled_random_features", (size, self.output_dim),
            _get_random_features_initializer(self.kernel_initializer, shape=(size, self.output_dim)),
        )  # fmt: skip
        phases = initializers.RandomUniform(minval=0.0, maxval=2 * np.pi, dtype=dtypes.float32)
        self.bias = self._add_fixed("random_features_bias", (self.output_dim,), phases)
        if self.scale is None:
            self.scale = _get_default_scale(self.kernel_initializer, size)
        scale = self.add_weight(
            name="random_features_scale", shape=(1,), dtype=dtypes.float32,
            initializer=initializers.Constant(self.scale), trainable=True, constraint="NonNeg",
        )  # fmt: skip
        self.kernel = (1.0 / scale) * unscaled
        super().build(shape)

    def _add_fixed(self, name: str, shape: tuple[int, ...], initializer: object) -> Any:
        return self.add_weight(name=name, shape=shape, dtype=dtypes.float32, initializer=initializer, trainable=False)

    def call(self, inputs: Any) -> Tensor:
        inputs = raw.Cast(convert_to_tensor(inputs, dtype=self.dtype), DstT=dtypes.float32)
        return raw.Cos(bias_add(raw.MatMul(inputs, self.kernel), self.bias))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).with_rank(2).as_list()
        if sizes[-1] is None:
            raise ValueError(f"The innermost dimension of input shape must be defined. Given: {input_shape}")
        return TensorShape([*sizes[:-1], self.output_dim])

    def get_config(self) -> dict[str, Any]:
        kernel = self.kernel_initializer
        if isinstance(kernel, initializers.Initializer):
            kernel = keras_initializers.serialize(kernel)
        own = {"output_dim": self.output_dim, "kernel_initializer": kernel, "scale": self.scale}
        return {**super().get_config(), **own}


def _get_random_features_initializer(initializer: object, shape: tuple[int, int]) -> Any:
    """The initializer of a kernel's name, whose draws from a Cauchy distribution come from NumPy's generator."""
    _check_kernel(initializer)
    if not isinstance(initializer, str):
        return initializer
    if initializer.lower() == "gaussian":
        return initializers.RandomNormal(stddev=1.0)
    probabilities = np.random.uniform(low=0.0, high=1.0, size=shape)
    return initializers.Constant(np.tan(np.pi * (probabilities - 0.5)))


def _get_default_scale(initializer: object, input_dim: int) -> float:
    return np.sqrt(input_dim / 2.0) if isinstance(initializer, str) and initializer.lower() == "gaussian" else 1.0
