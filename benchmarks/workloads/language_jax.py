"""The JAX twin of language.py."""

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.jax_training import glorot
from benchmarks.workloads.language import BATCH, NORM, UNITS, WORDS
from benchmarks.workloads.model import JaxModel

OPTIMIZER = optax.chain(optax.clip_by_global_norm(NORM), optax.sgd(0.5))


def init(key):
    vectors, gates, candidate, weights = jax.random.split(key, 4)
    params = (
        glorot(vectors, WORDS, UNITS), glorot(gates, 2 * UNITS, 2 * UNITS), jnp.ones(2 * UNITS), glorot(candidate, 2 * UNITS, UNITS),
        jnp.zeros(UNITS), glorot(weights, UNITS, WORDS), jnp.zeros(WORDS),
    )  # fmt: skip
    return params, OPTIMIZER.init(params), jnp.zeros((BATCH, UNITS))


def loss(params, state, words, following):
    vectors, gates, gate_bias, candidate, candidate_bias, weights, biases = params

    def step(h, x):
        r, u = jnp.split(jax.nn.sigmoid(jnp.concatenate([x, h], 1) @ gates + gate_bias), 2, 1)
        c = jnp.tanh(jnp.concatenate([x, r * h], 1) @ candidate + candidate_bias)
        h = u * h + (1 - u) * c
        return h, h

    last, outputs = jax.lax.scan(step, state, vectors[words].swapaxes(0, 1))
    logits = outputs.swapaxes(0, 1).reshape(-1, UNITS) @ weights + biases
    return optax.softmax_cross_entropy_with_integer_labels(logits, following.reshape(-1)).mean(), last


def step(state, words, following):
    params, slots, hidden = state
    (value, last), gradients = jax.value_and_grad(loss, has_aux=True)(params, hidden, words, following)
    updates, slots = OPTIMIZER.update(gradients, slots)
    return (optax.apply_updates(params, updates), slots, last), value


def model():
    return JaxModel(jax.jit(init), jax.jit(step, donate_argnums=0), reads_loss=True)
