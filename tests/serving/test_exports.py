"""SavedModels of all kinds give what their writers recorded: TensorFlow 1.15 with a table and an asset, TensorFlow 2's functions, Keras, tables."""

import json
import pathlib

import numpy as np
import pytest

import tfcompat as tf  # noqa: F401  (all operations)
from tfcompat._src.serving import inference
from tfcompat._src.serving.prepare import prepare
from tfcompat._src.serving.servable import Servable

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "saved_model"
WANTED = json.loads((GOLDEN / "module.json").read_text())
X = np.array(WANTED["x"], np.float32)
WORDS = np.array([word.encode() for word in WANTED["words"]], object)


@pytest.fixture
def load():
    made = []

    def loaded(name):
        made.append(Servable(name, 1, str(GOLDEN / name), ["serve"]))
        prepare(made[-1], (1, 4))
        return made[-1]

    yield loaded
    for each in made:
        each.close()


@pytest.mark.parametrize("name, signature, inputs, wanted", [
    ("module", "serving_default", {"x": X}, {"y": WANTED["y"], "total": WANTED["total"]}),
    ("module", "numbers", {"words": WORDS}, {"ids": WANTED["ids"]}),
    ("keras", "serving_default", {"dense_input": X}, {"dense_1": WANTED["keras"]}),
    ("tables2", "serving_default", {"words": WORDS}, {key: WANTED["tables"][key] for key in ("changed", "buckets")}),
])  # fmt: skip
def test_exports_of_tensorflow_2(load, name, signature, inputs, wanted):
    found = inference.predict(load(name), signature, inputs)
    assert sorted(found) == sorted(wanted)
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5)


def test_an_export_of_tensorflow_1_with_a_table(load):
    golden, size = np.load(GOLDEN / "classifier.npz"), 8
    images = (np.random.RandomState(7).randint(0, 256, (3, size, size, 3)).astype(np.uint8) / 255.0).astype(np.float32)
    found = inference.predict(load("classifier"), "serving_default", {"images": images})
    np.testing.assert_allclose(found["logits"], golden["logits"], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found["labels"].astype("S"), golden["labels"])


def test_preparing_changes_nothing_that_a_model_holds(load):
    """Each run of the signature adds 1 to a variable, in the body of a function; it is 100 in the file."""
    servable = load("tables")
    assert servable.changes(servable.signatures["serving_default"]) == ["AssignAddVariableOp"]
    assert inference.predict(servable, "serving_default", {"words": WORDS})["calls"] == 101
    other = load("module")
    assert other.changes(other.signatures["numbers"]) == []
