"""Programs with tf.contrib.boosted_trees: functions of the `tf` module, its `estimator` and `learner_pb2`, and an empty folder."""

import numpy as np

from estimator.canned_programs import plain

_RANDOM = np.random.RandomState(4)
SIZE = 80
X = _RANDOM.rand(SIZE, 3).astype(np.float32)
CLASSES = (X[:, 0] * 2 + X[:, 1] > 1.3).astype(np.int64) + (X[:, 2] > 0.7)
NUMBERS = (X[:, :1] * 3 + np.sin(6 * X[:, 1:2])).astype(np.float32)
IDS = _RANDOM.randint(0, 5, (SIZE, 2))
THERE = _RANDOM.rand(SIZE, 2) < 0.6
WEIGHTS = _RANDOM.randint(1, 4, (SIZE, 1)).astype(np.float32)


def config(learner, strategy=0, **kwargs):
    """A LearnerConfig with small trees; `kwargs` are its fields, with dots written as two underscores."""
    found = learner.LearnerConfig()
    found.regularization.l2, found.constraints.max_tree_depth, found.multi_class_strategy = 0.01, 3, strategy
    found.learning_rate_tuner.fixed.learning_rate = 0.3
    for name, value in kwargs.items():
        target = found
        for part in name.split("__")[:-1]:
            target = getattr(target, part)
        setattr(target, name.split("__")[-1], value)
    return found


def inputs(tf, labels, kinds):
    """An input_fn with dense floats (d), sparse floats (f), sparse ids (i) and weights (w)."""

    def input_fn():
        places = tf.constant(np.argwhere(THERE))
        made = {"d": ("dense", tf.constant(X)), "w": ("w", tf.constant(WEIGHTS))}
        made["f"] = ("floats", tf.SparseTensor(places, tf.constant(X[:, :2][THERE]), [SIZE, 2]))
        made["i"] = ("ids", tf.SparseTensor(places, tf.constant(IDS[THERE]), [SIZE, 2]))
        return dict(made[kind] for kind in kinds), tf.constant(labels)

    return input_fn


def outcome(tf, estimator, input_fn, folder):
    """The ensemble as text, metrics and predictions of a trained estimator."""
    reader = tf.train.load_checkpoint(folder)
    predictions = estimator.predict(input_fn=input_fn)
    return {
        "config": reader.get_tensor("ensemble_model:0_config"),
        "variables": sorted(reader.get_variable_to_shape_map()),
        "metrics": plain(estimator.evaluate(input_fn=input_fn, steps=1)),
        "predictions": [plain(next(predictions)) for _ in range(5)],
    }


def classifier(kinds="d", classes=2, **kwargs):
    """A program that trains a classifier; `kwargs` are fields of its config, or arguments of it."""
    names = ("center_bias", "weight_column_name", "examples_per_layer", "num_quantiles", "output_leaf_index", "num_trees")
    settings = {name: kwargs.pop(name) for name in names if name in kwargs}

    def program(tf, estimator, learner, folder):
        labels = np.minimum(CLASSES, classes - 1)[:, None]
        made = estimator.GradientBoostedDecisionTreeClassifier(
            config(learner, **kwargs), n_classes=classes, model_dir=folder,
            config=tf.contrib.learn.RunConfig(tf_random_seed=1), **dict({"num_trees": 2, "examples_per_layer": SIZE, "center_bias": False}, **settings)
        )  # fmt: skip
        input_fn = inputs(tf, labels, kinds)
        made.fit(input_fn=input_fn, max_steps=20)
        return outcome(tf, made, input_fn, folder)

    return program


def regressor(kinds="d", **kwargs):
    def program(tf, estimator, learner, folder):
        made = estimator.GradientBoostedDecisionTreeRegressor(
            config(learner, **kwargs), examples_per_layer=2 * SIZE, num_trees=2, model_dir=folder,
            config=tf.contrib.learn.RunConfig(tf_random_seed=1),
        )  # fmt: skip
        input_fn = inputs(tf, NUMBERS, kinds)
        made.fit(input_fn=input_fn, max_steps=40)
        return outcome(tf, made, input_fn, folder)

    return program


def core(tf, estimator, learner, folder):
    head = estimator.core_multiclass_head(3)
    made = estimator.CoreGradientBoostedDecisionTreeEstimator(
        config(learner, 3, num_classes=3), SIZE, head, num_trees=2, model_dir=folder, center_bias=False,
        feature_columns=[tf.feature_column.numeric_column("dense", shape=(3,))],
    )  # fmt: skip
    input_fn = inputs(tf, CLASSES[:, None], "d")
    made.train(input_fn, max_steps=20)
    reader = tf.train.load_checkpoint(folder)
    metrics = plain(made.evaluate(input_fn, steps=1))
    return {"config": reader.get_tensor("ensemble_model:0_config"), "metrics": metrics}


def quantile_regressor(tf, estimator, learner, folder):
    made = estimator.GradientBoostedDecisionTreeQuantileRegressor(
        config(learner, constraints__min_node_weight=0.01), SIZE, [0.8], num_trees=2, model_dir=folder,
        config=tf.contrib.learn.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    input_fn = inputs(tf, NUMBERS, "d")
    made.fit(input_fn=input_fn, max_steps=20)
    return {"config": tf.train.load_checkpoint(folder).get_tensor("ensemble_model:0_config")}


def ranker(tf, estimator, learner, folder):
    def input_fn():
        return {"a.x": tf.constant(X[:, :1]), "b.x": tf.constant(X[:, 1:2])}, tf.constant((X[:, :1] > X[:, 1:2]).astype(np.int32))

    head = tf.contrib.learn.multi_class_head(n_classes=2)
    made = estimator.GradientBoostedDecisionTreeRanker(
        config(learner, num_classes=2), SIZE, head, ["a", "b"], num_trees=2, model_dir=folder,
        config=tf.contrib.learn.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    made.fit(input_fn=input_fn, max_steps=20)
    return {
        "config": tf.train.load_checkpoint(folder).get_tensor("ensemble_model:0_config"),
        "metrics": plain(made.evaluate(input_fn=input_fn, steps=1)),
    }


PROGRAMS = {
    "dense": classifier(),
    "centered": classifier(center_bias=True),
    "sparse_floats": classifier("f"),
    "ids": classifier("i"),
    "all_kinds": classifier("dfi", num_quantiles=20),
    "weights": classifier("dw", weight_column_name="w"),
    "per_class": classifier(classes=3, strategy=1),
    "full_hessian": classifier(classes=3, strategy=2),
    "diagonal_hessian": classifier("di", classes=3, strategy=3),
    "pre_pruned": classifier(pruning_mode=1, regularization__tree_complexity=0.02),
    "post_pruned": classifier(pruning_mode=2, regularization__tree_complexity=0.02),
    "whole_trees": classifier(growing_mode=1),
    "l1": classifier(regularization__l1=0.02, constraints__min_node_weight=0.02),
    "averaged": classifier(averaging_config__average_last_n_trees=2),
    "few_columns": classifier("d", constraints__max_number_of_unique_feature_columns=1),
    "columns_per_tree": classifier("d", feature_fraction_per_tree=0.6),
    "columns_per_level": classifier("d", feature_fraction_per_level=0.6),
    "dropout": classifier(
        num_trees=5, learning_rate_tuner__dropout__dropout_probability=0.7, learning_rate_tuner__dropout__learning_rate=0.4
    ),
    "leaves": classifier(output_leaf_index=True),
    "regression": regressor("df"),
    "core": core,
    "quantile_regressor": quantile_regressor,
    "ranker": ranker,
}
