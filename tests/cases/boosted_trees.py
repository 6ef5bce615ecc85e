"""Operations of boosted trees: statistics, splits, ensembles and quantiles."""

import numpy as np

from cases.table import Table

TABLE = Table("boosted_trees")
case, error_case = TABLE.case, TABLE.error_case

_RANDOM = np.random.RandomState(5)
SIZE = 40
NODES = _RANDOM.randint(0, 3, SIZE).astype(np.int32)
G = _RANDOM.randn(SIZE, 1).astype(np.float32)
H = _RANDOM.rand(SIZE, 1).astype(np.float32)
BUCKETS = _RANDOM.randint(0, 5, (2, SIZE)).astype(np.int32)


def ops_of(tf):
    return tf.raw_ops


def numbers(values):
    return np.asarray(values, np.float32)


# ---- statistics and splits ----


def summary(tf, n, g, h, a, b, splits=4, buckets=5):
    return ops_of(tf).BoostedTreesMakeStatsSummary(
        node_ids=n, gradients=g, hessians=h, bucketized_features_list=[a, b], max_splits=splits, num_buckets=buckets
    )


case("stats_summary", summary, n=NODES, g=G, h=H, a=BUCKETS[0], b=BUCKETS[1], grad=False)
case("a_bucket_too_many", lambda tf, n, g, h, a, b: summary(tf, n, g, h, a, b, buckets=4), n=NODES, g=G, h=H,
     a=BUCKETS[0], b=BUCKETS[1], grad=False)  # fmt: skip

for _name, _penalties in (
    ("", (0.0, 0.0, 0.0, 0.0)), ("_l1", (0.4, 0.0, 0.0, 0.0)), ("_l2", (0.0, 0.3, 0.1, 0.0)), ("_least", (0.1, 0.1, 0.2, 6.5)),
    ("_none", (0.0, 0.0, 0.0, 100.0)), ("_strong_l1", (50.0, 0.0, 0.0, 0.0)),
):  # fmt: skip

    def best_gains(tf, s, p=_penalties):
        l1, l2, complexity, least = p
        return ops_of(tf).BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=[1, 4], stats_summary_list=[s, -2 * s[:, ::-1] * [1.0, -0.5]], l1=l1, l2=l2,
            tree_complexity=complexity, min_node_weight=least, max_splits=5,
        )  # fmt: skip

    _s = np.stack([_RANDOM.randn(5, 6), _RANDOM.rand(5, 6) * 3], -1).astype(np.float32)
    _s[2, 1:3] = 0
    case("best_gains" + _name, best_gains, s=_s, grad=False)

    for _dims, _hessians, _type in ((1, 1, "inequality"), (1, 1, "equality"), (2, 2, "inequality"), (2, 4, "equality"), (3, 9, "inequality")):
        if _dims > 1 and _penalties[0]:
            continue

        def feature_split(tf, s, p=_penalties, dims=_dims, kind=_type):
            l1, l2, complexity, least = p
            return ops_of(tf).BoostedTreesCalculateBestFeatureSplit(
                node_id_range=[0, 3], stats_summary=s, l1=l1, l2=l2, tree_complexity=complexity, min_node_weight=least,
                logits_dimension=dims, split_type=kind,
            )  # fmt: skip

        # All dimensions of a feature are of the same examples, and hessians are positive definite.
        _g = _RANDOM.randn(3, 2, 5, _dims)
        _m = _RANDOM.randn(3, 2, 5, _dims, _dims)
        _m = np.einsum("...ij,...kj->...ik", _m, _m) + np.eye(_dims)
        _h = _m.reshape(3, 2, 5, -1) if _hessians == _dims**2 else np.einsum("...ii->...i", _m)
        _stats = np.concatenate([_g, _h], -1)
        _stats[:, 1, 0] += _stats[:, 0].sum(1) - _stats[:, 1].sum(1)
        case("feature_split_%d_%d_%s%s" % (_dims, _hessians, _type, _name), feature_split, s=numbers(_stats), grad=False,
             rtol=2e-4, reason="systems of equations are solved by another order of float32 operations")  # fmt: skip


