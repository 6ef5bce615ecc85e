"""Uses private names of TensorFlow 1.15 that published libraries use; what it prints is the same under both."""

import functools

import numpy as np
import tensorflow as tf
from tensorflow.contrib.layers.python.layers import layers
from tensorflow.contrib.seq2seq.python.ops import attention_wrapper, decoder
from tensorflow.python.framework import op_def_registry, ops
from tensorflow.python.ops import array_grad, gradient_checker, math_grad, nn_grad, summary_ops_v2
from tensorflow.python.saved_model import load
from tensorflow.python.training import optimizer
from tensorflow.python.util import deprecation


def raised(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as e:
        return "%s: %s" % (type(e).__name__, e)


def values(*tensors):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return [np.round(value, 5).tolist() for value in session.run(list(tensors))]


def checks_of_arguments():
    operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    print(operator._check_input_dtype(tf.ones([2])), raised(operator._check_input_dtype, tf.ones([2], tf.float64, name="x")))
    print(summary_ops_v2._INVALID_SCOPE_CHARACTERS.sub("", "a b/c:d-e_f.g"))
    print(deprecation._validate_deprecation_args("2020-01-01", "use x"), deprecation._validate_deprecation_args(None, "use x"))
    print(raised(deprecation._validate_deprecation_args, "1.1.2020", "x"), raised(deprecation._validate_deprecation_args, None, ""))
    print(sorted(base.__name__ for base in load._RestoredResource.__mro__ if base.__name__.endswith("Resource")))
    print(type(raised(load._RestoredResource()._initialize)).__name__)


def attention():
    score = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mask = attention_wrapper._maybe_mask_score
    print(values(mask(score), mask(score, [1, 3], score_mask_value=-9.0), mask(score, None, tf.constant([[True, False, True]] * 2), -1.0)))
    print(raised(mask, score, [1, 2], tf.constant([[True] * 3] * 2), 0.0))
    memory = tf.reshape(tf.range(12.0), [2, 3, 2])
    prepare = attention_wrapper._prepare_memory
    print(values(prepare(memory, [1, 2]), prepare(memory, memory_mask=[[True, False, True]] * 2), prepare(memory)))
    print(raised(prepare, memory, [1, 2], [[True] * 3] * 2))
    print(raised(prepare, tf.placeholder(tf.float32, [None, None, None], name="p")))
    query = tf.constant([[1.0, -1.0], [0.5, 2.0]])
    print(values(attention_wrapper._luong_score(query, memory, scale=None), attention_wrapper._luong_score(query, memory, 2.0)))
    v = tf.constant([0.5, -1.5])
    print(values(attention_wrapper._bahdanau_score(query, memory, v), attention_wrapper._bahdanau_score(query, memory, attention_v=v, attention_g=2.0, attention_b=v)))
    with tf.variable_scope("a", initializer=tf.constant_initializer(0.1)):
        mechanism = tf.contrib.seq2seq.LuongAttention(2, memory)
        state = mechanism.initial_state(2, tf.float32)
        print(values(*attention_wrapper._compute_attention(mechanism, query, state, None)))
        dense = tf.layers.Dense(3, use_bias=False)
        print(values(*attention_wrapper._compute_attention(mechanism, query, state, dense)))
    zeros = decoder._create_zero_outputs((tf.TensorShape([2]), 3), (tf.float32, tf.int32), 2)
    print(values(*zeros), [z.dtype.name for z in zeros], [z.shape.as_list() for z in zeros])


def variables_of_layers():
    with tf.Graph().as_default():
        getter = layers._build_variable_getter({"kernel": "weights"})
        with tf.variable_scope("scope", custom_getter=getter):
            made = tf.layers.Dense(2)
            made(tf.ones([1, 2]))
        with tf.variable_scope("other", custom_getter=functools.partial(layers._model_variable_getter, rename={"w": "v"})):
            tf.get_variable("w", [1])
        layers._add_variable_to_collections(made.kernel, {"weights": ["mine"]}, "weights")
        layers._add_variable_to_collections(made.bias, ["mine"], "biases")
        layers._add_variable_to_collections(made.bias, ["mine"], "biases")
        print([v.name for v in tf.model_variables()], [v.name for v in tf.get_collection("mine")])


class Noting(tf.train.GradientDescentOptimizer):
    def _apply_dense(self, grad, var):
        print("dense", grad.name, var.name)
        return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, handle):
        print("resource", grad.name, handle.dtype)
        return tf.no_op()


