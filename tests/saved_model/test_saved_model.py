"""SavedModels and frozen graphs: those that real TensorFlow wrote give its values, and ours come back whole."""

import functools
import json
import pathlib

import models
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.saved_model import builder, files, loader
from tfcompat._src.train.tracking import TrackableAsset

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "saved_model"
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(scope="module")
def golden():
    return dict(np.load(GOLDEN / "classifier.npz"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    vocabulary = folder / "labels.txt"
    vocabulary.write_text("".join(label + "\n" for label in models.LABELS))
    outputs = models.save_classifier(tf, str(folder / "classifier"), str(vocabulary))
    vocabulary.unlink()
    return str(folder / "classifier"), outputs


def check_classifier(found, golden):
    np.testing.assert_allclose(found["logits"], golden["logits"], **TOLERANCE)
    np.testing.assert_allclose(found["scores"], golden["scores"], **TOLERANCE)
    np.testing.assert_array_equal(found["labels"].astype("S"), golden["labels"])


def test_a_saved_model_of_tensorflow_gives_its_values(golden):
    check_classifier(models.run_classifier(tf, str(GOLDEN / "classifier")), golden)


def test_a_saved_model_comes_back(saved, golden):
    folder, outputs = saved
    check_classifier(outputs, golden)
    check_classifier(models.run_classifier(tf, folder), golden)


def test_the_files_are_those_of_tensorflow(saved):
    def listed(folder):
        return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file())

    assert listed(saved[0]) == listed(GOLDEN / "classifier")


def test_the_message_is_that_of_tensorflow(saved):
    ours, theirs = (files.read_saved_model(folder) for folder in (saved[0], str(GOLDEN / "classifier")))
    assert ours.saved_model_schema_version == theirs.saved_model_schema_version
    for mine, other in zip(ours.meta_graphs, theirs.meta_graphs, strict=True):
        assert [(n.name, n.op, list(n.input)) for n in mine.graph_def.node] == [
            (n.name, n.op, list(n.input)) for n in other.graph_def.node
        ]
        assert mine.meta_info_def.tags == other.meta_info_def.tags
        assert dict(mine.signature_def) == dict(other.signature_def)
        assert mine.saver_def == other.saver_def
        assert set(mine.collection_def) == set(other.collection_def)
        assert mine.collection_def["saved_model_main_op"] == other.collection_def["saved_model_main_op"]


def test_a_saved_model_of_functions_gives_their_values():
    folder, values = str(GOLDEN / "module"), json.loads((GOLDEN / "module.json").read_text())
    with tf.Graph().as_default(), tf.Session() as sess:
        signatures = tf.saved_model.load(sess, ["serve"], folder).signature_def
        default, numbers = signatures["serving_default"], signatures["numbers"]
        names = {key: info.name for key, info in default.outputs.items()}
        found = sess.run(names, {default.inputs["x"].name: values["x"]})
        ids = sess.run(numbers.outputs["ids"].name, {numbers.inputs["words"].name: values["words"]})
    np.testing.assert_allclose(found["y"], values["y"], **TOLERANCE)
    np.testing.assert_allclose(found["total"], values["total"], **TOLERANCE)
    assert ids.tolist() == values["ids"]


def test_a_frozen_graph_of_tensorflow_gives_its_values():
    golden = np.load(GOLDEN / "detector.npz")
    graph_def = tf.GraphDef.FromString((GOLDEN / "detector.pb").read_bytes())
    for key, value in models.run_detector(tf, graph_def).items():
        np.testing.assert_allclose(value, golden[key], **TOLERANCE)


def test_freezing_makes_the_nodes_of_tensorflow():
    golden = tf.GraphDef.FromString((GOLDEN / "detector.pb").read_bytes())
    frozen, _ = models.freeze_detector(tf)
    assert [(n.name, n.op, list(n.input)) for n in frozen.node] == [(n.name, n.op, list(n.input)) for n in golden.node]


def test_the_predictor_feeds_and_fetches_by_key(saved, golden):
    predict = tf.contrib.predictor.from_saved_model(saved[0])
    np.testing.assert_allclose(predict({"images": models.batch()})["logits"], golden["logits"], **TOLERANCE)
    with pytest.raises(ValueError, match="unexpected keys"):
        predict({"image": models.batch()})
    with pytest.raises(RuntimeError, match="could not be found in SavedModel"):
        tf.contrib.predictor.from_saved_model(saved[0], tags="train")
    with pytest.raises(ValueError, match="at most one"):
        tf.contrib.predictor.from_saved_model(saved[0], signature_def_key="a", input_names={}, output_names={})


def test_import_scope(saved, golden):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        signatures = tf.saved_model.load(sess, ["serve"], saved[0], import_scope="model").signature_def
        info = signatures["serving_default"].inputs["images"]
        images = tf.saved_model.get_tensor_from_tensor_info(info, graph, import_scope="model")
        found = sess.run("model/logits:0", {images: models.batch()})
    np.testing.assert_allclose(found, golden["logits"], **TOLERANCE)


def test_text_form(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=3.0)
        sess.run(v.initializer)
        made = tf.saved_model.Builder(str(tmp_path / "m"))
        made.add_meta_graph_and_variables(sess, ["serve"])
        assert made.save(as_text=True) == str(tmp_path / "m" / "saved_model.pbtxt").encode()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "m"))
        assert sess.run("v:0") == 3.0


