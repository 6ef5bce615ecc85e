"""Arrays that a graph program receives, and writes into."""

import os
import tempfile

import numpy as np
from boundary_rows import RECEIVED, SIZE, ones, row, seen, session, write


def written_by(tf, tensor, writable, call=None):
    """What a function that writes into its argument gives: the sum of what it got."""

    def change(y):
        total = np.float32(y.mean())
        write(y, writable)
        return total

    return (call or tf.py_func)(change, [tensor], tf.float32)


@row(RECEIVED)
def py_func_feed(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    made = written_by(tf, x, writable)
    with session(tf) as sess:
        given = ones()
        return [sess.run(made, {x: given}), *seen(given)], writable


@row(RECEIVED)
def py_func_feed_used_after(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    made = written_by(tf, x, writable)
    with tf.control_dependencies([made]):
        after = tf.reduce_mean(x)
    with session(tf) as sess:
        return sess.run([made, after], {x: ones()}), writable


@row(RECEIVED)
def py_func_constant(tf):
    writable = []
    made = written_by(tf, tf.constant(np.ones(SIZE, np.float32)), writable)
    with session(tf) as sess:
        return [sess.run(made), sess.run(made)], writable


@row(RECEIVED)
def py_func_filled_constant(tf):
    writable = []
    made = written_by(tf, tf.constant(1.0, shape=[SIZE]), writable)
    with session(tf) as sess:
        return [sess.run(made), sess.run(made)], writable


@row(RECEIVED)
def py_func_ref_variable(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32))
    made = written_by(tf, v, writable)
    with session(tf) as sess:
        sess.run(v.initializer)
        return [sess.run(made), sess.run(made), *seen(sess.run(v))], writable


@row(RECEIVED)
def py_func_resource_variable(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32), use_resource=True)
    made = written_by(tf, v, writable)
    with session(tf) as sess:
        sess.run(v.initializer)
        return [sess.run(made), sess.run(made), *seen(sess.run(v))], writable


@row(RECEIVED)
def py_func_loaded_variable(tf):
    writable, v = [], tf.Variable(np.zeros(SIZE, np.float32), use_resource=True)
    made = written_by(tf, v, writable)
    with session(tf) as sess:
        v.load(np.ones(SIZE, np.float32), sess)
        return [sess.run(made), sess.run(made), *seen(sess.run(v))], writable


@row(RECEIVED)
def py_func_computed(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    computed = tf.exp(x) - tf.exp(x) + x
    made = written_by(tf, computed, writable)
    with tf.control_dependencies([made]):
        after = tf.reduce_mean(computed)
    with session(tf) as sess:
        return sess.run([made, after], {x: ones()}), writable


@row(RECEIVED)
def py_func_twice(tf):
    """Two functions get the same array, one after the other."""
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    computed = tf.reshape(tf.py_func(lambda y: y + 0, [x], tf.float32), [2, 2])
    first = written_by(tf, computed, writable)
    with tf.control_dependencies([first]):
        second = written_by(tf, computed, writable)
    with session(tf) as sess:
        return sess.run([first, second, tf.reduce_mean(computed)], {x: ones()}), writable


@row(RECEIVED)
def py_func_returns_what_it_got(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    same = tf.py_func(lambda y: y, [x], tf.float32)
    with session(tf) as sess:
        given = ones()
        found = sess.run([same, tf.reshape(same, [2, 2])], {x: given})
        write(found[0], writable)
        return [*seen(found[1]), *seen(given)], writable


@row(RECEIVED)
def py_func_strings(tf):
    writable, kept = [], tf.constant(["1"] * SIZE)

    def change(y):
        first = np.float32(y[0])
        writable.append(bool(y.flags.writeable))
        y[...] = b"9"
        return first

    made = tf.py_func(change, [kept], tf.float32)
    with session(tf) as sess:
        return [sess.run(made), sess.run(made)], writable


@row(RECEIVED)
def stateless_py_func(tf):
    writable = []
    made = written_by(
        tf, tf.constant(np.ones(SIZE, np.float32)), writable, lambda *call: tf.py_func(*call, stateful=False)
    )
    x = tf.placeholder(tf.float32, [])
    with session(tf) as sess:
        return [sess.run(made + x, {x: 0.0}), sess.run(made + x, {x: 0.0})], writable


@row(RECEIVED)
def numpy_function_feed(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    made = written_by(tf, x, writable, tf.numpy_function)
    with session(tf) as sess:
        given = ones()
        return [sess.run(made, {x: given}), *seen(given)], writable


@row(RECEIVED)
def py_function_numpy(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])

    def change(y):
        array = y.numpy()
        write(array, writable)
        return tf.reduce_mean(y)

    made = tf.py_function(change, [x], tf.float32)
    with session(tf) as sess:
        given = ones()
        sess.run(made, {x: given})
        return seen(given), writable


def _iterated(tf, data, count):
    following = tf.data.make_one_shot_iterator(data).get_next()
    with session(tf) as sess:
        return [sess.run(following) for _ in range(count)]


@row(RECEIVED)
def map_over_slices(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, SIZE), np.float32))
    data = data.map(lambda x: written_by(tf, x, writable)).repeat(2)
    return _iterated(tf, data, 4), writable


