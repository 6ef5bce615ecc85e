"""Optimizers as 1.15 has them where the tables cannot see it: plans, subclasses, messages, losses by function."""

import numpy as np
import pytest

import tfcompat as tf

STEPS = 200


def initialised(session):
    """Runs every initializer."""
    session.run([v.initializer for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)])


def network(x, y):
    """Loss of a network with one hidden layer."""
    hidden = tf.tanh(tf.matmul(x, tf.get_variable("w1", [4, 8])) + tf.get_variable("b1", [8]))
    return tf.reduce_mean(tf.square(tf.matmul(hidden, tf.get_variable("w2", [8, 1])) - y))


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", ["Adam", "Momentum", "RMSProp"])
def test_a_training_step_is_one_compiled_call_that_updates_every_variable(name, resource):
    make = {
        "Adam": lambda rate: tf.train.AdamOptimizer(rate),
        "Momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
        "RMSProp": lambda rate: tf.train.RMSPropOptimizer(rate),
    }[name]
    random = np.random.RandomState(0)
    inputs = random.randn(32, 4).astype(np.float32)
    targets = np.sin(inputs.sum(1, keepdims=True))
    with tf.Graph().as_default(), tf.variable_scope("net", use_resource=resource):
        tf.set_random_seed(1)
        x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
        loss = network(x, y)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.01, step, 100, 0.9)
        train = make(rate).minimize(loss, global_step=step)
        with tf.Session() as session:
            initialised(session)
            feed = {x: inputs, y: targets}
            plan = session.plan([train, loss], feed)
            assert len(plan.clusters) == 1
            first = session.run([train, loss], feed)[1]
            for _ in range(STEPS - 1):
                last = session.run([train, loss], feed)[1]
            assert last < first / 2
            assert session.run(step) == STEPS == tf.train.global_step(session, step)


def test_a_subclass_with_its_own_update():
    class Sign(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Sign")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "count", self._name)

        def _apply_dense(self, grad, var):
            count = self.get_slot(var, "count").assign_add(tf.ones_like(grad))
            return tf.group(var.assign_sub(0.5 * tf.sign(grad)), count)

    with tf.Graph().as_default():
        w = tf.Variable([1.0, -2.0], name="w")
        optimizer = Sign()
        train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
        with tf.Session() as session:
            initialised(session)
            session.run(train)
            session.run(train)
            np.testing.assert_array_equal(session.run(w), [0.0, -1.0])
            np.testing.assert_array_equal(session.run(optimizer.get_slot(w, "count")), [2.0, 2.0])
        assert [v.name for v in optimizer.variables()] == ["w/Sign:0"]
        assert optimizer.get_slot_names() == ["count"]


def test_a_loss_by_function_trains_the_resource_variables_that_it_reads():
    with tf.Graph().as_default(), tf.variable_scope("model", use_resource=True):
        w = tf.get_variable("w", initializer=np.array([2.0, 3.0]))
        unused = tf.get_variable("unused", initializer=np.array([2.0, 3.0]))
        optimizer = tf.train.GradientDescentOptimizer(0.25)
        pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(w * w))
        assert [v for _, v in pairs] == [w]
        train = optimizer.apply_gradients(pairs)
        with tf.Session() as session:
            initialised(session)
            session.run(train)
            np.testing.assert_array_equal(session.run(w), [1.0, 1.5])
            np.testing.assert_array_equal(session.run(unused), [2.0, 3.0])


def test_messages_name_variables_and_loss():
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="lonely")
        loss = tf.constant(2.0, name="cost")
        with pytest.raises(ValueError, match=r"No gradients provided for any variable.*lonely.*and loss .*cost"):
            tf.train.AdamOptimizer().minimize(loss)
        with pytest.raises(ValueError, match="Invalid type tf.int32 for cost:0"):
            with tf.Graph().as_default():
                tf.train.AdamOptimizer().minimize(tf.constant(2, name="cost"), var_list=[])
        assert v.name == "lonely:0"


def test_the_train_op_is_in_its_collection_once():
    with tf.Graph().as_default():
        w = tf.Variable(1.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w))
        assert isinstance(train, tf.Operation)
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


def test_sparse_gradients_stay_sparse_and_add_up():
    with tf.Graph().as_default():
        w = tf.Variable(np.ones([4, 2], np.float32))
        loss = tf.reduce_sum(tf.gather(w, [1, 1, 3]))
        optimizer = tf.train.GradientDescentOptimizer(0.25)
        grad, _ = optimizer.compute_gradients(loss)[0]
        assert isinstance(grad, tf.IndexedSlices)
        train = optimizer.minimize(loss)
        with tf.Session() as session:
            initialised(session)
            session.run(train)
            np.testing.assert_array_equal(session.run(w)[:, 0], [1.0, 0.5, 1.0, 0.75])
            assert len(session.plan(train).clusters) == 1


def test_gate_graph_waits_for_all_gradients():
    with tf.Graph().as_default():
        a, b = tf.Variable(2.0), tf.Variable(3.0)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        pairs = optimizer.compute_gradients(a * b, gate_gradients=tf.train.Optimizer.GATE_GRAPH)
        assert [g.op.name for g, _ in pairs] == ["tuple/control_dependency", "tuple/control_dependency_1"]
        train = optimizer.apply_gradients(pairs)
        with tf.Session() as session:
            initialised(session)
            session.run(train)
            assert session.run([a, b]) == [0.5, 2.0]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_a_global_step_must_be_a_variable(dtype):
    """A constant cannot count steps: apply_gradients raises 1.15.5's AttributeError."""
    with tf.Graph().as_default():
        v = tf.get_variable("v", [])
        with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'assign_add'"):
            tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=tf.constant(3, dtype))