def test_assets_of_one_name_and_other_content_get_numbers(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "words").write_text(name)
    paths = [str(tmp_path / name / "words") for name in "aba"]
    with tf.Graph().as_default(), tf.Session() as sess:
        made = tf.saved_model.Builder(str(tmp_path / "m"))
        made.add_meta_graph_and_variables(sess, ["serve"], assets_collection=[tf.constant(p) for p in paths])
        made.save()
    assets = {p.name: p.read_text() for p in (tmp_path / "m" / "assets").iterdir()}
    assert assets == {"words": "a", "words_1": "b"}
    graph_def = files.get_meta_graph_def(str(tmp_path / "m"), "serve")
    assert [p.rpartition(b"/")[2] for p in loader.get_asset_tensors(str(tmp_path / "m"), graph_def).values()] == [
        b"words", b"words_1", b"words",
    ]  # fmt: skip


def test_errors_of_the_builder(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("")
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(str(tmp_path / "taken"))
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, name="x")
        made = tf.saved_model.Builder(str(tmp_path / "m"))
        with pytest.raises(AssertionError, match="add_meta_graph_and_variables"):
            made.add_meta_graph(["serve"])
        with pytest.raises(AssertionError, match="dtype"):
            made.add_meta_graph_and_variables(
                sess, ["serve"], {"a": tf.saved_model.build_signature_def({"x": tf.TensorInfo(name="x:0")})}
            )
        with pytest.raises(KeyError, match="reserved"):
            made.add_meta_graph_and_variables(sess, ["serve"], {"__saved_model_init_op": tf.saved_model.build_signature_def()})
        with pytest.raises(TypeError, match="Operation"):
            made.add_meta_graph_and_variables(sess, ["serve"], main_op="x")
        with pytest.raises(TypeError, match="type constant"):
            made.add_meta_graph_and_variables(sess, ["serve"], assets_collection=[x])
        made.add_meta_graph_and_variables(sess, ["serve"], main_op=tf.no_op())
        with pytest.raises(AssertionError, match="already been saved"):
            made.add_meta_graph_and_variables(sess, ["serve"])


def test_errors_of_the_loader(tmp_path, saved):
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.load(sess, ["serve"], str(tmp_path))
        with pytest.raises(RuntimeError, match="available_tags"):
            tf.saved_model.load(sess, ["train"], saved[0])
    (tmp_path / "saved_model.pb").write_bytes(b"no message")
    with pytest.raises(OSError, match="Cannot parse file"):
        files.read_saved_model(str(tmp_path))
    assert tf.saved_model.contains_saved_model(saved[0])


def test_operations_in_signatures(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=1.0)
        local = tf.get_variable("local", initializer=5.0, collections=["local_variables"])
        sess.run(v.initializer)
        made = builder._SavedModelBuilder(str(tmp_path / "m"))
        made.add_meta_graph_and_variables(sess, ["serve"], init_op=local.initializer, train_op=v.assign_add(1.0).op)
        made.save()
    with tf.Graph().as_default(), tf.Session() as sess:
        graph_def = tf.saved_model.load(sess, ["serve"], str(tmp_path / "m"))
        assert sess.run("local:0") == 5.0
        sess.run(loader.get_train_op(graph_def))
        assert sess.run("v:0") == 2.0


