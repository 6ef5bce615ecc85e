"""Reductions, arg reductions and scans."""

import numpy as np

from cases.table import BOOL, C64, F32, F64, I32, I64, Table

TABLE = Table("reduction")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

FLOAT = [
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_logsumexp",
    "math.reduce_std",
    "math.reduce_variance",
    "math.reduce_euclidean_norm",
]
for _label, _kind in (("", F32), ("f64_", F64)):
    each(_label, FLOAT, lambda f, x: f(x), x=_kind(3, 4))
    each(_label + "axis_", FLOAT, lambda f, x: f(x, 1), x=_kind(3, 4, 2))
    each(_label + "negative_axis_", FLOAT, lambda f, x: f(x, axis=-1), x=_kind(3, 4))
    each(_label + "axes_", FLOAT, lambda f, x: f(x, axis=[0, 2]), x=_kind(2, 3, 2))
    each(_label + "keepdims_", FLOAT, lambda f, x: f(x, axis=1, keepdims=True), x=_kind(2, 3, 2))
each("tuple_axes_", FLOAT[:3], lambda f, x: f(x, axis=(0, 1)), x=F32(2, 3, 2))
each("no_axes_", FLOAT[:3], lambda f, x: f(x, axis=[]), x=F32(2, 3))
each("scalar_", FLOAT[:6], lambda f, x: f(x), x=F32())
each("keepdims_all_", FLOAT[:3], lambda f, x: f(x, keepdims=True), x=F32(2, 3))
each("keep_dims_", ["reduce_sum", "reduce_mean", "reduce_max"], lambda f, x: f(x, 0, keep_dims=True), x=F32(2, 3))
each("reduction_indices_", ["reduce_sum", "reduce_mean"], lambda f, x: f(x, reduction_indices=[1]), x=F32(2, 3))
each("empty_", FLOAT[:6], lambda f, x: f(x, axis=0), x=F32(0, 3), grad=False)
each("ties_", ["reduce_max", "reduce_min"], lambda f, x: f(x, axis=1), x=np.array([[1, 1, 0], [2, 2, 2]], np.float32))
each("nan_", FLOAT[:5], lambda f, x: f(x, axis=1), x=np.array([[1, np.nan], [np.inf, 2]], np.float32), grad=False)
each(
    "i32_", ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_mean"], lambda f, x: f(x, 1), x=I32(3, 4)
)
each("i64_", ["reduce_sum", "reduce_max"], lambda f, x: f(x), x=I64(3, 4))
each("c64_", ["reduce_sum", "reduce_mean", "reduce_prod"], lambda f, x: f(x, 0), x=C64(3, 2))
each(
    "tensor_axis_",
    ["reduce_sum", "reduce_mean", "reduce_max", "reduce_prod"],
    lambda f, x, axis: f(x, axis),
    x=F32(3, 4),
    axis=np.array(1, np.int32),
    partial=False,
)
each("zero_factor_", ["reduce_prod"], lambda f, x: f(x, 1), x=np.array([[0, 2, 3], [0, 0, 3], [1, 2, 3]], np.float64))
each("named_", FLOAT[:8], lambda f, x: f(x, axis=0, name="here"), x=F32(2, 3))
each("", ["reduce_any", "reduce_all", "math.reduce_any"], lambda f, x: f(x), x=BOOL(3, 4))
each("axis_", ["reduce_any", "reduce_all"], lambda f, x: f(x, 1, keepdims=True), x=BOOL(3, 4))
each("", ["argmax", "argmin", "math.argmax"], lambda f, x: f(x), x=F32(3, 4))
each("axis_", ["argmax", "argmin"], lambda f, x: f(x, axis=-1), x=F32(3, 4))
case("i32_out_argmax", lambda tf, x: tf.argmax(x, 1, output_type=tf.int32), x=F32(3, 4))
case("i32_out_argmin", lambda tf, x: tf.argmin(x, 1, output_type=tf.int32), x=F32(3, 4))
each("ties_", ["argmax", "argmin"], lambda f, x: f(x, 1), x=np.array([[1, 3, 3], [2, 2, 2]], np.int32))
case("arg_max", lambda tf, x: tf.arg_max(x, 1), x=F32(3, 4))
case("argmax_dimension", lambda tf, x: tf.argmax(x, dimension=1), x=F32(3, 4))
each("", ["cumsum", "cumprod", "math.cumulative_logsumexp"], lambda f, x: f(x), x=F64(4, 3))
each("axis_", ["cumsum", "cumprod"], lambda f, x: f(x, axis=1), x=F32(4, 3))
each("exclusive_", ["cumsum", "cumprod"], lambda f, x: f(x, exclusive=True), x=F32(4, 3))
each("reverse_", ["cumsum", "cumprod"], lambda f, x: f(x, axis=-1, exclusive=True, reverse=True), x=F64(4, 3))
case("cumsum_i32", lambda tf, x: tf.cumsum(x), x=I32(5))
case("count_nonzero", lambda tf, x: tf.count_nonzero(x), x=np.array([[0, 1, 2], [0, 0, 3]], np.float32), grad=False)
case("count_nonzero_axis", lambda tf, x: tf.count_nonzero(x, axis=1, keepdims=True, dtype=tf.int32), x=I32(3, 4))
each("", ["norm", "linalg.norm"], lambda f, x: f(x), x=F32(3, 4))
for _ord in ("euclidean", 1, 2, 3, np.inf, "fro"):
    case(
        "norm_%s" % _ord,
        lambda tf, x, _ord=_ord: tf.norm(x, ord=_ord, axis=[0, 1] if _ord == "fro" else 1),
        x=F64(3, 4),
    )
