"""Writes graphs with loops, branches and their gradients, and what they give, into tests/golden/loops/.

.venv-tf1/bin/python tests/oracle/record_loops.py      # 1.15.5: nodes of loops, and functions
.venv-tf2/bin/python tests/oracle/record_loops.py      # 2.15.1: functions
"""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from oracle import golden  # noqa: E402

IS_FIRST = tf.__version__.startswith("1.")
v1 = tf.compat.v1
ROWS = np.random.RandomState(0).randn(5, 4, 3).astype(np.float32)


def network():
    """A recurrent network on sequences of several lengths, and the gradient of its inputs."""
    x, lengths = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.int32, [None], "lengths")
    outputs, state = v1.nn.dynamic_rnn(v1.nn.rnn_cell.GRUCell(2), x, lengths, dtype=tf.float32)
    slope = tf.gradients(tf.reduce_sum(outputs * outputs), x)[0]
    return {"x:0": ROWS.transpose(1, 0, 2), "lengths:0": np.array([5, 2, 0, 3], np.int32)}, [outputs, tf.identity(state), slope]


def raw_network():
    """raw_rnn, whose reads stand in branches."""
    x, lengths = v1.placeholder(tf.float32, [None, None, 3], "x"), v1.placeholder(tf.int32, [None], "lengths")
    rows, cell = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x), v1.nn.rnn_cell.GRUCell(2)

    def step(time, output, state, _):
        state = cell.zero_state(tf.shape(x)[1], tf.float32) if output is None else state
        finished = time >= lengths
        now = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([tf.shape(x)[1], 3]), lambda: rows.read(time))
        now.set_shape([None, 3])
        return finished, now, state, output, None

    outputs = v1.nn.raw_rnn(cell, step)[0].stack()
    return {"x:0": ROWS, "lengths:0": np.array([5, 2, 1, 3], np.int32)}, [outputs, tf.gradients(outputs * outputs, x)[0]]


def arrays():
    """TensorArrays of fixed and growing size, map_fn and scan, with gradients."""
    x = v1.placeholder(tf.float32, [None, 3], "x")
    n = tf.shape(x)[0]
    rows = tf.TensorArray(tf.float32, n).unstack(x)
    made, grown = tf.TensorArray(tf.float32, n, element_shape=[3]), tf.TensorArray(tf.float32, 0, dynamic_size=True)

    def body(i, s, made, grown):
        s = s * 0.5 + rows.read(i)
        return i + 1, s, made.write(i, s), grown.write(i, s * s)

    _, last, made, grown = tf.while_loop(lambda i, *_: i < n, body, [0, tf.zeros([3]), made, grown])
    found = [made.stack(), last + 0.0, tf.map_fn(lambda r: r * r, x), tf.scan(lambda p, r: p * 0.5 + r, x), grown.stack()]
    return {"x:0": ROWS[0]}, found + [tf.gradients(found, x)[0]]


def nested():
    """Loops in loops and branches in loops, with gradients."""
    x, k = v1.placeholder(tf.float32, [3], "x"), v1.placeholder(tf.int32, [], "k")

    def body(i, s):
        s = tf.cond(tf.equal(i % 2, 0), lambda: s * x, lambda: s + tf.reduce_sum(x))
        return i + 1, tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * 0.5 + x), [0, s])[1]

    y = tf.while_loop(lambda i, s: i < k, body, [0, x])[1]
    return {"x:0": ROWS[0, 0], "k:0": np.int32(4)}, [tf.identity(y), tf.gradients(y, x)[0]]


def cases():
    x, i = v1.placeholder(tf.float32, [], "x"), v1.placeholder(tf.int32, [], "i")
    first = tf.case([(x > 1.0, lambda: x * 2.0), (x > 0.0, lambda: x * 3.0)], default=lambda: x - 1.0)
    return {"x:0": np.float32(0.5), "i:0": np.int32(1)}, [tf.identity(first), tf.identity(tf.switch_case(i, [lambda: x + x, lambda: x * x, lambda: -x]))]


BUILDERS = [arrays, nested, cases] + ([network, raw_network] if IS_FIRST else [])


def record(build):
    """The frozen graph that a function builds, what is fed and fetched, and the values."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(5)
        feed, fetches = build()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            names = [t.op.name for t in fetches]
            definition = graph.as_graph_def()
            if not any(op.type in ("While", "StatelessWhile") for op in graph.get_operations()):
                definition = v1.graph_util.convert_variables_to_constants(session, definition, names)
            values = session.run(fetches, feed)
    return {"graph": definition.SerializeToString(), "feed": feed, "fetches": [t.name for t in fetches], "values": values}


def main():
    for is_second in (False, True) if IS_FIRST else (True,):
        (v1.enable_control_flow_v2 if is_second else v1.disable_control_flow_v2)()
        for build in BUILDERS:
            if is_second and build in (network, raw_network):
                continue
            name = "%s_%s" % (build.__name__, "2" if not IS_FIRST else "functions" if is_second else "nodes")
            path = os.path.join(TESTS, "golden", "loops", name + ".json.gz")
            golden.write(path, record(build))
            print("%-28s %7d bytes" % (name, os.path.getsize(path)))


if __name__ == "__main__":
    if not IS_FIRST:
        v1.disable_eager_execution()
    main()