class Affine(tf.Module):
    """y = x @ weight + bias, by a function with a signature and one without."""

    def __init__(self):
        super().__init__()
        self.weight = tf.Variable([[1.0], [2.0]], name="weight", use_resource=True)
        self.inner = tf.Module()
        self.inner.bias = tf.Variable([0.5], name="bias", use_resource=True)
        self.half = tf.constant(0.5)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def predict(self, x):
        return {"y": self.scaled(x) + self.inner.bias}

    @tf.function
    def scaled(self, x):
        return tf.matmul(x, self.weight) * self.half * 2.0


@pytest.fixture
def module(tmp_path):
    folder = str(tmp_path / "module")
    with tf.Graph().as_default(), tf.Session() as sess:
        made = Affine()
        sess.run(tf.global_variables_initializer())
        tf.saved_model.save(made, folder)
    return folder


X = np.array([[1.0, 1.0], [2.0, 0.0]], np.float32)
Y = [[3.5], [2.5]]


def test_a_module_is_a_graph_with_a_signature(module):
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], module).signature_def["serving_default"]
        assert sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: X}).tolist() == Y


def test_a_module_comes_back_and_is_saved_again(module, tmp_path):
    for again in (module, str(tmp_path / "again")):
        with tf.Graph().as_default(), tf.Session() as sess:
            loaded = tf.saved_model.load_v2(again)
            by_name = loaded.signatures["serving_default"](x=tf.constant(X))["y"]
            found = loaded.predict(tf.constant(X))["y"]
            slope = tf.gradients(found, loaded.weight.handle)[0]
            sess.run(tf.global_variables_initializer())
            assert sess.run(found).tolist() == sess.run(by_name).tolist() == Y
            assert sess.run(slope).tolist() == [[3.0], [1.0]]
            sess.run(loaded.inner.bias.assign([1.5]))
            assert sess.run(found).tolist() == [[4.5], [3.5]]
            sess.run(loaded.inner.bias.assign([0.5]))
            with pytest.raises(TypeError, match="'z'"):
                loaded.signatures["serving_default"](z=tf.constant(X))
            if again == module:
                tf.saved_model.save(loaded, str(tmp_path / "again"))


def test_objects_of_tensorflow_come_back():
    values = json.loads((GOLDEN / "module.json").read_text())
    with tf.Graph().as_default(), tf.Session() as sess:
        loaded = tf.saved_model.load_v2(str(GOLDEN / "module"))
        found = loaded.predict(tf.constant(values["x"]))
        ids = loaded.numbers(tf.constant(values["words"]))["ids"]
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        found, ids = sess.run([found, ids])
    np.testing.assert_allclose(found["y"], values["y"], **TOLERANCE)
    np.testing.assert_allclose(found["total"], values["total"], **TOLERANCE)
    assert ids.tolist() == values["ids"]


def test_what_cannot_be_saved_is_named(tmp_path):
    with tf.Graph().as_default(), tf.Session():
        made, other = tf.Module(), tf.Variable([1.0], use_resource=True)
        x = tf.placeholder(tf.float32, [], name="fed")
        made.f = tf.function(lambda: x * 2.0, input_signature=[])
        with pytest.raises(ValueError, match="symbolic Tensor.*fed"):
            tf.saved_model.save(made, str(tmp_path))
        made.f = tf.function(lambda: other * 2.0, input_signature=[])
        with pytest.raises(KeyError, match="reachable from root"):
            tf.saved_model.save(made, str(tmp_path))
        with pytest.raises(ValueError, match="Expected a TensorFlow function"):
            tf.saved_model.save(tf.Module(), str(tmp_path), signatures=tf.function(lambda v: v))
        with pytest.raises(ValueError, match="Trackable"):
            tf.saved_model.save(1, str(tmp_path))
        made.f = tf.function(lambda: (tf.constant(1.0), (tf.constant(2.0),)), input_signature=[])
        with pytest.raises(ValueError, match="non-flat outputs"):
            tf.saved_model.save(made, str(tmp_path))
    with pytest.raises(ValueError, match="2 MetaGraphs"):
        tf.saved_model.load_v2(str(GOLDEN / "classifier"))


def load_functions(folder, tags=None):
    """The root of a SavedModel in the default graph, in a session whose tables and variables are filled."""
    root = tf.saved_model.load_v2(folder, tags)
    session = tf.Session()
    session.run(tf.tables_initializer())
    return root, session


