"""Training loops of one's own, where operations run at once, over two devices; prints what the replicas get and the losses."""

import numpy as np
import tensorflow as tf

tf.compat.v1.enable_v2_behavior()
config = tf.config.experimental
two = [config.VirtualDeviceConfiguration(), config.VirtualDeviceConfiguration()]
config.set_virtual_device_configuration(config.list_physical_devices("CPU")[0], two)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

for rows, batch in ((5, 2), (7, 4)):
    for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(rows).batch(batch)):
        print([part.numpy().tolist() for part in strategy.experimental_local_results(x)])


def of_function(context):
    return tf.data.Dataset.range(4).map(lambda x: x + 10 * context.num_replicas_in_sync).batch(1)


inputs = strategy.experimental_distribute_datasets_from_function(of_function)
for turn in range(2):
    print([[part.numpy().tolist() for part in strategy.experimental_local_results(x)] for x in inputs])

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
    optimizer = tf.keras.optimizers.SGD(0.1)
features = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
labels = features.sum(1, keepdims=True) * 2
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((features, labels)).batch(4))


def step(inputs):
    x, y = inputs
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(x) - y)) / 4.0
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def of_all(inputs):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run_v2(step, args=(inputs,)), axis=None)


@tf.function
def epoch(dataset):
    total = 0.0
    for x in dataset:
        total += of_all(x)
    return total


compiled = tf.function(of_all)
print(["%.5f" % compiled(x) for x in dataset for _ in range(2)])
print(["%.5f" % of_all(x) for x in dataset])
print("%.5f" % epoch(dataset), ["%.5f" % w for w in model.trainable_variables[0].numpy().ravel()])


def counted(context, inputs):
    context.set_non_tensor_output("kind", "sum")
    context.set_last_step_output("x", strategy.experimental_run_v2(lambda x: tf.reduce_sum(x), args=(inputs,)), tf.distribute.ReduceOp.SUM)
    return tf.no_op()


iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(12).batch(4))
context = strategy.extended.experimental_run_steps_on_iterator(counted, iterator, 2, {"x": tf.constant(0, tf.int64)})
print(context.last_step_outputs["x"].numpy(), context.non_tensor_outputs)
