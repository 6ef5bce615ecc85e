"""A program of several workers: `workers_program.py WAY ADDRESSES NUMBER [FOLDER]`; TensorFlow 1.15.5 runs it too. Prints JSON values."""

import json
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import distribute_coordinator as coordinator
from tensorflow.python.distribute import distribute_coordinator_context as context
from tensorflow.python.ops import collective_ops

WAY, NUMBER = sys.argv[1], int(sys.argv[3])
ADDRESSES = sys.argv[2].split(",")
COUNT = len(ADDRESSES)
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ADDRESSES}, "task": {"type": "worker", "index": NUMBER}})
tf.logging.set_verbosity(tf.logging.ERROR)
RANDOM = np.random.RandomState(7)
X = RANDOM.randn(64, 5).astype(np.float32)
Y = X.dot(RANDOM.randn(5, 1)).astype(np.float32)


def say(*values):
    print(json.dumps([np.asarray(v).tolist() if not isinstance(v, (dict, str)) else v for v in values]), flush=True)


def collectives():
    config = tf.ConfigProto(device_filters=[f"/job:worker/task:{NUMBER}"])
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    server = tf.train.Server({"worker": ADDRESSES}, "worker", NUMBER, config=config)
    with tf.device(f"/job:worker/task:{NUMBER}/device:CPU:0"):
        x = tf.constant([1.0, 2.0, 3.0]) * (NUMBER + 1)
        mean = collective_ops.all_reduce(x, COUNT, 1, 100, "Add", "Div")
        product = collective_ops.all_reduce(mean * x, COUNT, 1, 101, "Mul", "Id")
        rows = collective_ops.all_gather(tf.fill([1, 2], NUMBER), COUNT, 1, 102)
        if NUMBER == 0:
            sent = collective_ops.broadcast_send(tf.fill([2], 7.0), [2], tf.float32, COUNT, 1, 103)
        else:
            sent = collective_ops.broadcast_recv([2], tf.float32, COUNT, 1, 103)
        differing = collective_ops.all_reduce(tf.zeros([2 + NUMBER]), COUNT, 1, 104, "Add", "Id")
    with tf.Session(server.target, config=config) as session:
        for _ in range(2):
            say(*session.run([mean, product, rows, sent]))
        try:
            session.run(differing)
        except tf.errors.OpError as error:
            say(type(error).__name__)
    sys.stdin.readline()  # until the other has what it needs


def loop():
    x = np.arange(32, dtype=np.float32).reshape(16, 2) / 32
    y = x.sum(1, keepdims=True)

    def work(strategy):
        with tf.Graph().as_default(), strategy.scope():
            iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(4))
            w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(0.1 * (NUMBER + 1)))
            rows = tf.get_variable("rows", [3, 1], initializer=tf.constant_initializer(0.5 * (NUMBER + 1)))

            def step(batch):
                found = tf.matmul(batch[0], w) + tf.nn.embedding_lookup(rows, tf.cast(batch[0][:, 0] * 2, tf.int32))
                loss = tf.reduce_sum(tf.square(found - batch[1])) / 4
                return tf.group(tf.train.GradientDescentOptimizer(0.3).minimize(loss)), loss

            update, loss = strategy.experimental_run_v2(step, args=(iterator.get_next(),))
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
            begin = tf.group(iterator.initialize(), tf.train.Scaffold.default_local_init_op())
            creator = context.get_current_worker_context().session_creator(scaffold=tf.train.Scaffold(local_init_op=begin))
            with tf.train.MonitoredSession(session_creator=creator) as session:
                found = [session.run([total, update, w, rows]) for _ in range(12)]
            say(*[each[0] for each in found[3::4]], *found[-1][2:])

    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    coordinator.run_distribute_coordinator(work, strategy, mode=coordinator.CoordinatorMode.INDEPENDENT_WORKER)


def wide():
    """Gradients that are too large to be sent to every worker."""
    x, y = (np.random.RandomState(5 * NUMBER + i).randn(8, 100).astype(np.float32) for i in range(2))

    def work(strategy):
        with tf.Graph().as_default(), strategy.scope():
            w = tf.get_variable("w", [100, 100], initializer=tf.constant_initializer(0.1 * (NUMBER + 1)))

            def step():
                loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - y)) / 100
                return tf.group(tf.train.GradientDescentOptimizer(0.3).minimize(loss)), loss

            update, loss = strategy.experimental_run_v2(step)
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
            creator = context.get_current_worker_context().session_creator()
            with tf.train.MonitoredSession(session_creator=creator) as session:
                say(*[session.run([total, update])[0] for _ in range(3)], session.run(w)[::33, ::33])

    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    coordinator.run_distribute_coordinator(work, strategy, mode=coordinator.CoordinatorMode.INDEPENDENT_WORKER)


def model_fn(features, labels, mode):
    start = tf.random_normal_initializer(seed=NUMBER + 5)
    hidden = tf.layers.dense(features["x"], 4, activation=tf.nn.tanh, kernel_initializer=start)
    hidden = tf.layers.batch_normalization(hidden, training=mode == "train")
    found = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(found - labels))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def estimator():
    folder = sys.argv[4]
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig(folder, 1, save_checkpoints_steps=10, train_distribute=strategy)
    made = tf.estimator.Estimator(model_fn, config=config)

    def data():
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(8)

    tf.estimator.train_and_evaluate(made, tf.estimator.TrainSpec(data, max_steps=20), tf.estimator.EvalSpec(data, steps=4))
    say("done")


def keras():
    layers = tf.keras.layers
    with tf.distribute.experimental.MultiWorkerMirroredStrategy().scope():
        model = tf.keras.Sequential([
            layers.Dense(8, activation="tanh", input_shape=(5,), kernel_initializer=tf.keras.initializers.RandomNormal(seed=NUMBER + 1)),
            layers.Dense(1, kernel_initializer="ones"),
        ])  # fmt: skip
        model.compile(tf.keras.optimizers.SGD(0.05, momentum=0.9), "mse", metrics=["mae"])
    data = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(16)
    history = model.fit(data, epochs=3, steps_per_epoch=4, verbose=0).history
    say(history["loss"], history["mean_absolute_error"], *[w.ravel()[0] for w in model.get_weights()])


def converted():
    """An Estimator of a Keras model."""
    layers = tf.keras.layers
    first = tf.keras.initializers.RandomNormal(seed=1)  # the same for all: each writes the checkpoint that all begin from
    model = tf.keras.Sequential([layers.Dense(8, activation="tanh", input_shape=(5,), kernel_initializer=first), layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.train.GradientDescentOptimizer(0.05) if sys.argv[5] == "graph" else tf.keras.optimizers.SGD(0.05), "mse")
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
    config = tf.estimator.RunConfig(experimental_distribute=tf.contrib.distribute.DistributeConfig(train_distribute=strategy))
    made = tf.keras.estimator.model_to_estimator(model, model_dir=sys.argv[4], config=config)

    def data():
        return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(16)

    tf.estimator.train_and_evaluate(made, tf.estimator.TrainSpec(data, max_steps=12), tf.estimator.EvalSpec(data, steps=4))
    say("done")


{f.__name__: f for f in (collectives, loop, wide, estimator, keras, converted)}[WAY]()
