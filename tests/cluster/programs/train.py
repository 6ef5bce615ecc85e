"""Training with parameter servers: train.py CLUSTER INDEX FOLDER LAST_STEP PAUSE_AT TOGETHER.

At its PAUSE_ATth step it says so and waits for a line of its input. Where TOGETHER is 1 an update takes the gradients of two steps.
"""

import json
import sys

import numpy as np
import tensorflow as tf

cluster, index, folder, last = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
pause_at, together = int(sys.argv[5]), int(sys.argv[6])
server = tf.train.Server(cluster, "worker", index)
rng = np.random.RandomState(index)
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None])
    predicted = tf.squeeze(tf.layers.dense(x, 1), 1)
    loss = tf.reduce_mean(tf.square(predicted - y))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    if together:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=2, total_num_replicas=2)
    train = optimizer.minimize(loss, global_step=step)
    tf.summary.scalar("loss", loss)
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
hooks = [tf.train.StopAtStepHook(last_step=last)] + ([optimizer.make_session_run_hook(index == 0)] if together else [])
losses, steps = [], []
with tf.train.MonitoredTrainingSession(
    server.target, is_chief=index == 0, checkpoint_dir=folder, save_checkpoint_steps=10, save_summaries_steps=10,
    hooks=hooks, config=config, stop_grace_period_secs=5
) as session:  # fmt: skip
    while not session.should_stop():
        if len(steps) + 1 == pause_at:
            print(json.dumps("paused"), flush=True)
            sys.stdin.readline()
        inputs = rng.rand(32, 4)
        _, found, number = session.run([train, loss, step], {x: inputs, y: inputs.sum(1)})
        losses.append(float(found))
        steps.append(int(number))
print(json.dumps({"losses": [losses[0], losses[-1]], "steps": steps}), flush=True)
