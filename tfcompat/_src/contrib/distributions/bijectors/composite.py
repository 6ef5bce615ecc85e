"""Bijectors made of bijectors or functions: Chain, Invert, Inline, and those with conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.distribution import parameter
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import rank, shape, size
from tfcompat._src.ops.math.cast import cast


@export("contrib.distributions.bijectors.ConditionalBijector")
class ConditionalBijector(Bijector):
    """A bijector whose methods pass further keyword arguments to the class's own."""

    def forward(self, x: object, name: str = "forward", **condition_kwargs: Any) -> Tensor:
        """f(x) under conditions."""
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y: object, name: str = "inverse", **condition_kwargs: Any) -> Any:
        """The x with f(x) = y under conditions."""
        return self._call_inverse(y, name, **condition_kwargs)

    def inverse_log_det_jacobian(
        self, y: object, event_ndims: object, name: str = "inverse_log_det_jacobian", **condition_kwargs: Any
    ) -> Any:
        """log |det| of the Jacobian of the inverse under conditions."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)

    def forward_log_det_jacobian(
        self, x: object, event_ndims: object, name: str = "forward_log_det_jacobian", **condition_kwargs: Any
    ) -> Tensor:
        """log |det| of the Jacobian under conditions."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)


def _min_event_ndims(ranks: Iterable[tuple[int, int]]) -> int:
    """The least rank that a chain takes, from (least rank taken, least rank given) of its members in order."""
    least = reached = 0
    for taken, given in ranks:
        least += max(taken - reached, 0)
        reached = max(taken, reached) + given - taken
    return least


