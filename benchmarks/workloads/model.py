"""What a workload gives to the worker, and the data that every subject is fed. Runs on Python 3.7 too."""

import collections

import numpy as np

# `feeds` are placeholders, `fetches` what each step runs: the last is the loss, or an operation where nothing is read
# back. `probe` is a scalar that is then fetched after the last step of a round, so that all work is in the time.
GraphModel = collections.namedtuple("GraphModel", "feeds fetches probe")

# `init(key) -> state` and `step(state, *batch) -> (state, loss)`; both are jitted, `state` is donated to `step`.
# `reads_loss` says whether each step reads the loss back, as the graph's does.
JaxModel = collections.namedtuple("JaxModel", "init step reads_loss")


def images(count, batch_size, shape):
    """`count` batches of float32 images `(batch_size, *shape)` in [0, 1) and int32 labels `(batch_size,)` below 10."""
    rng = np.random.RandomState(0)
    return [
        (rng.rand(batch_size, *shape).astype(np.float32), rng.randint(0, 10, batch_size).astype(np.int32))
        for _ in range(count)
    ]


def scalars(count):
    """`count` pairs of a float32 scalar x and y = 3 x + 2 with noise."""
    rng = np.random.RandomState(0)
    x = rng.rand(count).astype(np.float32)
    return list(zip(x, (3 * x + 2 + 0.1 * rng.randn(count)).astype(np.float32)))


def word_pairs(count, batch_size, vocabulary):
    """`count` batches of int32 centre words `(batch_size,)` and context words `(batch_size, 1)`, log-uniform."""
    rng = np.random.RandomState(0)

    def words(*shape):
        drawn = np.exp(rng.rand(*shape) * np.log(vocabulary + 1)).astype(np.int32) - 1
        return np.clip(drawn, 0, vocabulary - 1)

    return [(words(batch_size), words(batch_size, 1)) for _ in range(count)]


def token_batches(count, batch_size, positions, vocabulary):
    """`count` batches of int32 tokens and of the tokens to predict, each `(batch_size, positions)`."""
    rng = np.random.RandomState(0)
    shape = (batch_size, positions)
    return [tuple(rng.randint(0, vocabulary, shape).astype(np.int32) for _ in range(2)) for _ in range(count)]


def cast_variables(tf):
    """A custom getter: a layer that computes in a narrower type gets its float32 variables cast to that type."""

    def narrowed(getter, name, *args, **kwargs):
        dtype = tf.as_dtype(kwargs.get("dtype") or tf.float32)
        if dtype != tf.bfloat16:
            return getter(name, *args, **kwargs)
        return tf.cast(getter(name, *args, **dict(kwargs, dtype=tf.float32)), dtype)

    return narrowed
