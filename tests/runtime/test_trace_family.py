"""Traces for new shapes that are made of earlier ones: they compute what a trace of their own does."""

import jax
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.latency import merged_traces, trace_family

SIZES = [(5, 9), (8, 4), (6, 7), (11, 12), (9, 5), (7, 8), (10, 6), (14, 11), (13, 10), (4, 13), (12, 14), (15, 4)]


@pytest.fixture
def made(monkeypatch):
    """The shapes whose traces were made of others, where short traces are merged too and nothing is compiled."""
    monkeypatch.setattr(trace_family, "FEW_EQUATIONS", 1)
    monkeypatch.setattr(choice, "ENGINE", "interpret")
    found, make = [], trace_family.TraceFamily.made

    def noted(self, arguments, tracing):
        trace = make(self, arguments, tracing)
        if trace is not None:
            found.append(tuple(a.shape for a in jax.tree.leaves(arguments)))
        return trace

    monkeypatch.setattr(trace_family.TraceFamily, "made", noted)
    return found


def of_all_sizes(build, sizes):
    """What each step of a session gives, in which two placeholders have these sizes."""
    random = np.random.RandomState(3)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(5)
        x = tf.placeholder(tf.float32, [None, None, 3])
        fetches = build(x)
        session.run(tf.global_variables_initializer())
        return [session.run(fetches, {x: random.randn(*size, 3)}) for size in sizes]


def trained(loss):
    """A loss before each step of training, and the gradients' sums."""
    optimizer = tf.train.AdamOptimizer(0.01)
    gradients = optimizer.compute_gradients(loss)
    return loss, [tf.reduce_sum(tf.convert_to_tensor(g)) for g, _ in gradients], optimizer.apply_gradients(gradients)


def lstm(x):
    lengths = tf.reduce_sum(tf.cast(x[:, :, 0] > 0, tf.int32), 1)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.LSTMCell(4), x, lengths, dtype=tf.float32)
    mask = tf.sequence_mask(lengths, tf.shape(x)[1], tf.float32)
    return trained(tf.reduce_sum(tf.reduce_sum(tf.concat(outputs, 2) ** 2, 2) * mask) / tf.reduce_sum(mask))


def field(x):
    lengths = tf.fill([tf.shape(x)[0]], tf.shape(x)[1])
    tags = tf.cast(x[:, :, 0] > 0, tf.int32)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(tf.layers.dense(x, 2), tags, lengths)
    return trained(tf.reduce_mean(-likelihood))


def attention(x):
    weights = tf.nn.softmax(tf.matmul(tf.layers.dense(x, 4), tf.layers.dense(x, 4), transpose_b=True))
    return trained(tf.reduce_mean(tf.matmul(weights, x) ** 2))


def reshaped(x):
    flat = tf.reshape(x, [-1, 3])
    positions = tf.reshape(tf.range(tf.shape(flat)[0] * 3), tf.shape(x))
    return tf.gather(tf.reshape(flat, [-1]), positions), tf.reverse(flat, [0]), tf.tile(x, [2, 1, 1]), tf.reduce_mean(x), tf.cumsum(x, 1)


def dropped(x):
    return trained(tf.reduce_mean(tf.nn.dropout(tf.layers.dense(x, 4), 0.5) ** 2)), tf.random_uniform([4, tf.shape(x)[1]])


def scanned(x):
    return trained(tf.reduce_sum(tf.scan(lambda state, row: tf.tanh(state + tf.reduce_mean(row, 0)), tf.transpose(x, [1, 0, 2]), tf.get_variable("s", [3])) ** 2))


@pytest.mark.parametrize("build", [lstm, field, attention, reshaped, dropped, scanned])
def test_results_are_those_of_traces_of_their_own(build, made, monkeypatch):
    found = of_all_sizes(build, SIZES)
    assert len(made) == len(SIZES) - 5  # five are traced
    monkeypatch.setattr(trace_family, "MOST_SIZES", 0)
    for ours, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(of_all_sizes(build, SIZES)), strict=True):
        np.testing.assert_array_equal(ours, wanted)


def pooled(x):
    return tf.layers.max_pooling1d(x, 2, 2, padding="same")


def clipped(x):
    return tf.nn.top_k(x[:, :, 0], tf.minimum(tf.shape(x)[1], 6)).values


def shortest(x):
    return tf.matrix_diag_part(x[:, :, 0])


