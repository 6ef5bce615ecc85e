"""LSTM and GRU cells as one operation each, and an LSTM over a whole sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.matmul import matmul

_CELL_INPUTS = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_PARTS = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
_ATTRS = "forget_bias: float = 1, cell_clip: float = 3, use_peephole: bool = False, T: {float16, float32}"
_NO_SECOND = NotDifferentiable("1.15 has no second derivative of the block cells", raises=True)
ICFO, IFCO = (0, 1, 2, 3), (0, 2, 1, 3)


def _require_sizes(**pairs: tuple) -> None:
    """Raises InvalidArgumentError where a size is not the one that goes with the other inputs."""
    for name, (found, wanted) in pairs.items():
        if found != wanted:
            text = f"{name} has size {found}, but the other inputs need {wanted}"
            raise errors.InvalidArgumentError(None, None, text)


def _check_lstm(x, c, h, w, b, peepholes: tuple | None) -> None:
    """Checks sizes; those of the peepholes as 1.15 does: of cells only where they are used."""
    batch, depth, units = x.shape[-2], x.shape[-1], c.shape[1]
    _require_sizes(
        cs_prev_batch=(c.shape[0], batch), h_prev_batch=(h.shape[0], batch), h_prev_units=(h.shape[1], units),
        w_rows=(w.shape[0], depth + units), w_columns=(w.shape[1], 4 * units), b=(b.shape, (4 * units,)),
        **{name: (weights.shape, (units,)) for name, weights in zip(("wci", "wcf", "wco"), peepholes or ())},
    )  # fmt: skip


# ---- one step ----


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _clipped(cs, bound: float):
    """The memory within its bound; gradients pass as if it was not clipped, as in 1.15."""
    return jnp.clip(cs, cs.dtype.type(-bound), cs.dtype.type(bound))


@_clipped.defjvp
def _clipped_jvp(bound: float, primals: tuple, tangents: tuple) -> tuple:
    return _clipped(*primals, bound), *tangents


def _lstm_step(x, c, h, w, peepholes, b, forget_bias: float, cell_clip: float, order: tuple) -> tuple:
    """The parts of an LSTM step; `order` says where the gates i, ci, f, o stand in the product."""
    gates = jnp.split(jnp.concatenate([x, h], 1) @ w + b, 4, axis=1)
    i, ci, f, o = (gates[place] for place in order)
    if peepholes is not None:
        i, f = i + c * peepholes[0], f + c * peepholes[1]
    i, ci, f = jax.nn.sigmoid(i), jnp.tanh(ci), jax.nn.sigmoid(f + x.dtype.type(forget_bias))
    cs = ci * i + f * c
    if cell_clip > 0:
        cs = _clipped(cs, cell_clip)
    co = jnp.tanh(cs)
    o = jax.nn.sigmoid(o if peepholes is None else o + cs * peepholes[2])
    return i, cs, f, o, ci, co, o * co


def _lstm_step_back(c, peepholes, parts: tuple, cs_grad, h_grad) -> tuple:
    """The gradients of a step's previous memory, of its gates before their functions, and of the peepholes."""
    i, cs, f, o, ci, co = parts
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if peepholes is not None:
        dcs = dcs + do * peepholes[2]
    dci = (1 - ci * ci) * dcs * i
    df = f * (1 - f) * dcs * c
    di = i * (1 - i) * dcs * ci
    before = dcs * f
    if peepholes is None:
        diagonals = (jnp.zeros(c.shape[1], c.dtype),) * 3
    else:
        before = before + di * peepholes[0] + df * peepholes[1]
        diagonals = (di * c).sum(0), (df * c).sum(0), (do * cs).sum(0)
    return before, jnp.concatenate((di, dci, df, do), 1), diagonals


def _cell_shape(c):
    x, memory = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    return [(x[0], memory[1])] * 7


def _cell_grad_shape(c):
    x, memory = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    units = memory[1]
    return [(x[0], units), (x[0], None if units is None else 4 * units), *[(units,)] * 3]


def _cell_gradient(op, *grads):
    x, c, h, w, *weights = op.inputs
    depth, units = x.shape.with_rank(2).as_list()[1], c.shape.with_rank(2).as_list()[1]
    if depth is None:
        raise ValueError("input_size from `x` should not be None.")
    if units is None:
        raise ValueError("cell_size from `cs_prev` should not be None.")
    batch = x.shape.as_list()[0]
    batch = -1 if batch is None else batch
    c_grad, gates, *diagonals = raw.LSTMBlockCellGrad(
        x, c, h, w, *weights, *op.outputs[:6], grads[1], grads[6], use_peephole=op.get_attr("use_peephole")
    )
    joined = matmul(gates, w, transpose_b=True)
    x_grad = slice_of(joined, (0, 0), (batch, depth))
    h_grad = slice_of(joined, (0, depth), (batch, units))
    w_grad = matmul(concat([x, h], 1), gates, transpose_a=True)
    return [x_grad, c_grad, h_grad, w_grad, *diagonals, raw.BiasAddGrad(gates)]