def test_a_graph_without_objects_gives_functions(golden):
    with tf.Graph().as_default():
        root, session = load_functions(str(GOLDEN / "classifier"), {"serve"})
        found = root.signatures["serving_default"](images=tf.constant(models.batch()))
        with session:
            values = session.run(found)
    np.testing.assert_allclose(values["logits"], golden["logits"], **TOLERANCE)
    np.testing.assert_array_equal(values["labels"].astype("S"), golden["labels"])


def test_a_part_of_a_loaded_graph_is_a_function(golden):
    with tf.Graph().as_default():
        root, session = load_functions(str(GOLDEN / "classifier"), {"serve"})
        part = root.prune("images:0", "logits:0")
        with session:
            logits = session.run(part(tf.constant(models.batch())))
    np.testing.assert_allclose(logits, golden["logits"], **TOLERANCE)


def test_which_graph_is_meant_must_be_said():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="MetaGraphs"):
        tf.saved_model.load_v2(str(GOLDEN / "classifier"))


def test_a_function_refuses_other_inputs():
    with tf.Graph().as_default():
        root, session = load_functions(str(GOLDEN / "classifier"), {"serve"})
        with session, pytest.raises(TypeError, match="images"):
            root.signatures["serving_default"](pictures=tf.constant(models.batch()))


def test_assets_of_objects_move_with_them(tmp_path):
    (tmp_path / "words.txt").write_text("alpha\n")
    with tf.Graph().as_default(), tf.Session():
        root = tf.Module()
        root.words = TrackableAsset(str(tmp_path / "words.txt"))
        tf.saved_model.save(root, str(tmp_path / "first"))
    (tmp_path / "first").rename(tmp_path / "second")
    with tf.Graph().as_default(), tf.Session() as session:
        path = session.run(tf.saved_model.load_v2(str(tmp_path / "second")).words.asset_path).decode()
    assert path == str(tmp_path / "second" / "assets" / "words.txt")
    assert pathlib.Path(path).read_text() == "alpha\n"


def test_functions_of_ragged_tensors_come_back(tmp_path):
    """The names of the signature are those that TensorFlow 1.15 gives."""
    spec = tf.RaggedTensorSpec(shape=[None, None], dtype=tf.int32)
    module = tf.Module()
    module.f = tf.function(lambda x: x + 1, input_signature=[spec])
    with tf.Graph().as_default(), tf.Session():
        tf.saved_model.save(module, str(tmp_path))
    signature = files.get_meta_graph_def(str(tmp_path), "serve").signature_def["serving_default"]
    assert {key: info.name for key, info in signature.inputs.items()} == {"x": "serving_default_x:0", "x_1": "serving_default_x_1:0"}
    assert [part.dtype for part in signature.outputs["output_0"].composite_tensor.components] == [tf.int32, tf.int64]
    with tf.Graph().as_default(), tf.Session() as sess:
        loaded = tf.saved_model.load_v2(str(tmp_path))
        assert sess.run(loaded.f(tf.ragged.constant([[1, 2], [3]]))).to_list() == [[2, 3], [4]]


def test_functions_that_say_so_are_not_saved(tmp_path):
    module = tf.Module()
    inner = tf.function(lambda: tf.get_default_graph().mark_as_unsaveable("for a reason") or 1, input_signature=[])
    module.f = tf.function(lambda: inner(), input_signature=[])
    with tf.Graph().as_default(), tf.Session(), pytest.raises(ValueError, match="for a reason"):
        tf.saved_model.save(module, str(tmp_path))
    with tf.Graph().as_default(), pytest.raises(AssertionError, match=r"inside a traced @tf.function"):
        tf.function(lambda: tf.saved_model.save(tf.Module(), str(tmp_path)))()


@pytest.mark.parametrize("keywords", [{"x": 2.0, "y": 1.0}, {"y": 1.0}])
def test_partials_keep_their_arguments(keywords, tmp_path):
    with eager_mode():
        given = {name: tf.constant(value) for name, value in keywords.items()}
        root = tf.Module()
        root.f = tf.function(functools.partial(lambda x, y: x + y, **given))
        arguments = [] if "x" in keywords else [2.0]
        assert float(root.f(*map(tf.constant, arguments))) == 3.0
        tf.saved_model.save(root, str(tmp_path / "partial"))
        found = tf.compat.v2.saved_model.load(str(tmp_path / "partial"))
        assert float(found.f(*map(tf.constant, arguments))) == 3.0
