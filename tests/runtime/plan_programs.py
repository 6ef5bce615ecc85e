"""Forty small programs whose plans are kept in `tests/golden/plans.json`, so that a change of where operations run is seen.

`PYTHONPATH=.:tests/runtime python tests/runtime/plan_programs.py` writes the file: what is compiled, what runs on the host, by which
rule.
"""

from __future__ import annotations

import json
import pathlib
from collections import Counter

import numpy as np

import tfcompat as tf

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "plans.json"
ROWS = np.ones((4, 6), np.float32)
PROGRAMS = {}


def program(function):
    """Registers a function that builds a graph and gives (fetches, feeds)."""
    PROGRAMS[function.__name__] = function
    return function


def rows():
    return tf.placeholder(tf.float32, [None, 6], "rows")


def dense(x, count, name):
    kernel = tf.get_variable(f"{name}_kernel", [x.shape[-1].value, count])
    return tf.matmul(x, kernel) + tf.get_variable(f"{name}_bias", [count])


def trained(loss, optimizer=None):
    return (optimizer or tf.train.GradientDescentOptimizer(0.1)).minimize(loss)


@program
def constants_alone():
    return tf.constant([1.0, 2.0]) + 3.0, {}


@program
def fed_product():
    x = rows()
    return tf.matmul(x, x, transpose_b=True), {x: ROWS}


@program
def linear_regression():
    x = rows()
    loss = tf.reduce_mean(tf.square(dense(x, 1, "a")))
    return [trained(loss), loss], {x: ROWS}


@program
def adam():
    x = rows()
    return trained(tf.reduce_mean(tf.nn.relu(dense(x, 3, "a"))), tf.train.AdamOptimizer()), {x: ROWS}


@program
def clipped_momentum():
    x = rows()
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    found = optimizer.compute_gradients(tf.reduce_sum(dense(x, 3, "a")))
    clipped, norm = tf.clip_by_global_norm([g for g, _ in found], 1.0)
    return [optimizer.apply_gradients(zip(clipped, [v for _, v in found])), norm], {x: ROWS}


@program
def resource_variable():
    v = tf.get_variable("v", [6], use_resource=True)
    return tf.assign_add(v, tf.ones([6])), {}


@program
def initializers():
    dense(rows(), 3, "a")
    return tf.global_variables_initializer(), {}


@program
def convolutions():
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], "images")
    h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu), 2, 2)
    return trained(tf.reduce_mean(tf.layers.dense(tf.layers.flatten(h), 2))), {x: np.ones((2, 8, 8, 1), np.float32)}


@program
def batch_norm():
    x = rows()
    y = tf.layers.batch_normalization(dense(x, 3, "a"), training=True)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return trained(tf.reduce_sum(y)), {x: ROWS}


@program
def dropout():
    x = rows()
    return tf.nn.dropout(x, rate=0.5, seed=1), {x: ROWS}


@program
def random_draws():
    return [tf.random_uniform([3], seed=1), tf.random_normal([3], seed=2), tf.random_shuffle(tf.range(5), seed=3)], {}


@program
def rejecting_draw():
    return tf.random_gamma([3], 0.5, seed=1), {}


@program
def py_function_between():
    x = rows()
    y = tf.py_func(lambda v: v, [tf.square(x)], tf.float32)
    y.set_shape(x.shape)
    return tf.reduce_sum(y + 1), {x: ROWS}


@program
def strings():
    x = tf.placeholder(tf.string, [None], "texts")
    return [tf.strings.length(x), tf.string_join([x, x])], {x: [b"a"]}


@program
def printed_and_checked():
    x = rows()
    with tf.control_dependencies([tf.assert_positive(x), tf.print(tf.shape(x))]):
        return tf.reduce_sum(x), {x: ROWS}


@program
def data_dependent_sizes():
    x = rows()
    return tf.reduce_sum(tf.boolean_mask(x, x[:, 0] > 0), 0), {x: ROWS}


@program
def unique_values():
    x = tf.placeholder(tf.int32, [None], "ids")
    values, index = tf.unique(x)
    return [tf.square(values), index], {x: [1, 1]}


@program
def embedding():
    ids = tf.placeholder(tf.int32, [None], "ids")
    table = tf.get_variable("table", [10, 3])
    return trained(tf.reduce_sum(tf.nn.embedding_lookup(table, ids))), {ids: [1, 1]}


@program
def sampled_softmax():
    x = rows()
    weights, biases = tf.get_variable("w", [20, 6]), tf.get_variable("b", [20])
    loss = tf.nn.sampled_softmax_loss(weights, biases, tf.ones([4, 1], tf.int64), x, 5, 20, seed=1)
    return trained(tf.reduce_mean(loss)), {x: ROWS}


@program
def branch_on_a_feed():
    x, on = rows(), tf.placeholder(tf.bool, [], "on")
    return tf.cond(on, lambda: x * 2, lambda: x + 1), {x: ROWS, on: True}


@program
def branch_on_a_value():
    x = rows()
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x + 1), {x: ROWS}


@program
def branch_with_a_python_function():
    x = rows()
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.py_func(np.sin, [x], tf.float32), lambda: x), {x: ROWS}


