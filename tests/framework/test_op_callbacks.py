"""Callbacks that are told of operations; which ones, and with what, is as in TensorFlow 1.15.5."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.nodes import op_callbacks


class Seen:
    def __init__(self, replacement=None):
        self.calls, self.replacement = [], replacement

    def __call__(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        self.calls.append((op_type, inputs, dict(zip(attrs[::2], attrs[1::2])), outputs, op_name, graph))
        return self.replacement and self.replacement(outputs)

    @property
    def types(self):
        return [call[0] for call in self.calls]


def test_nodes_but_constants_are_seen():
    seen = Seen()
    with tf.Graph().as_default() as graph, op_callbacks.op_callback(seen):
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        tf.matmul(x, tf.constant(np.eye(2, dtype=np.float32)), transpose_a=True, name="product")
        tf.group(x)
    assert seen.types == ["Placeholder", "MatMul", "NoOp"]
    _, inputs, attrs, outputs, name, where = seen.calls[1]
    assert inputs[0] is x and inputs[1].op.type == "Const" and attrs["transpose_a"].b and not attrs["transpose_b"].b
    assert [t.name for t in outputs] == ["product:0"] and name == "product" and where is graph


def test_outputs_are_replaced():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        with op_callbacks.op_callback(Seen(lambda outputs: [tf.cast(t, tf.float64) for t in outputs])):
            y = (x + 1.0) * tf.constant(2.0, tf.float64)
        assert y.dtype == tf.float64 and session.run(y) == 8.0
        with op_callbacks.op_callback(Seen(lambda outputs: [*outputs, *outputs])):
            with pytest.raises(ValueError, match="returned 2 tensors, which does not match the original number of outputs of op Log"):
                tf.log(x)
        assert session.run(tf.log(x)) == pytest.approx(np.log(3))


def test_threads_have_callbacks_of_their_own():
    inner, outer, of_thread = Seen(), Seen(), Seen()

    def work():
        with tf.Graph().as_default(), op_callbacks.op_callback(of_thread):
            tf.sqrt(4.0)

    with tf.Graph().as_default(), op_callbacks.op_callback(outer):
        with op_callbacks.op_callback(inner):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            tf.sin(1.0)
        tf.cos(1.0)
    assert (outer.types, inner.types, of_thread.types) == (["Sin", "Cos"], ["Sin"], ["Sqrt"])


def test_operations_that_run_at_once():
    seen = Seen()
    with eager_mode(), op_callbacks.op_callback(seen):
        x = tf.constant([[1.0]])
        assert tf.log(tf.matmul(x, x, transpose_a=True)).numpy() == 0
    assert seen.types == ["MatMul", "Log"] and seen.calls[0][4:] == (None, None)
    assert seen.calls[0][1] == (x, x) and seen.calls[0][2]["transpose_a"] is True and seen.calls[1][3][0].numpy() == 0


def test_what_cannot_be_called():
    with pytest.raises(ValueError, match="is expected to be callable"):
        op_callbacks.op_callback(1337)
