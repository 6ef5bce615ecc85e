"""Distributions that change the shape of others: Independent, BatchReshape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.distributions import kullback_leibler
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.graph.constant_value import constant_value, constant_value_as_shape
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import rank, reshape, shape, size
from tfcompat._src.ops.composed.check_ops import (
    assert_equal,
    assert_greater_equal,
    assert_less_equal,
    assert_positive,
)  # fmt: skip
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.math.binary import floordiv, maximum
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import count_nonzero, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _length(sizes: Tensor) -> Any:
    known = dimension_value(sizes.shape.with_rank_at_least(1)[0])
    return shape(sizes)[0] if known is None else known


@export("contrib.distributions.Independent")
class Independent(Distribution):
    """A distribution whose last batch dimensions are event dimensions.

    Args:
      distribution: the distribution of the parts, which are independent.
      reinterpreted_batch_ndims: how many; all but the first by default.
      validate_args: whether that number is checked in a run.
      name: name scope.

    Raises:
      ValueError: there are known to be fewer batch dimensions.
    """

    def __init__(
        self, distribution: Distribution, reinterpreted_batch_ndims: TensorLike | None = None, validate_args: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._distribution = distribution
        with name_scope(name or "Independent" + distribution.name) as name:
            if reinterpreted_batch_ndims is None:
                ndims = distribution.batch_shape.ndims
                if ndims is None:
                    reinterpreted_batch_ndims = maximum(0, shape(distribution.batch_shape_tensor())[0] - 1)
                else:
                    reinterpreted_batch_ndims = np.maximum(0, ndims - 1)
            count = convert_to_tensor(
                reinterpreted_batch_ndims, dtype=dtypes.int32, name="reinterpreted_batch_ndims"
            )
            self._static_reinterpreted_batch_ndims = known = constant_value(count)
            self._reinterpreted_batch_ndims = count if known is None else known
            super().__init__(
                dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args, allow_nan_stats=distribution.allow_nan_stats,
                graph_parents=[count, *distribution._graph_parents], name=name,
            )  # fmt: skip
            self._checks = self._count_checks(count)

    distribution = parameter("distribution", "The distribution of the parts.")
    reinterpreted_batch_ndims = parameter("reinterpreted_batch_ndims", "How many dimensions become of the event.")

    def _count_checks(self, count: Tensor) -> list:
        ndims, known = self.distribution.batch_shape.ndims, self._static_reinterpreted_batch_ndims
        if ndims is not None and known is not None:
            if known > ndims:
                raise ValueError(
                    f"reinterpreted_batch_ndims({known}) cannot exceed distribution.batch_ndims({ndims})"
                )
        elif self.validate_args:
            message = "reinterpreted_batch_ndims cannot exceed distribution.batch_ndims"
            return [assert_less_equal(count, _length(self.distribution.batch_shape_tensor()), message=message)]
        return []

    def _known_split(self) -> int | None:
        """How many batch dimensions remain, where it is known."""
        ndims = self.distribution.batch_shape.ndims
        if self._static_reinterpreted_batch_ndims is None or ndims is None:
            return None
        return ndims - int(self._static_reinterpreted_batch_ndims)

    def _batch_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            sizes = self.distribution.batch_shape_tensor()
            return sizes[: _length(sizes) - self.reinterpreted_batch_ndims]

    def _batch_shape(self) -> TensorShape:
        split = self._known_split()
        return TensorShape(None) if split is None else self.distribution.batch_shape[:split]

    def _event_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            sizes = self.distribution.batch_shape_tensor()
            moved = sizes[_length(sizes) - self.reinterpreted_batch_ndims :]
            return concat([moved, self.distribution.event_shape_tensor()], axis=0)

    def _event_shape(self) -> TensorShape:
        split = self._known_split()
        if split is None:
            return TensorShape(None)
        return self.distribution.batch_shape[split:].concatenate(self.distribution.event_shape)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        with control_dependencies(self._checks):
            return self.distribution.sample(sample_shape=n, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return self._sum(self.distribution.log_prob(x))

    def _entropy(self) -> Tensor:
        with control_dependencies(self._checks):
            return self._sum(self.distribution.entropy())

    def _of_parts(self, statistic: str) -> Tensor:
        with control_dependencies(self._checks):
            return getattr(self.distribution, statistic)()

    def _mean(self) -> Tensor:
        return self._of_parts("mean")

    def _variance(self) -> Tensor:
        return self._of_parts("variance")

    def _stddev(self) -> Tensor:
        return self._of_parts("stddev")

    def _mode(self) -> Tensor:
        return self._of_parts("mode")

    def _sum(self, statistic: Tensor) -> Tensor:
        known = self._static_reinterpreted_batch_ndims
        places = arange(self._reinterpreted_batch_ndims) if known is None else np.arange(known)
        return reduce_sum(statistic, axis=-1 - places)


@RegisterKL(Independent, Independent)
def _kl_independent(a: Independent, b: Independent, name: str | None = "kl_independent") -> Tensor:
    p, q = a.distribution, b.distribution

    def divergence() -> Tensor:
        return kullback_leibler.kl_divergence(p, q, name=name)

    if a.event_shape.is_fully_defined() and b.event_shape.is_fully_defined():
        if a.event_shape != b.event_shape:
            raise ValueError("Event shapes do not match.")
        if p.event_shape != q.event_shape:
            raise NotImplementedError("KL between Independents with different event shapes not supported.")
        return reduce_sum(divergence(), axis=[-i - 1 for i in range(a.event_shape.ndims - p.event_shape.ndims)])
    checks = [
        assert_equal(a.event_shape_tensor(), b.event_shape_tensor()),
        assert_equal(p.event_shape_tensor(), q.event_shape_tensor()),
    ]
    with control_dependencies(checks):
        count = shape(a.event_shape_tensor())[0] - shape(p.event_shape_tensor())[0]
        return reduce_sum(divergence(), axis=arange(-count, 0))


@export("contrib.distributions.BatchReshape")
class BatchReshape(Distribution):
    """A distribution with another batch shape of the same size.

    Args:
      distribution: what is reshaped.
      batch_shape: int32 vector; one element may be -1.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: the shape is known not to fit.
    """

    def __init__(
        self, distribution: Distribution, batch_shape: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:  # fmt: skip
        with name_scope(name or "BatchReshape" + distribution.name, values=[batch_shape]) as name:
            self._batch_shape_unexpanded = convert_to_tensor(batch_shape, dtype=dtypes.int32, name="batch_shape")
            validate_init_args_statically(distribution, self._batch_shape_unexpanded)
            self._batch_shape_, self._batch_shape_static, self._checks = calculate_reshape(
                distribution.batch_shape_tensor(), self._batch_shape_unexpanded, validate_args
            )
            self._distribution = distribution
            super().__init__(
                dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                graph_parents=[self._batch_shape_unexpanded, *distribution._graph_parents], name=name,
            )  # fmt: skip

    distribution = parameter("distribution", "What is reshaped.")

    def _batch_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            return identity(self._batch_shape_)

    def _batch_shape(self) -> TensorShape:
        return self._batch_shape_static

    def _event_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            return identity(self.distribution.event_shape_tensor())

    def _event_shape(self) -> TensorShape:
        return self.distribution.event_shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        with control_dependencies(self._checks):
            x = self.distribution.sample(sample_shape=n, seed=seed)
            return reshape(x, concat([[n], self._batch_shape_unexpanded, self.event_shape_tensor()], axis=0))

    def _ndims(self, known: TensorShape, sizes: Callable[[], Tensor]) -> Tensor | int:
        return size(sizes()) if known.ndims is None else known.ndims

    def _split_ndims(self, x: Tensor) -> tuple[Any, Any]:
        """(rank of `x`, number of its batch and event dimensions)."""
        x_ndims = rank(x) if x.shape.ndims is None else x.shape.ndims
        event_ndims = self._ndims(self.event_shape, self.event_shape_tensor)
        return x_ndims, self._ndims(self.batch_shape, lambda: self._batch_shape_unexpanded) + event_ndims

    def _of_value(self, function: Callable, x: Tensor) -> Tensor:
        """`function` of the distribution on values of its own batch shape."""
        with control_dependencies(self._checks + self._value_checks(x)):
            x_ndims, inner_ndims = self._split_ndims(x)
            sample_ndims = x_ndims - inner_ndims
            known = x.shape[:sample_ndims] if isinstance(sample_ndims, int) else TensorShape(None)
            sample = np.int32(known.as_list()) if known.is_fully_defined() else shape(x)[:sample_ndims]
            inner = [self.distribution.batch_shape_tensor(), self.event_shape_tensor()]
            found = function(reshape(x, concat([sample, *inner], axis=0)))
            found = reshape(found, concat([sample, self._batch_shape_unexpanded], axis=0))
            if known.ndims is not None and self.batch_shape.ndims is not None:
                found.set_shape(known.concatenate(self.batch_shape))
            return found

    def _value_checks(self, x: Tensor) -> list:
        """The checks that a run needs of the shape of `x`; raises at once where it is known not to fit."""
        prefix = "Broadcasting is not supported;"
        with name_scope("validate_sample_arg", values=[x]):
            x_ndims, inner_ndims = self._split_ndims(x)
            checks = []
            if isinstance(x_ndims, int) and isinstance(inner_ndims, int):
                if x_ndims < inner_ndims:
                    raise NotImplementedError(
                        f"{prefix} too few batch and event dims (expected at least {inner_ndims}, saw {x_ndims})."
                    )
            elif self.validate_args:
                checks.append(assert_greater_equal(
                    x_ndims, inner_ndims, message=f"{prefix} too few batch and event dims.",
                    name="assert_batch_and_event_ndims_large_enough",
                ))  # fmt: skip
            is_known = self.batch_shape.is_fully_defined() and self.event_shape.is_fully_defined()
            if is_known:
                expected: Any = np.int32(self.batch_shape.concatenate(self.event_shape).as_list())
            else:
                expected = concat([self.batch_shape_tensor(), self.event_shape_tensor()], axis=0)
            sample_ndims = x_ndims - inner_ndims
            if isinstance(sample_ndims, int) and x.shape[max(sample_ndims, 0) :].is_fully_defined():
                actual: Any = np.int32(x.shape[max(sample_ndims, 0) :].as_list())
            else:
                actual = shape(x)[maximum(sample_ndims, 0) :]
            if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
                if (expected != actual).any():
                    raise NotImplementedError(
                        f"{prefix} unexpected batch and event shape (expected {expected}, saw {actual})."
                    )
                return checks
            if not self.validate_args:
                return []
            with control_dependencies(checks):
                return [assert_equal(
                    expected, actual, message=f"{prefix} unexpected batch and event shape.",
                    name="assert_batch_and_event_shape_same",
                )]  # fmt: skip

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_prob, x)

    def _prob(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.prob, x)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_cdf, x)

    def _cdf(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.cdf, x)

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_survival_function, x)

    def _survival_function(self, x: Tensor) -> Tensor:
        return self._of_value(self.distribution.survival_function, x)

    def _statistic(self, function: Callable, events: int = 1) -> Tensor:
        """A statistic of the distribution whose shape is the batch's and so many times the event's."""
        with control_dependencies(self._checks):
            sizes = [self._event_shape_tensor()] * events if events < 2 else [self.event_shape_tensor()] * events
            found = reshape(function(), concat([self._batch_shape_unexpanded, *sizes], axis=0))
            if self.batch_shape.ndims is not None and self.event_shape.ndims is not None:
                known = self.batch_shape
                for _ in range(events):
                    known = known.concatenate(self.event_shape)
                found.set_shape(known)
            return found

    def _entropy(self) -> Tensor:
        return self._statistic(self.distribution.entropy, events=0)

    def _mean(self) -> Tensor:
        return self._statistic(self.distribution.mean)

    def _mode(self) -> Tensor:
        return self._statistic(self.distribution.mode)

    def _stddev(self) -> Tensor:
        return self._statistic(self.distribution.stddev)

    def _variance(self) -> Tensor:
        return self._statistic(self.distribution.variance)

    def _covariance(self) -> Tensor:
        return self._statistic(self.distribution.covariance, events=2)


def calculate_reshape(
    original_shape: Tensor, new_shape: Tensor, validate: bool = False, name: str | None = None
) -> tuple[Any, TensorShape, list]:
    """(`new_shape` with its -1 filled in, what is known of it, checks)."""
    known = constant_value_as_shape(new_shape)
    if known.is_fully_defined():
        return np.int32(known.as_list()), known, []
    with name_scope(name, "calculate_reshape", [original_shape, new_shape]):
        total = reduce_prod(original_shape)
        is_implicit = equal(new_shape, -1)
        implicit = floordiv(total, maximum(1, -reduce_prod(new_shape)))
        expanded = where_v2(is_implicit, fill(shape(new_shape), implicit), new_shape)
        if not validate:
            return expanded, known, []
        checks = [
            assert_rank(original_shape, 1, message="Original shape must be a vector."),
            assert_rank(new_shape, 1, message="New shape must be a vector."),
            assert_less_equal(
                count_nonzero(is_implicit, dtype=dtypes.int32), 1, message="At most one dimension can be unknown."
            ),
            assert_positive(expanded, message="Shape elements must be >=-1."),
            assert_equal(reduce_prod(expanded), total, message="Shape sizes do not match."),
        ]
        return expanded, known, checks


def validate_init_args_statically(distribution: Distribution, batch_shape: Tensor) -> None:
    """Raises ValueError where the batch shape is known not to fit."""
    if batch_shape.shape.ndims not in (None, 1):
        raise ValueError(f"`batch_shape` must be a vector (saw rank: {batch_shape.shape.ndims}).")
    known = constant_value_as_shape(batch_shape)
    new, old = known.num_elements(), distribution.batch_shape.num_elements()
    if new is not None and old is not None and new != old:
        raise ValueError(f"`batch_shape` size ({new}) must match `distribution.batch_shape` size ({old}).")
    if known.ndims is not None and any(each is not None and each < 1 for each in known.as_list()):
        raise ValueError("`batch_shape` elements must be >=-1.")
