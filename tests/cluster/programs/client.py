"""What a session at a target gives, value by value: client.py TARGET."""

import json
import sys
import threading

import numpy as np
import tensorflow as tf

target = sys.argv[1]


def show(name, run):
    """Prints what a call returns, or its error's class, whether its text has the task, and its node."""
    try:
        found = run()
    except tf.errors.OpError as e:
        node = e.op.name if e.op is not None else None
        found = [type(e).__name__, e.message.split("\n")[0], node]
    found = [f.tolist() if hasattr(f, "tolist") else f for f in found] if isinstance(found, (list, tuple)) else found
    found = found.tolist() if hasattr(found, "tolist") else found
    print(json.dumps([name, found]), flush=True)


a, b = (tf.placeholder(tf.float32, [], name=name) for name in "ab")
v = tf.Variable([1.0, 2.0], name="v")
rng = np.random.RandomState(0)
inputs = rng.rand(64, 8).astype("f")
labels = (inputs.sum(1) > 4).astype("i4")
tf.set_random_seed(3)
x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.int32, [None])
logits = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 2)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.05).minimize(loss)
session = tf.Session(target)
show("initialize", lambda: session.run(tf.global_variables_initializer()))
show("loss", lambda: round(float([session.run([loss, train], {x: inputs, y: labels})[0] for _ in range(30)][-1]), 4))
rows = tf.placeholder(tf.float32, [None, None, 8])
with tf.variable_scope("recurrent", initializer=tf.constant_initializer(0.05)):
    _, (_, last) = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), rows, dtype=tf.float32)
error = tf.reduce_mean(tf.square(last - rows[:, -1, :4]))
learn = tf.train.GradientDescentOptimizer(0.5).minimize(error)
session.run(tf.variables_initializer(tf.global_variables("recurrent")))
show("recurrent", lambda: round(float([session.run([error, learn], {rows: inputs.reshape(8, 8, 8)})[0] for _ in range(10)][-1]), 4))
show("add", lambda: session.run(v.assign_add([a, b]), {a: 3.0, b: 4.0}))
show("string", lambda: session.run(tf.strings.join([tf.constant([b"a", b"bc"]), "d"])).astype(str))
show("bool", lambda: session.run(tf.constant([True, False])))
show("half", lambda: session.run(tf.constant([1.5], tf.float16)))
show("empty", lambda: session.run(tf.zeros([0, 2])))
queue = tf.FIFOQueue(3, tf.float32, shapes=[2], name="q")
put, taken, close = queue.enqueue([[1.0, 2.0]]), queue.dequeue(name="taken"), queue.close()
show("deadline", lambda: session.run(taken, options=tf.RunOptions(timeout_in_ms=100)))
found = []
thread = threading.Thread(target=lambda: found.append(session.run(taken)))
thread.start()
session.run(put)
thread.join()
show("queue", lambda: found)
session.run(close)
show("closed queue", lambda: session.run(taken)[1])
c = tf.add(a, 1.0)
d = tf.multiply(c, b)


def partial():
    handle = session.partial_run_setup([c, d], [a, b])
    return session.partial_run(handle, c, {a: 2.0}), session.partial_run(handle, d, {b: 10.0})


show("partial", partial)
show("not fed", lambda: session.run(c))
show("not set up", lambda: session.partial_run("nothing", c, {a: 2.0}))
show("numerics", lambda: session.run(tf.check_numerics(tf.log(a - 5.0), "bad", name="check"), {a: 1.0}))
show("callable", lambda: session.make_callable(c, [a])(4.0))
show("devices", lambda: [d.name for d in session.list_devices() if d.device_type == "CPU"])
metadata = tf.RunMetadata()
options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
session.run(d, {a: 1.0, b: 2.0}, options=options, run_metadata=metadata)
show("metadata", lambda: [len(metadata.step_stats.dev_stats) > 0, len(metadata.partition_graphs)])
show("loop", lambda: session.run(tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0])))
begun = tf.FIFOQueue(1, tf.float32, name="begun")
with tf.control_dependencies([begun.enqueue(1.0)]):
    waiting = tf.FIFOQueue(1, tf.float32, name="waiting").dequeue()
has_begun = begun.dequeue()
thread = threading.Thread(target=lambda: show("closing", lambda: session.run(waiting)))
thread.start()
session.run(has_begun)
session.close()
thread.join()
second = tf.Session(target)
show("kept", lambda: second.run(v))
tf.Session.reset(target)
show("reset", lambda: [type(tf.Session(target)).__name__, tf.Session(target).run(tf.is_variable_initialized(v))])