@export("contrib.distributions.bijectors.Chain")
class Chain(Bijector):
    """y = f1(f2(...(x))).

    Args:
      bijectors: list of f1, f2, ...
      validate_args: whether values are checked in a run.
      name: name scope; by default those of the bijectors, the last first.

    Raises:
      ValueError: dtypes differ. NotImplementedError: a bijector has several x for one y.
    """

    def __init__(self, bijectors: Any = None, validate_args: bool = False, name: str | None = None) -> None:
        self._bijectors = bijectors = () if bijectors is None else bijectors
        for each in bijectors:
            if not each._is_injective:
                raise NotImplementedError(f"Invert is not implemented for non-injective bijector ({each.name})")
        known = {each.dtype for each in bijectors} - {None}
        if len(known) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(known, key=str)}")
        ranks = [(each.forward_min_event_ndims, each.inverse_min_event_ndims) for each in bijectors]
        super().__init__(
            graph_parents=list(itertools.chain.from_iterable(each.graph_parents for each in bijectors)),
            forward_min_event_ndims=_min_event_ndims(reversed(ranks)),
            inverse_min_event_ndims=_min_event_ndims((given, taken) for taken, given in ranks),
            is_constant_jacobian=all(each.is_constant_jacobian for each in bijectors),
            validate_args=validate_args, dtype=known.pop() if known else None,
            name=name or ("identity" if not bijectors else "_of_".join(["chain"] + [b.name for b in bijectors])),
        )  # fmt: skip

    bijectors = parameter("bijectors", "The members, that which acts last first.")

    def _members(self, forward: bool) -> list[Bijector]:
        """The members in the order in which they act."""
        return list(reversed(self.bijectors)) if forward else list(self.bijectors)

    def _shape_after(self, method: str, sizes: object, forward: bool) -> Any:
        for each in self._members(forward):
            sizes = getattr(each, method)(sizes)
        return sizes

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._shape_after("forward_event_shape", input_shape, forward=True)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._shape_after("forward_event_shape_tensor", input_shape, forward=True)

    def _inverse_event_shape(self, output_shape: object) -> TensorShape:
        return self._shape_after("inverse_event_shape", output_shape, forward=False)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._shape_after("inverse_event_shape_tensor", output_shape, forward=False)

    def _forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        for each in self._members(forward=True):
            x = each.forward(x, **kwargs.get(each.name, {}))
        return x

    def _inverse(self, y: Tensor, **kwargs: Any) -> Tensor:
        for each in self._members(forward=False):
            y = each.inverse(y, **kwargs.get(each.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Tensor, **kwargs: Any) -> Tensor:
        return self._log_det_sum(x, "forward", self.forward_min_event_ndims, kwargs)

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._log_det_sum(y, "inverse", self.inverse_min_event_ndims, kwargs)

    def _log_det_sum(self, x: object, way: str, event_ndims: Any, kwargs: dict[str, Any]) -> Tensor:
        """The sum of the members' log determinants in one direction, each of as many dimensions as an event has there."""
        x = convert_to_tensor(x, name="x" if way == "forward" else "y")
        total = cast(0.0, dtype=x.dtype.base_dtype)
        if not self.bijectors:
            return total
        is_known = x.shape.is_fully_defined()
        sizes = x.shape[x.shape.ndims - event_ndims :] if is_known else shape(x)[rank(x) - event_ndims :]
        for each in self._members(way == "forward"):
            arguments = kwargs.get(each.name, {})
            log_det = getattr(each, f"{way}_log_det_jacobian")
            total += log_det(x, event_ndims=event_ndims, **arguments)
            if x.shape.is_fully_defined() and isinstance(event_ndims, int) and isinstance(sizes, TensorShape):
                sizes = getattr(each, f"{way}_event_shape")(sizes)
                event_ndims = sizes.ndims
            else:
                sizes = getattr(each, f"{way}_event_shape_tensor")(sizes)
                count = size(sizes)
                known = self._maybe_get_static_event_ndims(count)
                event_ndims = count if known is None else known
            x = getattr(each, way)(x, **arguments)
        return total


@export("contrib.distributions.bijectors.Invert")
class Invert(Bijector):
    """The inverse of a bijector; NotImplementedError where that has several x for one y."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents, forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian, validate_args=validate_args, dtype=bijector.dtype,
            name=name or "_".join(["invert", bijector.name]),
        )  # fmt: skip

    bijector = parameter("bijector", "What is inverted.")

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self.bijector._inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self.bijector._inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape: object) -> TensorShape:
        return self.bijector._forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self.bijector._forward_event_shape_tensor(output_shape)

    def _forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        return self.bijector._inverse(x, **kwargs)

    def _inverse(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self.bijector._forward(y, **kwargs)

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self.bijector._forward_log_det_jacobian(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Tensor, **kwargs: Any) -> Tensor:
        return self.bijector._inverse_log_det_jacobian(x, **kwargs)


def _called(name: str) -> Any:
    """A method that calls the function in the attribute `name`."""

    def method(self: Any, value: Tensor, **kwargs: Any) -> Any:
        function = getattr(self, "_" + name)
        if not callable(function):
            raise NotImplementedError(f"{name} is not a callable function.")
        return function(value, **kwargs)

    return method


def _called_or_same(name: str) -> Any:
    """A method that calls the function in the attribute `name`, or gives what it gets."""

    def method(self: Any, value: object) -> Any:
        function = getattr(self, "_" + name)
        return value if function is None else function(value)

    return method


@export("contrib.distributions.bijectors.Inline")
class Inline(Bijector):
    """A bijector of given functions; the others are as of `Bijector`."""

    def __init__(
        self, forward_fn: object = None, inverse_fn: object = None, inverse_log_det_jacobian_fn: object = None,
        forward_log_det_jacobian_fn: object = None, forward_event_shape_fn: object = None,
        forward_event_shape_tensor_fn: object = None, inverse_event_shape_fn: object = None,
        inverse_event_shape_tensor_fn: object = None, is_constant_jacobian: bool = False, validate_args: bool = False,
        forward_min_event_ndims: int | None = None, inverse_min_event_ndims: int | None = None, name: str = "inline",
    ) -> None:  # fmt: skip
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims, inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian, validate_args=validate_args, name=name,
        )  # fmt: skip
        self._forward_fn, self._inverse_fn = forward_fn, inverse_fn
        self._inverse_log_det_jacobian_fn = inverse_log_det_jacobian_fn
        self._forward_log_det_jacobian_fn = forward_log_det_jacobian_fn
        self._forward_event_shape_fn = forward_event_shape_fn
        self._forward_event_shape_tensor_fn = forward_event_shape_tensor_fn
        self._inverse_event_shape_fn = inverse_event_shape_fn
        self._inverse_event_shape_tensor_fn = inverse_event_shape_tensor_fn

    _forward, _inverse = _called("forward_fn"), _called("inverse_fn")
    _inverse_log_det_jacobian = _called("inverse_log_det_jacobian_fn")
    _forward_log_det_jacobian = _called("forward_log_det_jacobian_fn")
    _forward_event_shape = _called_or_same("forward_event_shape_fn")
    _forward_event_shape_tensor = _called_or_same("forward_event_shape_tensor_fn")
    _inverse_event_shape = _called_or_same("inverse_event_shape_fn")
    _inverse_event_shape_tensor = _called_or_same("inverse_event_shape_tensor_fn")
