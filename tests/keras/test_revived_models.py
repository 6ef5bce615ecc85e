"""Keras objects of SavedModels without their classes; the values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.keras.saving import revived
from tfcompat._src.saved_model.files import read_saved_model

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight("w", shape=[int(shape[-1])], initializer="ones", regularizer=tf.keras.regularizers.l2(0.5))
        super().build(shape)

    def call(self, inputs, training=None):
        self.add_loss(tf.reduce_sum(inputs), inputs)
        return inputs * self.w * 2.0 if training else inputs * self.w


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = Scale()
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones", activity_regularizer=tf.keras.regularizers.l2(0.1))
        self.norm = tf.keras.layers.BatchNormalization(momentum=0.5)

    def call(self, x, training=None):
        return self.norm(self.dense(self.scale(x, training=training)), training=training)


@pytest.fixture
def eager():
    with eager_mode():
        yield


@pytest.fixture
def net(eager, tmp_path):
    """A model of a class that the loader does not know, loaded again."""
    model = Net()
    model.compile("sgd", "mse")
    model.predict(X)
    model.save(str(tmp_path), save_format="tf")
    return tf.keras.models.load_model(str(tmp_path))


def test_a_subclass_comes_back_as_a_model_that_calls_its_functions(net):
    np.testing.assert_allclose(net(X, training=False), [[2.9985013, 2.9985013], [11.994005, 11.994005]], rtol=1e-6)
    np.testing.assert_allclose(sorted(float(loss) for loss in net.losses), [1.5, 15.0, 15.3], rtol=1e-6)
    assert [type(net).__name__, *(type(layer).__name__ for layer in net.layers)] == ["Net", "Scale", "Dense", "BatchNormalization"]


def test_training_runs_the_other_trace_and_updates_the_moving_averages(net):
    np.testing.assert_allclose(net(X, training=True), [[-1.0, -1.0], [1.0, 1.0]], atol=1e-3)
    np.testing.assert_allclose(sorted(float(loss) for loss in net.losses), [1.5, 15.0, 61.2], rtol=1e-6)
    np.testing.assert_allclose(net.norm.moving_mean.numpy(), [7.5, 7.5])
    np.testing.assert_allclose(net.norm.moving_variance.numpy(), [41.0, 41.0], rtol=1e-4)


def test_weights_keep_their_order_and_names(net):
    names = [w.name.partition("/")[2] for w in net.weights]
    assert names == [
        "scale/w:0", "dense/kernel:0", "dense/bias:0", "batch_normalization/gamma:0", "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0",
    ]  # fmt: skip
    assert len(net.trainable_weights) == 5


def test_a_compiled_model_is_compiled_again_and_learns(net):
    before = net.dense.kernel.numpy()
    net.train_on_batch(X, X[:, :2])
    assert np.abs(net.dense.kernel.numpy() - before).max() > 0


def test_a_revived_sequential_gains_and_loses_layers(eager, tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones", input_shape=(3,), kernel_regularizer="l2"), Scale()])
    model.save(str(tmp_path), save_format="tf")
    loaded = revived.load(str(tmp_path))
    np.testing.assert_allclose(loaded(X), [[3.0, 3.0], [12.0, 12.0]])
    np.testing.assert_allclose(sorted(float(loss) for loss in loaded.losses), [0.06, 1.0, 30.0], rtol=1e-6)
    loaded.pop()
    assert len(loaded.layers) == 1 and len(loaded.losses) == 1


def test_a_saved_layer_has_the_children_of_1_15(eager, tmp_path):
    layer = Scale()
    layer(X)
    tf.saved_model.save(layer, str(tmp_path))
    nodes = read_saved_model(str(tmp_path)).meta_graphs[0].object_graph_def.nodes
    assert {child.local_name for child in nodes[0].children} == {
        "w", "variables", "trainable_variables", "regularization_losses", "keras_api", "signatures", "__call__",
        "call_and_return_all_conditional_losses",
    }  # fmt: skip


def test_saving_keeps_the_losses_of_the_last_call(eager, tmp_path):
    model = tf.keras.Sequential([Scale()])
    model.compile("sgd", "mse")
    model.train_on_batch(X, X)
    model(X)
    before = [float(loss) for loss in model.losses]
    model.save(str(tmp_path), save_format="tf")
    assert [float(loss) for loss in model.losses] == before


def test_variables_of_one_name_are_two_in_the_graph_of_the_file(eager, tmp_path):
    module = tf.Module()
    module.a, module.b = tf.Variable([1.0], name="v"), tf.Variable([2.0], name="v")
    module.f = tf.function(lambda x: x * module.a + module.b, input_signature=[tf.TensorSpec([1])])
    tf.saved_model.save(module, str(tmp_path))
    found = read_saved_model(str(tmp_path)).meta_graphs[0]
    assert [n.attr["shared_name"].s for n in found.graph_def.node if n.op == "VarHandleOp"] == [b"v", b"v_1"]
    assert [n.variable.name for n in found.object_graph_def.nodes if n.WhichOneof("kind") == "variable"] == ["v", "v"]


def test_a_graph_program_saves_and_loads_a_subclass(tmp_path):
    with tf.Graph().as_default(), tf.Session():
        model = Net()
        model.predict(X)
        model.save(str(tmp_path), save_format="tf")
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.keras.models.load_model(str(tmp_path))
        session.run(tf.variables_initializer(loaded.variables))
        np.testing.assert_allclose(session.run(loaded(tf.constant(X), training=False))[0], [2.9985013] * 2, rtol=1e-6)