def aggregate(tf, n, g, h, f):
    return ops_of(tf).BoostedTreesAggregateStats(node_ids=n, gradients=g, hessians=h, feature=f, max_splits=4, num_buckets=5)


case("aggregate", aggregate, n=NODES, g=_RANDOM.randn(SIZE, 2).astype(np.float32), h=_RANDOM.rand(SIZE, 4).astype(np.float32),
     f=np.where(_RANDOM.rand(SIZE, 3) < 0.2, -1, _RANDOM.randint(0, 5, (SIZE, 3))).astype(np.int32), grad=False)  # fmt: skip

_PLACES = np.array([[0, 1], [1, 0], [1, 2], [3, 1], [4, 0], [4, 1], [5, 2]], np.int32)
_VALUES = np.array([0, 1, 2, 0, 3, 1, 2], np.int32)


def sparse_aggregate(tf, n, g, h, i, v):
    return ops_of(tf).BoostedTreesSparseAggregateStats(
        node_ids=n, gradients=g, hessians=h, feature_indices=i, feature_values=v, feature_shape=[6, 3], max_splits=3, num_buckets=4
    )


case("sparse_aggregate", sparse_aggregate, n=np.array([0, 1, 0, 1, 1, 0], np.int32), g=G[:6], h=H[:6], i=_PLACES, v=_VALUES,
     grad=False)  # fmt: skip
for _name, _penalties in (("", (0.0, 0.0, 0.0, 0.0)), ("_penalties", (0.1, 0.2, 0.1, 0.6))):

    def sparse_split(tf, n, g, h, i, v, p=_penalties):
        indices, values, shape = sparse_aggregate(tf, n, g, h, i, v)
        l1, l2, complexity, least = p
        return ops_of(tf).BoostedTreesSparseCalculateBestFeatureSplit(
            node_id_range=[0, 2], stats_summary_indices=indices, stats_summary_values=values, stats_summary_shape=shape,
            l1=l1, l2=l2, tree_complexity=complexity, min_node_weight=least, logits_dimension=1,
        )  # fmt: skip

    case("sparse_split" + _name, sparse_split, n=np.array([0, 1, 0, 1, 1, 0], np.int32), g=G[:6], h=H[:6], i=_PLACES, v=_VALUES,
         grad=False, partial=False)  # fmt: skip


# ---- quantiles ----

_VALUES_OF = {
    "few": _RANDOM.rand(30), "many": _RANDOM.rand(400), "repeated": _RANDOM.randint(0, 9, 300) * 0.5, "one": np.ones(5),
}  # fmt: skip
for _name, _x in _VALUES_OF.items():
    for _epsilon in (0.01, 0.1):

        def summaries(tf, x, w, epsilon=_epsilon):
            return ops_of(tf).BoostedTreesMakeQuantileSummaries(float_values=[x, -x], example_weights=w, epsilon=epsilon)

        case("summaries_%s_%s" % (_name, _epsilon), summaries, x=numbers(_x), w=numbers([1]), grad=False)
        case("weighted_summaries_%s_%s" % (_name, _epsilon), summaries, x=numbers(_x),
             w=numbers(_RANDOM.randint(0, 5, len(_x)) * 0.25), grad=False)  # fmt: skip


def streams(tf, x, y, quantiles=False):
    """Boundaries of two batches, then of another, and buckets by the first."""
    ops = ops_of(tf)
    handle = ops.BoostedTreesQuantileStreamResourceHandleOp(shared_name="streams")
    create = ops.BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle=handle, epsilon=0.05, num_streams=2)

    def add(values):
        made = ops.BoostedTreesMakeQuantileSummaries(float_values=[values, values * values], example_weights=[1.0], epsilon=0.05)
        return ops.BoostedTreesQuantileStreamResourceAddSummaries(quantile_stream_resource_handle=handle, summaries=made)

    limits = ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(quantile_stream_resource_handle=handle, num_features=2)
    return {
        "create": create,
        "ready": ops.IsBoostedTreesQuantileStreamResourceInitialized(quantile_stream_resource_handle=handle),
        "x": add(x),
        "y": add(y),
        "flush": ops.BoostedTreesQuantileStreamResourceFlush(
            quantile_stream_resource_handle=handle, num_buckets=8, generate_quantiles=quantiles
        ),
        "limits": limits,
        "buckets": ops.BoostedTreesBucketize(float_values=[x, x], bucket_boundaries=limits),
        "set": ops.BoostedTreesQuantileStreamResourceDeserialize(
            quantile_stream_resource_handle=handle, bucket_boundaries=[tf.placeholder_with_default([1.0, 2.0], None), [0.5]]
        ),
        "summaries": ops.BoostedTreesFlushQuantileSummaries(quantile_stream_resource_handle=handle, num_features=2),
    }


