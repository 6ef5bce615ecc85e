"""Where arrays go to user code or come from it: rows for `test_array_boundaries.py`, which run under TensorFlow 1.15.5 too.

    python tests/runtime/array_boundaries.py tensorflow     # or tfcompat: prints what each row observes

A row of `GIVEN` gives an array of ones to the program, changes it to nines, and returns what the program has of it: ones where
it took a copy. A row of `RECEIVED` gets arrays of ones from the program and writes nines into them, where it may; it returns
whether each could be written, and what the program has afterwards.
"""

import gc
import importlib
import json
import os
import sys
import tempfile

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


# ---- what is given ----


def fed_then(tf, make, take):
    """What `take` sees of an array that was fed to the operation of `make`, after the array changed."""
    x = tf.placeholder(tf.float32, [SIZE])
    into, out = make(x)
    with session(tf) as sess:
        sess.run(tf.global_variables_initializer())
        given = ones()
        sess.run(into, {x: given})
        nines(given)
        return seen(take(sess, out))


def run(sess, out):
    return sess.run(out)


@row(GIVEN)
def fifo_queue(tf):
    q = tf.FIFOQueue(3, tf.float32, [[SIZE]])
    return fed_then(tf, lambda x: (q.enqueue(x), q.dequeue()), run)


@row(GIVEN)
def fifo_queue_enqueue_many(tf):
    q = tf.FIFOQueue(9, tf.float32, [[]])
    return fed_then(tf, lambda x: (q.enqueue_many([x]), q.dequeue_many(SIZE)), run)


@row(GIVEN)
def padding_queue(tf):
    q = tf.PaddingFIFOQueue(3, tf.float32, [[None]])
    return fed_then(tf, lambda x: (q.enqueue(x), q.dequeue()), run)


@row(GIVEN)
def priority_queue(tf):
    q = tf.PriorityQueue(3, tf.float32, [[SIZE]])
    return fed_then(tf, lambda x: (q.enqueue([np.int64(1), x]), q.dequeue()[1]), run)


@row(GIVEN)
def shuffle_queue(tf):
    q = tf.RandomShuffleQueue(3, 0, tf.float32, [[SIZE]])
    return fed_then(tf, lambda x: (q.enqueue(x), q.dequeue()), run)


@row(GIVEN)
def view_in_a_queue(tf):
    q = tf.FIFOQueue(3, tf.float32)
    return fed_then(tf, lambda x: (q.enqueue(tf.reshape(tf.identity(x), [2, 2])), q.dequeue()), run)


@row(GIVEN)
def staging_area(tf):
    area = tf.contrib.staging.StagingArea([tf.float32], [[SIZE]])
    return fed_then(tf, lambda x: (area.put([x]), area.get()), run)


@row(GIVEN)
def map_staging_area(tf):
    from tensorflow.python.ops import data_flow_ops

    area = data_flow_ops.MapStagingArea([tf.float32], [[SIZE]])
    return fed_then(tf, lambda x: (area.put(np.int64(1), [x], [0]), area.get()[1]), run)


@row(GIVEN)
def barrier(tf):
    from tensorflow.python.ops import data_flow_ops

    b = data_flow_ops.Barrier((tf.float32,), shapes=((),))
    return fed_then(tf, lambda x: (b.insert_many(0, list("abcd"), x), b.take_many(SIZE)[2][0]), run)


@row(GIVEN)
def barrier_of_rows(tf):
    from tensorflow.python.ops import data_flow_ops

    b = data_flow_ops.Barrier((tf.float32,), shapes=((SIZE,),))
    return fed_then(tf, lambda x: (b.insert_many(0, ["a"], x[None]), b.take_many(1)[2][0]), run)


@row(GIVEN)
def accumulator(tf):
    a = tf.ConditionalAccumulator(tf.float32, [SIZE])
    return fed_then(tf, lambda x: (a.apply_grad(x), a.take_grad(1)), run)


