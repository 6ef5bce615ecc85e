"""`tensorflow.examples.saved_model.integration_tests.mnist_util`: MNIST as arrays of a model's inputs and targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.keras.datasets import fashion_mnist, mnist
from tfcompat._src.keras.utils.np_utils import to_categorical

INPUT_SHAPE = (28, 28, 1)
NUM_CLASSES = 10
_TINY = (16, 128)
"""Random images to train with and to test with."""


def load_reshaped_data(use_fashion_mnist: bool = False, fake_tiny_data: bool = False) -> tuple[Any, Any]:
    """Images between 0 and 1 with one channel and their classes as one-hot vectors, for training and for the test.

    Args:
      use_fashion_mnist: the data set of clothes in place of digits. fake_tiny_data: a few random images in place of both.
    """
    parts = tuple(map(_random, _TINY)) if fake_tiny_data else (fashion_mnist if use_fashion_mnist else mnist)()
    train, test = ((images[..., None].astype(np.float32) / 255.0, to_categorical(labels, NUM_CLASSES)) for images, labels in parts)
    return train, test


def _random(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.randint(0, 256, (count, *INPUT_SHAPE[:2]), np.uint8), np.random.randint(0, NUM_CLASSES, count, np.int64)