def run_streams(tf, session, out, feed):
    found = [session.run(out["ready"])]
    session.run(out["create"])
    found.append(session.run([out["ready"], out["limits"]]))
    for name in ("x", "y", "flush"):
        session.run(out[name], feed)
    found.append(session.run([out["limits"], out["buckets"]], feed))
    session.run(out["y"], feed)
    session.run(out["create"], feed)
    found.append(session.run(out["summaries"], feed))
    session.run(out["x"], feed)
    session.run(out["flush"], feed)
    found.append(session.run([out["limits"], out["buckets"]], feed))
    session.run(out["set"])
    found.append(session.run([out["limits"], out["buckets"]], feed))
    return found


for _quantiles in (False, True):
    case("streams_quantiles_%s" % _quantiles, lambda tf, x, y, q=_quantiles: streams(tf, x, y, q), run=run_streams, grad=False,
         partial=False, fetch=True, x=numbers(_RANDOM.randn(150)), y=numbers(_RANDOM.rand(90)))  # fmt: skip


def buckets_of(tf, x, y):
    return ops_of(tf).BoostedTreesBucketize(float_values=[x, x], bucket_boundaries=[y, []])


case("bucketize", buckets_of, x=numbers([-1, 0, 0.5, 1, 2.5, 3, 7, np.inf, -np.inf, np.nan]), y=numbers([0, 1, 3]), grad=False)


# ---- ensembles ----

_TREES = """
trees { nodes { bucketized_split { feature_id: 0 threshold: 2 left_id: 1 right_id: 2 } metadata { gain: 1.5 original_leaf { scalar: 0.25 } } }
        nodes { categorical_split { feature_id: 1 value: 3 left_id: 3 right_id: 4 } metadata { gain: 0.5 original_leaf { scalar: -1 } } }
        nodes { leaf { scalar: 0.7 } } nodes { leaf { scalar: 0.2 } } nodes { leaf { scalar: -0.4 } } }
trees { nodes { bucketized_split { feature_id: 1 threshold: 1 left_id: 1 right_id: 2 } metadata { gain: -0.3 } }
        nodes { leaf { scalar: 0.3 } } nodes { leaf { scalar: 0.11 } } }
trees { nodes { leaf { scalar: 0.0 } } }
tree_weights: 0.5 tree_weights: 1.0 tree_weights: 1.0
tree_metadata { num_layers_grown: 2 is_finalized: true } tree_metadata { num_layers_grown: 1 is_finalized: true } tree_metadata { }
growing_metadata { num_trees_attempted: 2 num_layers_attempted: 3 last_layer_node_start: 0 last_layer_node_end: 1 }
"""


def serialized(text):
    """The message in the text, by hand: the tables have no message classes of either program."""
    return encode(parse(text.replace("{", " { ").replace("}", " } ").replace(":", " ").split()), TREE_ENSEMBLE)


LEAF = {"scalar": (3, float)}
TREE_ENSEMBLE = {
    "trees": (1, {"nodes": (1, {
        "leaf": (1, LEAF),
        "bucketized_split": (2, {"feature_id": (1, int), "threshold": (2, int), "left_id": (3, int), "right_id": (4, int)}),
        "categorical_split": (3, {"feature_id": (1, int), "value": (2, int), "left_id": (3, int), "right_id": (4, int)}),
        "metadata": (777, {"gain": (1, float), "original_leaf": (2, LEAF)}),
    })}),
    "tree_weights": (2, [float]),
    "tree_metadata": (3, {"num_layers_grown": (2, int), "is_finalized": (3, int)}),
    "growing_metadata": (4, {
        "num_trees_attempted": (1, int), "num_layers_attempted": (2, int), "last_layer_node_start": (3, int), "last_layer_node_end": (4, int),
    }),
}  # fmt: skip


