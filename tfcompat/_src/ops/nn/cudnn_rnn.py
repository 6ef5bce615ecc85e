"""The operations of cuDNN's recurrent networks, on any device.

The opaque parameters are laid out as cuDNN lays them out: the matrices of all layers and directions, those for the
inputs before those for the state (and the projection), then all biases in the same order. Gates of an LSTM are input,
forget, candidate, output; of a GRU reset, update, candidate.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import RANDOM, NotDifferentiable, op
from tfcompat._src.nodes import raw
from tfcompat._src.ops.random import distributions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_MODES = (
    'rnn_mode: {"rnn_relu", "rnn_tanh", "lstm", "gru"} = "lstm", '
    'input_mode: {"linear_input", "skip_input", "auto_select"} = "linear_input", '
    'direction: {"unidirectional", "bidirectional"} = "unidirectional", dropout: float = 0, seed: int = 0, '
    "seed2: int = 0"
)
_T = "T: {float16, float32, float64}"
_NO_SECOND = NotDifferentiable("1.15 has no second derivative of cuDNN's networks", raises=True)
_NO_GRADIENT = NotDifferentiable("1.15 has no gradient of the layout of parameters", raises=True)


@dataclasses.dataclass(frozen=True)
class Network:
    """The sizes of a network.

    Args:
      mode: "lstm", "gru", "rnn_tanh" or "rnn_relu". input_mode: whether the first layer multiplies its inputs.
      layers, directions, units, input_size: sizes. proj: size of the projected state, 0 for none.
    """

    mode: str
    input_mode: str
    layers: int
    directions: int
    units: int
    input_size: int
    proj: int = 0

    @property
    def skips(self) -> bool:
        """Whether the first layer takes its inputs as they are."""
        if self.input_mode == "auto_select":
            return self.units == self.input_size
        return self.input_mode == "skip_input"

    @property
    def state(self) -> int:
        """The size of a state and of an output in one direction."""
        return self.proj or self.units

    def matrices(self, layer: int) -> list[tuple[int, int]]:
        """The shapes of the matrices of a layer in one direction."""
        width = self.directions * self.state if layer else self.input_size
        inputs = (0, 0) if self.skips and not layer else (self.units, width)
        gates = _GATES[self.mode]
        return [inputs] * gates + [(self.units, self.state)] * gates + ([(self.proj, self.units)] if self.proj else [])

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of all parameters in the order of the layout."""
        rows = [layer for layer in range(self.layers) for _ in range(self.directions)]
        weights = [shape for layer in rows for shape in self.matrices(layer)]
        return weights + [(self.units,)] * (2 * _GATES[self.mode] * len(rows))

    def size(self) -> int:
        """The number of all parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes())

    def split(self, params: Any) -> list[Any]:
        """The parameters as arrays of their shapes.

        Raises:
          InvalidArgumentError: there are more or fewer than the network has.
        """
        if params.shape != (self.size(),):
            raise errors.InvalidArgumentError(
                None, None, f"params has shape {list(params.shape)}, but the network has {self.size()} parameters"
            )
        parts, start = [], 0
        for shape in self.shapes():
            stop = start + int(np.prod(shape))
            parts.append(params[start:stop].reshape(shape))
            start = stop
        return parts


# ---- the layout ----

_SIZES = "num_layers: int32, num_units: int32, input_size: int32"
_SIZE_INPUTS = ("num_layers", "num_units", "input_size")


def _network(num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj=0) -> Network:
    directions = 2 if direction == "bidirectional" else 1
    return Network(rnn_mode, input_mode, int(num_layers), directions, int(num_units), int(input_size), num_proj)


@op(
    "CudnnRNNParamsSize", f"({_SIZES}, *, {_T}, S: INDEX, {_MODES}, num_proj: int = 0) -> (params_size: S)",
    shape=lambda c: [(1,)], gradient=_NO_GRADIENT, constants=_SIZE_INPUTS,
)  # fmt: skip
def _params_size(layers, units, inputs, *, S, rnn_mode, input_mode, direction, num_proj):
    return np.array([_network(layers, units, inputs, rnn_mode, input_mode, direction, num_proj).size()], S)


def _split(network: Network, params: object, weights: int, biases: int) -> tuple:
    parts = network.split(params)
    if len(parts) != weights + biases:
        raise errors.InvalidArgumentError(
            None, None, f"the network has {len(parts)} weights and biases, but {weights} and {biases} are asked for"
        )
    return tuple(parts[:weights]), tuple(parts[weights:])


@op(
    "CudnnRNNParamsToCanonical",
    f"({_SIZES}, params: T, *, {_T}, num_params: int >= 1, {_MODES}) -> (weights: num_params*T, biases: num_params*T)",
    shape=lambda c: [(None, None)] * c.attr("num_params") + [(None,)] * c.attr("num_params"), gradient=_NO_GRADIENT,
    constants=_SIZE_INPUTS,
)  # fmt: skip
def _to_canonical(layers, units, inputs, params, *, num_params, rnn_mode, input_mode, direction):
    return _split(_network(layers, units, inputs, rnn_mode, input_mode, direction), params, num_params, num_params)


@op(
    "CudnnRNNParamsToCanonicalV2",
    f"({_SIZES}, params: T, *, {_T}, num_params_weights: int >= 1, num_params_biases: int >= 1, {_MODES}, "
    "num_proj: int = 0) -> (weights: num_params_weights*T, biases: num_params_biases*T)",
    shape=lambda c: [(None, None)] * c.attr("num_params_weights") + [(None,)] * c.attr("num_params_biases"),
    gradient=_NO_GRADIENT, constants=_SIZE_INPUTS,
)  # fmt: skip
def _to_canonical_v2(
    layers, units, inputs, params, *, num_params_weights, num_params_biases, rnn_mode, input_mode, direction, num_proj
):
    network = _network(layers, units, inputs, rnn_mode, input_mode, direction, num_proj)
    return _split(network, params, num_params_weights, num_params_biases)


def _join(network: Network, weights: tuple, biases: tuple) -> Array:
    params = jnp.concatenate([part.reshape(-1) for part in (*weights, *biases)])
    network.split(params)
    return params


@op(
    "CudnnRNNCanonicalToParams",
    f"({_SIZES}, weights: num_params*T, biases: num_params*T, *, {_T}, num_params: int >= 1, {_MODES}) -> (params: T)",
    shape=si.unknown_vector, gradient=_NO_GRADIENT, constants=_SIZE_INPUTS,
)  # fmt: skip
def _to_params(layers, units, inputs, weights, biases, *, rnn_mode, input_mode, direction):
    return _join(_network(layers, units, inputs, rnn_mode, input_mode, direction), weights, biases)


@op(
    "CudnnRNNCanonicalToParamsV2",
    f"({_SIZES}, weights: num_params_weights*T, biases: num_params_biases*T, *, {_T}, num_params_weights: int >= 1, "
    f"num_params_biases: int >= 1, {_MODES}, num_proj: int = 0) -> (params: T)",
    shape=si.unknown_vector, gradient=_NO_GRADIENT, constants=_SIZE_INPUTS,
)  # fmt: skip
def _to_params_v2(layers, units, inputs, weights, biases, *, rnn_mode, input_mode, direction, num_proj):
    return _join(_network(layers, units, inputs, rnn_mode, input_mode, direction, num_proj), weights, biases)


# ---- the network ----


def _step(mode: str, from_inputs: Any, h: Any, c: Any, recurrent: Any, bias: Any, projection: Any) -> tuple[Any, Any]:
    """The state after a step, from what the inputs give to the gates."""
    from_state = h @ recurrent.T + bias
    if mode == "lstm":
        i, f, g, o = jnp.split(from_inputs + from_state, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h if projection is None else h @ projection.T), c
    if mode == "gru":
        x_r, x_u, x_n = jnp.split(from_inputs, 3, axis=1)
        h_r, h_u, h_n = jnp.split(from_state, 3, axis=1)
        update = jax.nn.sigmoid(x_u + h_u)
        return (1 - update) * jnp.tanh(x_n + jax.nn.sigmoid(x_r + h_r) * h_n) + update * h, c
    summed = from_inputs + from_state
    return (jnp.tanh(summed) if mode == "rnn_tanh" else jax.nn.relu(summed)), c


def _run_direction(network: Network, x: Any, h: Any, c: Any, weights: list, biases: list, lengths: object) -> tuple:
    """One direction of one layer over x [time, batch, depth]: outputs and last state."""
    gates = _GATES[network.mode]
    recurrent, projection = jnp.concatenate(weights[gates : 2 * gates]), weights[2 * gates] if network.proj else None
    if weights[0].size:
        from_inputs = x @ jnp.concatenate(weights[:gates]).T + jnp.concatenate(biases[:gates])
    else:
        from_inputs = jnp.tile(x, gates) + jnp.concatenate(biases[:gates])
    bias = jnp.concatenate(biases[gates:])

    def step(state: tuple, now: tuple) -> tuple:
        time, inputs = now
        new = _step(network.mode, inputs, *state, recurrent, bias, projection)
        if lengths is None:
            return new, new[0]
        alive = (time < lengths)[:, None]
        kept = tuple(jnp.where(alive, n, o) for n, o in zip(new, state))
        return kept, jnp.where(alive, new[0], 0)

    (h, c), outputs = lax.scan(step, (h, c), (jnp.arange(x.shape[0]), from_inputs))
    return outputs, h, c


def _reversed(x: Any, lengths: Any) -> Any:
    """x [time, batch, depth] backward in time, each sequence within its length."""
    if lengths is None:
        return x[::-1]
    time = jnp.arange(x.shape[0])[:, None]
    source = jnp.where(time < lengths, lengths - 1 - time, time)
    return jnp.take_along_axis(x, source[:, :, None], axis=0)


def _run(network: Network, x: Any, h: Any, c: Any, params: object, lengths: Any, kept: Any, time_major: bool) -> tuple:
    """Outputs and last states of the whole network; `kept` are the factors of dropout between layers, or None."""
    if not time_major:
        x, h, c = x.swapaxes(0, 1), h.swapaxes(0, 1), c.swapaxes(0, 1) if c.ndim == 3 else c
    parts, lasts = network.split(params), []
    gates, directions, rows = _GATES[network.mode], network.directions, network.layers * network.directions
    per_row = 2 * gates + bool(network.proj)
    for layer in range(network.layers):
        if layer and kept is not None:
            x = x * kept[layer - 1]
        outputs = []
        for row in range(layer * directions, (layer + 1) * directions):
            weights = parts[row * per_row : (row + 1) * per_row]
            first_bias = rows * per_row + row * 2 * gates
            biases = parts[first_bias : first_bias + 2 * gates]
            backward = row % directions == 1
            inputs = _reversed(x, lengths) if backward else x
            memory = c[row] if network.mode == "lstm" else jnp.zeros((x.shape[1], 0), x.dtype)
            found, *last = _run_direction(network, inputs, h[row], memory, weights, biases, lengths)
            outputs.append(_reversed(found, lengths) if backward else found)
            lasts.append(last)
        x = jnp.concatenate(outputs, axis=2)
    last_h = jnp.stack([last[0] for last in lasts])
    last_c = jnp.stack([last[1] for last in lasts]) if network.mode == "lstm" else jnp.zeros((), x.dtype)
    if time_major:
        return x, last_h, last_c
    return x.swapaxes(0, 1), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1) if last_c.ndim == 3 else last_c


def _network_of(x, h, c, rnn_mode, input_mode, direction, num_proj=0, time_major=True) -> Network:
    directions = 2 if direction == "bidirectional" else 1
    units = c.shape[2] if rnn_mode == "lstm" else h.shape[2]
    layers = h.shape[0 if time_major else 1] // directions
    return Network(rnn_mode, input_mode, layers, directions, units, x.shape[2], num_proj)


def _mask_shape(network: Network, x: Any, time_major: bool = True) -> tuple[int, ...]:
    time, batch = x.shape[:2] if time_major else x.shape[1::-1]
    return (network.layers - 1, time, batch, network.directions * network.state)


def _drops(network: Network, dropout: float, is_training: bool) -> bool:
    return is_training and dropout > 0 and network.layers > 1


def _forward(network: Network, x, h, c, params, lengths, dropout, is_training, time_major, rng) -> tuple:
    """The outputs of an op: those of the network, and the factors of dropout as its reserved space."""
    kept, shape = None, _mask_shape(network, x, time_major)
    if _drops(network, dropout, is_training):
        uniform = distributions.uniform(jnp, *rng, int(np.prod(shape)), np.dtype(np.float32)).reshape(shape)
        kept = (uniform >= np.float32(dropout)).astype(x.dtype) / x.dtype.type(1 - dropout)
    reserve = jnp.zeros(0, x.dtype) if kept is None else kept.reshape(-1)
    return *_run(network, x, h, c, params, lengths, kept, time_major), reserve


def _reserve(
    outputs, x, h, c, params, *lengths, rnn_mode, input_mode, direction, dropout, is_training, num_proj=0,
    time_major=True, **_,
):  # fmt: skip
    """How many random numbers a run takes."""
    network = _network_of(x, h, c, rnn_mode, input_mode, direction, num_proj, time_major)
    if not _drops(network, dropout, is_training):
        return 0
    return distributions.reserve_fill(int(np.prod(_mask_shape(network, x, time_major))))


def _backward(network: Network, x, h, c, params, lengths, grads, reserve, time_major) -> tuple:
    kept = reserve.reshape(_mask_shape(network, x, time_major)) if reserve.size else None
    found, pull = jax.vjp(lambda *given: _run(network, *given, lengths, kept, time_major), x, h, c, params)
    return pull(tuple(g.reshape(f.shape) if g.size == f.size else jnp.zeros_like(f) for g, f in zip(grads, found)))


def _output_shape(reserved: int):
    def shape(c):
        x, h = si.with_rank(c.inputs[0], 3), si.with_rank(c.inputs[1], 3)
        si.with_rank(c.inputs[3], 1)
        directions = 2 if c.attr("direction") == b"bidirectional" else 1
        lstm = c.attr("rnn_mode") == b"lstm"
        out = (x[0], x[1], None if h[2] is None else directions * h[2])
        memory = (c.inputs[2] if len(c.inputs) > 4 else h) if lstm else ()
        return [out, h, memory, *[None] * reserved]

    return shape


def _gradient(type_name: str, *more: str):
    """The gradient of a network's op, by the op `type_name` with the attributes `more`."""

    def gradient(op, *grads):
        if not op.get_attr("is_training"):
            raise ValueError(f"To use {op.type} in gradients, is_training must be set to True.")
        attrs = {n: op.get_attr(n) for n in ("rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2", *more)}
        back = getattr(raw, type_name)
        found = back(*op.inputs, *op.outputs[:3], *grads[:3], *op.outputs[3:], **attrs)
        return [*found, *[None] * (len(op.inputs) - 4)]

    return gradient