@row(GIVEN)
def sparse_accumulator(tf):
    a = tf.SparseConditionalAccumulator(tf.float32)
    rows = np.arange(SIZE, dtype=np.int64)
    return fed_then(tf, lambda x: (a.apply_grad(rows, x, [SIZE]), a.take_grad(1)[1]), run)


@row(GIVEN)
def hash_table(tf):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, 0.0)
    return fed_then(tf, lambda x: (table.insert(list("abcd"), x), table.lookup(tf.constant(list("abcd")))), run)


@row(GIVEN)
def hash_table_of_rows(tf):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, [0.0] * SIZE)
    return fed_then(tf, lambda x: (table.insert(["a"], x[None]), table.lookup(tf.constant(["a"]))), run)


@row(GIVEN)
def dense_hash_table(tf):
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.float32, [0.0] * SIZE, -1, deleted_key=-2)
    return fed_then(tf, lambda x: (table.insert(tf.constant([3], tf.int64), x[None]), table.lookup(tf.constant([3], tf.int64))), run)


@row(GIVEN)
def stack(tf):
    from tensorflow.python.ops import gen_data_flow_ops as ops

    s, x = ops.stack_v2(-1, tf.float32, stack_name="kept"), tf.placeholder(tf.float32, [SIZE])
    given = ones()
    push = ops.stack_push_v2(s, x)
    with tf.control_dependencies([push]):
        change = tf.py_func(lambda: nines(given) or np.float32(0), [], tf.float32)
    with tf.control_dependencies([change]):
        pop = ops.stack_pop_v2(s, tf.float32)
    with session(tf) as sess:
        return seen(sess.run(pop, {x: given}))


@row(GIVEN)
def assigned_ref(tf):
    v = tf.Variable(tf.zeros([SIZE]))
    return fed_then(tf, lambda x: (tf.assign(v, x).op, v), run)


@row(GIVEN)
def assigned_resource(tf):
    v = tf.Variable(tf.zeros([SIZE]), use_resource=True)
    return fed_then(tf, lambda x: (v.assign(x).op, v.read_value()), run)


@row(GIVEN)
def assigned_on_the_host(tf):
    v = tf.Variable(tf.zeros([SIZE]), use_resource=True)

    def make(x):
        same = tf.py_func(lambda y: y, [x], tf.float32)
        same.set_shape([SIZE])
        return v.assign(same).op, v.read_value()

    return fed_then(tf, make, run)


@row(GIVEN)
def assigned_and_updated(tf):
    v = tf.Variable(tf.zeros([SIZE]), use_resource=True)
    given, add = ones(), v.assign_add(tf.ones([SIZE]))
    with session(tf) as sess:
        v.load(given, sess)
        sess.run(add.op)
        return [*seen(given), *seen(sess.run(v) - 1)]


@row(GIVEN)
def initial_value_fed(tf):
    x = tf.placeholder(tf.float32, [SIZE])
    v = tf.Variable(x)
    with session(tf) as sess:
        given = ones()
        sess.run(v.initializer, {x: given})
        nines(given)
        return seen(sess.run(v))


@row(GIVEN)
def loaded_ref(tf):
    return _loaded(tf, tf.Variable(tf.zeros([SIZE])))


@row(GIVEN)
def loaded_resource(tf):
    return _loaded(tf, tf.Variable(tf.zeros([SIZE]), use_resource=True))


def _loaded(tf, v):
    with session(tf) as sess:
        given = ones()
        v.load(given, sess)
        nines(given)
        return seen(sess.run(v))


@row(GIVEN)
def loaded_strings(tf):
    v = tf.Variable(np.array([b"0"] * SIZE, object))
    with session(tf) as sess:
        given = np.array([b"1"] * SIZE, object)
        v.load(given, sess)
        given[...] = b"9"
        return [int(s) for s in seen(sess.run(v))]