@program
def branch_that_assigns():
    v, x = tf.get_variable("v", [], initializer=tf.zeros_initializer()), rows()
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.assign_add(v, 1.0), lambda: tf.identity(v)), {x: ROWS}


@program
def counted_loop():
    return tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), [0, 0.0]), {}


@program
def loop_until_a_value():
    x = rows()
    return tf.while_loop(lambda v: tf.reduce_sum(v) < 100, lambda v: v * 2, [x]), {x: ROWS}


@program
def growing_loop():
    x = rows()
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 6])]
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v], 0)), [0, x], shapes), {x: ROWS}


@program
def loop_with_a_python_function():
    body = lambda i: tf.py_func(lambda n: np.int32(n + 1), [i], tf.int32)
    return tf.while_loop(lambda i: i < 3, body, [0], [tf.TensorShape(None)]), {}


@program
def loop_gradient():
    w = tf.get_variable("w", [6])
    end = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v * w)), [0, tf.ones([6])])[1]
    return trained(tf.reduce_sum(end)), {}


@program
def mapped_rows():
    x = rows()
    return tf.map_fn(lambda row: tf.reduce_max(row) * row, x), {x: ROWS}


@program
def scanned_rows():
    x = rows()
    return tf.scan(lambda a, row: a + row, x), {x: ROWS}


@program
def dynamic_rnn():
    x = tf.placeholder(tf.float32, [2, None, 3], "sequences")
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)
    return trained(tf.reduce_sum(y)), {x: np.ones((2, 5, 3), np.float32)}


@program
def tensor_array():
    array = tf.TensorArray(tf.float32, 3).unstack(tf.ones([3, 2]))
    return tf.square(array.read(1)), {}


@program
def lookup_table():
    initializer = tf.lookup.KeyValueTensorInitializer(["a"], [1], tf.string, tf.int64)
    table = tf.lookup.StaticHashTable(initializer, -1)
    x = tf.placeholder(tf.string, [None], "texts")
    return tf.one_hot(table.lookup(x), 3), {x: [b"a"]}


@program
def queue():
    x, q = rows(), tf.FIFOQueue(10, tf.float32, [6])
    return [q.enqueue_many(x), tf.reduce_sum(q.dequeue())], {x: ROWS}


@program
def fields_of_records():
    record = tf.placeholder(tf.string, [])
    fields = tf.decode_csv(record, [[0.0]] * 4)
    return tf.FIFOQueue(10, tf.float32, [[3]]).enqueue(tf.stack(fields[:-1])), {record: b"1,2,3,4"}


@program
def dataset():
    data = tf.data.Dataset.from_tensor_slices(ROWS).map(lambda row: row * 2).batch(2)
    batch = tf.data.make_one_shot_iterator(data).get_next()
    return trained(tf.reduce_mean(dense(batch, 1, "a"))), {}


@program
def summaries():
    x = rows()
    return [tf.summary.scalar("mean", tf.reduce_mean(x)), tf.summary.histogram("all", x)], {x: ROWS}


@program
def saving():
    v = tf.get_variable("v", [3])
    return tf.train.Saver([v]).saver_def.save_tensor_name, {"save/Const:0": "m"}


@program
def sparse_product():
    x = tf.sparse_placeholder(tf.float32, [None, 6], "sparse")
    w = tf.get_variable("w", [6, 2])
    return tf.sparse_tensor_dense_matmul(x, w), {x: tf.SparseTensorValue([[0, 1]], [1.0], [2, 6])}


@program
def ctc_loss():
    x = tf.placeholder(tf.float32, [5, 2, 4], "logits")
    labels = tf.SparseTensor(np.array([[0, 0], [1, 0]]), np.array([1, 2], np.int32), np.array([2, 1]))
    return tf.reduce_mean(tf.nn.ctc_loss(labels, x, [5, 5])), {x: np.ones((5, 2, 4), np.float32)}


@program
def called_function():
    @tf.function
    def twice(v):
        return tf.cond(tf.reduce_sum(v) > 0, lambda: v * 2, lambda: v)

    x = rows()
    return tf.reduce_sum(twice(x)), {x: ROWS}


@program
def image_decoding():
    x = tf.placeholder(tf.string, [], "file")
    return tf.image.resize_images(tf.cast(tf.image.decode_png(x, 3), tf.float32), [4, 4]), {x: b""}


def summary(plan):
    """What a plan does where: lines of steps, and of the rules that put operations on the host."""
    lines = [f"{len(plan.known)} known"]
    for step in plan.steps:
        is_host = not hasattr(step, "programs")
        kinds = Counter(item.type for item in step.items)
        text = ", ".join(f"{kind} x{count}" if count > 1 else kind for kind, count in sorted(kinds.items()))
        lines.append(f"{'host' if is_host else 'compiled'}: {text}")
        lines += [f"  {rule}: {', '.join(names)}" for rule, names in plan.by_rule(step).items()]
    return lines


def plan_of(name):
    """The summary of a program's plan."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        fetches, feeds = PROGRAMS[name]()
        with tf.Session() as session:
            return summary(session.plan(fetches, feeds))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: plan_of(name) for name in PROGRAMS}, indent=1) + "\n")
