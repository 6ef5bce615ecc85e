"""What cannot be converted or run is refused by name."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite.errors import ConverterError


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def converter(inputs, outputs):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return tf.lite.TFLiteConverter.from_session(session, inputs, outputs)


def model(build, shape=(1, 4)):
    x = tf.placeholder(tf.float32, shape, name="x")
    return converter([x], [build(x)]).convert()


def test_ops_without_an_operator_are_named_in_tocos_words():
    x = tf.placeholder(tf.float32, [2, 2])
    with pytest.raises(ConverterError, match="builtin operators you are using: ADD. Here is a list of operators for which you will need custom implementations: MatrixInverse."):
        converter([x], [tf.linalg.inv(x + 1.0)]).convert()


def test_custom_operators_are_made_where_allowed_and_refused_when_run():
    x = tf.placeholder(tf.float32, [2, 2])
    made = converter([x], [tf.linalg.inv(x)])
    made.allow_custom_ops = True
    interpreter = tf.lite.Interpreter(model_content=made.convert())
    with pytest.raises(RuntimeError, match="Encountered unresolved custom op: MatrixInverse."):
        interpreter.allocate_tensors()


def test_inputs_that_are_not_given_are_named():
    x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [2], name="y")
    with pytest.raises(ConverterError, match="'y' is a placeholder"):
        converter([x], [x + y]).convert()


def test_sizes_but_the_first_must_be_known():
    with pytest.raises(ValueError, match=r"None is only supported in the 1st dimension. Tensor 'x' has invalid shape '\[1, None\]'."):
        model(lambda x: x + 1, [1, None])


def test_variables_without_a_value_are_named():
    x = tf.placeholder(tf.float32, [2])
    weights = tf.get_variable("weights", [2])
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="weights"):
        tf.lite.TFLiteConverter.from_session(session, [x], [x * weights])


def test_training_mode_is_refused():
    with pytest.raises(ConverterError, match="training mode"):
        model(lambda x: tf.nn.fused_batch_norm(x, [1.0], [0.0])[0], [1, 2, 2, 1])


def test_images_must_be_nhwc():
    with pytest.raises(ConverterError, match="data_format NCHW"):
        model(lambda x: tf.nn.conv2d(x, tf.zeros([1, 1, 1, 2]), 1, "VALID", data_format="NCHW"), [1, 1, 4, 4])


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_truncated_files_are_refused(share):
    content = model(lambda x: tf.layers.dense(x, 3))
    with pytest.raises(ValueError, match="damaged or cut short|needs .* bytes"):
        tf.lite.Interpreter(model_content=content[: int(len(content) * share)])


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"this is no model")
    with pytest.raises(ValueError, match="should be 'TFL3'"):
        tf.lite.Interpreter(str(path))
    with pytest.raises(ValueError, match="Could not open"):
        tf.lite.Interpreter(str(tmp_path / "absent.tflite"))


def test_arrays_must_fit():
    interpreter = tf.lite.Interpreter(model_content=model(lambda x: x * 2.0))
    index = interpreter.get_input_details()[0]["index"]
    interpreter.allocate_tensors()
    with pytest.raises(ValueError, match="Dimension mismatch"):
        interpreter.set_tensor(index, np.zeros([2, 4], np.float32))
    with pytest.raises(ValueError, match="Got tensor of type 2 but expected type 1"):
        interpreter.set_tensor(index, np.zeros([1, 4], np.int32))
    with pytest.raises(ValueError, match="tensor index"):
        interpreter.set_tensor(99, np.zeros([1, 4], np.float32))


def test_no_run_while_an_array_is_held():
    interpreter = tf.lite.Interpreter(model_content=model(lambda x: x * 2.0))
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    array = interpreter.tensor(interpreter.get_input_details()[0]["index"])()
    array.fill(3)
    with pytest.raises(RuntimeError, match="at least 1 reference to internal data"):
        interpreter.invoke()
    del array
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), [[6, 6, 6, 6]])


def test_inputs_can_change_their_sizes():
    interpreter = tf.lite.Interpreter(model_content=model(lambda x: x * 2.0))
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, [3, 4])
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, np.ones([3, 4], np.float32))
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), np.full([3, 4], 2))


def test_uint8_models_need_ranges():
    x = tf.placeholder(tf.float32, [1, 4], name="x")
    made = converter([x], [tf.nn.relu(x * 2.0, name="y")])
    made.inference_type = tf.lite.constants.QUANTIZED_UINT8
    made.quantized_input_stats = {"x": (0.0, 1.0)}
    with pytest.raises(ValueError, match="Array y, .* is lacking min/max data"):
        made.convert()


def test_representative_datasets_must_fit():
    x = tf.placeholder(tf.float32, [1, 4], name="x")
    made = converter([x], [tf.nn.relu(x)])
    made.optimizations = [tf.lite.Optimize.DEFAULT]
    made.representative_dataset = lambda: iter([])
    with pytest.raises(ValueError, match="no samples"):
        made.convert()
    made.representative_dataset = lambda: iter([[np.zeros([1, 4], np.float32)] * 2])
    with pytest.raises(ValueError, match="2 arrays, and the model has 1 inputs"):
        made.convert()


@pytest.mark.parametrize("name", ["reorder_across_fake_quant", "change_concat_input_ranges"])
def test_ranges_do_not_change(name):
    """1.15 would write another model; a graph without ranges is the same with and without."""
    x = tf.placeholder(tf.float32, [1, 4], name="x")
    plain = converter([x], [tf.nn.relu(x)])
    setattr(plain, name, True)
    assert plain.convert()
    ranged = converter([x], [tf.fake_quant_with_min_max_args(x, -1.0, 1.0)])
    setattr(ranged, name, True)
    with pytest.raises(NotImplementedError, match=name):
        ranged.convert()
