"""Small packages of tf.contrib: factorization, resampler, kernel_methods, deprecated, stateless."""

import importlib

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("contrib_small")
case, error_case = TABLE.case, TABLE.error_case
POINTS = np.random.RandomState(3).normal(size=(30, 2)).astype(np.float32) + np.repeat([[0, 0], [9, 1], [2, 8]], 10, 0).astype(np.float32)
SUMS = "sums in another order"


def op(tf, kind, *inputs):
    return getattr(tf.contrib.reduce_slice_ops.python.ops.reduce_slice_ops, kind)(*inputs)


# ---- factorization ----


def clusters(tf, x, **options):
    names = ("all_scores", "index", "scores", "initialized", "init", "train")
    return dict(zip(names, tf.contrib.factorization.KMeans(x, **options).training_graph()))


def trained(tf, session, out, feed):
    session.run(out["init"], feed)
    for _ in range(2):
        session.run(out["train"], feed)
    return session.run([tf.global_variables(), [out[key] for key in ("all_scores", "index", "scores")]], feed)


def chosen(tf, session, out, feed):
    session.run(out["init"], feed)
    return session.run(tf.global_variables()[:2])


for _name, _options in (
    ("numbers", {"initial_clusters": POINTS[::10] + 1}),
    ("random", {"random_seed": 4}),
    ("plus_plus", {"initial_clusters": "kmeans_plus_plus", "random_seed": 7}),
    ("function", {"initial_clusters": lambda inputs, k: inputs[0][5 : k + 5]}),
):
    for _metric in ("squared_euclidean", "cosine"):
        case(
            "kmeans_%s_%s" % (_name, _metric),
            lambda tf, x, o=_options, m=_metric: clusters(tf, x, num_clusters=3, distance_metric=m, **o),
            x=POINTS, seed=5, run=trained, rtol=1e-4, atol=1e-4, reason=SUMS, partial=False,
        )  # fmt: skip
for _name, _options in (
    ("batches", {"use_mini_batch": True}),
    ("batches_cosine", {"use_mini_batch": True, "distance_metric": "cosine"}),
    ("two_copies", {"use_mini_batch": True, "mini_batch_steps_per_iteration": 3}),
):
    case(
        "kmeans_" + _name, lambda tf, x, o=_options: clusters(tf, x, num_clusters=3, random_seed=4, **o),
        x=POINTS, seed=5, run=chosen, partial=False, rtol=1e-6, atol=1e-6, reason="norms",
    )  # fmt: skip
error_case("kmeans_initialization", lambda tf, x: clusters(tf, x, num_clusters=3, initial_clusters="other"), x=POINTS, same_words=True)
error_case("kmeans_metric", lambda tf, x: clusters(tf, x, num_clusters=3, distance_metric="other"), x=POINTS, same_words=True)
error_case(
    "kmeans_twice", lambda tf, x: clusters(tf, x, num_clusters=3, initial_clusters=np.ones([4, 2], np.float32)), x=POINTS[:2],
    run=lambda tf, session, out, feed: session.run(out["train"], feed),
)  # fmt: skip
error_case(
    "kmeans_plus_plus_too_few", lambda tf, x: clusters(tf, x, num_clusters=3, initial_clusters="kmeans_plus_plus"), x=POINTS[:2],
    run=chosen,
)  # fmt: skip


def mixture(tf, x, *options):
    names = ("loss", "scores", "classes", "train", "init", "initialized")
    return dict(zip(names, tf.contrib.factorization.gmm(x, *options)))


def fitted(tf, session, out, feed):
    session.run(out["init"], feed)
    for _ in range(3):
        session.run(out["train"], feed)
    return session.run([tf.global_variables(), [out[key] for key in ("loss", "scores", "classes")]], feed)


for _type in ("full", "diag"):
    for _params in ("wmc", "w", "mc"):
        case(
            "gmm_%s_%s" % (_type, _params), lambda tf, x, t=_type, p=_params: mixture(tf, x, POINTS[::10], 3, 0, t, p),
            x=POINTS, run=fitted, rtol=1e-4, atol=1e-4, reason=SUMS, partial=False,
        )  # fmt: skip
case(
    "gmm_random", lambda tf, x: mixture(tf, x, "random", 2, 3), x=POINTS, seed=2, run=fitted, rtol=1e-4, atol=1e-4,
    reason=SUMS, partial=False,
)  # fmt: skip
error_case("gmm_covariance", lambda tf, x: mixture(tf, x, "random", 2, 3, "other"), x=POINTS, same_words=True)

# ---- resampler ----

for _shape in ((2, 5, 2), (2, 3, 1, 2)):
    case(
        "resampler_%d" % len(_shape), lambda tf, data, warp: tf.contrib.resampler.resampler(data, warp),
        data=F64(2, 4, 3, 2), warp=F64(*_shape, low=-1.5, high=4.5),
    )  # fmt: skip
