"""Calls functions of TensorFlow 1.15's own modules; what it prints is the same under both."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2, summary_pb2
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.compat import compat
from tensorflow.python.distribute import input_ops
from tensorflow.python.eager import context, executor, graph_only_ops, wrap_function
from tensorflow.python.framework import function_def_to_graph, graph_to_function_def, kernels
from tensorflow.python.keras.engine import data_adapter
from tensorflow.python.keras.utils import data_utils
from tensorflow.python.ops import custom_gradient, math_ops
from tensorflow.python.util import example_parser_configuration
from tensorflow.python.util.protobuf import compare


def shows(error, function, *args):
    try:
        function(*args)
    except error as e:
        print(type(e).__name__, str(e)[:100])


def slices():
    with tf.Session() as session:
        x = tf.constant([[1.0, 2], [3, 4]])
        y = tf.IndexedSlices(x, tf.constant([0, 5], tf.int64), tf.constant([7, 2], tf.int64))
        print(session.run(math_ops._as_indexed_slices(x)))
        print([op.name for op in tf.get_default_graph().get_operations()])
        both = math_ops._as_indexed_slices_list([x, y])
        print([each.indices.dtype for each in both], session.run(both[0].indices))
    shows(TypeError, math_ops._as_indexed_slices, 3)


def dependent_variables():
    v = tf.get_variable("v", [2])
    w = tf.get_variable("w", [2], trainable=False)
    u = tf.get_variable("u", [2], use_resource=True)
    x = v * 2
    y = x + u
    z = y * w
    for given, found in [([x], [y]), (x, z), ([y], [y])]:
        print([each.name for each in custom_gradient.get_dependent_variables(given, found)])


def registered_kernels():
    found = kernels.get_registered_kernels_for_op("Add").kernel
    print(found[0].op, "CPU" in [each.device_type for each in found])
    print(len(kernels.get_registered_kernels_for_op("no such").kernel), len(kernels.get_all_registered_kernels().kernel) > 1000)


def function_of_a_graph_def():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.placeholder(tf.float32, [2], name="a")
        with tf.control_dependencies([a]):
            b = tf.multiply(a, 3.0, name="b")
        tf.add(b, 1.0, name="c")
    made = wrap_function.function_from_graph_def(graph.as_graph_def(), inputs="a:0", outputs={"y": "c:0", "z": "b:0"})
    with tf.Session() as session:
        print(sorted(session.run(made(tf.constant([1.0, 2.0]))).items()), [t.name for t in made.inputs])


def nodes_of_the_graph():
    p = graph_only_ops.graph_placeholder(tf.float32, [2])
    print(p, graph_only_ops.graph_zeros_like(p), graph_only_ops.graph_placeholder(tf.int32, tf.TensorShape([None]), name="w/p"))


def function_defs():
    graph = tf.get_default_graph()
    x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, name="y")
    with tf.control_dependencies([x]):
        z = tf.add(x, y, name="z")
        u, i = tf.unique(z, name="u")
    tf.identity(u)
    found = graph_to_function_def.graph_to_function_def(graph, graph.get_operations(), [x, y], [z, z, i, x])
    print(found.signature)
    print([(node.name, node.op, list(node.input)) for node in found.node_def], sorted(found.ret.items()))
    graph_def, names = function_def_to_graph.function_def_to_graph_def(found, [tf.TensorShape([2]), None])
    print([(node.name, node.op, list(node.input)) for node in graph_def.node], sorted(names.items()))
    for bad in (["a"], ["a", "a", "b", "c"]):
        shows(Exception, graph_to_function_def.graph_to_function_def, graph, graph.get_operations(), [x, y], [z, z, i, x], bad)
    shows(ValueError, function_def_to_graph.function_def_to_graph_def, found, [tf.TensorShape([2])])
    body = function_def_to_graph.function_def_to_graph(found)
    print(body.name, body.inputs, body.outputs, body.control_outputs, [op.name for op in body.get_operations()])


def executors():
    made = executor.new_executor(True)
    print(made.is_async())
    with context.executor_scope(made):
        made.wait()
        made.clear_error()
    print(context.context().device_policy)
    with context.device_policy(context.DEVICE_PLACEMENT_WARN):
        print(context.context().device_policy)
    print(context.context().device_policy)


def messages():
    a, b = (summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="a", simple_value=x)]) for x in (1.00000012, 1.0))
    print(compare.ProtoEq(a, b), compare.ProtoEq(compare.NormalizeNumberFields(a), b))
    n, m = node_def_pb2.NodeDef(name="n"), node_def_pb2.NodeDef(name="n")
    n.attr["a"].f, m.attr["a"].f = 1.23456789, 1.23456
    print(compare.ProtoEq(n, m), "%.7f" % compare.NormalizeNumberFields(n).attr["a"].f)
    m.attr["b"].i = 3
    print(compare.ProtoEq(n, m))

    class Case(tf.test.TestCase, compare.ProtoAssertions):
        def runTest(self):
            """No test."""

    Case().assertProtoEqual(a, b)
    Case().assertProtoEqual('value { tag: "a" simple_value: 1.0 }', b)
    shows(AssertionError, Case().assertProtoEqual, a, summary_pb2.Summary())


def parsed_features():
    kinds = {
        "x": tf.io.FixedLenFeature([1], tf.float32, 33.0), "y": tf.io.VarLenFeature(tf.string), "z": tf.io.VarLenFeature(tf.int64)
    }
    parsed = tf.io.parse_example(tf.placeholder(tf.string, [1]), kinds)
    with tf.Session() as session:
        found = example_parser_configuration.extract_example_parser_configuration(parsed["x"].op, session).feature_map
    print(found["y"].var_len_feature, found["z"].var_len_feature)
    fixed = found["x"].fixed_len_feature
    print(tf.make_ndarray(fixed.default_value), fixed.values_output_tensor_name, fixed.dtype, fixed.shape)


def horizon():
    print(compat._FORWARD_COMPATIBILITY_HORIZON, compat.forward_compatible(2019, 8, 1), compat.forward_compatible(2019, 9, 1))
    with compat.forward_compatibility_horizon(2019, 9, 2):
        print(compat.forward_compatible(2019, 9, 1))
    print(compat.forward_compatible(2019, 9, 1))


def cloned_dataset():
    dataset = tf.data.Dataset.range(4)
    cloned = input_ops._clone_dataset(dataset)
    print(cloned._variant_tensor is dataset._variant_tensor)
    element = tf.compat.v1.data.make_one_shot_iterator(cloned).get_next()
    with tf.Session() as session:
        print(session.run(element), session.run(element))


def of_the_extension_module():
    print(pywrap_tensorflow.TF_PickUnusedPortOrDie() > 0)
    handle, path = tempfile.mkstemp()
    os.close(handle)
    pywrap_tensorflow.DeleteFile(tf.compat.as_bytes(path))
    print(os.path.exists(path))


def datasets_of_datasets():
    given = [tf.data.Dataset.range(3), tf.data.Dataset.range(5)]
    slices = tf.data.Dataset.from_tensor_slices(given)
    print(slices.element_spec, tf.data.Dataset.from_tensors(given).element_spec)
    element = tf.compat.v1.data.make_one_shot_iterator(slices.flat_map(lambda each: each)).get_next()
    with tf.Session() as session:
        print([session.run(element) for _ in range(8)])


class Rows(data_utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return np.full((2, 1), i), np.full((2,), -i)


def rows():
    for i in range(2):
        yield np.full((2, 1), i), np.full((2,), -i)


def adapters():
    x, y = np.arange(10).reshape(5, 2), np.arange(5)
    sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], [1, 2, 3], [3, 2])
    given = [
        (x, y, {"batch_size": 2}), ([x, x], y, {"batch_size": 5}), (x, None, {"steps": 2}), ([1, 2, 3], [4, 5, 6], {"batch_size": 2}),
        (tf.data.Dataset.range(3), None, {}), (rows(), None, {"workers": 0}), (Rows(), None, {"workers": 0}), (sparse, None, {"batch_size": 2}),
    ]
    for inputs, targets, settings in given:
        kind = data_adapter.select_data_adapter(inputs, targets)
        made = kind(inputs, targets, **settings)
        print(kind.__name__, made.get_size(), made.batch_size(), made.has_partial_batch(), made.partial_batch_size())
        print(made.should_recreate_iterator(None), made.should_recreate_iterator(3), made.get_dataset().element_spec)
    shows(ValueError, data_adapter.select_data_adapter, {"a": [object()]}, None)
    shows(ValueError, data_adapter.TensorLikeDataAdapter, x)
    shows(ValueError, data_adapter.DatasetAdapter, tf.data.Dataset.range(3), y)


for run in (
    slices, dependent_variables, registered_kernels, function_of_a_graph_def, nodes_of_the_graph, function_defs, executors, messages,
    parsed_features, horizon, cloned_dataset, of_the_extension_module, datasets_of_datasets, adapters,
):  # fmt: skip
    print("#", run.__name__)
    with tf.Graph().as_default():
        run()
