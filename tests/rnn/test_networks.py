"""cuDNN's networks against their formulas, and Recurrent against an unrolled loop."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.cudnn_rnn import networks

TIME, BATCH, DEPTH, UNITS = 5, 3, 4, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, h, c, w, r, b_w, b_r):
    i, f, g, o = (x @ w[k].T + h @ r[k].T + b_w[k] + b_r[k] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, c, w, r, b_w, b_r):
    from_x = [x @ w[k].T + b_w[k] for k in range(3)]
    from_h = [h @ r[k].T + b_r[k] for k in range(3)]
    reset, update = sigmoid(from_x[0] + from_h[0]), sigmoid(from_x[1] + from_h[1])
    return (1 - update) * np.tanh(from_x[2] + reset * from_h[2]) + update * h, c


def tanh(x, h, c, w, r, b_w, b_r):
    return np.tanh(x @ w[0].T + h @ r[0].T + b_w[0] + b_r[0]), c


FORMULAS = {"lstm": (lstm, 4), "gru": (gru, 3), "rnn_tanh": (tanh, 1)}


def run_formula(mode, x, weights, biases, lengths, directions):
    """One layer of a network in NumPy: outputs and last states h."""
    formula, gates = FORMULAS[mode]
    outputs, lasts = [], []
    for d in range(directions):
        w = weights[2 * gates * d : 2 * gates * (d + 1)]
        b = biases[2 * gates * d : 2 * gates * (d + 1)]
        found, last = np.zeros((TIME, BATCH, UNITS)), np.zeros((BATCH, UNITS))
        for row in range(BATCH):
            h = c = np.zeros((1, UNITS))
            steps = range(lengths[row])
            for t in reversed(steps) if d else steps:
                h, c = formula(x[t, row : row + 1], h, c, w[:gates], w[gates:], b[:gates], b[gates:])
                found[t, row] = h
            last[row] = h
        outputs.append(found)
        lasts.append(last)
    return np.concatenate(outputs, 2), lasts


@pytest.mark.parametrize("mode", FORMULAS)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, [5, 2, 3]])
def test_two_layers_equal_the_formulas(mode, direction, lengths):
    random = np.random.RandomState(3)
    directions, gates = 1 + (direction == "bidirectional"), FORMULAS[mode][1]
    per_layer = 2 * gates * directions
    widths = [DEPTH, directions * UNITS]
    weights = [
        random.normal(size=(UNITS, width if k % (2 * gates) < gates else UNITS))
        for width in widths
        for k in range(per_layer)
    ]
    biases = [random.normal(size=UNITS) for _ in range(2 * per_layer)]
    x = random.normal(size=(TIME, BATCH, DEPTH))
    state = np.zeros((2 * directions, BATCH, UNITS))
    with tf.Graph().as_default(), tf.Session() as session:
        params = networks.cudnn_rnn_canonical_to_opaque_params(
            mode, 2, UNITS, DEPTH, [tf.constant(w) for w in weights], [tf.constant(b) for b in biases],
            direction=direction,
        )  # fmt: skip
        back = networks.cudnn_rnn_opaque_params_to_canonical(mode, 2, UNITS, DEPTH, params, direction=direction)
        size = networks.cudnn_rnn_opaque_params_size(mode, 2, UNITS, DEPTH, direction=direction, dtype=tf.float64)
        memory = tf.constant(state) if mode == "lstm" else tf.constant([], tf.float64)
        outputs, last, _ = networks.cudnn_rnn(
            tf.constant(x), tf.constant(state), memory, params, True, mode, lengths, direction=direction
        )
        params, back, size, outputs, last = session.run([params, back, size, outputs, last])
    assert size.tolist() == [params.size]
    for want, have in zip(weights + biases, [*back[0], *back[1]], strict=True):
        np.testing.assert_array_equal(want, have)
    want, lasts = x, []
    for layer in range(2):
        part = slice(layer * per_layer, (layer + 1) * per_layer)
        want, more = run_formula(mode, want, weights[part], biases[part], lengths or [TIME] * BATCH, directions)
        lasts += more
    np.testing.assert_allclose(outputs, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(last, lasts, rtol=1e-9, atol=1e-12)


def test_gradients_equal_finite_differences():
    random = np.random.RandomState(4)
    x, step = random.normal(size=(TIME, BATCH, DEPTH)), 1e-6
    with tf.Graph().as_default(), tf.Session() as session:
        size = session.run(networks.cudnn_rnn_opaque_params_size("gru", 2, UNITS, DEPTH, dtype=tf.float64))[0]
        values = random.normal(size=size)
        params = tf.placeholder(tf.float64, [size])
        state = tf.zeros([2, BATCH, UNITS], tf.float64)
        outputs, last = networks.cudnn_gru(tf.constant(x), state, params, True)
        loss = tf.reduce_sum(outputs**2) + tf.reduce_sum(last)
        found = session.run(tf.gradients(loss, params)[0], {params: values})
        for k in range(0, size, 5):
            moved = [values + sign * step * (np.arange(size) == k) for sign in (1, -1)]
            up, down = (session.run(loss, {params: v}) for v in moved)
            np.testing.assert_allclose(found[k], (up - down) / (2 * step), rtol=1e-5, atol=1e-7)


def test_no_gradient_outside_of_training():
    with tf.Graph().as_default():
        x, state = tf.zeros([TIME, BATCH, DEPTH]), tf.zeros([1, BATCH, UNITS])
        params = tf.zeros([UNITS * (DEPTH + UNITS) + 2 * UNITS])
        outputs, _ = networks.cudnn_rnn_tanh(x, state, params, False)
        with pytest.raises(ValueError, match="is_training must be set to True"):
            tf.gradients(outputs, params)


def test_dropout_is_between_layers_and_drawn_anew():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.ones([TIME, BATCH, DEPTH])
        layers = [tf.contrib.cudnn_rnn.CudnnLSTM(n, UNITS, dropout=0.5) for n in (1, 2)]
        one, two = (layer(x)[0] for layer in layers)
        session.run(tf.global_variables_initializer())
        runs = [session.run([one, two]) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert (runs[0][1] != runs[1][1]).any()


def test_wrong_number_of_parameters():
    with tf.Graph().as_default(), tf.Session() as session:
        x, state = tf.zeros([TIME, BATCH, DEPTH]), tf.zeros([1, BATCH, UNITS])
        outputs = networks.cudnn_rnn_tanh(x, state, tf.zeros([3]), True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="the network has 16 parameters"):
            session.run(outputs)


def test_compatible_cell_equals_the_layer():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.random.RandomState(5).normal(size=(TIME, BATCH, DEPTH)).astype(np.float32))
        cell = tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(UNITS)
        want, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
        kernel, bias = tf.global_variables()
        i, g, f, o = tf.split(kernel, 4, 1)
        gates = [tf.transpose(part) for part in (i, f, g, o)]
        weights = [w[:, :DEPTH] for w in gates] + [w[:, DEPTH:] for w in gates]
        b_i, b_g, b_f, b_o = tf.split(bias, 4)
        biases = [b_i, b_f, b_g, b_o] + [tf.zeros([UNITS])] * 4
        params = networks.cudnn_rnn_canonical_to_opaque_params("lstm", 1, UNITS, DEPTH, weights, biases)
        state = tf.zeros([1, BATCH, UNITS])
        found, _, _ = networks.cudnn_lstm(x, state, state, params, True)
        session.run(tf.global_variables_initializer())
        want, found = session.run([want, found])
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("own_gradient", [False, True])
@pytest.mark.parametrize("length", [None, 3])
def test_recurrent_equals_an_unrolled_loop(own_gradient, length):
    def cell(theta, state, inputs):
        return [state[0] * theta[0] + inputs[0]], []

    def gradient(theta, state, inputs, extras, grad):
        return [tf.reduce_sum(grad[0] * state[0])], [grad[0] * theta[0]], [grad[0]]

    with tf.Graph().as_default(), tf.Session() as session:
        theta, state = tf.constant(0.5), tf.constant([1.0, 2.0])
        x = tf.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2))
        states, last = tf.contrib.recurrent.Recurrent(
            [theta], [state], [x], cell, gradient if own_gradient else None, max_input_length=length
        )
        want = [state]
        for t in range(length or 4):
            want.append(want[-1] * theta + x[t])
        losses = [
            tf.reduce_sum(states[0] ** 2) + tf.reduce_sum(last[0]),
            tf.add_n([tf.reduce_sum(w**2) for w in want[1:]]) + tf.reduce_sum(want[-1]),
        ]
        found = session.run([[loss, *map(tf.convert_to_tensor, tf.gradients(loss, [theta, state, x]))] for loss in losses])
    for have, expected in zip(*found, strict=True):
        np.testing.assert_allclose(have, expected, rtol=1e-6)


@pytest.mark.parametrize("wrapper", ["residual", "dropout"])
def test_functions_of_wrappers_go_through_their_configuration(wrapper):
    rnn_cell = tf.nn.rnn_cell
    with tf.Graph().as_default():
        if wrapper == "residual":
            made = rnn_cell.ResidualWrapper(rnn_cell.GRUCell(3), residual_fn=lambda i, o: i + i + o)
        else:
            made = rnn_cell.DropoutWrapper(
                rnn_cell.GRUCell(3), state_keep_prob=0.5, dropout_state_filter_visitor=lambda state: False
            )
        config = {**made.get_config(), "cell": rnn_cell.GRUCell(3)}
        again = type(made).from_config(config)
        if wrapper == "residual":
            assert again._residual_fn(1, 2) == 4
        else:
            assert again._dropout_state_filter(None) is False
            assert again._state_keep_prob == 0.5


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_converters_give_the_cells_that_compute_the_same(mode):
    contrib, rnn_cell = tf.contrib.cudnn_rnn, tf.nn.rnn_cell
    make, cell, layer = {
        "lstm": (contrib.CudnnParamsFormatConverterLSTM, contrib.CudnnCompatibleLSTMCell, contrib.CudnnLSTM),
        "gru": (contrib.CudnnParamsFormatConverterGRU, contrib.CudnnCompatibleGRUCell, contrib.CudnnGRU),
        "rnn_tanh": (contrib.CudnnParamsFormatConverterTanh, rnn_cell.BasicRNNCell, contrib.CudnnRNNTanh),
        "rnn_relu": (
            contrib.CudnnParamsFormatConverterRelu, lambda n: rnn_cell.BasicRNNCell(n, tf.nn.relu), contrib.CudnnRNNRelu
        ),
    }[mode]  # fmt: skip
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(6)
        x = tf.random_normal([TIME, BATCH, DEPTH], seed=1) * 1.0
        x = tf.constant(session.run(x))
        want, _ = layer(2, UNITS, bias_initializer=tf.random_uniform_initializer(-1, 1))(x)
        (opaque,) = tf.global_variables()
        converter = make(2, UNITS, DEPTH)
        kernels, biases = converter.opaque_to_tf_canonical(opaque)
        again = converter.tf_canonical_to_opaque(kernels + biases)
        found, _ = tf.nn.dynamic_rnn(
            rnn_cell.MultiRNNCell([cell(UNITS) for _ in range(2)]), x, dtype=tf.float32, time_major=True
        )
        named = {"kernel": iter(kernels), "bias": iter(biases)}
        assigned = [
            tf.assign(v, next(named[v.op.name.rpartition("/")[2]])) for v in tf.trainable_variables() if v is not opaque
        ]
        session.run(tf.global_variables_initializer())
        session.run(assigned)
        want, found = session.run([want, found])
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
        kernels_again, biases_again = converter.opaque_to_tf_canonical(again)
        for a, b in session.run(list(zip(kernels + biases, kernels_again + biases_again, strict=True))):
            np.testing.assert_allclose(a, b, rtol=1e-6)
