"""The JAX twin of transformer.py: 2-D matmuls throughout, so that XLA's CPU backend keeps its matrix library."""

import math

import jax
import jax.numpy as jnp
import optax

from benchmarks.workloads.jax_training import glorot, trainer
from benchmarks.workloads.model import JaxModel
from benchmarks.workloads.transformer import SMALL


def start(key, size):
    keys = iter(jax.random.split(key, 3 + 6 * size.layers))

    def dense(fan_in, fan_out):
        return glorot(next(keys), fan_in, fan_out), jnp.zeros(fan_out)

    def norm():
        return jnp.ones(size.width), jnp.zeros(size.width)

    def layer():
        projections = {name: dense(size.width, size.width) for name in ("query", "key", "value", "mix")}
        widen, narrow = dense(size.width, size.hidden), dense(size.hidden, size.width)
        return {"norm1": norm(), **projections, "norm2": norm(), "widen": widen, "narrow": narrow}

    return {
        "tokens": glorot(next(keys), size.vocabulary, size.width),
        "positions": glorot(next(keys), size.positions, size.width),
        "layers": [layer() for _ in range(size.layers)],
        "norm": norm(),
        "logits": dense(size.width, size.vocabulary),
    }


def layer_norm(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * scale + offset


def dense(x, weights, biases):
    return x @ weights + biases


def attention(x, layer, size):
    def heads(name):
        split = dense(x, *layer[name]).reshape(size.batch, size.positions, size.heads, size.width // size.heads)
        return split.transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / math.sqrt(size.width // size.heads)
    mixed = (jax.nn.softmax(scores) @ heads("value")).transpose(0, 2, 1, 3)
    return dense(mixed.reshape(-1, size.width), *layer["mix"])


def model(size=SMALL, dtype="float32"):
    def loss(params, tokens, targets):
        params = jax.tree.map(lambda p: p.astype(dtype), params)
        x = (params["tokens"][tokens] + params["positions"]).reshape(-1, size.width)
        for layer in params["layers"]:
            x = x + attention(layer_norm(x, *layer["norm1"]), layer, size)
            hidden = jax.nn.gelu(dense(layer_norm(x, *layer["norm2"]), *layer["widen"]), approximate=True)
            x = x + dense(hidden, *layer["narrow"])
        logits = dense(layer_norm(x, *params["norm"]), *params["logits"])
        return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), targets.reshape(-1)).mean()

    return JaxModel(*trainer(lambda key: start(key, size), loss, optax.adam(1e-4)), reads_loss=True)
