"""The JAX twin of elementwise.py."""

import jax

from benchmarks.workloads.elementwise import SHAPE
from benchmarks.workloads.model import JaxModel


def init(key):
    return jax.random.uniform(key, SHAPE)


def step(x):
    grown = x + 0.1 * x * (1.0 - x)
    return grown, grown[0, 0]


def model():
    return JaxModel(jax.jit(init), jax.jit(step, donate_argnums=0), reads_loss=False)
