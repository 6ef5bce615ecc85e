"""Learning-rate schedules: tf.train.*_decay, and the classes of tf.keras.optimizers.schedules that they call."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_n_to_tensor, convert_to_tensor
from tfcompat._src.ops.control.cond import case, cond
from tfcompat._src.ops.math.binary import divide, multiply, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.random.stateful import random_normal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_schedule = dataclasses.dataclass(eq=False, repr=False)


@export("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule:
    """A function of the step that gives a learning rate."""

    def __call__(self, step: Any) -> Tensor:
        """The learning rate at `step`, a scalar tensor."""
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        if not dataclasses.is_dataclass(self):
            raise NotImplementedError("Learning rate schedule must override get_config")
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """A schedule from what `get_config` gave."""
        return cls(**config)


def _rate(value: TensorLike) -> Tensor:
    return convert_to_tensor(value, name="initial_learning_rate")


@export("keras.optimizers.schedules.ExponentialDecay")
@_schedule
class ExponentialDecay(LearningRateSchedule):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`; `staircase` rounds the exponent down."""

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: object) -> Tensor:
        with name_scope(self.name or "ExponentialDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            steps, decay = cast(self.decay_steps, rate.dtype), cast(self.decay_rate, rate.dtype)
            exponent = cast(step, rate.dtype) / steps
            if self.staircase:
                exponent = raw.Floor(exponent)
            return multiply(rate, power(decay, exponent), name=scope)


@export("keras.optimizers.schedules.PiecewiseConstantDecay")
@_schedule
class PiecewiseConstantDecay(LearningRateSchedule):
    """`values[i]` up to and including `boundaries[i]`, and the last value after the last boundary."""

    boundaries: Any
    values: Any
    name: str | None = None

    def __post_init__(self) -> None:
        if len(self.boundaries) != len(self.values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")

    def __call__(self, step: TensorLike) -> Tensor:
        with name_scope(self.name or "PiecewiseConstant"):
            boundaries, values = convert_n_to_tensor(self.boundaries), convert_n_to_tensor(self.values)
            x = convert_to_tensor(step)
            limits = [cast(b, x.dtype.base_dtype) for b in boundaries]
            pairs: list[tuple[Tensor, Callable]] = [
                (x <= limits[0], lambda: values[0]),
                (x > limits[-1], lambda: values[-1]),
            ]
            for low, high, value in zip(limits[:-1], limits[1:], values[1:-1]):
                pairs.append(((x > low) & (x <= high), lambda value=value: value))
            return case(pairs, lambda: values[0], exclusive=True)


@export("keras.optimizers.schedules.PolynomialDecay")
@_schedule
class PolynomialDecay(LearningRateSchedule):
    """`(initial - end) * (1 - step / decay_steps) ** power + end`; `cycle` stretches decay_steps to the next
    multiple beyond step.
    """

    initial_learning_rate: Any
    decay_steps: Any
    end_learning_rate: Any = 0.0001
    power: Any = 1.0
    cycle: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Tensor:
        with name_scope(self.name or "PolynomialDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            end, exponent = cast(self.end_learning_rate, rate.dtype), cast(self.power, rate.dtype)
            step, steps = cast(step, rate.dtype), cast(self.decay_steps, rate.dtype)
            if self.cycle:
                cycles = cond(raw.Equal(step, 0), lambda: 1.0, lambda: raw.Ceil(step / self.decay_steps))
                steps = multiply(steps, cycles)
            else:
                step = raw.Minimum(step, self.decay_steps)
            done = divide(step, steps)
            return raw.Add(multiply(rate - end, power(1 - done, exponent)), end, name=scope)


@export("keras.optimizers.schedules.InverseTimeDecay")
@_schedule
class InverseTimeDecay(LearningRateSchedule):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`; `staircase` rounds the quotient down."""

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: object) -> Tensor:
        with name_scope(self.name or "InverseTimeDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            steps, decay = cast(self.decay_steps, rate.dtype), cast(self.decay_rate, rate.dtype)
            quotient = cast(step, rate.dtype) / steps
            if self.staircase:
                quotient = raw.Floor(quotient)
            one = cast(constant(1), rate.dtype)
            return divide(rate, raw.Add(one, multiply(decay, quotient)), name=scope)


def _half_cosine(fraction: Tensor, scale: Any = None) -> Tensor:
    """`scale * (1 + cos(pi * fraction)) / 2`."""
    half = 0.5 if scale is None else 0.5 * scale
    return half * (1.0 + raw.Cos(constant(math.pi) * fraction))


@export("keras.experimental.CosineDecay")
@_schedule
class CosineDecay(LearningRateSchedule):
    """`initial_learning_rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha)` (Loshchilov &
    Hutter 2017).
    """

    initial_learning_rate: Any
    decay_steps: Any
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: object) -> Tensor:
        with name_scope(self.name or "CosineDecay"):
            rate = _rate(self.initial_learning_rate)
            steps = cast(self.decay_steps, rate.dtype)
            done = raw.Minimum(cast(step, rate.dtype), steps) / steps
            return multiply(rate, (1 - self.alpha) * _half_cosine(done) + self.alpha)


@export("keras.experimental.CosineDecayRestarts")
@_schedule
class CosineDecayRestarts(LearningRateSchedule):
    """CosineDecay that starts again, each period `t_mul` times as long and beginning `m_mul` times as high as the
    one before.
    """

    initial_learning_rate: Any
    first_decay_steps: Any
    t_mul: Any = 2.0
    m_mul: Any = 1.0
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: object) -> Tensor:
        with name_scope(self.name or "SGDRDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            first, alpha = cast(self.first_decay_steps, rate.dtype), cast(self.alpha, rate.dtype)
            t_mul, m_mul = cast(self.t_mul, rate.dtype), cast(self.m_mul, rate.dtype)
            periods = cast(step, rate.dtype) / first
            restarts, done = cond(
                raw.Equal(t_mul, 1.0), lambda: _equal_periods(periods), lambda: _growing_periods(periods, t_mul)
            )
            cosine = _half_cosine(done, m_mul**restarts)
            return multiply(rate, (1 - alpha) * cosine + alpha, name=scope)


def _equal_periods(periods: Tensor) -> tuple[Tensor, Tensor]:
    """How many periods are over and which fraction of the present one is, for periods of one length."""
    restarts = raw.Floor(periods)
    return restarts, periods - restarts


def _growing_periods(periods: Tensor, growth: Tensor) -> tuple[Tensor, Tensor]:
    """As `_equal_periods`, for periods that grow by a factor: a geometric series."""
    restarts = raw.Floor(raw.Log(1.0 - periods * (1.0 - growth)) / raw.Log(growth))
    over = (1.0 - growth**restarts) / (1.0 - growth)
    return restarts, (periods - over) / growth**restarts


@export("keras.experimental.LinearCosineDecay")
@_schedule
class LinearCosineDecay(LearningRateSchedule):
    """`initial * ((alpha + 1 - t) * (1 + cos(2 * pi * num_periods * t)) / 2 + beta)`, t = step / decay_steps
    (Bello et al. 2017).
    """

    initial_learning_rate: Any
    decay_steps: Any
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001
    name: str | None = None

    def __call__(self, step: TensorLike) -> Tensor:
        with name_scope(self.name or "LinearCosineDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            steps, periods, alpha, beta, step = (
                cast(v, rate.dtype) for v in (self.decay_steps, self.num_periods, self.alpha, self.beta, step)
            )
            step = raw.Minimum(step, steps)
            linear = (steps - step) / steps
            done = step / steps
            cosine = _half_cosine(2.0 * periods * done)
            return multiply(rate, (alpha + linear) * cosine + beta, name=scope)


@export("keras.experimental.NoisyLinearCosineDecay")
@_schedule
class NoisyLinearCosineDecay(LearningRateSchedule):
    """LinearCosineDecay with normal noise of variance `initial_variance / (1 + step) ** variance_decay` on the
    linear part.
    """

    initial_learning_rate: Any
    decay_steps: Any
    initial_variance: Any = 1.0
    variance_decay: Any = 0.55
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001
    name: str | None = None

    def __call__(self, step: TensorLike) -> Tensor:
        with name_scope(self.name or "NoisyLinearCosineDecay") as scope:
            rate = _rate(self.initial_learning_rate)
            steps, first_variance, decay, periods, alpha, beta, step = (
                cast(v, rate.dtype)
                for v in (
                    self.decay_steps,
                    self.initial_variance,
                    self.variance_decay,
                    self.num_periods,
                    self.alpha,
                    self.beta,
                    step,
                )  # fmt: skip
            )
            step = raw.Minimum(step, steps)
            linear = (steps - step) / steps
            variance = first_variance / power(1.0 + step, decay)
            noisy = linear + random_normal(linear.shape, stddev=raw.Sqrt(variance))
            done = step / steps
            cosine = _half_cosine(2.0 * periods * done)
            return multiply(rate, (alpha + noisy) * cosine + beta, name=scope)


def _at(schedule: LearningRateSchedule, step: object) -> Any:
    """The learning rate at a step; a function without arguments that gives it where operations run when they are called."""
    return functools.partial(schedule, step) if executing_eagerly() else schedule(step)


@export("train.exponential_decay")
def exponential_decay(
    learning_rate: object,
    global_step: object,
    decay_steps: object,
    decay_rate: object,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * decay_rate ** (global_step / decay_steps)`.

    Args:
      learning_rate: a number or scalar tensor, the value at step 0.
      global_step: a number, scalar tensor or variable.
      decay_steps: after so many steps the rate was multiplied by `decay_rate`.
      decay_rate: a number or scalar tensor.
      staircase: rounds the exponent down.
      name: name scope.

    Returns:
      a scalar tensor of the dtype of `learning_rate`; in eager mode a function that computes it.

    Raises:
      ValueError: `global_step` is None.
    """
    return _at(ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase, name), global_step)


@export("train.piecewise_constant_decay", "train.piecewise_constant")
def piecewise_constant(x: TensorLike, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """`values[i]` where `x` is in (boundaries[i - 1], boundaries[i]], a scalar tensor.

    Args:
      x: a scalar tensor, usually the global step.
      boundaries: increasing numbers of the type of `x`.
      values: one more number than boundaries, of one type.
      name: name scope.

    Raises:
      ValueError: the types or the numbers of elements do not fit.
    """
    boundaries, values = convert_n_to_tensor(boundaries), convert_n_to_tensor(values)
    dtype = convert_to_tensor(x).dtype.base_dtype
    for i, boundary in enumerate(boundaries):
        if boundary.dtype.base_dtype == dtypes.int32 and dtype == dtypes.int64:
            boundaries[i] = cast(boundary, dtype)
        elif boundary.dtype.base_dtype != dtype:
            raise ValueError(f"Boundaries ({boundary.dtype.base_dtype}) must have the same dtype as x ({dtype}).")
    for value in values[1:]:
        if value.dtype.base_dtype != values[0].dtype.base_dtype:
            raise ValueError(
                f"Values must have elements all with the same dtype ({values[0].dtype.base_dtype} vs "
                f"{value.dtype.base_dtype})."
            )
    return _at(PiecewiseConstantDecay(boundaries, values, name), x)


@export("train.polynomial_decay")
def polynomial_decay(
    learning_rate: object, global_step: object, decay_steps: object, end_learning_rate: object = 0.0001, power: object = 1.0,
    cycle: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`(learning_rate - end) * (1 - global_step / decay_steps) ** power + end`, a scalar tensor.

    Args:
      learning_rate, end_learning_rate: at step 0 and from `decay_steps` on.
      global_step, decay_steps, power: numbers or scalar tensors.
      cycle: past `decay_steps`, stretches it to the next multiple of it.
      name: name of the result.
    """
    return _at(PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle, name), global_step)


@export("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: object,
    global_step: object,
    decay_steps: object,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * exp(-decay_rate * global_step / decay_steps)`, a scalar tensor; `staircase` rounds the
    quotient down.
    """
    return _at(ExponentialDecay(learning_rate, decay_steps, raw.Exp(raw.Neg(decay_rate)), staircase, name), global_step)


@export("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: object,
    global_step: object,
    decay_steps: object,
    decay_rate: object,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate / (1 + decay_rate * global_step / decay_steps)`, a scalar tensor; `staircase` rounds the
    quotient down.
    """
    return _at(InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase, name), global_step)


@export("train.cosine_decay")
def cosine_decay(
    learning_rate: object, global_step: object, decay_steps: object, alpha: object = 0.0, name: str | None = None
) -> Tensor:
    """Half a cosine from `learning_rate` down to `alpha * learning_rate` at `decay_steps`, a scalar tensor."""
    return _at(CosineDecay(learning_rate, decay_steps, alpha, name), global_step)


@export("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: object, global_step: object, first_decay_steps: object, t_mul: object = 2.0, m_mul: object = 1.0, alpha: object = 0.0,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`cosine_decay` again and again: each period is `t_mul` times as long and starts `m_mul` times as high as the
    one before.
    """
    return _at(CosineDecayRestarts(learning_rate, first_decay_steps, t_mul, m_mul, alpha, name), global_step)


@export("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: object, global_step: object, decay_steps: object, num_periods: object = 0.5, alpha: object = 0.0, beta: object = 0.001,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`learning_rate * ((alpha + 1 - t) * (1 + cos(2 * pi * num_periods * t)) / 2 + beta)` with t = global_step /
    decay_steps.
    """
    return _at(LinearCosineDecay(learning_rate, decay_steps, num_periods, alpha, beta, name), global_step)


@export("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: object, global_step: object, decay_steps: object, initial_variance: object = 1.0, variance_decay: object = 0.55,
    num_periods: object = 0.5, alpha: object = 0.0, beta: object = 0.001, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`linear_cosine_decay` with normal noise of variance `initial_variance / (1 + global_step) ** variance_decay`
    on t.
    """
    schedule = NoisyLinearCosineDecay(
        learning_rate, decay_steps, initial_variance, variance_decay, num_periods, alpha, beta, name
    )
    return _at(schedule, global_step)
