"""tf.feature_column, its layers, and tf.contrib.feature_column: nodes, collections and values."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("feature_column")
case, error_case = TABLE.case, TABLE.error_case

WORDS = dict(
    i=np.array([[0, 0], [1, 0], [1, 1], [3, 0]], np.int64),
    v=np.array(["a", "b", "zz", "c"], object),
    s=np.array([4, 2], np.int64),
)
IDS = dict(
    i=np.array([[0, 0], [1, 0], [1, 1], [3, 0]], np.int64), v=np.array([2, 0, 2, 1], np.int64), s=np.array([4, 2], np.int64)
)
PRICE = F32(4, 1, low=-3.0, high=12.0)
COLORS = np.array([["R"], ["G"], [""], ["other"]], object)
NUMBERS = np.array([[3], [-1], [0], [2]], np.int64)


def sparse(tf, i, v, s):
    """A SparseTensor of placeholders."""
    return tf.SparseTensor(i, v, s)


def prepared(tf, session, outputs, feed):
    """Fetches after the tables are filled."""
    session.run(tf.tables_initializer())
    return session.run(outputs, feed)


def input_layer(name, columns, run=None, seed=1, grad=None, **inputs):
    """A row for input_layer, one for DenseFeatures and one for its form of TensorFlow 2; columns(tf, fc, features)."""

    def build(layer):
        def outputs(tf, **placeholders):
            features = {}
            made = columns(tf, tf.feature_column, features, **placeholders)
            return layer(tf)(features, made)

        return outputs

    for kind, layer in (
        ("input_layer", lambda tf: tf.feature_column.input_layer),
        ("dense_features", lambda tf: lambda features, made: tf.keras.layers.DenseFeatures(made)(features)),
        ("dense_features_v2", lambda tf: lambda features, made: tf.compat.v2.keras.layers.DenseFeatures(made)(features)),
    ):
        case(kind + "_" + name, build(layer), run=run, seed=seed, grad=grad, partial=False, **dict(inputs))


def linear_model(name, columns, run=None, grad=None, **inputs):
    """Rows for linear_model of a column, with one output and with two."""

    def build(units, combiner):
        def outputs(tf, **placeholders):
            features = {}
            made = columns(tf, tf.feature_column, features, **placeholders)
            return tf.feature_column.linear_model(features, made, units=units, sparse_combiner=combiner)

        return outputs

    for units, combiner in ((1, "sum"), (2, "mean")):
        case("linear_%s_%d" % (name, units), build(units, combiner), run=run, seed=1, grad=grad, partial=False, **dict(inputs))


def both(name, dense, categorical, run=None, **inputs):
    """The rows of input_layer for dense(fc, column) and those of linear_model for a column of ids."""
    input_layer(name, lambda tf, fc, f, **p: dense(fc, categorical(tf, fc, f, **p)), run=run, **dict(inputs))
    linear_model(name, categorical, run=run, **dict(inputs))


def indicator(fc, column):
    return fc.indicator_column(column)


def embedding(fc, column):
    return fc.embedding_column(column, 3)


def with_price(make):
    """columns(tf, fc, features, price) of a numeric column."""

    def columns(tf, fc, features, price):
        features["price"] = price
        return make(fc, fc.numeric_column("price", normalizer_fn=lambda x: x / 2.0 - 1.0))

    return columns


def with_words(make):
    """columns(tf, fc, features, i, v, s) of a column over a SparseTensor of strings."""

    def columns(tf, fc, features, i, v, s):
        features["words"] = sparse(tf, i, v, s)
        return make(fc)

    return columns


# ---- numbers ----

input_layer("numeric", with_price(lambda fc, price: price), price=PRICE)
linear_model("numeric", with_price(lambda fc, price: price), price=PRICE)
input_layer("bucketized", with_price(lambda fc, price: fc.bucketized_column(price, [-1.0, 0.0, 3.5])), price=PRICE)
linear_model("bucketized", with_price(lambda fc, price: fc.bucketized_column(price, [-1.0, 0.0, 3.5])), price=PRICE)


def matrix(tf, fc, features, x):
    features["x"] = x
    return [fc.numeric_column("x", shape=(2, 3)), fc.bucketized_column(fc.numeric_column("y", shape=2), [0.0, 1.0])]


def matrix_and_buckets(tf, fc, features, x, y):
    features["y"] = y
    return matrix(tf, fc, features, x)


input_layer("shapes", matrix_and_buckets, x=F32(4, 2, 3), y=F32(4, 2))
linear_model("shapes", matrix_and_buckets, x=F32(4, 2, 3), y=F32(4, 2))


def integers(tf, fc, features, x):
    features["x"] = x
    return fc.numeric_column("x", dtype=tf.int32, default_value=3)


input_layer("integers", integers, x=np.array([[1], [2], [5]], np.int32))
input_layer("vector_feature", integers, x=np.array([1, 2, 5], np.int32))

# ---- ids ----

hashed = with_words(lambda fc: fc.categorical_column_with_hash_bucket("words", 7))
both("hashed", embedding, hashed, **WORDS)
input_layer("hashed_indicator", lambda tf, fc, f, **p: indicator(fc, hashed(tf, fc, f, **p)), **WORDS)
listed = with_words(lambda fc: fc.categorical_column_with_vocabulary_list("words", ["a", "b"], num_oov_buckets=2))
both("listed", indicator, listed, run=prepared, **WORDS)
listed_default = with_words(lambda fc: fc.categorical_column_with_vocabulary_list("words", ["a", "b"], default_value=1))
both("listed_default", indicator, listed_default, run=prepared, **WORDS)


def dense_words(tf, fc, features, words):
    features["words"] = words
    return fc.categorical_column_with_vocabulary_list("words", ["R", "G", "B"])


both("dense_words", embedding, dense_words, run=prepared, words=COLORS)


def identity(default):
    def columns(tf, fc, features, i, v, s):
        features["ids"] = sparse(tf, i, v, s)
        return fc.categorical_column_with_identity("ids", 5, default_value=default)

    return columns


both("identity", indicator, identity(None), **IDS)
both("identity_default", embedding, identity(4), **dict(IDS, v=np.array([2, 9, -3, 1], np.int64)))


def too_large(tf, i, v, s):
    features = {}
    column = identity(None)(tf, tf.feature_column, features, i, v, s)
    return tf.feature_column.linear_model(features, column)


error_case("identity_too_large", too_large, **dict(IDS, v=np.array([2, 9, 0, 1], np.int64)))


def dense_ids(tf, fc, features, ids):
    features["ids"] = ids
    return fc.categorical_column_with_identity("ids", 5)


both("dense_ids", indicator, dense_ids, ids=NUMBERS)
input_layer("vector_ids", lambda tf, fc, f, ids: indicator(fc, dense_ids(tf, fc, f, ids)), ids=NUMBERS[:, 0])
both(
    "integer_hash",
    embedding,
    lambda tf, fc, f, ids: f.update(ids=ids) or fc.categorical_column_with_hash_bucket("ids", 6, dtype=tf.int64),
    ids=NUMBERS,
)


def weighted(tf, fc, features, i, v, s, w):
    features.update(words=sparse(tf, i, v, s), weights=sparse(tf, i, w, s))
    column = fc.categorical_column_with_hash_bucket("words", 40)
    return fc.weighted_categorical_column(column, "weights")


WEIGHTED = dict(WORDS, w=np.array([0.5, 2.0, -1.0, 3.0], np.float32))
both("weighted", lambda fc, column: fc.embedding_column(column, 3, combiner="sum"), weighted, **WEIGHTED)


def weighted_ids(tf, fc, features, i, v, s, w):
    features.update(ids=sparse(tf, i, v, s), weights=sparse(tf, i, w, s))
    return fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 4), "weights")


input_layer(
    "weighted_indicator",
    lambda tf, fc, f, **p: indicator(fc, weighted_ids(tf, fc, f, **p)),
    **dict(IDS, v=np.array([2, 0, 3, 1], np.int64), w=np.array([0.5, 2.0, -1.0, 3.0], np.float32)),
)  # fmt: skip


def crossed(tf, fc, features, price, i, v, s, ids):
    features.update(price=price, words=sparse(tf, i, v, s), ids=ids)
    bucket = fc.bucketized_column(fc.numeric_column("price"), [0.0, 5.0])
    inner = fc.crossed_column(["words", bucket], 9)
    return fc.crossed_column([inner, fc.categorical_column_with_identity("ids", 5)], 11, hash_key=3)


both("crossed", embedding, crossed, price=PRICE, ids=NUMBERS, **WORDS)


def several(tf, fc, features, price, i, v, s, ids):
    features.update(price=price, words=sparse(tf, i, v, s), ids=ids)
    ids = fc.categorical_column_with_identity("ids", 5)
    return [
        fc.numeric_column("price"),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("words", 7), 2, combiner="sqrtn", max_norm=0.3),
        fc.indicator_column(ids),
        fc.embedding_column(ids, 4, combiner="sum", initializer=tf.ones_initializer(), trainable=False),
    ]


input_layer("several", several, price=PRICE, ids=NUMBERS, **WORDS)
linear_model("several", several, price=PRICE, ids=NUMBERS, **WORDS)


# ---- scopes, shared tables, earlier interface ----


def shared(tf, i, v, s, ids):
    """Two columns with one table, in input_layer twice and in DenseFeatures."""
    fc = tf.feature_column
    columns = [fc.categorical_column_with_identity(name, 5) for name in ("b", "a")]
    features = {"a": sparse(tf, i, v, s), "b": ids}
    made = fc.shared_embedding_columns(columns, 2)
    one, again = fc.input_layer(features, made), fc.input_layer(features, made[:1])
    shared_v2 = tf.compat.v2.feature_column.shared_embeddings(columns, 3, combiner="sum")
    return one, again, tf.keras.layers.DenseFeatures(shared_v2)(features)


case("shared", shared, seed=2, partial=False, ids=NUMBERS, **IDS)


def variables_of_columns(tf, price, ids):
    """What cols_to_vars and cols_to_output_tensors get, inside a partitioned scope."""
    fc = tf.feature_column
    numbers, column = fc.numeric_column("price"), fc.categorical_column_with_identity("ids", 5)
    features, found, tensors = {"price": price, "ids": ids}, {}, {}
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        columns = [fc.embedding_column(column, 2), numbers]
        fc.input_layer(features, columns, cols_to_vars=found, cols_to_output_tensors=tensors, trainable=False)
        linear = {}
        fc.linear_model(features, [column, numbers], cols_to_vars=linear, weight_collections=["mine"])
    names = [sorted((str(getattr(c, "name", c)), [v.name for v in vs]) for c, vs in d.items()) for d in (found, linear)]
    kept = [[v.name for v in tf.get_collection(key)] for key in ("mine", "model_variables", "trainable_variables")]
    return [tensors[numbers], tensors[columns[0]]], tf.constant(str(names)), tf.constant(str(kept))


case("variables_of_columns", variables_of_columns, grad=False, seed=3, partial=False, price=PRICE, ids=NUMBERS)


def parse_specs(tf):
    fc = tf.feature_column
    column = fc.categorical_column_with_hash_bucket("words", 7)
    specs = fc.make_parse_example_spec(
        [
            fc.numeric_column("x", shape=(2,), default_value=1.5),
            fc.bucketized_column(fc.numeric_column("y", dtype=tf.int64), [1, 2]),
            fc.embedding_column(fc.weighted_categorical_column(column, "w"), 2),
            fc.crossed_column(["words", "more"], 5),
            fc.indicator_column(fc.categorical_column_with_identity("ids", 5)),
        ]
    )
    return tf.constant(str(sorted((key, type(spec).__name__, str(spec)) for key, spec in specs.items())))


case("parse_specs", parse_specs, grad=False)

# ---- sequences ----

STEPS = dict(
    i=np.array([[0, 0], [1, 0], [1, 1], [3, 0]], np.int64), v=np.array([2, 0, 2, 1], np.int64), s=np.array([4, 2], np.int64)
)


def sequence(module):
    """The embedding and counts of steps by SequenceFeatures or by contrib's sequence_input_layer."""

    def outputs(tf, i, v, s):
        features = {"ids": sparse(tf, i, v, s)}
        fc = tf.feature_column
        if module == "contrib":
            column = tf.contrib.feature_column.sequence_categorical_column_with_identity("ids", 3)
            return tf.contrib.feature_column.sequence_input_layer(features, [fc.embedding_column(column, 2)])
        column = fc.sequence_categorical_column_with_identity("ids", 3)
        columns = [fc.embedding_column(column, 2), fc.indicator_column(column)]
        return tf.keras.experimental.SequenceFeatures(columns)(features)

    return outputs


