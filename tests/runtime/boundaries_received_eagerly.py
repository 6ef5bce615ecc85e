"""Arrays that a program receives from operations that run at once, and writes into."""

import numpy as np
from boundaries_received import keras_predict, written_by
from boundary_rows import RECEIVED, SIZE, row, seen, write


@row(RECEIVED, eager=True)
def eager_numpy(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(made.numpy(), writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_numpy_of_a_result(tf):
    writable = []
    made = tf.exp(tf.zeros([SIZE]))
    write(made.numpy(), writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_array(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(np.array(made), writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_asarray(tf):
    """From Python 3.12 on NumPy takes the tensor's memory, which is read-only, as in 1.15."""
    made = tf.constant(np.ones(SIZE, np.float32))
    write(np.asarray(made), [])
    return seen(made.numpy()), []


@row(RECEIVED, eager=True)
def eager_filled(tf):
    writable = []
    made = tf.fill([SIZE], 1.0)
    write(made.numpy(), writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_variable_numpy(tf):
    writable = []
    v = tf.Variable(np.ones(SIZE, np.float32))
    write(v.numpy(), writable)
    write(v.read_value().numpy(), writable)
    return seen(v.numpy()), writable


@row(RECEIVED, eager=True)
def eager_py_func(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    written_by(tf, made, writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_numpy_function(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    written_by(tf, made, writable, tf.numpy_function)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_constant_value(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(tf.get_static_value(made), writable)
    return seen(made.numpy()), writable


@row(RECEIVED, eager=True)
def eager_map(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, SIZE), np.float32)).cache()
    data = data.map(lambda x: written_by(tf, x, writable)).repeat(2)
    return seen([x.numpy() for x in data]), writable


@row(RECEIVED, eager=True)
def eager_element(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, SIZE), np.float32)).cache().repeat(2)
    found = []
    for x in data:
        array = x.numpy()
        found += seen(array)
        write(array, writable)
    return found, writable


@row(RECEIVED, eager=True)
def eager_shares_no_array(tf):
    """Two tensors of one value: identity, reshape, and a variable that was assigned."""
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    v = tf.Variable(np.zeros(SIZE, np.float32))
    v.assign(made)
    others = [tf.identity(made), tf.reshape(made, [2, 2]), v]
    write(made.numpy(), writable)
    return [n for other in others for n in seen(other.numpy())], writable


@row(RECEIVED, eager=True)
def eager_keras_predict(tf):
    return keras_predict(tf)


@row(RECEIVED, eager=True)
def eager_gradient(tf):
    writable = []
    x = tf.constant(np.ones(SIZE, np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.square(x)) / 2.0
    slope = tape.gradient(y, x)
    write(slope.numpy(), writable)
    return seen(slope.numpy()) + seen(x.numpy()), writable
