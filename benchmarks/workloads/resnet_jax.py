"""The JAX twin of resnet.py: weights and moving averages in float32, convolutions in the dtype that is asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.workloads.jax_training import glorot
from benchmarks.workloads.model import JaxModel
from benchmarks.workloads.resnet import EPSILON, EXPANSION, MOMENTUM, SIZES

LAYOUT = ("NHWC", "HWIO", "NHWC")


def layers(size):
    """The shapes of the kernels, in the order of use, each with its strides."""
    yield (7, 7, 3, size.width), 2
    channels = size.width
    for stage, count in enumerate(size.blocks):
        filters = size.width * 2**stage
        for i in range(count):
            strides = 2 if stage and not i else 1
            if strides != 1 or channels != EXPANSION * filters:
                yield (1, 1, channels, EXPANSION * filters), strides
            yield (1, 1, channels, filters), 1
            yield (3, 3, filters, filters), strides
            yield (1, 1, filters, EXPANSION * filters), 1
            channels = EXPANSION * filters


def start(key, size):
    shapes = [shape for shape, _ in layers(size)]
    keys = jax.random.split(key, len(shapes) + 1)
    he = jax.nn.initializers.variance_scaling(2.0, "fan_out", "truncated_normal")
    convolutions = [(he(k, shape), jnp.ones(shape[-1]), jnp.zeros(shape[-1])) for k, shape in zip(keys, shapes)]
    dense = glorot(keys[-1], size.width * 2 ** (len(size.blocks) - 1) * EXPANSION, size.classes), jnp.zeros(size.classes)
    averages = [(jnp.zeros(shape[-1]), jnp.ones(shape[-1])) for shape in shapes]
    return {"convolutions": convolutions, "dense": dense}, averages


class Network:
    """One pass: takes the weights in the order of `layers` and keeps the new moving averages."""

    def __init__(self, params, averages, size):
        self.weights = iter(zip(params["convolutions"], averages, layers(size)))
        self.new_averages = []

    def convolve(self, x):
        (kernel, scale, offset), (mean_before, variance_before), (_, strides) = next(self.weights)
        x = jax.lax.conv_general_dilated(x, kernel.astype(x.dtype), (strides, strides), "SAME", dimension_numbers=LAYOUT)
        wide = x.astype(jnp.float32)
        mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
        count = wide.size / wide.shape[-1]
        unbiased = variance * count / max(count - 1, 1)
        moved = [MOMENTUM * a + (1 - MOMENTUM) * b for a, b in ((mean_before, mean), (variance_before, unbiased))]
        self.new_averages.append(tuple(map(jax.lax.stop_gradient, moved)))
        return ((wide - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + offset).astype(x.dtype)

    def block(self, x, filters, strides):
        shortcut = self.convolve(x) if strides != 1 or x.shape[-1] != EXPANSION * filters else x
        x = jax.nn.relu(self.convolve(x))
        x = jax.nn.relu(self.convolve(x))
        return jax.nn.relu(self.convolve(x) + shortcut)

    def features(self, x, size):
        x = jax.nn.relu(self.convolve(x))
        x = jax.lax.reduce_window(x, np.array(-np.inf, x.dtype), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for stage, count in enumerate(size.blocks):
            for i in range(count):
                x = self.block(x, size.width * 2**stage, 2 if stage and not i else 1)
        return x.mean((1, 2))


def model(dtype="float32", size="whole"):
    size = SIZES[size]
    optimizer = optax.sgd(0.01, MOMENTUM)

    def loss(params, averages, x, labels):
        network = Network(params, averages, size)
        weights, biases = params["dense"]
        features = network.features(x.astype(dtype), size)
        logits = (features @ weights.astype(dtype) + biases.astype(dtype)).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), network.new_averages

    def init(key):
        params, averages = start(key, size)
        return params, averages, optimizer.init(params)

    def step(state, x, labels):
        params, averages, slots = state
        (value, averages), gradients = jax.value_and_grad(loss, has_aux=True)(params, averages, x, labels)
        updates, slots = optimizer.update(gradients, slots, params)
        return (optax.apply_updates(params, updates), averages, slots), value

    return JaxModel(jax.jit(init), jax.jit(step, donate_argnums=0), reads_loss=True)
