"""tf.import_graph_def: shapes that a GraphDef states of its nodes, and the order of tensors."""

import pytest

import tfcompat as tf


def graph_def(build, shape):
    """A GraphDef whose last node states a shape of its output."""
    with tf.Graph().as_default() as graph:
        build()
        found = graph.as_graph_def()
    found.node[-1].attr["_output_shapes"].list.shape.add().CopyFrom(tf.TensorShape(shape).as_proto())
    return found


def test_shapes_that_early_versions_wrote_otherwise_are_passed_over():
    barrier = graph_def(lambda: tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[[3]], name="it"), [])
    with tf.Graph().as_default():
        made = tf.import_graph_def(barrier, return_elements=["it:0"])[0]
        assert made.shape.as_list() == [2]


def test_a_stated_shape_is_taken_and_must_fit():
    with tf.Graph().as_default():
        made = tf.import_graph_def(graph_def(lambda: tf.placeholder(tf.float32, name="it"), [3]), return_elements=["it:0"])[0]
        assert made.shape.as_list() == [3]
        with pytest.raises(ValueError, match="must be equal rank"):
            tf.import_graph_def(graph_def(lambda: tf.constant([1.0, 2.0], name="it"), []))


def test_tensors_are_ordered_as_they_were_made():
    with tf.Graph().as_default():
        first, second = tf.unstack(tf.zeros([2]))
        third = tf.ones([])
        assert sorted([third, second, first], key=lambda t: t._id) == [first, second, third]
