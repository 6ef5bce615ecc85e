"""Arrays that a graph program gives, and changes afterwards."""

import numpy as np
from boundary_rows import GIVEN, SIZE, nines, ones, row, seen, session


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
