"""tf.train.do_quantize_training_on_graphdef; nodes, values and texts of TensorFlow 1.15.5."""

import json
from pathlib import Path

import numpy as np
import pytest

import tfcompat as tf

RECORDED = json.loads(Path(__file__).with_name("quantized_training.json").read_text())


def _network(saved):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2, 4], name="x")
        w = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3) / 10, name="w", use_resource=False)
        h = tf.nn.relu(tf.matmul(x, w, name="m"), name="r")
        c = tf.constant(np.ones((3, 3), np.float32), name="c")
        h = tf.identity(tf.nn.relu6(tf.matmul(h, c, name="m2"), name="r6"), name="i")
        y = tf.reshape(tf.sigmoid(tf.matmul(h, c, name="m3"), name="s"), [3, 2], name="rs")
        tf.matmul(y, tf.tanh(tf.ones([2, 2]), name="t"), name="m4")
        tf.variables_initializer([w], name="init")
        if saved:
            tf.train.Saver([w])
    return graph.as_graph_def()


def _quantized(graph_def):
    return tf.train.do_quantize_training_on_graphdef(graph_def, 8)


@pytest.mark.parametrize("saved", [False, True])
def test_nodes(saved):
    nodes = sorted(_quantized(_network(saved)).node, key=lambda node: node.name)
    if saved:
        nodes = [node for node in nodes if node.name.startswith("save/")]
    assert [" ".join([node.name, node.op, *node.input]) for node in nodes] == RECORDED["saved" if saved else "plain"]


def test_values_and_averages():
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(_quantized(_network(saved=False)), name="")
        sess.run("init")
        rng = np.random.RandomState(0)
        steps = [sess.run(["m:0", "m4:0"], {"x:0": rng.randn(2, 4) * (k + 1)}) for k in range(3)]
        first = [[2.7215827, 3.2580132, 3.7936797], [0.13219725, 0.3180376, 0.4696442]]
        np.testing.assert_allclose(steps[0][0], first, rtol=1e-5)
        np.testing.assert_allclose(steps[0][1][:, 0], [1.527559, 1.4826308, 1.4377028], rtol=1e-5)
        np.testing.assert_allclose(steps[2][1], np.full((3, 2), 0.7667748), rtol=1e-5)
        learned = sess.run([f"{name}/Variable:0" for name in ("r/Min", "r/Max", "x/Max", "w/read/Max")])
        np.testing.assert_allclose(learned, [0.13313824, 3.7891583, 2.2438014, 1.1], rtol=1e-5)


def test_learned_limits_are_saved_and_restored(tmp_path):
    path = str(tmp_path / "c")
    with tf.Graph().as_default():
        tf.import_graph_def(_quantized(_network(saved=True)), name="")
        with tf.Session() as sess:
            sess.run("init")
            sess.run("m4:0", {"x:0": np.ones((2, 4))})
            sess.run("save/control_dependency:0", {"save/Const:0": path})
        with tf.Session() as sess:
            sess.run("save/restore_all", {"save/Const:0": path})
            assert sess.run(["x/Max/Variable:0", "w/read/Max/Variable:0"]) == [1.0, np.float32(1.1)]


@pytest.mark.parametrize("bits", [0, 64])
def test_bits_out_of_range(bits):
    with pytest.raises(tf.errors.OutOfRangeError, match=f"num_bits should be in range .1, 63. but is: {bits}"):
        tf.train.do_quantize_training_on_graphdef(_network(False), bits)


def test_too_many_inputs_and_savers():
    with tf.Graph().as_default() as graph:
        a, b, c = (tf.placeholder(tf.float32, [2, 2]) for _ in range(3))
        tf.matmul(tf.matmul(a, b), c)
    with pytest.raises(tf.errors.UnimplementedError, match="Found an unknown op: MatMul with type: MatMul; Unknown ops are"):
        _quantized(graph.as_graph_def())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(_network(saved=True), name="")
        tf.train.Saver([tf.Variable(1.0)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input graph has multiple SaveV2 ops"):
        _quantized(graph.as_graph_def())
