"""The JAX twin of cnn.py."""

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.cnn import DROPPED
from benchmarks.workloads.jax_training import glorot
from benchmarks.workloads.model import JaxModel


def start(key):
    keys = jax.random.split(key, 4)
    shapes = [(5, 5, 1, 32), (5, 5, 32, 64), (7 * 7 * 64, 1024), (1024, 10)]
    return [(glorot(k, *shape), jnp.zeros(shape[-1])) for k, shape in zip(keys, shapes)]


def convolve(images, kernel, biases):
    out = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(out + biases)


def pool(images):
    """2x2 maxima. The gradient of reduce_window is far slower on a CPU."""
    n, height, width, channels = images.shape
    return images.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))


def loss(params, key, x, labels):
    conv1, conv2, dense1, dense2 = params
    hidden = pool(convolve(pool(convolve(x, *conv1)), *conv2))
    hidden = jax.nn.relu(hidden.reshape(len(hidden), -1) @ dense1[0] + dense1[1])
    kept = jax.random.bernoulli(key, 1 - DROPPED, hidden.shape)
    hidden = jnp.where(kept, hidden / (1 - DROPPED), 0)
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ dense2[0] + dense2[1], labels).mean()


def model():
    optimizer = optax.adam(1e-4)

    def init(key):
        params = start(key)
        return params, optimizer.init(params), key

    def step(state, x, labels):
        params, slots, key = state
        key, dropout_key = jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(params, dropout_key, x, labels)
        updates, slots = optimizer.update(gradients, slots, params)
        return (optax.apply_updates(params, updates), slots, key), value

    return JaxModel(jax.jit(init), jax.jit(step, donate_argnums=0), reads_loss=True)
