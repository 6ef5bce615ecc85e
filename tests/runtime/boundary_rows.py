"""What rows of `array_boundaries.py` are made with."""

import os

import numpy as np

GIVEN, RECEIVED = {}, {}
SIZE = 4
OFFSET = int(os.environ.get("ARRAY_OFFSET", "0"))


def row(table, eager=False):
    def register(function):
        table[function.__name__] = (function, eager)
        return function

    return register


def ones(*shape, dtype=np.float32):
    """An array at an address that compilers could use as it is: NumPy's are at multiples of 16, TensorFlow takes those of 64."""
    shape = shape or (SIZE,)
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(count + 128, np.uint8)
    start = -room.ctypes.data % 64 + OFFSET
    found = room[start : start + count].view(dtype).reshape(shape)
    found[...] = 1
    return found


def nines(array):
    array[...] = 9


def write(value, writable):
    """Writes nines into an array that was received, where that is allowed."""
    writable.append(bool(value.flags.writeable))
    if value.flags.writeable:
        value[...] = 9


def seen(value):
    return np.unique(np.asarray(value)).tolist()


def session(tf):
    config = tf.ConfigProto(inter_op_parallelism_threads=1)
    return tf.Session(config=config)
