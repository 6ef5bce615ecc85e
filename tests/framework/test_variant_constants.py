"""Constants that are variants; what TensorFlow 1.15.5 gives and prints for them."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.graph import variant
from tfcompat._src.proto import messages


def _message(type_name, *values, sizes=()):
    shape = tf.TensorShape(sizes).as_proto()
    parts = [messages.VariantTensorDataProto(type_name=type_name, metadata=v.tobytes()) for v in values]
    return messages.TensorProto(dtype=tf.variant.as_datatype_enum, tensor_shape=shape, variant_val=parts)


@pytest.mark.parametrize(
    ("type_name", "value", "shown"),
    [
        ("int", np.int32(7), "7"),
        ("float", np.float32(1.5), "1.5"),
        ("double", np.float64(-2), "-2"),
        ("bool", np.bool_(True), "1"),
    ],
)
def test_constants_keep_their_message_and_print(type_name, value, shown, capfd):
    message = _message(type_name, value)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(message)
        assert (x.dtype, x.shape.as_list()) == (tf.variant, [])
        assert x.op.get_attr("value") == message
        zeros = tf.zeros_like(x)
        session.run(tf.Print(zeros, [x, zeros], message="x").op)
    text = f"Variant<type: {type_name} value: "
    assert capfd.readouterr().err == f"x[{text}{shown}>][{text}0>]\n"


def test_a_graph_def_keeps_them_and_leaves_the_rest_empty(capfd):
    message = _message("int", np.int32(4), sizes=[3])
    with tf.Graph().as_default() as graph:
        x = tf.constant(message, name="v")
        tf.Print(x, [x], name="p")
        tf.shape(x, name="s")
    with tf.Graph().as_default(), tf.Session() as session:
        size, shown = tf.import_graph_def(graph.as_graph_def(), return_elements=["s:0", "p"], name="")
        assert session.run([size, shown])[0].tolist() == [3]
        assert session.graph.get_operation_by_name("v").get_attr("value") == message
    empty = "Variant<type:  value: [empty]>"
    assert capfd.readouterr().err == f"[Variant<type: int value: 4> {empty} {empty}]\n"


def test_an_empty_variant_keeps_its_place():
    parts = [messages.VariantTensorDataProto(), *_message("int", np.int32(5)).variant_val, messages.VariantTensorDataProto()]
    shape = tf.TensorShape([3]).as_proto()
    array = variant.array_of(messages.TensorProto(dtype=tf.variant.as_datatype_enum, tensor_shape=shape, variant_val=parts))
    assert [value.variant_text(str) for value in array.tolist()] == ["[empty]", "5", "[empty]"]
    written = variant.message_of(array)
    assert [part.type_name for part in written.variant_val] == ["", "int"]
    assert variant.array_of(written).tolist() == array.tolist()


def test_a_fetched_variant_has_no_numpy_form():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(_message("int", np.int32(1)))
        with pytest.raises(tf.errors.InternalError, match="Tensorflow type 21 not convertible to numpy dtype."):
            session.run([x, tf.constant(1)])


def test_other_types_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="'tensorflow::TensorList'"):
        variant.array_of(_message("tensorflow::TensorList", np.int32(1)))
    with pytest.raises(ValueError, match="A variant of type 'double' takes 8 bytes, but has 4"):
        variant.array_of(_message("double", np.int32(1)))
    with pytest.raises(ValueError, match="1 elements, but 2 values"):
        variant.array_of(_message("int", np.int32(1), np.int32(2)))
