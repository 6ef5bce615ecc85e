"""tf.lite.OpHint: marked nodes become one node of the operator's name, with the inputs and outputs that were marked."""

import pytest

import tfcompat as tf
from tfcompat._src.graph.graph_util import extract_sub_graph
from tfcompat._src.lite import reader
from tfcompat._src.lite.errors import ConverterError


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def needed(graph, output):
    stubbed = tf.lite.experimental.convert_op_hints_to_stubs(graph_def=graph.as_graph_def())
    return {node.name: node for node in extract_sub_graph(stubbed, [output.op.name]).node}


def test_a_function_becomes_one_node(graph):
    hint = tf.lite.OpHint("cool_activation")
    x, scale = hint.add_inputs(tf.constant([1.0, 2.0], name="x"), tf.constant(3.0, name="scale"))
    (y,) = hint.add_outputs(tf.sigmoid(x) * scale)
    nodes = needed(graph, tf.identity(y, name="out"))
    (stub,) = (node for node in nodes.values() if node.op == "cool_activation")
    assert list(stub.input) == ["x", "scale"]
    assert {node.op for node in nodes.values()} == {"cool_activation", "Const", "Identity"}


def test_inputs_of_one_tag_are_stacked(graph):
    hint = tf.lite.OpHint("total")
    parts = [hint.add_input(tf.constant(float(i)), tag="part", aggregate=tf.lite.OpHint.AGGREGATE_STACK) for i in range(3)]
    nodes = needed(graph, hint.add_output(tf.add_n(parts)))
    (stub,) = (node for node in nodes.values() if node.op == "total")
    assert [nodes[name].op for name in stub.input] == ["Pack"] and len(nodes[stub.input[0]].input) == 3


def test_indices_can_be_chosen():
    hint = tf.lite.OpHint("f")
    b, a, c = (hint.add_input(tf.constant(1.0), index_override=index) for index in (None, 1, None))
    assert [t.op.node_def.attr[tf.lite.OpHint.FUNCTION_INPUT_INDEX_ATTR].i for t in (b, a, c)] == [0, 1, 2]
    with pytest.raises(ValueError, match="Index 1 was already used"):
        hint.add_input(tf.constant(1.0), index_override=1)
    with pytest.raises(ValueError, match="You must specify `tag` if using aggregate."):
        hint.add_input(tf.constant(1.0), aggregate="stack")


def test_hints_in_a_converted_session_are_custom_operators():
    pytest.importorskip("flatbuffers")
    hint = tf.lite.OpHint("f")
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.nn.relu(hint.add_output(tf.exp(hint.add_input(x))))
    with tf.Session() as session:
        converter = tf.lite.TFLiteConverter.from_session(session, [x], [y])
    with pytest.raises(ConverterError, match="need custom implementations: f"):
        converter.convert()
    converter.allow_custom_ops = True
    assert [(o.builtin, o.custom_code) for o in reader.read(converter.convert()).operators()] == [("CUSTOM", "f"), ("RELU", "")]


def test_ops_that_can_be_converted_are_listed():
    names = {each.op for each in tf.lite.experimental.get_potentially_supported_ops()}
    assert {"Conv2D", "MatMul", "Relu", "Identity"} <= names and "MatrixInverse" not in names


def test_a_tracker_marks_by_itself():
    hint = tf.lite.OpHint
    tracker = hint.OpHintArgumentTracker("f", "id", "InputHint", hint.FUNCTION_INPUT_INDEX_ATTR)
    first, second = tracker.add(tf.constant(1.0), name="a"), tracker.add(tf.constant(2.0), name="b")
    assert [t.op.name for t in (first, second)] == ["InputHint-f-id-0-None-a", "InputHint-f-id-1-None-b"]
    assert second.op.node_def.attr[hint.FUNCTION_INPUT_INDEX_ATTR].i == 1


def test_delegates_are_not_loaded():
    with pytest.raises(NotImplementedError, match="does not load edge.so: run the model in LiteRT"):
        tf.lite.experimental.load_delegate("edge.so")
