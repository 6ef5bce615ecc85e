"""The handwritten digits of examples/data."""
import os

import numpy as np

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../examples/data/digits.npz")


class Digits(object):
    """Images as rows of 64 numbers, and labels."""

    def __init__(self):
        with np.load(FILE) as stored:
            self.data, self.target = stored["images"].reshape(-1, 64).astype(np.float64), stored["labels"].astype(np.int64)


def load_digits():
    """The 1,797 digits."""
    return Digits()
