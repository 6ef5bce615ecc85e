"""Initializers that make orthogonal or norm-preserving weights, and the identity."""

from __future__ import annotations

import itertools
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array import fill
from tfcompat._src.ops.array.diagonal import diag_part
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sign
from tfcompat._src.ops.random import stateful as random
from tfcompat._src.variables.initializers import Initializer, float_dtype


def _orthogonal_columns(normal: Tensor, full_matrices: bool = False) -> Tensor:
    """A random matrix with orthonormal columns, from the QR factors of a normal one; signs make it uniform."""
    q, r = raw.Qr(normal, full_matrices=full_matrices)
    return q * sign(diag_part(r))


class _WithGain(Initializer):
    """An initializer that takes a factor, an op seed and a floating dtype."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, float_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


@export(
    "initializers.orthogonal",
    "orthogonal_initializer",
    "keras.initializers.Orthogonal",
    "keras.initializers.orthogonal",
)
class Orthogonal(_WithGain):
    """A random matrix with orthonormal rows or columns (Saxe et al. 2013); more dimensions are flattened to rows.

    Args:
      gain: factor.
      seed: op seed.
      dtype: floating element type.

    Raises:
      ValueError: when called, the shape has less than two dimensions.
    """

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows = 1
        for size in shape[:-1]:
            rows *= int(size)
        columns = int(shape[-1])
        q = _orthogonal_columns(
            self._drawn("random_normal", (max(rows, columns), min(rows, columns)), 0.0, 1.0, dtype=dtype or self.dtype)
        )
        if rows < columns:
            q = matrix_transpose(q)
        return self.gain * reshape(q, shape)


@export("initializers.identity", "keras.initializers.Identity", "keras.initializers.identity")
class Identity(Initializer):
    """The identity matrix times `gain`; ValueError, when called, where the shape is not of two dimensions."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain, self.dtype = gain, float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        full_shape = shape if partition_info is None else partition_info.full_shape
        if len(full_shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        sizes = full_shape.as_list() if isinstance(full_shape, TensorShape) else full_shape
        whole = eye(*sizes, dtype=dtype or self.dtype)
        if partition_info is not None:
            whole = raw.Slice(whole, partition_info.var_offset, shape)
        return self.gain * whole

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}


_COUNT_WORDS = {3: "three", 4: "four", 5: "five"}


def _require_channels(shape: Any) -> None:
    if shape[-2] > shape[-1]:
        raise ValueError("In_filters cannot be greater than out_filters.")


@export("contrib.framework.convolutional_delta_orthogonal")
class ConvolutionDeltaOrthogonal(_WithGain):
    """A convolution kernel that is orthogonal in its middle and zero elsewhere (Xiao et al. 2018), of 1 to 3
    dimensions."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: object = None) -> Tensor:
        if not 3 <= len(shape) <= 5:
            raise ValueError("The tensor to initialize must be at least three-dimensional and at most five-dimensional")
        _require_channels(shape)
        dtype = dtype or self.dtype
        q = _orthogonal_columns(self._drawn("random_normal", [shape[-1], shape[-1]], 0.0, 1.0, dtype=dtype))[: shape[-2], :]
        q *= cast(self.gain, dtype=dtype)
        return scatter_nd([[(size - 1) // 2 for size in shape[:-2]]], expand_dims(q, 0), shape)


class _ConvolutionOrthogonal(_WithGain):
    """A convolution kernel that keeps norms, convolved from 2-wide blocks of projections (Xiao et al. 2018)."""

    rank: int

    def __call__(self, shape: Any, dtype: Any = None, partition_info: object = None) -> Tensor:
        if len(shape) != self.rank + 2:
            raise ValueError(f"The tensor to initialize must be {_COUNT_WORDS[self.rank + 2]}-dimensional")
        _require_channels(shape)
        if any(size != shape[0] for size in shape[: self.rank]):
            raise ValueError("Kernel sizes must be equal.")
        return self._kernel(shape[0], shape[-2], shape[-1]) * cast(self.gain, dtype=dtype or self.dtype)

    def _orthogonal_matrix(self, size: int) -> Tensor:
        q = _orthogonal_columns(self._drawn("random_normal", [size, size], 0.0, 1.0, dtype=self.dtype))
        self._next_seed()
        return q

    def _next_seed(self) -> None:
        if self.seed:
            self.seed += 1

    def _projection(self, size: int) -> Tensor:
        """A random symmetric projection."""
        q = self._orthogonal_matrix(size)
        mask = cast(random.random_normal([size], seed=self.seed) > 0, self.dtype)
        self._next_seed()
        columns = raw.Mul(q, mask)
        return matmul(columns, matrix_transpose(columns))

    def _block(self, size: int) -> dict[tuple[int, ...], Tensor]:
        """A kernel of width 2: each position is a product of projections or their complements, one per dimension."""
        projections = [self._projection(size) for _ in range(self.rank)]
        identity = eye(size, dtype=self.dtype)
        found = {}
        for place in itertools.product((0, 1), repeat=self.rank):
            factors = [self._factor(i, p, identity) for i, p in zip(place, projections)]
            product = factors[0]
            for factor in factors[1:]:
                product = matmul(product, factor)
            found[place] = product
        return found

    def _factor(self, index: int, projection: Tensor, identity: Tensor) -> Tensor:
        return identity - projection if index else projection

    def _convolved(self, a: dict, b: dict, width: int, size: int) -> dict[tuple[int, ...], Tensor]:
        """The convolution of kernels of width `width - 1` and 2, with matrices as elements."""
        found = {}
        for place in itertools.product(range(width), repeat=self.rank):
            total = fill.zeros([size, size], self.dtype)
            for first in itertools.product(*(range(min(width - 1, i + 1)) for i in place)):
                second = tuple(i - j for i, j in zip(place, first))
                if all(i < 2 for i in second):
                    total += matmul(a[first], b[second])
            found[place] = total
        return found

    def _kernel(self, width: int, inputs: int, outputs: int) -> Tensor:
        if inputs > outputs:
            raise ValueError("The number of input channels cannot exceed the number of output channels.")
        orthogonal = self._orthogonal_matrix(outputs)[0:inputs, :]
        if width == 1:
            for _ in range(self.rank):
                orthogonal = expand_dims(orthogonal, 0)
            return orthogonal
        kernel = self._block(outputs)
        for size in range(3, width + 1):
            kernel = self._convolved(kernel, self._block(outputs), size, outputs)
        elements = {
            place: matmul(orthogonal, kernel[place]) for place in itertools.product(range(width), repeat=self.rank)
        }
        return self._stacked(elements, (), width)

    def _stacked(self, elements: dict, place: tuple[int, ...], width: int) -> Tensor:
        if len(place) == self.rank:
            return elements[place]
        return stack([self._stacked(elements, (*place, i), width) for i in range(width)])


@export("contrib.framework.convolutional_orthogonal_1d")
class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    """A kernel of one dimension that keeps norms."""

    rank = 1


@export("contrib.framework.convolutional_orthogonal_2d")
class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    """A kernel of two dimensions that keeps norms."""

    rank = 2


@export("contrib.framework.convolutional_orthogonal_3d")
class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    """A kernel of three dimensions that keeps norms."""

    rank = 3

    def _factor(self, index: int, projection: Tensor, identity: Tensor) -> Tensor:
        return index * projection + (1 - index) * (identity - projection)