_INPUTS = "input: T, input_h: T, input_c: T, params: T"
_OUTPUTS = "output: T, output_h: T, output_c: T"
_GRADS = "output_backprop: T, output_h_backprop: T, output_c_backprop: T, reserve_space: T"
_BACK = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"


def _like_inputs(c):
    return [c.inputs[k] for k in range(4)]


@op(
    "CudnnRNN", f"({_INPUTS}, *, {_T}, {_MODES}, is_training: bool = True) -> ({_OUTPUTS}, reserve_space: T)",
    shape=_output_shape(1), gradient=_gradient("CudnnRNNBackprop"), effects=RANDOM, reserve=_reserve,
)  # fmt: skip
def _cudnn_rnn(x, h, c, params, *, rnn_mode, input_mode, direction, dropout, is_training, rng):
    network = _network_of(x, h, c, rnn_mode, input_mode, direction)
    return _forward(network, x, h, c, params, None, dropout, is_training, True, rng)


@op(
    "CudnnRNNV2",
    f"({_INPUTS}, *, {_T}, {_MODES}, is_training: bool = True) -> ({_OUTPUTS}, reserve_space: T, host_reserved: int8)",
    shape=_output_shape(2), gradient=_gradient("CudnnRNNBackpropV2"), effects=RANDOM, reserve=_reserve,
)  # fmt: skip
def _cudnn_rnn_v2(x, h, c, params, *, rnn_mode, input_mode, direction, dropout, is_training, rng):
    network = _network_of(x, h, c, rnn_mode, input_mode, direction)
    return *_forward(network, x, h, c, params, None, dropout, is_training, True, rng), jnp.zeros(0, np.int8)


