"""Softmax and cross entropies, normalisation, dropout, embeddings, samplers, top-k and segments."""

import numpy as np

from cases.table import BOOL, F32, F64, I32, Table

TABLE = Table("nn_misc")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each
LABELS = np.array([0, 2, 1, 2], np.int32)
SEGMENTS = np.array([0, 0, 1, 3, 3], np.int32)
ONE_HOT = np.eye(3)[LABELS]

for _label, _kind in (("", F32), ("f64_", F64)):
    each(_label, ["nn.softmax", "nn.log_softmax", "math.softmax"], lambda f, x: f(x), x=_kind(4, 3))
    each(_label + "rank3_", ["nn.softmax", "nn.log_softmax"], lambda f, x: f(x), x=_kind(2, 4, 3))
    each(_label + "axis_", ["nn.softmax", "nn.log_softmax"], lambda f, x: f(x, axis=1), x=_kind(2, 4, 3))
    case(
        _label + "softmax_xent",
        lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
        x=_kind(4, 3),
        y=ONE_HOT.astype(_kind().dtype),
    )
    case(
        _label + "softmax_xent_v2",
        lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        x=_kind(4, 3),
        y=ONE_HOT.astype(_kind().dtype),
    )
    case(
        _label + "sparse_xent",
        lambda tf, x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
        x=_kind(4, 3),
        y=LABELS,
    )
    case(
        _label + "sigmoid_xent",
        lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
        x=_kind(4, 3),
        y=_kind(4, 3, low=0.0, high=1.0),
    )
    case(
        _label + "weighted_xent",
        lambda tf, x, y: tf.nn.weighted_cross_entropy_with_logits(targets=y, logits=x, pos_weight=2.0),
        x=_kind(4, 3),
        y=_kind(4, 3, low=0.0, high=1.0),
    )
