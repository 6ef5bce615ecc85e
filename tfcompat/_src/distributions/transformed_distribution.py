"""The distribution of f(X), for a bijector f and a distribution of X."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import bijector as bijectors
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.util import maybe_get_static_value, pick_vector
from tfcompat._src.graph.constant_value import constant_value, constant_value_as_shape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import broadcast_static_shape, rank, reshape, shape, size
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_positive
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_and, logical_not
from tfcompat._src.ops.math.reduce import reduce_all, reduce_logsumexp, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import exp

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _known(x: TensorLike) -> Any:
    return constant_value(convert_to_tensor(x))


def static_logical_and(*args: object) -> Tensor:
    """The conjunction of bool scalars, a constant where it is known."""
    known = [_known(x) for x in args]
    if any(x is not None and not x for x in known):
        return constant(False)
    if all(x is not None and x for x in known):
        return constant(True)
    return logical_and(*args) if len(args) == 2 else reduce_all(args)


def static_logical_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether `x` equals `y`, a constant where both are known."""
    known = _known(x), _known(y)
    if any(each is None for each in known):
        return equal(x, y)
    return constant(np.array_equal(*known))


def static_logical_not(x: TensorLike) -> Tensor:
    """Not `x`, a constant where it is known."""
    known = _known(x)
    return logical_not(x) if known is None else constant(np.logical_not(known))


def concat_vectors(*args: object) -> Tensor:
    """The vectors one after another, a constant where all are known."""
    known = [_known(x) for x in args]
    if any(x is None for x in known):
        return concat(args, 0)
    return constant([x for vector in known for x in vector])


def pick_scalar_condition(pred: TensorLike, cond_true: object, cond_false: object) -> Any:
    """One of two scalars by a bool scalar."""
    known = _known(pred)
    if known is None:
        return where_v2(pred, cond_true, cond_false)
    return cond_true if known else cond_false


def _ones_like(x: Tensor) -> Tensor:
    return ones(x.shape.as_list(), dtype=x.dtype) if x.shape.is_fully_defined() else ones_like(x)


def ndims_from_shape(sizes: Tensor) -> Tensor:
    """The rank of what has the shape `sizes`."""
    if sizes.shape.ndims not in (None, 1):
        raise ValueError("input is not a valid shape: not 1D")
    if not sizes.dtype.is_integer:
        raise TypeError("input is not a valid shape: wrong dtype")
    return constant(sizes.shape.as_list()[0]) if sizes.shape.is_fully_defined() else shape(sizes)[0]


