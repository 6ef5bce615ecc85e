"""Calls functions of TensorFlow 1.15's own modules that add nodes; what it prints is the same under both."""

import gc
import types

import numpy as np
import tensorflow as tf
from tensorflow.contrib.batching.python.ops import batch_ops
from tensorflow.contrib.layers.python.layers import layers
from tensorflow.contrib.meta_graph_transform import meta_graph_transform
from tensorflow.contrib.metrics.python.ops import histogram_ops
from tensorflow.contrib.rnn.python.kernel_tests import benchmarking
from tensorflow.contrib.tensor_forest.client import eval_metrics
from tensorflow.python.client import session as session_lib
from tensorflow.python.data.experimental.ops import sleep
from tensorflow.python.distribute import all_reduce
from tensorflow.python.eager import lift_to_graph, wrap_function
from tensorflow.python.framework import auto_control_deps
from tensorflow.python.keras.engine import training_generator
from tensorflow.python.keras.utils import tf_utils
from tensorflow.python.ops import (
    control_flow_ops,
    math_ops,
    nn_grad,
    resource_variable_ops,
    stateful_random_ops,
    template,
)
from tensorflow.python.training.tracking import tracking
from tensorflow.python.util import module_wrapper


def shows(error, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except error as e:
        print(type(e).__name__, str(e)[:90])


def run(value, feeds=None):
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(value, feeds)


def cases():
    x = tf.compat.v1.placeholder(tf.int32, [])
    seen = []

    def cond(pred, true_fn, false_fn, **kwargs):
        seen.append(kwargs)
        return tf.cond(pred, true_fn, false_fn)

    y = control_flow_ops._case_helper(
        cond, [(x > 3, lambda: tf.constant(1)), (x > 1, lambda: tf.constant(2))], lambda: tf.constant(3), False, "c", strict=True
    )
    print([run(y, {x: i}) for i in (5, 2, 0)], seen)
    shows(TypeError, control_flow_ops._case_helper, cond, 3, None, False, "c")
    print(run(math_ops._mul_dispatch(tf.constant([1.0, 2]), tf.constant([3.0, 4]))))
    sparse = tf.SparseTensor([[0], [1]], [3.0, 5.0], [2])
    print(run(math_ops._mul_dispatch(tf.constant([1.0, 2]), sparse)))


def templates():
    def f(x):
        return x * tf.compat.v1.get_variable("v", [], initializer=tf.constant_initializer(2.0))

    for traced in (False, True):
        made = template.make_template_internal("t", f, create_graph_function_=traced)
        one = tf.constant(1.0)
        print(run(made(one) + made(one)), [v.name for v in made.variables])
    print(template._skip_common_stack_elements([1, 2, 3], [1, 5, 3]), template._skip_common_stack_elements([1, 2], [1, 2, 3]))


def node_data():
    nested = [["a", 0, 0], {"x": ["b", 1, 0, {}]}, (["c", 0, 1], 3)]
    wrapped = tf_utils.convert_inner_node_data(nested, wrap=True)
    print([type(w).__name__ for w in tf.nest.flatten(wrapped)], wrapped[0].as_list())
    print(tf_utils.convert_inner_node_data(wrapped), tf_utils.convert_inner_node_data(["a", 0, 0], wrap=True).as_list())
    data = (np.arange(5), None, np.arange(5) * 2)
    batches, steps = training_generator.convert_to_generator_like(data, batch_size=2, epochs=2)
    print(steps, [[part.tolist() for part in batch] for batch in batches])
    np.random.seed(3)
    batches, steps = training_generator.convert_to_generator_like((np.arange(4), None), batch_size=3, shuffle=True)
    print(steps, [[part.tolist() for part in batch] for batch in batches])
    shows(ValueError, training_generator.convert_to_generator_like, (np.arange(4),))


def deleters():
    done = []
    deleter = tracking.CapturableResourceDeleter(lambda: done.append(tf.compat.v1.get_default_graph()) or 5)
    graph = tf.compat.v1.get_default_graph()
    print(deleter.destroy_resource(), done == [graph], tracking.CapturableResourceDeleter().destroy_resource())
    with tf.Graph().as_default():
        del deleter
        gc.collect()
    print(done == [graph, graph])
    print(stateful_random_ops._uint_to_int(2**63), stateful_random_ops._uint_to_int(2**63 - 1), stateful_random_ops._uint_to_int(2**64 - 1))


def datasets():
    element = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2).apply(sleep.sleep(10))).get_next()
    with tf.compat.v1.Session() as session:
        print(session.run(element), session.run(element))


