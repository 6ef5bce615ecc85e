"""The training step that the JAX twins share: one jitted function, its state donated."""

import jax
import optax


def trainer(start, loss, optimizer):
    """`start(key) -> params`, `loss(params, *batch) -> scalar` and an optax optimizer as (init, step) of a JaxModel."""

    def init(key):
        params = start(key)
        return params, optimizer.init(params)

    def step(state, *batch):
        params, slots = state
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        updates, slots = optimizer.update(gradients, slots, params)
        return (optax.apply_updates(params, updates), slots), value

    return jax.jit(init), jax.jit(step, donate_argnums=0)


def glorot(key, *shape):
    """Glorot uniform values, as tf.layers and tf.get_variable start with."""
    return jax.nn.initializers.glorot_uniform()(key, shape)
