"""Options of custom operators and of TensorFlow's ops in models: recorded from TensorFlow 1.15.5's converter."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import reader
from tfcompat._src.lite.custom_options import read_node
from tfcompat._src.lite.errors import ConverterError

flexbuffers = pytest.importorskip("flatbuffers.flexbuffers")
SELECT, BUILTINS = tf.lite.OpsSet.SELECT_TF_OPS, tf.lite.OpsSet.TFLITE_BUILTINS
ATTRIBUTES = {
    "bucketize": (lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 1.5, 3.0]), "626f756e646172696573000003000000000000000000c03f00004040011d0101011136022401"),
    "matrix_inverse": (lambda x: tf.raw_ops.MatrixInverse(input=x, adjoint=True), "61646a6f696e740001090101010168022401"),
    "as_string": (
        lambda x: tf.raw_ops.AsString(input=x, precision=3, fill="0"),
        "66696c6c00013000736369656e746966696300776964746800707265636973696f6e0073686f727465737400052d15270d1e0501052f030000ff14046868040a2401",
    ),
}
NODES = {
    "with_builtins": (lambda x: tf.raw_ops.Softplus(features=x + 1.0, name="y"), {BUILTINS, SELECT}, "FlexSoftplus", "08536f6674706c7573001b0a01791208536f6674706c75731a036164642a070a0154120230010002271e1414042801"),
    "alone": (lambda x: tf.nn.relu(x, name="y"), {SELECT}, "FlexRelu", "0452656c7500150a0179120452656c751a01782a070a01541202300100021d181414042801"),
    "unknown": (lambda x: tf.raw_ops.Atan(x=x, name="y"), {BUILTINS, SELECT}, "Atan", "044174616e00150a017912044174616e1a01782a070a01541202300100021d181414042801"),
}


def convert(build, shape, supported=(BUILTINS,), allow_custom_ops=True):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape, name="x")
        converter = tf.lite.TFLiteConverter.from_session(session, [x], [build(x)])
        converter.allow_custom_ops = allow_custom_ops
        converter.target_spec.supported_ops = set(supported)
        return converter.convert()


def custom_operator(content):
    [found] = [o for o in reader.read(content).operators() if o.builtin == "CUSTOM"]
    return found


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_kept(name):
    build, recorded = ATTRIBUTES[name]
    found = custom_operator(convert(build, [4, 4]))
    assert flexbuffers.Loads(found.custom_options) == flexbuffers.Loads(bytes.fromhex(recorded))
    assert found.outputs[0].shape == ()


def test_no_options_without_attributes():
    found = custom_operator(convert(lambda x: tf.raw_ops.Atan(x=x), [4, 4]))
    assert (found.custom_code, found.custom_options) == ("Atan", b"")


@pytest.mark.parametrize("name", NODES)
def test_nodes_are_kept(name):
    build, supported, code, recorded = NODES[name]
    found = custom_operator(convert(build, [2, 4], supported))
    expected = read_node(bytes.fromhex(recorded))
    assert (found.custom_code, found.version) == (code, 1)
    assert flexbuffers.GetRoot(bytearray(found.custom_options)).AsVector[0].AsString == expected.op
    assert read_node(found.custom_options) == expected


def test_outputs_of_tensorflows_ops_have_no_shape():
    assert custom_operator(convert(lambda x: tf.nn.softplus(x), [2, 4], {BUILTINS, SELECT})).outputs[0].shape == ()


def test_ops_that_models_must_not_have_are_named():
    message = "are not recognized by TensorFlow. .* builtin operators you are using: ADD. .* custom implementations: Atan."
    with pytest.raises(ConverterError, match=message):
        convert(lambda x: tf.raw_ops.Atan(x=x + 1.0), [2, 4], {BUILTINS, SELECT}, allow_custom_ops=False)


@pytest.mark.parametrize("supported", [{BUILTINS, SELECT}, {SELECT}])
def test_ops_of_tensorflow_run(supported):
    content = convert(lambda x: tf.nn.softplus(x + 1.0) * 2.0, [2, 4], supported, allow_custom_ops=False)
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(found, 2 * np.log1p(np.exp(x + 1)), rtol=1e-6)


def test_damaged_options_are_refused():
    with pytest.raises(ValueError, match="no vector of an op type and a NodeDef"):
        read_node(b"\x01\x04\x01")
