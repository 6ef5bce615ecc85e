"""tensorflow.tools.graph_transforms and tf.contrib.meta_graph_transform."""

import functools
import importlib
import os
import re

import numpy as np

from contrib.outcomes import nodes

RTOL = 1e-5


def tool():
    return importlib.import_module("tensorflow.tools.graph_transforms").TransformGraph


def network(tf):
    """A graph with all that transforms look for: what is constant, unused, doubled or normalized."""
    random = np.random.RandomState(1)

    def weights(*shape):
        return random.normal(size=shape).astype(np.float32)

    x = tf.placeholder(tf.float32, [2, 6, 6, 3], name="x")
    with tf.device("/cpu:0"):
        w = tf.multiply(tf.constant(weights(3, 3, 3, 4), name="kernel"), tf.constant(0.5, name="half"), name="w")
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", name="conv")
    y = tf.identity(tf.multiply(y, tf.constant(weights(4), name="factors"), name="factored"), name="same")
    y = tf.nn.depthwise_conv2d_native(y, tf.constant(weights(2, 2, 4, 2), name="deep"), [1, 1, 1, 1], "SAME", name="by_channel")
    vectors = [tf.constant(np.abs(weights(8)) + 1, name=name) for name in ("gamma", "beta", "mean", "variance")]
    y, _, _ = tf.nn.fused_batch_norm(y, *vectors, epsilon=0.01, is_training=False, name="norm")
    with tf.control_dependencies([x]):
        count = tf.cast(tf.size(y, name="size"), tf.float32, name="count")
    flat = tf.reshape(y, tf.stack([tf.shape(x, name="shape")[0], -1], name="sizes"), name="flat")
    large = tf.constant(weights(288, 5), name="large")
    z = tf.matmul(flat, large, name="product")
    halves = [tf.sqrt(tf.abs(z, name="abs%d" % i), name="sqrt%d" % i) for i in range(2)]
    noise = [tf.random_uniform([5], seed=1, name="noise%d" % i) for i in range(2)]
    tf.identity(x, name="unused")
    return tf.add(halves[0] / count, tf.identity(halves[1]) + 0 * (noise[0] + noise[1]), name="out")


def plain_nodes(graph_def, ordered=True):
    found = [[re.sub(r"/_\d+__cf__\d+", "/folded", name), op, [re.sub(r"/_\d+__cf__\d+|:0$", "/folded", i) if "__cf__" in i else re.sub(":0$", "", i) for i in inputs]]
             for name, op, inputs in nodes(graph_def)]  # fmt: skip
    extra = [[node.device, sorted(node.attr)] for node in graph_def.node]
    rows = [[*row, *more] for row, more in zip(found, extra)]
    return rows if ordered else sorted(rows)


def value(tf, graph_def):
    with tf.Graph().as_default():
        (out,) = tf.import_graph_def(graph_def, return_elements=["out:0"])
        with tf.Session() as session:
            return session.run(out, {"import/x:0": np.random.RandomState(2).normal(size=(2, 6, 6, 3)).astype(np.float32)})


def transformed(transforms, run, tf, folder, ordered=True):
    network(tf)
    graph_def = tf.get_default_graph().as_graph_def(add_shapes="shapes" in transforms)
    found = tool()(graph_def, ["x"], ["out"], [transforms])
    return [plain_nodes(found, ordered), value(tf, found) if run else None]


RUN = (
    "", "remove_nodes(op=Identity)", "remove_nodes(op=Identity, op=Sqrt)", "remove_nodes(op=Add, op=AddV2, max_inputs=2)", "fold_constants",
    "fold_constants(clear_output_shapes=false, exclude_op=Mul)", "fold_constants(exclude_node=w, max_constant_size_in_bytes=4)",
    "fold_constants fold_batch_norms", "fold_constants(ignore_errors=True) remove_nodes(op=Identity) fold_batch_norms fold_old_batch_norms",
    "strip_unused_nodes", "merge_duplicate_nodes", "sort_by_execution_order", "remove_device", "set_device(device=\"/cpu:0\")",
    "set_device(device=\"/cpu:0\", if_default=true)", "round_weights(num_steps=16)", "quantize_weights", "quantize_weights(minimum_size=10)",
    "add_default_attributes", "remove_control_dependencies", "obfuscate_names", "rename_op(old_op_name=Add, new_op_name=AddV2)",
)  # fmt: skip
NODES = (
    "remove_attribute(attribute_name=T)", "remove_attribute(attribute_name=T, op_name=Mul)", "rename_op(old_op_name=Mul, new_op_name=Product)",
    "rename_attribute(old_attribute_name=T, new_attribute_name=kind, op_name=MatMul)", "remove_attribute(attribute_name=T) add_default_attributes",
)  # fmt: skip
REFUSED = (
    "nothing", "remove_nodes", "remove_nodes(op)", "remove_nodes(op=Identity", "(op=Identity)", "remove_attribute", "rename_op(old_op_name=a)",
    "fold_constants(ignore_errors=maybe)", "round_weights(num_steps=many)", "strip_unused_nodes(name=x, type_for_name=int32, name=y)",
    "fold_batch_norms(ignore_errors=false) rename_attribute(new_attribute_name=a)", "remove_attribute(attribute_name=a, attribute_name=b)",
    "remove_attribute(ignore_errors=true)",
)  # fmt: skip


