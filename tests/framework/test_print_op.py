"""print_op prints what TensorFlow 1.15.5 prints, and makes its nodes."""

import tfcompat as tf
from tfcompat._src.contrib.framework.print_op import print_op

PRINTED = """\
m [Name: Const:0][Type: Tensor (bool)][Shape: [Dimension(2)]][First True in Boolean tensor at:][1][Value:][0 1]\
[Name: Const_1:0][Type: Tensor (int32)][Shape: [Dimension(1), Dimension(2)]][Value:][[1 2]]
[Type: SparseTensor (int32)][Sparse indices:][[0 1]][Sparse values:][5]
"""
OPS = [*["Const"] * 5, "Cast", "Const", "Const", "ArgMax", *["Const"] * 5, "Print", *["Const"] * 7, "Print", *["Identity"] * 3]


def test_text_and_nodes(capfd):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        flags = print_op(tf.constant([False, True]), data=[tf.constant([[1, 2]])], message="m ")
        sparse = tf.SparseTensor(tf.constant([[0, 1]], tf.int64), tf.constant([5]), tf.constant([2, 2], tf.int64))
        sparse = print_op(sparse, print_shape=False)
        assert [op.type for op in graph.get_operations()] == OPS
        session.run(flags)
        session.run(sparse)
    assert capfd.readouterr().err == PRINTED