def processors_of_variables():
    with tf.Graph().as_default():
        ref = tf.get_variable("ref", initializer=[1.0, -2.0], use_resource=False, constraint=tf.nn.relu)
        resource = tf.get_variable("resource", initializer=[1.0], use_resource=True)
        tensor = tf.constant([1.0], name="tensor")
        for each in (ref, resource, tensor):
            processor = optimizer._get_processor(each)
            target = processor.target()
            print(type(processor).__name__, isinstance(processor, optimizer._OptimizableVariable), target is each, target.dtype)
        print(str(optimizer._get_processor(ref)).startswith("<_RefVariableProcessor(<tf.Variable 'ref:0'"))
        made = Noting(0.5)
        made._prepare()
        optimizer._get_processor(ref).update_op(made, tf.constant([4.0, -1.0], name="grad"))
        optimizer._get_processor(resource).update_op(made, tf.constant([4.0], name="grad"))
        print(raised(optimizer._get_processor(tensor).update_op, made, tensor).partition(":")[0])
        print(raised(optimizer._get_processor(ref).update_op, made, tf.IndexedSlices([1.0], [0])))
    with tf.Graph().as_default():
        ref = tf.get_variable("ref", initializer=[1.0, -2.0], use_resource=False, constraint=tf.nn.relu)
        made = tf.train.GradientDescentOptimizer(0.5)
        made._prepare()
        update = optimizer._get_processor(ref).update_op(made, tf.constant([4.0, -8.0]))
        print(values(update))
        sums, rows = optimizer._deduplicate_indexed_slices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([3, 1, 3]))
        print(values(sums, rows))


def rules_of_gradients():
    registry = ops._gradient_registry
    pairs = [(nn_grad, "_ReluGrad", "Relu"), (math_grad, "_TanhGrad", "Tanh"), (array_grad, "_ReshapeGrad", "Reshape"), (nn_grad, "_SoftmaxGrad", "Softmax")]
    print([getattr(module, name) is registry.lookup(op_type) for module, name, op_type in pairs])
    with tf.Graph().as_default():
        x = tf.constant([[-1.0, 2.0]])
        relu, pooled = tf.nn.relu(x), tf.nn.max_pool(tf.reshape(x, [1, 1, 2, 1]), [1, 1, 2, 1], [1, 1, 2, 1], "VALID")
        print(values(nn_grad._ReluGrad(relu.op, tf.constant([[3.0, 5.0]])), nn_grad._MaxPoolGrad(pooled.op, tf.ones([1, 1, 1, 1]))))
        product = tf.multiply(x, tf.constant([[4.0], [6.0]]))
        print(values(*math_grad._MulGrad(product.op, tf.ones([2, 2]))))
        bias = tf.nn.bias_add(x, [1.0, 2.0])
        print(values(*nn_grad._BiasAddGrad(bias.op, tf.constant([[3.0, 5.0]]))))


def jacobians():
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant([[1.0, 2.0]], name="x")
        y = tf.square(x) * 3.0
        dx, dy = gradient_checker._compute_dx_and_dy(x, y, [1, 2])
        data = np.array([[0.5, -1.0]], np.float32)
        by_rule = gradient_checker._compute_theoretical_jacobian(x, [1, 2], data, dy, [1, 2], dx, None)
        by_difference = gradient_checker._compute_numeric_jacobian(x, [1, 2], data, y, [1, 2], 1e-2, {})
        print(by_rule.tolist(), np.round(by_difference, 2).tolist())


def registered_ops():
    known = op_def_registry.get_registered_ops()
    print(known is op_def_registry.get_registered_ops(), [arg.name for arg in known["MatMul"].input_arg], known["Add"].name)


for function in (
    checks_of_arguments, attention, variables_of_layers, processors_of_variables, rules_of_gradients, jacobians, registered_ops,
):  # fmt: skip
    print("##", function.__name__)
    function()
