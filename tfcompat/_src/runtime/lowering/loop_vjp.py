"""Lowering of loops that are differentiated, and of their gradients.

The gradient of a loop is `jax.vjp` of the loop traced with a bounded `while_loop` (`lowering/bounded_loop.py`). If the gradient is in
the same program as the loop, the forward pass that stores residuals is the loop itself; else the gradient's program runs the loop
again, with the trip count and random counters that the first run recorded. Gradients are conjugated on the way in and out:
for complex functions JAX's cotangents are the conjugates of TensorFlow's gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.while_context import WhileContext
from tfcompat._src.ops.flow.array_value import UNNAMED, ArrayHandle, DeviceArray, HostArray
from tfcompat._src.ops.flow.tensor_array_ops import named_by
from tfcompat._src.runtime.debugging import not_finite
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, LoopItem, Wrt
from tfcompat._src.runtime.lowering.lower import Frame, collecting, leaf, lower, primal
from tfcompat._src.runtime.lowering.while_loop import LoopLowering, inner_loops
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_key


@lower.register
def _lower_loop(item: LoopItem, frame: Frame) -> None:
    """Traces a loop into `frame`, together with its pullback if its gradient follows in the same program."""
    if item in frame.differentiated_here:
        frame.pullbacks[item] = _Pullback(item, item.wrts, frame)
    else:
        LoopLowering(item, frame).run()
        # tf.while_loop(back_prop=False) inside a differentiated loop.
        if frame.differentiated and not _goes_back(item):
            results = [t for exit in item.program.exits for t in exit.outputs]
            frame.values.update({t: jax.tree.map(jax.lax.stop_gradient, frame.values[t]) for t in results})


def _goes_back(item: LoopItem) -> bool:
    """Whether tf.while_loop made a loop with back_prop; true for loops without a WhileContext (V2 loops, loops of files)."""
    context = item.program.condition._control_flow_context if item.program.condition is not None else None
    return not isinstance(context, WhileContext) or context.back_prop


@lower.register
def _lower_gradient(item: LoopGradientItem, frame: Frame) -> None:
    if item.second is None:
        _first_derivative(item, frame)
    else:
        _second_derivative(item, item.second, frame)
    not_finite.look_at(item.outputs, frame.values, frame.state)


def _first_derivative(item: LoopGradientItem, frame: Frame) -> None:
    """Traces the gradient, and the loop once more if it is in another program."""
    pullback = frame.pullbacks.get(item.loop)
    if pullback is None:
        pullback = _repeated(item, frame)
    grads = pullback(dict(zip(item.exits, (frame.values[t] for t in item.grads))))
    for wrt, parts in zip(item.wrts, item.results):
        store_gradient(parts, grads[wrt], frame.values)


def store_gradient(parts: tuple[Tensor, ...], grad: object, values: dict[Tensor, Any]) -> None:
    """Stores a dense gradient in `values` under its tensors.

    Args:
      parts: one tensor for the gradient; or values, indices and perhaps dense shape of IndexedSlices, which then have every row.
    """
    # 1.15's backward loop makes slices only of the rows that it read. Dense rows with all indices have the same sum.
    values[parts[0]] = named_by(parts[0], grad)
    if len(parts) > 1:
        values[parts[1]] = jnp.arange(leaf(grad).shape[0], dtype=parts[1].dtype.as_numpy_dtype)
    if len(parts) > 2:
        values[parts[2]] = np.array(leaf(grad).shape, parts[2].dtype.as_numpy_dtype)


def _second_derivative(item: LoopGradientItem, op: Operation, frame: Frame) -> None:
    """Traces the gradient of a LoopGradient: the vjp of its function (captured tensors, gradients of exits) -> gradients."""
    captured = op.input_named("captured")
    varied = [captured[i] for i in op.attrs["varied"]]
    grads = [frame.values[t] for t in item.grads]
    outer = [cotangent(frame.values[t]) for t in op.input_named("grads2")]

    # Reverse over reverse: `first` runs the loop and its gradient in a frame of its own, and JAX differentiates both.
    def first(leaves: list[jax.Array], cotangents: list[jax.Array]) -> list[jax.Array]:
        inner = Frame(dict(frame.values), dict(frame.state), frame.rng, differentiated=1, changing=frame.changing)
        for tensor, value in zip(varied, leaves):
            _substitute(Wrt(tensor, tensor), value, inner)
        given = {t: refilled(g, c) for t, g, c in zip(item.exits, grads, cotangents)}
        gradients = _repeated(item, inner)(given)
        return [leaf(gradients[wrt]) for wrt in item.wrts]

    primals = [primal(t, frame) for t in varied]
    with collecting():
        results, pull = jax.vjp(first, primals, [jnp.asarray(cotangent(g)) for g in grads])
    found = pull([jnp.conj(jnp.asarray(g, r.dtype)) for g, r in zip(outer, results)])
    for output, value, source in zip(op.outputs, [*found[0], *found[1]], [*[frame.values.get(t) for t in varied], *grads]):
        frame.values[output] = named_by(output, as_gradient(jnp.conj(value), source))


class _Pullback:
    """The pullback of a loop: gradients of its results -> gradients of `wanted`. Making it traces the loop into `frame`."""

    def __init__(self, loop: LoopItem, wanted: Sequence[Wrt], frame: Frame) -> None:
        self.wanted = wanted
        self._sources = [frame.values.get(wrt.source) for wrt in wanted]
        primals = [primal(wrt.source, frame) for wrt in wanted]
        results: dict[str, Any] = {}

        # `run` is the loop as a function of its primals. Its outputs are the float and complex exits; everything else that the trace
        # leaves in the frame goes out as auxiliary values, as tracers must not escape from `jax.vjp` otherwise.
        def run(leaves: list[jax.Array]) -> tuple[Any, ...]:
            times = frame.differentiated + 1
            inner = Frame(
                dict(frame.values), dict(frame.state), frame.rng, dict(frame.reserves), times, frame.lengths, frame.counts, changing=frame.changing
            )
            for wrt, value in zip(wanted, leaves):
                _substitute(wrt, value, inner)
            before = set(inner.values)
            with collecting() as collected:
                LoopLowering(loop, inner).run()
            made = {t: v for t, v in inner.values.items() if t not in before}
            results["checks"] = collected
            results["tensors"] = list(made)
            state = {k: v for k, v in inner.state.items() if v is not frame.state.get(k)}
            shown = [(jnp.asarray(c.ok), tuple(map(jnp.asarray, c.traced_values()))) for c in collected]
            reserves = {op: v for op, v in inner.reserves.items() if v is not frame.reserves.get(op)}
            results["moved"] = list(reserves)
            outputs = [made[e.outputs[0]] for e in loop.program.exits if e.outputs[0] in made]
            return [_inexact(v) for v in outputs], (list(made.values()), state, shown, list(reserves.values()))

        traced: tuple[Any, Callable[..., Any], tuple[Any, ...]] = jax.vjp(run, primals, has_aux=True)
        outputs, self._pull, (values, state, shown, moved) = traced
        # The frame gets what the trace left, as if the loop had been lowered without a derivative.
        frame.values.update(zip(results["tensors"], values))
        frame.state.update(state)
        frame.reserves.update(zip(results["moved"], moved))
        for check, (ok, given) in zip(results["checks"], shown):
            merged = check.without_traced_values().merge_values(list(given))
            checks.add(checks.Check(ok, check.text, merged, check.op, check.error))
        self._exits = [e.outputs[0] for e in loop.program.exits if e.outputs[0] in frame.values]
        self._outputs = outputs

    def __call__(self, grads: dict[Tensor, Any]) -> dict[Wrt, object]:
        """The gradients with respect to `wanted`, from gradients of exits by tensor; an exit without one counts as zeros."""
        cotangents = []
        # TensorFlow's gradient of a complex tensor is the conjugate of JAX's cotangent.
        for tensor, leaves in zip(self._exits, self._outputs):
            grad = cotangent(grads.get(tensor))
            cotangents.append([jnp.zeros(x.shape, x.dtype) if grad is None else jnp.conj(with_room(jnp.asarray(grad, x.dtype), x)) for x in leaves])
        (pulled,) = self._pull(cotangents)
        return {wrt: as_gradient(jnp.conj(g), source) for wrt, g, source in zip(self.wanted, pulled, self._sources)}


def _repeated(item: LoopGradientItem, frame: Frame) -> _Pullback:
    """The pullback of a loop that runs in another program: traces it once more, with its side effects dropped."""
    loop = item.loop
    # The results of the first run are in the frame; the repetition must not take them for its own.
    values = {t: v for t, v in frame.values.items() if t not in loop.outputs}
    inner = Frame(values, dict(frame.state), dict(frame.rng), {}, frame.differentiated, changing=frame.changing)
    steps = frame.values.get(item.record.steps)
    if isinstance(steps, np.ndarray):
        inner.lengths = dict(zip([loop, *inner_loops(loop)], steps.tolist()))
    # Random operations draw the numbers of the first run: their counters are those recorded before it.
    randoms = loop.program.randoms
    if randoms:
        rows = frame.values[item.record.counters]
        inner.rng.update({o: rows[i] for i, o in enumerate(randoms)})
    with collecting():
        return _Pullback(loop, item.wrts, inner)


def refilled(value: object, leaf: jax.Array) -> jax.Array | DeviceArray:
    """`value` with `leaf` as its array: as a TensorArray if it is one."""
    if isinstance(value, DeviceArray):
        return value if value.buffer is None else DeviceArray(value.meta, leaf, value.written, value.length)
    return leaf


def cotangent(grad: object) -> Any:
    """The array in a gradient; None for a TensorArray that is not one of gradients."""
    grad = on_device(grad)
    if isinstance(grad, DeviceArray):
        return grad.buffer if grad.meta.source else None
    return grad


def on_device(value: object) -> object:
    """`value`, with the elements of a TensorArray on the host stacked into one buffer."""
    return value.stacked() if isinstance(value, HostArray) else value


def with_room(grad: jax.Array, like: jax.Array) -> jax.Array:
    """Pads a gradient with zeros to the capacity (length of axis 0) of `like`, the buffer of a growing TensorArray."""
    missing = like.shape[0] - grad.shape[0] if like.ndim else 0
    return jnp.pad(jnp.asarray(grad), [(0, missing)] + [(0, 0)] * (like.ndim - 1)) if missing > 0 else jnp.asarray(grad)


def as_gradient(grad: jax.Array, source: object) -> object:
    """A gradient in the form of its primal: for a TensorArray, a TensorArray of gradients."""
    if isinstance(source, HostArray):
        zeros = source.zeros()
        return HostArray(zeros.meta, [None if e is None else g for e, g in zip(zeros.items, np.asarray(grad))]) if grad.size else zeros
    if not isinstance(source, DeviceArray) or source.buffer is None:
        return grad
    zero = source.gradient(UNNAMED)
    return DeviceArray(zero.meta, grad, None, zero.length)


def _substitute(wrt: Wrt, primal: jax.Array, frame: Frame) -> None:
    """Sets the value that enters the loop for `wrt` to a primal of `jax.vjp`."""
    # A captured variable has no value of its own in the frame: the primal replaces the variable's value.
    if wrt.source not in frame.values:
        frame.state[variable_key(required_variable_op(wrt.source))] = primal
        return
    frame.values[wrt.name] = refilled(frame.values[wrt.source], primal)


def _inexact(value: jax.Array | DeviceArray | ArrayHandle) -> list[jax.Array]:
    """The arrays in a result that have a derivative: one or none."""
    if isinstance(value, ArrayHandle):
        return []
    array = value.buffer if isinstance(value, DeviceArray) else value
    return [array] if array is not None and jnp.issubdtype(array.dtype, jnp.inexact) else []