@op(
    "CudnnRNNV3",
    f"({_INPUTS}, sequence_lengths: int32, *, {_T}, {_MODES}, num_proj: int = 0, is_training: bool = True, "
    f"time_major: bool = True) -> ({_OUTPUTS}, reserve_space: T, host_reserved: int8)",
    shape=_output_shape(2), gradient=_gradient("CudnnRNNBackpropV3", "num_proj", "time_major"), effects=RANDOM,
    reserve=_reserve,
)  # fmt: skip
def _cudnn_rnn_v3(
    x, h, c, params, lengths, *, rnn_mode, input_mode, direction, dropout, num_proj, is_training, time_major, rng
):
    network = _network_of(x, h, c, rnn_mode, input_mode, direction, num_proj, time_major)
    found = _forward(network, x, h, c, params, lengths, dropout, is_training, time_major, rng)
    return *found, jnp.zeros(0, np.int8)


@op(
    "CudnnRNNBackprop", f"({_INPUTS}, {_OUTPUTS}, {_GRADS}, *, {_T}, {_MODES}) -> ({_BACK})", shape=_like_inputs,
    gradient=_NO_SECOND,
)  # fmt: skip
def _cudnn_rnn_backprop(x, h, c, params, y, hy, cy, dy, dh, dc, reserve, *, rnn_mode, input_mode, direction):
    network = _network_of(x, h, c, rnn_mode, input_mode, direction)
    return _backward(network, x, h, c, params, None, (dy, dh, dc), reserve, True)


