"""Distributions with one possible value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.unary import absolute

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _OneValue(Distribution):
    """All probability is within `atol + rtol |loc|` of `loc`."""

    def __init__(
        self, loc: Any, atol: Any = None, rtol: Any = None, is_vector: bool = False, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "_BaseDeterministic",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, atol, rtol]) as name:
            loc = convert_to_tensor(loc, name="loc")
            if is_vector and validate_args:
                loc = _checked_vectors(loc)
            self._loc = loc
            super().__init__(
                dtype=loc.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                allow_nan_stats=allow_nan_stats, graph_parents=[loc], name=name,
            )  # fmt: skip
            self._atol, self._rtol = self._tolerance(atol), self._tolerance(rtol)
            self._slack = self._atol if rtol is None else self._atol + self._rtol * absolute(loc)

    loc = parameter("loc", "The value.")
    atol = parameter("atol", "The absolute tolerance.")
    rtol = parameter("rtol", "The relative tolerance.")

    def _tolerance(self, value: TensorLike) -> Tensor:
        if value is None:
            return convert_to_tensor(0, dtype=self.loc.dtype)
        value = convert_to_tensor(value, dtype=self.loc.dtype)
        if not self.validate_args:
            return value
        return with_dependencies([assert_non_negative(value, message="Argument 'tol' must be non-negative")], value)

    def _entropy(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self) -> Tensor:
        return identity(self.loc)

    def _variance(self) -> Tensor:
        return zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self.mean()

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        known, ndims = constant_value(convert_to_tensor(n)), self.loc.shape.ndims
        if known is not None and ndims is not None:
            multiples = [known] + [1] * ndims
        else:
            multiples = concat(([n], ones_like(shape(self.loc))), axis=0)
        return tile(self.loc[None, ...], multiples=multiples)


def _checked_vectors(loc: Tensor) -> Tensor:
    message = "Argument loc must be at least rank 1."
    if loc.shape.ndims is None:
        return with_dependencies([assert_rank_at_least(loc, 1, message=message)], loc)
    if loc.shape.ndims < 1:
        raise ValueError(message)
    return loc


@export("contrib.distributions.Deterministic")
class Deterministic(_OneValue):
    """The distribution of a number that is always `loc`.

    Args:
      loc: Tensor.
      atol, rtol: x counts as `loc` within atol + rtol |loc|; 0 by default.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, loc: object, atol: object = None, rtol: object = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:  # fmt: skip
        super().__init__(
            loc, atol=atol, rtol=rtol, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name
        )

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.loc)

    def _batch_shape(self) -> TensorShape:
        return self.loc.shape

    def _event_shape_tensor(self) -> Tensor:
        return constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _prob(self, x: Tensor) -> Tensor:
        return cast(absolute(x - self.loc) <= self._slack, dtype=self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(x >= self.loc - self._slack, dtype=self.dtype)


@export("contrib.distributions.VectorDeterministic")
class VectorDeterministic(_OneValue):
    """The distribution of a vector that is always `loc`, [..., k]; arguments as of `Deterministic`.

    Raises:
      ValueError: `loc` is known to be a scalar and `validate_args`.
    """

    def __init__(
        self, loc: object, atol: object = None, rtol: object = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:  # fmt: skip
        super().__init__(
            loc, atol=atol, rtol=rtol, is_vector=True, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            name=name,
        )  # fmt: skip

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.loc)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.loc.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.loc)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.loc.shape[-1:]

    def _prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            message = "Argument 'x' not defined in the same space R^k as this distribution"
            is_vector = assert_rank_at_least(x, 1)
            fits = assert_equal(self.event_shape_tensor(), gather(shape(x), rank(x) - 1), message=message)
            with control_dependencies([is_vector]), control_dependencies([fits]):
                x = identity(x)
        return cast(reduce_all(absolute(x - self.loc) <= self._slack, axis=-1), dtype=self.dtype)