each("dim_", ["nn.softmax", "nn.log_softmax"], lambda f, x: f(x, dim=0), x=F32(4, 3))
each("vector_", ["nn.softmax", "nn.log_softmax"], lambda f, x: f(x), x=F32(4))
case("softmax_large", lambda tf, x: tf.nn.softmax(x), x=np.array([[1000, 0, -1000], [88, 89, 90]], np.float32))
case(
    "softmax_xent_rank3",
    lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
    x=F32(2, 4, 3),
    y=F32(2, 4, 3, low=0, high=1),
)
case(
    "softmax_xent_dim",
    lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, dim=0),
    x=F32(4, 3),
    y=F32(4, 3, low=0, high=1),
)
case(
    "softmax_xent_named",
    lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, name="xent"),
    x=F32(4, 3),
    y=F32(4, 3),
)
case(
    "sparse_xent_rank3",
    lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1], [2, 2]], logits=x),
    x=F32(2, 2, 3),
)
case(
    "sparse_xent_i64",
    lambda tf, x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
    x=F32(4, 3),
    y=LABELS.astype(np.int64),
)
case("log_poisson", lambda tf, x, y: tf.nn.log_poisson_loss(y, x), x=F32(4), y=F32(4, low=0, high=5))
case(
    "log_poisson_full",
    lambda tf, x, y: tf.nn.log_poisson_loss(y, x, compute_full_loss=True),
    x=F32(4),
    y=F32(4, low=1.5, high=5),
    grad=False,
)
case("moments", lambda tf, x: tf.nn.moments(x, [0, 1]), x=F64(3, 4, 2))
case("moments_keep_dims", lambda tf, x: tf.nn.moments(x, axes=[0], keep_dims=True), x=F32(3, 4))
case("weighted_moments", lambda tf, x, w: tf.nn.weighted_moments(x, [0], w), x=F32(3, 4), w=F32(3, 1, low=0.1, high=1))
case("sufficient_statistics", lambda tf, x: tf.nn.sufficient_statistics(x, [0]), x=F32(3, 4), partial=False)
case("normalize_moments", lambda tf, x: tf.nn.normalize_moments(3.0, x, x * x, None), x=F32(4))
case(
    "batch_normalization",
    lambda tf, x, m, v, b, s: tf.nn.batch_normalization(x, m, v, b, s, 1e-3),
    x=F64(3, 4),
    m=F64(4),
    v=F64(4, low=0.5, high=2),
    b=F64(4),
    s=F64(4),
)
case(
    "batch_normalization_plain",
    lambda tf, x, m, v: tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
    x=F32(3, 4),
    m=F32(4),
    v=F32(4, low=0.5, high=2),
)
case(
    "fused_batch_norm",
    lambda tf, x, s, o: tf.nn.fused_batch_norm(x, s, o),
    x=F32(2, 3, 3, 4),
    s=F32(4),
    o=F32(4),
    atol=1e-5,
    reason="sums in another order",
    partial=False,
)
case(
    "fused_batch_norm_first",
    lambda tf, x, s, o: tf.nn.fused_batch_norm(x, s, o)[0],
    x=F32(2, 3, 3, 4),
    s=F32(4),
    o=F32(4),
    atol=1e-4,
    reason="sums in another order",
)
case(
    "fused_batch_norm_inference",
    lambda tf, x, s, o, m, v: tf.nn.fused_batch_norm(x, s, o, m, v, is_training=False)[0],
    x=F32(2, 3, 3, 4),
    s=F32(4),
    o=F32(4),
    m=F32(4),
    v=F32(4, low=0.5, high=2),
)
each("", ["nn.l2_normalize", "math.l2_normalize"], lambda f, x: f(x, 1), x=F32(3, 4))
case("l2_normalize_dim", lambda tf, x: tf.nn.l2_normalize(x, dim=[0, 1], epsilon=1e-6, name="unit"), x=F64(3, 4))
case("dropout_keep_prob", lambda tf, x: tf.nn.dropout(x, 0.6), x=F32(4, 5), seed=7)
case("dropout_rate", lambda tf, x: tf.nn.dropout(x, rate=0.4, seed=3), x=F32(4, 5), seed=7)
case("dropout_noise_shape", lambda tf, x: tf.nn.dropout(x, rate=0.5, noise_shape=[4, 1]), x=F32(4, 5), seed=7)
case(
    "dropout_tensor", lambda tf, x, p: tf.nn.dropout(x, p), x=F32(4, 5), p=np.array(0.7, np.float32), seed=7, grad=False
)
case("dropout_zero", lambda tf, x: [tf.nn.dropout(x, rate=0.0), tf.nn.dropout(x, 1.0)], x=F32(4), seed=7)
case(
    "dropout_dense_twice",
    lambda tf, x: tf.nn.dropout(tf.nn.dropout(x, rate=0.3), rate=0.3, name="second"),
    x=F32(10, 10),
    seed=1,
)
case("embedding_lookup", lambda tf, w, i: tf.nn.embedding_lookup(w, i), w=F64(5, 3), i=np.array([4, 0, 4], np.int32))
case(
    "embedding_lookup_matrix",
    lambda tf, w, i: tf.nn.embedding_lookup(w, i),
    w=F32(5, 3),
    i=np.array([[4, 0], [1, 1]], np.int32),
)
case(
    "embedding_lookup_mod",
    lambda tf, a, b, i: tf.nn.embedding_lookup([a, b], i),
    a=F32(3, 2),
    b=F32(2, 2),
    i=np.array([4, 0, 3], np.int32),
    partial=False,
)
case(
    "embedding_lookup_div",
    lambda tf, a, b, i: tf.nn.embedding_lookup([a, b], i, partition_strategy="div"),
    a=F32(3, 2),
    b=F32(2, 2),
    i=np.array([4, 0, 3], np.int32),
    partial=False,
)
case(
    "embedding_lookup_max_norm",
    lambda tf, w, i: tf.nn.embedding_lookup(w, i, max_norm=1.0),
    w=F32(5, 3),
    i=np.array([4, 0], np.int32),
    partial=False,
)
case(
    "embedding_variable",
    lambda tf, i: tf.nn.embedding_lookup(
        tf.get_variable("w", [5, 3], initializer=tf.random_uniform_initializer(-1, 1)), i
    ),
    i=np.array([4, 0, 4], np.int32),
    seed=5,
)
case(
    "embedding_lookup_sparse",
    lambda tf, w: tf.nn.embedding_lookup_sparse(
        w, tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2]), None, combiner="mean"
    ),
    w=F32(5, 3),
    partial=False,
)
for _sampler in ("uniform", "log_uniform", "learned_unigram"):
    case(
        "sampler_" + _sampler,
        lambda tf, s=_sampler: getattr(tf.nn, s + "_candidate_sampler")(
            tf.constant([[1], [7]], tf.int64), 1, 5, True, 20, seed=3
        ),
        seed=11,
        grad=False,
    )
    case(
        "sampler_repeats_" + _sampler,
        lambda tf, s=_sampler: getattr(tf.nn, s + "_candidate_sampler")(
            tf.constant([[1], [7]], tf.int64), 1, 8, False, 20
        ),
        seed=11,
    )
