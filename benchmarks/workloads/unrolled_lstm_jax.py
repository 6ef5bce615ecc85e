"""The JAX twin of unrolled_lstm.py: that of lstm.py, whose arithmetic is the same."""

from benchmarks.workloads.lstm_jax import model as model
