"""The JAX twin of word2vec.py: the rows that a step uses are gathered, differentiated and scattered back in place."""

import math

import jax
import jax.numpy as jnp

from benchmarks.workloads.model import JaxModel
from benchmarks.workloads.word2vec import SAMPLED, SIZE, VOCABULARY

DRAWS = 4 * SAMPLED


def log_uniform_probability(classes):
    return jnp.log1p(1 / (classes + 1)) / math.log(VOCABULARY + 1)


def sample_classes(key):
    """`SAMPLED` different classes by the log-uniform distribution, and how many draws that took."""
    draws = jnp.exp(jax.random.uniform(key, (DRAWS,)) * math.log(VOCABULARY + 1)).astype(jnp.int32) - 1
    draws = jnp.minimum(draws, VOCABULARY - 1)
    seen = jnp.tril(draws[:, None] == draws[None, :], -1).any(1)
    places = jnp.nonzero(~seen, size=SAMPLED, fill_value=DRAWS - 1)[0]
    return draws[places], places[-1] + 1


def log_expected_count(classes, tries):
    return jnp.log(-jnp.expm1(tries * jnp.log1p(-log_uniform_probability(classes))))


def loss(rows, labels, sampled, tries):
    vectors, true_weights, true_biases, weights, biases = rows
    true_logits = (vectors * true_weights).sum(1) + true_biases - log_expected_count(labels, tries)
    logits = vectors @ weights.T + biases - log_expected_count(sampled, tries)
    return (jax.nn.softplus(-true_logits).sum() + jax.nn.softplus(logits).sum()) / len(labels)


def init(key):
    vector_key, weight_key, key = jax.random.split(key, 3)
    vectors = jax.random.uniform(vector_key, (VOCABULARY, SIZE), minval=-1.0, maxval=1.0)
    weights = jax.random.truncated_normal(weight_key, -2, 2, (VOCABULARY, SIZE)) / math.sqrt(SIZE)
    return vectors, weights, jnp.zeros(VOCABULARY), key


def step(state, words, contexts):
    vectors, weights, biases, key = state
    key, sample_key = jax.random.split(key)
    labels = contexts[:, 0]
    sampled, tries = sample_classes(sample_key)
    rows = vectors[words], weights[labels], biases[labels], weights[sampled], biases[sampled]
    value, (d_vectors, d_true_weights, d_true_biases, d_weights, d_biases) = jax.value_and_grad(loss)(
        rows, labels, sampled, tries
    )
    classes = jnp.concatenate([labels, sampled])
    vectors = vectors.at[words].add(-d_vectors)
    weights = weights.at[classes].add(-jnp.concatenate([d_true_weights, d_weights]))
    biases = biases.at[classes].add(-jnp.concatenate([d_true_biases, d_biases]))
    return (vectors, weights, biases, key), value


def model():
    return JaxModel(jax.jit(init), jax.jit(step, donate_argnums=0), reads_loss=True)
