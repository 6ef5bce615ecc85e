"""Connectionist temporal classification: the loss, its gradient and the decoders."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("ctc")
case, error_case = TABLE.case, TABLE.error_case

PLACES = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1], [2, 2], [2, 3]], np.int64)
VALUES = np.array([2, 2, 1, 4, 0, 1, 0, 3], np.int32)
LENGTHS = np.array([6, 7, 5], np.int32)
LABELS = dict(p=PLACES, v=VALUES, n=LENGTHS)
DECODED = dict(n=LENGTHS, grad=False, partial=False)
ROUNDING = dict(rtol=2e-5, atol=2e-6, reason="sums of exponentials over all paths in another order")


def loss(**options):
    def build(tf, x, p, v, n):
        return tf.nn.ctc_loss(tf.SparseTensor(p, v, [3, 4]), x, n, **options)

    return build


case("loss", loss(), x=F32(7, 3, 6), **dict(LABELS, **ROUNDING))
case("loss_double", loss(), x=F64(7, 3, 6), **dict(LABELS, **ROUNDING))
case("loss_collapsed", loss(preprocess_collapse_repeated=True), x=F32(7, 3, 6), **dict(LABELS, **ROUNDING))
case("loss_not_merged", loss(ctc_merge_repeated=False), x=F32(7, 3, 6), **dict(LABELS, **ROUNDING))
case("loss_batch_major", loss(time_major=False), x=F32(3, 7, 6), **dict(LABELS, **ROUNDING))
case("loss_null_labels", loss(), x=F32(7, 1, 5), p=PLACES[4:] - [[2, 0]], v=np.array([0, 1, 4, 5], np.int32), n=LENGTHS[1:2],
     **ROUNDING)  # fmt: skip
case("loss_sharp", lambda tf, x, p, v, n: loss()(tf, x * 20.0, p, v, n), x=F32(7, 3, 6), **dict(LABELS, **ROUNDING))
error_case("loss_too_long", loss(), x=F32(7, 3, 6), p=PLACES, v=VALUES, n=np.array([6, 7, 3], np.int32))
error_case("loss_time", loss(), x=F32(6, 3, 6), **LABELS)
error_case("loss_null_inside", loss(), x=F32(7, 3, 3), **LABELS)
error_case("loss_negative", loss(), x=F32(7, 3, 6), p=PLACES, v=-VALUES, n=LENGTHS)
error_case("loss_order", loss(), x=F32(7, 3, 6), p=PLACES[::-1].copy(), v=VALUES, n=LENGTHS)
error_case("loss_repeated", loss(), x=F32(7, 3, 6), p=PLACES[[0, 0, 1, 2, 3, 4, 5, 6]], v=VALUES, n=LENGTHS)
error_case("loss_outside", loss(), x=F32(7, 3, 6), p=PLACES + [[1, 0]], v=VALUES, n=LENGTHS)
error_case("loss_no_labels", loss(), x=F32(7, 4, 6), p=PLACES, v=VALUES, n=np.array([6, 7, 5, 2], np.int32))
error_case("loss_dense", lambda tf, x, n: tf.nn.ctc_loss(tf.zeros([3, 2], tf.int32), x, n), x=F32(7, 3, 6), n=LENGTHS)
error_case("loss_rank", loss(), x=F32(7, 6), **LABELS)
error_case(
    "loss_second_gradient",
    lambda tf, x, p, v, n: tf.gradients(tf.gradients(loss()(tf, x, p, v, n), x)[0], x),
    x=F32(7, 3, 6),
    **LABELS
)


def ignored(tf, session, outputs, feed):
    values = session.run(outputs, feed)
    return [values[0][:2], values[1]]


def loss_ignoring(tf, x, p, v, n):
    found = loss(ignore_longer_outputs_than_inputs=True)(tf, x, p, v, n)
    return [found, tf.gradients(found, x)[0]]


case("loss_ignores", loss_ignoring, x=F32(7, 3, 6), p=PLACES, v=VALUES, n=np.array([6, 7, 3], np.int32), run=ignored,
     **ROUNDING)  # fmt: skip

def flat(found):
    """Indices, values and shape of each decoded SparseTensor, then the scores."""
    return [part for sparse in found[0] for part in (sparse.indices, sparse.values, sparse.dense_shape)] + [found[1]]


def beam(**options):
    return lambda tf, x, n: flat(tf.nn.ctc_beam_search_decoder(x, n, **options))


for _merge in (True, False):
    case("greedy_%s" % _merge, lambda tf, x, n, m=_merge: flat(tf.nn.ctc_greedy_decoder(x, n, m)), x=F32(7, 3, 3), **DECODED)
case("greedy_empty", lambda tf, x: flat(tf.nn.ctc_greedy_decoder(x, [0, 0, 0])), x=F32(7, 3, 3), grad=False, partial=False)
case("beam", beam(), x=F32(7, 3, 4), **DECODED)
case("beam_paths", beam(beam_width=5, top_paths=3), x=F32(7, 3, 6), **DECODED)
case("beam_not_merged", beam(beam_width=9, top_paths=4, merge_repeated=False), x=F32(7, 3, 4), **DECODED)
case("beam_double", beam(beam_width=20, top_paths=2), x=F64(7, 3, 6),
     rtol=5e-8, reason="part of each sum is computed in float32", **DECODED)  # fmt: skip
case("beam_one", beam(beam_width=1), x=F32(7, 3, 6), **DECODED)
case("beam_ties", lambda tf, n: beam(beam_width=6, top_paths=6, merge_repeated=False)(tf, tf.zeros([7, 3, 4]), n), **DECODED)
case("beam_ties_wide", lambda tf, n: beam(beam_width=40, top_paths=7)(tf, tf.zeros([7, 3, 4]), n), **DECODED)
case("beam_v2", lambda tf, x, n: flat(tf.nn.ctc_beam_search_decoder_v2(x, n, 8, 2)), x=F32(7, 3, 4), **DECODED)
error_case("beam_few", beam(beam_width=2, top_paths=3), x=F32(7, 3, 4), n=LENGTHS)
error_case("beam_leaves", beam(beam_width=9, top_paths=9), x=F32(1, 1, 2), n=np.array([1], np.int32))
error_case("beam_time", beam(), x=F32(4, 3, 4), n=LENGTHS)
error_case("greedy_batch", lambda tf, x, n: tf.nn.ctc_greedy_decoder(x, n)[1], x=F32(7, 2, 4), n=LENGTHS)


DENSE = np.array([[2, 2, 1, 0], [4, 0, 0, 0], [1, 3, 2, 5]], np.int32)
COUNTS = np.array([3, 1, 4], np.int32)


def dense(**options):
    def build(tf, x, y, k, n):
        given = dict(options)
        if given.pop("unique", False):
            given["unique"] = tf.nn.ctc_unique_labels(y)
        return tf.nn.ctc_loss_v2(y, x, k, n, **given)

    return build


FULL = dict(ROUNDING, y=DENSE, k=COUNTS, n=LENGTHS, partial=False)
case("loss_v2_sparse", lambda tf, x, p, v, n: tf.nn.ctc_loss_v2(tf.SparseTensor(p, v, [3, 4]), x, None, n, blank_index=3),
     x=F32(7, 3, 6), p=PLACES, v=np.array([2, 2, 1, 4, 0, 1, 0, 5], np.int32), n=LENGTHS, **ROUNDING)  # fmt: skip
case("loss_v2", dense(), x=F32(7, 3, 6), **FULL)
case("loss_v2_unique", dense(unique=True), x=F32(7, 3, 6), **FULL)
case("loss_v2_blank", dense(blank_index=-1, logits_time_major=False), x=F32(3, 7, 7), **FULL)
case("unique_labels", lambda tf, y: list(tf.nn.ctc_unique_labels(y)), y=DENSE, partial=False)
case("collapse_repeated", lambda tf, y, k: list(tf.nn.collapse_repeated(y, k)), y=DENSE, k=COUNTS)
error_case("loss_v2_no_blank", lambda tf, x, p, v, n: tf.nn.ctc_loss_v2(tf.SparseTensor(p, v, [3, 4]), x, None, n), x=F32(7, 3, 6), **LABELS)
