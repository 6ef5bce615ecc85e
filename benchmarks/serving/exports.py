"""Writes the four models as SavedModels: `python exports.py FOLDER`. Runs with TensorFlow 1.15 and under `tfcompat run`."""

import os
import sys

import numpy as np
import tensorflow as tf

WORDS = ["w%d" % i for i in range(300)]
VOCABULARIES = {"c%d" % i: ["v%d" % j for j in range(20)] for i in range(6)}
BUCKETS = ["h0", "h1", "h2"]


def mlp():
    x = hidden = tf.placeholder(tf.float32, [None, 64])
    for _ in range(2):
        hidden = tf.layers.dense(hidden, 256, tf.nn.relu)
    return {"x": x}, {"y": tf.nn.softmax(tf.layers.dense(hidden, 10))}


def cnn():
    x = tf.placeholder(tf.float32, [None, 32, 32, 3])
    hidden = tf.layers.conv2d(x, 16, 3, padding="same", activation=tf.nn.relu)
    for filters in (16, 32, 64):
        shortcut = tf.layers.conv2d(hidden, filters, 1, strides=2)
        hidden = tf.layers.conv2d(hidden, filters, 3, strides=2, padding="same", activation=tf.nn.relu)
        hidden = tf.nn.relu(tf.layers.conv2d(hidden, filters, 3, padding="same") + shortcut)
    return {"x": x}, {"y": tf.nn.softmax(tf.layers.dense(tf.reduce_mean(hidden, [1, 2]), 10))}


def strings():
    text = tf.placeholder(tf.string, [None])
    words = tf.string_split(text)
    ids = tf.SparseTensor(words.indices, tf.string_to_hash_bucket_fast(words.values, 1000), words.dense_shape)
    rows = tf.nn.embedding_lookup_sparse(tf.get_variable("embedding", [1000, 16]), ids, None, combiner="mean")
    scores = tf.nn.softmax(tf.layers.dense(rows, 3))
    names = tf.contrib.lookup.index_to_string_table_from_tensor(tf.constant(["bad", "fair", "good"]))
    return {"text": text}, {"label": names.lookup(tf.argmax(scores, 1)), "scores": scores}


def write(build, folder):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        inputs, outputs = build()
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.simple_save(session, os.path.join(folder, build.__name__, "1"), inputs, outputs, tf.tables_initializer())


def write_wide_and_deep(folder):
    """A DNNLinearCombinedClassifier of 15 columns, exported to take serialized Examples."""
    column = tf.feature_column
    sparse = [column.categorical_column_with_vocabulary_list(key, values) for key, values in VOCABULARIES.items()]
    sparse += [column.categorical_column_with_hash_bucket(key, 100) for key in BUCKETS]
    numbers = [column.numeric_column(key) for key in ("age", "hours")]
    crossed = [column.crossed_column(keys, 500) for keys in (["c0", "c1"], ["h0", "c2"])]
    wide = sparse + crossed + [column.bucketized_column(numbers[0], [20, 30, 40, 50, 60])]
    deep = [column.embedding_column(each, 8) for each in sparse] + numbers
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[64, 32], config=tf.estimator.RunConfig(tf_random_seed=1)
    )
    rng = np.random.RandomState(0)
    features = {key: rng.choice(values, 256) for key, values in VOCABULARIES.items()}
    features.update((key, rng.choice(WORDS, 256)) for key in BUCKETS)
    features.update((key, rng.uniform(18, 70, 256).astype(np.float32)) for key in ("age", "hours"))
    model.train(tf.estimator.inputs.numpy_input_fn(features, rng.randint(0, 2, 256), 64, shuffle=False, num_epochs=1))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(column.make_parse_example_spec(wide + deep))
    made = model.export_saved_model(os.path.join(folder, "wide_and_deep"), receiver)
    os.rename(made, os.path.join(os.path.dirname(made), b"1" if isinstance(made, bytes) else "1"))


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    for build in (mlp, cnn, strings):
        write(build, sys.argv[1])
    write_wide_and_deep(sys.argv[1])
