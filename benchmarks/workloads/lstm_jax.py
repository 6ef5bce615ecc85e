"""The JAX twin of lstm.py."""

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.jax_training import glorot, trainer
from benchmarks.workloads.lstm import BATCH, CLASSES, COLUMNS, UNITS
from benchmarks.workloads.model import JaxModel


def start(key):
    cell, dense = jax.random.split(key)
    return glorot(cell, COLUMNS + UNITS, 4 * UNITS), jnp.zeros(4 * UNITS), glorot(dense, UNITS, CLASSES), jnp.zeros(CLASSES)


def loss(params, x, labels):
    kernel, bias, weights, biases = params

    def step(state, row):
        c, h = state
        i, j, f, o = jnp.split(jnp.concatenate([row, h], 1) @ kernel + bias, 4, 1)
        c = c * jax.nn.sigmoid(f + 1.0) + jax.nn.sigmoid(i) * jnp.tanh(j)
        h = jnp.tanh(c) * jax.nn.sigmoid(o)
        return (c, h), None

    zeros = jnp.zeros((BATCH, UNITS))
    (_, last), _ = jax.lax.scan(step, (zeros, zeros), x.swapaxes(0, 1))
    return optax.softmax_cross_entropy_with_integer_labels(last @ weights + biases, labels).mean()


def model():
    return JaxModel(*trainer(start, loss, optax.adam(1e-3)), reads_loss=True)
