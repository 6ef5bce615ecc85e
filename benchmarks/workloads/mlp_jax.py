"""The JAX twin of mlp.py."""

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.jax_training import glorot, trainer
from benchmarks.workloads.mlp import SIZES
from benchmarks.workloads.model import JaxModel


def start(key):
    keys = jax.random.split(key, len(SIZES) - 1)
    return [(glorot(k, n, m), jnp.zeros(m)) for k, n, m in zip(keys, SIZES, SIZES[1:])]


def loss(params, x, labels):
    hidden = x
    for weights, biases in params[:-1]:
        hidden = jax.nn.relu(hidden @ weights + biases)
    weights, biases = params[-1]
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ weights + biases, labels).mean()


def model():
    return JaxModel(*trainer(start, loss, optax.adam(1e-3)), reads_loss=True)
