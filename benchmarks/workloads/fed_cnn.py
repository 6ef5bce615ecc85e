"""The network of cnn.py fed by tf.data: uint8 images in memory are shuffled, scaled in parallel calls, batched and fetched ahead."""

import numpy as np

from benchmarks.workloads import cnn
from benchmarks.workloads.model import GraphModel

EXAMPLES, BATCH = 4096, 128


def batches():
    return [()]


def examples():
    """uint8 images `(EXAMPLES, 28, 28, 1)` and int32 labels below 10."""
    rng = np.random.RandomState(0)
    return rng.randint(0, 256, (EXAMPLES, 28, 28, 1)).astype(np.uint8), rng.randint(0, 10, EXAMPLES).astype(np.int32)


def build(tf):
    dataset = tf.data.Dataset.from_tensor_slices(examples()).shuffle(EXAMPLES, seed=1).repeat()
    dataset = dataset.map(lambda x, label: (tf.cast(x, tf.float32) / 255.0, label), num_parallel_calls=2)
    x, labels = tf.data.make_one_shot_iterator(dataset.batch(BATCH, drop_remainder=True).prefetch(2)).get_next()
    train, loss = cnn.training(tf, x, labels)
    return GraphModel((), [train, loss], loss)
