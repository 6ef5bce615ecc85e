"""A run is planned and compiled once, whatever the keys of its feed_dict are and however many elements a host step finds."""

import numpy as np
import pytest

import tfcompat as tf

ROWS = np.array([[0, 1], [1, 0], [1, 2]], np.int64)


def _state():
    return tf.nn.rnn_cell.LSTMStateTuple(tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2]))


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_a_fed_tuple_is_planned_once(session):
    state = _state()
    total = tf.reduce_sum(state.c * state.h)
    for k in range(1, 4):
        assert session.run(total, {state: (np.array([k, 2.0]), np.array([3.0, 4.0]))}) == 3 * k + 8
    plan = session.plan(total, {state: tuple(np.ones((2, 2)))})
    assert plan is session.plan(total, {state: tuple(np.zeros((2, 2)))})
    assert plan.compile_count() == 1


def test_a_fed_sparse_tensor_is_planned_once(session):
    matrix = tf.sparse_placeholder(tf.float32, [2, 3])
    product = tf.sparse_tensor_dense_matmul(matrix, tf.constant([[1.0], [10.0], [100.0]]))
    for k in range(1, 4):
        value = tf.SparseTensorValue(ROWS, [k, 2.0, 3.0], [2, 3])
        np.testing.assert_array_equal(session.run(product, {matrix: value}), [[10 * k], [302]])
    assert session.plan(product, {matrix: value}).compile_count() == 1


def test_a_feed_of_a_sparse_matrix_with_more_elements_needs_no_new_program(session):
    matrix = tf.sparse_placeholder(tf.float32)
    weights = tf.Variable([[np.inf], [10.0], [100.0]])
    product = tf.sparse_tensor_dense_matmul(matrix, weights)
    session.run(weights.initializer)
    for count in (3, 1, 0, 2):
        rows = np.array([[0, 1], [1, 2], [1, 1]])[:count]
        dense = np.zeros((2, 2))
        for row, column in rows:
            dense[row, column - 1] = 2.0
        feed = {matrix: tf.SparseTensorValue(rows.reshape(-1, 2), [2.0] * count, [2, 3])}
        np.testing.assert_array_equal(session.run(product, feed), dense @ [[10.0], [100.0]])
    assert session.plan(product, feed).compile_count() == 1


def test_an_empty_graph_is_reported_before_its_feeds(session):
    with pytest.raises(RuntimeError, match="graph is empty"):
        session.run("x:0", {0: 1})


def test_nothing_is_compiled_for_how_many_elements_are_kept(session):
    """The products have room for more elements than are left of a sparse matrix, so one program serves."""
    matrix, mask = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.bool, [3])
    weights = tf.Variable([[1.0], [10.0], [100.0]])
    kept = tf.sparse_retain(matrix, mask)
    product = tf.sparse_tensor_dense_matmul(kept * 2.0, tf.square(weights))
    [slope] = tf.gradients(product, [weights])
    session.run(weights.initializer)
    for chosen in ([True, True, True], [True, False, True], [False, False, True], [False] * 3):
        value = tf.SparseTensorValue(ROWS, [1.0, 2.0, 3.0], [2, 3])
        dense = np.zeros((2, 3))
        for (row, column), number in zip(ROWS[chosen], np.array(value.values)[chosen]):
            dense[row, column] = 2 * number
        feed = {matrix: value, mask: chosen}
        found, found_slope = session.run([product, slope], feed)
        w = np.array([[1.0], [10.0], [100.0]])
        np.testing.assert_array_equal(found, dense @ w**2)
        np.testing.assert_array_equal(found_slope, dense.sum(0)[:, None] * 2 * w)
    plan = session.plan([product, slope], feed)
    assert plan.compile_count() == len(plan.clusters)


def test_a_kept_element_outside_the_shape_is_an_error(session):
    matrix, mask = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.bool, [3])
    product = tf.sparse_tensor_dense_matmul(tf.sparse_retain(matrix, mask), tf.ones([2, 1]))
    value = tf.SparseTensorValue(ROWS, [1.0, 2.0, 3.0], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"k \(2\) from index\[1,1\] out of bounds \(>=2\)"):
        session.run(product, {matrix: value, mask: [True, False, True]})
