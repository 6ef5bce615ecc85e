"""Programs on graph files: freezing, stripping, optimizing, and the command line on SavedModels."""

import pathlib

import children
import models
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.saved_model import command as command
from tfcompat._src.saved_model import optimize_for_inference as optimize

ROOT = pathlib.Path(__file__).parent.parent.parent
CLASSIFIER = str(ROOT / "tests" / "golden" / "saved_model" / "classifier")


def program(module, *options):
    return children.warm(*children.RUN, "-m", f"tensorflow.python.tools.{module}", *options, cwd=ROOT)


@pytest.fixture
def trained(tmp_path):
    """A graph file and a checkpoint of y = x @ w + b, with a check and copies."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        b = tf.get_variable("b", initializer=[0.5], use_resource=True)
        with tf.control_dependencies([tf.check_numerics(x, "x is not finite")]):
            y = tf.identity(tf.matmul(x, w) + b)
        tf.identity(y, name="y")
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "model"), write_meta_graph=True)
        tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
    return tmp_path


def outputs(graph_def):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run("y:0", {"x:0": [[1.0, 1.0], [2.0, 0.0]]}).tolist()


def test_freeze_and_optimize_programs(trained):
    frozen, small = trained / "frozen.pb", trained / "small.pb"
    done = program(
        "freeze_graph", f"--input_graph={trained}/graph.pbtxt", f"--input_checkpoint={trained}/model",
        f"--output_graph={frozen}", "--output_node_names=y",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    graph_def = tf.GraphDef.FromString(frozen.read_bytes())
    assert not [n for n in graph_def.node if "Var" in n.op]
    assert outputs(graph_def) == [[3.5], [2.5]]
    done = program(
        "optimize_for_inference", f"--input={frozen}", f"--output={small}", "--input_names=x", "--output_names=y"
    )
    assert done.returncode == 0, done.stderr
    graph_def = tf.GraphDef.FromString(small.read_bytes())
    assert sorted(n.op for n in graph_def.node) == ["AddV2", "Const", "Const", "Identity", "MatMul", "Placeholder"]
    assert outputs(graph_def) == [[3.5], [2.5]]


def test_freezing_needs_a_checkpoint_and_outputs(trained):
    done = program("freeze_graph", f"--input_graph={trained}/graph.pbtxt", "--input_checkpoint=none", "--output_node_names=y")
    assert done.returncode == 1
    assert "Input checkpoint 'none' doesn't exist!" in done.stderr


@pytest.mark.parametrize("convolution", ["Conv2D", "DepthwiseConv2dNative"])
def test_folded_normalization_gives_the_values_of_the_formula(convolution):
    generator = np.random.RandomState(3)
    image, weights = generator.randn(1, 5, 5, 2), generator.randn(3, 3, 2, 2)
    channels = 2 if convolution == "Conv2D" else 4
    gamma, beta, mean, variance = generator.rand(4, channels) + 0.5
    with tf.Graph().as_default() as graph:
        x = tf.constant(image, tf.float32, name="x")
        function = tf.nn.conv2d if convolution == "Conv2D" else tf.nn.depthwise_conv2d
        y = function(x, tf.constant(weights, tf.float32), [1, 1, 1, 1], "SAME", name="conv")
        parts = [tf.constant(part, tf.float32) for part in (gamma, beta, mean, variance)]
        tf.raw_ops.FusedBatchNorm(
            x=y, scale=parts[0], offset=parts[1], mean=parts[2], variance=parts[3], epsilon=0.01, is_training=False, name="norm"
        )
        folded = optimize.fold_batch_norms(graph.as_graph_def())
    assert not [n for n in folded.node if n.op == "FusedBatchNorm"]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(folded, name="")
        raw = sess.run(function(tf.constant(image), tf.constant(weights), [1, 1, 1, 1], "SAME"))
        found = sess.run("norm:0")
    np.testing.assert_allclose(found, (raw - mean) / np.sqrt(variance + 0.01) * gamma + beta, rtol=1e-4, atol=1e-5)


def test_show(capsys):
    assert command.main(["show", "--dir", CLASSIFIER]) == 0
    assert capsys.readouterr().out == "The given SavedModel contains the following tag-sets:\nserve\ngpu, serve\n"
    assert command.main(["show", "--dir", CLASSIFIER, "--all"]) == 0
    assert capsys.readouterr().out == pathlib.Path(CLASSIFIER + "_show.txt").read_text()
    assert command.main(["show", "--dir", CLASSIFIER, "--tag_set", "other"]) == 1
    assert "could not be found in SavedModel" in capsys.readouterr().err


def test_run(capsys, tmp_path):
    np.savez(tmp_path / "in.npz", batch=models.batch())
    options = ["run", "--dir", CLASSIFIER, "--tag_set", "serve", "--signature_def", "serving_default", "--outdir", str(tmp_path)]
    assert command.main([*options, "--inputs", f"images={tmp_path}/in.npz[batch]"]) == 0
    golden = np.load(CLASSIFIER + ".npz")["logits"]
    np.testing.assert_allclose(np.load(tmp_path / "logits.npy"), golden, rtol=1e-5, atol=1e-6)
    assert "Result for output key logits:" in capsys.readouterr().out
    assert command.main([*options, "--input_exprs", "images=np.zeros([1, 8, 8, 3])"]) == 1
    assert "already exists" in capsys.readouterr().err
    assert command.main([*options, "--input_exprs", "image=1"]) == 1
    assert "is not a valid input key" in capsys.readouterr().err


def test_examples_are_literals(tmp_path):
    (data,) = command.preprocess_input_examples_arg_string('x=[{"a": [1, 2], "b": [0.5], "c": ["t"]}]')["x"]
    feature = tf.train.Example.FromString(data).features.feature
    assert list(feature["a"].int64_list.value) == [1, 2]
    assert list(feature["b"].float_list.value) == [0.5]
    assert list(feature["c"].bytes_list.value) == [b"t"]
    with pytest.raises(RuntimeError, match="not a valid python literal"):
        command.preprocess_input_examples_arg_string(f'x=open("{tmp_path}/f", "w")')
    assert not (tmp_path / "f").exists()
