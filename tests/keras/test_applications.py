"""tf.keras.applications against records of the real program: every layer of the models, pixels, predictions, weights of a file."""

import gzip
import json
import os
import pathlib

import application_models
import numpy as np
import pytest
from application_models import MODULES, PIXELS

import tfcompat as tf
from tfcompat._src.keras import applications

imagenet_utils = pytest.importorskip("keras_applications.imagenet_utils")
GOLDEN = json.loads(gzip.decompress((pathlib.Path(__file__).parent.parent / "golden" / "keras" / "applications.json.gz").read_bytes()))
CHOSEN = application_models.MODELS if os.environ.get("ALL_APPLICATIONS") else application_models.QUICK
"""ALL_APPLICATIONS=1 takes all of them: minutes instead of seconds."""


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


@pytest.mark.parametrize("key", CHOSEN)
def test_layers_are_those_of_the_record(key):
    found = json.loads(json.dumps(application_models.describe(application_models.build(tf, key)), default=application_models.plain))
    wanted = GOLDEN["models"][key]
    for ours, theirs in zip(found["layers"], wanted["layers"]):
        assert ours == theirs
    assert found == wanted


@pytest.mark.parametrize("module", MODULES)
def test_preprocess_input_of_arrays_and_tensors(module):
    function = getattr(tf.keras.applications, module).preprocess_input
    array, tensor = GOLDEN["pixels"][module]
    imagenet_utils._IMAGENET_MEAN = None  # a constant of the graph of the last test
    np.testing.assert_allclose(function(PIXELS.copy()), array, rtol=1e-6)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(function(tf.constant(PIXELS))), tensor, rtol=1e-6)


def test_weights_come_from_a_file_and_a_missing_one_is_named(tmp_path):
    options = application_models.MODELS["MobileNet:narrow"]
    model = tf.keras.applications.MobileNet(weights=None, **options)
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    saved = model.get_weights()
    tf.keras.backend.clear_session()
    for ours, theirs in zip(tf.keras.applications.MobileNet(weights=path, **options).get_weights(), saved):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="path to the weights file"):
        tf.keras.applications.MobileNet(weights=str(tmp_path / "absent.h5"), **options)


def test_predictions_are_named_by_the_class_index(monkeypatch):
    monkeypatch.setattr(imagenet_utils, "CLASS_INDEX", {str(i): [f"n{i}", f"class {i}"] for i in range(1000)})
    scores = np.zeros((1, 1000), np.float32)
    scores[0, [7, 3, 5]] = 0.5, 0.25, 0.125
    decoded = tf.keras.applications.vgg16.decode_predictions(scores, top=2)
    assert decoded == [[("n7", "class 7", np.float32(0.5)), ("n3", "class 3", np.float32(0.25))]]
    with pytest.raises(ValueError, match="a batch of predictions"):
        tf.keras.applications.vgg16.decode_predictions(scores[:, :10])


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    model = tf.keras.applications.VGG16
    monkeypatch.setattr(applications.importlib, "import_module", absent)
    with pytest.raises(ImportError, match=r"tf\.keras\.applications\.VGG16 needs .*pip install keras_applications"):
        model(weights=None)