@pytest.mark.parametrize("build", [pooled, clipped, shortest])
def test_what_is_no_polynomial_is_traced_for_each_shape(build, made, monkeypatch):
    found = of_all_sizes(build, SIZES)
    assert not made
    monkeypatch.setattr(trace_family, "MOST_SIZES", 0)
    for ours, wanted in zip(found, of_all_sizes(build, SIZES), strict=True):
        np.testing.assert_array_equal(ours, wanted)


def test_sizes_outside_of_the_box_and_another_last_batch_are_traced(made):
    sizes = [(8, 5), (8, 9), (8, 7), (8, 6), (3, 8), (8, 40), (8, 1), (8, 0), (8, 19)]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        total = tf.reduce_sum(x, 1)
        for rows, columns in sizes:
            np.testing.assert_array_equal(session.run(total, {x: np.ones([rows, columns])}), np.full(rows, columns))
    assert made == [((8, 6),), ((8, 19),)]


def test_one_size_needs_three_shapes(made):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        total = tf.reduce_sum(x) / tf.cast(tf.size(x), tf.float32)
        assert [session.run(total, {x: np.arange(n)}) for n in (4, 9, 6, 7, 5, 40, 1, 12)] == [1.5, 4.0, 2.5, 3.0, 2.0, 19.5, 0.0, 5.5]
    assert made == [((7,),), ((5,),), ((12,),)]


def test_a_failed_check_is_told_as_ever(made):
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.placeholder(tf.int32, [None], name="ids")
        rows = tf.gather(tf.constant([[1.0, 2.0], [3.0, 4.0]]), ids, name="look_up")
        for n in (3, 5, 4, 6):
            session.run(rows, {ids: [1] * n})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[4\] = 7 is not in \[0, 2\)"):
            session.run(rows, {ids: [0, 1, 0, 1, 7, 1, 0]})
    assert len(made) == 2


def test_dataflow_that_differs_is_refused():
    """Two functions with the same operations, of which one subtracts the other way round."""
    traces = [jax.make_jaxpr(f)(np.zeros(n), np.zeros(n)) for f, n in ((lambda x, y: x - y, 4), (lambda x, y: x - y, 5), (lambda x, y: y - x, 7))]
    fit = merged_traces.Fit([(4,), (5,), (7,)])
    with pytest.raises(merged_traces.Differing, match="the function uses other values for other sizes"):
        merged_traces.MergedTrace(fit, traces, "the function")
    again = jax_compat.made_trace(lambda *given: merged_traces.MergedTrace(fit, [traces[0], traces[1], jax.make_jaxpr(lambda x, y: x - y)(np.zeros(7), np.zeros(7))], "it")((6,), given), [np.zeros(6)] * 2)
    assert [e.primitive.name for e in again.eqns] == ["sub"] and again.out_avals[0].shape == (6,)


NUMBERS = {
    "remainder": (lambda n: tf.cast(tf.equal(n % 10, 0), tf.float32), lambda n: float(n % 10 == 0)),
    "branch": (lambda n: tf.cond(tf.equal(n % 10, 0), lambda: tf.constant(1.0), lambda: tf.constant(0.0)), lambda n: float(n % 10 == 0)),
    "maximum": (lambda n: tf.cast(tf.maximum(n, 15), tf.float32), lambda n: float(max(n, 15))),
    "third": (lambda n: tf.reduce_sum(tf.ones([n // 3])), lambda n: float(n // 3)),
    "range": (lambda n: tf.cast(tf.size(tf.range(0, n, 7)), tf.float32), lambda n: float(-(-n // 7))),
    "window": (lambda n: tf.cast((n > 15) & (n < 18), tf.float32), lambda n: float(15 < n < 18)),
    "in a loop": (
        lambda n: tf.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s + tf.cast(tf.equal(n % 7, 0), tf.float32)), [0, 0.0])[1],
        lambda n: float(n * (n % 7 == 0)),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_no_polynomial_of_the_sizes_gives(made, name):
    build, expected = NUMBERS[name]
    sizes = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 30, 9, 14, 28]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        fetches = build(tf.shape(x)[0]), tf.reduce_sum(x * 2.0)
        assert [session.run(fetches, {x: np.ones([n, 4])})[0] for n in sizes] == [expected(n) for n in sizes]


def test_a_trace_is_derived_only_for_sizes_whose_numbers_it_holds(made):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        fetches = tf.equal(tf.shape(x)[0], 20), tf.reduce_sum(x * 2.0)
        for n in (11, 12, 13, 14, 15, 16, 20, 17, 18, 20):
            assert session.run(fetches, {x: np.ones([n, 4])})[0] == (n == 20)
    assert {(17, 4), (18, 4)} <= {shapes[0] for shapes in made}
    assert not {(20, 4)} & {shapes[0] for shapes in made}
