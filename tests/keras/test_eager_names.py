"""Names of Keras's symbolic tensors and operation layers where operations run at once, as TensorFlow 1.15.5 gives them."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

K = tf.keras.layers


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        tf.keras.backend.clear_session()
        yield


class Two(K.Layer):
    def call(self, x):
        return tf.nn.relu(x), {"a": x * 2}


def names(*tensors):
    return [t.name for t in tf.nest.flatten(tensors)]


def test_outputs_of_layers_are_identities():
    x = K.Input([4])
    y = K.Dense(3)(x)
    z = K.BatchNormalization()(y)
    model = tf.keras.Model(x, K.Dropout(0.5)(z))
    assert names(y, z, model.outputs, Two(name="two")(y)) == [
        "dense/Identity:0", "batch_normalization/Identity:0", "dropout/Identity:0", "two/Identity:0", "two/Identity_1:0",
    ]  # fmt: skip
    assert names(model(x)) == ["model/Identity:0"]


def test_masks_pass_through_the_identities():
    words = K.Input([5], dtype="int32")
    found = K.Embedding(10, 3, mask_zero=True)(words)
    assert found._keras_mask is not None
    model = tf.keras.Model(words, K.LSTM(4)(found))
    values = np.array([[1, 2, 0, 0, 0], [1, 2, 3, 4, 5]], np.int32)
    changed = model.predict(values)[0], model.predict(np.where(values == 0, 0, values))[0]
    np.testing.assert_allclose(changed[0], changed[1])


def test_operations_of_one_name_are_layers_of_different_names():
    x = K.Input([2], name="in")
    first, second, third, fourth = x + x, K.Add()([x, x]), x + x, K.Add()([x, x])
    assert names(first, second, third, fourth) == ["add:0", "add_1/Identity:0", "add_2:0", "add_1_1/Identity:0"]
    model = tf.keras.Model(x, [first, second, third, fourth])
    assert [layer.name for layer in model.layers] == ["in", "tf_op_layer_add", "add", "tf_op_layer_add_2", "add_1"]


def test_name_scopes_of_the_program_are_not_of_keras_graph():
    x = K.Input([2])
    with tf.name_scope("outer"):
        assert names(x * 3.0, x * 4.0) == ["mul:0", "mul_1:0"]
