"""Models trained, evaluated, saved and described as TensorFlow 1.15.5 does it."""

import gzip
import json
import pathlib

import engine_programs
import numpy as np
import pytest

import tfcompat as tf

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "keras" / "engine.json.gz"
EXPECTED = json.loads(gzip.decompress(GOLDEN.read_bytes()))


def compare(got, wanted, path):
    if isinstance(wanted, dict):
        assert list(got) == list(wanted) or sorted(got) == sorted(wanted), path
        for key, value in wanted.items():
            compare(got[key], value, f"{path}.{key}")
    elif isinstance(wanted, list) and wanted and isinstance(wanted[0], (float, list)) and not path.endswith("nodes"):
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=2e-4, atol=2e-5, err_msg=path)
    else:
        assert got == wanted, path


@pytest.mark.parametrize("name", engine_programs.PROGRAMS)
def test_program(name):
    got = json.loads(json.dumps(engine_programs.run(tf, name)))
    compare(got, EXPECTED[name], name)


def test_a_model_of_tensorflow_is_read():
    pytest.importorskip("h5py")
    tf.keras.backend.clear_session()
    wanted, (x, y) = EXPECTED["saved_model"], engine_programs.saved_data()
    model = tf.keras.models.load_model(str(GOLDEN.with_name("model.h5")))
    np.testing.assert_allclose(model.predict(x), wanted["predict"], rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), wanted["evaluate"], rtol=1e-5)
    for got, want in zip(model.optimizer.get_weights(), wanted["optimizer"], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.fixture
def model():
    tf.keras.backend.clear_session()
    np.random.seed(0)
    made = tf.keras.Sequential([
        tf.keras.layers.Dense(3, activation="relu", input_shape=(2,)), tf.keras.layers.Dense(1)
    ])  # fmt: skip
    made.compile("adam", "mse", metrics=["mae"])
    made.fit(np.random.rand(8, 2), np.random.rand(8, 1), verbose=0)
    return made


def test_a_model_survives_an_hdf5_file(model, tmp_path):
    pytest.importorskip("h5py")
    path, x = str(tmp_path / "model.h5"), np.random.rand(4, 2)
    wanted = model.predict(x)
    optimizer = model.optimizer.get_weights()
    model.save(path)
    tf.keras.backend.clear_session()
    loaded = tf.keras.models.load_model(path)
    np.testing.assert_array_equal(loaded.predict(x), wanted)
    for got, want in zip(loaded.optimizer.get_weights(), optimizer, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["weights", "weights.h5"])
def test_weights_survive_a_file(model, tmp_path, name):
    if name.endswith("h5"):
        pytest.importorskip("h5py")
    path, wanted = str(tmp_path / name), model.get_weights()
    model.save_weights(path)
    model.set_weights([np.zeros_like(w) for w in wanted])
    model.load_weights(path)
    for got, want in zip(model.get_weights(), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_clone_has_its_own_weights(model):
    clone = tf.keras.models.clone_model(model)
    assert [layer.get_config() for layer in clone.layers] == [layer.get_config() for layer in model.layers]
    assert not any(a is b for a, b in zip(clone.weights, model.weights))


def test_wrong_data_are_refused(model):
    with pytest.raises(ValueError, match="expected dense_input to have shape"):
        model.predict(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(np.zeros((3, 2)), np.zeros((4, 1)), verbose=0)
    with pytest.raises(RuntimeError, match="You must compile your model"):
        tf.keras.Sequential([tf.keras.layers.Dense(1)]).fit(np.zeros((3, 2)), np.zeros((3, 1)))


def test_disconnected_graphs_and_double_names_are_refused():
    tf.keras.backend.clear_session()
    a, b = tf.keras.Input((2,)), tf.keras.Input((2,))
    with pytest.raises(ValueError, match="Graph disconnected"):
        tf.keras.Model(a, tf.keras.layers.Dense(1)(b))
    x = tf.keras.layers.Dense(2, name="same")(a)
    with pytest.raises(ValueError, match='The name "same" is used 2 times'):
        tf.keras.Model(a, tf.keras.layers.Dense(2, name="same")(x))


def test_layers_in_lists_and_dicts_are_tracked():
    tf.keras.backend.clear_session()

    class Holder(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = [tf.keras.layers.Dense(1)]
            self.blocks.append(tf.keras.layers.Dense(2))
            self.named = {"last": tf.keras.layers.Dense(3)}

        def call(self, inputs):
            for block in [*self.blocks, self.named["last"]]:
                inputs = block(inputs)
            return inputs

    holder = Holder()
    holder(tf.ones([2, 4]))
    assert [w.shape.as_list() for w in holder.weights] == [[4, 1], [1], [1, 2], [2], [2, 3], [3]]
    holder.trainable = False
    assert holder.trainable_weights == [] and len(holder.non_trainable_weights) == 6


def test_one_compiled_program_serves_all_batches_of_a_size(compiles, model):
    x, y = np.random.rand(20, 2), np.random.rand(20, 1)
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)
    before = compiles.count
    model.fit(x, y, batch_size=8, epochs=3, verbose=0)
    assert compiles.count == before
