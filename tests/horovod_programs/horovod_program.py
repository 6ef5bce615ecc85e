"""A program of Horovod: prints one JSON value for each thing that `sys.argv[1]` asks for. Horovod's own package runs it too."""

import json
import sys

import numpy as np
import tensorflow as tf

WAY = sys.argv[1]
if WAY == "keras":
    import horovod.tensorflow.keras as hvd
else:
    import horovod.tensorflow as hvd
tf.logging.set_verbosity(tf.logging.ERROR)
if WAY == "eager":
    tf.enable_eager_execution()
hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
RANDOM = np.random.RandomState(7)
X = RANDOM.randn(64, 5).astype(np.float32)
Y = X.dot(RANDOM.randn(5, 1)).astype(np.float32)


def say(value):
    print(json.dumps(value if isinstance(value, (str, list, dict)) else np.asarray(value).tolist()), flush=True)


def operations():
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3) * (RANK + 1), name="x")
    rows = tf.IndexedSlices(tf.ones([2, 3]) * RANK, tf.constant([RANK, RANK + 1]), tf.constant([5, 3]))
    tensors = [
        hvd.allreduce(x), hvd.allreduce(x, op=hvd.Sum), hvd.allreduce(x, compression=hvd.Compression.fp16),
        hvd.allgather(tf.ones([RANK + 1, 2], tf.int64) * RANK), hvd.broadcast(x, SIZE - 1, name="sent"), hvd.allreduce(rows).values,
        tf.gradients(hvd.allreduce(x, op=hvd.Sum) * 2, [x])[0],
        tf.gradients(hvd.allgather(x, name="joined") * tf.reshape(tf.range(0.0, 2.0 * SIZE), [-1, 1]), [x])[0],
        tf.gradients(hvd.broadcast(x, 0, name="sent_again") * 3.0, [x])[0],
    ]
    with tf.Session() as session:
        for value in session.run(tensors):
            say(value)
        try:
            session.run(hvd.allreduce(tf.zeros([2 + RANK])))
        except tf.errors.FailedPreconditionError as error:
            say(type(error).__name__)
    say([op.name for op in tf.get_default_graph().get_operations() if op.type.startswith("Horovod")])


def graph():
    tf.set_random_seed(RANK + 1)
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 1])
    rows = tf.nn.embedding_lookup(tf.get_variable("rows", [4, 5]), tf.cast(y[:, 0] > 0, tf.int32))
    found = tf.layers.dense(tf.layers.dense(x + rows, 8, activation=tf.tanh), 1)
    loss = tf.reduce_mean(tf.square(found - y))
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.01 * SIZE, 0.9))
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=30)]
    losses = []
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            i = (len(losses) * SIZE + RANK) % 8 * 8
            losses.append(session.run([loss, train], {x: X[i : i + 8], y: Y[i : i + 8]})[0])
    say(np.array(losses[9::10], float))


def wide():
    """Gradients that are too large to be sent to every process."""
    x, y = (np.random.RandomState(5 * RANK + i).randn(8, 100).astype(np.float32) for i in range(2))
    w = tf.get_variable("w", [100, 100], initializer=tf.constant_initializer(0.1 * (RANK + 1)))
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - y)) / 100
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.6)).minimize(loss)
    total = hvd.allreduce(loss, op=hvd.Sum)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(hvd.broadcast_global_variables(0))
        losses = [session.run([total, train])[0] for _ in range(3)]
        say([float(v) for v in losses])
        say(session.run(w)[::33, ::33])
        if hasattr(session, "explain"):
            say([line.strip() for line in session.explain(train).splitlines() if "with the processes" in line])


def keras():
    tf.set_random_seed(3 + RANK)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(8, activation="tanh", input_shape=(5,)), dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * SIZE, momentum=0.9)), "mse", metrics=["mae"])
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=3, initial_lr=0.01 * SIZE),
        hvd.callbacks.LearningRateScheduleCallback(start_epoch=3, multiplier=0.5, initial_lr=0.01 * SIZE),
    ]
    history = model.fit(X[RANK::SIZE], Y[RANK::SIZE], batch_size=8, epochs=5, callbacks=callbacks, verbose=0, shuffle=False).history
    say({name: [float(v) for v in values] for name, values in history.items()})
    say([float(hvd.allreduce(np.float32(RANK + 1.0))), hvd.allgather([RANK]).tolist(), hvd.broadcast(np.arange(2.0) + RANK, 1).tolist()])


def eager():
    tf.set_random_seed(RANK)
    w, b = tf.Variable(tf.random_normal([5, 1])), tf.Variable(tf.zeros([1]))
    optimizer = tf.train.GradientDescentOptimizer(0.05)
    losses = []
    for step in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(X[RANK::SIZE], w) + b - Y[RANK::SIZE]))
        gradients = hvd.DistributedGradientTape(tape).gradient(loss, [w, b])
        optimizer.apply_gradients(zip(gradients, [w, b]))
        if step == 0:
            hvd.broadcast_variables([w, b], root_rank=0)
        losses.append(loss.numpy())
    say(np.array(losses[::3], float))


def leaving():
    """Process 1 ends before process 0 has what it waits for."""
    if RANK == 1:
        return
    with tf.Session() as session:
        try:
            session.run(hvd.allreduce(tf.zeros([2]), op=hvd.Sum))
        except tf.errors.UnknownError as error:
            say(str(error).split(":")[0])


{f.__name__: f for f in (operations, graph, wide, keras, eager, leaving)}[WAY]()
