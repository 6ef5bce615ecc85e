"""The JAX twin of nested_loops.py."""

import jax
import jax.numpy as jnp

from benchmarks.workloads.jax_training import glorot
from benchmarks.workloads.model import JaxModel
from benchmarks.workloads.nested_loops import INNER, OUTER, SIZE


def init(key):
    return glorot(key, SIZE, SIZE)


def step(weights, x):
    def inner(_, value):
        return jnp.tanh(value @ weights)

    def outer(_, value):
        return value + jax.lax.fori_loop(0, INNER, inner, value)

    return weights, jax.lax.fori_loop(0, OUTER, outer, x).sum()


def model():
    return JaxModel(jax.jit(init), jax.jit(step), reads_loss=True)
