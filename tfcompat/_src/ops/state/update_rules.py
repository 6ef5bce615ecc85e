"""The update rules of 1.15's optimizers: each row is an op on references and one on resources, dense and by rows.

Formulas and the order of operations are those of TensorFlow's CPU kernels. A rule takes the variables, then the
other inputs in the order of the op, and returns the new variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.graph.op_spec import op, updates
from tfcompat._src.graph.shape_inference import InferenceContext, Sizes, merge, merge_size, with_rank
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.math.extremes import larger, without_nan
from tfcompat._src.ops.state.ref_variable import UNDEFINED

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array

_NESTEROV = ", use_nesterov: bool = False"
_UPDATE_SLOTS = ", update_slots: bool = True"
_GRADIENTS = ("grad", "delta")


# ---- the rules ----


def _gradient_descent(var, alpha, delta):
    return (var - delta * alpha,)


def _shrunk(prox: Any, lr: Any, l1: Any, l2: Any) -> Any:
    """The proximal step of l1 and l2 regularization; a negative l1 counts as 0, as in 1.15."""
    return jnp.sign(prox) * jnp.maximum(jnp.abs(prox) - lr * _at_least_zero(l1), 0) / (1 + l2 * lr)


def _at_least_zero(x: Any) -> Any:
    """`x`, or 0 where it is negative or NaN."""
    return larger(jnp.zeros_like(x), x)


def _sign(x: Any) -> Any:
    """-1, 0 or 1; 0 for NaN."""
    return without_nan(jnp.sign(x), 0)


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    return (_shrunk(var - delta * alpha, alpha, l1, l2),)


def _adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    accum = accum * rho + jnp.square(grad) * (1 - rho)
    update = jnp.sqrt(accum_update + epsilon) * lax.rsqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + jnp.square(update) * (1 - rho)


def _adagrad(var, accum, lr, grad, *, update_slots):
    if update_slots:
        accum = accum + jnp.square(grad)
    return var - grad * lr * lax.rsqrt(accum), accum


def _adagrad_v2(var, accum, lr, epsilon, grad, *, update_slots):
    if update_slots:
        accum = accum + jnp.square(grad)
    return var - grad * lr / (jnp.sqrt(accum) + epsilon), accum


def _proximal_adagrad(var, accum, lr, l1, l2, grad):
    accum = accum + jnp.square(grad)
    rate = lr * lax.rsqrt(accum)
    return _shrunk(var - grad * rate, rate, l1, l2), accum


def _adagrad_da(var, total, squares, grad, lr, l1, l2, global_step):
    step = jnp.asarray(global_step, grad.dtype)
    total, squares = total + grad, squares + jnp.square(grad)
    numerator = -lr * jnp.sign(total) * jnp.maximum(jnp.abs(total) - step * _at_least_zero(l1), 0)
    return numerator / (l2 * (step * lr) + jnp.sqrt(squares)), total, squares


def _root(x: Any, lr_power: Any) -> Array:
    """x to the power -lr_power, by the square root where that is 1/2."""
    if isinstance(lr_power, np.ndarray):
        return jnp.sqrt(x) if lr_power == -0.5 else jnp.power(x, -lr_power)
    return jnp.where(lr_power == -0.5, jnp.sqrt(x), jnp.power(x, -lr_power))


def _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power):
    return _ftrl_step(var, accum, linear, grad, grad, lr, l1, l2, lr_power)


def _ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power):
    return _ftrl_step(var, accum, linear, grad, grad + 2 * l2_shrinkage * var, lr, l1, l2, lr_power)


def _ftrl_step(var, accum, linear, grad, shrunk_grad, lr, l1, l2, lr_power):
    new_accum = accum + jnp.square(grad)
    new_root = _root(new_accum, lr_power)
    linear = linear + (shrunk_grad - (new_root - _root(accum, lr_power)) / lr * var)
    ratio = (l1 * jnp.sign(linear) - linear) / (new_root / lr + 2 * l2)
    return jnp.where(jnp.abs(linear) > l1, ratio, jnp.zeros_like(ratio)), new_accum, linear


def _momentum(var, accum, lr, grad, momentum, *, use_nesterov):
    accum = accum * momentum + grad
    return var - (grad * lr + accum * momentum * lr if use_nesterov else accum * lr), accum


def _keras_momentum(var, accum, lr, grad, momentum, *, use_nesterov):
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if use_nesterov else accum), accum


def _adam_moments(m, v, beta1_power, beta2_power, lr, beta1, beta2, grad):
    """The corrected rate and the two moments."""
    rate = lr * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    return rate, m + (grad - m) * (1 - beta1), v + (jnp.square(grad) - v) * (1 - beta2)


def _adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, *, use_nesterov):
    rate, m, v = _adam_moments(m, v, beta1_power, beta2_power, lr, beta1, beta2, grad)
    direction = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    return var - direction * rate / (jnp.sqrt(v) + epsilon), m, v


def _adam_with_amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    rate, m, v = _adam_moments(m, v, beta1_power, beta2_power, lr, beta1, beta2, grad)
    vhat = larger(vhat, v)
    return var - m * rate / (jnp.sqrt(vhat) + epsilon), m, v, vhat


def _ada_max(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    m = m + (grad - m) * (1 - beta1)
    v = larger(beta2 * v, jnp.abs(grad))
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


def _rms_prop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    ms = ms + (jnp.square(grad) - ms) * (1 - rho)
    mom = mom * momentum + (grad * lr) / jnp.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _centered_rms_prop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    ms = ms + (jnp.square(grad) - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + (grad * lr) / jnp.sqrt((ms - jnp.square(mg)) + epsilon)
    return var - mom, mg, ms, mom


def _add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * (_sign(grad) * _sign(m))) * grad, m


def _power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * jnp.exp(logbase * sign_decay * (_sign(grad) * _sign(m))) * grad, m


# ---- kernels ----


_LONG_NAMES = {
    "l1": "l1 regularization strength", "l2": "l2 regularization strength", "l2_shrinkage": "l2 shrinkage regularization strength",
}  # fmt: skip
_BOUNDS = {
    "lr": ("positive ", jnp.greater), "l1": ("non-negative ", jnp.greater_equal), "l2": ("non-negative ", jnp.greater_equal),
    "l2_shrinkage": ("non-negative ", jnp.greater_equal), "lr_power": ("non-positive ", jnp.less_equal),
}  # fmt: skip
_BOUNDED = (_ftrl, _ftrl_v2, _proximal_adagrad)


def _require_fitting(rule: Callable, names: list[str], count: int, values: tuple, rows: bool) -> None:
    """InvalidArgumentError where shapes or dtypes of the first `count` inputs, the variables, and of the others do
    not fit, or a number of a rule in `_BOUNDED` is out of its bounds."""
    var = values[0]
    for name, value in zip(names, values):
        if name in _GRADIENTS and rows:
            if value.shape[1:] != var.shape[1:]:
                _fail(f"var and {name} must match in dimension 1")
        elif name in _GRADIENTS or name in names[:count]:
            if value.shape != var.shape:
                _fail(f"var and {name} do not have the same shape{shape_text(var.shape)} {shape_text(value.shape)}")
        else:
            _require_scalar(name, value, name in _BOUNDS and rule in _BOUNDED)
        if value.dtype != var.dtype and name != "global_step":
            _fail(f"var is of dtype {var.dtype}, {name} of {value.dtype}")


def _require_scalar(name: str, value: Any, bounded: bool) -> None:
    kind, holds = _BOUNDS[name] if bounded else ("", None)
    text = f"{_LONG_NAMES.get(name, name)} is not a {kind}scalar: {shape_text(value.shape)}"
    if value.ndim:
        _fail(text)
    if bounded:
        checks.require(holds(value, 0), text)


def _fail(text: str) -> None:
    raise errors.InvalidArgumentError(None, None, text)


def _dense(rule: Callable, names: list[str], count: int) -> Callable:
    @functools.wraps(rule)
    def kernel(*values: Any, **attrs: Any) -> tuple:
        _require_fitting(rule, names, count, values, rows=False)
        return rule(*values, **attrs)

    return kernel


def _by_rows(rule: Callable, names: list[str], count: int) -> Callable:
    """The kernel that applies `rule` to the rows that `indices` names, one after another where an index is there
    twice."""
    position = next(i for i, n in enumerate(names) if n in _GRADIENTS) + 1

    @functools.wraps(rule)
    def kernel(*values: Any, **attrs: Any) -> tuple:
        indices = values[position]
        values = (*values[:position], *values[position + 1 :])
        if indices.ndim != 1:
            _fail("indices must be one-dimensional")
        if values[position - 1].shape[:1] != indices.shape:
            _fail("grad must be the same size as indices in the first dimension.")
        _require_fitting(rule, names, count, values, rows=True)
        if not indices.size:
            return values[:count]
        limit = values[0].shape[0]
        indices = _checked(indices, limit)
        occurrence = _occurrence(indices)
        rounds = jnp.max(jnp.where(indices < limit, occurrence + 1, 0))

        def one_round(state: tuple) -> tuple:
            number, variables = state
            rows = [v.at[indices].get(mode="clip") for v in variables]
            new = rule(*rows, *values[count:], **attrs)
            chosen = jnp.where(occurrence == number, indices, limit)
            return number + 1, tuple(v.at[chosen].set(n, mode="drop") for v, n in zip(variables, new))

        start = (jnp.zeros((), rounds.dtype), tuple(map(jnp.asarray, values[:count])))
        _, variables = lax.while_loop(lambda state: state[0] < rounds, one_round, start)
        return tuple(map(checks.mark_guarded, variables))

    return kernel


def _checked(indices: object, limit: int) -> Any:
    indices = jnp.asarray(indices)
    absent = indices == checks.no_row(indices.dtype)
    bad = ((indices < 0) | (indices >= limit)) & ~absent
    indices = jnp.where(absent, indices.dtype.type(limit), indices)
    first = checks.first(bad)
    text = "Index {} at offset {} in indices is out of range"
    return checks.guard_indices(~jnp.any(bad), indices, limit, text, indices[first], first)


def _occurrence(indices: Any) -> Array:
    """How often each index has occurred before."""
    order = jnp.argsort(indices, stable=True)
    ordered = indices[order]
    place = jnp.arange(indices.size, dtype=np.int32)
    is_new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    earlier = place - lax.cummax(jnp.where(is_new, place, 0))
    return jnp.zeros_like(place).at[order].set(earlier)


# ---- shapes ----


def _shape_function(names: list[str], count: int, rows: bool) -> Callable:
    gradient = next(i for i, n in enumerate(names) if n in _GRADIENTS)

    def shape(c: InferenceContext) -> list:
        sizes: Sizes = None
        for i in range(count):
            sizes = merge(sizes, _variable_sizes(c, i))
        for i in range(count, len(names)):
            if i != gradient and (names[i] != "lr_power" or "l2_shrinkage" not in names):
                with_rank(c.inputs[i + (rows and i > gradient)], 0)
        if not rows:
            sizes = merge(sizes, c.inputs[gradient])
        else:
            found = c.inputs[gradient]
            (length,) = with_rank(c.inputs[gradient + 1], 1)
            if found is not None and len(found):
                merge_size(length, found[0])
                merge(sizes, (None, *found[1:]))
        return [sizes] * len(c.op.outputs)

    return shape


def _variable_sizes(c: InferenceContext, index: int) -> Sizes:
    if c.op.inputs[index].dtype.name != "resource":
        return c.inputs[index]
    handle = c.handle(index)
    return None if handle is None else handle[1]


# ---- the table ----


def _register(
    name: str, rule: Callable, variables: list[str], others: list[str], attrs: str, rows: bool, resource: bool
) -> None:
    names = variables + others
    kind = "resource" if resource else "Ref(T)"
    inputs = [f"{v}: {kind}" for v in variables]
    for other in others:
        inputs.append(f"{other}: int64" if other == "global_step" else f"{other}: T")
        if rows and other in _GRADIENTS:
            inputs.append("indices: Tindices")
    indices = ", Tindices: INDEX" if rows else ""
    output = "()" if resource else "(out: Ref(T))"
    op(
        ("Resource" if resource else "") + ("SparseApply" if rows else "Apply") + name,
        f"({', '.join(inputs)}, *, T: NUMBER{indices}, use_locking: bool = False{attrs}) -> {output}",
        shape=_shape_function(names, len(variables), rows),
        kernel=(_by_rows if rows else _dense)(rule, names, len(variables)),
        gradient=UNDEFINED, effects=updates(*variables), counted=(next(n for n in names if n in _GRADIENTS), "indices") if rows else (), depth=3,
    )  # fmt: skip


def _rule(
    name: str,
    rule: Callable,
    variables: str,
    others: str,
    attrs: str = "",
    refs: bool = True,
    sparse: bool = True,
    rows: str = "",
) -> None:
    """Registers the ops of one rule; `rows` are the other inputs of the sparse ops where their names differ."""
    for resource in (False, True) if refs else (True,):
        _register(name, rule, variables.split(), others.split(), attrs, False, resource)
        if sparse:
            _register(name, rule, variables.split(), (rows or others).split(), attrs, True, resource)


_rule("GradientDescent", _gradient_descent, "var", "alpha delta", sparse=False)
_rule("ProximalGradientDescent", _proximal_gradient_descent, "var", "alpha l1 l2 delta", rows="alpha l1 l2 grad")
_rule("Adadelta", _adadelta, "var accum accum_update", "lr rho epsilon grad")
_rule("Adagrad", _adagrad, "var accum", "lr grad", _UPDATE_SLOTS)
_rule("AdagradV2", _adagrad_v2, "var accum", "lr epsilon grad", _UPDATE_SLOTS)
_rule("ProximalAdagrad", _proximal_adagrad, "var accum", "lr l1 l2 grad")
_rule("AdagradDA", _adagrad_da, "var gradient_accumulator gradient_squared_accumulator", "grad lr l1 l2 global_step")
_rule("Ftrl", _ftrl, "var accum linear", "grad lr l1 l2 lr_power")
_rule("FtrlV2", _ftrl_v2, "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power")
_rule("Momentum", _momentum, "var accum", "lr grad momentum", _NESTEROV)
_rule("KerasMomentum", _keras_momentum, "var accum", "lr grad momentum", _NESTEROV, refs=False)
_rule("Adam", _adam, "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", _NESTEROV, sparse=False)
_rule(
    "AdamWithAmsgrad",
    _adam_with_amsgrad,
    "var m v vhat",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    refs=False,
    sparse=False,
)
_rule("AdaMax", _ada_max, "var m v", "beta1_power lr beta1 beta2 epsilon grad", sparse=False)
_rule("RMSProp", _rms_prop, "var ms mom", "lr rho momentum epsilon grad")
_rule("CenteredRMSProp", _centered_rms_prop, "var mg ms mom", "lr rho momentum epsilon grad")
_rule("AddSign", _add_sign, "var m", "lr alpha sign_decay beta grad", sparse=False)
_rule("PowerSign", _power_sign, "var m", "lr logbase sign_decay beta grad", sparse=False)
