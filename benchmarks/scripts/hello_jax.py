"""The JAX twin of hello.py."""

import jax
import jax.numpy as jnp

print("Hello, JAX!")
print(jax.jit(lambda a, b: a + b)(jnp.int32(40), jnp.int32(2)))
