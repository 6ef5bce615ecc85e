"""Programs with tf.contrib.learn: functions of the `tf` module and an empty folder that give plain values."""

import numpy as np

from estimator.canned_programs import BINARY, KINDS, X, plain


def inputs(tf, labels):
    return lambda: ({"x": tf.constant(X)}, tf.constant(labels))


def trained(tf, make, labels, folder):
    """Variables with their sums, metrics and predictions of a trained estimator."""
    columns = [tf.contrib.layers.real_valued_column("x", dimension=3)]
    estimator = make(columns, {"model_dir": folder, "config": tf.contrib.learn.RunConfig(tf_random_seed=7)})
    estimator.fit(input_fn=inputs(tf, labels), steps=8)
    values = {name: np.asarray(estimator.get_variable_value(name), np.float64) for name in estimator.get_variable_names()}
    predictions = estimator.predict(input_fn=inputs(tf, labels))
    return {
        "variables": {name: [list(value.shape), float(np.abs(value).sum())] for name, value in values.items()},
        "metrics": plain(estimator.evaluate(input_fn=inputs(tf, labels), steps=1)),
        "predictions": [plain(next(predictions)) for _ in range(5)],
    }


def dnn(tf, folder):
    learn = tf.contrib.learn
    return trained(tf, lambda c, k: learn.DNNClassifier([8, 4], c, n_classes=3, **k), KINDS, folder)


def dnn_regressor(tf, folder):
    return trained(tf, lambda c, k: tf.contrib.learn.DNNRegressor([8], c, dropout=0.2, **k), X[:, :1], folder)


def linear(tf, folder):
    learn = tf.contrib.learn
    return trained(tf, lambda c, k: learn.LinearClassifier(c, **k), BINARY[:, None], folder)


def combined(tf, folder):
    def make(columns, settings):
        return tf.contrib.learn.DNNLinearCombinedClassifier(
            linear_feature_columns=columns, dnn_feature_columns=columns, dnn_hidden_units=[4],
            fix_global_step_increment_bug=True, **settings
        )  # fmt: skip

    return trained(tf, make, BINARY[:, None], folder)


def model(tf):
    """A linear model for tf.contrib.learn.Estimator."""

    def model_fn(features, labels, mode, params):
        weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
        predictions = tf.matmul(features["x"], weights)[:, 0]
        loss = train_op = None
        if mode != tf.contrib.learn.ModeKeys.INFER:
            loss = tf.losses.mean_squared_error(labels, predictions)
            train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
        return tf.contrib.learn.ModelFnOps(mode, {"value": predictions}, loss, train_op)

    return model_fn


def experiment(tf, folder):
    """What learn_runner gives for an Experiment."""
    learn = tf.contrib.learn

    def make(run_config, hparams):
        estimator = learn.Estimator(model(tf), config=run_config, params={"rate": hparams.rate})
        metrics = {"error": learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error, prediction_key="value")}
        data = inputs(tf, X[:, 0])
        return learn.Experiment(estimator, data, data, metrics, train_steps=6, eval_steps=1, min_eval_frequency=0)

    config = learn.RunConfig(model_dir=folder, tf_random_seed=1)
    hparams = tf.contrib.training.HParams(rate=0.1)
    results, exported = learn.learn_runner.run(make, run_config=config, schedule="train_and_evaluate", hparams=hparams)
    return {"results": plain(results), "exported": exported}


def arrays(tf, folder):
    """SKCompat on arrays, in the order in which it shuffles them."""
    learn = tf.contrib.learn
    config = learn.RunConfig(tf_random_seed=1)

    def model_fn(features, labels, mode, params):
        return model(tf)({"x": features}, labels, mode, params)

    estimator = learn.SKCompat(learn.Estimator(model_fn, folder, config, {"rate": 0.1}))
    estimator.fit(X, X[:, 0], batch_size=8, steps=7)
    return {"score": plain(estimator.score(X, X[:, 0], batch_size=48)), "predicted": plain(estimator.predict(X[:4]))}


PROGRAMS = {
    "dnn": dnn, "dnn_regressor": dnn_regressor, "linear": linear, "combined": combined, "experiment": experiment,
    "arrays": arrays,
}  # fmt: skip
