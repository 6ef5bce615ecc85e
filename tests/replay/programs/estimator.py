"""An Estimator trains, evaluates and predicts."""
import shutil
import tempfile

import numpy as np
import tensorflow as tf


def model(features, labels, mode):
    out = tf.layers.dense(tf.layers.dense(features["x"], 4, tf.nn.tanh), 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"out": out})
    loss = tf.losses.mean_squared_error(labels, out)
    step = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, out)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, eval_metric_ops=metrics)


def data():
    rows = np.random.RandomState(0).rand(12, 3).astype("f")
    return tf.data.Dataset.from_tensor_slices(({"x": rows}, rows.sum(1))).batch(4)


folder = tempfile.mkdtemp()
estimator = tf.estimator.Estimator(model, folder, tf.estimator.RunConfig(tf_random_seed=8))
estimator.train(data)
estimator.evaluate(data)
list(estimator.predict(data))
shutil.rmtree(folder)
