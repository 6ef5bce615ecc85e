"""An Estimator on parameter servers: `parameter_servers.py FOLDER JOB INDEX PS_ADDRESSES CHIEF_ADDRESS [WORKER_ADDRESSES]`. Prints JSON values.

TensorFlow 1.15.5 runs it too.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf

FOLDER, JOB, INDEX, *ADDRESSES = sys.argv[1:]
CLUSTER = {job: addresses.split(",") for job, addresses in zip(("ps", "chief", "worker"), ADDRESSES)}
os.environ["TF_CONFIG"] = json.dumps({"cluster": CLUSTER, "task": {"type": JOB, "index": int(INDEX)}})
tf.logging.set_verbosity(tf.logging.ERROR)
RANDOM = np.random.RandomState(7)
X = RANDOM.randn(64, 5).astype(np.float32)
Y = X.dot(RANDOM.randn(5, 1)).astype(np.float32)


def model_fn(features, labels, mode):
    hidden = tf.layers.dense(features["x"], 4, tf.nn.tanh, kernel_initializer=tf.random_normal_initializer(seed=5))
    found = tf.layers.dense(hidden, 1, kernel_initializer=tf.random_normal_initializer(seed=6))
    loss = tf.losses.mean_squared_error(labels, found)
    if mode == tf.estimator.ModeKeys.TRAIN and JOB == "chief":
        print(json.dumps({v.name: v.device for v in tf.global_variables()}), flush=True)
    train_op = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_global_step()) if mode == tf.estimator.ModeKeys.TRAIN else None
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(16)


strategy = tf.distribute.experimental.ParameterServerStrategy()
config = tf.estimator.RunConfig(model_dir=FOLDER, train_distribute=strategy, save_checkpoints_steps=10, tf_random_seed=1)
estimator = tf.estimator.Estimator(model_fn, config=config)
tf.estimator.train_and_evaluate(
    estimator, tf.estimator.TrainSpec(input_fn, max_steps=30), tf.estimator.EvalSpec(input_fn, steps=1, start_delay_secs=0, throttle_secs=0)
)
print(json.dumps("done"))
