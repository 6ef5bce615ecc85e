"""Linear algebra: functions of matrices, tridiagonal matrices, pseudo-inverse, rank."""

import numpy as np

from cases.table import C128, F32, F64, Table

TABLE = Table("linalg_more")
case, error_case = TABLE.case, TABLE.error_case


def positive(tf, x):
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(3, dtype=x.dtype)


for _scale in (0.001, 0.05, 0.3, 1.0, 4.0):
    case("expm_%s" % _scale, lambda tf, x, s=_scale: tf.linalg.expm(s * x), x=F64(2, 3, 3), grad=False)
case("expm", lambda tf, x: tf.linalg.expm(x, name="e"), x=F64(3, 3, low=-0.5, high=0.5))
case("expm_float32", lambda tf, x: tf.linalg.expm(x), x=F32(2, 2), grad=False)
case("expm_complex", lambda tf, x: tf.linalg.expm(x), x=C128(2, 2), grad=False)
case("expm_empty", lambda tf, x: tf.linalg.expm(x), x=np.zeros([0, 0]), grad=False, partial=False)
error_case("expm_int", lambda tf, x: tf.linalg.expm(x), x=np.eye(2, dtype=np.int32))
case("logm", lambda tf, x: tf.linalg.logm(positive(tf, x)), x=C128(2, 3, 3), grad=False)
NOT_FINITE = np.array([[[np.inf, 0, 0], [0, 1, 0], [0, 0, 2]], [[1, np.nan, 0], [0, 1, 0], [0, 0, 2]]])
case("logm_not_finite", lambda tf, x: tf.linalg.logm(x), x=NOT_FINITE.astype(np.complex128), grad=False)
case("sqrtm_not_finite", lambda tf, x: tf.linalg.sqrtm(x), x=NOT_FINITE, grad=False)
error_case("logm_real", lambda tf, x: tf.linalg.logm(x), x=F64(2, 2))
case("sqrtm", lambda tf, x: tf.linalg.sqrtm(positive(tf, x)), x=F64(2, 3, 3))
case("sqrtm_complex", lambda tf, x: tf.linalg.sqrtm(x), x=C128(3, 3), grad=False)
case("sqrtm_none", lambda tf, x: tf.linalg.sqrtm(x), x=np.diag([-1.0, 4.0]), grad=False)
error_case("sqrtm_shape", lambda tf, x: tf.linalg.sqrtm(x), x=F64(2, 3))
for _name, _shape in (("tall", (4, 3)), ("wide", (2, 3, 4))):
    case("pinv_" + _name, lambda tf, x: tf.linalg.pinv(x), x=F64(*_shape), grad=False)
    case("matrix_rank_" + _name, lambda tf, x: tf.linalg.matrix_rank(x), x=F64(*_shape), grad=False)
case("pinv_rcond", lambda tf, x: tf.linalg.pinv(x, rcond=0.5, name="p"), x=F64(3, 3), grad=False)
case("pinv_validated", lambda tf, x: tf.linalg.pinv(x, validate_args=True), x=F64(3, 3), grad=False)
case("matrix_rank_tol", lambda tf, x: tf.linalg.matrix_rank(x, tol=1.0), x=F64(2, 3, 3), grad=False)
error_case("pinv_int", lambda tf, x: tf.linalg.pinv(x), x=np.eye(2, dtype=np.int32))
error_case("pinv_vector", lambda tf, x: tf.linalg.pinv(x), x=F64(3))

for _dtype, _make in (("real", F64), ("complex", C128)):
    for _pivoting in (True, False):
        case(
            "tridiagonal_solve_%s_%s" % (_dtype, _pivoting),
            lambda tf, d, x, p=_pivoting: tf.linalg.tridiagonal_solve(d, x, partial_pivoting=p),
            d=_make(2, 3, 4, low=1.0, high=3.0), x=_make(2, 4, 2), partial=False, grad=_dtype == "real",
        )  # fmt: skip
    case("tridiagonal_matmul_" + _dtype, lambda tf, d, x: tf.linalg.tridiagonal_matmul(d, x), d=_make(2, 3, 4),
         x=_make(2, 4, 2), grad=_dtype == "real")  # fmt: skip
case("tridiagonal_solve_vector", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x), d=F64(3, 4, low=1.0), x=F64(4), partial=False)
case("tridiagonal_solve_one", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x), d=F64(3, 1), x=F64(1, 2), partial=False)
case("tridiagonal_solve_sequence", lambda tf, a, b, c, x: tf.linalg.tridiagonal_solve([a, b, c], x, diagonals_format="sequence"),
     a=F64(3), b=F64(4, low=2.0, high=3.0), c=F64(3), x=F64(4, 2), partial=False)  # fmt: skip
case("tridiagonal_solve_matrix", lambda tf, m, x: tf.linalg.tridiagonal_solve(m, x, diagonals_format="matrix"), m=F64(3, 3),
     x=F64(3, 2), partial=False)  # fmt: skip
case("tridiagonal_solve_transposed",
     lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x, transpose_rhs=True, conjugate_rhs=True, name="t"),
     d=C128(3, 4), x=C128(2, 4), partial=False, grad=False)  # fmt: skip
case("tridiagonal_matmul_sequence", lambda tf, a, b, c, x: tf.linalg.tridiagonal_matmul([a, b, c], x, diagonals_format="sequence"),
     a=F64(4), b=F64(4), c=F64(4), x=F64(4, 2), partial=False)  # fmt: skip
case("tridiagonal_matmul_matrix", lambda tf, m, x: tf.linalg.tridiagonal_matmul(m, x, diagonals_format="matrix"), m=F64(3, 3),
     x=F64(3, 2), partial=False)  # fmt: skip
error_case("tridiagonal_format", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x, "dense"), d=F64(3, 4), x=F64(4, 1))
error_case("tridiagonal_count", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x), d=F64(2, 4), x=F64(4, 1))
error_case("tridiagonal_rows", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x), d=F64(3, 4), x=F64(3, 1))
error_case("tridiagonal_singular", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x), d=np.zeros([3, 3]), x=F64(3, 1))
error_case("tridiagonal_pivots", lambda tf, d, x: tf.linalg.tridiagonal_solve(d, x, partial_pivoting=False),
           d=np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]), x=F64(3, 1))  # fmt: skip
