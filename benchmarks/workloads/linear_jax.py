"""The JAX twin of linear.py."""

import jax.numpy as jnp
import optax

from benchmarks.workloads.jax_training import trainer
from benchmarks.workloads.model import JaxModel


def loss(params, x, y):
    return jnp.square(params["weight"] * x + params["bias"] - y)


def model():
    def start(key):
        return {"weight": jnp.zeros(()), "bias": jnp.zeros(())}

    return JaxModel(*trainer(start, loss, optax.sgd(0.01)), reads_loss=True)
