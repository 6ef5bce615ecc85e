"""tf.contrib.layers' columns and targets: nodes, collections and values."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("feature_column_contrib")
case, error_case = TABLE.case, TABLE.error_case

WORDS = dict(
    i=np.array([[0, 0], [1, 0], [1, 1], [3, 0]], np.int64),
    v=np.array(["a", "b", "zz", "c"], object),
    s=np.array([4, 2], np.int64),
)
PRICE = F32(4, 1, low=-3.0, high=12.0)
COLORS = np.array([["R"], ["G"], [""], ["other"]], object)
NUMBERS = np.array([[3], [-1], [0], [12]], np.int64)


def prepared(tf, session, outputs, feed):
    """Fetches after the tables are filled."""
    session.run(tf.tables_initializer())
    return session.run(outputs, feed)


def words(tf, i, v, s):
    return {"words": tf.SparseTensor(i, v, s)}


def dense(make, rank=2):
    """build(tf, ...) of make(tf.contrib.layers, tf, ...) -> (features, columns) as an input layer."""

    def build(tf, **placeholders):
        layers = tf.contrib.layers
        features, columns = make(layers, tf, **placeholders)
        join = layers.input_from_feature_columns if rank == 2 else layers.sequence_input_from_feature_columns
        return join(features, columns)

    return build


def linear(make, joint=False):
    """build(tf, ...) of make(tf.contrib.layers, tf, ...) -> (features, columns) as a weighted sum."""

    def build(tf, **placeholders):
        layers = tf.contrib.layers
        features, columns = make(layers, tf, **placeholders)
        weigh = layers.joint_weighted_sum_from_feature_columns if joint else layers.weighted_sum_from_feature_columns
        return weigh(features, columns, 2)[0]

    return build


def core(make, name):
    """build(tf, ...) of the same columns in tf.feature_column."""

    def build(tf, **placeholders):
        features, columns = make(tf.contrib.layers, tf, **placeholders)
        return getattr(tf.feature_column, name)(features, columns)

    return build


# ---- numbers ----


def numbers(layers, tf, price, two):
    price_column = layers.real_valued_column("price", normalizer=lambda x: x * 2.0)
    columns = [price_column, layers.real_valued_column("two", dimension=2, default_value=3.0)]
    columns += [layers.bucketized_column(price_column, [0.0, 0.0, 4.0]), layers.bucketized_column(columns[1], [0.5])]
    return {"price": price, "two": two}, columns


for name, build in (
    ("dense", dense(numbers)), ("linear", linear(numbers)), ("core", core(numbers, "input_layer")),
    ("core_linear", core(numbers, "linear_model")),
):  # fmt: skip
    case("numbers_" + name, build, partial=False, price=PRICE, two=F32(4, 2))

# ---- ids ----


def hashed(layers, tf, i, v, s):
    column = layers.sparse_column_with_hash_bucket("words", 40)
    return words(tf, i, v, s), [layers.embedding_column(column, 3), layers.one_hot_column(column)]


case("hashed_dense", dense(hashed), seed=1, partial=False, **WORDS)
case("hashed_core", core(hashed, "input_layer"), seed=1, partial=False, **WORDS)


def hash_keys(layers, tf, i, v, s):
    return words(tf, i, v, s), [layers.sparse_column_with_hash_bucket("words", 40, hash_keys=[[1, 2], [3, 4]])]


case("hash_keys", linear(hash_keys), partial=False, **WORDS)


def vocabulary(layers, tf, colors):
    column = layers.sparse_column_with_keys("colors", ["R", "G", "B"])
    return {"colors": colors}, [layers.one_hot_column(column), layers.embedding_column(column, 2, initializer=tf.ones_initializer())]


case("keys_dense", dense(vocabulary), run=prepared, grad=False, partial=False, colors=COLORS)
case(
    "keys_linear", linear(lambda layers, tf, colors: (vocabulary(layers, tf, colors)[0], [layers.sparse_column_with_keys("colors", ["R", "G"])])),
    run=prepared, partial=False, colors=COLORS,
)  # fmt: skip


def integers(layers, tf, ids):
    return {"ids": ids}, [layers.sparse_column_with_integerized_feature("ids", 5, combiner="mean")]


case("integers", linear(integers), partial=False, ids=NUMBERS)
case("integers_core", core(integers, "linear_model"), partial=False, ids=NUMBERS)


def weighted(layers, tf, i, v, s, w):
    features = words(tf, i, v, s)
    features["w"] = tf.SparseTensor(i, w, s)
    return features, [layers.weighted_sparse_column(layers.sparse_column_with_hash_bucket("words", 40), "w")]


def weighted_dense(layers, tf, **placeholders):
    features, columns = weighted(layers, tf, **placeholders)
    return features, [layers.one_hot_column(columns[0]), layers.embedding_column(columns[0], 2, combiner="sum")]


WEIGHTED = dict(WORDS, v=np.array(["a", "b", "c", "d"], object), w=np.array([0.5, 2.0, -1.0, 3.0], np.float32))
case("weighted_linear", linear(weighted), partial=False, **WEIGHTED)
case("weighted_dense", dense(weighted_dense), seed=2, partial=False, **WEIGHTED)


def crossed(layers, tf, price, i, v, s):
    bucket = layers.bucketized_column(layers.real_valued_column("price"), [0.0, 5.0])
    column = layers.sparse_column_with_hash_bucket("words", 40)
    inner = layers.crossed_column([column, bucket], 9)
    return dict(words(tf, i, v, s), price=price), [inner, layers.crossed_column([inner, bucket], 11, hash_key=5), column]


case("crossed_linear", linear(crossed), partial=False, price=PRICE, **WORDS)
case("crossed_joint", linear(crossed, joint=True), partial=False, price=PRICE, **WORDS)
case("crossed_core", core(crossed, "linear_model"), partial=False, price=PRICE, **WORDS)


def shared(layers, tf, i, v, s):
    columns = [layers.sparse_column_with_hash_bucket(name, 40) for name in ("words", "more")]
    features = dict(words(tf, i, v, s), more=tf.SparseTensor(i, v, s))
    embedded = list(layers.shared_embedding_columns(columns, 2, max_norm=0.1))
    return features, embedded + [layers.scattered_embedding_column("words", 50, 3, hash_key=7)]


case("shared_and_scattered", dense(shared), seed=3, partial=False, **WORDS)

# ---- sequences ----


def sequence(layers, tf, i, v, s, x):
    column = layers.sparse_column_with_hash_bucket("words", 40)
    columns = [layers.embedding_column(column, 2), layers.one_hot_column(column), layers.real_valued_column("x")]
    return dict(words(tf, i, v, s), x=x), columns


case(
    "sequence", dense(sequence, rank=3), seed=4, partial=False, i=np.array([[0, 0, 0], [0, 1, 0], [2, 0, 1]], np.int64),
    v=np.array(["a", "b", "c"], object), s=np.array([3, 2, 2], np.int64), x=F32(3, 2, 2),
)  # fmt: skip

# ---- parsing ----


def specs(tf):
    layers = tf.contrib.layers
    column = layers.sparse_column_with_hash_bucket("words", 40)
    price = layers.real_valued_column("price", dimension=2, default_value=[1, 2])
    columns = [layers.weighted_sparse_column(column, "w"), layers.crossed_column([column, layers.bucketized_column(price, [1.0])], 9)]
    found = layers.create_feature_spec_for_parsing(columns)
    text = sorted((key, type(spec).__name__, str(spec)) for key, spec in found.items())
    return tf.constant(str(text)), tf.constant(str([column.name for column in columns]))


case("specs", specs, grad=False)


def parsed(tf, serialized):
    layers = tf.contrib.layers
    price, ids = layers.real_valued_column("price"), layers.sparse_column_with_integerized_feature("ids", 3)
    found = layers.parse_feature_columns_from_examples(serialized, [layers.bucketized_column(price, [1.0, 2.0]), ids])
    return [found["price"], found["ids"].values, found[ids].values]


# an Example with price: float_list 1.5 and ids: int64_list 7, 5
EXAMPLE = b"\n\"\n\x11\n\x05price\x12\x08\x12\x06\n\x04\x00\x00\xc0?\n\r\n\x03ids\x12\x06\x1a\x04\n\x02\x07\x05"
case("parsed", parsed, grad=False, partial=False, serialized=np.array([EXAMPLE], object))
case(
    "transformed",
    lambda tf, price: list(
        tf.contrib.layers.transform_features(
            {"price": price}, [tf.contrib.layers.bucketized_column(tf.contrib.layers.real_valued_column("price"), [1.0])]
        ).values()
    ),
    grad=False, partial=False, price=PRICE,
)  # fmt: skip
case(
    "inferred",
    lambda tf, price: tf.constant(str([c.key for c in tf.contrib.layers.infer_real_valued_columns({"price": price})])),
    grad=False, partial=False, price=PRICE,
)  # fmt: skip

# ---- targets ----


def target(make):
    def build(tf, logits, labels, weights):
        column = make(tf.contrib.layers)
        features = {"weights": weights}
        predictions = column.logits_to_predictions(logits)
        return column.training_loss(logits, labels, features), column.loss(logits, labels, features), predictions

    return build


WEIGHTS = np.array([[2.0], [0.5], [1.0]], np.float32)
case(
    "target_binary", target(lambda layers: layers.multi_class_target(2, weight_column_name="weights")), grad=False, partial=False,
    logits=F32(3, 1), labels=np.array([[1], [0], [1]], np.int64), weights=WEIGHTS,
)  # fmt: skip
case(
    "target_classes", target(lambda layers: layers.multi_class_target(3)), grad=False, partial=False,
    logits=F32(3, 3), labels=np.array([[1], [0], [2]], np.int64), weights=WEIGHTS,
)  # fmt: skip
case(
    "target_numbers", target(lambda layers: layers.regression_target(weight_column_name="weights")), grad=False, partial=False,
    logits=F32(3, 1), labels=F32(3, 1), weights=WEIGHTS,
)  # fmt: skip

# ---- errors ----

ERRORS = {
    "default_dtype": lambda layers, tf: layers.real_valued_column("a", default_value=1.5, dtype=tf.int32),
    "default_length": lambda layers, tf: layers.real_valued_column("a", 3, default_value=[1.0]),
    "dimension": lambda layers, tf: layers.real_valued_column("a", 1.5),
    "dimension_none": lambda layers, tf: layers.real_valued_column("a", None),
    "bucketized_source": lambda layers, tf: layers.bucketized_column(layers.sparse_column_with_hash_bucket("a", 3), [1.0]),
    "unsorted": lambda layers, tf: layers.bucketized_column(layers.real_valued_column("a"), [2.0, 1.0]),
    "crossed_numbers": lambda layers, tf: layers.crossed_column([layers.real_valued_column("a")] * 2, 5),
    "crossed_one": lambda layers, tf: layers.crossed_column([layers.sparse_column_with_hash_bucket("a", 3)], 5),
    "hash_size": lambda layers, tf: layers.sparse_column_with_hash_bucket("a", 0),
    "hash_keys": lambda layers, tf: layers.sparse_column_with_hash_bucket("a", 3, hash_keys=[[1]]),
    "integer_dtype": lambda layers, tf: layers.sparse_column_with_integerized_feature("a", 3, dtype=tf.string),
    "vocabulary_size": lambda layers, tf: layers.sparse_column_with_vocabulary_file("a", "file"),
    "scattered_size": lambda layers, tf: layers.scattered_embedding_column("a", 0, 3, 1),
    "shared_numbers": lambda layers, tf: layers.shared_embedding_columns([layers.real_valued_column("a")], 3),
    "shared_sizes": lambda layers, tf: layers.shared_embedding_columns(
        [layers.sparse_column_with_hash_bucket("a", 3), layers.sparse_column_with_hash_bucket("b", 4)], 3
    ),
    "spec_of_text": lambda layers, tf: layers.create_feature_spec_for_parsing(["a"]),
    "ids_in_dense": lambda layers, tf: layers.input_from_feature_columns(
        {"a": tf.SparseTensor([[0, 0]], ["x"], [1, 1])}, [layers.sparse_column_with_hash_bucket("a", 3)]
    ),
    "embedding_in_linear": lambda layers, tf: layers.weighted_sum_from_feature_columns(
        {"a": tf.SparseTensor([[0, 0]], ["x"], [1, 1])},
        [layers.embedding_column(layers.sparse_column_with_hash_bucket("a", 3), 2)], 1,
    ),
    "numbers_in_joint": lambda layers, tf: layers.joint_weighted_sum_from_feature_columns(
        {"a": tf.ones([2, 1])}, [layers.real_valued_column("a")], 1
    ),
    "twice": lambda layers, tf: layers.check_feature_columns([layers.real_valued_column("a")] * 2),
    "crossed_in_sequence": lambda layers, tf: layers.sequence_input_from_feature_columns(
        {"a": tf.ones([2, 1, 1])}, [layers.bucketized_column(layers.real_valued_column("a"), [1.0])]
    ),
    "one_class": lambda layers, tf: layers.multi_class_target(1),
}  # fmt: skip
for name in sorted(ERRORS):
    error_case("error_" + name, lambda tf, make=ERRORS[name]: make(tf.contrib.layers, tf))
