"""Programs with boosted trees: functions of the `tf` module and an empty folder that give plain values."""

import importlib

import numpy as np

from estimator.canned_programs import plain

_RANDOM = np.random.RandomState(11)
SIZE = 60
X = _RANDOM.rand(SIZE, 3).astype(np.float32)
KIND = _RANDOM.randint(0, 3, SIZE)
WORDS = np.array([b"red", b"green", b"blue"], object)[KIND]
WEIGHTS = _RANDOM.randint(1, 4, SIZE).astype(np.float32)
NUMBERS = (X[:, 0] * 3 + np.sin(6 * X[:, 1]) + KIND * 0.7).astype(np.float32)
CLASSES = (NUMBERS > np.sort(NUMBERS)[22]).astype(np.int64)
NAMES = np.array([b"low", b"high"], object)[CLASSES]


def columns(tf, which):
    """Feature columns by the letters of their kinds."""
    fc = tf.feature_column
    words = fc.categorical_column_with_vocabulary_list("words", ["red", "green", "blue"])
    made = {
        "f": fc.numeric_column("a"),
        "v": fc.numeric_column("both", shape=(2,)),
        "b": fc.bucketized_column(fc.numeric_column("b"), [0.1, 0.3, 0.5, 0.8]),
        "i": fc.indicator_column(words),
        "h": fc.indicator_column(fc.categorical_column_with_identity("kind", 3)),
    }
    return [made[letter] for letter in which]


def features():
    return {
        "a": X[:, :1], "b": X[:, 1:2], "both": X[:, 1:3], "words": WORDS[:, None], "kind": KIND[:, None], "w": WEIGHTS[:, None],
    }  # fmt: skip


