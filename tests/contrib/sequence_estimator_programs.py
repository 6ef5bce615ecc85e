"""Estimators of sequences of tf.contrib.learn, exports in the format before SavedModels, and predictors of such estimators."""

import importlib
import os

import numpy as np

RTOL = 2e-4
"""float32 over some steps of training."""


def numbers(values):
    return {str(key): np.asarray(value, np.float32) for key, value in sorted(values.items())}


def sequences(tf, labels):
    """Two sequences of four steps: numbers, words (sums of embeddings) and a word for each sequence."""

    def input_fn():
        words = [[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 2, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 2, 0]]
        features = {
            "measurement": tf.reshape(tf.range(16, dtype=tf.float32) / 10, [2, 4, 2]),
            "word": tf.SparseTensor(words, ["x", "x", "z", "x", "y", "x", "x", "y"], [2, 4, 2]),
            "place": tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1]),
            "sequence_length": tf.constant([3, 4]),
        }
        return features, tf.constant(labels)

    return input_fn


def columns(tf):
    layers = tf.contrib.layers
    words = layers.sparse_column_with_keys("word", ["x", "y", "z"])
    places = layers.sparse_column_with_keys("place", ["a", "b", "c"])
    return [layers.real_valued_column("measurement", dimension=2), layers.embedding_column(words, dimension=8)], [layers.one_hot_column(places)]


def dynamic(tf, folder, prediction_type, labels, **settings):
    of_steps, of_sequences = columns(tf)
    config = tf.contrib.learn.RunConfig(tf_random_seed=3)
    estimator = tf.contrib.learn.DynamicRnnEstimator(
        prediction_type=prediction_type, sequence_feature_columns=of_steps, context_feature_columns=of_sequences, model_dir=folder, config=config,
        **settings
    )  # fmt: skip
    data = sequences(tf, labels)
    estimator.fit(input_fn=data, steps=12)
    metrics = estimator.evaluate(input_fn=data, steps=1)
    predicted = estimator.predict(input_fn=data)
    names = [[name, list(estimator.get_variable_value(name).shape)] for name in sorted(estimator.get_variable_names())]
    return {"names": names, "metrics": numbers(metrics), "predicted": [numbers(next(predicted)) for _ in range(2)]}


def each_step(tf, folder):
    return dynamic(
        tf, folder, 2, [[0, 1, 1, 0], [1, 0, 1, 0]], problem_type=tf.contrib.learn.ProblemType.CLASSIFICATION, num_classes=3, num_units=[5, 4],
        cell_type="lstm", predict_probabilities=True,
    )  # fmt: skip


def one_class(tf, folder):
    return dynamic(
        tf, folder, 1, [0, 1], problem_type=tf.contrib.learn.ProblemType.CLASSIFICATION, num_classes=2, num_units=4, cell_type="gru",
        optimizer="Momentum", learning_rate=0.05, momentum=0.8, predict_probabilities=True,
    )  # fmt: skip


def one_number(tf, folder):
    return dynamic(tf, folder, 1, [[0.5], [-1.0]], problem_type=tf.contrib.learn.ProblemType.LINEAR_REGRESSION, num_units=3, learning_rate=0.003)


def segments(tf, folder):
    """The model of StateSavingRnnEstimator on one long sequence, segment after segment."""
    module = importlib.import_module("tensorflow.contrib.learn.python.learn.estimators.state_saving_rnn_estimator")
    column = tf.contrib.layers.real_valued_column("measurement", dimension=2)
    estimator = module.StateSavingRnnEstimator(
        tf.contrib.learn.ProblemType.LINEAR_REGRESSION, num_unroll=3, batch_size=1, sequence_feature_columns=[column], num_units=[4],
        cell_type="lstm", model_dir=folder, config=tf.contrib.learn.RunConfig(tf_random_seed=3), num_threads=1, queue_capacity=8, seed=1,
    )  # fmt: skip

    def input_fn():
        steps = tf.reshape(tf.range(16, dtype=tf.float32) / 10, [8, 2])
        return {"measurement": steps}, tf.range(8, dtype=tf.float32) / 8

    estimator.fit(input_fn=input_fn, steps=6)
    names = [[name, list(estimator.get_variable_value(name).shape)] for name in sorted(estimator.get_variable_names())]
    weights = estimator.get_variable_value("fully_connected/weights")
    return {"names": names, "weights": np.abs(weights).sum()}


def refused(tf, folder):
    """What each wrong argument raises."""
    common = importlib.import_module("tensorflow.contrib.learn.python.learn.estimators.rnn_common")
    problem = tf.contrib.learn.ProblemType
    make = tf.contrib.learn.DynamicRnnEstimator
    column = [tf.contrib.layers.real_valued_column("x")]
    found = []
    for call in (
        lambda: make(problem.CLASSIFICATION, 1, column, num_units=2),
        lambda: make(problem.LOGISTIC_REGRESSION, 1, column, num_units=2),
        lambda: make(problem.LINEAR_REGRESSION, 3, column, num_units=2),
        lambda: make(problem.LINEAR_REGRESSION, 1, column, num_units=2, predict_probabilities=True),
        lambda: common.construct_rnn_cell(3, "other"),
        lambda: common.construct_rnn_cell([3, 4], "gru", [0.5, 0.5]),
    ):
        try:
            call()
        except (TypeError, ValueError) as error:
            found.append(type(error).__name__)
    return found