for module in ("contrib", "keras"):
    case("sequence_" + module, sequence(module), seed=4, partial=False, **STEPS)


def sequence_numbers(tf, i, v, s):
    features = {"x": sparse(tf, i, v, s)}
    core = tf.feature_column.sequence_numeric_column("x", shape=2, normalizer_fn=lambda x: x * 2.0)
    contrib = tf.contrib.feature_column.sequence_numeric_column("x", default_value=-1.0)
    layer = tf.keras.experimental.SequenceFeatures([core])
    return layer(features), tf.contrib.feature_column.sequence_input_layer(features, [contrib])


case(
    "sequence_numbers", sequence_numbers, grad=False, partial=False, i=np.array([[0, 0], [0, 1], [1, 0], [1, 3]], np.int64),
    v=np.array([1.0, 2.0, 3.0, 4.0], np.float32), s=np.array([3, 4], np.int64),
)  # fmt: skip

# ---- columns for TPUEstimator, which are ordinary ones on other devices ----


def tpu_columns(tf, ids, i, v, s):
    fc, tpu = tf.feature_column, tf.tpu.experimental
    number, other = (fc.categorical_column_with_identity(name, 5) for name in ("ids", "other"))
    columns = [tpu.embedding_column(number, 2, combiner="sum")] + tpu.shared_embedding_columns([number, other], 3)
    features = {"ids": ids, "other": sparse(tf, i, v, s)}
    sizes = [(c.get_embedding_table_size(), c.get_feature_key_name(), c.get_embedding_var_name()) for c in columns]
    return tf.keras.layers.DenseFeatures(columns)(features), tf.constant(str(sizes))


