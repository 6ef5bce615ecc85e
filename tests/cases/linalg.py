"""Linear algebra: decompositions, equations, norms. Signs that no definition fixes are taken out of the outputs."""

import numpy as np

from cases.table import C128, F32, F64, Table

TABLE = Table("linalg")
case, error_case = TABLE.case, TABLE.error_case

SQUARE, TALL, WIDE = F64(2, 3, 3), F64(4, 3), F64(3, 4)


def positive(tf, x):
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(3, dtype=x.dtype)


case("cholesky", lambda tf, x: tf.cholesky(positive(tf, x)), x=SQUARE)
case("cholesky_complex", lambda tf, x: tf.linalg.cholesky(positive(tf, x)), x=C128(3, 3), grad=False)
case("cholesky_solve", lambda tf, x, y: tf.cholesky_solve(tf.cholesky(positive(tf, x)), y), x=SQUARE, y=F64(2, 3, 2))
case("matrix_inverse", lambda tf, x: tf.matrix_inverse(positive(tf, x)), x=SQUARE)
case("matrix_inverse_float32", lambda tf, x: tf.linalg.inv(positive(tf, x)), x=F32(3, 3))
case("matrix_inverse_adjoint", lambda tf, x: tf.matrix_inverse(positive(tf, x) + x, adjoint=True), x=SQUARE)
case("matrix_determinant", lambda tf, x: tf.matrix_determinant(x), x=SQUARE)
case("matrix_determinant_complex", lambda tf, x: tf.linalg.det(x), x=C128(2, 3, 3), grad=False)
case("determinant_singular", lambda tf, x: tf.linalg.det(tf.zeros_like(x)), x=F64(2, 2), grad=False)
case("slogdet", lambda tf, x: list(tf.linalg.slogdet(x)), x=SQUARE)
case("logdet", lambda tf, x: tf.linalg.logdet(positive(tf, x)), x=SQUARE)
for _adjoint in (False, True):
    case(
        "matrix_solve_%s" % _adjoint,
        lambda tf, x, y, adjoint=_adjoint: tf.matrix_solve(positive(tf, x) + x, y, adjoint=adjoint),
        x=SQUARE,
        y=F64(2, 3, 2),
    )
    for _lower in (False, True):
        case(
            "triangular_solve_%s_%s" % (_lower, _adjoint),
            lambda tf, x, y, lower=_lower, adjoint=_adjoint: tf.matrix_triangular_solve(
                positive(tf, x) + x, y, lower=lower, adjoint=adjoint
            ),
            x=SQUARE,
            y=F64(2, 3, 2),
        )
case("triangular_solve_complex", lambda tf, x, y: tf.linalg.triangular_solve(positive(tf, x), y, adjoint=True),
     x=C128(3, 3), y=C128(3, 1), grad=False)  # fmt: skip
case("lstsq_tall", lambda tf, x, y: tf.matrix_solve_ls(x, y), x=TALL, y=F64(4, 2))
case("lstsq_wide", lambda tf, x, y: tf.linalg.lstsq(x, y, l2_regularizer=0.5, name="ls"), x=WIDE, y=F64(3, 2))
case(
    "lstsq_unknown",
    lambda tf, x, y: tf.linalg.lstsq(tf.placeholder_with_default(x, [None, None]), y, l2_regularizer=0.5),
    x=TALL,
    y=F64(4, 2),
    partial=False,
    grad=False,
)
case("lstsq_slow", lambda tf, x, y: tf.matrix_solve_ls(x, y, fast=False), x=TALL, y=F64(4, 2), grad=False)
case("lstsq_slow_wide", lambda tf, x, y: tf.matrix_solve_ls(x, y, fast=False), x=WIDE, y=F64(3, 2), grad=False)
case("qr", lambda tf, x: list(tf.linalg.qr(x, name="q")), x=TALL)
case("qr_batch", lambda tf, x: list(tf.linalg.qr(x)), x=SQUARE)
case("qr_wide", lambda tf, x: list(tf.linalg.qr(x)), x=WIDE, grad=False)
case("qr_full", lambda tf, x: list(tf.linalg.qr(x, full_matrices=True)), x=TALL, grad=False)
case("qr_float32", lambda tf, x: list(tf.linalg.qr(x)), x=F32(5, 5))
case("qr_complex", lambda tf, x: list(tf.linalg.qr(x)), x=C128(4, 3), grad=False)
case("svd_values", lambda tf, x: tf.svd(x, compute_uv=False), x=TALL, partial=False)
for _name, _form in (("square", SQUARE), ("tall", TALL), ("wide", WIDE)):
    case(
        "svd_" + _name,
        lambda tf, x: [tf.svd(x)[0]] + [tf.square(part) for part in tf.svd(x)[1:]],
        x=_form,
        partial=False,
    )
    case(
        "svd_full_" + _name,
        lambda tf, x: [tf.square(part) for part in tf.svd(x, full_matrices=True)],
        x=_form,
        partial=False,
    )
