"""Gradients of loops: the nodes that go back, and what they give."""

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("loop_gradients")
case = TABLE.case


def _loop(body, *start, **options):
    """A row that runs `body` four times, or `count` times, with a counter before its variables."""
    count = options.pop("count", 4)

    def build(tf, x, **others):
        first = [s(tf, x, **others) if callable(s) else s for s in start]
        found = tf.while_loop(
            lambda i, *_: i < count, lambda i, *v: [i + 1] + list(body(tf, x, i, *v)), [0] + first, **options
        )
        return found[1:]

    return build


def _x(tf, x, **_):
    return x


def _zeros(tf, x, **_):
    return tf.zeros([3])


case("product", _loop(lambda tf, x, i, s: [s * 2.0], _x), x=F32(3))
case("square", _loop(lambda tf, x, i, s: [s * s], _x), x=F32(3, low=-1.0, high=1.0))
case("double", _loop(lambda tf, x, i, s: [s * s + x], _x), x=F64(3, low=-0.5, high=0.5))
case("invariant", _loop(lambda tf, x, i, s: [s * x + 1.0], _zeros), x=F32(3))
case("invariant_and_start", _loop(lambda tf, x, i, s: [s * x], _x), x=F32(3))
case("two_variables", _loop(lambda tf, x, i, s, t: [t * x, s + t], _x, _zeros), x=F32(3))
case("counter_used", _loop(lambda tf, x, i, s: [s + x * tf.cast(i, tf.float32)], _x), x=F32(3))
case("not_changed", _loop(lambda tf, x, i, s, t: [s * t, t], _x, _zeros), x=F32(3))
case("forgets", _loop(lambda tf, x, i, s, t: [x * 2.0, t + s], _x, _zeros), x=F32(3))
case("one_result", lambda tf, x: tf.while_loop(lambda i, s, t: i < 3, lambda i, s, t: (i + 1, s * t, t + x), [0, x, x])[1], x=F32(3))
case("matmul", _loop(lambda tf, x, i, s, w: [tf.tanh(tf.matmul(s, w)), w], _x, lambda tf, x, w: w), x=F32(2, 3), w=F32(3, 3))
case(
    "matmul_invariant",
    lambda tf, x, w: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.tanh(tf.matmul(s, w))), [0, x])[1],
    x=F32(2, 3), w=F32(3, 3),
)  # fmt: skip
case("broadcast", _loop(lambda tf, x, i, s: [s * x + tf.reduce_sum(s, 1, keepdims=True)], lambda tf, x: tf.ones([2, 3])), x=F32(3))
case("reduce", _loop(lambda tf, x, i, s: [s * tf.reduce_mean(x * s)], _x), x=F32(3))
case("serial", _loop(lambda tf, x, i, s: [s * s * x], _x, parallel_iterations=1), x=F32(3, low=-1.0, high=1.0))
case("swapped", _loop(lambda tf, x, i, s: [s * s * x], _x, swap_memory=True, name="swapping"), x=F32(3, low=-1.0, high=1.0))
case("no_back_prop", lambda tf, x: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [0, x], back_prop=False)[1] * x, x=F32(3))
case("bounded", _loop(lambda tf, x, i, s: [s * x], _x, maximum_iterations=2), x=F32(3))
case("never", _loop(lambda tf, x, i, s: [s * x], _x, count=0), x=F32(3))
case(
    "until_great", lambda tf, x: tf.while_loop(lambda s: tf.reduce_sum(s) < 50.0, lambda s: s * x, [x])[0], x=F32(3, low=1.5, high=2.0),
)
case("fed_count", lambda tf, x, n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * s * x), [0, x])[1], x=F32(3, low=-1.0, high=1.0), n=I32(low=2, high=5))
case("after_and_before", lambda tf, x: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.sin(s)), [0, x * x])[1] * x, x=F32(3))
case("structure", lambda tf, x: tf.while_loop(
    lambda i, d: i < 2, lambda i, d: (i + 1, {"a": d["a"] * x, "b": (d["b"][0] * d["a"],)}), (0, {"a": x, "b": (x,)})
)[1]["b"][0], x=F32(3))  # fmt: skip
case("no_gradient_inside", _loop(lambda tf, x, i, s: [s + tf.stop_gradient(s * x)], _x), x=F32(3))
case("conversion", _loop(lambda tf, x, i, s: [s * tf.cast(tf.cast(x, tf.int32), tf.float32) * x], _x), x=F32(3))
case("selection", _loop(lambda tf, x, i, s: [tf.where(s > 0.5, s * x, s + x)], _x), x=F32(3))
case("slices", _loop(lambda tf, x, i, s: [s + x[i]], lambda tf, x: tf.zeros([3])), x=F32(4, 3))
case("gathered", _loop(lambda tf, x, i, s: [s * 0.5 + tf.gather(x, i)], lambda tf, x: tf.zeros([3])), x=F32(4, 3), grad=True)
case("several_gathered", _loop(lambda tf, x, i, s: [s * 0.5 + tf.reduce_sum(tf.gather(x, [i, 0, i]), 0)], lambda tf, x: tf.zeros([3])), x=F32(4, 3))
case("concatenated", _loop(lambda tf, x, i, s: [tf.concat([s[:, 1:], x], 1)], lambda tf, x: tf.ones([2, 4])), x=F32(2, 1))


