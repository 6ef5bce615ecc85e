"""Lookups of ids that differ in number from batch to batch: nothing is compiled anew, and the numbers are those of the formula."""

import numpy as np
import pytest

import tfcompat as tf

ROWS, WIDTH, RATE = 50, 3, 0.1


def batch(random, size):
    """Ids of `size` rows of a sparse matrix, from 7 to 16 distinct ones, and their indices: one or two per row."""
    counts = random.permutation([1, 2] * (size // 2))
    indices = np.array([(i, k) for i, n in enumerate(counts) for k in range(n)], np.int64)
    return indices, random.choice(random.permutation(ROWS)[:16], len(indices)).astype(np.int64)


def by_hand(table, indices, ids, size, combiner):
    """The sum of the squares of the combined rows, and its derivative."""
    counts = np.bincount(indices[:, 0], minlength=size).astype(np.float64)
    weight = {"sum": np.ones(size), "mean": 1 / counts, "sqrtn": 1 / np.sqrt(counts)}[combiner]
    combined = np.zeros((size, WIDTH))
    np.add.at(combined, indices[:, 0], table[ids])
    combined *= weight[:, None]
    gradient = np.zeros_like(table)
    np.add.at(gradient, ids, (2 * combined * weight[:, None])[indices[:, 0]])
    return (combined**2).sum(), gradient


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_training_compiles_few_programs(compiles, combiner, use_resource):
    tf.reset_default_graph()
    random, size = np.random.RandomState(3), 20
    start = random.uniform(-1, 1, (ROWS, WIDTH))
    with tf.variable_scope("lookup", use_resource=use_resource):
        table = tf.get_variable("table", initializer=tf.constant(start, tf.float32))
    ids = tf.sparse_placeholder(tf.int64, [None, None])
    combined = tf.nn.embedding_lookup_sparse(table, ids, None, combiner=combiner)
    loss = tf.reduce_sum(tf.square(combined))
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
    expected = start.copy()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(8):
            indices, values = batch(random, size)
            if step == 2:
                before = compiles.count
            got, _ = session.run([loss, train], {ids: (indices, values, [size, 3])})
            want, gradient = by_hand(expected, indices, values, size, combiner)
            expected -= RATE * gradient
            np.testing.assert_allclose(got, want, rtol=1e-4)
        assert compiles.count == before
        np.testing.assert_allclose(session.run(table), expected, atol=1e-5)


def test_selected_rows_compile_few_programs(compiles):
    x = tf.placeholder(tf.float32, [30, 4])
    table = tf.Variable(tf.ones([4, 4]))
    product = tf.matmul(x, table)
    chosen = tf.boolean_mask(product, tf.reduce_sum(x, 1) > 0)
    random = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(8):
            fed = random.uniform(-1, 1, (30, 4))
            if step == 2:
                before = compiles.count
            got = session.run(chosen, {x: fed})
            kept = fed[fed.astype(np.float32).sum(1) > 0]
            np.testing.assert_allclose(got, np.repeat(kept.sum(1)[:, None], 4, 1), rtol=1e-5)
        assert compiles.count == before
