"""`==` of elements, and all of TensorFlow 2's behaviour at once, as 1.15.5 has them; each in a process of its own."""

import json

import children

PROGRAM = """
import json, sys
import tfcompat as tf

def outcome(call):
    try:
        found = call()
    except Exception as e:
        return type(e).__name__ + (" unhashable" if "unhashable" in str(e) else "")
    return found.numpy().tolist() if hasattr(found, "numpy") else found if isinstance(found, bool) else type(found).__name__

def outcomes():
    a, b, v = tf.constant([1, 2]), tf.constant([1, 3]), tf.Variable([1.0, 2.0])
    traced = []
    @tf.function
    def f(x):
        traced.extend([outcome(lambda: x == 1), outcome(lambda: hash(x))])
        return x == 1
    found = [outcome(call) for call in (
        lambda: a == b, lambda: a != b, lambda: hash(a), lambda: a == None, lambda: a == tf.constant([1, 2, 3]), lambda: a in [b],
        lambda: tf.constant(1) in [tf.constant(1)], lambda: v == v, lambda: v != 1.0, lambda: hash(v), lambda: f(a),
    )]
    with tf.Graph().as_default():
        c = tf.constant(1)
        found += traced + [outcome(lambda: c == 1), outcome(lambda: c == c), outcome(lambda: hash(c) > 0)]
    return found

{}
print(json.dumps([outcomes(), tf.executing_eagerly(), type(tf.constant([[1]]).shape[0]).__name__, tf.control_flow_v2_enabled(),
                  tf.resource_variables_enabled(), tf.Tensor._USE_EQUALITY]))
{}
print(json.dumps([tf.executing_eagerly(), bool(tf.constant(1) == tf.constant(1)), tf.Tensor._USE_EQUALITY]))
"""
ELEMENTS = [
    [True, False], [False, True], "TypeError unhashable", "ValueError", "InvalidArgumentError", "ValueError", True, [True, True],
    [False, True], "TypeError unhashable", [True, False], "Tensor", "TypeError unhashable", False, True, True,
]  # fmt: skip


def printed(before, after):
    done = children.warm("-c", PROGRAM.format(before, after))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tensor_equality():
    first, second = printed("tf.enable_eager_execution(); tf.enable_tensor_equality()", "tf.disable_tensor_equality()")
    assert first == [ELEMENTS, True, "Dimension", False, False, True]
    assert second == [True, False, False]


def test_v2_behavior():
    first, second = printed("tf.enable_v2_behavior()", "tf.disable_v2_behavior()")
    assert first == [ELEMENTS, True, "int", True, True, True]
    assert second == [False, False, False]


def test_keras_under_v2_behavior():
    program = """
tf.enable_v2_behavior()
layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(4, activation="relu", input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1)])
model.compile("sgd", "mse")
x = tf.random.stateless_uniform([16, 3], [1, 2]).numpy()
losses = [model.fit(x, x.sum(1), verbose=0).history["loss"][0] for _ in range(8)]
print(losses[-1] < losses[0], model.layers[0].dtype, type(model.layers[0].kernel).__name__)
"""
    done = children.warm("-c", "import tfcompat as tf\n" + program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "float32", "ResourceVariable"]
