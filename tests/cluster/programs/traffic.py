"""A worker whose calls and sessions show every kind of message once: traffic.py CLUSTER MASTER."""

import json
import sys

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

cluster, master = json.loads(sys.argv[1]), sys.argv[2]
server = tf.train.Server(cluster, "worker", 0)
with tf.device("/job:ps/task:0"):
    v = tf.Variable([1.0, 1.0], name="v")
with tf.device("/job:worker/task:0"):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.add(v, x, name="w")
    update = v.assign_add(w)
session = tf.Session(master)
session.run(v.initializer)
session.run(update, {x: [1.0, 2.0]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=tf.RunMetadata())
with tf.device("/job:ps/task:0"):
    y = tf.add(v, 1.0, name="y")
print(json.dumps(session.run(y).tolist()), flush=True)
handle = session.partial_run_setup([w], [x])
session.partial_run(handle, w, {x: [1.0, 2.0]})
session.list_devices()
call = session._make_callable_from_options(config_pb2.CallableOptions(feed=["x:0"], fetch=["w:0"]))
call(np.array([1.0, 2.0], np.float32))
del call
session.close()
tf.Session.reset(master)