case(
    "fixed_unigram",
    lambda tf: tf.nn.fixed_unigram_candidate_sampler(
        tf.constant([[1], [2]], tf.int64), 1, 3, False, 4, unigrams=[1.0, 2.0, 3.0, 4.0], seed=2
    ),
    seed=11,
)
case(
    "accidental_hits",
    lambda tf: tf.nn.compute_accidental_hits(tf.constant([[1], [2]], tf.int64), tf.constant([2, 5, 1], tf.int64), 1),
)
case(
    "nce_loss",
    lambda tf, w, b, x: tf.nn.nce_loss(
        w, b, tf.constant([[1], [5], [7], [0]], tf.int64), x, num_sampled=6, num_classes=20
    ),
    w=F32(20, 3),
    b=F32(20),
    x=F32(4, 3),
    seed=9,
    partial=False,
)
case(
    "sampled_softmax",
    lambda tf, w, b, x: tf.nn.sampled_softmax_loss(
        w, b, tf.constant([[1], [5], [7], [0]], tf.int64), x, num_sampled=6, num_classes=20
    ),
    w=F32(20, 3),
    b=F32(20),
    x=F32(4, 3),
    seed=9,
    partial=False,
)
case(
    "sampled_softmax_seeded",
    lambda tf, w, b, x: tf.nn.sampled_softmax_loss(
        weights=w,
        biases=b,
        labels=tf.constant([[1], [5]], tf.int64),
        inputs=x,
        num_sampled=4,
        num_classes=20,
        remove_accidental_hits=False,
        seed=4,
    ),
    w=F32(20, 3),
    b=F32(20),
    x=F32(2, 3),
    partial=False,
)
case("top_k", lambda tf, x: [tf.nn.top_k(x, 2), tf.nn.top_k(x), tf.math.top_k(x, k=3, sorted=False)], x=F32(3, 5))
case("top_k_ties", lambda tf, x: tf.nn.top_k(x, 3), x=np.array([[1, 3, 3, 2, 3]], np.float32), grad=False)
case("top_k_ints", lambda tf, x: tf.nn.top_k(x, 2), x=I32(6))
case("in_top_k", lambda tf, x, y: tf.nn.in_top_k(x, y, 1), x=F32(4, 3), y=LABELS, grad=False)
case("nth_element", lambda tf, x: tf.contrib.nn.nth_element(x, 1), x=F32(2, 5), grad=False)
case(
    "sort",
    lambda tf, x: [tf.sort(x), tf.argsort(x), tf.sort(x, direction="DESCENDING"), tf.sort(x, axis=0)],
    x=F32(3, 4),
    grad=False,
)
each(
    "", ["segment_sum", "segment_mean", "segment_max", "segment_min"], lambda f, x, s: f(x, s), x=F64(5, 2), s=SEGMENTS
)
case("segment_prod", lambda tf, x, s: tf.segment_prod(x, s), x=F64(5, 2), s=SEGMENTS, grad=False)
each(
    "unsorted_",
    [
        "unsorted_segment_sum",
        "unsorted_segment_max",
        "unsorted_segment_min",
        "unsorted_segment_prod",
        "unsorted_segment_mean",
        "unsorted_segment_sqrt_n",
    ],
    lambda f, x, s: f(x, s, 4),
    x=F64(5, 2),
    s=np.array([2, 0, 2, -1, 3], np.int32),
)
each("i32_", ["segment_sum", "segment_max"], lambda f, x, s: f(x, s), x=I32(5), s=SEGMENTS)
each(
    "",
    ["sparse_segment_sum", "sparse_segment_mean", "sparse_segment_sqrt_n"],
    lambda f, x: f(x, [0, 2, 3], [0, 0, 1]),
    x=F32(5, 2),
)
case(
    "cosine_by_hand",
    lambda tf, x, y: tf.reduce_sum(tf.nn.l2_normalize(x, 1) * tf.nn.l2_normalize(y, 1), 1),
    x=F64(3, 4),
    y=F64(3, 4),
)
case(
    "softmax_of_mask",
    lambda tf, x, m: tf.nn.softmax(tf.where(m, x, tf.fill(tf.shape(x), -1e9))),
    x=F32(3, 4),
    m=BOOL(3, 4),
)
error_case("softmax_scalar", lambda tf, x: tf.nn.softmax(x), x=F32())
error_case("softmax_axis", lambda tf, x: tf.nn.softmax(x, axis=3), x=F32(2, 3))
error_case("xent_positional", lambda tf, x: tf.nn.softmax_cross_entropy_with_logits(x, x), x=F32(4, 3))
error_case(
    "xent_shapes",
    lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
    x=F32(4, 3),
    y=F32(4, 2),
)
error_case(
    "sparse_xent_range",
    lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3], logits=x),
    x=F32(2, 3),
)
error_case(
    "sparse_xent_rank",
    lambda tf, x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
    x=F32(4, 3),
    y=F32(4, 3),
)
error_case(
    "sigmoid_xent_shapes",
    lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x),
    x=F32(4, 3),
    y=F32(4, 2),
)
error_case("dropout_range", lambda tf, x: tf.nn.dropout(x, rate=1.5), x=F32(3))
error_case("dropout_keep_prob_zero", lambda tf, x: tf.nn.dropout(x, 0.0), x=F32(3))
error_case("dropout_of_ints", lambda tf, x: tf.nn.dropout(x, 0.5), x=I32(3))
error_case("top_k_too_many", lambda tf, x: tf.nn.top_k(x, 9), x=F32(3))
error_case("segments_not_sorted", lambda tf, x: tf.segment_sum(x, [1, 0, 1]), x=F32(3))
error_case("unsorted_segment_range", lambda tf, x: tf.unsorted_segment_sum(x, [0, 5, 1], 3), x=F32(3))
error_case("embedding_none", lambda tf: tf.nn.embedding_lookup(None, [0]))
error_case("embedding_range", lambda tf, w: tf.nn.embedding_lookup(w, [9]), w=F32(5, 3))
