"""tf.contrib.estimator: SavedModelEstimator, and canned Estimators with annotated layers."""

import importlib
import itertools
import os

import numpy as np

from contrib.outcomes import plain

RTOL = 1e-4
"""Some steps of training in float32."""

X = np.random.RandomState(0).normal(size=(8, 3)).astype(np.float32)
WORDS = ["green", "yellow", "green", "red"] * 2
LABELS = np.array([0, 1, 1, 0] * 2)


def columns(tf):
    kind = tf.feature_column
    words = kind.categorical_column_with_vocabulary_list("word", ["green", "yellow"], num_oov_buckets=1)
    return [kind.numeric_column("x", shape=3), kind.indicator_column(words)]


def inputs(tf, labels=LABELS):
    return lambda: tf.data.Dataset.from_tensors(({"x": X, "word": tf.constant(WORDS)}, labels)).repeat()


def classifier(tf, folder):
    return tf.estimator.DNNClassifier(
        [4], columns(tf), os.path.join(folder, "model"), optimizer=tf.train.GradientDescentOptimizer(0.1),
        config=tf.estimator.RunConfig(tf_random_seed=5),
    )  # fmt: skip


def exported(tf, folder, all_modes=True):
    made = classifier(tf, folder)
    made.train(inputs(tf), steps=3)
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 3]), "word": tf.placeholder(tf.string, [None])}, tf.placeholder(tf.int64, [None])
    )
    serving = tf.estimator.export.build_parsing_serving_input_receiver_fn(tf.feature_column.make_parse_example_spec(columns(tf)))
    if all_modes:
        modes = tf.estimator.ModeKeys
        path = made.experimental_export_all_saved_models(
            os.path.join(folder, "all"), {modes.TRAIN: supervised, modes.EVAL: supervised, modes.PREDICT: serving}
        )
    else:
        path = made.export_saved_model(os.path.join(folder, "one"), serving)
    return path.decode()


def examples(tf):
    def serialized(x, word):
        example = tf.train.Example()
        example.features.feature["x"].float_list.value.extend(x)
        example.features.feature["word"].bytes_list.value.append(word.encode())
        return example.SerializeToString()

    return lambda: {"inputs": tf.constant([serialized(*each) for each in zip(X[:3], WORDS)])}


def saved_model(tf, folder):
    """The same model evaluated, trained on, evaluated again and asked for predictions."""
    path = exported(tf, folder)
    made = tf.contrib.estimator.SavedModelEstimator(path, os.path.join(folder, "new"))
    found = [plain(made.evaluate(inputs(tf), steps=1))]
    made.train(inputs(tf), steps=4)
    found.append(plain(made.evaluate(inputs(tf), steps=2)))
    found += [sorted(made.get_variable_names()), made._available_modes, made.get_variable_value("dnn/logits/kernel")]
    again = tf.contrib.estimator.SavedModelEstimator(path)
    return [*found, plain(list(itertools.islice(again.predict(examples(tf)), 3)))]


def prediction_only(tf, folder):
    made = tf.contrib.estimator.SavedModelEstimator(exported(tf, folder, all_modes=False))
    found = [made._available_modes, plain(list(itertools.islice(made.predict(examples(tf)), 3)))]
    try:
        made.train(inputs(tf), steps=1)
    except RuntimeError:
        return [*found, "refused"]


def other_inputs(tf, folder):
    made = tf.contrib.estimator.SavedModelEstimator(exported(tf, folder))
    return made.evaluate(lambda: tf.data.Dataset.from_tensors(({"x": X}, LABELS)), steps=1)


def other_dtype(tf, folder):
    made = tf.contrib.estimator.SavedModelEstimator(exported(tf, folder))
    return made.evaluate(inputs(tf, LABELS.astype(np.float32)), steps=1)


def no_saved_model(tf, folder):
    return tf.contrib.estimator.SavedModelEstimator(folder)


# ---- annotated layers ----


def early_columns():
    kind = importlib.import_module("tensorflow.python.feature_column.feature_column")
    words = kind._categorical_column_with_vocabulary_list("word", ["green", "yellow"], num_oov_buckets=1)
    return [kind._numeric_column("x", shape=3), kind._indicator_column(words), kind._embedding_column(words, 2)]


def notes(tf, kind, feature_columns, labels, folder):
    config = tf.estimator.RunConfig(tf_random_seed=5)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    made = getattr(tf.contrib.estimator, kind)([4], feature_columns, os.path.join(folder, "model"), optimizer=optimizer, config=config)
    made.train(inputs(tf, labels), steps=3)
    found = [plain(made.evaluate(inputs(tf, labels), steps=1))]
    names = importlib.import_module("tensorflow_estimator.contrib.estimator.python.estimator.dnn_with_layer_annotations").LayerAnnotationsCollectionNames
    serving = tf.estimator.export.build_parsing_serving_input_receiver_fn(tf.feature_column.make_parse_example_spec(feature_columns))
    path = made.export_saved_model(os.path.join(folder, "export"), serving).decode()
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], path)
    for key in (names.UNPROCESSED_FEATURES, names.PROCESSED_FEATURES):
        for collection in (names.keys(key), names.values(key)):
            entry = meta.collection_def[collection]
            infos = []
            for packed in entry.any_list.value:
                info = importlib.import_module("tensorflow.core.protobuf.meta_graph_pb2").TensorInfo()
                packed.Unpack(info)
                infos.append([info.name, info.WhichOneof("encoding"), info.dtype])
            found.append([collection, plain(list(entry.bytes_list.value)), infos])
    return [*found, len(meta.collection_def[names.FEATURE_COLUMNS].bytes_list.value)]


def annotated_classifier(tf, folder):
    return notes(tf, "DNNClassifierWithLayerAnnotations", early_columns(), LABELS, folder)


def annotated_regressor(tf, folder):
    return notes(tf, "DNNRegressorWithLayerAnnotations", early_columns(), X[:, :1], folder)


def newer_columns_have_no_notes(tf, folder):
    return notes(tf, "DNNClassifierWithLayerAnnotations", columns(tf), LABELS, folder)


PROGRAMS = {
    f.__name__: f
    for f in (
        saved_model, prediction_only, other_inputs, other_dtype, no_saved_model, annotated_classifier, annotated_regressor,
        newer_columns_have_no_notes,
    )
}  # fmt: skip
