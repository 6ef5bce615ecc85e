"""A split in a fixed order."""
import numpy as np


def train_test_split(x, y, test_size, stratify):
    """The last part of a fixed permutation is the test set."""
    order = np.random.RandomState(0).permutation(len(x))
    kept = len(x) - int(np.ceil(test_size * len(x)))
    return x[order[:kept]], x[order[kept:]], y[order[:kept]], y[order[kept:]]
