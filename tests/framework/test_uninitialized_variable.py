"""Variables without an initializer, and what is known of handles; names and collections are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.gradients import custom_gradient
from tfcompat._src.graph import constant_value
from tfcompat._src.nodes import raw
from tfcompat._src.variables import uninitialized


def test_a_variable_is_copied_into_another_graph():
    with tf.Graph().as_default(), tf.variable_scope("s"):
        variable = tf.Variable([1, 2], name="v", use_resource=True)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        copied = uninitialized.copy_to_graph_uninitialized(variable)
        assert [(op.name, op.type) for op in graph.get_operations()] == [("s/v", "VarHandleOp"), ("s/v/Read/ReadVariableOp", "ReadVariableOp")]
        assert (copied.name, copied.shape, copied.dtype, copied.trainable) == ("s/v:0", [2], tf.int32, True)
        assert copied.initializer is None and copied.initial_value is None
        assert tf.global_variables() == [copied] and tf.trainable_variables() == []
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(copied)
        session.run(copied.assign([3, 4]))
        assert session.run(copied).tolist() == [3, 4]


def test_what_is_known_of_a_handle_is_handed_on():
    with tf.Graph().as_default():
        variable = tf.Variable(np.zeros([2, 2]), use_resource=True)
        _, handle = raw.IdentityN([tf.constant(1.0), variable.handle])
        custom_gradient.copy_handle_data(variable.handle, handle)
        assert handle._handle_data == (tf.float64, (2, 2))


def test_functions_with_their_own_gradient_hand_it_on():
    shapes = []

    @tf.custom_gradient
    def same(handle):
        def grad(upstream):
            shapes.append(constant_value.constant_value(upstream.dense_shape))
            return upstream

        return tf.identity(handle), grad

    with tf.Graph().as_default():
        variable = tf.get_variable("v", [20], use_resource=True)
        tf.gradients(raw.ResourceGather(same(variable.handle), [1, 2], dtype=tf.float32), variable.handle)
    assert [list(shape) for shape in shapes] == [[20]]


W = "Resource localhost/w/N10tensorflow3VarE does not exist."
"""What 1.15.5 says where some other variable has a value."""


@pytest.mark.parametrize(
    "use",
    [
        lambda w: w.assign_add([1.0, 2.0, 3.0]),
        lambda w: tf.gather(w, [0]),
        lambda w: w.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))),
        lambda w: tf.scatter_update(w, [0], [1.0]),
        lambda w: w[0:1].assign([1.0]),
        lambda w: w.scatter_nd_add([[0]], [1.0]),
    ],
)
def test_what_changes_or_picks_finds_no_resource(use):
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [3], use_resource=True)
        with pytest.raises(tf.errors.NotFoundError) as e:
            session.run(use(w))
        assert e.value.message.startswith(W + "\n\t [[node ")
        with pytest.raises(tf.errors.FailedPreconditionError, match="This could mean that the variable was uninitialized. Not found: " + W):
            session.run(w + 1.0)


def test_in_a_dataset_too():
    with tf.Graph().as_default(), tf.Session() as session:
        counter = tf.get_variable("w", [], tf.int32, use_resource=True)
        iterator = tf.data.Dataset.range(3).map(lambda _: counter.assign_add(1)).make_initializable_iterator()
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.NotFoundError, match=W):
            session.run(iterator.get_next())
