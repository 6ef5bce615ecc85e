"""tf.train.Saver and tf.train.Checkpoint: nodes as in TensorFlow 1.15.5, files of it restored, what they refuse."""

import json
import os
import pathlib

import graphs
import numpy as np
import pytest

import tfcompat as tf

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "checkpoint"
FACTS = json.loads((GOLDEN / "facts.json").read_text())


@pytest.mark.parametrize("name", list(graphs.SAVERS))
def test_nodes_are_tensorflows(name):
    with tf.Graph().as_default() as graph:
        saver = graphs.build_saver(tf, name)
        assert graphs.nodes(tf, graph) == FACTS["savers"][name]["nodes"]
        assert graphs.saver_def(saver) == FACTS["savers"][name]["saver_def"]


def test_restores_objects_that_tensorflow_saved():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        checkpoint, step, loss = graphs.build_objects(tf)
        checkpoint.restore(str(GOLDEN / "objects-1")).assert_consumed().run_restore_ops(session)
        found = [session.run(loss), session.run([step, loss])[1], session.run(loss)]
        np.testing.assert_allclose(found, FACTS["objects"]["losses"], rtol=1e-6)


def _without_gradients(nodes):
    """The nodes that are the same one by one: gradients need not be."""
    return [n for n in nodes if not n[0].startswith("gradients/") and not any("gradients/" in i for i in n[2])]


def test_object_nodes_are_tensorflows(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(3)
        checkpoint, _, _ = graphs.build_objects(tf)
        session.run(tf.global_variables_initializer())
        checkpoint.save(str(tmp_path / "objects"), session=session)
        assert _without_gradients(graphs.nodes(tf, graph)) == _without_gradients(FACTS["objects"]["nodes"])
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "objects-1")


def test_objects_made_after_restoring_are_restored(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        session.run(v.initializer)
        path = tf.train.Checkpoint(v=v).save(str(tmp_path / "c"), session=session)
    with tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint()
        status = checkpoint.restore(path)
        checkpoint.v = tf.get_variable("other", [2])
        status.assert_consumed().run_restore_ops(session)
        assert list(session.run(checkpoint.v)) == [1.0, 2.0]


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        session.run(v.initializer)
        yield session


def test_keeps_the_newest(tmp_path, session):
    saver = tf.train.Saver(max_to_keep=2)
    for step in range(4):
        saver.save(session, str(tmp_path / "m"), global_step=step)
    assert saver.last_checkpoints == [str(tmp_path / f"m-{i}") for i in (2, 3)]
    left = {p.name for p in tmp_path.iterdir()}
    parts = ("index", "data-00000-of-00001", "meta")
    assert left == {"checkpoint", *(f"m-{i}.{part}" for i in (2, 3) for part in parts)}
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == saver.last_checkpoints


def test_a_meta_graph_and_its_checkpoint_are_a_program(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        dropped = tf.cond(tf.placeholder(tf.bool, [], name="training"), lambda: x * 0.0, lambda: x)
        tf.identity(tf.layers.dense(dropped, 3), name="logits")
        session.run(tf.global_variables_initializer())
        feeds = {"x:0": [[1.0, 2.0]], "training:0": False}
        wanted = session.run("logits:0", feeds)
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta").restore(session, path)
        assert len(tf.trainable_variables()) == 2
        np.testing.assert_array_equal(session.run(graph.get_tensor_by_name("logits:0"), feeds), wanted)


def test_restoring_compiles_nothing(tmp_path, session):
    saver = tf.train.Saver()
    path = saver.save(session, str(tmp_path / "m"))
    text = session.explain(saver.saver_def.restore_op_name, {saver.saver_def.filename_tensor_name: path})
    assert "0 compiled call(s), 1 host step(s)" in text


def test_bad_arguments(tmp_path, session):
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
        saver.save(session, str(tmp_path / "no" / "no" / "m"))
    with pytest.raises(ValueError, match="is not a valid checkpoint"):
        saver.restore(session, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="when it is None"):
        saver.restore(session, None)
    with pytest.raises(ValueError, match="collides"):
        saver.save(session, str(tmp_path / "checkpoint"))
    with pytest.raises(TypeError, match="'sess' must be a Session"):
        saver.save(None, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="same saveable"):
        tf.train.Saver({"a": tf.global_variables()[0], "b": tf.global_variables()[0]})
    with pytest.raises(ValueError, match="No variables to save"), tf.Graph().as_default():
        tf.train.Saver()


def test_missing_and_mismatched_variables(tmp_path, session):
    path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        tf.get_variable("v", [3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="mismatch between the current graph"):
            tf.train.Saver().restore(other, path)
        tf.get_variable("w", [3])
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
            tf.train.Saver().restore(other, path)


def test_initial_values_from_a_checkpoint(tmp_path, session):
    path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        with tf.variable_scope("new"):
            v = tf.get_variable("v", [2])
        tf.train.init_from_checkpoint(os.path.dirname(path), {"/": "new/"})
        other.run(tf.global_variables_initializer())
        assert list(other.run(v)) == [1.0, 2.0]
        with pytest.raises(ValueError, match="doesn't match with shape"):
            tf.train.init_from_checkpoint(path, {"v": tf.get_variable("wide", [5])})
