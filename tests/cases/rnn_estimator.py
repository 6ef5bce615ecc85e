"""tf.contrib.estimator: the graphs of recurrent networks on columns of sequences."""

from cases.table import F32, Table

TABLE = Table("rnn_estimator")
case, error_case = TABLE.case, TABLE.error_case
SETTINGS = dict(seed=4, rtol=1e-4, atol=1e-5, reason="sums in another order", partial=False, grad=False)


def columns(tf):
    words = tf.contrib.feature_column.sequence_categorical_column_with_identity("words", 5)
    numbers = tf.contrib.feature_column.sequence_numeric_column("numbers")
    return [tf.feature_column.embedding_column(words, 2), numbers]


def features(tf, x):
    where = [[0, 0], [0, 1], [1, 0]]
    return {
        "words": tf.SparseTensor(where, tf.constant([3, 1, 2], tf.int64), [2, 2]),
        "numbers": tf.SparseTensor(where, [1.0, 2.0, 3.0], [2, 2]), "x": x,
    }  # fmt: skip


def outcome(tf, estimator, x, mode):
    tf.train.get_or_create_global_step()
    labels = None if mode == "infer" else tf.constant([[1], [0]])
    spec = estimator.model_fn(features(tf, x), labels, mode, estimator.config)
    return {"predictions": spec.predictions} if mode == "infer" else {"loss": spec.loss}


def classifier(tf, x, mode, context=False, **options):
    given = [tf.feature_column.numeric_column("x", 3)] if context else None
    estimator = tf.contrib.estimator.RNNClassifier(columns(tf), given, model_dir="/nowhere", **options)
    return outcome(tf, estimator, x, mode)


def by_function(tf, x):
    head = tf.contrib.estimator.regression_head()
    cell = lambda mode: tf.nn.rnn_cell.GRUCell(3 if mode == "train" else 4)
    estimator = tf.contrib.estimator.RNNEstimator(head, columns(tf), rnn_cell_fn=cell, model_dir="/nowhere", optimizer=tf.train.GradientDescentOptimizer(0.1))
    return outcome(tf, estimator, x, "train")


X = F32(2, 3)
for _mode in ("train", "eval", "infer"):
    case("classifier_" + _mode, lambda tf, x, m=_mode: classifier(tf, x, m, num_units=[4]), x=X, **SETTINGS)
case("classifier_context", lambda tf, x: classifier(tf, x, "train", True, num_units=[3, 2], cell_type="lstm"), x=X, **SETTINGS)
case("classifier_gru", lambda tf, x: classifier(tf, x, "train", num_units=[3], cell_type="gru", n_classes=3, optimizer="Adam"), x=X, **SETTINGS)
case("estimator_cell_fn", by_function, x=X, **SETTINGS)
error_case("cell_type", lambda tf, x: classifier(tf, x, "train", num_units=[3], cell_type=None), x=X, same_words=True)
error_case("both", lambda tf, x: classifier(tf, x, "train", num_units=[3], rnn_cell_fn=len), x=X, same_words=True)
