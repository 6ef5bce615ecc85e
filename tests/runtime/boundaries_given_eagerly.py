"""Arrays that a program gives to operations that run at once, and changes afterwards."""

import numpy as np
from boundaries_given import keras_weights
from boundary_rows import GIVEN, SIZE, nines, ones, row, seen


@row(GIVEN, eager=True)
def eager_constant(tf):
    given = ones()
    made = tf.constant(given)
    nines(given)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_converted(tf):
    given = ones()
    made = tf.convert_to_tensor(given)
    nines(given)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_identity(tf):
    given = ones()
    made = tf.identity(given)
    nines(given)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_reshaped(tf):
    given = ones()
    made = tf.reshape(given, [2, 2])
    nines(given)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_variable(tf):
    given = ones()
    v = tf.Variable(given)
    nines(given)
    return seen(v.numpy())


@row(GIVEN, eager=True)
def eager_assigned(tf):
    given = ones()
    v = tf.Variable(np.zeros(SIZE, np.float32))
    v.assign(given)
    nines(given)
    return seen(v.numpy())


@row(GIVEN, eager=True)
def eager_assigned_and_updated(tf):
    given = ones()
    v = tf.Variable(np.zeros(SIZE, np.float32))
    v.assign(given)
    v.assign_add(np.ones(SIZE, np.float32))
    return [*seen(given), *seen(v.numpy() - 1)]


@row(GIVEN, eager=True)
def eager_function_argument(tf):
    """An array given to a tf.function that returns before it has been read."""
    v = tf.Variable(0.0)

    @tf.function
    def change(x):
        for _ in range(2):
            x = tf.matmul(x, x) / 1000.0
        v.assign(tf.reduce_mean(x))

    found = []
    for _ in range(3):
        given = ones(1000, 1000)
        change(given)
        nines(given)
        found += seen(np.round(v.numpy(), 3))
    return sorted(set(found))


@row(GIVEN, eager=True)
def eager_dataset(tf):
    given = ones()
    data = tf.data.Dataset.from_tensor_slices(given)
    nines(given)
    return seen([x.numpy() for x in data])


@row(GIVEN, eager=True)
def eager_queue(tf):
    q = tf.queue.FIFOQueue(3, [tf.float32], [[SIZE]])
    given = ones()
    q.enqueue([given])
    nines(given)
    return seen(q.dequeue().numpy())


@row(GIVEN, eager=True)
def eager_returned_by_py_func(tf):
    buffer = ones()
    made = tf.py_func(lambda: buffer, [], tf.float32)
    nines(buffer)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_returned_by_numpy_function(tf):
    buffer = ones()
    made = tf.numpy_function(lambda: buffer, [], tf.float32)
    nines(buffer)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_returned_by_py_function(tf):
    buffer = ones()
    made = tf.py_function(lambda: buffer, [], tf.float32)
    nines(buffer)
    return seen(made.numpy())


@row(GIVEN, eager=True)
def eager_buffer_of_a_generator(tf):
    def generate():
        buffer = ones()
        for k in range(1, 4):
            buffer[...] = k
            yield buffer

    data = tf.data.Dataset.from_generator(generate, tf.float32, [SIZE]).batch(3)
    return seen(next(iter(data)).numpy()[:, 0])


@row(GIVEN, eager=True)
def eager_keras_weights(tf):
    return keras_weights(tf)


@row(GIVEN, eager=True)
def eager_concrete_function(tf):
    x = ones()

    @tf.function
    def same(y):
        return tf.identity(y)

    found = same(x)
    nines(x)
    return seen(found.numpy())
