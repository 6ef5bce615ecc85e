"""Functions that make the initial values of variables: tf.initializers and the tf.*_initializer classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array import fill
from tfcompat._src.ops.random import stateful as random

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

TRUNCATED_NORMAL_STDDEV = 0.87962566103423978


@export("keras.initializers.Initializer")
class Initializer:
    """Makes a tensor of a wanted shape; the configuration is what its constructor takes."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """The initial value.

        Args:
          shape: the variable's shape, a list of int.
          dtype: its DType; by default that of the constructor.
          partition_info: which part of a partitioned variable it is.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no __call__.")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as values that JSON can hold."""
        return {}

    def _drawn(self, distribution: str, shape: Any, *parameters: Any, dtype: Any) -> Tensor:
        """Random numbers by the function `distribution` of tf.random, with the initializer's op seed."""
        return getattr(random, distribution)(shape, *parameters, dtype, seed=self.seed)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """An initializer from what `get_config` gave."""
        return cls(**config)


def _config(self: Any, *names: str) -> dict[str, Any]:
    return {**{n: getattr(self, n) for n in names}, "dtype": self.dtype.name}


def float_dtype(dtype: DTypeLike) -> dtypes.DType:
    """`dtype` as a DType; ValueError where it is not floating."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


def _whole(shape: Any, partition_info: Any) -> Any:
    return shape if partition_info is None else partition_info.full_shape


@export("initializers.zeros", "zeros_initializer", "keras.initializers.Zeros", "keras.initializers.zeros")
class Zeros(Initializer):
    """All zeros."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: object, dtype: Any = None, partition_info: object = None) -> Tensor:
        return fill.zeros(shape, dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self)


@export("initializers.ones", "ones_initializer", "keras.initializers.Ones", "keras.initializers.ones")
class Ones(Initializer):
    """All ones."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: object, dtype: Any = None, partition_info: object = None) -> Tensor:
        return fill.ones(shape, dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self)


@export("initializers.constant", "constant_initializer", "keras.initializers.Constant", "keras.initializers.constant")
class Constant(Initializer):
    """A given value.

    Args:
      value: a number, list or array; a shorter one is filled up with its last element.
      dtype: element type.
      verify_shape: whether the value must have the wanted shape.

    Raises:
      TypeError: `value` is of another kind.
    """

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of values, "
                "or numpy.ndarray)."
            )
        self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, dtype=dtype or self.dtype, shape=shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "value")


@export("initializers.random_uniform", "random_uniform_initializer")
class RandomUniform(Initializer):
    """Uniform in [minval, maxval).

    Args:
      minval, maxval: the range; for integers `maxval` is needed.
      seed: op seed.
      dtype: element type.
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return self._drawn("random_uniform", shape, self.minval, self.maxval, dtype=dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "minval", "maxval", "seed")


@export("initializers.random_normal", "random_normal_initializer")
class RandomNormal(Initializer):
    """Normal random numbers.

    Args:
      mean, stddev: of the distribution.
      seed: op seed.
      dtype: floating element type.

    Raises:
      ValueError: `dtype` is not floating.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return self._drawn("random_normal", shape, self.mean, self.stddev, dtype=dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "mean", "stddev", "seed")


@export("initializers.truncated_normal", "truncated_normal_initializer")
class TruncatedNormal(Initializer):
    """Normal random numbers; those beyond two standard deviations are drawn again.

    Args:
      mean, stddev: of the distribution before that.
      seed: op seed.
      dtype: floating element type.

    Raises:
      ValueError: `dtype` is not floating.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return self._drawn("truncated_normal", shape, self.mean, self.stddev, dtype=dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "mean", "stddev", "seed")


@export("initializers.uniform_unit_scaling", "uniform_unit_scaling_initializer")
class UniformUnitScaling(Initializer):
    """Uniform in +-factor * sqrt(3 / input size), which keeps the scale of inputs; ValueError where `dtype` is not
    floating."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, float_dtype(dtype)

    def __call__(self, shape: object, dtype: object = None, partition_info: object = None) -> Tensor:
        input_size = max(math.prod(float(d) for d in _whole(shape, partition_info)[:-1]), 1.0)
        limit = math.sqrt(3 / input_size) * self.factor
        return self._drawn("random_uniform", shape, -limit, limit, dtype=dtype or self.dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "factor", "seed")


def compute_fans(shape: Any) -> tuple[int, int]:
    """Number of inputs and outputs of a unit of a weight: rows and columns, times the kernel's size for
    convolutions."""
    shape = [int(size) for size in shape]
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


@export("initializers.variance_scaling", "variance_scaling_initializer", "keras.initializers.VarianceScaling")
class VarianceScaling(Initializer):
    """Random with variance scale / n, where n is the number of inputs, of outputs, or their mean.

    Args:
      scale: positive factor.
      mode: "fan_in", "fan_out" or "fan_avg".
      distribution: "truncated_normal" ("normal" is the same), "untruncated_normal" or "uniform".
      seed: op seed.
      dtype: floating element type.

    Raises:
      ValueError: an argument is none of these.
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale, self.mode, self.distribution, self.seed, self.dtype = (
            scale,
            mode,
            distribution,
            seed,
            float_dtype(dtype),
        )

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = dtype or self.dtype
        fan_in, fan_out = compute_fans(_whole(shape, partition_info))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self._drawn("random_uniform", shape, -limit, limit, dtype=dtype)
        if self.distribution == "untruncated_normal":
            return self._drawn("random_normal", shape, 0.0, math.sqrt(variance), dtype=dtype)
        stddev = math.sqrt(variance) / TRUNCATED_NORMAL_STDDEV
        return self._drawn("truncated_normal", shape, 0.0, stddev, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "scale", "mode", "distribution", "seed")


@export("glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Uniform with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "seed")


@export("glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Truncated normal with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return _config(self, "seed")


@export("initializers.lecun_normal", "keras.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform", "keras.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform with variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("initializers.he_normal", "keras.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 2 / inputs (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform", "keras.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform with variance 2 / inputs (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
