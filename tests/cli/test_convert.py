"""`tfcompat convert`: each format from each kind of source, checked against Session.run by the command itself; what TensorFlow.js gave for the files."""

import importlib
import json
import pathlib
import runpy

import children
import jax
import numpy as np
import pytest
from google.protobuf import text_format

import tfcompat as tf
from tfcompat._src.convert import tfjs
from tfcompat._src.convert.command import main
from tfcompat._src.shim.real_modules import REAL_MODULES

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/tfjs"
X = np.linspace(-1, 1, 2 * 6 * 6, dtype=np.float32).reshape(2, 6, 6, 1)


def numbers(*sizes):
    return tf.constant_initializer(np.sin(np.arange(np.prod(sizes))).reshape(sizes))


def network():
    """A convolution, a loop, a branch and words of a table, with weights of a formula."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 1], name="x")
    maps = tf.layers.conv2d(x, 2, 3, activation=tf.nn.relu, kernel_initializer=numbers(3, 3, 1, 2), name="conv")
    rows = tf.layers.dense(tf.layers.flatten(maps), 3, kernel_initializer=numbers(32, 3), name="dense")
    _, rows = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(h) * 2), [0, rows])
    rows = tf.cond(tf.reduce_sum(rows) > 0, lambda: rows * 2, lambda: rows - 1)
    return x, tf.identity(rows, name="rows"), tf.argmax(rows, 1, name="best")


@pytest.fixture
def sources(tmp_path):
    """The network as a SavedModel, a checkpoint and a frozen graph, in binary and text."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, rows, best = network()
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"image": x}, {"rows": rows, "best": best})
        tf.train.Saver().save(session, str(tmp_path / "model"))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["rows", "best"])
        frozen.versions.producer = 134
        tf.io.write_graph(frozen, str(tmp_path), "frozen.pb", as_text=False)
        tf.io.write_graph(frozen, str(tmp_path), "frozen.pbtxt")
        wanted = session.run({"rows": rows, "best": best}, {x: X})
    return tmp_path, wanted


def keras_file(folder):
    pytest.importorskip("h5py")
    layers, formula = tf.keras.layers, tf.keras.initializers.Constant
    with tf.Graph().as_default(), tf.Session().as_default():
        model = tf.keras.Sequential([
            layers.Conv2D(2, 3, activation="relu", input_shape=(6, 6, 1), kernel_initializer=formula(0.25), name="conv"), layers.BatchNormalization(name="bn"),
            layers.Flatten(name="flat"), layers.Dense(3, activation="softmax", name="dense"),
        ])  # fmt: skip
        model.set_weights([np.sin(np.arange(w.size)).reshape(w.shape) ** 2 for w in model.get_weights()])
        model.save(str(folder / "keras.h5"))
        return model.predict(X)


def converted(capsys, *arguments):
    status = main(list(map(str, arguments)))
    return status, capsys.readouterr()


SOURCES = {"saved": [], "model": ["--inputs", "x", "--outputs", "rows,best"], "frozen.pb": [], "frozen.pbtxt": ["--outputs", "rows,best:0"]}


@pytest.mark.parametrize("source", list(SOURCES))
def test_frozen_graphs(sources, capsys, source):
    folder, wanted = sources
    status, said = converted(capsys, "--to", "frozen", folder / source, folder / "out.pbtxt", *SOURCES[source])
    assert status == 0, said.err
    assert "greatest difference 0 in outputs" in said.out
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(text_format.Parse((folder / "out.pbtxt").read_text(), tf.GraphDef()), name="")
        np.testing.assert_allclose(session.run("rows:0", {"x:0": X}), wanted["rows"], rtol=1e-6)
        assert not [op for op in graph.get_operations() if op.type.startswith("Var")]


def test_jax_and_stablehlo(sources, capsys):
    pytest.importorskip("flatbuffers")
    folder, wanted = sources
    status, said = converted(capsys, "--to", "jax", folder / "saved", folder / "out")
    assert status == 0, said.err
    assert "a program for cpu, cuda, tpu; parameters: 4 trainable" in said.out
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["model.py", "model.stablehlo", "params.npz", "signature.json"]
    module = runpy.run_path(str(folder / "out/model.py"))
    found, _ = jax.jit(module["fn"])(module["params"], X)
    np.testing.assert_allclose(found["rows"], wanted["rows"], rtol=1e-5)
    assert module["signature"]["inputs"] == [{"name": "x:0", "dtype": "float32", "shape": ["batch", 6, 6, 1], "key": "image"}]
    status, said = converted(capsys, "--to", "stablehlo", folder / "frozen.pb", folder / "other", "--shapes", "x=2,6,6,1")
    assert status == 0 and not (folder / "other/model.py").exists(), said.err


def test_saved_models_and_tflite(sources, capsys):
    folder, wanted = sources
    status, said = converted(capsys, "--to", "savedmodel", folder / "frozen.pb", folder / "out")
    assert status == 0, said.err
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(folder / "out"))
        np.testing.assert_allclose(session.run("rows:0", {"x:0": X}), wanted["rows"], rtol=1e-6)
    pytest.importorskip("flatbuffers")
    status, said = converted(capsys, "--to", "tflite", folder / "saved", folder / "out.tflite")
    assert status == 0, said.err
    assert "fused, folded or dropped" in said.out and (folder / "out.tflite").read_bytes()[4:8] == b"TFL3"


