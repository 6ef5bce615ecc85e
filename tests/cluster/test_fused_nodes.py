"""Fused nodes as TensorFlow 1.15's optimizer makes them, computed by the operations that they were made of."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster.fused_nodes import taken_apart

A = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
B = np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 4.0]], np.float32)
BIAS = np.array([0.5, -10.0, 1.0], np.float32)


def constant(name, value):
    node = tf.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return node


def value_of(constants, op, fused, **attrs):
    """The value of a fused node of constants."""
    node = tf.NodeDef(name="fused", op=op, input=[*constants, "^unused"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["num_args"].i = len(constants) - 2
    node.attr["fused_ops"].list.s.extend(text.encode() for text in fused)
    for name, value in attrs.items():
        node.attr[name].CopyFrom(value)
    made = tf.GraphDef(node=[constant("unused", np.float32(0)), *(constant(*pair) for pair in constants.items()), node])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(taken_apart(made), name="")
        with tf.Session() as session:
            return session.run("fused:0"), [op.type for op in graph.get_operations() if op.type != "Const"]


@pytest.mark.parametrize("activation, apply", [(None, lambda y: y), ("Relu", lambda y: np.maximum(y, 0)), ("Relu6", lambda y: np.clip(y, 0, 6)), ("Elu", lambda y: np.where(y < 0, np.exp(y) - 1, y))])
def test_products_of_matrices(activation, apply):
    fused = ["BiasAdd", *([activation] if activation else [])]
    value, types = value_of({"a": A, "b": B, "bias": BIAS}, "_FusedMatMul", fused, transpose_a=tf.AttrValue(b=True), transpose_b=tf.AttrValue(b=False))
    np.testing.assert_allclose(value, apply(A.T @ B + BIAS), rtol=1e-6)
    assert types == ["MatMul", *fused]


def test_convolutions_with_batch_normalization():
    image, kernel = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1), np.full([1, 1, 1, 2], 2.0, np.float32)
    scale, offset, mean, variance = (np.array(pair, np.float32) for pair in ([1, 2], [0, -1], [3, 1], [4, 0.25]))
    attrs = {
        "strides": tf.AttrValue(list=tf.AttrValue.ListValue(i=[1, 1, 1, 1])), "padding": tf.AttrValue(s=b"VALID"), "data_format": tf.AttrValue(s=b"NHWC"),
        "epsilon": tf.AttrValue(f=0.0),
    }  # fmt: skip
    constants = {"image": image, "kernel": kernel, "scale": scale, "offset": offset, "mean": mean, "variance": variance}
    value, types = value_of(constants, "_FusedConv2D", ["FusedBatchNorm", "Relu"], **attrs)
    np.testing.assert_allclose(value, np.maximum((image * 2.0 - mean) / np.sqrt(variance) * scale + offset, 0), rtol=1e-6)
    assert types == ["Conv2D", "FusedBatchNorm", "Relu"]


def test_other_graphs_stay_as_they_are():
    graph_def = tf.GraphDef(node=[constant("a", A)])
    assert taken_apart(graph_def) is graph_def
