"""tf.contrib.framework: checks and sums of tensors, shapes that are checked, devices of variables."""

import numpy as np

from cases.table import Table

TABLE = Table("contrib_framework")
case, error_case = TABLE.case, TABLE.error_case

X = np.arange(6, dtype=np.float32).reshape(2, 3)

case("scalar_int", lambda tf, x: tf.contrib.framework.assert_scalar_int(x), x=np.int32(3))
error_case("scalar_int_of_floats", lambda tf: tf.contrib.framework.assert_scalar_int(tf.constant(1.5)))
error_case("scalar_int_of_vector", lambda tf: tf.contrib.framework.assert_scalar_int(tf.constant([1, 2])))
case("sum_of_one", lambda tf, x: tf.contrib.framework.reduce_sum_n([x]), x=X)
case("sum_of_two", lambda tf, x, y: tf.contrib.framework.reduce_sum_n([x, y], name="total"), x=X, y=X[0])
error_case("sum_of_none", lambda tf: tf.contrib.framework.reduce_sum_n([]))


def squeezed(name, x, y):
    case(name, lambda tf, x, y: tf.contrib.framework.remove_squeezable_dimensions(x, y), x=x, y=y)


squeezed("squeezed_predictions", X[:, :1], X[:, 0])
squeezed("squeezed_labels", X[:, 0], X[:, 1:2])
squeezed("squeezed_neither", X, X)
case("with_shape", lambda tf, x: tf.contrib.framework.with_shape([2, 3], x), x=X)
case("with_partial_shape", lambda tf, x: tf.contrib.framework.with_shape(tf.TensorShape([None, 3]), x), x=X)
error_case(
    "with_other_partial_shape",
    lambda tf: tf.contrib.framework.with_shape(tf.TensorShape([None, 4]), tf.constant(X)),
)


def chosen(tf):
    choose = tf.contrib.framework.VariableDeviceChooser(num_tasks=2, replica=1)
    with tf.Graph().as_default(), tf.contrib.framework.arg_scope([tf.contrib.framework.variable], device=choose):
        devices = [tf.contrib.framework.variable(name, [1]).device for name in "abc"]
    return tf.constant([*devices, tf.contrib.framework.VariableDeviceChooser()(None)])


case("devices_of_variables", chosen, grad=False)


# ---- functions of Python, losses over sampled classes, areas from histograms ----


def called(tf, x, y):
    def mixed(a, b):
        return {"sum": a + b["y"], "product": a * b["y"]}

    return tf.contrib.framework.py_func(
        mixed, [x], {"b": {"y": y}}, {"sum": tf.float32, "product": tf.float32}, {"sum": [2, 3], "product": [2, None]}
    )


case("py_func", called, x=X, y=X + 1)
error_case("py_func_args", lambda tf: tf.contrib.framework.py_func(abs, 3, None, tf.float32), same_words=True)
case("bucketize", lambda tf, x: tf.contrib.slim.bucketize(x, [0.0, 2.5, 4.0]), x=X)
LABELS = np.array([[1], [5], [7], [0]], np.int64)
W, B, ROWS = (np.random.RandomState(i).rand(*sizes).astype(np.float32) for i, sizes in enumerate(((20, 3), (20,), (4, 3))))
case(
    "sampled_sparse_softmax",
    lambda tf, w, b, x: tf.contrib.nn.sampled_sparse_softmax_loss(w, b, tf.constant(LABELS), x, 6, 20),
    w=W, b=B, x=ROWS, seed=9, partial=False,
)  # fmt: skip


def rank_sampled(tf, w, b, x, num_sampled=8, num_resampled=3, strategy="mod"):
    labels = tf.constant(LABELS)
    return tf.contrib.nn.rank_sampled_softmax_loss(w, b, labels, x, num_sampled, num_resampled, 20, 1, None, 0.5, True, strategy)


case("rank_sampled_softmax", rank_sampled, w=W, b=B, x=ROWS, seed=9, partial=False, grad=False)
error_case("rank_sampled_many", lambda tf, w, b, x: rank_sampled(tf, w, b, x, num_resampled=8), w=W, b=B, x=ROWS, same_words=True)
error_case("rank_sampled_strategy", lambda tf, w, b, x: rank_sampled(tf, w, b, x, strategy="no"), w=W, b=B, x=ROWS, same_words=True)


def area(tf, session, out, feed):
    session.run(tf.local_variables_initializer())
    session.run(out[1], feed)
    session.run(out[1], feed)
    return session.run(out[0])


SCORES = np.random.RandomState(4).rand(30).astype(np.float32)
case(
    "auc_using_histogram", lambda tf, y, x: tf.contrib.metrics.auc_using_histogram(y, x, [0.0, 0.9], nbins=10),
    y=SCORES + np.random.RandomState(5).rand(30) > 1, x=SCORES, run=area, partial=False,
)  # fmt: skip