def order():
    v = tf.compat.v1.get_variable("v", [], initializer=tf.constant_initializer(1.0), use_resource=True)

    @auto_control_deps.automatic_control_dependencies
    def f(x):
        v.assign(x)
        v.assign_add(1.0)
        return v.read_value(), {"a": x}

    print(run(f(tf.constant(5.0))))


def handles():
    v = tf.compat.v1.get_variable("v", [2, 3], use_resource=True)
    data = resource_variable_ops.get_eager_safe_handle_data(v.handle)
    print(str(data).split())
    p = tf.compat.v1.placeholder(tf.resource, [])
    print(str(resource_variable_ops.get_eager_safe_handle_data(p)))
    resource_variable_ops._set_handle_shapes_and_types(p, data, True)
    print(resource_variable_ops.get_eager_safe_handle_data(p) == data)


def batch_norm_gradients():
    np.random.seed(1)
    g, x = (np.random.rand(2, 3, 2, 4).astype("f") for _ in range(2))
    for layout, channels in ((b"NHWC", 4), (b"NCHW", 3)):
        scale, mean, variance = (np.random.rand(channels).astype("f") for _ in range(3))
        for training in (True, False):
            found = nn_grad._BatchNormGrad(*map(tf.constant, (g, x, scale, mean, variance)), 0.1, layout, training)
            print([np.round(part, 3).tolist() for part in run([tf.reduce_sum(tf.abs(found[0])), found[1], found[2]])])


def ring():
    inputs = [tf.range(5.0) + 10.0 * i for i in range(3)]
    before, places = all_reduce._ring_permutations(1, 1, [0, 1, 2])
    chunks, padding = all_reduce._build_ring_gather(inputs, ["/cpu:0"] * 3, 1, before, places, tf.add)
    print(padding, [[part.tolist() for part in chunk] for chunk in run(chunks)])
    print(all_reduce._build_ring_gather(inputs[:1], ["/cpu:0"], 1, [[0]], [[0]], tf.add) == inputs[:1])
    shows(ValueError, all_reduce._build_ring_gather, [tf.zeros([2, 2])] * 2, ["/cpu:0"] * 2, 1, before, places, tf.add)


def wrapped():
    def make(x):
        with tf.compat.v1.variable_scope("s", reuse=tf.compat.v1.AUTO_REUSE):
            return x + tf.compat.v1.get_variable("v", [], initializer=tf.constant_initializer(7.0), use_resource=True)

    holder = wrap_function.VariableHolder(make, share_variables=True)
    print(holder(tf.constant(1.0)).dtype, sorted(holder.variables))
    lifted = lift_to_graph.lift_to_graph
    outer, a = tf.Graph(), tf.compat.v1.placeholder(tf.float32, [], name="a")
    c = tf.constant(2.0, name="c")
    with tf.control_dependencies([c]):
        b = tf.multiply(a, c, name="b")
    found = lifted([b], outer, sources=[a])
    print(sorted(key.name for key in found), found[b].graph is outer, [op.name for op in found[b].op.control_inputs])
    print(sorted((op.name, op.type) for op in outer.get_operations()))
    try:
        lifted([b], tf.Graph())
    except lift_to_graph.UnliftableError as e:
        print(type(e).__name__)
    loop = tf.while_loop(lambda i: i < 10, lambda i: i * 2, [c])
    copied = lifted([loop], outer, op_map=found)[loop]
    with tf.compat.v1.Session(graph=outer) as session:
        print(session.run(copied))


def fetches():
    x, y = tf.constant(1.0), tf.compat.v1.placeholder(tf.float32, [])
    handler = session_lib._FetchHandler(tf.compat.v1.get_default_graph(), {"a": [x, y], "b": (x.op, x)}, {y: 5.0})
    print(handler.fetches() == [x], handler.targets() == [x.op], handler.build_results(None, [3.0]))
    shows(TypeError, session_lib._FetchHandler, tf.compat.v1.get_default_graph(), None, {})