def inputs(tf, labels, parts=1, repeat=True):
    """An input_fn that gives the data in `parts` batches."""

    def input_fn():
        found = tf.data.Dataset.from_tensor_slices((features(), labels[:, None])).batch(SIZE // parts)
        return found.repeat() if repeat else found

    return input_fn


def message_class(tf):
    """The class of the message that an ensemble is saved as."""
    if tf.__name__ == "tfcompat":
        return importlib.import_module("tfcompat._src.ops.trees.ensemble").message("TreeEnsemble")
    return importlib.import_module("tensorflow.core.kernels.boosted_trees.boosted_trees_pb2").TreeEnsemble


def ensemble(tf, folder):
    """The trees of the last checkpoint, node for node, and the bucket boundaries."""
    reader = tf.train.load_checkpoint(folder)
    state = message_class(tf).FromString(reader.get_tensor("boosted_trees:0_serialized"))
    kept = sorted(name for name in reader.get_variable_to_shape_map() if "boundaries_" in name)
    growing = state.growing_metadata
    return {
        "stamp": int(reader.get_tensor("boosted_trees:0_stamp")),
        "variables": sorted(reader.get_variable_to_shape_map()),
        "trees": [[node(each) for each in tree.nodes] for tree in state.trees],
        "weights": list(state.tree_weights),
        "metadata": [
            [m.num_layers_grown, m.is_finalized, [[p.new_node_id, list(p.logit_change)] for p in m.post_pruned_nodes_meta]]
            for m in state.tree_metadata
        ],
        "growing": [growing.num_trees_attempted, growing.num_layers_attempted, growing.last_layer_node_start, growing.last_layer_node_end],
        "boundaries": {name: plain(reader.get_tensor(name)) for name in kept},
    }  # fmt: skip


def node(message):
    original = message.metadata.original_leaf.scalar
    if message.WhichOneof("node") == "leaf":
        return ["leaf", message.leaf.scalar]
    split = message.bucketized_split
    return ["split", split.feature_id, split.threshold, split.left_id, split.right_id, message.metadata.gain, original]


def outcome(tf, estimator, labels, folder):
    """Trees, metrics and predictions of a trained estimator."""
    predictions = list(estimator.predict(inputs(tf, labels, repeat=False)))
    return {
        "ensemble": ensemble(tf, folder),
        "metrics": plain(estimator.evaluate(inputs(tf, labels, repeat=False))),
        "predictions": [plain(each) for each in predictions[:6]],
        "importances": plain(list(estimator.experimental_feature_importances().items())),
    }


def classifier(which, parts=1, labels=CLASSES, **kwargs):
    """A program that trains a classifier."""

    def program(tf, folder):
        settings = dict({"n_trees": 3, "max_depth": 3}, **kwargs)
        estimator = tf.estimator.BoostedTreesClassifier(columns(tf, which), parts, model_dir=folder, **settings)
        estimator.train(inputs(tf, labels, parts))
        return outcome(tf, estimator, labels, folder)

    return program


def regressor(which, parts=1, **kwargs):
    """A program that trains a regressor."""

    def program(tf, folder):
        settings = dict({"n_trees": 3, "max_depth": 3}, **kwargs)
        estimator = tf.estimator.BoostedTreesRegressor(columns(tf, which), parts, model_dir=folder, **settings)
        estimator.train(inputs(tf, NUMBERS, parts))
        found = outcome(tf, estimator, NUMBERS, folder)
        found["normalized"] = list(estimator.experimental_feature_importances(normalize=True).items())[0][0] if not kwargs.get("tree_complexity") else ""
        return found

    return program


def with_head(tf, folder):
    head = tf.contrib.estimator.binary_classification_head(thresholds=[0.3])
    estimator = tf.estimator.BoostedTreesEstimator(columns(tf, "fb"), 2, head, model_dir=folder, n_trees=2, max_depth=2)
    estimator.train(inputs(tf, CLASSES, 2))
    return outcome(tf, estimator, CLASSES, folder)


def explained(make, labels):
    """A program that explains predictions."""

    def program(tf, folder):
        estimator = make(tf, columns(tf, "fbi"), folder)
        estimator.train(inputs(tf, labels))
        found = estimator.experimental_predict_with_explanations(inputs(tf, labels, repeat=False))
        rows = [(each["bias"], list(map(list, sorted(each["dfc"].items())))) for each in found]
        keyed = list(estimator.experimental_predict_with_explanations(inputs(tf, labels, repeat=False), predict_keys=["logits", "predictions"]))
        return {"ensemble": ensemble(tf, folder), "rows": plain(rows[:8]), "keys": sorted(keyed[0])}

    return program


def in_memory(name, labels, **kwargs):
    """A program that trains in memory."""

    def program(tf, folder):
        train = getattr(tf.contrib.estimator, name)
        whole = (features(), labels[:, None])
        settings = dict({"n_trees": 2, "max_depth": 3}, **kwargs)
        estimator = train(lambda: tf.data.Dataset.from_tensors(whole), columns(tf, "fbiv"), model_dir=folder, **settings)
        return outcome(tf, estimator, labels, folder)

    return program


def in_memory_batch(tf, folder):
    whole = (features(), CLASSES[:, None])
    estimator = tf.estimator.BoostedTreesClassifier(columns(tf, "fbi"), 1, model_dir=folder, n_trees=3, max_depth=3, train_in_memory=True)
    estimator.train(lambda: tf.data.Dataset.from_tensors(whole).repeat())
    return outcome(tf, estimator, CLASSES, folder)


def resumed(tf, folder):
    """Steps in two trainings: the state of a checkpoint in the middle of a tree, and what comes of it."""
    for steps in (4, 9):
        estimator = tf.estimator.BoostedTreesRegressor(columns(tf, "fb"), 1, model_dir=folder, n_trees=3, max_depth=3)
        estimator.train(inputs(tf, NUMBERS), max_steps=steps)
        middle = ensemble(tf, folder)
    return {"first": middle, "then": outcome(tf, estimator, NUMBERS, folder)}


def exported(tf, folder):
    """What the serving signatures of an export give."""
    estimator = tf.estimator.BoostedTreesClassifier(columns(tf, "fbi"), 1, model_dir=folder, n_trees=2, max_depth=2)
    estimator.train(inputs(tf, CLASSES))
    spec = tf.feature_column.make_parse_example_spec(columns(tf, "fbi"))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_saved_model(folder + "/export", receiver)

    def example(i):
        floats = {key: tf.train.Feature(float_list=tf.train.FloatList(value=[X[i, at]])) for key, at in (("a", 0), ("b", 1))}
        words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[WORDS[i]]))
        return tf.train.Example(features=tf.train.Features(feature=dict(floats, words=words))).SerializeToString()

    predict = tf.contrib.predictor.from_saved_model(path.decode() if isinstance(path, bytes) else path, signature_def_key="predict")
    return plain(predict({"examples": [example(i) for i in range(5)]}))