def files(folder):
    return {path.name: json.loads(path.read_text()) if path.suffix == ".json" else path.read_bytes() for path in folder.iterdir()}


def test_graph_models_of_tensorflow_js(sources, capsys):
    """The files are those for which TensorFlow.js 4.22 in node gave what is recorded, which is what the session gives."""
    folder, wanted = sources
    status, said = converted(capsys, "--to", "tfjs", folder / "saved", folder / "out")
    assert status == 0, said.err
    recorded = json.loads((GOLDEN / "graph.json").read_text())
    assert files(folder / "out") == {name: content if name == "model.json" else bytes.fromhex(content) for name, content in recorded["files"].items()}
    np.testing.assert_allclose(recorded["outputs"]["rows"], wanted["rows"].ravel(), rtol=1e-5)
    assert recorded["outputs"]["best"] == wanted["best"].tolist()


def tables():
    """Words and numbers that are looked up by matrices and vectors, in both directions."""
    words, numbers = tf.placeholder(tf.string, [None], name="words"), tf.placeholder(tf.int64, [None, 2], name="numbers")
    places = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "bb", "ccc"]), default_value=-1).lookup(words)
    pairs = tf.contrib.lookup.KeyValueTensorInitializer(tf.constant([0, 1, 7], tf.int64), tf.constant([0.5, 1.5, 7.5]))
    found = tf.contrib.lookup.HashTable(pairs, -2.5).lookup(numbers)
    names = tf.contrib.lookup.index_to_string_table_from_tensor(tf.constant(["low", "high"]), default_value="none").lookup(numbers)
    return {"words": words, "numbers": numbers}, {"places": places, "sums": tf.reduce_sum(found, 1), "names": names}


ASKED = {"words": ["ccc", "a", "dddd"], "numbers": [[0, 1], [7, 0], [1, 2]]}