case(
    "eigh",
    lambda tf, x: [tf.self_adjoint_eig(positive(tf, x))[0], tf.square(tf.self_adjoint_eig(positive(tf, x))[1])],
    x=SQUARE,
)
case("eigvalsh", lambda tf, x: tf.self_adjoint_eigvals(positive(tf, x)), x=SQUARE)
case("eigvalsh_lower_triangle", lambda tf, x: tf.linalg.eigvalsh(x), x=SQUARE)
case("lu", lambda tf, x: list(tf.linalg.lu(x)), x=SQUARE, grad=False)
case("lu_int64", lambda tf, x: list(tf.linalg.lu(x, output_idx_type=tf.int64)), x=SQUARE, grad=False)
for _ord in ("euclidean", 1, 2, 3.5, np.inf):
    case("norm_all_%s" % _ord, lambda tf, x, ord=_ord: tf.norm(x, ord), x=F64(2, 3))
    case("norm_vector_%s" % _ord, lambda tf, x, ord=_ord: tf.norm(x, ord, axis=1, keepdims=True), x=F64(2, 3))
for _ord in ("euclidean", "fro", 1, np.inf):
    case("norm_matrix_%s" % _ord, lambda tf, x, ord=_ord: tf.linalg.norm(x, ord, axis=[0, 2]), x=F64(2, 3, 4))
case("norm_complex", lambda tf, x: tf.norm(x, name="n"), x=C128(3), grad=False)
case("normalize", lambda tf, x: list(tf.linalg.normalize(x, axis=0)), x=F64(2, 3))
case("adjoint", lambda tf, x: tf.linalg.adjoint(x), x=C128(2, 3, 4), grad=False)
error_case("cholesky_not_positive", lambda tf, x: tf.cholesky(x), x=-np.eye(2))
error_case("cholesky_not_square", lambda tf, x: tf.cholesky(x), x=F64(2, 3))
error_case("inverse_singular", lambda tf, x: tf.matrix_inverse(x), x=np.ones([2, 2]))
error_case("inverse_not_square", lambda tf, x: tf.matrix_inverse(tf.placeholder_with_default(x, None)), x=F64(2, 3))
error_case("solve_singular", lambda tf, x: tf.matrix_solve(x, x), x=np.zeros([2, 2]))
error_case("solve_shapes", lambda tf, x, y: tf.matrix_solve(x, y), x=F64(2, 2), y=F64(3, 1))
error_case("triangular_singular", lambda tf, x: tf.matrix_triangular_solve(x, x), x=np.array([[0.0, 1.0], [1.0, 1.0]]))
error_case("lu_singular", lambda tf, x: tf.linalg.lu(x), x=np.zeros([2, 2]))
error_case("determinant_not_square", lambda tf, x: tf.matrix_determinant(x), x=F64(2, 3))
error_case("determinant_int", lambda tf, x: tf.matrix_determinant(tf.cast(x, tf.int32)), x=F64(2, 2))
error_case("norm_ord", lambda tf, x: tf.norm(x, -1), x=F64(2))
error_case("norm_axis", lambda tf, x: tf.norm(x, axis=[0, 1, 2]), x=F64(2, 2, 2))
error_case("norm_matrix_ord", lambda tf, x: tf.norm(x, 3, axis=[0, 1]), x=F64(2, 2))
