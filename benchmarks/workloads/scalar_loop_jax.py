"""The JAX twin of scalar_loop.py."""

import jax
import jax.numpy as jnp

from benchmarks.workloads.model import JaxModel
from benchmarks.workloads.scalar_loop import STEPS


def init(key):
    return ()


def step(state, x):
    return state, jax.lax.fori_loop(0, STEPS, lambda i, value: jnp.cos(value) + 1e-3 * i.astype(jnp.float32), x)


def model():
    return JaxModel(init, jax.jit(step), reads_loss=True)
