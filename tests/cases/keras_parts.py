"""tf.keras: activations, initializers, regularizers, constraints and losses."""

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("keras_parts")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

ACTIVATIONS = "elu exponential hard_sigmoid linear relu selu sigmoid softmax softplus softsign tanh".split()
each("", ["keras.activations." + f for f in ACTIVATIONS], lambda f, x: f(x), x=F32(3, 4))
case("softmax_rank_3", lambda tf, x: tf.keras.activations.softmax(x, axis=1), x=F32(2, 3, 4))
case(
    "relu_all",
    lambda tf, x: tf.keras.activations.relu(x, alpha=0.1, max_value=1.0, threshold=0.2),
    x=F32(3, 4),
)
case("activations_get", lambda tf, x: [tf.keras.activations.get(f)(x) for f in (None, "relu", "softmax")], x=F32(3, 4))
error_case("activation_unknown", lambda tf, x: tf.keras.activations.get("nothing")(x), x=F32(3))
error_case("softmax_rank_1", lambda tf, x: tf.keras.activations.softmax(x), x=F32(3))

INITIALIZERS = (
    "zeros ones constant uniform normal truncated_normal identity orthogonal glorot_normal glorot_uniform he_normal "
    "he_uniform lecun_normal lecun_uniform VarianceScaling RandomNormal TruncatedNormal"
).split()
for _name in INITIALIZERS:
    case("initializer_" + _name, lambda tf, n=_name: tf.keras.initializers.get(n)([3, 3], tf.float32), seed=7)
error_case("initializer_unknown", lambda tf: tf.keras.initializers.get("nothing"))

case(
    "regularizers",
    lambda tf, x: [tf.keras.regularizers.get(r)(x) for r in ("l1", "l2", "l1_l2")]
    + [tf.keras.regularizers.L1L2(l1=0.5)(x), tf.keras.regularizers.L1L2()(x)],
    x=F32(3, 4),
)
CONSTRAINTS = {
    "max_norm": lambda k: k.MaxNorm(0.7, axis=1),
    "min_max_norm": lambda k: k.MinMaxNorm(0.6, 0.9, rate=0.5),
    "non_neg": lambda k: k.NonNeg(),
    "unit_norm": lambda k: k.UnitNorm(axis=[0, 1]),
}
for _name, _make in sorted(CONSTRAINTS.items()):
    case("constraint_" + _name, lambda tf, x, m=_make: m(tf.keras.constraints)(x), x=F32(3, 4))

REAL = (
    "mean_squared_error mean_absolute_error mean_absolute_percentage_error mean_squared_logarithmic_error hinge "
    "squared_hinge categorical_hinge logcosh kullback_leibler_divergence poisson cosine_similarity"
).split()
PAIR = dict(y=F32(4, 3, low=0.05, high=0.95), p=F32(4, 3, low=0.05, high=0.95))
each("", ["keras.losses." + f for f in REAL], lambda f, y, p: f(y, p), **PAIR)
LABELS = np.eye(3, dtype=np.float32)[[0, 2, 1, 2]]
NUMBERS = np.array([0, 2, 1, 2], np.int32)
for _logits in (False, True):
    _tail = "_logits" if _logits else ""
    for _loss in ("categorical_crossentropy", "binary_crossentropy"):
        case(
            _loss + _tail,
            lambda tf, y, p, n=_loss, g=_logits: getattr(tf.keras.losses, n)(y, p, from_logits=g, label_smoothing=0.1),
            y=LABELS,
            p=PAIR["p"],
        )
    case(
        "sparse_categorical_crossentropy" + _tail,
        lambda tf, y, p, g=_logits: tf.keras.losses.sparse_categorical_crossentropy(y, p, from_logits=g),
        y=NUMBERS,
        p=PAIR["p"],
    )
case("crossentropy_of_softmax", lambda tf, y, x: tf.keras.losses.categorical_crossentropy(y, tf.nn.softmax(x)), y=LABELS, x=F32(4, 3))
case("crossentropy_of_sigmoid", lambda tf, y, x: tf.keras.losses.binary_crossentropy(y, tf.sigmoid(x)), y=LABELS, x=F32(4, 3))

CLASSES = (
    "MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredLogarithmicError BinaryCrossentropy "
    "CategoricalCrossentropy Hinge SquaredHinge CategoricalHinge Poisson LogCosh KLDivergence Huber CosineSimilarity"
).split()
each("class_", ["keras.losses." + c for c in CLASSES], lambda c, y, p: c()(y, p), **PAIR)
for _reduction in ("none", "sum", "sum_over_batch_size", "auto"):
    case(
        "weighted_" + _reduction,
        lambda tf, y, p, w, r=_reduction: tf.keras.losses.MeanSquaredError(reduction=r)(y, p, sample_weight=w),
        w=F32(4, 1, low=0, high=1),
        **PAIR
    )
case("huber_float64", lambda tf, y, p: tf.keras.losses.Huber(0.5)(y, p), y=F64(3, 2), p=F64(3, 2))
case("integers", lambda tf, y, p: tf.keras.losses.MeanSquaredError()(y, p), y=I32(4, 2), p=F32(4, 2))
error_case("reduction_unknown", lambda tf: tf.keras.losses.MeanSquaredError(reduction="mean"))
error_case("loss_unknown", lambda tf: tf.keras.losses.get("nothing"))
