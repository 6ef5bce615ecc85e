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