def parse(words):
    found = []
    while words and words[0] != "}":
        name = words.pop(0)
        if words[0] == "{":
            words.pop(0)
            found.append((name, parse(words)))
            words.pop(0)
        else:
            found.append((name, words.pop(0)))
    return found


def varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def encode(fields, spec):
    found, packed = b"", {}
    for name, value in fields:
        number, kind = spec[name]
        if isinstance(kind, dict):
            body = encode(value, kind)
            found += varint(number << 3 | 2) + varint(len(body)) + body
        elif kind is int:
            found += varint(number << 3) + varint(int({"true": 1}.get(value, value)))
        elif kind is float:
            found += varint(number << 3 | 5) + np.float32(value).tobytes()
        else:
            packed[number] = packed.get(number, b"") + np.float32(value).tobytes()
    for number, body in packed.items():
        found += varint(number << 3 | 2) + varint(len(body)) + body
    return found


def model(tf, state):
    ops = ops_of(tf)
    handle = ops.BoostedTreesEnsembleResourceHandleOp(shared_name="trees")
    create = ops.BoostedTreesCreateEnsemble(tree_ensemble_handle=handle, stamp_token=5, tree_ensemble_serialized=state)
    return handle, create, ops


def predictions(tf, a, b, trees, nodes, text=_TREES):
    handle, create, ops = model(tf, serialized(text))
    return {
        "create": create,
        "plain": ops.BoostedTreesPredict(tree_ensemble_handle=handle, bucketized_features=[a, b], logits_dimension=1),
        "kept": ops.BoostedTreesTrainingPredict(
            tree_ensemble_handle=handle, cached_tree_ids=trees, cached_node_ids=nodes, bucketized_features=[a, b], logits_dimension=1
        ),
        "states": ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle),
    }


def run_predictions(tf, session, out, feed):
    session.run(out["create"])
    return session.run([out[key] for key in ("plain", "kept", "states")], feed)


_A, _B = BUCKETS[:, :9]
case("predict", predictions, run=run_predictions, a=_A, b=_B, grad=False, partial=False,
     trees=np.array([0, 0, 0, 0, 1, 1, 1, 2, 2], np.int32), nodes=np.array([-1, 0, 3, 4, -1, 1, 2, 0, -1], np.int32))  # fmt: skip
case("predict_with_nothing", lambda tf, a, b, trees, nodes: predictions(tf, a, b, trees, nodes, ""), run=run_predictions, a=_A,
     b=_B, grad=False, partial=False, trees=np.zeros(9, np.int32), nodes=np.full(9, -1, np.int32))  # fmt: skip


def explanations(tf, a, b):
    text = _TREES.replace("categorical_split", "bucketized_split").replace("value", "threshold")
    handle, create, ops = model(tf, serialized(text))
    found = ops.BoostedTreesExampleDebugOutputs(tree_ensemble_handle=handle, bucketized_features=[a, b], logits_dimension=1)
    return {"create": create, "found": found}


def run_explanations(tf, session, out, feed):
    session.run(out["create"])
    return session.run(out["found"], feed)


case("explanations", explanations, run=run_explanations, a=_A, b=_B, grad=False, partial=False)


def growth(tf, gains, left, right, v2=False, pruning=0, depth=2, text="", kinds=None):
    """A layer on the root of the last tree, then one on its children."""
    handle, create, ops = model(tf, serialized(text))
    out = {"create": create}
    for step, nodes in (("first", [0]), ("second", [1, 2]))[:depth]:
        count = len(nodes)
        lists = dict(
            tree_ensemble_handle=handle, feature_ids=[4, 2, 7], node_ids=[nodes] * 3,
            gains=[gains[i, :count] for i in range(3)], thresholds=[[3, 5][:count], [1, 2][:count], [0, 8][:count]],
            left_node_contribs=[left[i, :count, None] for i in range(3)], right_node_contribs=[right[i, :count, None] for i in range(3)],
            max_depth=depth, learning_rate=0.3, pruning_mode=pruning,
        )  # fmt: skip
        if v2:
            lists.update(dimension_ids=[[0, 1][:count]] * 3, split_types=[kinds[:count]] * 3)
        out[step] = (ops.BoostedTreesUpdateEnsembleV2 if v2 else ops.BoostedTreesUpdateEnsemble)(**lists)
    out["state"] = ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    return out


