"""tf.linalg.LinearOperator classes: what each does to columns, its functions, and what is made of two of them."""

import numpy as np

from cases.table import C64, C128, F32, F64, Table

TABLE = Table("linear_operators")
case, error_case = TABLE.case, TABLE.error_case

OPERATORS = {
    "Identity": (lambda tf, a: tf.linalg.LinearOperatorIdentity(3, dtype=a.dtype), F64(3, 3)),
    "IdentityBatch": (lambda tf, a: tf.linalg.LinearOperatorIdentity(3, batch_shape=[2], dtype=a.dtype), F64(3, 3)),
    "ScaledIdentity": (lambda tf, a: tf.linalg.LinearOperatorScaledIdentity(3, a), F64(2, low=1.0)),
    "Diag": (lambda tf, a: tf.linalg.LinearOperatorDiag(a, name="d"), F64(2, 3, low=1.0)),
    "DiagPositive": (lambda tf, a: tf.linalg.LinearOperatorDiag(a, is_positive_definite=True), F64(3, low=1.0)),
    "LowerTriangular": (lambda tf, a: tf.linalg.LinearOperatorLowerTriangular(a), F64(3, 3, low=1.0)),
    "FullMatrix": (lambda tf, a: tf.linalg.LinearOperatorFullMatrix(a), F64(2, 3, 3)),
    "FullMatrixPositive": (
        lambda tf, a: tf.linalg.LinearOperatorFullMatrix(
            tf.matmul(a, a, adjoint_b=True) + tf.eye(3, dtype=a.dtype), is_self_adjoint=True, is_positive_definite=True
        ),
        F64(3, 3),
    ),
    "Householder": (lambda tf, a: tf.linalg.LinearOperatorHouseholder(a), F64(2, 3)),
    "LowRankUpdate": (
        lambda tf, a: tf.linalg.LinearOperatorLowRankUpdate(
            tf.linalg.LinearOperatorDiag(np.array([2.0, 3.0, 4.0]), is_positive_definite=True), a,
            diag_update=np.array([0.5, 2.0]), is_diag_update_positive=True,
        ),
        F64(3, 2),
    ),
    "LowRankUpdateV": (
        lambda tf, a: tf.linalg.LinearOperatorLowRankUpdate(tf.linalg.LinearOperatorIdentity(3, dtype=a.dtype), a, v=2.0 * a),
        F64(3, 2),
    ),
    "Composition": (
        lambda tf, a: tf.linalg.LinearOperatorComposition(
            [tf.linalg.LinearOperatorFullMatrix(a), tf.linalg.LinearOperatorDiag(np.array([1.0, 2.0, 3.0]))]
        ),
        F64(3, 3),
    ),
    "BlockDiag": (
        lambda tf, a: tf.linalg.LinearOperatorBlockDiag(
            [tf.linalg.LinearOperatorFullMatrix(a), tf.linalg.LinearOperatorDiag(np.array([2.0]))]
        ),
        F64(2, 2),
    ),
    "Adjoint": (lambda tf, a: tf.linalg.LinearOperatorAdjoint(tf.linalg.LinearOperatorFullMatrix(a)), F64(3, 3)),
    "Inversion": (lambda tf, a: tf.linalg.LinearOperatorInversion(tf.linalg.LinearOperatorFullMatrix(a)), F64(3, 3)),
    "Circulant": (lambda tf, a: tf.linalg.LinearOperatorCirculant(a, input_output_dtype=tf.complex128), C128(2, 3)),
    "Toeplitz": (lambda tf, a: tf.linalg.LinearOperatorToeplitz(a, a + 1.0), C128(3)),
}  # fmt: skip
METHODS = {
    "matmul": lambda tf, o, x: [o.matmul(x), o.matmul(x, adjoint=True)],
    "solve": lambda tf, o, x: [o.solve(x), o.solve(x, adjoint=True)],
    "vectors": lambda tf, o, x: [o.matvec(x[..., 0]), o.solvevec(x[..., 0])],
    "determinants": lambda tf, o, x: [o.determinant(), o.log_abs_determinant()],
    "entries": lambda tf, o, x: [o.to_dense(), o.diag_part(), o.trace()],
    "inverse": lambda tf, o, x: [o.inverse().to_dense(), o.adjoint().to_dense()],
    "shape": lambda tf, o, x: [o.shape_tensor(), o.batch_shape_tensor(), o.tensor_rank_tensor()],
}
for _operator, (_make, _input) in OPERATORS.items():
    for _method, _call in METHODS.items():
        case(
            "%s_%s" % (_operator, _method),
            lambda tf, a, x, make=_make, call=_call: call(tf, make(tf, a), x),
            a=_input, x=(C128 if _input.dtype == "complex128" else F64)(3, 2), grad=False, partial=False,
            rtol=1e-8, atol=1e-9, reason="Fourier transforms and factors of matrices round differently",
        )  # fmt: skip