@row(GIVEN)
def tensor_array(tf):
    x = tf.placeholder(tf.float32, [SIZE])
    array = tf.TensorArray(tf.float32, 1, infer_shape=False).write(0, x)
    flow, out = array.flow, array.read(0)
    with session(tf) as sess:
        given = ones()
        handle = sess.partial_run_setup([flow, out], [x])
        sess.partial_run(handle, flow, {x: given})
        nines(given)
        return seen(sess.partial_run(handle, out))


@row(GIVEN)
def partial_run(tf):
    x, y = tf.placeholder(tf.float32, [SIZE]), tf.placeholder(tf.float32, [SIZE])
    first, second = tf.reduce_sum(x), x * y
    with session(tf) as sess:
        given = ones()
        handle = sess.partial_run_setup([first, second], [x, y])
        sess.partial_run(handle, first, {x: given})
        nines(given)
        return seen(sess.partial_run(handle, second, {y: ones()}))


@row(GIVEN)
def session_handle(tf):
    x = tf.placeholder(tf.float32, [SIZE])
    with session(tf) as sess:
        given = ones()
        handle = sess.run(tf.get_session_handle(x), {x: given})
        nines(given)
        return seen(handle.eval())


@row(GIVEN)
def made_callable(tf):
    x = tf.placeholder(tf.float32, [SIZE])
    with session(tf) as sess:
        call = sess.make_callable(tf.identity(x), [x])
        given = ones()
        found = call(given)
        nines(given)
        return seen(found)


@row(GIVEN)
def fetched_feed(tf):
    x = tf.placeholder(tf.float32, [SIZE])
    with session(tf) as sess:
        given = ones()
        found = sess.run([x, tf.reshape(x, [2, 2])], {x: given})
        nines(given)
        return seen(found[0]) + seen(found[1])


@row(GIVEN)
def read_after_the_run(tf):
    """A run without fetches has read its feeds when it returns."""
    n = 1000
    x = tf.placeholder(tf.float32, [n, n])
    v = tf.Variable(tf.zeros([]), use_resource=True)
    product = x
    for _ in range(6):
        product = tf.matmul(product, x) / n
    change = v.assign(tf.reduce_mean(product)).op
    with session(tf) as sess:
        sess.run(v.initializer)
        found = []
        for _ in range(3):
            given = ones(n, n)
            sess.run(change, {x: given})
            nines(given)
            found += seen(np.round(sess.run(v), 3))
        return sorted(set(found))


@row(GIVEN)
def read_after_the_run_in_a_step_of_its_own(tf):
    """The same where the fetches come from another step than the change."""
    n = 1000
    x, q = tf.placeholder(tf.float32, [n, n]), tf.FIFOQueue(5, tf.float32, [[]])
    v = tf.Variable(tf.zeros([]), use_resource=True)
    product = x
    for _ in range(6):
        product = tf.matmul(product, x) / n
    change = v.assign(tf.reduce_mean(product)).op
    with session(tf) as sess:
        sess.run(v.initializer)
        found = []
        for _ in range(3):
            given = ones(n, n)
            sess.run([change, q.enqueue(1.0), q.size()], {x: given})
            nines(given)
            found += seen(np.round(sess.run(v), 3))
        return sorted(set(found))


@row(GIVEN)
def dataset_of_feeds(tf):
    return _fed_dataset(tf, lambda x: tf.data.Dataset.from_tensor_slices(x))


@row(GIVEN)
def whole_dataset_of_feeds(tf):
    return _fed_dataset(tf, lambda x: tf.data.Dataset.from_tensors(x))


@row(GIVEN)
def captured_feed_of_a_dataset(tf):
    return _fed_dataset(tf, lambda x: tf.data.Dataset.range(1).map(lambda i: x + 0.0))


@row(GIVEN)
def cached_dataset_of_feeds(tf):
    return _fed_dataset(tf, lambda x: tf.data.Dataset.from_tensors(x).cache().repeat(2).skip(1))