case("tpu_columns", tpu_columns, seed=5, partial=False, ids=NUMBERS, **IDS)

# ---- errors ----

ERRORS = {
    "no_dimension": lambda fc, tf: fc.embedding_column(fc.categorical_column_with_identity("a", 2), 0),
    "checkpoint_alone": lambda fc, tf: fc.embedding_column(fc.categorical_column_with_identity("a", 2), 2, ckpt_to_load_from="x"),
    "initializer": lambda fc, tf: fc.embedding_column(fc.categorical_column_with_identity("a", 2), 2, initializer="zeros"),
    "hash_size": lambda fc, tf: fc.categorical_column_with_hash_bucket("a", 0),
    "hash_dtype": lambda fc, tf: fc.categorical_column_with_hash_bucket("a", 3, dtype=tf.float32),
    "key": lambda fc, tf: fc.numeric_column(7),
    "shape": lambda fc, tf: fc.numeric_column("a", shape=[1.0]),
    "shape_zero": lambda fc, tf: fc.numeric_column("a", shape=0),
    "default_shape": lambda fc, tf: fc.numeric_column("a", shape=3, default_value=[1, 2]),
    "default_dtype": lambda fc, tf: fc.numeric_column("a", dtype=tf.int32, default_value=1.5),
    "numeric_dtype": lambda fc, tf: fc.numeric_column("a", dtype=tf.string),
    "normalizer": lambda fc, tf: fc.numeric_column("a", normalizer_fn="no"),
    "unsorted": lambda fc, tf: fc.bucketized_column(fc.numeric_column("a"), [2.0, 1.0]),
    "no_boundaries": lambda fc, tf: fc.bucketized_column(fc.numeric_column("a"), []),
    "bucketized_ids": lambda fc, tf: fc.bucketized_column(fc.categorical_column_with_identity("a", 2), [1.0]),
    "bucketized_matrix": lambda fc, tf: fc.bucketized_column(fc.numeric_column("a", shape=(2, 2)), [1.0]),
    "vocabulary_empty": lambda fc, tf: fc.categorical_column_with_vocabulary_list("a", []),
    "vocabulary_repeats": lambda fc, tf: fc.categorical_column_with_vocabulary_list("a", ["x", "x"]),
    "vocabulary_both": lambda fc, tf: fc.categorical_column_with_vocabulary_list("a", ["x"], default_value=0, num_oov_buckets=1),
    "vocabulary_dtype": lambda fc, tf: fc.categorical_column_with_vocabulary_list("a", ["x"], dtype=tf.int32),
    "vocabulary_floats": lambda fc, tf: fc.categorical_column_with_vocabulary_list("a", [1.5]),
    "no_file": lambda fc, tf: fc.categorical_column_with_vocabulary_file("a", "/no/such/file"),
    "identity_default": lambda fc, tf: fc.categorical_column_with_identity("a", 3, default_value=3),
    "crossed_one": lambda fc, tf: fc.crossed_column(["a"], 3),
    "crossed_hashed": lambda fc, tf: fc.crossed_column(["a", fc.categorical_column_with_hash_bucket("b", 3)], 3),
    "crossed_numeric": lambda fc, tf: fc.crossed_column(["a", fc.numeric_column("b")], 3),
    "weights_dtype": lambda fc, tf: fc.weighted_categorical_column(fc.categorical_column_with_identity("a", 3), "w", tf.string),
    "shared_sizes": lambda fc, tf: fc.shared_embedding_columns(
        [fc.categorical_column_with_identity("a", 3), fc.categorical_column_with_identity("b", 4)], 2
    ),
    "specs_differ": lambda fc, tf: fc.make_parse_example_spec(
        [fc.numeric_column("a"), fc.categorical_column_with_identity("a", 3)]
    ),
    "specs_no_column": lambda fc, tf: fc.make_parse_example_spec(["a"]),
    "no_columns": lambda fc, tf: fc.input_layer({"a": tf.ones([2, 1])}, []),
    "tpu_hashed": lambda fc, tf: tf.tpu.experimental.embedding_column(fc.categorical_column_with_hash_bucket("a", 3), 2),
    "tpu_length": lambda fc, tf: tf.tpu.experimental.embedding_column(
        fc.categorical_column_with_identity("a", 3), 2, max_sequence_length=4
    ),
    "twice": lambda fc, tf: fc.linear_model({"a": tf.ones([2, 1])}, [fc.numeric_column("a"), fc.numeric_column("a")]),
    "dict_of_columns": lambda fc, tf: fc.input_layer({"a": tf.ones([2, 1])}, {"a": fc.numeric_column("a")}),
    "ids_in_input_layer": lambda fc, tf: fc.input_layer({"a": tf.ones([2, 1])}, fc.categorical_column_with_identity("a", 3)),
    "missing_feature": lambda fc, tf: fc.input_layer({"b": tf.ones([2, 1])}, fc.numeric_column("a")),
    "scalar_feature": lambda fc, tf: fc.input_layer({"a": tf.constant(1.0)}, fc.numeric_column("a")),
    "batch_sizes": lambda fc, tf: fc.input_layer(
        {"a": tf.ones([2, 1]), "b": tf.ones([3, 1])}, [fc.numeric_column("a"), fc.numeric_column("b")]
    ),
    "float_ids": lambda fc, tf: fc.linear_model({"a": tf.ones([2, 1])}, fc.categorical_column_with_identity("a", 3)),
    "features_no_dict": lambda fc, tf: tf.keras.layers.DenseFeatures([fc.numeric_column("a")])(tf.ones([2, 1])),
    "sequence_in_dense": lambda fc, tf: fc.input_layer(
        {"a": tf.ones([2, 1], tf.int64)}, fc.indicator_column(fc.sequence_categorical_column_with_identity("a", 3))
    ),
    "dense_in_sequence": lambda fc, tf: tf.keras.experimental.SequenceFeatures(
        [fc.embedding_column(fc.categorical_column_with_identity("a", 3), 2)]
    )({"a": tf.ones([2, 1], tf.int64)}),
}
for name in sorted(ERRORS):
    error_case("error_" + name, lambda tf, make=ERRORS[name]: make(tf.feature_column, tf))