@export("contrib.distributions.TransformedDistribution")
class TransformedDistribution(Distribution):
    """The distribution of Y = bijector.forward(X).

    Args:
      distribution: of X.
      bijector: f; the identity by default.
      batch_shape, event_shape: shapes that a distribution of one number, or of one batch member, takes.
      validate_args: whether the shapes are checked in a run.
      name: name scope; by default that of the bijector and that of the distribution.

    Raises:
      ValueError: a given shape is no vector of positive numbers, or the distribution has such a shape already.
    """

    def __init__(
        self, distribution: Distribution, bijector: Any = None, batch_shape: Any = None, event_shape: Any = None,
        validate_args: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with name_scope(name, values=[event_shape, batch_shape]) as name:
            self._zero = constant(0, dtype=dtypes.int32, name="zero")
            self._empty = constant([], dtype=dtypes.int32, name="empty")
            if bijector is None:
                bijector = bijectors.Identity(validate_args=validate_args)
            self._override_batch_shape, self._is_batch_override, self._is_maybe_batch_override = self._override(
                batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape"
            )
            self._override_event_shape, self._is_event_override, self._is_maybe_event_override = self._override(
                event_shape, distribution.is_scalar_event(), validate_args, "event_shape"
            )
            self._needs_rotation = static_logical_and(
                self._is_event_override, static_logical_not(self._is_batch_override),
                static_logical_not(distribution.is_scalar_batch()),
            )  # fmt: skip
            event_ndims = ndims_from_shape(self._override_event_shape)
            self._rotate_ndims = pick_scalar_condition(self._needs_rotation, event_ndims, 0)
            self._reduce_event_indices = arange(self._rotate_ndims - event_ndims, self._rotate_ndims)
        self._distribution, self._bijector = distribution, bijector
        super().__init__(
            dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args, allow_nan_stats=distribution.allow_nan_stats,
            graph_parents=distribution._graph_parents + bijector.graph_parents, name=name,
        )  # fmt: skip

    distribution = parameter("distribution", "The distribution of X.")
    bijector = parameter("bijector", "The function.")

    def _override(self, given: object, base_is_scalar: object, validate_args: bool, name: str) -> tuple[Tensor, Tensor, bool]:
        """(a given shape, whether it is not empty, whether it may be not empty)."""
        sizes = self._maybe_validate_shape_override(given, base_is_scalar, validate_args, name)
        is_given = static_logical_not(static_logical_equal(ndims_from_shape(sizes), self._zero))
        known = constant_value(sizes)
        return sizes, is_given, known is None or known.size != 0

    def _maybe_validate_shape_override(
        self, override_shape: object, base_is_scalar: TensorLike, validate_args: bool, name: str
    ) -> Tensor:
        sizes = [] if override_shape is None else override_shape
        sizes = convert_to_tensor(sizes, dtype=dtypes.int32, name=name)
        is_empty = static_logical_equal(ndims_from_shape(sizes), 0)
        if constant_value(is_empty):
            return self._empty
        checks: list = []

        def demand(known: object, holds: Callable, check: Callable, message: str) -> None:
            """Raises where a known value does not hold; leaves a check of an unknown one to the run."""
            if known is not None:
                if not holds(known):
                    raise ValueError(message)
            elif validate_args:
                checks.append(check(message))

        demand(
            sizes.shape.ndims, lambda n: n == 1, lambda m: assert_rank(sizes, 1, message=m),
            "shape override must be a vector",
        )  # fmt: skip
        demand(
            constant_value(sizes), lambda s: (s > 0).all(), lambda m: assert_positive(sizes, message=m),
            "shape override must have positive elements",
        )  # fmt: skip
        both = static_logical_and(static_logical_not(base_is_scalar), static_logical_not(is_empty))
        demand(
            constant_value(both), lambda b: not b, lambda m: assert_equal(both, False, message=m),
            "base distribution not scalar",
        )  # fmt: skip
        return with_dependencies(checks, sizes) if checks else sizes

    # ---- shapes ----

    def _event_shape_tensor(self) -> Tensor:
        of_x = pick_vector(self._is_event_override, self._override_event_shape, self.distribution.event_shape_tensor())
        return self.bijector.forward_event_shape_tensor(of_x)

    def _event_shape(self) -> TensorShape:
        given = constant_value_as_shape(self._override_event_shape)
        return self.bijector.forward_event_shape(given if self._is_maybe_event_override else self.distribution.event_shape)

    def _batch_shape_tensor(self) -> Tensor:
        return pick_vector(self._is_batch_override, self._override_batch_shape, self.distribution.batch_shape_tensor())

    def _batch_shape(self) -> TensorShape:
        given = constant_value_as_shape(self._override_batch_shape)
        return given if self._is_maybe_batch_override else self.distribution.batch_shape

    # ---- samples ----

    def _sample_n(self, n: object, seed: int | None = None, **distribution_kwargs: Any) -> Tensor:
        sizes = concat_vectors(
            pick_vector(self._needs_rotation, self._empty, [n]), self._override_batch_shape,
            self._override_event_shape, pick_vector(self._needs_rotation, [n], self._empty),
        )  # fmt: skip
        return self._maybe_rotate_dims(self.distribution.sample(sample_shape=sizes, seed=seed, **distribution_kwargs))

    def _call_sample_n(self, sample_shape: TensorLike, seed: int | None, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sample_shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            of_bijector, of_distribution = self._split_arguments(kwargs)
            x = self._sample_n(n, seed, **of_distribution)
            sizes = concat([sample_shape, shape(x)[1:]], 0)
            y = self.bijector.forward(reshape(x, sizes), **of_bijector)
            return self._set_sample_static_shape(y, sample_shape)

    def _split_arguments(self, kwargs: dict[str, Any]) -> tuple[dict, dict]:
        """The arguments of the bijector's methods and of the distribution's."""
        of_bijector, of_distribution = kwargs.pop("bijector_kwargs", None), kwargs.pop("distribution_kwargs", None)
        if kwargs:
            raise TypeError(f"Unexpected keyword arguments: {', '.join(kwargs)}")
        return of_bijector or {}, of_distribution or {}

    def _maybe_rotate_dims(self, x: Tensor, rotate_right: bool = False) -> Tensor:
        """`x` with the event dimensions, which came first, moved to the end or back."""
        known = constant_value(self._needs_rotation)
        if known is not None and not known:
            return x
        ndims = rank(x)
        n = ndims - self._rotate_ndims if rotate_right else self._rotate_ndims
        return transpose(x, concat_vectors(arange(n, ndims), arange(0, n)))

    # ---- densities ----

    def _on_fibers(self, y: Tensor, of_one: Callable, kwargs: dict[str, Any]) -> list[Tensor]:
        """`of_one(y, x, ildj, event rank, arguments)` for each x with f(x) = y."""
        of_bijector, of_distribution = self._split_arguments(kwargs)
        x = self.bijector.inverse(y, **of_bijector)
        event_ndims = self._maybe_get_static_event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims, **of_bijector)
        pairs = [(x, ildj)] if self.bijector._is_injective else zip(x, ildj)
        return [of_one(y, one, its_ildj, event_ndims, of_distribution) for one, its_ildj in pairs]

    def _log_prob(self, y: Tensor, **kwargs: Any) -> Tensor:
        found = self._on_fibers(y, self._finish_log_prob_for_one_fiber, kwargs)
        return found[0] if self.bijector._is_injective else reduce_logsumexp(stack(found), axis=0)

    def _finish_log_prob_for_one_fiber(self, y: Tensor, x: Tensor, ildj: Tensor, event_ndims: object, kwargs: dict) -> Tensor:
        log_prob = self.distribution.log_prob(self._maybe_rotate_dims(x, rotate_right=True), **kwargs)
        if self._is_maybe_event_override:
            log_prob = reduce_sum(log_prob, self._reduce_event_indices)
        return self._with_batch_shape(log_prob + cast(ildj, log_prob.dtype), y, event_ndims)

    def _prob(self, y: Tensor, **kwargs: Any) -> Tensor:
        found = self._on_fibers(y, self._finish_prob_for_one_fiber, kwargs)
        return found[0] if self.bijector._is_injective else sum(found)

    def _finish_prob_for_one_fiber(self, y: Tensor, x: Tensor, ildj: Tensor, event_ndims: object, kwargs: dict) -> Tensor:
        prob = self.distribution.prob(self._maybe_rotate_dims(x, rotate_right=True), **kwargs)
        if self._is_maybe_event_override:
            prob = reduce_prod(prob, self._reduce_event_indices)
        return self._with_batch_shape(prob * exp(cast(ildj, prob.dtype)), y, event_ndims)

    def _with_batch_shape(self, found: Tensor, y: Tensor, event_ndims: object) -> Tensor:
        if self._is_maybe_event_override and isinstance(event_ndims, int):
            sample_and_batch = y.shape.with_rank_at_least(1)
            if sample_and_batch.ndims is not None:
                found.set_shape(broadcast_static_shape(sample_and_batch[:-event_ndims], self.batch_shape))
        return found

    def _maybe_get_static_event_ndims(self) -> Any:
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        event_ndims = size(self.event_shape_tensor())
        known = maybe_get_static_value(event_ndims)
        return event_ndims if known is None else known

    # ---- of the distribution of X at the inverse ----

    def _of_inverse(self, of: str, y: Tensor, kwargs: dict[str, Any]) -> Tensor:
        self._require_function_of_one_x(of)
        of_bijector, of_distribution = self._split_arguments(kwargs)
        return getattr(self.distribution, of)(self.bijector.inverse(y, **of_bijector), **of_distribution)

    def _require_function_of_one_x(self, of: str) -> None:
        if self._is_maybe_event_override:
            raise NotImplementedError(f"{of} is not implemented when overriding event_shape")
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{of} is not implemented when bijector is not injective.")

    def _log_cdf(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._of_inverse("log_cdf", y, kwargs)

    def _cdf(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._of_inverse("cdf", y, kwargs)

    def _log_survival_function(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._of_inverse("log_survival_function", y, kwargs)

    def _survival_function(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._of_inverse("survival_function", y, kwargs)

    def _quantile(self, value: Tensor, **kwargs: Any) -> Tensor:
        self._require_function_of_one_x("quantile")
        of_bijector, of_distribution = self._split_arguments(kwargs)
        return self.bijector.forward(self.distribution.quantile(value, **of_distribution), **of_bijector)

    def _entropy(self) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self.bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self.distribution.entropy()
        if self._is_maybe_event_override:
            entropy *= cast(reduce_prod(self._override_event_shape), dtype=entropy.dtype.base_dtype)
        if self._is_maybe_batch_override:
            of_x = self.distribution.batch_shape_tensor()
            entropy = reshape(entropy, concat([_ones_like(self._override_batch_shape), of_x], 0))
            of_x = self.distribution.batch_shape_tensor()
            entropy = tile(entropy, concat([self._override_batch_shape, _ones_like(of_x)], 0))
        anywhere = zeros(concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), dtype=self.dtype)
        event_ndims = self.event_shape.ndims
        if event_ndims is None:
            event_ndims = size(self.event_shape_tensor())
        entropy -= cast(self.bijector.inverse_log_det_jacobian(anywhere, event_ndims=event_ndims), entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy
