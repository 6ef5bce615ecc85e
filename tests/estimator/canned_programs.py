"""Heads and canned estimators: functions of the `tf` module that give plain values."""

import numpy as np

MODES = ("train", "eval", "infer")
THREE = [[1.0, 2.0, -1.0], [0.0, 0.5, 3.0]]
ONE = [[1.0], [-2.0]]
TWO = [[1.0, 3.0], [-2.0, 0.0]]
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(48, 3).astype(np.float32)
WORDS = np.array(["a", "b", "c", "d"])[RANDOM.randint(0, 4, 48)]
NUMBERS = RANDOM.randint(0, 10, 48).astype(np.float32)
BINARY = (X.sum(1) > 0).astype(np.int64)
KINDS = RANDOM.randint(0, 3, 48)


def sparse_names(tf):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [b"c", b"a", b"b"], [2, 2])


def both_labels(tf):
    return {"r": tf.constant([[1.0], [2.0]]), "b": tf.constant([[1.0], [0.0]])}


def v1(tf):
    """Name -> head of tf.contrib.estimator, logits, labels, features, whether there are regularization losses."""
    e, s = tf.contrib.estimator, tf.losses.Reduction
    w = {"w": [1.0, 2.0]}
    words = ["a", "b", "c"]
    return {
        "classes": (lambda: e.multi_class_head(3, loss_reduction=s.SUM), THREE, [[1], [0]], {}, False),
        "named_classes": (
            lambda: e.multi_class_head(3, weight_column="w", label_vocabulary=words, name="n"), THREE, [b"b", b"a"], w, True,
        ),
        "binary": (lambda: e.binary_classification_head(thresholds=[0.3, 0.7]), ONE, [[1.0], [1.0]], {}, False),
        "named_binary": (
            lambda: e.binary_classification_head("w", label_vocabulary=["x", "y"], loss_reduction=s.MEAN, name="b"),
            ONE, [b"x", b"y"], {"w": [[1.0], [2.0]]}, True,
        ),
        "regression": (lambda: e.regression_head("w", 2, loss_reduction=s.SUM), TWO, TWO[::-1], {"w": [[1.0], [2.0]]}, False),
        "poisson": (lambda: e.poisson_regression_head(name="p"), ONE, [[1.0], [1.0]], {}, False),
        "logistic": (lambda: e.logistic_regression_head(), ONE, [[1.0], [0.5]], {}, False),
        "labels": (
            lambda: e.multi_label_head(3, thresholds=[0.4], classes_for_class_based_metrics=[0, 2]),
            THREE, [[1, 0, 1], [0, 0, 1]], {}, True,
        ),
        "sparse_labels": (
            lambda: e.multi_label_head(3, "w", label_vocabulary=words, classes_for_class_based_metrics=["b"], name="q"),
            THREE, sparse_names, w, False,
        ),
        "several": (
            lambda: e.multi_head([e.regression_head(name="r"), e.binary_classification_head(name="b")], [1.0, 0.5]),
            TWO, both_labels, {}, False,
        ),
    }  # fmt: skip


def v2(tf):
    """The same with the heads of tf.estimator."""
    e = tf.estimator
    w = {"w": [1.0, 2.0]}
    words = ["a", "b", "c"]
    return {
        "classes": (lambda: e.MultiClassHead(3), THREE, [[1], [0]], {}, False),
        "named_classes": (
            lambda: e.MultiClassHead(3, weight_column="w", label_vocabulary=words, name="n"), THREE, [b"b", b"a"], w, True,
        ),
        "binary": (lambda: e.BinaryClassHead(thresholds=[0.3, 0.7]), ONE, [[1.0], [1.0]], {}, False),
        "named_binary": (
            lambda: e.BinaryClassHead("w", label_vocabulary=["x", "y"], loss_reduction="sum", name="b"),
            ONE, [b"x", b"y"], {"w": [[1.0], [2.0]]}, True,
        ),
        "regression": (lambda: e.RegressionHead(2, "w"), TWO, TWO[::-1], {"w": [[1.0], [2.0]]}, False),
        "poisson": (lambda: e.PoissonRegressionHead(name="p"), ONE, [[1.0], [1.0]], {}, False),
        "logistic": (lambda: e.LogisticRegressionHead(), ONE, [[1.0], [0.5]], {}, False),
        "labels": (
            lambda: e.MultiLabelHead(3, thresholds=[0.4], classes_for_class_based_metrics=[0, 2]),
            THREE, [[1, 0, 1], [0, 0, 1]], {}, True,
        ),
        "sparse_labels": (
            lambda: e.MultiLabelHead(3, "w", label_vocabulary=words, classes_for_class_based_metrics=["b"], name="q"),
            THREE, sparse_names, w, False,
        ),
        "several": (
            lambda: e.MultiHead([e.RegressionHead(name="r"), e.BinaryClassHead(name="b")], [1.0, 0.5]),
            TWO, both_labels, {}, False,
        ),
    }  # fmt: skip


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


def head_outcome(tf, case, mode, second):
    """Forward nodes, predictions, loss, metrics, summaries, exported outputs and trained logits of a head."""
    make, logits, labels, features, regularized = case
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step()
        head = make()
        variable = tf.get_variable("given", initializer=np.array(logits, np.float32), use_resource=True)
        labels = labels(tf) if callable(labels) else tf.constant(labels)
        settings = {}
        if regularized:
            settings["regularization_losses"] = [tf.constant(1.5), tf.constant(0.5)]
        if mode == "train":
            settings["optimizer"] = (tf.keras.optimizers.SGD if second else tf.train.GradientDescentOptimizer)(0.1)
        if second:
            settings["trainable_variables"] = [variable]
        features = {key: tf.constant(value) for key, value in features.items()}
        labels = None if mode == "infer" else labels
        spec = head.create_estimator_spec(features, mode, variable + 0.0, labels, **settings)
        backward = ("gradients", "GradientDescent", "training", "SGD")
        nodes = [
            [op.type, op.name]
            for op in graph.get_operations()
            if not any(part.startswith(backward) for part in op.name.split("/"))
        ]
        found = {"nodes": nodes}
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            found["predictions"] = plain(session.run(spec.predictions))
            if mode == "infer":
                found["exported"] = {str(k): type(v).__name__ for k, v in spec.export_outputs.items()}
            else:
                found["loss"] = plain(session.run(spec.loss))
            if mode == "eval":
                session.run([update for _, update in spec.eval_metric_ops.values()])
                found["metrics"] = plain(session.run({k: value for k, (value, _) in spec.eval_metric_ops.items()}))
            if mode == "train":
                summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))
                found["summaries"] = {value.tag: value.simple_value for value in summary.value}
                session.run(spec.train_op)
                found["trained"] = plain(session.run(variable))
    return found


def columns(tf):
    c = tf.feature_column
    x = c.numeric_column("x", shape=(3,))
    word = c.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    number = c.bucketized_column(c.numeric_column("number"), [2.0, 5.0, 8.0])
    linear = [x, word, number, c.crossed_column(["word", number], 20)]
    hashed = c.categorical_column_with_hash_bucket("word", 10)
    return linear, [x, c.indicator_column(word), c.embedding_column(hashed, 4), number]


def canned(tf):
    """Name -> function of columns and settings that gives an estimator, and labels."""
    e = tf.estimator
    combined = {"dnn_hidden_units": [8, 4]}
    return {
        "linear": (lambda c, k: e.LinearClassifier(c[0], **k), BINARY),
        "linear_3": (lambda c, k: e.LinearClassifier(c[0], n_classes=3, weight_column="number", **k), KINDS),
        "linear_regressor": (lambda c, k: e.LinearRegressor(c[0], optimizer="SGD", sparse_combiner="mean", **k), X[:, :1]),
        "dnn": (
            lambda c, k: e.DNNClassifier([8, 4], c[1], label_vocabulary=["no", "yes"], **k), np.array(["no", "yes"])[BINARY],
        ),
        "dnn_3": (
            lambda c, k: e.DNNClassifier(
                [8, 4], c[1], n_classes=3, dropout=0.3, batch_norm=True, optimizer=lambda: tf.train.RMSPropOptimizer(0.01), **k
            ), KINDS,
        ),
        "dnn_regressor": (lambda c, k: e.DNNRegressor([8], c[1], activation_fn=tf.nn.tanh, **k), X[:, :1]),
        "combined": (
            lambda c, k: e.DNNLinearCombinedClassifier(
                linear_feature_columns=c[0], dnn_feature_columns=c[1], **dict(combined, **k)
            ), BINARY,
        ),
        "combined_regressor": (
            lambda c, k: e.DNNLinearCombinedRegressor(
                linear_feature_columns=c[0], dnn_feature_columns=c[1], **dict(combined, **k)
            ), X[:, :1],
        ),
        "baseline": (lambda c, k: e.BaselineClassifier(**k), BINARY),
        "baseline_3": (lambda c, k: e.BaselineClassifier(n_classes=3, **k), KINDS),
        "baseline_regressor": (lambda c, k: e.BaselineRegressor(**k), X[:, :1]),
    }  # fmt: skip


def canned_outcome(tf, case, folder):
    """Variables with their sums, metrics and a prediction of a trained estimator."""
    make, labels = case

    def inputs(y):
        features = {"x": X, "word": WORDS, "number": NUMBERS}
        return tf.estimator.inputs.numpy_input_fn(features, y, batch_size=16, num_epochs=4, shuffle=False)

    estimator = make(columns(tf), {"model_dir": folder, "config": tf.estimator.RunConfig(tf_random_seed=7)})
    estimator.train(inputs(labels), steps=10)
    values = {name: np.asarray(estimator.get_variable_value(name), np.float64) for name in estimator.get_variable_names()}
    return {
        "variables": {name: [list(value.shape), float(np.abs(value).sum())] for name, value in values.items()},
        "metrics": plain(estimator.evaluate(inputs(labels), steps=3)),
        "prediction": plain(next(estimator.predict(inputs(None)))),
    }
