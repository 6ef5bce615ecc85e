"""SavedModels with tables, files and Keras layers: those of TensorFlow 1.15 and 2 give their values, and ours come back and move."""

import itertools
import json
import pathlib

import numpy as np
import pytest
import tables

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.function import tracing
from tfcompat._src.lookup.static import StaticHashTable
from tfcompat._src.saved_model import files

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "saved_model"
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
WORDS = ["beta", "none", "alpha"]


@pytest.fixture(scope="module")
def golden():
    return json.loads((GOLDEN / "module.json").read_text())


@pytest.fixture
def saved(tmp_path):
    """A SavedModel whose vocabulary file is gone from where it was."""
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text(tables.VOCABULARY)
    tables.save_tables(tf, StaticHashTable, str(vocabulary), str(tmp_path / "first"))
    vocabulary.unlink()
    (tmp_path / "first").rename(tmp_path / "moved")
    return str(tmp_path / "moved")


def values(found):
    return {key: value.numpy().tolist() for key, value in found.items()}


@pytest.mark.parametrize("run", [tables.run_signature, tables.run_objects])
def test_tables_of_tensorflow_give_its_values(run):
    assert run(tf, str(GOLDEN / "tables")) == tables.EXPECTED


def test_functions_take_no_name_that_a_loaded_function_has(monkeypatch):
    library = files.read_saved_model(str(GOLDEN / "tables")).meta_graphs[0].graph_def.library
    taken = next(f.signature.name for f in library.function if "initializer" in f.signature.name).rpartition("_")[2]
    for before in range(9):
        monkeypatch.setattr(tracing, "_NUMBERS", itertools.count(int(taken) - before))
        assert tables.run_objects(tf, str(GOLDEN / "tables")) == tables.EXPECTED


@pytest.mark.parametrize("run", [tables.run_signature, tables.run_objects])
def test_tables_come_back(saved, run):
    assert run(tf, saved) == tables.EXPECTED


def test_tables_are_saved_as_tensorflow_saves_them(saved):
    def described(folder):
        graph = files.read_saved_model(folder).meta_graphs[0]
        kinds = [(node.WhichOneof("kind"), sorted(c.local_name for c in node.children)) for node in graph.object_graph_def.nodes]
        order = {
            f.signature.name.rpartition("_")[0]: (sorted(n.op for n in f.node_def if n.op != "Identity"), len(f.control_ret))
            for f in graph.graph_def.library.function
            if "look_up" in f.signature.name or "initializer" in f.signature.name
        }
        return sorted(kinds, key=str), order, [asset.filename for asset in graph.asset_file_def]

    assert described(saved) == described(str(GOLDEN / "tables"))


def test_tables_come_back_eagerly_and_are_saved_again(saved, tmp_path):
    with eager_mode():
        assert values(tf.saved_model.load_v2(str(GOLDEN / "tables")).look_up(tf.constant(tables.WORDS))) == tables.EXPECTED
        for number in range(2):
            root = tf.saved_model.load_v2(saved)
            again = str(tmp_path / f"again{number}")
            tf.saved_model.save(root, again)
            assert values(root.look_up(tf.constant(tables.WORDS))) == tables.EXPECTED
            saved = again
    assert tables.run_signature(tf, saved) == tables.EXPECTED


def test_a_keras_model_of_tensorflow_2_gives_its_values(golden):
    folder = str(GOLDEN / "keras")
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], folder).signature_def["serving_default"]
        (given,), (taken,) = signature.inputs.values(), signature.outputs.values()
        np.testing.assert_allclose(sess.run(taken.name, {given.name: X}), golden["keras"], **TOLERANCE)
    with eager_mode():
        model = tf.saved_model.load_v2(folder)
        np.testing.assert_allclose(model(tf.constant(X), training=False).numpy(), golden["keras"], **TOLERANCE)
        assert len(model.trainable_variables) == 6 and len(model.variables) > 6


def test_tables_of_tensorflow_2_have_the_entries_that_were_put_in(golden):
    folder, wanted = str(GOLDEN / "tables2"), golden["tables"]
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], folder).signature_def["serving_default"]
        names = {key: info.name for key, info in signature.outputs.items()}
        found = sess.run(names, {signature.inputs["words"].name: WORDS})
        assert {key: value.tolist() for key, value in found.items()} == {key: wanted[key] for key in names}
    with eager_mode():
        root = tf.saved_model.load_v2(folder)
        assert values(root.look_up(tf.constant(WORDS))) == {key: wanted[key] for key in names}
        two = tf.constant(2.0)
        assert [float(root.combined(two)), float(root.combined(two, product=True))] == wanted["combined"]


def test_a_table_that_can_be_changed_is_refused(tmp_path):
    with tf.Graph().as_default(), tf.Session():
        module = tf.Module()
        module.table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        with pytest.raises(ValueError, match="MutableHashTable"):
            tf.saved_model.save(module, str(tmp_path))
