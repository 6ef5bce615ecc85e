"""The Kullback-Leibler divergence of two distributions, by formulas registered for their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.ops.math.reduce import reduce_any
from tfcompat._src.ops.math.unary import is_nan

_DIVERGENCES: dict[tuple[type, type], Callable] = {}


def _registered_kl(type_a: type, type_b: type) -> Callable | None:
    """The formula of the nearest ancestors of the two classes."""
    found = [
        (i + j, _DIVERGENCES[parents])
        for i, a in enumerate(type_a.__mro__)
        for j, b in enumerate(type_b.__mro__)
        if (parents := (a, b)) in _DIVERGENCES
    ]
    return min(found, key=lambda each: each[0])[1] if found else None


@export("distributions.kl_divergence", "contrib.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """KL(a || b), the mean under `distribution_a` of log(a) - log(b), for each of the batch.

    Args:
      distribution_a, distribution_b: distributions.
      allow_nan_stats: whether NaN is returned where the divergence is undefined; else a run fails.
      name: name scope.

    Raises:
      NotImplementedError: no formula is registered for the two classes.
    """
    formula = _registered_kl(type(distribution_a), type(distribution_b))
    if formula is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        divergence = formula(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = identity(divergence, name="kl")
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        with control_dependencies([Assert(logical_not(reduce_any(is_nan(divergence))), [message, divergence])]):
            return identity(divergence, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Tensor:
    """The mean under `ref` of -log(other)."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


@export("distributions.RegisterKL", "contrib.distributions.RegisterKL")
class RegisterKL:
    """A decorator that registers `f(a, b, name=None)` as KL(a || b) of two classes and their descendants.

    Raises:
      TypeError: it decorates what cannot be called. ValueError: the two classes have a formula already.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable) -> Callable:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            a, b = self._key
            raise ValueError(
                f"KL({a.__name__} || {b.__name__}) has already been registered to: {_DIVERGENCES[self._key]}"
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