for _operator in ("Diag", "LowerTriangular", "FullMatrixPositive", "Householder", "LowRankUpdate"):
    case("%s_gradient" % _operator, lambda tf, a, x, make=OPERATORS[_operator][0]: make(tf, a).solve(make(tf, a).matmul(x) + x),
         a=OPERATORS[_operator][1], x=F64(3, 2), partial=False)  # fmt: skip
for _operator in ("DiagPositive", "FullMatrixPositive", "LowRankUpdate", "Identity"):
    case("%s_cholesky" % _operator, lambda tf, a, make=OPERATORS[_operator][0]: make(tf, a).cholesky().to_dense(),
         a=OPERATORS[_operator][1], grad=False, partial=False)  # fmt: skip
case("Kronecker",
     lambda tf, a, b, x: [f(tf.linalg.LinearOperatorKronecker(
         [tf.linalg.LinearOperatorFullMatrix(a), tf.linalg.LinearOperatorFullMatrix(b)]))
         for f in (lambda o: o.matmul(x), lambda o: o.solve(x, adjoint=True), lambda o: o.determinant(),
                   lambda o: o.to_dense(), lambda o: o.diag_part(), lambda o: o.trace())],
     a=F64(2, 2), b=F64(3, 3), x=F64(6, 2), grad=False, partial=False)  # fmt: skip
case("Zeros", lambda tf, x: [tf.linalg.LinearOperatorZeros(3, batch_shape=[2], dtype=x.dtype).matmul(x),
     tf.linalg.LinearOperatorZeros(3, 2, is_square=False, is_self_adjoint=False).to_dense()],
     x=F64(3, 2), grad=False, partial=False)  # fmt: skip
for _depth, _shape in (("2D", (2, 2)), ("3D", (2, 1, 2))):
    case("Circulant" + _depth, lambda tf, a, x, n="LinearOperatorCirculant" + _depth: getattr(tf.linalg, n)(a).matmul(x),
         a=C64(*_shape), x=C64(4, 2), grad=False, partial=False, rtol=1e-4, atol=1e-4,
         reason="Fourier transforms in float32 round differently")  # fmt: skip
case("functions",
     lambda tf, a, x: [f(tf.linalg.LinearOperatorDiag(a, is_positive_definite=True)) for f in (
         tf.linalg.det, tf.linalg.logdet, tf.linalg.trace, lambda o: tf.linalg.diag_part(o),
         lambda o: tf.matmul(o, x), lambda o: tf.matmul(x, o), lambda o: tf.linalg.solve(o, x),
         lambda o: tf.linalg.inv(o).to_dense(), lambda o: tf.linalg.cholesky(o).to_dense(),
         lambda o: tf.linalg.adjoint(o).to_dense())],
     a=F64(3, low=1.0), x=F64(3, 3), grad=False, partial=False)  # fmt: skip
case("products",
     lambda tf, a, b, x: [f(tf.linalg.LinearOperatorDiag(a), tf.linalg.LinearOperatorLowerTriangular(b)).matmul(x) for f in (
         lambda d, t: d.matmul(t), lambda d, t: t.matmul(d), lambda d, t: d.solve(t), lambda d, t: t.solve(d),
         lambda d, t: d.matmul(d), lambda d, t: t.matmul(t))],
     a=F64(3, low=1.0), b=F64(3, 3, low=1.0), x=F64(3, 1), grad=False, partial=False)  # fmt: skip
error_case("contradiction", lambda tf, a: tf.linalg.LinearOperatorFullMatrix(a, is_non_singular=True, is_square=False), a=F64(2, 3))
error_case("matmul_dtype", lambda tf, a, x: tf.linalg.LinearOperatorDiag(a).matmul(x), a=F32(3), x=F64(3, 1))
error_case("matmul_size", lambda tf, a, x: tf.linalg.LinearOperatorDiag(a).matmul(x), a=F32(3), x=F32(2, 1))
error_case("singular", lambda tf, a: tf.linalg.LinearOperatorDiag(a, is_non_singular=False).solve(a[:, None]), a=F32(3))
error_case("no_cholesky", lambda tf, a: tf.linalg.LinearOperatorFullMatrix(a).cholesky(), a=F32(3, 3))
error_case("zeros_determinant", lambda tf, a: tf.linalg.LinearOperatorZeros(3).assert_non_singular() and a, a=F32(3))
