"""Bijectors of numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.distribution import parameter
from tfcompat._src.distributions.matrices import softplus_inverse
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.composed import check_ops
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import (
    absolute,
    asinh,
    cosh,
    exp,
    expm1,
    log,
    log1p,
    sigmoid,
    sinh,
    sqrt,
    square,
)  # fmt: skip
from tfcompat._src.ops.nn.activation import softplus

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@contextlib.contextmanager
def init_scope(name: str, values: list) -> Iterator[None]:
    """The name scope in which a bijector makes its parameters."""
    with name_scope(name), name_scope("init", values=values):
        yield


def positive(x: Tensor, validate_args: bool, message: str) -> Tensor:
    """`x`, checked to be positive where `validate_args`."""
    return with_dependencies([check_ops.assert_positive(x, message=message)], x) if validate_args else x


def _in_unit_interval(y: Tensor, validate_args: bool) -> Tensor:
    if not validate_args:
        return y
    prefix = "Inverse transformation input must be"
    checks = [
        check_ops.assert_non_negative(y, message=f"{prefix} greater than 0."),
        check_ops.assert_less_equal(y, constant(1.0, y.dtype), message=f"{prefix} less than or equal to 1."),
    ]
    return with_dependencies(checks, y)


@export("contrib.distributions.bijectors.AbsoluteValue")
class AbsoluteValue(Bijector):
    """y = |x|; the inverse is the pair (-y, y)."""

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name)

    _is_injective = False

    def _forward(self, x: Tensor) -> Tensor:
        return absolute(x)

    def _checked_y(self, y: Tensor, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        return with_dependencies([check_ops.assert_non_negative(y, message="Argument y was negative")], value)

    def _inverse(self, y: Tensor) -> tuple[Tensor, Tensor]:
        y = self._checked_y(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Tensor) -> tuple[Tensor, Tensor]:
        zero = self._checked_y(y, constant(0.0, dtype=y.dtype))
        return zero, zero


@export("contrib.distributions.bijectors.AffineScalar")
class AffineScalar(Bijector):
    """y = scale x + shift, both broadcasting Tensors that may be None; `scale` is not 0."""

    def __init__(
        self, shift: TensorLike | None = None, scale: TensorLike | None = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        with init_scope(name, [scale, shift]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else convert_to_tensor(scale, name="scale")
            if validate_args and self._scale is not None:
                check = check_ops.assert_none_equal(self._scale, zeros([], dtype=self._scale.dtype))
                self._scale = with_dependencies([check], self._scale)
            super().__init__(
                forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name
            )

    shift = parameter("shift", "What is added, or None.")
    scale = parameter("scale", "The factor, or None.")

    def _forward(self, x: Tensor) -> Tensor:
        y = identity(x)
        y = y if self.scale is None else y * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = identity(y)
        x = x if self.shift is None else x - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype.base_dtype) if self.scale is None else log(absolute(self.scale))


@export("contrib.distributions.bijectors.PowerTransform")
class PowerTransform(Bijector):
    """y = (1 + power x)^(1 / power), or exp(x) where `power`, a constant that is not negative, is 0.

    Raises:
      ValueError: `power` is negative or unknown.
    """

    def __init__(self, power: Any = 0.0, validate_args: bool = False, name: str = "power_transform") -> None:
        with init_scope(name, [power]):
            power = constant_value(convert_to_tensor(power, name="power"))
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    power = parameter("power", "The exponent c.")

    def _forward(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        return exp(x) if self.power == 0.0 else exp(log1p(x * self.power) / self.power)

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._checked_y(y)
        return log(y) if self.power == 0.0 else expm1(log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return (self.power - 1.0) * log(self._checked_y(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        return x if self.power == 0.0 else (1.0 / self.power - 1.0) * log1p(x * self.power)

    def _checked_x(self, x: Tensor) -> Tensor:
        if not self.validate_args or self.power == 0.0:
            return x
        message = f"Forward transformation input must be at least {-1.0 / self.power}."
        return with_dependencies([check_ops.assert_non_negative(1.0 + self.power * x, message=message)], x)

    def _checked_y(self, y: Tensor) -> Tensor:
        return positive(y, self.validate_args, "Inverse transformation input must be greater than 0.")


@export("contrib.distributions.bijectors.Exp")
class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(validate_args=validate_args, name=name)


@export("contrib.distributions.bijectors.Gumbel")
class Gumbel(Bijector):
    """y = exp(-exp(-(x - loc) / scale)), the Gumbel distribution function; `scale` is positive."""

    def __init__(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, validate_args: bool = False, name: str = "gumbel"
    ) -> None:
        with init_scope(name, [loc, scale]):
            self._loc = convert_to_tensor(loc, name="loc")
            self._scale = convert_to_tensor(scale, name="scale")
            check_ops.assert_same_float_dtype([self._loc, self._scale])
            self._scale = positive(self._scale, validate_args, "Argument scale was not positive")
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)

    loc = parameter("loc", "The mode.")
    scale = parameter("scale", "The scale.")

    def _forward(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return exp(-exp(-z))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _in_unit_interval(y, self.validate_args)
        return self.loc - self.scale * log(-log(y))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        y = _in_unit_interval(y, self.validate_args)
        return log(self.scale / (-log(y) * y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -z - exp(-z) - log(self.scale)


@export("contrib.distributions.bijectors.Kumaraswamy")
class Kumaraswamy(Bijector):
    """y = (1 - (1 - x)^(1 / concentration0))^(1 / concentration1), the Kumaraswamy quantile; both are positive."""

    def __init__(
        self, concentration1: TensorLike | None = None, concentration0: TensorLike | None = None, validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:  # fmt: skip
        message = "Concentration parameter must be positive."
        with init_scope(name, [concentration1, concentration0]):
            self._concentration1 = positive(
                convert_to_tensor(concentration1, name="concentration1"), validate_args, message
            )
            self._concentration0 = positive(
                convert_to_tensor(concentration0, name="concentration0"), validate_args, message
            )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    concentration1 = parameter("concentration1", "The concentration of 1.")
    concentration0 = parameter("concentration0", "The concentration of 0.")

    def _forward(self, x: Tensor) -> Tensor:
        x = self._checked_number(x)
        return exp(log1p(-exp(log1p(-x) / self.concentration0)) / self.concentration1)

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._checked_number(y)
        return exp(log1p(-((1 - y**self.concentration1) ** self.concentration0)))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        y = self._checked_number(y)
        constants = log(self.concentration1) + log(self.concentration0)
        near_zero = constants + (self.concentration1 - 1) * log(y)
        return near_zero + (self.concentration0 - 1) * log1p(-(y**self.concentration1))

    def _checked_number(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        checks = [
            check_ops.assert_non_negative(x, message="sample must be non-negative"),
            check_ops.assert_less_equal(
                x, convert_to_tensor(1.0, dtype=self.concentration0.dtype),
                message="sample must be no larger than `1`.",
            ),
        ]  # fmt: skip
        return with_dependencies(checks, x)


@export("contrib.distributions.bijectors.Sigmoid")
class Sigmoid(Bijector):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y) - log1p(-y)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


@export("contrib.distributions.bijectors.SinhArcsinh")
class SinhArcsinh(Bijector):
    """y = sinh((arcsinh(x) + skewness) tailweight) (Jones and Pewsey 2009); `tailweight` is positive."""

    def __init__(
        self, skewness: object = None, tailweight: TensorLike | None = None, validate_args: bool = False, name: str = "SinhArcsinh"
    ) -> None:
        with init_scope(name, [skewness, tailweight]):
            tailweight = 1.0 if tailweight is None else tailweight
            self._skewness = convert_to_tensor(0.0 if skewness is None else skewness, name="skewness")
            self._tailweight = convert_to_tensor(tailweight, name="tailweight", dtype=self._skewness.dtype)
            check_ops.assert_same_float_dtype([self._skewness, self._tailweight])
            self._tailweight = positive(self._tailweight, validate_args, "Argument tailweight was not positive")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    skewness = parameter("skewness", "The skewness.")
    tailweight = parameter("tailweight", "The weight of the tails.")

    def _forward(self, x: Tensor) -> Tensor:
        return sinh((asinh(x) + self.skewness) * self.tailweight)

    def _inverse(self, y: Tensor) -> Tensor:
        return sinh(asinh(y) / self.tailweight - self.skewness)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        slope = cosh(asinh(y) / self.tailweight - self.skewness) / _sqrt_of_square_plus_1(y)
        return log(slope) - log(self.tailweight)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        slope = cosh((asinh(x) + self.skewness) * self.tailweight) / _sqrt_of_square_plus_1(x)
        return log(slope) + log(self.tailweight)


def _sqrt_of_square_plus_1(x: Tensor) -> Tensor:
    """sqrt(x^2 + 1) without overflow."""
    is_small = absolute(x) * np.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps) <= 1.0
    return where_v2(is_small, sqrt(x**2.0 + 1.0), absolute(x))


@export("contrib.distributions.bijectors.Softplus")
class Softplus(Bijector):
    """y = c log(1 + exp(x / c)) with c = `hinge_softness`, a Tensor that is not 0; 1 by default."""

    def __init__(self, hinge_softness: TensorLike | None = None, validate_args: bool = False, name: str = "softplus") -> None:
        with name_scope(name, values=[hinge_softness]):
            softness = None if hinge_softness is None else convert_to_tensor(hinge_softness, name="hinge_softness")
            if validate_args and softness is not None:
                zero = convert_to_tensor(0, dtype=softness.dtype)
                check = check_ops.assert_none_equal(zero, softness, message="hinge_softness must be non-zero")
                softness = with_dependencies([check], softness)
            self._hinge_softness = softness
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    hinge_softness = parameter("hinge_softness", "The softness at 0, or None.")

    def _scaled(self, function: Any, x: Tensor) -> Tensor:
        if self.hinge_softness is None:
            return function(x)
        softness = cast(self.hinge_softness, x.dtype)
        return softness * function(x / softness)

    def _forward(self, x: Tensor) -> Tensor:
        return self._scaled(softplus, x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._scaled(softplus_inverse, y)

    def _unscaled(self, x: Tensor) -> Tensor:
        return x if self.hinge_softness is None else x / cast(self.hinge_softness, x.dtype)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(-expm1(-self._unscaled(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-self._unscaled(x))


@export("contrib.distributions.bijectors.Softsign")
class Softsign(Bijector):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return x / (1.0 + absolute(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._checked_y(y)
        return y / (1.0 - absolute(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -2.0 * log1p(absolute(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -2.0 * log1p(-absolute(self._checked_y(y)))

    def _checked_y(self, y: Tensor) -> Tensor:
        if not self.validate_args:
            return y
        prefix, dtype = "Inverse transformation input must be", y.dtype.base_dtype
        checks = [
            check_ops.assert_greater(y, cast(-1.0, dtype=dtype), message=f"{prefix} greater than -1."),
            check_ops.assert_less(y, cast(1.0, dtype=dtype), message=f"{prefix} less than 1."),
        ]
        return with_dependencies(checks, y)


@export("contrib.distributions.bijectors.Square")
class Square(Bijector):
    """y = x^2 of numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return square(self._checked_number(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return sqrt(self._checked_number(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return np.log(2.0) + log(self._checked_number(x))

    def _checked_number(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        return with_dependencies([check_ops.assert_non_negative(x, message="All elements must be non-negative.")], x)


class Weibull(Bijector):
    """y = 1 - exp(-(x / scale)^concentration), the Weibull distribution function; both parameters are positive."""

    def __init__(
        self, scale: TensorLike = 1.0, concentration: TensorLike = 1.0, validate_args: bool = False, name: str = "weibull"
    ) -> None:
        with init_scope(name, [scale, concentration]):
            self._scale = convert_to_tensor(scale, name="scale")
            self._concentration = convert_to_tensor(concentration, name="concentration")
            check_ops.assert_same_float_dtype([self._scale, self._concentration])
            self._scale = positive(self._scale, validate_args, "Argument scale was not positive")
            self._concentration = positive(
                self._concentration, validate_args, "Argument concentration was not positive"
            )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    scale = parameter("scale", "The scale.")
    concentration = parameter("concentration", "The shape.")

    def _forward(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        return -expm1(-((x / self.scale) ** self.concentration))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _in_unit_interval(y, self.validate_args)
        return self.scale * (-log1p(-y)) ** (1 / self.concentration)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        y = _in_unit_interval(y, self.validate_args)
        powers = -log1p(-y) + (1 / self.concentration - 1) * log(-log1p(-y))
        return powers + log(self.scale / self.concentration)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        powers = -((x / self.scale) ** self.concentration) + (self.concentration - 1) * log(x)
        return powers + log(self.concentration) + -self.concentration * log(self.scale)

    def _checked_x(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        message = "Forward transformation input must be at least 0."
        return with_dependencies([check_ops.assert_non_negative(x, message=message)], x)
