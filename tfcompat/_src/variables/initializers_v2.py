"""Initializers of tf.compat.v2: the dtype is given when they are called, and numbers drawn with a seed depend on it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array import fill
from tfcompat._src.ops.random import stateless
from tfcompat._src.variables import initializers, orthogonal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


class _Typed(initializers.Initializer):
    """An initializer whose configuration has no dtype; ValueError where it is called with one that is not floating."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
        return super().__call__(shape, initializers.float_dtype(dtype), partition_info)

    def get_config(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_config().items() if name != "dtype"}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> initializers.Initializer:
        return cls(**{name: value for name, value in config.items() if name != "dtype"})

    def _drawn(self, distribution: str, shape: object, *parameters: Any, dtype: object) -> Tensor:
        if self.seed is None:
            return super()._drawn(distribution, shape, *parameters, dtype=dtype)
        return getattr(stateless, f"stateless_{distribution}")(shape, [self.seed, 0], *parameters, dtype)


@export("compat.v2.zeros_initializer", "compat.v2.keras.initializers.Zeros", "compat.v2.keras.initializers.zeros")
class Zeros(initializers.Initializer):
    """All zeros."""

    def __call__(self, shape: TensorLike, dtype: DTypeLike = dtypes.float32) -> Tensor:
        return fill.zeros(shape, dtype)


@export("compat.v2.ones_initializer", "compat.v2.keras.initializers.Ones", "compat.v2.keras.initializers.ones")
class Ones(initializers.Initializer):
    """All ones; ValueError, when called, where the dtype is neither a number's nor bool."""

    def __call__(self, shape: TensorLike, dtype: DTypeLike = dtypes.float32) -> Tensor:
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_numpy_compatible or dtype == dtypes.string:
            raise ValueError(f"Expected numeric or boolean dtype, got {dtype}.")
        return fill.ones(shape, dtype)


@export("compat.v2.constant_initializer", "compat.v2.keras.initializers.Constant", "compat.v2.keras.initializers.constant")
class Constant(_Typed, initializers.Constant):
    """A given value: a number, list or array, of its own dtype where none is asked for; TypeError for other kinds."""

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return constant(self.value, dtype=dtype, shape=shape)


@export("compat.v2.random_uniform_initializer", "compat.v2.keras.initializers.RandomUniform")
class RandomUniform(_Typed, initializers.RandomUniform):
    """Uniform in [minval, maxval); ValueError, when called, where the dtype is not that of a real number."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Tensor:
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating and not dtype.is_integer:
            raise ValueError(f"Expected float or integer dtype, got {dtype}.")
        return self._drawn("random_uniform", shape, self.minval, self.maxval, dtype=dtype)


@export("compat.v2.random_normal_initializer", "compat.v2.keras.initializers.RandomNormal")
class RandomNormal(_Typed, initializers.RandomNormal):
    """Normal with the given mean and standard deviation."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


@export("compat.v2.keras.initializers.TruncatedNormal")
class TruncatedNormal(_Typed, initializers.TruncatedNormal):
    """Normal, drawn again beyond two standard deviations."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


@export("compat.v2.keras.initializers.VarianceScaling")
class VarianceScaling(_Typed, initializers.VarianceScaling):
    """As `tf.variance_scaling_initializer`."""

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None
    ) -> None:
        super().__init__(scale, mode, distribution, seed)


@export("compat.v2.keras.initializers.GlorotUniform", "compat.v2.keras.initializers.glorot_uniform")
class GlorotUniform(_Typed, initializers.GlorotUniform):
    """Uniform with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)


@export("compat.v2.keras.initializers.GlorotNormal", "compat.v2.keras.initializers.glorot_normal")
class GlorotNormal(_Typed, initializers.GlorotNormal):
    """Truncated normal with variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)


@export("compat.v2.keras.initializers.Orthogonal", "compat.v2.keras.initializers.orthogonal")
class Orthogonal(_Typed, orthogonal.Orthogonal):
    """A random matrix with orthonormal rows or columns (Saxe et al. 2013); more dimensions are flattened to rows."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        super().__init__(gain, seed)


@export("compat.v2.keras.initializers.Identity", "compat.v2.keras.initializers.identity")
class Identity(_Typed, orthogonal.Identity):
    """The identity matrix times `gain`; ValueError, when called, where the shape is not of two dimensions."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain)


@export("compat.v2.keras.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.keras.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform with variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("compat.v2.keras.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with variance 2 / inputs (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.keras.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform with variance 2 / inputs (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
