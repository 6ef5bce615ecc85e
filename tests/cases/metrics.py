"""tf.metrics: nodes, collections, and the values after two batches."""

import numpy as np

from cases.table import F32, I64, Table

TABLE = Table("metrics")
case, error_case = TABLE.case, TABLE.error_case

CLASSES = I64(6, low=0, high=3)
SCORES = F32(6, low=0.0, high=1.0)
LABELS = I64(6, low=0, high=2)
WEIGHTS = F32(6, low=0.0, high=2.0)
THRESHOLDS = [0.2, 0.5, 0.8]


def two_batches(tf, session, outputs, feed):
    """The value before, two updates, the value after."""
    value, update = outputs
    session.run(tf.local_variables_initializer())
    return [session.run(value, feed), session.run(update, feed), session.run(update, feed), session.run(value, feed)]


def metric(name, build, **inputs):
    case(name, build, run=two_batches, partial=False, **inputs)


metric("mean", lambda tf, x: tf.metrics.mean(x), x=SCORES)
metric(
    "mean_weighted",
    lambda tf, x, w: tf.metrics.mean(x, w, metrics_collections=["a"], updates_collections=["b", "c"], name="m"),
    x=SCORES,
    w=WEIGHTS,
)
metric(
    "mean_weights_column",
    lambda tf, x, w: tf.metrics.mean(x, tf.placeholder_with_default(tf.reshape(w, [6, 1]), None)),
    x=SCORES,
    w=WEIGHTS,
)
metric("mean_tensor", lambda tf, x: tf.metrics.mean_tensor(x), x=SCORES)
metric("mean_tensor_weighted", lambda tf, x, w: tf.metrics.mean_tensor(x, w), x=SCORES, w=WEIGHTS)
metric("percentage_below", lambda tf, x: tf.metrics.percentage_below(x, 0.5), x=SCORES)
metric("accuracy", lambda tf, y, p: tf.metrics.accuracy(y, p), y=CLASSES, p=CLASSES)
metric(
    "accuracy_cast", lambda tf, y, p, w: tf.metrics.accuracy(y, tf.cast(p, tf.int32), w), y=CLASSES, p=CLASSES, w=WEIGHTS
)
metric("accuracy_column", lambda tf, y, p: tf.metrics.accuracy(tf.reshape(y, [6, 1]), p), y=CLASSES, p=CLASSES)
metric("mean_squared_error", lambda tf, y, p: tf.metrics.mean_squared_error(y, p), y=SCORES, p=SCORES)
metric(
    "root_mean_squared_error",
    lambda tf, y, p, w: tf.metrics.root_mean_squared_error(y, p, w, ["a"], ["b"]),
    y=SCORES,
    p=SCORES,
    w=WEIGHTS,
)
metric("mean_absolute_error", lambda tf, y, p: tf.metrics.mean_absolute_error(y, p), y=SCORES, p=SCORES)
metric("mean_relative_error", lambda tf, y, p, n: tf.metrics.mean_relative_error(y, p, n), y=SCORES, p=SCORES, n=SCORES)
metric(
    "mean_cosine_distance", lambda tf, y, p: tf.metrics.mean_cosine_distance(y, p, 1), y=F32(3, 4), p=F32(3, 4)
)
for _name in ("true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall"):
    metric(_name, lambda tf, y, p, name=_name: getattr(tf.metrics, name)(y, p > 0.5), y=LABELS, p=SCORES)
    metric(
        _name + "_weighted",
        lambda tf, y, p, w, name=_name: getattr(tf.metrics, name)(y, p > 0.5, w, name="s"),
        y=LABELS,
        p=SCORES,
        w=WEIGHTS,
    )
    metric(
        _name + "_at_thresholds",
        lambda tf, y, p, w, name=_name: getattr(tf.metrics, name + "_at_thresholds")(y, p, THRESHOLDS, w, ["a"], ["b"]),
        y=LABELS,
        p=SCORES,
        w=WEIGHTS,
    )
metric("precision_of_nothing", lambda tf, y, p: tf.metrics.precision(y, p > 2.0), y=LABELS, p=SCORES)
metric("auc", lambda tf, y, p: tf.metrics.auc(y, p), y=LABELS, p=SCORES)
metric("auc_weighted", lambda tf, y, p, w: tf.metrics.auc(y, p, w, num_thresholds=11), y=LABELS, p=SCORES, w=WEIGHTS)
for _curve in ("ROC", "PR"):
    for _method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        metric(
            "auc_%s_%s" % (_curve, _method),
            lambda tf, y, p, curve=_curve, method=_method: tf.metrics.auc(
                y, p, curve=curve, summation_method=method, thresholds=THRESHOLDS, metrics_collections=["a"]
            ),
            y=LABELS,
            p=SCORES,
        )
metric(
    "sensitivity_at_specificity",
    lambda tf, y, p: tf.metrics.sensitivity_at_specificity(y, p, 0.5, num_thresholds=10),
    y=LABELS,
    p=SCORES,
)
metric(
    "specificity_at_sensitivity",
    lambda tf, y, p, w: tf.metrics.specificity_at_sensitivity(y, p, 0.5, w, num_thresholds=10),
    y=LABELS,
    p=SCORES,
    w=WEIGHTS,
)
metric("mean_iou", lambda tf, y, p: tf.metrics.mean_iou(y, p, 3), y=CLASSES, p=CLASSES)
metric("mean_iou_absent", lambda tf, y, p, w: tf.metrics.mean_iou(y, p, 5, w), y=CLASSES, p=CLASSES, w=WEIGHTS)
metric(
    "mean_iou_image",
    lambda tf, y, p: tf.metrics.mean_iou(y, p, 3),
    y=I64(2, 3, low=0, high=3),
    p=I64(2, 3, low=0, high=3),
)
metric(
    "mean_per_class_accuracy",
    lambda tf, y, p, w: tf.metrics.mean_per_class_accuracy(y, p, 3, w),
    y=CLASSES,
    p=CLASSES,
    w=WEIGHTS,
)
case("confusion_matrix", lambda tf, y, p: tf.confusion_matrix(y, p), y=CLASSES, p=CLASSES, partial=False)
case(
    "confusion_matrix_weighted",
    lambda tf, y, p, w: tf.math.confusion_matrix(y, p, 4, tf.float32, "c", w),
    y=CLASSES,
    p=CLASSES,
    w=WEIGHTS,
    grad=False,
    partial=False,
)

error_case("confusion_matrix_negative", lambda tf, y: tf.confusion_matrix(y, y), y=np.array([0, -1], np.int64))
error_case("confusion_matrix_range", lambda tf, y: tf.confusion_matrix(y, y, 2), y=np.array([0, 3], np.int64))
error_case("accuracy_shapes", lambda tf, y, p: tf.metrics.accuracy(y, p), y=F32(3), p=F32(4))
error_case("auc_curve", lambda tf, y, p: tf.metrics.auc(y, p, curve="ROC-PR"), y=LABELS, p=SCORES)
error_case("auc_method", lambda tf, y, p: tf.metrics.auc(y, p, summation_method="middle"), y=LABELS, p=SCORES)
error_case("sensitivity_range", lambda tf, y, p: tf.metrics.sensitivity_at_specificity(y, p, 1.5), y=LABELS, p=SCORES)
