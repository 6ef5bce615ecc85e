"""tf.contrib.tensor_forest: with a seed and one thread, 1.15's trees are the same each time."""

import numpy as np

from cases.table import Table

TABLE = Table("tensor_forest")
case, error_case = TABLE.case, TABLE.error_case

_RANDOM = np.random.RandomState(3)
X = _RANDOM.rand(120, 4).astype(np.float32)
CLASSES = (X[:, 0] * 3).astype(np.float32) // 1
TARGETS = X[:, 0] + 2 * X[:, 1] ** 2
WEIGHTS = _RANDOM.randint(1, 3, 120).astype(np.float32)


def forest(tf, **kwargs):
    python = tf.contrib.tensor_forest.python.tensor_forest
    values = {
        "num_classes": 3,
        "num_features": 4,
        "num_trees": 2,
        "max_nodes": 60,
        "split_after_samples": 8,
        "base_random_seed": 5,
    }
    return python.RandomForestGraphs(python.ForestHParams(**{**values, **kwargs}).fill())


def outputs_of(graphs, train, x):
    probabilities, paths, variance = graphs.inference_graph(x)
    importances = graphs.feature_importances()
    return {
        "train": train,
        "p": probabilities,
        "paths": paths,
        "v": variance,
        "size": graphs.average_size(),
        "i": importances,
    }


def built(tf, x, y, weights=None, **kwargs):
    graphs = forest(tf, **kwargs)
    extra = {} if weights is None else {"input_weights": weights}
    return outputs_of(graphs, graphs.training_graph(x, y, **extra), x)


def trained(tf, session, out, feed):
    resources = [each.create for each in tf.get_collection(tf.GraphKeys.RESOURCES)]
    session.run([tf.global_variables_initializer(), resources])
    for _ in range(8):
        session.run(out["train"], feed)
    return session.run([out[key] for key in ("p", "v", "size", "i")], feed)


for _name, _y, _kwargs in (
    ("classes", CLASSES, {}),
    ("columns_of_labels", CLASSES[:, None], {}),
    ("less", CLASSES, {"split_name": "less"}),
    ("collated", CLASSES, {"collate_examples": True}),
    ("few_nodes", CLASSES, {"max_nodes": 6}),
    ("sparse_counts", CLASSES, {"model_name": "all_sparse"}),
    ("averages", CLASSES, {"initialize_average_splits": True}),
    ("pruned_half", CLASSES, {"split_pruning_name": "half", "prune_every_samples": 4}),
    (
        "pruned_hoeffding",
        CLASSES,
        {"split_pruning_name": "hoeffding", "prune_every_samples": 4, "dominate_fraction": 0.6},
    ),
    ("by_depth", CLASSES, {"split_after_samples": "linear {slope: 5 y_intercept: 4 min_val: 3 max_val: 14}"}),
    ("regression", TARGETS, {"regression": True, "num_classes": 1}),
    ("regression_columns", np.stack([TARGETS, X[:, 2]], 1), {"regression": True, "num_classes": 2}),
):
    case(_name, lambda tf, x, y, k=_kwargs: built(tf, x, y, **k), x=X, y=_y, run=trained, grad=False, partial=False,
         atol=2e-6, reason="the variance is the difference of float32 squares near 5")  # fmt: skip
case(
    "weights", lambda tf, x, y, w: built(tf, x, y, w), x=X, y=CLASSES, w=WEIGHTS, run=trained, grad=False, partial=False
)


def categories(tf, x, words, numbers, y):
    features = {"x": x, "words": words, "numbers": numbers}
    graphs = forest(tf, num_features=6)
    return outputs_of(graphs, graphs.training_graph(features, y), features)


case("categories", categories, x=X, words=_RANDOM.choice([b"a", b"bc", b"a longer word"], (120, 1)).astype(object),
     numbers=_RANDOM.randint(0, 3, (120, 1)), y=CLASSES, run=trained, grad=False, partial=False)  # fmt: skip


def sparse(tf, indices, values, y):
    x = tf.SparseTensor(indices, values, [60, 9])
    graphs = forest(tf, num_features=9)
    return outputs_of(graphs, graphs.training_graph(x, y), x)


case("sparse", sparse, indices=np.stack([np.repeat(np.arange(60), 2), np.tile([1, 4, 3, 8], 30)], 1),
     values=_RANDOM.rand(120).astype(np.float32), y=np.arange(60, dtype=np.float32) // 20, run=trained, grad=False,
     partial=False)  # fmt: skip


def serialized(tf, session, out, feed):
    resources = [each.create for each in tf.get_collection(tf.GraphKeys.RESOURCES)]
    session.run([tf.global_variables_initializer(), resources])
    for _ in range(5):
        session.run(out["train"], feed)
    nodes = [
        op.outputs[0] for op in session.graph.get_operations() if op.type in ("TreeSerialize", "FertileStatsSerialize")
    ]
    return session.run([out["paths"], *[node for node in nodes if node.op.type == "TreeSerialize"]], feed)


case(
    "paths",
    lambda tf, x, y: built(tf, x, y, inference_tree_paths=True),
    x=X,
    y=CLASSES,
    run=serialized,
    grad=False,
    partial=False,
)