def _variables(tf, x):
    weights = tf.get_variable("weights", [3, 3], initializer=tf.constant_initializer(0.3))
    bias = tf.get_variable("bias", [3], initializer=tf.zeros_initializer(), use_resource=True)
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.tanh(tf.matmul(s, weights) + bias)), [0, x])[1]


def _table(tf, x):
    rows = tf.get_variable("rows", [4, 3], initializer=tf.constant_initializer(0.3))
    others = tf.get_variable("others", [4, 3], initializer=tf.constant_initializer(0.2), use_resource=True)
    return tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, s * x + tf.nn.embedding_lookup(rows, i) * tf.reduce_sum(tf.nn.embedding_lookup(others, [i, i + 1]), 0)),
        [0, x],
    )[1]


case("variables", _variables, x=F32(2, 3))
case("embedding", _table, x=F32(3))


# ---- branches ----


def _branch_of_counter(tf, x):
    def body(i, s):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s * x, lambda: s + x)

    return tf.while_loop(lambda i, s: i < 4, body, [0, x])[1]


def _branch_of_value(tf, x):
    def body(i, s):
        return i + 1, tf.cond(tf.reduce_sum(s) > 1.0, lambda: tf.sin(s) * x, lambda: s + 2.0)

    return tf.while_loop(lambda i, s: i < 4, body, [0, x])[1]


def _one_sided(tf, x):
    def body(i, s):
        t = s * x
        return i + 1, tf.cond(i > 1, lambda: t * s, lambda: tf.ones([3]))

    return tf.while_loop(lambda i, s: i < 4, body, [0, x])[1]


def _branch_in_branch(tf, x):
    def body(i, s):
        return i + 1, tf.cond(i > 0, lambda: tf.cond(i > 2, lambda: s * s * x, lambda: s * 2.0), lambda: s + x)

    return tf.while_loop(lambda i, s: i < 4, body, [0, x])[1]


def _loop_in_branch(tf, x):
    def loop():
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * s * x), [0, x])[1]

    return tf.cond(tf.reduce_sum(x) > -100.0, loop, lambda: x)


case("branch_of_counter", _branch_of_counter, x=F32(3))
case("branch_of_value", _branch_of_value, x=F32(3))
case("one_sided", _one_sided, x=F32(3))
case("branch_in_branch", _branch_in_branch, x=F32(3))
case("loop_in_branch", _loop_in_branch, x=F32(3))
case("branch", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: tf.sin(x)), x=F32(3))
case("branch_one_side", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: tf.ones([3])), x=F32(3))
case("branch_computed", lambda tf, x, y: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * y, lambda: y), x=F32(3), y=F32(3))
case("branch_nested", lambda tf, x: tf.cond(
    tf.reduce_sum(x) > 0.0, lambda: tf.cond(tf.reduce_sum(x) > 5.0, lambda: x * x, lambda: x * 3.0), lambda: tf.sin(x)
), x=F32(3))  # fmt: skip
case("branch_of_table", lambda tf, x, n: tf.cond(n > 0, lambda: tf.gather(x, [0, 2, 0]), lambda: x[:3] * x[1:]), x=F32(4, 3), n=I32(low=1, high=2))
case("case_of_three", lambda tf, x, n: tf.case([(n > 5, lambda: x * x), (n > 0, lambda: x * 3.0)], default=lambda: -x), x=F32(3), n=I32(low=1, high=4))


# ---- loops in loops ----


def _nested(tf, x):
    def body(i, s):
        _, inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * x + 1.0), [0, s])
        return i + 1, inner

    return tf.while_loop(lambda i, s: i < 4, body, [0, x], name="outer")[1]


