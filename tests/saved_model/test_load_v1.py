"""SavedModels of graphs loaded as objects, in graphs and where operations run at once; the values are those of TensorFlow 1.15.5."""

import contextlib
import shutil

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


@pytest.fixture(params=["graph", "eager"])
def value(request):
    """What gives the values of tensors in each mode."""
    with contextlib.ExitStack() as stack:
        if request.param == "eager":
            stack.enter_context(eager_mode())
            yield lambda tensors: tf.nest.map_structure(lambda tensor: tensor.numpy(), tensors)
        else:
            stack.enter_context(tf.Graph().as_default())
            yield stack.enter_context(tf.Session()).run


def initialize():
    if not tf.executing_eagerly():
        session = tf.get_default_session()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())


@pytest.fixture
def model(tmp_path):
    """A product of what is fed and of variables of each kind, the last one local; one more is not used."""
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.placeholder(tf.float32, name="start")
        tf.Variable(-1.0, name="other", use_resource=False)
        v = tf.Variable(3.0, name="v", use_resource=True)
        r = tf.Variable(2.0, name="r", use_resource=False)
        local = tf.Variable(1.0, name="l", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False, use_resource=True)
        product = tf.identity(start * v * local * r, name="product")
        session.run([tf.global_variables_initializer(), local.initializer])
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"start": start}, {"product": product}, legacy_init_op=local.initializer)
    return str(tmp_path / "model")


def test_variables_have_their_values(model, value):
    loaded = tf.saved_model.load_v2(model)
    initialize()
    function = loaded.signatures["serving_default"]
    assert value(function(tf.constant(2.0))) == {"product": 12.0}
    assert [v.name for v in loaded.variables] == (["v:0", "l:0"] if tf.executing_eagerly() else ["load/v:0", "load/l:0"])
    assert [v.trainable for v in loaded.variables] == [True, False] and value([v.read_value() for v in loaded.variables]) == [3.0, 1.0]
    value(loaded.variables[0].assign(4.0))
    assert value(function(start=tf.constant(3.0))) == {"product": 24.0}
    assert value(loaded.prune("start:0", "product:0")(tf.constant(1.0))) == 8.0


def test_signatures_have_gradients(model, value):
    loaded = tf.saved_model.load_v2(model)
    initialize()
    with tf.GradientTape() as tape:
        product = loaded.signatures["serving_default"](start=tf.constant(4.0))["product"]
    assert value(tape.gradient(product, loaded.variables[0])) == 8.0


@pytest.fixture
def table(tmp_path):
    (tmp_path / "words.txt").write_text("alpha\nbeta\ngamma\n")
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.placeholder(tf.string)
        ids = tf.contrib.lookup.index_table_from_file(str(tmp_path / "words.txt")).lookup(words)
        session.run(tf.tables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "table"), {"words": words}, {"ids": ids}, legacy_init_op=tf.tables_initializer())
    (tmp_path / "words.txt").unlink()
    return str(tmp_path / "table")


def test_tables_are_filled_and_saved_again(table, value, tmp_path):
    path = table
    for again in ("again", "third"):
        loaded = tf.saved_model.load_v2(path)
        initialize()
        found = loaded.signatures["serving_default"](tf.constant(["gamma", "x", "alpha"]))
        assert value(found)["ids"].tolist() == [2, -1, 0]
        tf.saved_model.save(loaded, str(tmp_path / again), loaded.signatures)
        shutil.rmtree(path)
        path = str(tmp_path / again)
        if not tf.executing_eagerly():
            del tf.get_collection_ref(tf.GraphKeys.TABLE_INITIALIZERS)[:]


def test_variables_that_were_references_are_not_saved_again(model, tmp_path):
    with eager_mode():
        loaded = tf.saved_model.load_v2(model)
        with pytest.raises(KeyError, match="no variable or table behind it is reachable from root"):
            tf.saved_model.save(loaded, str(tmp_path / "again"), loaded.signatures)


@pytest.mark.parametrize(("version", "is_trained"), [("1.7.0", True), ("1.10.0", False), ("", False)])
def test_variables_of_old_versions_are_trained_by_their_collection(version, is_trained):
    with tf.Graph().as_default():
        kind = type(tf.Variable(1.0, name="trained").to_proto())
        tf.Variable(2.0, trainable=False, name="kept")
        meta_graph = tf.train.export_meta_graph()
    meta_graph.meta_info_def.tensorflow_version = version
    for key in ("variables", "trainable_variables"):
        values = meta_graph.collection_def[key].bytes_list.value
        for i, data in enumerate(values):
            message = kind.FromString(data)
            message.ClearField("trainable")
            values[i] = message.SerializeToString()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph)
        found = {v.op.name: v.trainable for v in tf.global_variables()}
        assert found == {"trained": is_trained, "kept": False}