def run_growth(tf, session, out, feed):
    session.run(out["create"])
    found = []
    for step in ("first", "second", "first"):
        if step in out:
            session.run(out[step], feed)
        found.append(session.run(out["state"]))
    return found


_GAINS = numbers([[0.5, -0.2], [0.5, 0.1], [0.4, -0.1]])
_ROOT = "trees { nodes { leaf { scalar: 0.5 } } } tree_weights: 1.0 tree_metadata { }"
for _name, _kwargs in (
    ("", {}), ("_pre", {"pruning": 1}), ("_post", {"pruning": 2}), ("_shallow", {"depth": 1}), ("_with_bias", {"text": _ROOT}),
    ("_post_all", {"pruning": 2, "text": _ROOT}),
    ("_v2", {"v2": True, "kinds": ["INEQUALITY_DEFAULT_RIGHT", "EQUALITY_DEFAULT_RIGHT"]}),
    ("_v2_left", {"v2": True, "kinds": ["INEQUALITY_DEFAULT_LEFT", "INEQUALITY_DEFAULT_RIGHT"], "pruning": 2}),
):  # fmt: skip
    _gains = -np.abs(_GAINS) if _name == "_post_all" else _GAINS
    case("growth" + _name, lambda tf, gains, left, right, k=_kwargs: growth(tf, gains, left, right, **k), run=run_growth,
         gains=_gains, left=numbers(_RANDOM.randn(3, 2)), right=numbers(_RANDOM.randn(3, 2)), grad=False, partial=False)  # fmt: skip


def centering(tf, g, h):
    handle, create, ops = model(tf, b"")
    return {
        "create": create,
        "center": ops.BoostedTreesCenterBias(tree_ensemble_handle=handle, mean_gradients=g, mean_hessians=h, l1=0.01, l2=0.1),
        "state": ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle),
    }


def run_centering(tf, session, out, feed):
    session.run(out["create"])
    found = []
    for scale in (1, 0.1, 0.02, 0.001):
        found.append(session.run(out["center"], {key: value * scale for key, value in feed.items()}))
        found.append(session.run(out["state"]))
    return found


case("center_bias", centering, run=run_centering, g=numbers([[0.7]]), h=numbers([[0.3]]), grad=False, partial=False)


# ---- refusals ----


def uncreated(tf):
    ops = ops_of(tf)
    handle = ops.BoostedTreesEnsembleResourceHandleOp(shared_name="none")
    return ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)


def after(tf, op):
    with tf.control_dependencies([op]):
        return tf.constant(1)


def no_epsilon(tf):
    ops = ops_of(tf)
    handle = ops.BoostedTreesQuantileStreamResourceHandleOp(shared_name="e")
    return after(tf, ops.BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle=handle, epsilon=0.0, num_streams=1))


error_case("uncreated_ensemble", uncreated)
error_case("no_epsilon", no_epsilon, same_words=True)
error_case("weights_do_not_fit", lambda tf, x: ops_of(tf).BoostedTreesMakeQuantileSummaries(
    float_values=[x], example_weights=[1.0, 2.0], epsilon=0.1), x=numbers([1, 2, 3]), same_words=True)  # fmt: skip
error_case("splits_do_not_fit", lambda tf, s: ops_of(tf).BoostedTreesCalculateBestGainsPerFeature(
    node_id_range=[0, 1], stats_summary_list=[s], l1=0.0, l2=0.0, tree_complexity=0.0, min_node_weight=0.0, max_splits=3),
    s=np.zeros((4, 2, 2), np.float32))  # fmt: skip
error_case("more_logits_explained", lambda tf, a: ops_of(tf).BoostedTreesExampleDebugOutputs(
    tree_ensemble_handle=model(tf, b"")[0], bucketized_features=[a], logits_dimension=2), a=_A)  # fmt: skip
