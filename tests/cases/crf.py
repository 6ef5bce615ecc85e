"""Linear-chain conditional random fields: scores, likelihood and decoding."""

import numpy as np

from cases.table import F32, F64, I64, Table

TABLE = Table("crf")
case, error_case = TABLE.case, TABLE.error_case

TAGS = np.array([[1, 2, 0, 1], [0, 0, 1, 0], [2, 1, 0, 0]], np.int32)
LENGTHS = np.array([4, 2, 0], np.int32)
SEQUENCES = dict(tags=TAGS, n=LENGTHS, partial=False)
ROUNDING = dict(rtol=2e-5, atol=2e-6, reason="sums of exponentials in another order")

case("unary", lambda tf, x, tags, n: tf.contrib.crf.crf_unary_score(tags, n, x), x=F32(3, 4, 3), **SEQUENCES)
case("unary_int64", lambda tf, x, tags, n: tf.contrib.crf.crf_unary_score(tags, n, x), x=F32(3, 4, 3), tags=I64(3, 4, low=0, high=3), n=LENGTHS,
     partial=False)  # fmt: skip
case("binary", lambda tf, w, tags, n: tf.contrib.crf.crf_binary_score(tags, n, w), w=F32(3, 3), **SEQUENCES)
case("sequence", lambda tf, x, w, tags, n: tf.contrib.crf.crf_sequence_score(x, tags, n, w), x=F32(3, 4, 3), w=F32(3, 3), **SEQUENCES)
case("sequence_one", lambda tf, x, w, tags, n: tf.contrib.crf.crf_sequence_score(x, tags, n, w), x=F32(3, 1, 3), w=F32(3, 3), tags=TAGS[:, :1], n=LENGTHS,
     partial=False)  # fmt: skip
case("log_norm", lambda tf, x, w, n: tf.contrib.crf.crf_log_norm(x, n, w), x=F32(3, 4, 3), w=F32(3, 3), n=LENGTHS, partial=False, **ROUNDING)
case("log_norm_one", lambda tf, x, w, n: tf.contrib.crf.crf_log_norm(x, n, w), x=F32(3, 1, 3), w=F32(3, 3), n=LENGTHS, partial=False, **ROUNDING)
case("multitag", lambda tf, x, b, w, n: tf.contrib.crf.crf_multitag_sequence_score(x, b, n, w),
     x=F32(3, 4, 3), b=np.arange(36).reshape(3, 4, 3) % 5 != 1, w=F32(3, 3), n=np.array([4, 3, 2], np.int32), partial=False, grad=False,
     **ROUNDING)  # fmt: skip
case("log_likelihood", lambda tf, x, tags, n: list(tf.contrib.crf.crf_log_likelihood(x, tags, n)), x=F32(3, 4, 3), seed=1,
     run=lambda tf, session, outputs, feed: [session.run(tf.global_variables_initializer()), session.run(outputs, feed)][1],
     **dict(SEQUENCES, **ROUNDING))  # fmt: skip
case("decode", lambda tf, x, w, n: list(tf.contrib.crf.crf_decode(x, w, n)), x=F32(3, 4, 3), w=F32(3, 3), n=LENGTHS, partial=False, grad=False)
case("decode_one", lambda tf, x, w, n: list(tf.contrib.crf.crf_decode(x, w, n)), x=F32(3, 1, 3), w=F32(3, 3), n=LENGTHS, partial=False, grad=False)
case("decode_unknown_time",
     lambda tf, x, w, n: list(tf.contrib.crf.crf_decode(tf.placeholder_with_default(x, [3, None, 3]), w, n)),
     x=F32(3, 4, 3), w=F32(3, 3), n=LENGTHS, partial=False, grad=False)  # fmt: skip


def best_path(tf, x, w):
    tags, score = tf.contrib.crf.viterbi_decode(np.arange(12.0).reshape(4, 3) % 5, np.array([[0.5, 1, 0], [0, 0, 2], [1, 0, 0]]))
    return tf.constant(np.array(tags)), tf.constant(score), x * w


case("viterbi", best_path, x=F64(2), w=F64(2))