case("norm_keepdims", lambda tf, x: tf.norm(x, axis=1, keepdims=True), x=F32(3, 4))
case("reduce_join", lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], 1))
case("global_norm", lambda tf, x, y: tf.global_norm([x, None, y]), x=F32(3), y=F32(2, 2))
case(
    "zero_fraction",
    lambda tf, x: tf.nn.zero_fraction(x),
    x=np.array([0, 1, 0, 2], np.float32),
    grad=False,
    partial=False,
)
case("l2_loss", lambda tf, x: tf.nn.l2_loss(x), x=F64(3, 4))
case("l2_loss_f32", lambda tf, x: tf.nn.l2_loss(x), x=F32(3, 4))
case(
    "confusion_matrix",
    lambda tf, a, b: tf.math.confusion_matrix(a, b, num_classes=4),
    a=I32(6, low=0, high=4),
    b=I32(6, low=0, high=4),
    partial=False,
)
case("bincount", lambda tf, x: tf.math.bincount(x), x=I32(8, low=0, high=5), partial=False)
case(
    "accuracy",
    lambda tf, x, y: tf.reduce_mean(tf.cast(tf.equal(tf.argmax(x, 1), tf.argmax(y, 1)), tf.float32)),
    x=F32(6, 3),
    y=F32(6, 3),
    grad=False,
)
error_case("axis_out_of_range", lambda tf, x: tf.reduce_sum(x, 2), x=F32(3, 4))
error_case(
    "axis_out_of_range_at_run", lambda tf, x, axis: tf.reduce_sum(x, axis), x=F32(3, 4), axis=np.array(2, np.int32)
)
case("repeated_axis", lambda tf, x: tf.reduce_sum(x, [0, 0]), x=F32(3, 4))
error_case("argmax_axis", lambda tf, x: tf.argmax(x, 3), x=F32(3, 4))
error_case("both_keepdims", lambda tf, x: tf.reduce_sum(x, 0, keepdims=True, keep_dims=True), x=F32(3, 4))
error_case("float_axis", lambda tf, x: tf.reduce_sum(x, 0.5), x=F32(3, 4))
error_case("reduce_any_of_floats", lambda tf, x: tf.reduce_any(x), x=F32(3))