def _fed_dataset(tf, make):
    x = tf.placeholder(tf.float32, [SIZE])
    iterator = tf.data.make_initializable_iterator(make(x))
    following = iterator.get_next()
    with session(tf) as sess:
        given = ones()
        sess.run(iterator.initializer, {x: given})
        nines(given)
        return seen(sess.run(following))


@row(GIVEN)
def dataset_of_arrays(tf):
    given = ones()
    data = tf.data.Dataset.from_tensor_slices(given)
    following = tf.data.make_one_shot_iterator(data).get_next()
    nines(given)
    with session(tf) as sess:
        return seen(sess.run(following))


@row(GIVEN)
def one_buffer_of_a_generator(tf):
    def generate():
        buffer = ones()
        for k in range(1, 4):
            buffer[...] = k
            yield buffer
        nines(buffer)

    data = tf.data.Dataset.from_generator(generate, tf.float32, [SIZE]).batch(3)
    following = tf.data.make_one_shot_iterator(data).get_next()
    with session(tf) as sess:
        return seen(sess.run(following)[:, 0])


@row(GIVEN)
def cached_buffer_of_a_generator(tf):
    def generate():
        buffer = ones()
        yield buffer
        nines(buffer)

    data = tf.data.Dataset.from_generator(generate, tf.float32, [SIZE]).cache().repeat(2).skip(1)
    following = tf.data.make_one_shot_iterator(data).get_next()
    with session(tf) as sess:
        return seen(sess.run(following))


@row(GIVEN)
def returned_by_py_func(tf):
    buffer = ones()
    q = tf.FIFOQueue(3, tf.float32)
    into, out = q.enqueue(tf.py_func(lambda: buffer, [], tf.float32)), q.dequeue()
    with session(tf) as sess:
        sess.run(into)
        nines(buffer)
        return seen(sess.run(out))


@row(GIVEN)
def returned_by_py_func_and_fetched(tf):
    buffer = np.ones(SIZE, np.float32)
    made = tf.py_func(lambda: buffer, [], tf.float32)
    with session(tf) as sess:
        found = sess.run(made)
        nines(buffer)
        return seen(found)


@row(GIVEN)
def view_returned_by_py_func(tf):
    buffer = np.ones((2, SIZE), np.float32)
    made = tf.py_func(lambda: buffer[0], [], tf.float32)
    with session(tf) as sess:
        found = sess.run(made)
        nines(buffer)
        return seen(found)


@row(GIVEN)
def changed_by_the_next_py_func(tf):
    """A function that changes what an earlier one gave, while the run goes on."""
    buffer = np.ones(SIZE, np.float32)
    first = tf.py_func(lambda: buffer, [], tf.float32)
    with tf.control_dependencies([first]):
        second = tf.py_func(lambda: nines(buffer) or np.float32(0), [], tf.float32)
    with tf.control_dependencies([second]):
        third = tf.identity(first)
    with session(tf) as sess:
        return seen(sess.run(third))


@row(GIVEN)
def strings_returned_by_py_func(tf):
    buffer = np.array([b"1"] * SIZE, object)
    q = tf.FIFOQueue(3, tf.string)
    into, out = q.enqueue(tf.py_func(lambda: buffer, [], tf.string)), q.dequeue()
    with session(tf) as sess:
        sess.run(into)
        buffer[...] = b"9"
        return [int(s) for s in seen(sess.run(out))]


@row(GIVEN)
def returned_by_py_function(tf):
    buffer = ones()
    q = tf.FIFOQueue(3, tf.float32)
    into, out = q.enqueue(tf.py_function(lambda: buffer, [], tf.float32)), q.dequeue()
    with session(tf) as sess:
        sess.run(into)
        nines(buffer)
        return seen(sess.run(out))