def meta_graphs():
    base, made = tf.compat.v1.MetaGraphDef(), tf.compat.v1.MetaGraphDef()
    base.collection_def["n"].node_list.value.extend(["a", "b:0"])
    base.collection_def["b"].bytes_list.value.extend([b"a", b"x/b", b"c"])
    base.collection_def["t"].int64_list.value.extend([1])
    for key in "nbt":
        meta_graph_transform._add_pruned_collection(base, made, key, ["b"])
    print([list(made.collection_def["n"].node_list.value), list(made.collection_def["b"].bytes_list.value), len(made.collection_def["t"].int64_list.value)])
    base.saver_def.filename_tensor_name, base.saver_def.save_tensor_name, base.saver_def.restore_op_name = "f", "s", "r"
    shows(ValueError, meta_graph_transform._add_pruned_saver, base, made, ["s"])
    meta_graph_transform._add_pruned_saver(base, made, ["b"])
    base.signature_def["good"].inputs["x"].name = "a:0"
    base.signature_def["bad"].inputs["x"].name = "b:0"
    for key in ("good", "bad"):
        meta_graph_transform._add_pruned_signature(base, made, key, ["b"])
    print(made.saver_def.restore_op_name, sorted(made.signature_def))
    keys = {"saved_model_main_op": ["m"], "legacy_init_op": ["l"], "table_initializer": ["t2", "t1"]}
    print(meta_graph_transform._get_shared_init_op(keys), meta_graph_transform._get_shared_init_op({"x": ["y"]}))
    meta_graph_transform._add_new_inits_to_collection(made, keys)
    print(list(made.collection_def["table_initializer"].node_list.value))
    graph = tf.compat.v1.GraphDef()
    meta_graph_transform._connect_to_shared_init_op(graph, "init", ["p", "q"])
    print([(node.name, node.op, list(node.input)) for node in graph.node])


def cleaned():
    graph = tf.compat.v1.GraphDef()
    v, w = tf.compat.v1.get_variable("v", []), tf.compat.v1.get_variable("w", [])
    saver = tf.compat.v1.train.Saver([v, w])
    graph = tf.compat.v1.get_default_graph().as_graph_def()
    node = next(node for node in graph.node if node.op == "SaveV2")
    meta_graph_transform._clean_save_and_restore(graph, node, ["v"])
    names = next(each for each in graph.node if each.name == node.name + "/tensor_names")
    print(list(names.attr["value"].tensor.string_val), len(node.attr["dtypes"].list.type), saver.saver_def.restore_op_name)
    print(names.attr["value"].tensor.tensor_shape.dim[0].size, names.attr["_output_shapes"].list.shape[0].dim[0].size)


def of_contrib():
    flat = layers._inner_flatten(tf.zeros([2, 3, 4]), 2, output_collections=["got"])
    print(flat.shape, tf.compat.v1.get_collection("got") == [flat])
    print(run(histogram_ops._strict_1d_cumsum(tf.constant([1.0, 2, 3]), 3)))
    value, update = eval_metrics._top_k_generator(2)(tf.constant([[0.1, 0.5, 0.4], [0.7, 0.2, 0.1]]), tf.constant([[2], [2]]))
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.local_variables_initializer())
        print(session.run(update), session.run(value))
    print(sorted(map(sorted, (d.items() for d in benchmarking.dict_product({"a": [1, 2], "b": [3, 4]})))))
    with benchmarking.device():
        print(tf.constant(1).device)

    @batch_ops.batch_function_v1(1, 10, 100000)
    def doubled(x):
        return x * 2

    print(run(doubled(tf.constant([[1], [3]]))))
    shows(ValueError, doubled, 3)


def modules():
    inner = types.ModuleType("inner")
    inner.value, inner._hidden = 3, 4
    made = module_wrapper.TFModuleWrapper(inner, "things", deprecation=False)
    print(made.value, made._hidden, made.__all__, "value" in dir(made), made.__name__)
    made.other = 5
    print(inner.other, made.__all__)
    del made.other
    print(hasattr(inner, "other"))
    lazy = module_wrapper.TFModuleWrapper(types.ModuleType("lazy"), "lazy", public_apis={"pi": ("math", "pi"), "m": ("", "math")}, deprecation=False)
    print(lazy.pi, lazy.m.__name__, lazy.__all__, sorted(name for name in dir(lazy) if name in ("pi", "m")))
    shows(AttributeError, getattr, lazy, "lacking")


for each in (
    cases, templates, node_data, deleters, datasets, order, handles, batch_norm_gradients, ring, wrapped, fetches, meta_graphs, cleaned,
    of_contrib, modules,
):  # fmt: skip
    print("#", each.__name__)
    with tf.Graph().as_default():
        each()
