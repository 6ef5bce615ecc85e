"""tf.contrib.integrate: solutions of ordinary differential equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.binary import div, maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import imag, real
from tfcompat._src.ops.math.reduce import reduce_all, reduce_mean
from tfcompat._src.ops.math.scan import add_n

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Derivative = Callable[[Tensor, Tensor], Tensor]

_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""The Dormand-Prince method (1980), first same as last: the last stage is the solution."""
_FOURTH_ORDER = (1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
_ERROR = tuple(fourth - fifth for fourth, fifth in zip(_FOURTH_ORDER, (*_STAGES[-1], 0), strict=True))
_MIDDLE = (
    6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2, -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
)  # fmt: skip
"""The solution in the middle of a step (Shampine 1986)."""


class _State(NamedTuple):
    """The solution `y` and its derivative at `end`, the polynomial for [start, end], the length of the next step."""

    y: Tensor
    derivative: Tensor
    start: Tensor
    end: Tensor
    step: Tensor
    polynomial: Any


class _History(NamedTuple):
    integrate_points: TensorArray
    error_ratio: TensorArray


class _Control(NamedTuple):
    """How an adaptive method chooses its steps."""

    rtol: Tensor
    atol: Tensor
    safety: Tensor
    ifactor: Tensor
    dfactor: Tensor
    max_num_steps: Tensor


def _weighted_sum(weights: Sequence[Any], values: Sequence[Any], scale: object = None, name: str | None = None) -> Tensor:
    scaled = scale is not None
    scope_inputs = [scale, weights, values] if scaled else [weights, values]
    with name_scope(name, "scaled_dot_product" if scaled else "dot_product", scope_inputs) as scope:
        pairs = list(zip(weights, values, strict=True))
        if scaled:
            terms = [scale * weight * value for weight, value in pairs if isinstance(weight, Tensor) or weight]
        else:
            terms = [weight * value for weight, value in pairs]
        return add_n(terms, name=scope)


def _runge_kutta_step(
    func: Derivative, y: Tensor, derivative: Tensor, time: Tensor, step: Tensor
) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """One step of Dormand-Prince: the solution, its derivative, the error, and the derivatives of all stages."""
    with name_scope("runge_kutta_step", values=[y, derivative, time, step]) as scope:
        scale = cast(step, y.dtype)
        stages = [derivative]
        for node, weights in zip(_NODES, _STAGES, strict=True):
            stage_time = time + node * step
            inner = y + _weighted_sum(weights, stages, scale)
            stages.append(func(inner, stage_time))
        end, end_derivative = identity(inner, name=f"{scope}/y1"), identity(stages[-1], name=f"{scope}/f1")
        return end, end_derivative, _weighted_sum(_ERROR, stages, scale, name=f"{scope}/y1_error"), stages


def _interp_fit(y0: object, y1: object, y_mid: object, f0: Any, f1: object, dt: Any) -> list[Any]:
    """The quartic through values at both ends and the middle with derivatives at both ends, highest power first."""
    values = [f0, f1, y0, y1, y_mid]
    return [
        _weighted_sum([-2 * dt, 2 * dt, -8, -8, 16], values),
        _weighted_sum([5 * dt, -3 * dt, 18, 14, -32], values),
        _weighted_sum([-4 * dt, dt, -11, -5, 16], values),
        dt * f0,
        y0,
    ]


def _interp_evaluate(coefficients: Sequence[Any], t0: TensorLike, t1: TensorLike, t: TensorLike) -> Tensor:
    """The quartic at a time between `t0` and `t1`; other times fail when they run."""
    with name_scope("interp_evaluate"):
        start, end, time = convert_to_tensor(t0), convert_to_tensor(t1), convert_to_tensor(t)
        dtype = convert_to_tensor(coefficients[0]).dtype
        inside = Assert(
            (start <= time) & (time <= end), ["invalid interpolation, fails `t0 <= t <= t1`:", start, time, end]
        )
        with control_dependencies([inside]):
            x = cast((time - start) / (end - start), dtype)
        powers = [constant(1, dtype), x]
        while len(powers) < len(coefficients):
            powers.append(powers[-1] * x)
        return _weighted_sum(coefficients, powers[::-1])


def _optimal_step_size(
    last_step: Tensor, error_ratio: Tensor, safety: Any = 0.9, ifactor: Any = 10.0, dfactor: Any = 0.2, order: int = 5,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The next step of a method of an order, whose last step had an error of so much of what is allowed."""
    with name_scope(name, "optimal_step_size", [last_step, error_ratio]) as scope:
        ratio = cast(error_ratio, last_step.dtype)
        exponent = cast(1 / order, last_step.dtype)
        factor = maximum(1 / ifactor, minimum(ratio**exponent / safety, 1 / dfactor))
        return div(last_step, factor, name=scope)


def _abs_square(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return unary.square(real(x)) + unary.square(imag(x))
    return unary.square(x)


def _increasing(t: Tensor) -> Any:
    """A block whose nodes wait for the check that times increase."""
    return control_dependencies([Assert(reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"])])


def _check_dtypes(y0: Tensor, *times: Tensor) -> None:
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    for name, time in zip(("t", "dt"), times):
        if not time.dtype.is_floating:
            raise TypeError(f"`{name}` must have a floating point dtype")


def _adaptive_step(
    func: Derivative, control: _Control, state: _State, history: _History, steps: Tensor
) -> tuple[_State, _History, Tensor]:
    """Tries one step; it counts where the error is small enough."""
    y, derivative, time, step = state.y, state.derivative, state.end, state.step
    with name_scope("assertions"):
        checks = [
            Assert(time + step > time, ["underflow in dt", step]),
            Assert(steps < control.max_num_steps, ["max_num_steps exceeded"]),
            Assert(reduce_all(unary.is_finite(abs(y))), ["non-finite values in state `y`", y]),
        ]
    with control_dependencies(checks):
        y1, derivative1, error, stages = _runge_kutta_step(func, y, derivative, time, step)
    with name_scope("error_ratio"):
        allowed = control.atol + control.rtol * maximum(abs(y), abs(y1))
        ratio = unary.sqrt(reduce_mean(_abs_square(error) / _abs_square(allowed)))
        accepted = ratio <= 1

    def fitted() -> list[Tensor]:
        with name_scope("interp_fit_rk"):
            scale = cast(step, y.dtype)
            middle = state.y + _weighted_sum(_MIDDLE, stages, scale)
            return _interp_fit(state.y, y1, middle, stages[0], stages[-1], scale)

    with name_scope("update/rk_state"):
        y = cond(accepted, lambda: y1, lambda: state.y)
        derivative = cond(accepted, lambda: derivative1, lambda: state.derivative)
        end = cond(accepted, lambda: time + step, lambda: time)
        polynomial = cond(accepted, fitted, lambda: state.polynomial)
        next_step = _optimal_step_size(step, ratio, control.safety, control.ifactor, control.dfactor)
    with name_scope("update/history"):
        reached, points = time + step, history.integrate_points
        points = points.write(points.size(), reached)
        ratios = history.error_ratio.write(history.error_ratio.size(), ratio)
    return _State(y, derivative, time, end, next_step, polynomial), _History(points, ratios), steps + 1


def _dopri5(
    func: Derivative, y0: Tensor, t: Tensor, rtol: Tensor, atol: Tensor, full_output: bool = False,
    first_step: object = None, safety: float = 0.9, ifactor: float = 10.0, dfactor: float = 0.2,
    max_num_steps: int = 1000, name: str | None = None,
) -> Any:  # fmt: skip
    """`odeint` by the adaptive method of Dormand and Prince; the last arguments are its `options`."""
    with name_scope(name, "dopri5", [y0, t, rtol, atol, safety, ifactor, dfactor, max_num_steps]) as scope:
        step = convert_to_tensor(1.0 if first_step is None else first_step, dtype=t.dtype, name="first_step")
        control = _Control(
            rtol, atol, convert_to_tensor(safety, dtype=t.dtype, name="safety"),
            convert_to_tensor(ifactor, dtype=t.dtype, name="ifactor"),
            convert_to_tensor(dfactor, dtype=t.dtype, name="dfactor"),
            convert_to_tensor(max_num_steps, dtype=dtypes.int32, name="max_num_steps"),
        )  # fmt: skip
        with _increasing(t):
            count = size(t)

        def advance(solution: Any, history: _History, state: _State, i: Tensor) -> tuple:
            with name_scope("interpolate"):
                state, history, _ = while_loop(
                    lambda state, *_: t[i] > state.end, lambda *args: _adaptive_step(func, control, *args),
                    (state, history, 0), name="integrate_loop",
                )  # fmt: skip
                y = _interp_evaluate(state.polynomial, state.start, state.end, t[i])
                return solution.write(i, y), history, state, i + 1

        solution = TensorArray(y0.dtype, size=count).write(0, y0)
        history = _History(
            *(TensorArray(dtype, size=0, dynamic_size=True) for dtype in (t.dtype, rtol.dtype))
        )
        state = _State(y0, func(y0, t[0]), t[0], t[0], step, [y0] * 5)
        solution, history, _, _ = while_loop(
            lambda _, __, ___, i: i < count, advance, (solution, history, state, 1), name="interpolate_loop"
        )
        y = solution.stack(name=scope)
        y.set_shape(t.get_shape().concatenate(y0.get_shape()))
        if not full_output:
            return y
        points = history.integrate_points.stack()
        return y, {
            "num_func_evals": 6 * size(points) + 1,
            "integrate_points": points,
            "error_ratio": history.error_ratio.stack(),
        }


@export("contrib.integrate.odeint")
def odeint(
    func: Derivative, y0: TensorLike, t: TensorLike, rtol: float = 1e-6, atol: float = 1e-12, method: str | None = None,
    options: dict | None = None, full_output: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Solves dy/dt = func(y, t) with steps that adapt to the error (Dormand and Prince 1980).

    Args:
      func: function of the value and the time.
      y0: floating or complex Tensor, the value at t[0].
      t: floating Tensor [n], increasing times.
      rtol, atol: largest error of a step, relative and absolute.
      method: "dopri5" or None.
      options: dict of `first_step`, `safety`, `ifactor`, `dfactor` and `max_num_steps`; needs `method`.
      full_output: whether a dict with num_func_evals, integrate_points and error_ratio is returned too.
      name: name scope.

    Returns:
      Tensor [n, ...] of the values at the times.

    Raises:
      ValueError: a method is unknown, or options come without one. TypeError: a dtype does not fit.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with name_scope(name, "odeint", [y0, t, rtol, atol]) as scope:
        y0 = convert_to_tensor(y0, name="y0")
        t = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        _check_dtypes(y0, t)
        dtype = abs(y0).dtype
        relative, absolute = (convert_to_tensor(v, dtype=dtype, name=n) for v, n in ((rtol, "rtol"), (atol, "atol")))
        return _dopri5(
            func, y0, t, rtol=relative, atol=absolute, full_output=full_output, name=scope, **(options or {})
        )


def _midpoint(func: Derivative, y: Tensor, t: Tensor, dt: Tensor) -> Tensor:
    scale = cast(dt, y.dtype)
    return scale * func(y + func(y, t) * scale / 2, t + dt / 2)


def _rk4(func: Derivative, y: Tensor, t: Tensor, dt: Tensor) -> Tensor:
    first = func(y, t)
    middle, scale = t + dt / 2, cast(dt, y.dtype)
    second = func(y + scale * first / 2, middle)
    third = func(y + scale * second / 2, middle)
    last = func(y + scale * third, t + dt)
    return add_n([first, 2 * second, 2 * third, last]) * (scale / 6)


_FIXED = {"midpoint": _midpoint, "rk4": _rk4}


@export("contrib.integrate.odeint_fixed")
def odeint_fixed(
    func: Derivative, y0: TensorLike, t: TensorLike, dt: object = None, method: str = "rk4", name: str | None = None
) -> Tensor:
    """Solves dy/dt = func(y, t) with fixed steps.

    Args:
      func: function of the value and the time.
      y0: floating or complex Tensor, the value at t[0].
      t: floating Tensor [n], increasing times.
      dt: largest step, a scalar or one for each interval; by default the intervals.
      method: "midpoint" or "rk4".
      name: name scope.

    Returns:
      Tensor [n, ...] of the values at the times.

    Raises:
      ValueError: a method is unknown, or shapes do not fit. TypeError: a dtype does not fit.
    """
    with name_scope(name, "odeint_fixed", [y0, t, dt]):
        t = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        y0 = convert_to_tensor(y0, name="y0")
        intervals = t[1:] - t[:-1]
        steps = convert_to_tensor(intervals if dt is None else dt, preferred_dtype=dtypes.float64, name="dt")
        counts = unary.ceil(intervals / steps)
        steps, counts = intervals / counts, cast(counts, dtypes.int32)
        _check_dtypes(y0, t, steps)
        if t.get_shape().ndims != 1 or steps.get_shape().ndims != 1:
            raise ValueError("t must be a 1D tensor")
        if t.get_shape()[0] != steps.get_shape()[0] + 1:
            raise ValueError("t and dt have incompatible lengths, must be N and N-1")
        with _increasing(t), name_scope(method):
            if method not in _FIXED:
                raise ValueError(f"method not supported: {method}")
            return _integrate(func, _FIXED[method], y0, t, steps, counts)


def _integrate(
    func: Derivative, increment: Callable, y0: Tensor, t: Tensor, steps: Tensor, counts: Tensor
) -> Tensor:
    """The values at the times, by `counts` equal steps in each interval."""

    def step(y: Tensor, time: Tensor, done: Tensor, interval: Tensor) -> tuple:
        dt = steps[interval - 1]
        return y + cast(increment(func, y, time, dt), y.dtype), time + dt, done + 1, interval

    def advance(solution: Any, y: Tensor, time: Tensor, interval: Tensor) -> tuple:
        y, time, _, _ = while_loop(
            lambda _, __, done, interval: done < counts[interval - 1], step, (y, time, 0, interval)
        )
        return solution.write(interval, y), y, time, interval + 1

    count, start = size(t), t[0]
    solution = TensorArray(y0.dtype, count).write(0, y0)
    solution, _, _, _ = while_loop(lambda _, __, ___, i: i < count, advance, (solution, y0, start, 1))
    found = solution.stack()
    found.set_shape(t.get_shape().concatenate(y0.get_shape()))
    return found
