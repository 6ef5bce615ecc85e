"""The JAX twin of attention.py."""

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.attention import BATCH, UNITS, WORDS
from benchmarks.workloads.jax_training import glorot, trainer
from benchmarks.workloads.model import JaxModel


def start(key):
    shapes = {
        "vectors": (WORDS, UNITS), "encoder": (2 * UNITS, 4 * UNITS), "decoder": (3 * UNITS, 4 * UNITS), "memory": (UNITS, UNITS),
        "attention": (2 * UNITS, UNITS), "output": (UNITS, WORDS),
    }  # fmt: skip
    params = {name: glorot(k, *shape) for k, (name, shape) in zip(jax.random.split(key, len(shapes)), shapes.items())}
    return {**params, "encoder_bias": jnp.zeros(4 * UNITS), "decoder_bias": jnp.zeros(4 * UNITS)}


def lstm(kernel, bias, state, x):
    c, h = state
    i, j, f, o = jnp.split(jnp.concatenate([x, h], 1) @ kernel + bias, 4, 1)
    c = c * jax.nn.sigmoid(f + 1.0) + jax.nn.sigmoid(i) * jnp.tanh(j)
    return c, jnp.tanh(c) * jax.nn.sigmoid(o)


def loss(params, source, target):
    zeros = jnp.zeros((BATCH, UNITS))

    def encode(state, x):
        state = lstm(params["encoder"], params["encoder_bias"], state, x)
        return state, state[1]

    state, memory = jax.lax.scan(encode, (zeros, zeros), params["vectors"][source].swapaxes(0, 1))
    memory = memory.swapaxes(0, 1)
    keys = memory @ params["memory"]

    def decode(carry, x):
        state, attention = carry
        state = lstm(params["decoder"], params["decoder_bias"], state, jnp.concatenate([x, attention], 1))
        weights = jax.nn.softmax(jnp.einsum("bu,btu->bt", state[1], keys))
        context = jnp.einsum("bt,btu->bu", weights, memory)
        attention = jnp.concatenate([state[1], context], 1) @ params["attention"]
        return (state, attention), attention @ params["output"]

    _, logits = jax.lax.scan(decode, (state, zeros), params["vectors"][target].swapaxes(0, 1))
    return optax.softmax_cross_entropy_with_integer_labels(logits.swapaxes(0, 1), target).mean()


def model():
    return JaxModel(*trainer(start, loss, optax.sgd(0.5)), reads_loss=True)
