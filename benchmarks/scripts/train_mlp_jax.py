"""The JAX twin of train_mlp.py."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.RandomState(0)
images = rng.rand(2048, 784).astype(np.float32)
digits = rng.randint(0, 10, 2048).astype(np.int32)

SIZES = (784, 256, 256, 10)
optimizer = optax.adam(1e-3)


@jax.jit
def init(key):
    keys = jax.random.split(key, len(SIZES) - 1)
    params = [
        (jax.nn.initializers.glorot_uniform()(k, (n, m)), jnp.zeros(m)) for k, n, m in zip(keys, SIZES, SIZES[1:])
    ]
    return params, optimizer.init(params)


def loss(params, x, labels):
    for weights, biases in params[:-1]:
        x = jax.nn.relu(x @ weights + biases)
    weights, biases = params[-1]
    return optax.softmax_cross_entropy_with_integer_labels(x @ weights + biases, labels).mean()


def train(state, x, labels):
    params, slots = state
    value, gradients = jax.value_and_grad(loss)(params, x, labels)
    updates, slots = optimizer.update(gradients, slots, params)
    return (optax.apply_updates(params, updates), slots), value


train = jax.jit(train, donate_argnums=0)
state = init(jax.random.key(0))
for i in range(1000):
    batch = slice(i % 16 * 128, i % 16 * 128 + 128)
    state, value = train(state, images[batch], digits[batch])
    value = float(value)
print(f"loss after 1,000 steps: {value:.4f}")
