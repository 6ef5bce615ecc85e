"""The JAX twin of base_transformer.py."""

from benchmarks.workloads import transformer_jax
from benchmarks.workloads.base_transformer import SIZES


def model(dtype="float32", size="whole"):
    return transformer_jax.model(SIZES[size], dtype)