case(
    "resampler_of_pixels", lambda tf, data: tf.contrib.resampler.resampler(data, [[[0.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [3.0, 2.0]]]),
    data=F32(1, 4, 3, 2),
)  # fmt: skip
for _name, _data, _warp in (
    ("rank", (4, 3, 2), (4, 2)), ("points", (1, 4, 3, 2), (1, 5, 3)), ("batch", (2, 4, 3, 2), (1, 5, 2)), ("vector", (2, 4, 3, 2), (2,))
):  # fmt: skip
    error_case(
        "resampler_" + _name, lambda tf, data, warp: tf.contrib.resampler.resampler(data, warp), data=F32(*_data), warp=F32(*_warp),
        same_words=True,
    )  # fmt: skip

# ---- kernel_methods ----

for _weights in (1.0, 2.0, [0.5, 0.0, 2.0, 1.0]):
    case(
        "hinge_%s" % np.size(_weights) + ("_2" if _weights == 2.0 else ""),
        lambda tf, labels, logits, w=_weights: tf.contrib.kernel_methods.sparse_multiclass_hinge_loss(labels, logits, w),
        labels=np.array([0, 2, 1, 1], np.int32), logits=F32(4, 3), partial=False,
    )  # fmt: skip
error_case(
    "hinge_label", lambda tf, labels, logits: tf.contrib.kernel_methods.sparse_multiclass_hinge_loss(labels, logits),
    labels=np.array([0, 3], np.int64), logits=F32(2, 3),
)  # fmt: skip
error_case(
    "hinge_dtype", lambda tf, labels, logits: tf.contrib.kernel_methods.sparse_multiclass_hinge_loss(labels, logits),
    labels=F32(2), logits=F32(2, 3), same_words=True,
)  # fmt: skip
case(
    "random_fourier", lambda tf, x: tf.contrib.kernel_methods.RandomFourierFeatureMapper(3, 5, 2.0, seed=4).map(x), x=F32(4, 3),
    partial=False, rtol=1e-5, atol=1e-6, reason="cosines of another library",
)  # fmt: skip
error_case(
    "random_fourier_dimension", lambda tf, x: tf.contrib.kernel_methods.RandomFourierFeatureMapper(2, 5).map(x), x=F32(4, 3),
    same_words=True,
)  # fmt: skip

# ---- deprecated ----

case("scalar_summary", lambda tf, x: tf.contrib.deprecated.scalar_summary(["a", "b/c"], x), x=F32(2), grad=False)
case("histogram_summary", lambda tf, x: tf.contrib.deprecated.histogram_summary("a", x, name="n"), x=F32(7), grad=False)
case("image_summary", lambda tf, x: tf.contrib.deprecated.image_summary("a", x, max_images=1), x=F32(2, 3, 3, 1), grad=False, fetch=False)
case("audio_summary", lambda tf, x: tf.contrib.deprecated.audio_summary("a", x, 44100.0), x=F32(2, 9), grad=False)


def merged(tf, x):
    tf.contrib.deprecated.scalar_summary("a", x)
    tf.contrib.deprecated.histogram_summary("b", x)
    return tf.contrib.deprecated.merge_all_summaries()


case("merged_summaries", merged, x=F32(), grad=False)

# ---- stateless ----

for _kind in ("uniform", "normal"):
    case(
        "stateless_" + _kind, lambda tf, k=_kind: getattr(tf.contrib.stateless, "stateless_random_" + k)([4], [1, 2]),
        rtol=1e-6, atol=1e-6, reason="logarithms of another library",
    )  # fmt: skip


# ---- libsvm ----

RECORDS = ["1 1:3.4 2:0.5 4:0.231", "1 2:2.5 3:inf 5:0.503", "2 3:2.5 2:nan 1:0.105"]


def records(texts, **options):
    def build(tf):
        libsvm = importlib.import_module(tf.__name__ + ".contrib.libsvm")
        features, labels = libsvm.decode_libsvm(texts, num_features=6, **options)
        return features.indices, features.values, features.dense_shape, labels

    return build


case("libsvm", records(RECORDS))
case("libsvm_matrix", records([["1 1:3.4"], ["-2 0:5"]], dtype="float64", label_dtype="int32"))
case("libsvm_labels_only", records(["  7", "8\t\n", "9 9:1"]))
case("libsvm_kinds", records(["1.5 1:1", "2 3:-4"], dtype="int32", label_dtype="float32"))
for _name, _text in {
    "no_label": "", "label": "a 1:2", "no_colon": "1 2", "negative": "1 -1:2", "index": "1 x:2", "value": "1 1:z", "no_value": "1 1:",
    "no_index": "1 :1", "label_kind": "1.5 1:1", "two_colons": "1 1:1:2", "signed": "1 +1:1", "thousands": "1 1:1_0",
}.items():  # fmt: skip
    error_case("libsvm_" + _name, records(["3 1:1", _text]), same_words=True)