@row(GIVEN)
def constant(tf):
    given = ones()
    made = tf.constant(given)
    nines(given)
    with session(tf) as sess:
        return seen(sess.run(made))


@row(GIVEN)
def converted(tf):
    given = ones()
    made = tf.convert_to_tensor(given) + 0.0
    nines(given)
    with session(tf) as sess:
        return seen(sess.run(made))


@row(GIVEN)
def large_constant(tf):
    given = ones(600, 600)
    made = tf.matmul(tf.constant(given), tf.placeholder_with_default(tf.eye(600), [600, 600]))
    nines(given)
    with session(tf) as sess:
        return seen(sess.run(made))


@row(GIVEN)
def initial_value(tf):
    given = ones()
    v = tf.Variable(given)
    nines(given)
    with session(tf) as sess:
        sess.run(v.initializer)
        return seen(sess.run(v))


@row(GIVEN)
def constant_initializer(tf):
    given = ones()
    v = tf.get_variable("v", [SIZE], initializer=tf.constant_initializer(given))
    nines(given)
    with session(tf) as sess:
        sess.run(v.initializer)
        return seen(sess.run(v))


@row(GIVEN)
def tensor_proto(tf):
    given = ones()
    made = tf.make_tensor_proto(given)
    nines(given)
    return seen(tf.make_ndarray(made))


@row(GIVEN)
def lookup_initializer(tf):
    given = ones()
    keys = tf.constant(list("abcd"))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, given), 0.0)
    nines(given)
    with session(tf) as sess:
        sess.run(tf.tables_initializer())
        return seen(sess.run(table.lookup(keys)))


@row(GIVEN)
def keras_weights(tf):
    layer = tf.keras.layers.Dense(SIZE, use_bias=False)
    layer.build([None, SIZE])
    given = ones(SIZE, SIZE)
    layer.set_weights([given])
    nines(given)
    return seen(layer.get_weights()[0])


@row(GIVEN)
def keras_backend_variable(tf):
    given = ones()
    v = tf.keras.backend.variable(given)
    nines(given)
    return seen(tf.keras.backend.get_value(v))


@row(GIVEN)
def keras_backend_set_value(tf):
    v = tf.keras.backend.variable(np.zeros(SIZE))
    given = ones()
    tf.keras.backend.set_value(v, given)
    nines(given)
    return seen(tf.keras.backend.get_value(v))


@row(GIVEN)
def keras_function(tf):
    x = tf.keras.backend.placeholder([SIZE])
    given = ones()
    [found] = tf.keras.backend.function([x], [tf.identity(x)])([given])
    nines(given)
    return seen(found)


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
        for _ in range(6):
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


# ---- what is received ----


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
    writable = []
    made = tf.constant(np.ones(SIZE, np.float32))
    write(np.asarray(made), writable)
    return seen(made.numpy()), writable


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


def observe(tf, table, name):
    """What a row sees; `tf` executes eagerly where the row does."""
    found = table[name][0](tf)
    gc.collect()
    values, writable = found if table is RECEIVED else (found, [])
    return {"seen": [float(v) for v in values], "writable": writable}


def main():
    tf = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "tfcompat":
        tf.install_as_tensorflow()
    eager = sys.argv[2:] == ["eager"]
    tf.logging.set_verbosity("ERROR")
    if eager:
        tf.enable_eager_execution()
    found = {}
    for table in (GIVEN, RECEIVED):
        for name, (_, is_eager) in table.items():
            if is_eager != eager:
                continue
            try:
                if eager:
                    found[name] = observe(tf, table, name)
                else:
                    with tf.Graph().as_default():
                        found[name] = observe(tf, table, name)
            except Exception as e:  # noqa: BLE001  (a row that fails is shown as such)
                found[name] = "%s: %s" % (type(e).__name__, str(e).strip().split("\n")[0][:160])
    print(json.dumps(found, indent=0))


if __name__ == "__main__":
    main()
