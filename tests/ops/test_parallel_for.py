"""tf.vectorized_map, pfor, for_loop, Jacobians and losses of replicas against their formulas."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.gradients.jacobians import batch_jacobian, jacobian
from tfcompat._src.ops.control.parallel_for import for_loop, pfor

ROWS = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def test_loops_stack_what_each_iteration_gives(session):
    doubled, index = pfor(lambda i: (tf.gather(ROWS, i) * 2, i), 3)
    assert doubled.shape == (3, 4)
    np.testing.assert_array_equal(session.run(doubled), 2 * ROWS)
    np.testing.assert_array_equal(session.run(index), [0, 1, 2])
    rows, nothing = for_loop(lambda i: (tf.gather(ROWS, i), None), [tf.float32, tf.int32], tf.constant(2))
    np.testing.assert_array_equal(session.run(rows), ROWS[:2])
    assert nothing is None and rows.shape.as_list() == [None, 4]


def test_operations_of_a_loop_run_in_each_iteration(session):
    counter = tf.Variable(0, use_resource=True)
    session.run(counter.initializer)
    done = for_loop(lambda i: counter.assign_add(i + 1, read_value=False), tf.int32, 4)
    session.run(done)
    assert session.run(counter) == 10


def test_vectorized_map_of_a_structure(session):
    outer, summed = tf.vectorized_map(lambda e: (tf.tensordot(e["a"], e["a"], 0), e["a"] + e["b"]), {"a": ROWS, "b": tf.ones([3, 4])})
    np.testing.assert_array_equal(session.run(outer), np.einsum("ri,rj->rij", ROWS, ROWS))
    np.testing.assert_array_equal(session.run(summed), ROWS + 1)


def test_pfor_config_is_lacking():
    with pytest.raises(NotImplementedError, match="pfor_config"):
        pfor(lambda i, pfor_config: i, 3)


@pytest.mark.parametrize("use_pfor", [True, False])
def test_jacobians_of_a_product(session, use_pfor):
    weights = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    x, w = tf.constant(ROWS), tf.constant(weights)
    y = tf.matmul(x, w)
    by_w, none = jacobian(y, [w, tf.constant(1.0)], use_pfor=use_pfor)
    assert by_w.shape == (3, 2, 4, 2) and none is None
    np.testing.assert_allclose(session.run(by_w), np.einsum("rk,jl->rjkl", ROWS, np.eye(2)))
    np.testing.assert_allclose(session.run(batch_jacobian(y, x, use_pfor=use_pfor)), np.broadcast_to(weights.T, (3, 2, 4)))
    with pytest.raises(ValueError, match="Need first dimension of output shape"):
        batch_jacobian(tf.zeros([2, 3]), tf.zeros([3, 3]))


def test_losses_of_replicas(session):
    assert session.run(tf.nn.compute_average_loss([1.0, 2.0, 3.0])) == 2
    assert session.run(tf.nn.compute_average_loss([2.0, 4.0], sample_weight=[0.5, 1.0], global_batch_size=10.0)) == 0.5
    assert session.run(tf.nn.scale_regularization_loss([1.0, 2.0])) == 3
    losses = tf.placeholder(tf.float32)
    average = tf.nn.compute_average_loss(losses)
    assert session.run(average, {losses: [[1.0, 2.0]]}) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least rank 1"):
        session.run(average, {losses: 2.0})
    with pytest.raises(ValueError, match="at least rank 1"):
        tf.nn.compute_average_loss(1.0)
