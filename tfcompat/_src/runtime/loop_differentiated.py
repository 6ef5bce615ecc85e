"""A loop that gradients go through: compiled in a form that has a derivative, and the derivative of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import ArrayHandle, DeviceArray
from tfcompat._src.runtime.loop_compiled import LoopLowering, inner_loops
from tfcompat._src.runtime.loop_program import LoopGradientItem, LoopItem
from tfcompat._src.runtime.lower import Frame, collecting, leaf, lower, primal
from tfcompat._src.runtime.variable_state import required_variable_op, variable_key


@lower.register
def _lower_loop(item: LoopItem, frame: Frame) -> None:
    """Traces the loop into `frame`; where its gradient follows in the same program, with what that needs."""
    if item in frame.differentiated_here:
        firsts = (op for op in item.gradients if op.type == "LoopGradient")
        frame.pullbacks[item] = _Pullback(item, list(dict.fromkeys(t for op in firsts for t in wanted_of(op))), frame)
    else:
        LoopLowering(item, frame).run()


@lower.register
def _lower_gradient(item: LoopGradientItem, frame: Frame) -> None:
    (_first_derivative if item.op.type == "LoopGradient" else _second_derivative)(item, frame)


def _first_derivative(item: LoopGradientItem, frame: Frame) -> None:
    """Traces the gradient, with the loop again where that stands in another program."""
    op, loop = item.op, item.loop
    pullback = frame.pullbacks.get(loop)
    if pullback is None:
        pullback = _repeated(op, loop, frame)
    found = pullback(dict(zip(op.input_named("exits"), (frame.values[t] for t in op.input_named("grads")))))
    for tensor, output in zip(wanted_of(op), op.outputs):
        frame.values[output] = as_gradient(found[tensor], frame.values.get(tensor))


def _second_derivative(item: LoopGradientItem, frame: Frame) -> None:
    """Traces the loop again, and two derivatives of it."""
    op, loop = item.op, item.loop
    wanted, captured = wanted_of(op), op.input_named("captured")
    varied = [captured[i] for i in op.attrs["varied"]]
    grads = [frame.values[t] for t in op.input_named("grads")]
    outer = [cotangent(frame.values[t]) for t in op.input_named("grads2")]

    def first(leaves: list[Any], cotangents: list[Any]) -> list[Any]:
        inner = Frame(dict(frame.values), dict(frame.state), frame.rng, differentiated=1)
        for tensor, value in zip(varied, leaves):
            _substitute(tensor, value, inner)
        given = {t: refilled(g, c) for t, g, c in zip(op.input_named("exits"), grads, cotangents)}
        found = _repeated(op, loop, inner)(given)
        return [leaf(found[t]) for t in wanted]

    primals = [primal(t, frame) for t in varied]
    with collecting():
        results, pull = jax.vjp(first, primals, [jnp.asarray(cotangent(g)) for g in grads])
    found = pull([jnp.conj(jnp.asarray(g, r.dtype)) for g, r in zip(outer, results)])
    for output, value, source in zip(op.outputs, [*found[0], *found[1]], [*[frame.values.get(t) for t in varied], *grads]):
        frame.values[output] = as_gradient(jnp.conj(value), source)


class _Pullback:
    """A traced loop with the function that takes gradients of what comes out to gradients of what went in."""

    def __init__(self, loop: LoopItem, wanted: list[Tensor], frame: Frame) -> None:
        self.wanted = wanted
        primals = [primal(t, frame) for t in wanted]
        results: dict[str, Any] = {}

        def run(leaves: list[Any]) -> tuple[Any, ...]:
            times = frame.differentiated + 1
            inner = Frame(dict(frame.values), dict(frame.state), frame.rng, dict(frame.reserves), times, frame.lengths, frame.counts)
            for tensor, value in zip(wanted, leaves):
                _substitute(tensor, value, inner)
            before = set(inner.values)
            with collecting() as found:
                LoopLowering(loop, inner).run()
            made = {t: v for t, v in inner.values.items() if t not in before}
            results["checks"] = found
            results["tensors"] = list(made)
            state = {k: v for k, v in inner.state.items() if v is not frame.state.get(k)}
            shown = [(jnp.asarray(c.ok), tuple(map(jnp.asarray, c.traced_values()))) for c in found]
            reserves = {op: v for op, v in inner.reserves.items() if v is not frame.reserves.get(op)}
            results["moved"] = list(reserves)
            outputs = [made[e.outputs[0]] for e in loop.program.exits if e.outputs[0] in made]
            return [_inexact(v) for v in outputs], (list(made.values()), state, shown, list(reserves.values()))

        found: tuple[Any, Callable[..., Any], tuple[Any, ...]] = jax.vjp(run, primals, has_aux=True)
        outputs, self._pull, (values, state, shown, moved) = found
        frame.values.update(zip(results["tensors"], values))
        frame.state.update(state)
        frame.reserves.update(zip(results["moved"], moved))
        for check, (ok, given) in zip(results["checks"], shown):
            merged = check.without_traced_values().merge_values(list(given))
            checks.add(checks.Check(ok, check.text, merged, check.op, check.error))
        self._exits = [e.outputs[0] for e in loop.program.exits if e.outputs[0] in frame.values]
        self._outputs = outputs

    def __call__(self, grads: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """Gradients of the wanted tensors from gradients of the exits."""
        cotangents = []
        for tensor, leaves in zip(self._exits, self._outputs):
            grad = cotangent(grads.get(tensor))
            cotangents.append([jnp.zeros(x.shape, x.dtype) if grad is None else jnp.conj(with_room(jnp.asarray(grad, x.dtype), x)) for x in leaves])
        (found,) = self._pull(cotangents)
        return {t: jax.tree.map(jnp.conj, g) for t, g in zip(self.wanted, found)}


def _repeated(op: Operation, loop: LoopItem, frame: Frame) -> _Pullback:
    values = {t: v for t, v in frame.values.items() if t not in loop.outputs}
    inner = Frame(values, dict(frame.state), dict(frame.rng), {}, frame.differentiated)
    steps = frame.values.get(op.input_named("steps"))
    if isinstance(steps, np.ndarray):
        inner.lengths = dict(zip([loop, *inner_loops(loop)], steps.tolist()))
    randoms = loop.program.randoms
    if randoms:
        rows = frame.values[op.input_named("counters")]
        inner.rng.update({o: rows[i] for i, o in enumerate(randoms)})
    with collecting():
        return _Pullback(loop, wanted_of(op), inner)


def wanted_of(op: Operation) -> list[Tensor]:
    """The tensors whose gradients a LoopGradient gives."""
    captured = op.input_named("captured")
    return [captured[i] for i in op.attrs["wanted"]]


def refilled(value: object, leaf: jax.Array) -> jax.Array | DeviceArray:
    """A value with another array in it."""
    if isinstance(value, DeviceArray):
        return value if value.buffer is None else DeviceArray(value.meta, leaf, value.written, value.length)
    return leaf


def cotangent(grad: object) -> Any:
    """The array in a gradient, or None where a flow carries none."""
    if isinstance(grad, DeviceArray):
        return grad.buffer if grad.meta.source else None
    return grad


def with_room(grad: jax.Array, like: jax.Array) -> jax.Array:
    """A gradient with zeros for the elements that a growing TensorArray has room for beyond those that it came for."""
    missing = like.shape[0] - grad.shape[0] if like.ndim else 0
    return jnp.pad(jnp.asarray(grad), [(0, missing)] + [(0, 0)] * (like.ndim - 1)) if missing > 0 else jnp.asarray(grad)


def as_gradient(grad: jax.Array, source: object) -> jax.Array | DeviceArray:
    """A gradient in the form of what it is the gradient of: that of a TensorArray is an array of gradients."""
    if not isinstance(source, DeviceArray) or source.buffer is None:
        return grad
    zero = source.gradient("gradients")
    return DeviceArray(zero.meta, grad, None, zero.length)


def _substitute(tensor: Tensor, primal: jax.Array, frame: Frame) -> None:
    if tensor not in frame.values:
        frame.state[variable_key(required_variable_op(tensor))] = primal
        return
    frame.values[tensor] = refilled(frame.values[tensor], primal)


def _inexact(value: Any) -> list[Any]:
    if isinstance(value, ArrayHandle):
        return []
    if isinstance(value, DeviceArray):
        value = value.buffer
    return [value] if value is not None and jnp.issubdtype(value.dtype, jnp.inexact) else []
