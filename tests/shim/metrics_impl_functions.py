"""Calls functions of tensorflow.python.ops.metrics_impl; what it prints is the same under TensorFlow 1.15.5."""

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import metrics_impl


def sizes():
    fits = metrics_impl._remove_squeezable_dimensions
    for shapes in (([4, 1], [4], [4, 1]), ([4], [4, 1], [4]), ([4, 2], [4, 2], [4])):
        print([each.shape.as_list() for each in fits(*(tf.zeros(shape) for shape in shapes))])
    print(fits(tf.zeros([4]), None, None)[1:])


def counts(session):
    scores, labels = tf.constant([0.1, 0.6, 0.8, 0.3]), tf.constant([0, 1, 0, 1])
    values, updates = metrics_impl._confusion_matrix_at_thresholds(
        labels, scores, [0.2, 0.5], tf.constant([1.0, 2.0, 4.0, 8.0]), includes=("tp", "fp", "fn")
    )
    session.run(tf.local_variables_initializer())
    session.run(updates)
    print(sorted((key, value.tolist()) for key, value in session.run(values).items()))
    print(sorted(metrics_impl._confusion_matrix_at_thresholds(labels, scores, [0.5])[0]))
    try:
        metrics_impl._confusion_matrix_at_thresholds(labels, scores, [0.5], includes=("tp", "all"))
    except ValueError as e:
        print(e)


def precision_of_ranks(session):
    value, update = metrics_impl._streaming_sparse_average_precision_at_top_k(
        labels=tf.constant([[0, 2], [1, 3]], tf.int64), predictions_idx=tf.constant([[2, 1, 0], [0, 1, 2]], tf.int64), name="ranks"
    )
    session.run(tf.local_variables_initializer())
    print(value.name, update.name, np.round(session.run(update), 6))


def counted(session):
    count = metrics_impl.metric_variable([], tf.float32, name="count")
    value = metrics_impl._aggregate_variable(count, ["values"])
    session.run(tf.local_variables_initializer())
    print(value.op.type, session.run(value), tf.get_collection("values") == [value])
    for below in (4.0, 0.0):
        print(session.run(metrics_impl._safe_scalar_div(tf.constant(2.0), tf.constant(below), name="share")))
    try:
        metrics_impl._safe_scalar_div(tf.zeros([2, 2]), tf.zeros([2, 2]), name="share")
    except ValueError as e:
        print(e)


def confusion(session):
    labels, predictions = tf.constant([[0, 1], [2, 2]]), tf.constant([[0.0, 2.0], [2.0, 1.0]])
    for weights in (None, tf.constant([[1.0, 2.0], [4.0, 8.0]])):
        total, update = metrics_impl._streaming_confusion_matrix(labels, predictions, 3, weights)
        session.run(tf.local_variables_initializer())
        session.run(update)
        print(total.name, total.dtype.base_dtype.name, session.run(update).tolist(), session.run(total).tolist())


with tf.Session() as session:
    sizes()
    counts(session)
    precision_of_ranks(session)
    counted(session)
    confusion(session)