@row(RECEIVED)
def map_over_a_tensor(tf):
    writable = []
    data = tf.data.Dataset.from_tensors(np.ones(SIZE, np.float32)).repeat(3)
    return _iterated(tf, data.map(lambda x: written_by(tf, x, writable)), 3), writable


@row(RECEIVED)
def map_over_cached(tf):
    writable = []
    data = tf.data.Dataset.range(1).map(lambda i: tf.ones([SIZE]) * tf.cast(i + 1, tf.float32)).cache().repeat(3)
    return _iterated(tf, data.map(lambda x: written_by(tf, x, writable)), 3), writable


@row(RECEIVED)
def map_with_a_captured_constant(tf):
    writable = []
    kept = tf.constant(np.ones(SIZE, np.float32))
    data = tf.data.Dataset.range(3).map(lambda i: written_by(tf, kept, writable))
    return _iterated(tf, data, 3), writable


@row(RECEIVED)
def map_of_a_batch(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((4, SIZE), np.float32)).batch(2)
    return _iterated(tf, data.map(lambda x: written_by(tf, x, writable)), 2), writable


@row(RECEIVED)
def filter_then_used(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, SIZE), np.float32))
    data = data.filter(lambda x: written_by(tf, x, writable) > 0).map(tf.reduce_mean)
    return _iterated(tf, data, 2), writable


@row(RECEIVED)
def arguments_of_a_generator(tf):
    writable = []

    def generate(y):
        yield np.float32(y.mean())
        write(y, writable)

    def data(_):
        return tf.data.Dataset.from_generator(generate, tf.float32, [], args=(np.ones(SIZE, np.float32),))

    return _iterated(tf, tf.data.Dataset.range(2).flat_map(data), 2), writable


def fetched(tf, tensor, writable, feed=None, initializer=None):
    """What a second fetch sees after the first was written into."""
    with session(tf) as sess:
        if initializer is not None:
            sess.run(initializer)
        write(sess.run(tensor, feed), writable)
        return seen(sess.run(tensor, feed))


@row(RECEIVED)
def fetched_constant(tf):
    writable = []
    return fetched(tf, tf.constant(np.ones(SIZE, np.float32)), writable), writable


@row(RECEIVED)
def fetched_filled_constant(tf):
    writable = []
    return fetched(tf, tf.constant(1.0, shape=[SIZE]), writable), writable


@row(RECEIVED)
def fetched_ref_variable(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32))
    return fetched(tf, v, writable, None, v.initializer), writable


@row(RECEIVED)
def fetched_resource_variable(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32), use_resource=True)
    return fetched(tf, v, writable, None, v.initializer), writable