@op("LSTMBlockCell", f"({_CELL_INPUTS}, *, {_ATTRS}) -> ({_PARTS})", shape=_cell_shape, gradient=_cell_gradient)
def _lstm_block_cell(x, c, h, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    peepholes = (wci, wcf, wco) if use_peephole else None
    _check_lstm(x, c, h, w, b, peepholes)
    return _lstm_step(x, c, h, w, peepholes, b, forget_bias, cell_clip, ICFO)


@op(
    "LSTMBlockCellGrad",
    f"({_CELL_INPUTS}, i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T, *, use_peephole: bool, "
    "T: {float16, float32}) -> (cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)",
    shape=_cell_grad_shape, gradient=_NO_SECOND,
)  # fmt: skip
def _lstm_block_cell_grad(x, c, h, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad, *, use_peephole):
    peepholes = (wci, wcf, wco) if use_peephole else None
    _check_lstm(x, c, h, w, b, peepholes)
    _require_sizes(**{n: (v.shape, c.shape) for n, v in dict(i=i, cs=cs, f=f, o=o, ci=ci, co=co, cs_grad=cs_grad, h_grad=h_grad).items()})
    before, gates, diagonals = _lstm_step_back(c, peepholes, (i, cs, f, o, ci, co), cs_grad, h_grad)
    return before, gates, *diagonals


# ---- a sequence ----


def _sequence_shape(c):
    x, bias = si.with_rank(c.inputs[1], 3), si.with_rank(c.inputs[8], 1)
    return [(x[0], x[1], si.divide_size(bias[0], 4))] * 7


def _sequence_grad_shape(c):
    return [c.inputs[k] for k in range(1, 9)]


def _sequence_gradient(type_name: str):
    def gradient(op, *grads):
        back = getattr(raw, type_name)
        found = back(*op.inputs, *op.outputs, grads[1], grads[6], use_peephole=op.get_attr("use_peephole"))
        return [None, *found]

    return gradient


def _run_sequence(length, x, c, h, w, peepholes, b, forget_bias: float, cell_clip: float, order: tuple) -> tuple:
    def step(carry: tuple, now: tuple) -> tuple:
        time, inputs = now
        parts = _lstm_step(inputs, *carry, w, peepholes, b, forget_bias, cell_clip, order)
        parts = tuple(jnp.where(time < length, part, 0) for part in parts)
        return (parts[1], parts[6]), parts

    return lax.scan(step, (c, h), (jnp.arange(x.shape[0]), x))[1]


def _run_sequence_back(length, x, c, h, w, peepholes, parts: tuple, cs_grads, h_grads) -> tuple:
    depth = x.shape[2]
    memories = jnp.concatenate([c[None], parts[1][:-1]])
    outputs = jnp.concatenate([h[None], parts[6][:-1]])

    def step(carry: tuple, now: tuple) -> tuple:
        (c_grad, h_grad), sums = carry
        time, inputs, c_before, h_before, *now_parts, cs_grad, more_h_grad = now
        c_grad, gates, diagonals = _lstm_step_back(
            c_before, peepholes, tuple(now_parts), cs_grad + c_grad, more_h_grad + h_grad
        )
        joined = gates @ w.T
        weights = jnp.concatenate([inputs, h_before], 1).T @ gates
        alive = time < length
        new = (weights, *diagonals, gates.sum(0))
        sums = tuple(jnp.where(alive, s + n, s) for s, n in zip(sums, new))
        x_grad, c_grad, h_grad = (jnp.where(alive, g, 0) for g in (joined[:, :depth], c_grad, joined[:, depth:]))
        return ((c_grad, h_grad), sums), x_grad

    units = c.shape[1]
    zeros = tuple(jnp.zeros(s, x.dtype) for s in (w.shape, *[(units,)] * 3, (4 * units,)))
    over = (jnp.arange(x.shape[0]), x, memories, outputs, *parts[:6], cs_grads, h_grads)
    start = ((jnp.zeros_like(c), jnp.zeros_like(h)), zeros)
    ((c_grad, h_grad), (w_grad, *rest)), x_grad = lax.scan(step, start, over, reverse=True)
    return x_grad, c_grad, h_grad, w_grad, *rest


def _check_length(length: Any, steps: int) -> None:
    checks.scalar("seq_len_max", length)
    checks.require((length >= 0) & (length <= steps), "seq_len_max must be in [0, {}], but is {}", steps, length)


def _block_lstm(length, x, c, h, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    _check_length(length, x.shape[0])
    peepholes = (wci, wcf, wco) if use_peephole else None
    _check_lstm(x, c, h, w, b, (wci, wcf, wco))
    return _run_sequence(length, x, c, h, w, peepholes, b, forget_bias, cell_clip, ICFO)


def _block_lstm_v2(length, x, c, h, w, wci, wcf, wco, b, *, cell_clip, use_peephole):
    _check_length(length, x.shape[0])
    peepholes = (wci, wcf, wco) if use_peephole else None
    _check_lstm(x, c, h, w, b, (wci, wcf, wco))
    return _run_sequence(length, x, c, h, w, peepholes, b, 0.0, cell_clip, IFCO)


def _sequence_ops(suffix: str, attrs: str, forward: Callable) -> None:
    """BlockLSTM and its gradient.

    V2 has another order of gates and no forget bias, but its gradient takes and gives gates in the order of the first version, as in 1.15.
    """

    def backward(length, x, c, h, w, wci, wcf, wco, b, i, cs, f, o, ci, co, hs, cs_grad, h_grad, *, use_peephole):
        peepholes = (wci, wcf, wco) if use_peephole else None
        _check_lstm(x, c, h, w, b, (wci, wcf, wco))
        _check_length(length, x.shape[0])
        return _run_sequence_back(length, x, c, h, w, peepholes, (i, cs, f, o, ci, co, hs), cs_grad, h_grad)

    op(
        f"BlockLSTM{suffix}", f"(seq_len_max: int64, {_CELL_INPUTS}, *, {attrs}) -> ({_PARTS})", depth=2,
        shape=_sequence_shape, gradient=_sequence_gradient(f"BlockLSTMGrad{suffix}"), kernel=forward,
    )  # fmt: skip
    op(
        f"BlockLSTMGrad{suffix}",
        f"(seq_len_max: int64, {_CELL_INPUTS}, {_PARTS}, cs_grad: T, h_grad: T, *, use_peephole: bool, "
        "T: {float16, float32}) -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, "
        "wco_grad: T, b_grad: T)",
        depth=2, shape=_sequence_grad_shape, gradient=_NO_SECOND, kernel=backward,
    )  # fmt: skip


_sequence_ops("", _ATTRS, _block_lstm)
_sequence_ops("V2", "cell_clip: float = 0, use_peephole: bool = False, T: {float16, float32}", _block_lstm_v2)


# ---- GRU ----

_GRU_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


def _gru_shape(c):
    x, state = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    return [(x[0], state[1])] * 4


def _gru_grad_shape(c):
    x, state = si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 2)
    gates = si.with_rank(c.inputs[2], 2)[1]
    return [x, (x[0], state[1]), (x[0], state[1]), (x[0], gates)]


def _check_gru(x, h, w_ru, w_c, b_ru, b_c) -> None:
    depth, units = x.shape[1], h.shape[1]
    _require_sizes(
        h_prev_batch=(h.shape[0], x.shape[0]), w_ru_rows=(w_ru.shape[0], depth + units),
        w_ru_columns=(w_ru.shape[1], 2 * units), w_c_rows=(w_c.shape[0], depth + units),
        w_c_columns=(w_c.shape[1], units), b_ru=(b_ru.shape, (2 * units,)), b_c=(b_c.shape, (units,)),
    )  # fmt: skip


def _gru_gradient(op, *grads):
    x, h, *weights = op.inputs
    r, u, c, _ = op.outputs
    x_grad, h_grad, c_bar, gates = raw.GRUBlockCellGrad(x, h, *weights, r, u, c, grads[3])
    w_gates = matmul(concat([x, h], 1), gates, transpose_a=True)
    b_gates = raw.BiasAddGrad(gates)
    w_candidate = matmul(concat([x, h * r], 1), c_bar, transpose_a=True)
    return [x_grad, h_grad, w_gates, w_candidate, b_gates, raw.BiasAddGrad(c_bar)]


@op(
    "GRUBlockCell", f"({_GRU_INPUTS}, *, T: {{float32}}) -> (r: T, u: T, c: T, h: T)", shape=_gru_shape,
    gradient=_gru_gradient,
)  # fmt: skip
def _gru_block_cell(x, h, w_ru, w_c, b_ru, b_c):
    _check_gru(x, h, w_ru, w_c, b_ru, b_c)
    r, u = jnp.split(jax.nn.sigmoid(jnp.concatenate([x, h], 1) @ w_ru + b_ru), 2, axis=1)
    c = jnp.tanh(jnp.concatenate([x, h * r], 1) @ w_c + b_c)
    return r, u, c, u * h + (1 - u) * c


@op(
    "GRUBlockCellGrad",
    f"({_GRU_INPUTS}, r: T, u: T, c: T, d_h: T, *, T: {{float32}}) -> "
    "(d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
    shape=_gru_grad_shape, gradient=_NO_SECOND,
)  # fmt: skip
def _gru_block_cell_grad(x, h, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    _check_gru(x, h, w_ru, w_c, b_ru, b_c)
    _require_sizes(r=(r.shape, h.shape), u=(u.shape, h.shape), c=(c.shape, h.shape), d_h=(d_h.shape, h.shape))
    depth = x.shape[1]
    c_bar = d_h * (1 - u) * (1 - c * c)
    u_bar = d_h * (h - c) * u * (1 - u)
    through_c = c_bar @ w_c.T
    reset = through_c[:, depth:]
    gates = jnp.concatenate([reset * h * r * (1 - r), u_bar], 1)
    through_gates = gates @ w_ru.T
    x_grad = through_gates[:, :depth] + through_c[:, :depth]
    return x_grad, through_gates[:, depth:] + reset * r + d_h * u, c_bar, gates
