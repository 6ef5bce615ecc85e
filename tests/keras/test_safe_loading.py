"""Keras files with Python code, and who runs it."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.convert import model as convert_model

keras = tf.keras
RAN = []


@pytest.fixture
def path(tmp_path):
    """A model with a Lambda layer whose function notes that it runs."""
    model = keras.Sequential([keras.layers.Lambda(lambda x: (RAN.append(1), x * 2)[1], input_shape=(3,), name="twice")])
    model.save(str(tmp_path / "model.h5"))
    RAN.clear()
    yield str(tmp_path / "model.h5")
    keras.backend.clear_session()


def test_a_safe_load_refuses_code_by_the_name_of_its_layer(path, monkeypatch):
    with pytest.raises(ValueError, match="has Python code for the Lambda layer 'twice', and is loaded without"):
        keras.models.load_model(path, safe=True)
    monkeypatch.setenv("TFCOMPAT_SAFE_LOADING", "1")
    with pytest.raises(ValueError, match="TFCOMPAT_SAFE_LOADING"):
        keras.models.load_model(path)
    assert not RAN
    found = keras.models.load_model(path, custom_objects={"twice": lambda x: x * 3})
    np.testing.assert_array_equal(found.predict(np.ones((1, 3))), [[3, 3, 3]])
    with pytest.raises(ValueError, match="TFCOMPAT_SAFE_LOADING"):
        keras.models.model_from_json(found.to_json())


def test_code_runs_where_nobody_refuses_it(path, monkeypatch):
    monkeypatch.setenv("TFCOMPAT_SAFE_LOADING", "0")
    np.testing.assert_array_equal(keras.models.load_model(path).predict(np.ones((1, 3))), [[2, 2, 2]])
    assert RAN


def test_a_program_may_copy_its_own_layers(monkeypatch):
    monkeypatch.setenv("TFCOMPAT_SAFE_LOADING", "1")
    model = keras.Sequential([keras.layers.Lambda(lambda x: x * 2, input_shape=(3,))])
    assert keras.models.clone_model(model).output_shape == (None, 3)
    keras.backend.clear_session()


def test_convert_runs_no_code(path):
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(convert_model.ConversionError, match="Lambda layer 'twice'"):
        convert_model._of_keras(session, path)
    assert not RAN