@row(RECEIVED)
def fetched_assignment(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32))
    change = tf.assign(v, v * 1.0)
    with session(tf) as sess:
        sess.run(v.initializer)
        write(sess.run(change), writable)
        return seen(sess.run(v)), writable


@row(RECEIVED)
def fetched_two_names(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    first = tf.py_func(lambda y: y + 0, [x], tf.float32)
    with session(tf) as sess:
        found = sess.run([first, tf.identity(first), tf.reshape(first, [2, 2])], {x: ones()})
        write(found[0], writable)
        return seen(found[1]) + seen(found[2]), writable


@row(RECEIVED)
def fetched_computed(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    with session(tf) as sess:
        found = sess.run([x * 1.0, tf.identity(x * 1.0)], {x: ones()})
        write(found[0], writable)
        return seen(found[1]), writable


@row(RECEIVED)
def fetched_feed_written(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    with session(tf) as sess:
        given = ones()
        write(sess.run(x, {x: given}), writable)
        return seen(given), writable


@row(RECEIVED)
def fetched_read_only_feed(tf):
    writable, x = [], tf.placeholder(tf.float32, [SIZE])
    given = ones()
    given.flags.writeable = False
    made = written_by(tf, x, writable)
    with session(tf) as sess:
        write(sess.run(tf.identity(x), {x: given}), writable)
        sess.run(made, {x: given})
        return seen(given), writable


@row(RECEIVED)
def fetched_strings(tf):
    writable, kept = [], tf.constant(["1"] * SIZE)
    with session(tf) as sess:
        found = sess.run(kept)
        writable.append(bool(found.flags.writeable))
        found[...] = b"9"
        return [int(s) for s in seen(sess.run(kept))], writable


@row(RECEIVED)
def fetched_handle(tf):
    writable = []
    v = tf.Variable(np.ones(SIZE, np.float32), use_resource=True)
    with session(tf) as sess:
        sess.run(v.initializer)
        found = sess.run(v.handle)
        writable.append(bool(found.flags.writeable))
        return seen(sess.run(v)), writable


@row(RECEIVED)
def fetched_sparse(tf):
    writable = []
    kept = tf.SparseTensor([[0], [1]], np.ones(2, np.float32), [2])
    with session(tf) as sess:
        write(sess.run(kept).values, writable)
        return seen(sess.run(kept).values), writable


@row(RECEIVED)
def fetched_ragged(tf):
    writable = []
    kept = tf.RaggedTensor.from_row_splits(np.ones(3, np.float32), [0, 1, 3])
    with session(tf) as sess:
        write(sess.run(kept).values, writable)
        return seen(sess.run(kept).values), writable


@row(RECEIVED)
def fetched_element(tf):
    writable = []
    data = tf.data.Dataset.from_tensors(np.ones(SIZE, np.float32)).cache().repeat()
    following = tf.data.make_one_shot_iterator(data).get_next()
    with session(tf) as sess:
        for _ in range(2):
            write(sess.run(following), writable)
        return seen(sess.run(following)), writable


@row(RECEIVED)
def fetched_slices(tf):
    writable = []
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, SIZE), np.float32)).repeat()
    following = tf.data.make_one_shot_iterator(data).get_next()
    with session(tf) as sess:
        for _ in range(2):
            write(sess.run(following), writable)
        return [*seen(sess.run(following)), *seen(sess.run(following))], writable


@row(RECEIVED)
def fetched_from_a_queue(tf):
    writable, q = [], tf.FIFOQueue(3, tf.float32, [[SIZE]])
    into, out = q.enqueue_many([np.ones((2, SIZE), np.float32)]), q.dequeue()
    with session(tf) as sess:
        sess.run(into)
        write(sess.run(out), writable)
        found = seen(sess.run(out))
        sess.run(into)
        return found + seen(sess.run(out)), writable


