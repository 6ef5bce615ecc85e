"""Edges of kernels and shape functions: special values, arguments that do not fit, and constants from messages."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("kernel_edges")
case, error_case = TABLE.case, TABLE.error_case


# ---- lists whose elements have different types ----

MIXED = (
    ("floats_and_ints", lambda tf, x: tf.concat([[1.0], [2]], 0)),
    ("array_and_list", lambda tf, x: tf.concat([np.array([1.0]), [2.0]], 0)),
    ("variable_and_list", lambda tf, x: tf.concat([tf.Variable([1.0]), [2]], 0)),
    ("tensor_and_floats", lambda tf, x: tf.concat([tf.constant([2]), [2.0]], 0)),
    ("dynamic_stitch", lambda tf, x: tf.dynamic_stitch([[0], [1]], [[1.0], [2]])),
    ("nothing", lambda tf, x: tf.raw_ops.ConcatV2(values=[None, [1]], axis=0)),
    ("no_bool_field", lambda tf, x: tf.decode_csv(["1,true"], [[0], [False]])),
    ("empty_identity_n", lambda tf, x: tf.identity_n([])),
)
for _name, _build in MIXED:
    error_case("mixed_" + _name, _build, x=F32(1))

case("mixed_with_tensor", lambda tf, x: tf.concat([x, [2]], 0), x=F32(2))


# ---- offsets and blocks ----

for _name, _axis, _shapes in (
    ("differs", 1, [[2, 3, 5], [3, 7, 5]]), ("out_of_range", 4, [[2, 3, 5], [2, 7, 5]]),
    ("vector_axis", [[1]], [[2, 3, 5], [2, 7, 5]]),
):  # fmt: skip
    error_case(
        "concat_offset_" + _name,
        lambda tf, x, axis=_axis, shapes=_shapes: tf.raw_ops.ConcatOffset(concat_dim=axis, shape=shapes),
        x=F32(1),
    )
case("concat_offset", lambda tf, a: tf.raw_ops.ConcatOffset(concat_dim=-2, shape=[a, a + [0, 4, 0]]), a=np.array([2, 3, 5], np.int32), partial=False)
error_case("batch_to_space_crops", lambda tf, x: tf.batch_to_space_nd(x, [2, 2], [[3, 0], [0, 0]]), x=F32(4, 1, 1, 1))
error_case("batch_to_space_block", lambda tf, x: tf.batch_to_space_nd(x, [[1]], [[0, 0]]), x=F32(1, 2))
error_case("space_to_depth_lanes", lambda tf, x: tf.space_to_depth(x, 2, data_format="NCHW_VECT_C"), x=F32(1, 1, 4, 4))


# ---- special functions ----

case(
    "zeta_special", lambda tf, x, q: tf.zeta(x, q), grad=False,
    x=np.array([2.0, 2.5, 3.0, 3.0, 2.0, 0.0, -2.0, 0.5, 1.0, np.inf, np.nan]),
    q=np.array([-1.5, -1.5, 1.0, 0.0, -3.0, 0.0, 2.0, 2.0, 0.5, 1.0, 1.0]),
)  # fmt: skip
case(
    "polygamma_special", lambda tf, a, x: tf.polygamma(a, x), grad=False,
    a=np.array([0.0, 0.0, 1.0, 1.5, -1.0, 2.0, 3.0, 3.0, np.inf, 0.0]),
    x=np.array([0.0, -1.0, -1.0, 2.0, 2.0, -0.5, 1.0, -2.0, 1.0, 2.0]),
)  # fmt: skip
case(
    "igamma_special", lambda tf, a, x: [tf.igamma(a, x), tf.igammac(a, x)], grad=False,
    a=np.array([0.0, -1.0, 1.0, np.inf, 1.0, 2.0]), x=np.array([0.0, 0.0, 0.0, 1.0, np.inf, -1.0]),
)  # fmt: skip
for _dtype in ("int8", "int16"):
    case("abs_" + _dtype, lambda tf, x: tf.abs(x), x=np.array([-128, -3, 0, 5, 127], _dtype))


# ---- constants ----

case("constant_from_message", lambda tf, x: tf.constant(tf.make_tensor_proto([[1, 2], [3, 4]], tf.int64)), x=F32(1))
case("constant_from_message_of_text", lambda tf, x: tf.convert_to_tensor(tf.make_tensor_proto(["a", "b"])), x=F32(1))


# ---- resource handles ----


def _through_identity(tf, x):
    v = tf.get_variable("v", initializer=3.0, use_resource=True)
    handle = tf.identity(v.handle)
    read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    total = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, s + tf.raw_ops.ReadVariableOp(resource=tf.identity(v.handle), dtype=tf.float32)),
        [0, x[0]],
    )
    return [read * x, total[1]]


def _initialized(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return session.run(outputs, feed)


case("handle_through_identity", _through_identity, run=_initialized, x=F32(2))


# ---- windows ----

PIXELS = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
case("argmax_of_constant", lambda tf, x: tf.nn.max_pool_with_argmax(tf.constant(PIXELS), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[0] + x, x=F32(1))
case("stride_beyond_input", lambda tf, x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2**30, 2**30, 1], "VALID"), partial=False, x=F32(1, 4, 4, 1))


# ---- what kernels take and refuse ----

NAN = np.nan
for _name, _rows in (
    ("unsorted", [[3.0, 1.0, 2.0, 5.0, 0.0, 4.0], [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]]),
    ("with_nan", [[NAN, 1.0, NAN, 2.0, 3.0, NAN], [0.0, 1.0, NAN, NAN, 4.0, 5.0]]),
):
    for _op in ("LowerBound", "UpperBound"):
        case(
            f"{_op}_{_name}", lambda tf, rows, x, op=_op: getattr(tf.raw_ops, op)(sorted_inputs=rows, values=x), grad=False,
            rows=np.array(_rows), x=np.array([[2.5, 0.0, NAN, 9.0], [2.5, 3.0, -1.0, np.inf]]),
        )  # fmt: skip
for _kind in ("Mean", "SqrtN"):
    case(
        f"sparse_segment_{_kind}_grad_of_no_rows", grad=False, x=F32(2, 3),
        build=lambda tf, x, kind=_kind: getattr(tf.raw_ops, f"SparseSegment{kind}Grad")(grad=x, indices=[4, 1], segment_ids=[0, 7], output_dim0=0),
    )  # fmt: skip
case("bincount_more_weights", lambda tf, w: tf.raw_ops.Bincount(arr=[1, 2, 1], size=4, weights=w), grad=False, w=F32(8))
case("bincount_one_weight_each", lambda tf, w: tf.raw_ops.Bincount(arr=[[1, 2], [1, 7]], size=4, weights=w), grad=False, w=F32(4))
error_case("bitpack_of_scalar", lambda tf, x: tf.raw_ops.CompareAndBitpack(input=x, threshold=0.5), x=F32())
for _kind, _name in (("LSTMBlockCell", "cell"), ("BlockLSTM", "block")):
    (case if _name == "cell" else error_case)(
        f"lstm_{_name}_unused_peepholes",
        lambda tf, x, c, w, b, p, kind=_kind: getattr(tf.raw_ops, kind)(
            x=x if kind == "LSTMBlockCell" else x[None], cs_prev=c, h_prev=c, w=w, wci=p, wcf=p, wco=p, b=b, use_peephole=False,
            **({} if kind == "LSTMBlockCell" else {"seq_len_max": tf.constant(1, tf.int64)}),
        ),
        x=F32(2, 3), c=F32(2, 3), w=F32(6, 12), b=F32(12), p=F32(2), **({"grad": False} if _name == "cell" else {}),
    )  # fmt: skip
for _version in ("", "V2"):  # 1.15's gradient of the second version has the gates in the order of the first
    case(
        f"block_lstm_sequence{_version.lower()}",
        lambda tf, x, c, w, b, p, version=_version: list(getattr(tf.raw_ops, "BlockLSTM" + version)(
            seq_len_max=tf.constant(2, tf.int64), x=x, cs_prev=c, h_prev=c, w=w, wci=p, wcf=p, wco=p, b=b, use_peephole=True, cell_clip=0.0,
        ))[5:],
        x=F32(3, 2, 3), c=F32(2, 2), w=F32(5, 8), b=F32(8), p=F32(2),
    )  # fmt: skip
error_case(
    "conv_gradient_sizes_before_groups",
    lambda tf, w, g: tf.raw_ops.Conv2DBackpropInput(input_sizes=[2, 9, 9, 3], filter=w, out_backprop=g, strides=[1, 1, 1, 1], padding="SAME"),
    w=F32(2, 1, 1, 8), g=F32(2, 4, 4, 2),
)  # fmt: skip
