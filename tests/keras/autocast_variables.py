"""Variables that are read in another dtype, of one device and of several; what it prints is the same under both."""

import os
import tempfile

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.keras.mixed_precision.experimental import autocast_variable, policy


def shows(make, value):
    try:
        print(make(value))
    except ValueError as e:
        print(str(e)[:80])


def blocks():
    g = ops.get_default_graph()
    v = autocast_variable.AutoCastVariable(tf.Variable(1.5, use_resource=True, name="v"))
    print(g._auto_cast_variable_read_dtype, v.dtype)
    with g._enable_auto_casting_variables("float16"):
        print(g._auto_cast_variable_read_dtype, v.dtype, v.true_dtype, tf.identity(v).dtype, (v + 1).dtype, v.assign(2.0).dtype)
        with tf.Graph().as_default() as other:
            print(other._auto_cast_variable_read_dtype, v.dtype)
        with g._enable_auto_casting_variables(None):
            print(g._auto_cast_variable_read_dtype, v.dtype)

        @tf.function
        def f():
            return tf.identity(v), tf.cond(tf.constant(True), lambda: v + 1, lambda: v + 2)

        print([x.dtype for x in f()])
        print(v)
    print(g._auto_cast_variable_read_dtype, v.dtype, [x.dtype for x in f()])
    with g._enable_auto_casting_variables(tf.int32):
        print(g._auto_cast_variable_read_dtype, v.dtype)
    print(v)


def distributed():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        v = tf.Variable([1.0, 2.0, 3.0], name="w", aggregation=tf.VariableAggregation.MEAN)
        x = autocast_variable.AutoCastDistributedVariable(v)
        print(x.name, x.shape, len(x.devices), isinstance(x, type(v)), x.dtype, len(x.values))

        def step():
            with ops.get_default_graph()._enable_auto_casting_variables("float16"):
                twice = x * 2
                x.assign_add([1.0, 1.0, 1.0])
                return twice, tf.convert_to_tensor(x), tf.gather(x, [0, 2])

        print([[z.dtype for z in strategy.experimental_local_results(y)] for y in strategy.experimental_run_v2(step)])
        print(x.read_value().numpy(), v.read_value().numpy())
        with ops.get_default_graph()._enable_auto_casting_variables("float16"):
            print(x.read_value().dtype, x.value().dtype, x[1].numpy().dtype, x.dtype, x.true_dtype)
            print(x.assign([4.0, 5.0, 6.0]).dtype, x.assign_sub([1.0, 1.0, 1.0]).dtype)
        print(repr(x).split("\n")[0])
        with tempfile.TemporaryDirectory() as folder:
            saved = tf.train.Checkpoint(x=x).save(os.path.join(folder, "saved"))
            print(tf.train.list_variables(saved))
            x.assign([0.0, 0.0, 0.0])
            tf.train.Checkpoint(x=x).restore(saved).assert_consumed()
            print(x.read_value().numpy())
        shows(autocast_variable.AutoCastDistributedVariable, tf.constant(1.0))
        shows(autocast_variable.AutoCastDistributedVariable, tf.Variable(1))
    shows(autocast_variable.AutoCastDistributedVariable, tf.Variable(1.0))


def layers():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        with policy.policy_scope(policy.Policy("infer_float32_vars")):
            layer = tf.keras.layers.Dense(2, kernel_initializer="ones")

        def step():
            return layer(tf.ones([1, 3], tf.float16))

        print([y.dtype for y in strategy.experimental_local_results(strategy.experimental_run_v2(step))])
        print([type(w).__name__ for w in layer.weights], layer.kernel.dtype)
    with policy.policy_scope(policy.Policy("infer_float32_vars")):
        layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    print(layer(tf.ones([1, 3], tf.float16)), [type(w).__name__ for w in layer.weights])


tf.compat.v1.enable_v2_behavior()
config = tf.config.experimental
config.set_virtual_device_configuration(config.list_physical_devices("CPU")[0], [config.VirtualDeviceConfiguration()] * 2)
for part in (blocks, distributed, layers):
    print("#", part.__name__)
    part()
