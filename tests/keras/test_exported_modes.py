"""`tf.keras.experimental.export_saved_model`: names, signatures and losses are those of TensorFlow 1.15.5 for the same program."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.saved_model.files import read_saved_model

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(8, 4).astype(np.float32)
Y = np.eye(2)[RANDOM.randint(0, 2, 8)]
SUPERVISED = ["a_input:0", "b_target:0"]
RESULTS = {"loss": "loss/mul:0", "metrics/acc/update_op": "metric_op_wrapper:0", "predictions/b": "b/Softmax:0"}


@pytest.fixture
def model():
    with tf.Graph().as_default():
        layers = tf.keras.layers
        first = layers.Dense(3, input_shape=(4,), kernel_initializer="ones", name="a")
        made = tf.keras.Sequential([first, layers.BatchNormalization(name="bn"), layers.Dense(2, activation="softmax", kernel_initializer="ones", name="b")])
        made.compile(tf.keras.optimizers.Adam(0.1), "categorical_crossentropy", metrics=["accuracy"])
        made.fit(X, Y, epochs=2, verbose=0, shuffle=False)
        yield made


def test_each_mode_has_a_graph(model, tmp_path):
    path = str(tmp_path / "model")
    tf.keras.experimental.export_saved_model(model, path)
    graphs = {tuple(g.meta_info_def.tags): g for g in read_saved_model(path).meta_graphs}
    assert list(graphs) == [("train",), ("eval",), ("serve",)]
    for mode, value in (("train", "Identity_26:0"), ("eval", "Identity_9:0")):
        signature = graphs[mode,].signature_def[mode]
        assert sorted(t.name for t in signature.inputs.values()) == SUPERVISED
        assert {k: t.name for k, t in signature.outputs.items()} == {**RESULTS, "metrics/acc/value": value}
        assert len(graphs[mode,].collection_def["local_variables"].bytes_list.value) == 2
    assert graphs["train",].signature_def["__saved_model_train_op"].outputs["__saved_model_train_op"].name == "training_1/group_deps"
    serving = graphs["serve",].signature_def["serving_default"]
    assert ([t.name for t in serving.inputs.values()], [t.name for t in serving.outputs.values()]) == (["a_input:0"], ["b/Softmax:0"])
    assert len(tf.train.list_variables(path + "/variables/variables")) == 26
    with pytest.raises(AssertionError, match="Export directory already exists, and isn't empty"):
        tf.keras.experimental.export_saved_model(model, path)


def test_what_is_written_predicts_and_trains(model, tmp_path):
    path = str(tmp_path / "model")
    tf.keras.experimental.export_saved_model(model, path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], path)
        np.testing.assert_allclose(session.run("b/Softmax:0", {"a_input:0": X[:2]}), [[0.966, 0.034], [0.9644, 0.0356]], atol=1e-4)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["train"], path)
        fed = {"a_input:0": X, "b_target:0": Y}
        losses = [session.run(["loss/mul:0", "training_1/group_deps"], fed)[0] for _ in range(2)]
        np.testing.assert_allclose(losses, [0.55235034, 0.53140503], rtol=1e-5)


def test_a_model_is_read_back(model, tmp_path):
    path = str(tmp_path / "model")
    tf.keras.experimental.export_saved_model(model, path)
    again = tf.keras.experimental.load_from_saved_model(path)
    assert again.optimizer is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_subclass_is_for_serving_only(tmp_path):
    class Twice(tf.keras.Model):
        def call(self, x):
            return 2 * x

    with pytest.raises(NotImplementedError, match="serving_only=True"):
        tf.keras.experimental.export_saved_model(Twice(), str(tmp_path / "model"))
    with pytest.raises(ValueError, match="Weights for sequential model have not yet been created"):
        tf.keras.experimental.export_saved_model(tf.keras.Sequential([tf.keras.layers.Dense(1)]), str(tmp_path / "model"))


def test_contrib_has_the_same_functions():
    assert tf.contrib.saved_model.save_keras_model is tf.keras.experimental.export_saved_model
    assert tf.contrib.saved_model.load_keras_model is tf.keras.experimental.load_from_saved_model
