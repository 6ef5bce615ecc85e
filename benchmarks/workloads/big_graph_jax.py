"""The JAX twin of big_graph.py; what compares to building a graph is tracing the step."""

from benchmarks.workloads import transformer_jax
from benchmarks.workloads.big_graph import SIZE


def model():
    return transformer_jax.model(SIZE)
