"""Recurrent cells and the loops that run them."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("rnn")
case, error_case = TABLE.case, TABLE.error_case
LENGTHS = np.array([2, 5, 3], np.int32)


def _half(tf):
    return tf.random_uniform_initializer(-0.5, 0.5)


def _cells(tf):
    cell = tf.nn.rnn_cell
    return {
        "basic_rnn": lambda: cell.BasicRNNCell(4),
        "basic_rnn_relu": lambda: cell.BasicRNNCell(4, activation="relu", name="simple"),
        "gru": lambda: cell.GRUCell(4),
        "gru_initializers": lambda: cell.GRUCell(
            4, activation=tf.nn.relu, kernel_initializer=_half(tf), bias_initializer=tf.zeros_initializer()
        ),
        "basic_lstm": lambda: cell.BasicLSTMCell(4),
        "basic_lstm_joined": lambda: cell.BasicLSTMCell(4, forget_bias=0.5, state_is_tuple=False),
        "lstm": lambda: cell.LSTMCell(4),
        "lstm_peepholes": lambda: cell.LSTMCell(4, use_peepholes=True, initializer=_half(tf), cell_clip=0.2),
        "lstm_projection": lambda: cell.LSTMCell(4, num_proj=3, proj_clip=0.1, forget_bias=0.0, activation="sigmoid"),
        "lstm_joined": lambda: cell.LSTMCell(4, num_proj=3, use_peepholes=True, state_is_tuple=False),
        "lstm_shards": lambda: cell.LSTMCell(4, num_unit_shards=2, num_proj=4, num_proj_shards=2),
        "multi": lambda: cell.MultiRNNCell([cell.BasicLSTMCell(4), cell.GRUCell(3)]),
        "multi_joined": lambda: cell.MultiRNNCell([cell.BasicRNNCell(4), cell.GRUCell(3)], state_is_tuple=False),
        "residual": lambda: cell.ResidualWrapper(cell.GRUCell(3)),
        "residual_fn": lambda: cell.ResidualWrapper(cell.GRUCell(3), residual_fn=lambda i, o: i * o),
        "device": lambda: cell.DeviceWrapper(cell.GRUCell(3), "/cpu:0"),
        "dropout": lambda: cell.DropoutWrapper(cell.BasicLSTMCell(4), 0.8, 0.7, 0.6, seed=7),
        "dropout_unseeded": lambda: cell.DropoutWrapper(cell.GRUCell(4), output_keep_prob=0.5),
        "dropout_tensor": lambda: cell.DropoutWrapper(cell.GRUCell(4), tf.placeholder_with_default(0.5, [])),
        "dropout_variational": lambda: cell.DropoutWrapper(
            cell.LSTMCell(4), 0.8, 0.7, 0.6, variational_recurrent=True, input_size=3, dtype=tf.float32, seed=7
        ),
        "dropout_filter": lambda: cell.DropoutWrapper(
            cell.LSTMCell(4), state_keep_prob=0.5, seed=3, dropout_state_filter_visitor=lambda state: True
        ),
    }


CELLS = (
    "basic_rnn", "basic_rnn_relu", "gru", "gru_initializers", "basic_lstm", "basic_lstm_joined", "lstm",
    "lstm_peepholes", "lstm_projection", "lstm_joined", "lstm_shards", "multi", "multi_joined", "residual",
    "residual_fn", "device", "dropout", "dropout_unseeded", "dropout_tensor", "dropout_variational", "dropout_filter",
)  # fmt: skip


def _run(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return session.run(outputs, feed)


def _step(name):
    def build(tf, x):
        cell = _cells(tf)[name]()
        return cell(x, cell.zero_state(2, tf.float32))

    return build


def _dynamic(name):
    """The cell over a sequence; with dropout one iteration at a time, as TensorFlow draws in any order otherwise."""

    def build(tf, x):
        at_once = 1 if "dropout" in name else None
        return tf.nn.dynamic_rnn(_cells(tf)[name](), x, dtype=tf.float32, parallel_iterations=at_once)

    return build


for name in CELLS:
    case("step_" + name, _step(name), run=_run, seed=11, partial=False, x=F32(2, 3))
    case("dynamic_" + name, _dynamic(name), run=_run, seed=12, partial=False, x=F32(3, 5, 3))


def _learned(build):
    """A run that also gives the gradients for inputs and weights."""

    def run(tf, session, outputs, feed):
        flat = [y for y in tf.contrib.framework.nest.flatten(outputs) if y.dtype.is_floating]
        loss = tf.add_n([tf.reduce_sum(y * y) for y in flat])
        found = tf.gradients(loss, list(feed) + tf.trainable_variables())
        session.run(tf.global_variables_initializer())
        return session.run([outputs, found], feed)

    return build, run


def _loop(name, build, seed=13, **inputs):
    built, run = _learned(build)
    case(name, built, run=run, seed=seed, partial=False, **inputs)


for name in ("gru", "basic_lstm", "lstm_peepholes", "lstm_projection", "multi"):
    _loop("learn_" + name, _dynamic(name), x=F32(3, 5, 3))

_loop(
    "lengths",
    lambda tf, x: tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, LENGTHS, dtype=tf.float32),
    x=F32(3, 5, 3),
)
_loop(
    "time_major",
    lambda tf, x: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(4), x, LENGTHS, initial_state=tf.ones([3, 4]), time_major=True, swap_memory=True,
        parallel_iterations=4, scope="loop",
    ),
    x=F32(5, 3, 2),
)  # fmt: skip
_loop(
    "open_sizes",
    lambda tf, x: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicRNNCell(4), tf.placeholder_with_default(x, [None, None, 3]), LENGTHS, dtype=tf.float32
    ),
    x=F32(3, 5, 3),
)
_loop(
    "float64",
    lambda tf, x: tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float64),
    x=F64(3, 5, 3),
)
_loop(
    "bidirectional",
    lambda tf, x: tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.BasicLSTMCell(2), x, LENGTHS, dtype=tf.float32
    ),
    x=F32(3, 5, 3),
)
_loop(
    "bidirectional_full",
    lambda tf, x: tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32, time_major=True, scope="both"
    ),
    x=F32(5, 3, 2),
)


def _nested_inputs(tf, x, y):
    class Pair(tf.nn.rnn_cell.RNNCell):
        state_size = property(lambda self: (tf.TensorShape([2, 3]), 4))
        output_size = property(lambda self: (4, tf.TensorShape([2, 3])))

        def call(self, inputs, state):
            a, b = inputs
            w = tf.get_variable("w", [4, 4])
            return (tf.matmul(state[1], w), a + state[0]), (a * state[0] + 1.0, b + state[1])

    return tf.nn.dynamic_rnn(Pair(), (x, y), LENGTHS, dtype=tf.float32)


_loop("nested_inputs", _nested_inputs, x=F32(3, 5, 2, 3), y=F32(3, 5, 4))


def _raw(tf, x):
    cell = tf.nn.rnn_cell.LSTMCell(4)
    inputs = tf.TensorArray(tf.float32, 5).unstack(x)

    def loop_fn(time, output, state, loop_state):
        finished = time >= LENGTHS
        next_input = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 2]), lambda: inputs.read(time))
        next_state = cell.zero_state(3, tf.float32) if output is None else state
        return finished, next_input, next_state, output, None

    outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    return outputs.stack(), state


def _raw_loop_state(tf, x):
    cell = tf.nn.rnn_cell.BasicRNNCell(4)

    def loop_fn(time, output, state, loop_state):
        if output is None:
            emit = (tf.zeros([2], tf.float32), tf.zeros([], tf.int32))
        else:
            emit = (output[:, :2], time * tf.ones([3], tf.int32))
        next_state = tf.zeros([3, 4]) if output is None else state
        return tf.tile([time >= 4], [3]), x, next_state, emit, tf.constant(1) if loop_state is None else loop_state * 2

    outputs, state, loop_state = tf.nn.raw_rnn(cell, loop_fn, scope="raw")
    return outputs[0].stack(), outputs[1].stack(), state, loop_state


_loop("raw", _raw, x=F32(5, 3, 2))
case("raw_loop_state", _raw_loop_state, run=_run, seed=14, partial=False, x=F32(3, 2))


def _static(tf, x, make, **options):
    return tf.nn.static_rnn(make(tf.nn.rnn_cell), tf.unstack(x, axis=0), **options)


_loop("static", lambda tf, x: _static(tf, x, lambda c: c.BasicLSTMCell(4), dtype=tf.float32), x=F32(4, 3, 2))
_loop(
    "static_lengths",
    lambda tf, x: _static(tf, x, lambda c: c.GRUCell(4), dtype=tf.float32, sequence_length=np.array([1, 4, 3])),
    x=F32(4, 3, 2),
)
_loop(
    "static_initial",
    lambda tf, x: _static(tf, x, lambda c: c.GRUCell(4), initial_state=tf.ones([3, 4]), scope="unrolled"),
    x=F32(4, 3, 2),
)
_loop(
    "static_bidirectional",
    lambda tf, x: tf.nn.static_bidirectional_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(3), tf.unstack(x), dtype=tf.float32,
        sequence_length=np.array([1, 4, 3]),
    ),
    x=F32(4, 3, 2),
)  # fmt: skip


class _Saver(object):
    def __init__(self, tf):
        self.tf, self.saved = tf, {}

    def state(self, name):
        return self.tf.ones([3, 4])

    def save_state(self, name, state):
        self.saved[name] = self.tf.identity(state, name="saved_" + name)
        return self.saved[name]


def _state_saving(tf, x):
    saver = _Saver(tf)
    outputs, state = tf.nn.static_state_saving_rnn(
        tf.nn.rnn_cell.LSTMCell(4), tf.unstack(x), saver, ("c", "h"), sequence_length=np.array([1, 4, 3])
    )
    return outputs, state, saver.saved["c"]


_loop("static_state_saving", _state_saving, x=F32(4, 3, 2))


def _names(tf, x):
    with tf.variable_scope("outer"):
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(4)] * 2), x, dtype=tf.float32)
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4, name="mine"), x, dtype=tf.float32, scope="second")
        with tf.variable_scope("rnn", reuse=tf.AUTO_REUSE):
            tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32)
            tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32)
    return x


case(
    "names",
    _names,
    fetch=False,
    partial=False,
    x=F32(3, 2, 4),
)

error_case("no_dtype", lambda tf, x: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x), x=F32(3, 5, 3))
error_case("not_a_cell", lambda tf, x: tf.nn.dynamic_rnn(3, x, dtype=tf.float32), x=F32(3, 5, 3))
error_case("static_no_dtype", lambda tf, x: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), [x]), x=F32(3, 5))
error_case("static_empty", lambda tf, x: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), []), x=F32(3, 5))
error_case("static_tensor", lambda tf, x: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(4), x), x=F32(3, 5))
error_case("integer_inputs", lambda tf, x: tf.nn.rnn_cell.GRUCell(4)(tf.to_int32(x), x), x=F32(3, 4))
error_case(
    "keep_prob", lambda tf, x: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(4), 1.5)(x, x), x=F32(3, 4)
)
error_case("no_cells", lambda tf, x: tf.nn.rnn_cell.MultiRNNCell([]), x=F32(3, 4))
error_case(
    "joined_tuples",
    lambda tf, x: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(2)], state_is_tuple=False),
    x=F32(3, 4),
)
error_case(
    "lengths_of_another_batch",
    lambda tf, x: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, [1, 2], dtype=tf.float32),
    run=_run,
    x=F32(3, 5, 3),
)