def placeholders(tf, folder):
    network(tf)
    graph_def = tf.get_default_graph().as_graph_def()
    options = "strip_unused_nodes(type=double, shape=\"1,2\", name=flat, type_for_name=int32, shape_for_name=\"3\")"
    found = tool()(graph_def, ["flat", "large"], ["product"], [options])
    return [plain_nodes(found), [[node.attr["dtype"].type, [d.size for d in node.attr["shape"].shape.dim]] for node in found.node if node.op == "Placeholder"]]


def unknown_output(transform, tf, folder):
    network(tf)
    return plain_nodes(tool()(tf.get_default_graph().as_graph_def(), ["x"], ["none"], [transform]))


# ---- whole MetaGraphDefs ----


def trained(tf, folder):
    x = tf.placeholder(tf.int64, [None], name="x")
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0, 4.0]))
    tf.get_variable("other", initializer=3.0)
    table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(tf.constant([5, 6], tf.int64), tf.constant([2, 1], tf.int64)), 0)
    y = tf.gather(v, table.lookup(x), name="y")
    tf.square(y, name="unused")
    tf.add_to_collection("saved_model_main_op", tf.group(tf.tables_initializer(), name="main"))
    tf.add_to_collection("kept", y)
    tf.add_to_collection("lost", tf.get_default_graph().get_tensor_by_name("unused:0"))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        path = saver.save(session, os.path.join(folder, "model"))
    meta = saver.export_meta_graph()
    info = tf.saved_model.utils.build_tensor_info
    signature = tf.saved_model.signature_def_utils.build_signature_def
    meta.signature_def["good"].CopyFrom(signature({"x": info(x)}, {"y": info(y)}))
    meta.signature_def["bad"].CopyFrom(signature({"x": info(x)}, {"y": info(tf.get_default_graph().get_tensor_by_name("unused:0"))}))
    return meta, path


def whole(transforms, tf, folder):
    meta, path = trained(tf, folder)
    change = importlib.import_module("tensorflow.contrib.meta_graph_transform.meta_graph_transform").meta_graph_transform
    found = change(meta, ["x"], ["y:0"], list(transforms), ["a", "b"], path)
    sizes = {key: [len(entry.node_list.value), len(entry.bytes_list.value)] for key, entry in found.collection_def.items()}
    return {
        "nodes": sorted(plain_nodes(found.graph_def)), "tags": list(found.meta_info_def.tags), "collections": sizes,
        "signatures": sorted(found.signature_def), "saver": found.HasField("saver_def"), "versions": found.graph_def.HasField("versions"),
    }  # fmt: skip


def frozen_runs(tf, folder):
    meta, path = trained(tf, folder)
    change = importlib.import_module("tensorflow.contrib.meta_graph_transform.meta_graph_transform").meta_graph_transform
    found = change(meta, ["x"], ["y:0"], ["freeze_graph", "strip_unused_nodes"], [], path)
    with tf.Graph().as_default(), tf.Session() as session:
        y, main = tf.import_graph_def(found.graph_def, return_elements=["y:0", "main"])
        session.run(main)
        return session.run(y, {"import/x:0": [6, 5, 9]})


PROGRAMS = {name or "none": functools.partial(transformed, name, True, ordered="fold_old" not in name and "merge" not in name) for name in RUN}
PROGRAMS.update({name: functools.partial(transformed, name, False) for name in NODES + REFUSED})
PROGRAMS.update({"unknown_output_" + name: functools.partial(unknown_output, name) for name in ("strip_unused_nodes", "fold_constants", "sort_by_execution_order")})
PROGRAMS.update({"meta_" + "_".join(each): functools.partial(whole, each) for each in (
    (), ("strip_unused_nodes",), ("freeze_graph",), ("freeze_graph", "strip_unused_nodes", "fold_constants"), ("remove_device", "freeze_graph"),
)})  # fmt: skip
PROGRAMS.update({f.__name__: f for f in (placeholders, frozen_runs)})
