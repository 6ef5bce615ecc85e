"""tf.keras.metrics: the operations of an update and of the result, and what they give after two batches."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("keras_metrics")
case, error_case = TABLE.case, TABLE.error_case

LABELS = np.array([[0, 1], [1, 0], [1, 1], [0, 1]], np.float32)
ONE_HOT = np.eye(6, dtype=np.float32)[[0, 2, 5, 2]]
NUMBERS = np.array([[0], [2], [5], [2]], np.float32)
PROBABLE = F32(4, 2, low=0.05, high=0.95)
SIX = F32(4, 6, low=0.05, high=0.95)

OF_PAIRS = {
    name: (lambda k, n=name: getattr(k, n)())
    for name in (
        "Accuracy BinaryAccuracy MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError "
        "MeanSquaredLogarithmicError RootMeanSquaredError Hinge SquaredHinge CategoricalHinge LogCoshError Poisson "
        "KLDivergence CosineSimilarity BinaryCrossentropy TruePositives TrueNegatives FalsePositives FalseNegatives "
        "Precision Recall"
    ).split()
}
OF_PAIRS.update(
    {
        "precision_thresholds": lambda k: k.Precision(thresholds=[0.3, 0.7]),
        "precision_top_k": lambda k: k.Precision(top_k=1),
        "recall_class": lambda k: k.Recall(class_id=1),
        "sensitivity": lambda k: k.SensitivityAtSpecificity(0.5, num_thresholds=5),
        "specificity": lambda k: k.SpecificityAtSensitivity(0.5, num_thresholds=5),
        "auc": lambda k: k.AUC(num_thresholds=7),
        "auc_pr": lambda k: k.AUC(num_thresholds=7, curve="PR"),
        "auc_pr_minoring": lambda k: k.AUC(num_thresholds=7, curve="PR", summation_method="minoring"),
        "auc_majoring": lambda k: k.AUC(thresholds=[0.2, 0.5], summation_method="majoring"),
        "relative": lambda k: k.MeanRelativeError(np.full((4, 2), 0.5, np.float32)),
    }
)
OF_CLASSES = {
    "categorical_accuracy": (lambda k: k.CategoricalAccuracy(), ONE_HOT),
    "categorical_crossentropy": (lambda k: k.CategoricalCrossentropy(label_smoothing=0.1), ONE_HOT),
    "top_k": (lambda k: k.TopKCategoricalAccuracy(k=2), ONE_HOT),
    "sparse_accuracy": (lambda k: k.SparseCategoricalAccuracy(), NUMBERS),
    "sparse_crossentropy": (lambda k: k.SparseCategoricalCrossentropy(), NUMBERS),
    "sparse_top_k": (lambda k: k.SparseTopKCategoricalAccuracy(k=2), NUMBERS),
}
OF_VALUES = {
    "mean": lambda k: k.Mean(),
    "sum": lambda k: k.Sum(),
    "mean_float64": lambda k: k.Mean(dtype="float64"),
    "mean_tensor": lambda k: k.MeanTensor(),
}


def updated(tf, make, *values, **weights):
    metric = make(tf.keras.metrics)
    update = metric.update_state(*values, **weights)
    return {"update": update, "result": metric.result(), "variables": metric.variables}


def accumulated(tf, session, outputs, feed):
    """The result of two batches, and the variables."""
    for variable in outputs["variables"]:
        session.run(variable.initializer)
    for _ in range(2):
        session.run(outputs["update"], feed)
    return session.run({k: outputs[k] for k in ("result", "variables")}, feed)


for _name, _make in sorted(OF_PAIRS.items()):
    case(_name, lambda tf, y, p, m=_make: updated(tf, m, y, p), y=LABELS, p=PROBABLE, run=accumulated, partial=False)
for _name in ("BinaryAccuracy", "MeanSquaredError", "Precision", "auc"):
    case(
        _name + "_weighted",
        lambda tf, y, p, w, m=OF_PAIRS[_name]: updated(tf, m, y, p, sample_weight=w),
        y=LABELS, p=PROBABLE, w=F32(4, 1, low=0, high=1), run=accumulated, partial=False,
    )  # fmt: skip
for _name, (_make, _labels) in sorted(OF_CLASSES.items()):
    case(_name, lambda tf, y, p, m=_make: updated(tf, m, y, p), y=_labels, p=SIX, run=accumulated, partial=False)
for _name, _make in sorted(OF_VALUES.items()):
    case(_name, lambda tf, x, m=_make: updated(tf, m, x), x=F32(4, 3), run=accumulated, partial=False)
    case(
        _name + "_weighted",
        lambda tf, x, w, m=_make: updated(tf, m, x, sample_weight=w),
        x=F32(4, 3), w=F32(4, low=0, high=1), run=accumulated, partial=False,
    )  # fmt: skip
case(
    "iou",
    lambda tf, y, p: updated(tf, lambda k: k.MeanIoU(num_classes=3), y, p),
    y=np.array([0, 1, 2, 1]), p=np.array([0, 2, 2, 1]), run=accumulated, partial=False,
)  # fmt: skip

error_case("thresholds_range", lambda tf: tf.keras.metrics.Precision(thresholds=[0.5, 1.5]))
error_case("curve", lambda tf: tf.keras.metrics.AUC(curve="none"))
error_case("specificity_range", lambda tf: tf.keras.metrics.SensitivityAtSpecificity(1.5))
error_case("metric_unknown", lambda tf: tf.keras.metrics.get("nothing"))
