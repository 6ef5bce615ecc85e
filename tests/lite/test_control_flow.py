"""Conditionals, loops and recurrent networks, which 1.15's converter refuses: the model gives what the session gives."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import reader
from tfcompat._src.lite.errors import ConverterError

CELLS = tf.nn.rnn_cell
RANDOM = np.random.RandomState(5)


def floats(*shape):
    return RANDOM.rand(*shape).astype(np.float32)


def power(x):
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2 + x), [0, x])[1]


def branches(x):
    dense = tf.layers.Dense(4)
    return tf.cond(tf.reduce_sum(x) > 1.0, lambda: [dense(x), tf.constant(3.0)], lambda: [x - 1, tf.reduce_max(x)])


def conditional_in_a_loop(x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.cond(y[0, 0] > 0.6, lambda: y - 0.5, lambda: y + x)), [0, x])[1]


def loop_in_a_loop(x):
    def body(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + x), [0, y])[1]

    return tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]


def case(x):
    return tf.case([(x[0, 0] > 0.9, lambda: x * 2), (x[0, 0] > 0.1, lambda: x * 3)], default=lambda: x)


def lstm(x):
    outputs, state = tf.nn.dynamic_rnn(CELLS.BasicLSTMCell(6), x, dtype=tf.float32)
    return [outputs, state.c]


def gru_of_two_directions(x):
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(CELLS.GRUCell(6), CELLS.GRUCell(6), x, dtype=tf.float32)
    return tf.concat(outputs, 2)


def lengths(x):
    return tf.nn.dynamic_rnn(CELLS.GRUCell(6), x, sequence_length=[3], dtype=tf.float32)[0]


def keras_lstm(x):
    return tf.keras.layers.LSTM(6)(x)


def keras_gru(x):
    return tf.keras.layers.GRU(6, return_sequences=True)(x)


MODELS = {
    "WHILE": [(power, [1, 4]), (conditional_in_a_loop, [1, 4]), (loop_in_a_loop, [1, 4]), (lstm, [1, 5, 4]), (gru_of_two_directions, [1, 5, 4]),
              (lengths, [1, 5, 4]), (keras_lstm, [1, 5, 4]), (keras_gru, [1, 5, 4])],
    "IF": [(branches, [1, 4]), (case, [1, 4])],
}


@pytest.mark.parametrize("operator, build, shape", [(name, *model) for name, models in MODELS.items() for model in models])
def test_models_give_what_the_session_gives(operator, build, shape):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, shape)
        outputs = build(x)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        session.run(tf.global_variables_initializer())
        content = tf.lite.TFLiteConverter.from_session(session, [x], outputs).convert()
        assert operator in [o.builtin for o in reader.read(content).operators()]
        interpreter = tf.lite.Interpreter(model_content=content)
        interpreter.allocate_tensors()
        for value in (floats(*shape), np.zeros(shape, np.float32), -floats(*shape)):
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)
            interpreter.invoke()
            for detail, expected in zip(interpreter.get_output_details(), session.run(outputs, {x: value})):
                np.testing.assert_allclose(interpreter.get_tensor(detail["index"]), expected, rtol=1e-5, atol=1e-5)


def test_a_loop_over_an_array_of_unknown_size_is_named():
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        array = tf.TensorArray(tf.float32, size=n, element_shape=[])
        total = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])[1].stack()
        with pytest.raises(ConverterError, match="TensorArray 'TensorArray' has a size that is known only when the model runs"):
            tf.lite.TFLiteConverter.from_session(session, [n], [total]).convert()