def test_tables_of_tensorflow_js(tmp_path, capsys):
    """The files are those for which TensorFlow.js 4.22 in node gave what is recorded, which is what the session gives."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = tables()
        session.run(tf.tables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), inputs, outputs, tf.tables_initializer())
        wanted = session.run(outputs, {inputs[key]: values for key, values in ASKED.items()})
    status, said = converted(capsys, "--to", "tfjs", tmp_path / "saved", tmp_path / "out")
    assert status == 0, said.err
    assert "greatest difference 0 " in said.out
    recorded = json.loads((GOLDEN / "tables.json").read_text())
    assert files(tmp_path / "out") == {name: content if name == "model.json" else bytes.fromhex(content) for name, content in recorded["files"].items()}
    assert recorded["outputs"]["places"] == wanted["places"].tolist() == [2, 0, -1]
    assert recorded["outputs"]["sums"] == wanted["sums"].tolist() == [2.0, 8.0, -1.0]
    assert [[name.encode() for name in row] for row in recorded["outputs"]["names"]] == wanted["names"].tolist()


def test_a_table_that_holds_nothing_is_refused(tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        _, outputs = tables()
        tf.identity(outputs["places"], name="places")
        tf.io.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    status, said = converted(capsys, "--to", "tfjs", "--inputs", "words", "--outputs", "places", tmp_path / "graph.pb", tmp_path / "out")
    assert status == 1
    assert "The table string_to_index/hash_table/hash_table holds nothing yet: convert a SavedModel" in said.err
    assert not (tmp_path / "out").exists()


def test_layers_models_of_tensorflow_js(tmp_path, capsys):
    wanted = keras_file(tmp_path)
    status, said = converted(capsys, "--to", "tfjs", tmp_path / "keras.h5", tmp_path / "out")
    assert status == 0, said.err
    recorded = json.loads((GOLDEN / "layers.json").read_text())
    assert files(tmp_path / "out") == {name: content if name == "model.json" else bytes.fromhex(content) for name, content in recorded["files"].items()}
    np.testing.assert_allclose(recorded["outputs"]["dense"], wanted.ravel(), rtol=1e-5)
    status, said = converted(capsys, "--to", "tfjs", "--graph-model", "--quantize", "uint16", tmp_path / "keras.h5", tmp_path / "graph")
    assert status == 0, said.err
    assert files(tmp_path / "graph")["model.json"]["format"] == "graph-model"


def test_weights_in_shards_and_on_scales(tmp_path):
    """Quantized to 8 bits, a range is 255 steps of which one is exactly 0."""
    weights = {"w": np.array([-1.0, 0.0, 0.5, 4.1], np.float32), "words": np.array([b"ab", b""], object), "n": np.array([2**31 - 1], np.int32)}
    scale = 5.1 / 255
    for quantize, bits, tolerance in ((None, 32, 0), ("uint8", 8, scale / 2), ("uint16", 16, 5.1 / 65535 / 2), ("float16", 16, 2e-3)):
        made = tfjs.with_weights({"modelTopology": {}}, weights, quantize, 10)
        size = 4 * bits // 8 + 10 + 4
        assert [len(made[f"group1-shard{i + 1}of{-(-size // 10)}.bin"]) for i in range(size // 10)] == [10] * (size // 10)
        folder = tmp_path / str(quantize)
        folder.mkdir()
        for name, content in made.items():
            (folder / name).write_bytes(content)
        _, found = tfjs.read(str(folder))
        np.testing.assert_allclose(found["w"], weights["w"], atol=tolerance * 1.001, rtol=0)
        assert found["w"][1] == 0 and found["w"].dtype == np.float32
        assert found["words"].tolist() == [b"ab", b""] and found["n"] == [2**31 - 1]
        if quantize == "uint8":
            assert json.loads(made["model.json"])["weightsManifest"][0]["weights"][0]["quantization"] == pytest.approx(
                {"dtype": "uint8", "min": -50 * scale, "scale": scale, "original_dtype": "float32"}
            )


def test_what_is_refused_leaves_nothing(sources, capsys):
    folder, _ = sources
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        tf.identity(tf.matrix_inverse(x, name="turned") + tf.py_func(np.sin, [x], tf.float32, name="mine"), name="y")
        tf.constant(2**40, tf.int64, name="large")
        tf.io.write_graph(graph.as_graph_def(), str(folder), "other.pb", as_text=False)
    there = sorted(path.name for path in folder.iterdir())
    other = folder / "other.pb"
    for arguments, text in (
        (["tfjs", other, "out", "--outputs", "y"], "no kernels for ops of this graph:\n  MatrixInverse: turned\n  PyFunc: mine"),
        (["tfjs", other, "out", "--outputs", "large"], "The constant large has integers beyond 32 bits"),
        (["jax", other, "out", "--outputs", "y"], "mine (op type PyFunc) runs on the host"),
        (["frozen", folder / "saved", "out", "--signature", "other"], "has no signature 'other', but serving_default"),
        (["frozen", folder / "saved", "out", "--outputs", "none"], "The graph has no tensor 'none'"),
        (["frozen", folder / "absent", "out"], "absent is no SavedModel and no file"),
        (["frozen", folder / "saved/saved_model.pb", "out"], "saved_model.pb"),
        (["frozen", folder / "saved", "saved"], "is there already: use --overwrite"),
        (["stablehlo", folder / "saved", "out", "--shapes", "z=2"], "--shapes names 'z', but the inputs are image"),
        (["frozen", folder / "saved", "out", "--tolerance", "-1"], "differs from the graph by 0"),
    ):
        status, said = converted(capsys, "--to", arguments[0], arguments[1], folder / arguments[2], *arguments[3:])
        assert status == 1 and text in said.err, said.err
        assert sorted(path.name for path in folder.iterdir()) == there
    with pytest.raises(SystemExit):
        converted(capsys, "--to", "frozen", folder / "saved", folder / "out", "--quantize", "uint8")
    assert "--to frozen has no --quantize uint8, but none" in capsys.readouterr().err
    status, _ = converted(capsys, "--to", "frozen", folder / "saved", folder / "saved", "--overwrite", "--no-check")
    assert status == 0 and (folder / "saved").is_file()


def test_onnx_says_what_to_install(sources):
    folder, _ = sources
    code = "import sys; sys.modules['tf2onnx'] = None\nfrom tfcompat._src.convert.command import main\nsys.exit(main(sys.argv[1:]))"
    done = children.python("-c", code, "--to", "onnx", folder / "saved", folder / "out.onnx")
    assert done.returncode == 1 and "pip install tf2onnx onnx onnxruntime" in done.stderr
    assert not (folder / "out.onnx").exists()


def test_names_that_tf2onnx_reads():
    known = importlib.import_module(REAL_MODULES["tensorflow.python.framework.c_api_util"]).ApiDefMap()
    found = known.get_op_def("MatMul")
    assert [arg.name for arg in found.input_arg] == ["a", "b"] and found.output_arg[0].type_attr == "T"
    assert {"MatMul", "While", "Switch"} <= set(known.op_names())
    with pytest.raises(ValueError, match="No entry found for Nothing"):
        known.get_op_def("Nothing")
    with tf.Graph().as_default() as graph:
        tf.identity(tf.placeholder(tf.float32, [], name="x"), name="y")
        tf.constant(1, name="alone")
        meta_graph = tf.train.export_meta_graph(graph=graph)
    meta_graph.collection_def["train_op"].node_list.value.append("y:0")
    kept = importlib.import_module(REAL_MODULES["tensorflow.python.grappler.tf_optimizer"]).OptimizeGraph(tf.ConfigProto(), meta_graph)
    assert [node.name for node in kept.node] == ["x", "y"]


def test_keras_files_in_a_new_process(tmp_path):
    pytest.importorskip("flatbuffers")
    keras_file(tmp_path)
    done = children.python("-m", "tfcompat", "tflite-convert", f"--keras_model_file={tmp_path}/keras.h5", f"--output_file={tmp_path}/out.tflite")
    assert not done.returncode, done.stderr
    assert (tmp_path / "out.tflite").read_bytes()[4:8] == b"TFL3"