PROGRAMS = {
    "buckets": classifier("b"),
    "floats": classifier("fv"),
    "mixed": classifier("fbih"),
    "several_batches": classifier("fbi", parts=3),
    "centered": classifier("fb", parts=2, center_bias=True),
    "label_vocabulary": classifier("b", labels=NAMES, label_vocabulary=["low", "high"]),
    "weights": classifier("fb", weight_column="w"),
    "penalties": classifier("fbi", l1_regularization=0.01, l2_regularization=0.02, min_node_weight=0.02),
    "pre_pruning": regressor("fbi", tree_complexity=0.3, pruning_mode="pre"),
    "post_pruning": regressor("fbi", parts=2, tree_complexity=0.3, pruning_mode="post"),
    "deep": regressor("fb", max_depth=5, learning_rate=0.5),
    "regression": regressor("fbi"),
    "sketch": regressor("fv", quantile_sketch_epsilon=0.012),
    "regression_centered": regressor("fi", center_bias=True),
    "in_memory_batch": in_memory_batch,
    "with_head": with_head,
    "explained_classes": explained(lambda tf, c, folder: tf.estimator.BoostedTreesClassifier(c, 1, model_dir=folder, n_trees=2, max_depth=2, center_bias=True), CLASSES),
    "explained_numbers": explained(lambda tf, c, folder: tf.estimator.BoostedTreesRegressor(c, 1, model_dir=folder, n_trees=2, max_depth=2, center_bias=True), NUMBERS),
    "classifier_in_memory": in_memory("boosted_trees_classifier_train_in_memory", CLASSES),
    "regressor_in_memory": in_memory("boosted_trees_regressor_train_in_memory", NUMBERS, center_bias=True, pruning_mode="post", tree_complexity=0.2),
    "resumed": resumed,
    "exported": exported,
}  # fmt: skip


def refusals(tf, folder):
    """The class of the error of each wrong use."""
    fc, est = tf.feature_column, tf.estimator
    words = fc.categorical_column_with_identity("kind", 3)
    wrong = {
        "classes": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, n_classes=3),
        "classes_without_pruning": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, n_classes=3, pruning_mode=None),
        "labels": lambda: est.BoostedTreesRegressor(columns(tf, "b"), 1, label_dimension=2),
        "categorical": lambda: est.BoostedTreesClassifier([words], 1),
        "complexity": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, tree_complexity=0.1).train(inputs(tf, CLASSES), steps=1),
        "pruning": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, pruning_mode="pre").train(inputs(tf, CLASSES), steps=1),
        "mode": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, pruning_mode="x").train(inputs(tf, CLASSES), steps=1),
        "in_memory": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 2, train_in_memory=True).train(inputs(tf, CLASSES), steps=1),
        "not_centered": lambda: next(est.BoostedTreesClassifier(columns(tf, "b"), 1, model_dir=folder).experimental_predict_with_explanations(inputs(tf, CLASSES))),
        "rank": lambda: est.BoostedTreesClassifier([fc.numeric_column("b", shape=(1, 1))], 1).train(inputs(tf, CLASSES), steps=1),
        "wide_bucketized": lambda: est.BoostedTreesClassifier([fc.bucketized_column(fc.numeric_column("both", shape=(2,)), [0.5])], 1).train(inputs(tf, CLASSES), steps=1),
        "untrained": lambda: est.BoostedTreesClassifier(columns(tf, "b"), 1, model_dir=folder).experimental_feature_importances(),
    }  # fmt: skip
    found = {}
    for name, call in wrong.items():
        try:
            call()
        except Exception as error:  # noqa: BLE001 (compared)
            found[name] = [type(error).__name__, str(error).split("\n")[0][:40]]
        else:
            found[name] = None
    return found