@row(RECEIVED)
def fetched_from_a_table(tf):
    writable = []
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, np.ones(SIZE, np.float32))
    with session(tf) as sess:
        sess.run(table.insert(tf.constant(["a"]), np.ones((1, SIZE), np.float32)))
        for value in (*sess.run([table.lookup(tf.constant("a")), table.lookup(tf.constant("b"))]), sess.run(table.export())[1]):
            write(value, writable)
        return seen(sess.run([table.lookup(tf.constant("a")), table.lookup(tf.constant("b"))])), writable


@row(RECEIVED)
def partial_run_fetch(tf):
    writable, x, y = [], tf.placeholder(tf.float32, [SIZE]), tf.placeholder(tf.float32, [SIZE])
    first = x * 1.0
    second = first * y
    with session(tf) as sess:
        handle = sess.partial_run_setup([first, second], [x, y])
        write(sess.partial_run(handle, first, {x: ones()}), writable)
        return seen(sess.partial_run(handle, second, {y: ones()})), writable


@row(RECEIVED)
def session_handle_value(tf):
    writable = []
    with session(tf) as sess:
        handle = sess.run(tf.get_session_handle(tf.constant(np.ones(SIZE, np.float32))))
        write(handle.eval(), writable)
        return seen(handle.eval()), writable


@row(RECEIVED)
def constant_value(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(tf.contrib.util.constant_value(made), writable)
    with session(tf) as sess:
        return seen(sess.run(made)), writable


@row(RECEIVED)
def constant_value_of_a_filled_constant(tf):
    writable = []
    made = tf.constant(1.0, shape=[SIZE])
    write(tf.contrib.util.constant_value(made), writable)
    with session(tf) as sess:
        return seen(sess.run(made)), writable


@row(RECEIVED)
def ndarray_of_a_proto(tf):
    writable = []
    made = tf.make_tensor_proto(np.ones(SIZE, np.float32))
    write(tf.make_ndarray(made), writable)
    return seen(tf.make_ndarray(made)), writable


@row(RECEIVED)
def ndarray_of_an_attribute(tf):
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(tf.make_ndarray(made.op.get_attr("value")), writable)
    with session(tf) as sess:
        return seen(sess.run(made)), writable


@row(RECEIVED)
def checkpoint_reader(tf):
    writable = []
    v = tf.Variable(np.ones(SIZE, np.float32), name="v")
    with tempfile.TemporaryDirectory() as folder, session(tf) as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, os.path.join(folder, "c"))
        reader = tf.train.NewCheckpointReader(path)
        write(reader.get_tensor("v"), writable)
        write(tf.train.load_variable(path, "v"), writable)
        return seen(reader.get_tensor("v")), writable


@row(RECEIVED)
def hook_values(tf):
    writable, v = [], tf.Variable(np.ones(SIZE, np.float32), use_resource=True)
    found, same = [], v * 1.0

    class Hook(tf.train.SessionRunHook):
        def before_run(self, context):
            return tf.train.SessionRunArgs(same)

        def after_run(self, context, values):
            write(values.results, writable)

    with tf.train.MonitoredSession(hooks=[Hook()]) as sess:
        found += seen(sess.run(v)) + seen(sess.run(v))
    return found, writable


@row(RECEIVED)
def keras_get_weights(tf):
    writable = []
    layer = tf.keras.layers.Dense(SIZE, use_bias=False, kernel_initializer="ones")
    layer.build([None, SIZE])
    write(layer.get_weights()[0], writable)
    return seen(layer.get_weights()[0]), writable


@row(RECEIVED)
def keras_predict(tf):
    writable = []
    model = tf.keras.Sequential([tf.keras.layers.Activation("linear", input_shape=(SIZE,))])
    given = ones(2, SIZE)
    write(model.predict(given), writable)
    return seen(given) + seen(model.predict(given)), writable


@row(RECEIVED)
def keras_get_value(tf):
    writable = []
    v = tf.keras.backend.variable(np.ones(SIZE))
    write(tf.keras.backend.get_value(v), writable)
    return seen(tf.keras.backend.get_value(v)), writable
