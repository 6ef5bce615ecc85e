"""Models on datasets and models that run eagerly, against TensorFlow 1.15.5."""

import contextlib
import json
import pathlib

import mode_programs
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.seq2seq.attention_v2 import LuongAttentionV2
from tfcompat._src.eager.mode import eager_mode

EXPECTED = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "keras" / "modes.json").read_text())


def compare(got, wanted, path):
    if isinstance(wanted, dict):
        assert sorted(got) == sorted(wanted), path
        for key, value in wanted.items():
            compare(got[key], value, f"{path}.{key}")
    elif isinstance(wanted, list) and wanted and not isinstance(wanted[0], (float, int)):
        assert len(got) == len(wanted), path
        for i, value in enumerate(wanted):
            compare(got[i], value, f"{path}[{i}]")
    elif isinstance(wanted, (list, float)):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-5, err_msg=path)
    else:
        assert got == wanted, path


@pytest.mark.parametrize("name", mode_programs.GRAPH)
def test_in_graphs(name):
    compare(mode_programs.run(tf, name), EXPECTED[name], name)


@pytest.mark.parametrize("name", mode_programs.EAGER)
def test_eagerly(name):
    with eager_mode():
        compare(mode_programs.run(tf, name), EXPECTED[name], name)


def test_functions_of_keras_graph_run_eagerly():
    with eager_mode():
        tf.keras.backend.clear_session()
        x = tf.keras.Input((2,))
        function = tf.keras.backend.function([x], [x * 2.0 + 1.0])
        np.testing.assert_array_equal(function([np.ones((1, 2), "float32")])[0], [[3.0, 3.0]])


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_saved_models_are_models_again(mode, tmp_path):
    with eager_mode() if mode == "eager" else contextlib.nullcontext():
        tf.keras.backend.clear_session()
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.BatchNormalization()])
        model.compile("adam", "mse", metrics=["mae"])
        x, y = mode_programs.X, mode_programs.Y
        model.fit(x, y, verbose=0)
        model.save(str(tmp_path / "model"), save_format="tf")
        again = tf.keras.models.load_model(str(tmp_path / "model"))
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        for _ in range(2):
            steps = [np.asarray(m.train_on_batch(x, y)) for m in (again, model)]
        np.testing.assert_allclose(*steps, rtol=1e-6)


def test_a_saved_subclass_comes_back_by_its_functions(tmp_path):
    with eager_mode():
        model = mode_programs._model(tf, "subclass")
        model.compile("sgd", "mse")
        model.fit(mode_programs.X, mode_programs.Y, verbose=0)
        model.save(str(tmp_path / "model"), save_format="tf")
        again = tf.keras.models.load_model(str(tmp_path / "model"))
        np.testing.assert_array_equal(again.predict(mode_programs.X), model.predict(mode_programs.X))


def test_mixed_precision_policy_casts_variables():
    policy = tf.keras.mixed_precision.experimental.Policy("infer_float32_vars")
    tf.keras.backend.clear_session()
    layer = tf.keras.layers.Dense(2, dtype=policy, kernel_initializer="ones")
    out = layer(tf.ones([1, 3], tf.float16))
    assert out.dtype == tf.float16 and layer.kernel.dtype == tf.float32
    with pytest.raises(ValueError, match="Cannot convert value abc to a mixed precision Policy"):
        tf.keras.mixed_precision.experimental.Policy("abc")


def test_models_with_attention_are_called_again_eagerly():
    with eager_mode():
        memory, query, state = (tf.keras.layers.Input(shape=shape) for shape in ([4, 3], [5], [4]))
        attention = LuongAttentionV2(5, tf.keras.layers.Dense(3)(memory))
        model = tf.keras.Model([memory, query, state], attention([query, state])[0])
        arrays = [np.random.RandomState(0).rand(2, *shape).astype(np.float32) for shape in ([4, 3], [5], [4])]
        found = model.predict_on_batch(arrays)
        kernel, bias, keys = model.get_weights()
        scores = np.einsum("bu,btu->bt", arrays[1], (arrays[0] @ kernel + bias) @ keys)
        np.testing.assert_allclose(found, np.exp(scores) / np.exp(scores).sum(1, keepdims=True), rtol=1e-5)
        attention(arrays[0], setup_memory=True)
        with pytest.raises(ValueError, match="memory for the attention has already been setup"):
            attention(arrays[0], setup_memory=True)