def _nested_uses_outer(tf, x):
    def body(i, s):
        u = tf.sin(s)
        return i + 1, tf.while_loop(lambda j, t: j < 2, lambda j, t: (j + 1, t * u + x), [0, s])[1] * u

    return tf.while_loop(lambda i, s: i < 3, body, [0, x])[1]


def _three_deep(tf, x):
    def loop(body, start, count):
        return tf.while_loop(lambda i, s: i < count, lambda i, s: (i + 1, body(s)), [0, start])[1]

    return loop(lambda s: loop(lambda t: loop(lambda u: u * x, t, 2) + s, s, 2), x, 2)


def _branch_in_nested(tf, x):
    def inner(i):
        return lambda j, t: (j + 1, tf.cond(j < i, lambda: t * x, lambda: t + 1.0))

    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.while_loop(lambda j, t: j < 2, inner(i), [0, s])[1]), [0, x])[1]


case("nested", _nested, x=F32(3))
case("nested_uses_outer", _nested_uses_outer, x=F32(3, low=-1.0, high=1.0))
case("three_deep", _three_deep, x=F32(3, low=-1.0, high=1.0))
case("branch_in_nested", _branch_in_nested, x=F32(3))
case("two_loops", lambda tf, x: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [
    0, tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * s), [0, x])[1]
])[1], x=F32(3, low=-1.0, high=1.0))  # fmt: skip


# ---- arrays ----


def _rows_read(tf, x):
    rows = tf.TensorArray(tf.float32, 4).unstack(x)
    return tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s * 0.5 + rows.read(i) * s), [0, tf.ones([3])])[1]


def _rows_written(tf, x):
    made = tf.TensorArray(tf.float32, 4, element_shape=[3])
    return tf.while_loop(lambda i, s, out: i < 4, lambda i, s, out: (i + 1, s * x, out.write(i, s * s)), [0, x, made])[2].stack()


def _both(tf, x):
    rows, made = tf.TensorArray(tf.float32, 4).unstack(x), tf.TensorArray(tf.float32, 4)

    def body(i, s, out):
        s = tf.tanh(s * 0.5 + rows.read(i))
        return i + 1, s, out.write(i, s)

    _, last, made = tf.while_loop(lambda i, *_: i < 4, body, (0, tf.zeros([3]), made), swap_memory=True)
    return made.stack() * last


case("rows_read", _rows_read, x=F32(4, 3, low=-1.0, high=1.0))
case("rows_written", _rows_written, x=F32(3, low=-1.0, high=1.0))
case("rows_read_and_written", _both, x=F32(4, 3, low=-1.0, high=1.0))
case("map_fn", lambda tf, x: tf.map_fn(lambda row: row * row + tf.reduce_sum(row), x), x=F32(4, 3, low=-1.0, high=1.0))
case("scan", lambda tf, x: tf.scan(lambda a, row: a * row + row, x), x=F32(4, 3, low=-1.0, high=1.0))
case("foldl", lambda tf, x: tf.foldl(lambda a, row: a * row, x), x=F32(4, 3, low=-1.0, high=1.0))
case("map_of_scan", lambda tf, x: tf.map_fn(lambda m: tf.scan(lambda a, row: a * row, m), x), x=F32(2, 4, 3, low=-1.0, high=1.0))


# ---- recurrent networks ----


def _rnn(cell, **options):
    def build(tf, x, **others):
        made = cell(tf.nn.rnn_cell)
        outputs, state = tf.nn.dynamic_rnn(made, x, dtype=tf.float32, **dict(options, **others))
        return outputs, state

    return build


def _constant(tf_cell, name, **options):
    return getattr(tf_cell, name)(4, **options)


def _started(build):
    """`build` with variables that start from constants."""

    def started(tf, **inputs):
        with tf.variable_scope("net", initializer=tf.constant_initializer(0.2)):
            return build(tf, **inputs)

    return started


case("rnn_basic", _started(_rnn(lambda cells: _constant(cells, "BasicRNNCell"))), x=F32(2, 5, 3), partial=False)
case("rnn_lstm", _started(_rnn(lambda cells: _constant(cells, "LSTMCell"))), x=F32(2, 5, 3), partial=False)
case("rnn_gru_lengths", _started(_rnn(lambda cells: _constant(cells, "GRUCell"))), x=F32(3, 5, 3), sequence_length=np.array([2, 5, 3], np.int32), partial=False)
case("rnn_time_major", _started(_rnn(lambda cells: _constant(cells, "BasicLSTMCell"), time_major=True)), x=F32(5, 2, 3), partial=False)
