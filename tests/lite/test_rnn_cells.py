"""tf.lite.experimental.nn: cells that compute what 1.15.5's do, and convert to one operator. RECORDED is what 1.15.5's Interpreter gave."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import reader
from tfcompat._src.lite.errors import ConverterError

pytest.importorskip("flatbuffers")
nn = tf.lite.experimental.nn
STEPS, BATCH, DEPTH = 4, 2, 3
CELLS = {
    "rnn": lambda: nn.TfLiteRNNCell(5),
    "lstm": lambda: nn.TFLiteLSTMCell(5, activation=tf.tanh),
    "peep": lambda: nn.TFLiteLSTMCell(5, use_peepholes=True, num_proj=4),
    "stack": lambda: tf.nn.rnn_cell.MultiRNNCell([nn.TFLiteLSTMCell(5), nn.TFLiteLSTMCell(4)]),
}
RECORDED = {
    "rnn": [[-0.323256, 0.030712], [-0.378521, -0.025482]],
    "lstm": [[-0.189836, 0.029585], [-0.489877, -0.179977]],
    "peep": [[0.116945, 0.053313], [-0.693299, -0.61047]],
    "stack": [[-0.098211, -0.318985], [-0.163987, -0.371832]],
}
SEQUENCES = {"rnn": ["UNIDIRECTIONAL_SEQUENCE_RNN"], "lstm": ["UNIDIRECTIONAL_SEQUENCE_LSTM"], "peep": ["UNIDIRECTIONAL_SEQUENCE_LSTM"], "stack": ["UNIDIRECTIONAL_SEQUENCE_LSTM"] * 2}


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def network(session, cell):
    """The last output of a static_rnn times a matrix; weights and the fed sequence are drawn in the order of names."""
    x = tf.placeholder(tf.float32, [STEPS, BATCH, DEPTH], name="x")
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=0), dtype=tf.float32)
    size = outputs[-1].shape.as_list()[1]
    y = tf.matmul(outputs[-1], tf.constant(np.linspace(-1, 1, size * 2).astype(np.float32).reshape(-1, 2)), name="y")
    random = np.random.RandomState(0)
    for variable in sorted(tf.global_variables(), key=lambda v: v.op.name):
        variable.load(random.randn(*variable.shape.as_list()).astype(np.float32) * 0.5, session)
    return x, y, random.randn(STEPS, BATCH, DEPTH).astype(np.float32)


def interpreted(content, array):
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], array)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("name", list(CELLS))
def test_a_sequence_is_one_operator(session, name):
    x, y, array = network(session, CELLS[name]())
    np.testing.assert_allclose(session.run(y, {x: array}), RECORDED[name], rtol=1e-5, atol=1e-6)
    content = tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()
    operators = list(reader.read(content).operators())
    assert [o.builtin for o in operators] == [*SEQUENCES[name], "UNPACK", "FULLY_CONNECTED"]
    assert all(o.options["time_major"] for o in operators[:-2])
    np.testing.assert_allclose(interpreted(content, array), RECORDED[name], rtol=1e-5, atol=1e-6)


def test_names_of_variables(session):
    network(session, CELLS["peep"]())
    names = [v.op.name.removeprefix("rnn/tf_lite_lstm_cell/") for v in tf.global_variables()]
    gates = ("input", "forget", "cell", "output")
    assert names == [
        *(f"{side}_to_{gate}_w" for side in ("input", "cell") for gate in gates), *(f"{gate}_bias" for gate in gates), "w_f_diag", "w_i_diag", "w_o_diag",
        "projection/kernel",
    ]  # fmt: skip


OTHERS = {
    "clipped": lambda: nn.TFLiteLSTMCell(5, cell_clip=0.3), "relu": lambda: nn.TfLiteRNNCell(5, activation=tf.nn.relu),
    "sigmoid": lambda: nn.TFLiteLSTMCell(5, activation=tf.sigmoid),
}  # fmt: skip


@pytest.mark.parametrize("name", list(OTHERS))
def test_what_the_operator_lacks_converts_to_the_parts_of_steps(session, name):
    """The operator of 1.15 would leave clipping out, and take tanh for any activation."""
    x, y, array = network(session, OTHERS[name]())
    content = tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()
    assert not [o.builtin for o in reader.read(content).operators() if o.builtin.startswith("UNIDIRECTIONAL")]
    np.testing.assert_allclose(interpreted(content, array), session.run(y, {x: array}), rtol=1e-5, atol=1e-6)


def test_an_initial_state_must_be_zeros(session):
    x = tf.placeholder(tf.float32, [BATCH, DEPTH])
    outputs, _ = tf.nn.static_rnn(nn.TfLiteRNNCell(5), [x, x], initial_state=tf.ones([BATCH, 5]))
    y = tf.nn.relu(outputs[-1])
    session.run(tf.global_variables_initializer())
    with pytest.raises(ConverterError, match="must be zeros: TensorFlow Lite starts RNNs with zeros"):
        tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()


def test_a_dynamic_rnn_needs_control_flow_v2():
    inputs = tf.zeros([STEPS, BATCH, DEPTH])
    with pytest.raises(RuntimeError, match="only supports control flow v2"):
        nn.dynamic_rnn(nn.TfLiteRNNCell(5), inputs, dtype=tf.float32)
    with pytest.raises(AssertionError, match="needs time_major inputs"):
        nn.dynamic_rnn(nn.TfLiteRNNCell(5), inputs, dtype=tf.float32, time_major=False)


def test_a_dynamic_rnn_computes_what_the_static_one_does(session):
    tf.enable_control_flow_v2()
    try:
        x, y, array = network(session, cell := nn.TfLiteRNNCell(5))
        with tf.variable_scope("rnn", reuse=True):
            outputs, state = nn.dynamic_rnn(cell, x, dtype=tf.float32, scope=tf.get_variable_scope())
        found, last = session.run([outputs, state], {x: array})
        np.testing.assert_array_equal(found[-1], last)
        matrix = np.linspace(-1, 1, 10).astype(np.float32).reshape(-1, 2)
        np.testing.assert_allclose(last @ matrix, session.run(y, {x: array}), rtol=1e-5, atol=1e-6)
        with pytest.raises(NotImplementedError, match="Hints that hold others are not converted"):
            tf.lite.TFLiteConverter.from_session(session, [x], [tf.nn.relu(outputs)])
    finally:
        tf.disable_control_flow_v2()
