"""tf.metrics of the k best predictions: nodes, collections, and the values after two batches."""

import numpy as np

from cases.table import F32, I64, Table

TABLE = Table("metrics_at_k")
case, error_case = TABLE.case, TABLE.error_case

SCORES = F32(3, 5)
LABELS = I64(3, 2, low=0, high=5)
ONE_LABEL = I64(3, low=0, high=5)
IDS = I64(3, 2, low=0, high=5)
WEIGHTS = F32(3, low=0.0, high=2.0)


def two_batches(tf, session, outputs, feed):
    """The value before, two updates, the value after."""
    value, update = outputs
    session.run(tf.local_variables_initializer())
    return [session.run(value, feed), session.run(update, feed), session.run(update, feed), session.run(value, feed)]


def metric(name, build, **inputs):
    case(name, build, run=two_batches, partial=False, **inputs)


for name in ("recall_at_k", "precision_at_k", "sparse_precision_at_k"):
    metric(
        name, lambda tf, y, p, name=name: getattr(tf.metrics, name)(y, p, 2), y=LABELS, p=SCORES
    )
    metric(
        name + "_class_weighted",
        lambda tf, y, p, w, name=name: getattr(tf.metrics, name)(
            y, p, 3, class_id=2, weights=w, metrics_collections=["a"], updates_collections=["b"], name="m"
        ),
        y=LABELS,
        p=SCORES,
        w=WEIGHTS,
    )
    metric(
        name + "_one_label", lambda tf, y, p, name=name: getattr(tf.metrics, name)(y, p, 3), y=ONE_LABEL, p=SCORES
    )
for name in ("recall_at_top_k", "precision_at_top_k"):
    metric(name, lambda tf, y, p, name=name: getattr(tf.metrics, name)(y, p), y=LABELS, p=IDS)
    metric(
        name + "_sparse",
        lambda tf, y, p, name=name: getattr(tf.metrics, name)(
            tf.SparseTensor(np.array([[0, 0], [1, 0], [1, 1]], np.int64), y, np.array([3, 2], np.int64)), p, 2, class_id=1
        ),
        y=ONE_LABEL,
        p=IDS,
    )
for name in ("average_precision_at_k", "sparse_average_precision_at_k"):
    metric(name, lambda tf, y, p, name=name: getattr(tf.metrics, name)(y, p, 3), y=LABELS, p=SCORES)
metric(
    "average_precision_weighted",
    lambda tf, y, p, w: tf.metrics.average_precision_at_k(
        y, p, 2, w, metrics_collections=["a"], updates_collections=["b"], name="m"
    ),
    y=I64(3, 2, low=0, high=8),
    p=SCORES,
    w=WEIGHTS,
)
metric(
    "average_precision_sparse",
    lambda tf, y, p: tf.metrics.average_precision_at_k(
        tf.SparseTensor(np.array([[0, 0], [1, 0], [1, 1]], np.int64), y, np.array([3, 2], np.int64)), p, 2
    ),
    y=ONE_LABEL,
    p=SCORES,
)
error_case("average_precision_k0", lambda tf, y, p: tf.metrics.average_precision_at_k(y, p, 0), y=LABELS, p=SCORES)
error_case("recall_labels_rank", lambda tf, y, p: tf.metrics.recall_at_k(y, p, 2), y=I64(2, 3, 2, low=0, high=5), p=SCORES)
