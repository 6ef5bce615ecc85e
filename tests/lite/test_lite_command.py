"""tflite-convert: from files to files, with 1.15's flags; nothing is written where it fails."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import command, reader

X = np.random.RandomState(2).rand(1, 6).astype(np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A SavedModel, a frozen graph and a Keras file of dense layers, with the value that they give for X."""
    folder = tmp_path_factory.mktemp("models")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 6], name="x")
        y = tf.identity(tf.layers.dense(tf.layers.dense(x, 200, tf.nn.relu), 3), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": y})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        tf.io.write_graph(frozen, str(folder), "frozen.pb", as_text=False)
        tf.io.write_graph(frozen, str(folder), "frozen.pbtxt")
        expected = session.run(y, {x: X})
    return folder, expected


def value(path):
    interpreter = tf.lite.Interpreter(str(path))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("source", [["--saved_model_dir={}/saved"], ["--graph_def_file={}/frozen.pb", "--input_arrays=x", "--output_arrays=y"],
                                    ["--graph_def_file={}/frozen.pbtxt", "--input_arrays=x", "--output_arrays=y", "--input_shapes=1,6"]])  # fmt: skip
def test_files_become_models(files, tmp_path, source):
    folder, expected = files
    assert command.main([*(s.format(folder) for s in source), f"--output_file={tmp_path}/m.tflite"]) == 0
    np.testing.assert_allclose(value(tmp_path / "m.tflite"), expected, rtol=1e-5, atol=1e-5)


def test_keras_files_become_models(tmp_path):
    pytest.importorskip("h5py")
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, "relu", input_shape=(6,)), tf.keras.layers.Dense(2)])
        model.save(str(tmp_path / "m.h5"))
        expected = model.predict(X)
    assert command.main([f"--keras_model_file={tmp_path}/m.h5", f"--output_file={tmp_path}/m.tflite"]) == 0
    np.testing.assert_allclose(value(tmp_path / "m.tflite"), expected, rtol=1e-5, atol=1e-5)


def test_weights_are_quantized(files, tmp_path):
    folder, expected = files
    flags = [f"--saved_model_dir={folder}/saved", "--post_training_quantize"]
    assert command.main([*flags, f"--output_file={tmp_path}/int8.tflite"]) == 0
    assert command.main([*flags, "--quantize_to_float16", f"--output_file={tmp_path}/float16.tflite"]) == 0
    stored = [{t.dtype for t in reader.read((tmp_path / f"{name}.tflite").read_bytes()).subgraphs[0].tensors} for name in ("int8", "float16")]
    assert "INT8" in stored[0] and "FLOAT16" in stored[1]
    np.testing.assert_allclose(value(tmp_path / "int8.tflite"), expected, atol=0.02)
    np.testing.assert_allclose(value(tmp_path / "float16.tflite"), expected, atol=2e-3)


def test_dot_is_a_graph(files, tmp_path):
    assert command.main([f"--saved_model_dir={files[0]}/saved", "--output_format=GRAPHVIZ_DOT", f"--output_file={tmp_path}/m.dot"]) == 0
    text = (tmp_path / "m.dot").read_text()
    assert text.startswith("digraph") and text.count('label="FULLY_CONNECTED"') == 2


@pytest.mark.parametrize("flags, message", [
    (["--saved_model_dir={}/absent"], "absent"),
    (["--graph_def_file={}/frozen.pb"], "--input_arrays and --output_arrays are required with --graph_def_file"),
    (["--graph_def_file={}/frozen.pb", "--input_arrays=x", "--output_arrays=z"], "Invalid tensors 'z' were found."),
    (["--saved_model_dir={}/saved", "--mean_values=1"], "--std_dev_values and --mean_values must be used together"),
    (["--saved_model_dir={}/saved", "--batch_size=1"], "Use --input_shapes instead of --batch_size"),
    (["--saved_model_dir={}/saved", "--saved_model_signature_key=other"], "No 'other' in the SavedModel's SignatureDefs"),
])  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_written(files, tmp_path, capsys, flags, message):
    assert command.main([*(f.format(files[0]) for f in flags), f"--output_file={tmp_path}/m.tflite"]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