@op(
    "CudnnRNNBackpropV2", f"({_INPUTS}, {_OUTPUTS}, {_GRADS}, host_reserved: int8, *, {_T}, {_MODES}) -> ({_BACK})",
    shape=_like_inputs, gradient=_NO_SECOND,
)  # fmt: skip
def _cudnn_rnn_backprop_v2(x, h, c, params, y, hy, cy, dy, dh, dc, reserve, host, *, rnn_mode, input_mode, direction):
    network = _network_of(x, h, c, rnn_mode, input_mode, direction)
    return _backward(network, x, h, c, params, None, (dy, dh, dc), reserve, True)


@op(
    "CudnnRNNBackpropV3",
    f"({_INPUTS}, sequence_lengths: int32, {_OUTPUTS}, {_GRADS}, host_reserved: int8, *, {_T}, {_MODES}, "
    f"num_proj: int = 0, time_major: bool = True) -> ({_BACK})",
    shape=_like_inputs, gradient=_NO_SECOND,
)  # fmt: skip
def _cudnn_rnn_backprop_v3(
    x, h, c, params, lengths, y, hy, cy, dy, dh, dc, reserve, host, *, rnn_mode, input_mode, direction, num_proj,
    time_major,
):  # fmt: skip
    network = _network_of(x, h, c, rnn_mode, input_mode, direction, num_proj, time_major)
    return _backward(network, x, h, c, params, lengths, (dy, dh, dc), reserve, time_major)
