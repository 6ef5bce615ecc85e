"""The JAX twin of fed_cnn.py: NumPy shuffles, scales and batches in the same thread, and the jitted step of cnn_jax.py trains."""

import numpy as np

from benchmarks.workloads import cnn_jax
from benchmarks.workloads.fed_cnn import BATCH, EXAMPLES, examples
from benchmarks.workloads.model import JaxModel


def batches_for_ever():
    images, labels = examples()
    rng = np.random.RandomState(1)
    while True:
        order = rng.permutation(EXAMPLES)
        for rows in order.reshape(-1, BATCH):
            yield images[rows].astype(np.float32) / 255.0, labels[rows]


def model():
    trained, fed = cnn_jax.model(), batches_for_ever()
    return JaxModel(trained.init, lambda state: trained.step(state, *next(fed)), reads_loss=True)