# ---- exports ----


def linear(tf, folder):
    """A linear regression of two numbers that has been trained, and its column."""
    column = tf.contrib.layers.real_valued_column("x", dimension=2)
    config = tf.contrib.learn.RunConfig(tf_random_seed=3)
    estimator = tf.contrib.learn.LinearRegressor([column], model_dir=os.path.join(folder, "model"), config=config)
    data = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)

    def input_fn():
        return {"x": tf.constant(data)}, tf.constant(data[:, :1] * 2)

    estimator.fit(input_fn=input_fn, steps=6)
    return estimator, column, input_fn


def example(tf, values):
    made = tf.train.Example()
    made.features.feature["x"].float_list.value.extend(values)
    return made.SerializeToString()


def exported(tf, folder):
    """The default export of a regression, loaded and run; and an ExportMonitor's with a signature and a key."""
    manifest_pb2 = importlib.import_module("tensorflow.contrib.session_bundle.manifest_pb2")
    estimator, column, input_fn = linear(tf, folder)
    path = estimator.export(os.path.join(folder, "export"), default_batch_size=None).decode()
    tf.reset_default_graph()
    saver, session, signatures = tf.train.import_meta_graph(os.path.join(path, "export.meta")), tf.Session(), manifest_pb2.Signatures()
    saver.restore(session, os.path.join(path, "export"))
    tf.get_collection("serving_signatures")[0].Unpack(signatures)
    session.run(tf.get_collection("serving_init_op"))
    found = signatures.default_signature.regression_signature
    served = session.run(found.output.tensor_name, {found.input.tensor_name: [example(tf, [0.5, -0.25]), example(tf, [1, 2])]})

    def serving():
        return {"raw": tf.placeholder(tf.string), "x": tf.ones([1, 2])}, None

    export = importlib.import_module("tensorflow.contrib.learn.python.learn.utils.export")
    monitor = tf.contrib.learn.monitors.ExportMonitor(
        3, os.path.join(folder, "monitored"), serving, "raw", exports_to_keep=1,
        signature_fn=lambda examples, features, scores: export.generic_signature_fn(examples, features, {"scores": scores}),
    )  # fmt: skip
    estimator.fit(input_fn=input_fn, steps=4, monitors=[monitor])
    return {
        "served": served, "version": os.path.basename(path), "input": found.input.tensor_name,
        "last": os.path.basename(monitor.last_export_dir.decode()), "kept": sorted(os.listdir(monitor.export_dir)),
    }  # fmt: skip


def signatures(tf, folder):
    """The signature of each function, as text, and what wrong arguments raise."""
    export = importlib.import_module("tensorflow.contrib.learn.python.learn.utils.export")
    examples, two = tf.placeholder(tf.string, [None], "examples"), tf.placeholder(tf.float32, [None, 2], "two")
    predictions = {"classes": tf.identity(two, "classes"), "probabilities": two}
    generic = export.generic_signature_fn(examples, None, two)[0].generic_signature.map
    found = [
        sorted([key, generic[key].tensor_name] for key in generic),
        str(export.classification_signature_fn(examples, None, predictions)[0]),
        str(export.classification_signature_fn_with_prob(examples, None, predictions)[0]),
        str(export.regression_signature_fn(examples, None, two)[0]),
        str(export.logistic_regression_signature_fn(examples, None, two)[0]),
    ]
    for name in ("generic", "classification", "regression", "logistic_regression"):
        try:
            getattr(export, name + "_signature_fn")(None, None, two)
        except ValueError as error:
            found.append(str(error))
    return found


def predictor(tf, folder):
    """A predictor of a trained regression, by features and by serialized examples."""
    estimator, column, _ = linear(tf, folder)
    spec = tf.contrib.layers.create_feature_spec_for_parsing([column])
    utils = importlib.import_module("tensorflow.contrib.learn.python.learn.utils.input_fn_utils")
    serving = utils.build_parsing_serving_input_fn(spec)
    made = tf.contrib.predictor.from_contrib_estimator(estimator, serving)
    fed = {key: [example(tf, [0.5, -0.25])] for key in made.feed_tensors}
    return {"keys": sorted(made.feed_tensors), "values": numbers(made(fed))}


PROGRAMS = {
    "each_step": each_step, "one_class": one_class, "one_number": one_number, "segments": segments, "refused": refused, "exported": exported,
    "signatures": signatures, "predictor": predictor,
}  # fmt: skip
