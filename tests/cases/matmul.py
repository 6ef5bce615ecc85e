"""Matrix products, tensor contractions and einsum."""

import itertools

from cases.table import C64, F16, F32, F64, I32, Table

TABLE = Table("matmul")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

each("", ["matmul", "linalg.matmul"], lambda f, a, b: f(a, b), a=F32(3, 4), b=F32(4, 2))
each("f64_", ["matmul"], lambda f, a, b: f(a, b), a=F64(3, 4), b=F64(4, 2))
each("i32_", ["matmul"], lambda f, a, b: f(a, b), a=I32(3, 4), b=I32(4, 2))
each("c64_", ["matmul"], lambda f, a, b: f(a, b), a=C64(3, 4), b=C64(4, 2))
each("f16_", ["matmul"], lambda f, a, b: f(a, b), a=F16(3, 4), b=F16(4, 2), rtol=4e-3, reason="half precision")
for _ta, _tb in itertools.product((False, True), repeat=2):
    case(
        "transpose_%d%d" % (_ta, _tb),
        lambda tf, a, b, _ta=_ta, _tb=_tb: tf.matmul(a, b, transpose_a=_ta, transpose_b=_tb),
        a=F64(*((4, 3) if _ta else (3, 4))),
        b=F64(*((2, 4) if _tb else (4, 2))),
    )
    case(
        "adjoint_%d%d" % (_ta, _tb),
        lambda tf, a, b, _ta=_ta, _tb=_tb: tf.matmul(a, b, adjoint_a=_ta, adjoint_b=_tb),
        a=C64(*((4, 3) if _ta else (3, 4))),
        b=C64(*((2, 4) if _tb else (4, 2))),
    )
    case(
        "batch_%d%d" % (_ta, _tb),
        lambda tf, a, b, _ta=_ta, _tb=_tb: tf.matmul(a, b, transpose_a=_ta, transpose_b=_tb),
        a=F64(2, *((4, 3) if _ta else (3, 4))),
        b=F64(2, *((2, 4) if _tb else (4, 2))),
    )
case("batch_broadcast", lambda tf, a, b: tf.matmul(a, b), a=F32(2, 1, 3, 4), b=F32(5, 4, 2))
case("batch_by_matrix", lambda tf, a, b: tf.matmul(a, b), a=F32(5, 3, 4), b=F32(4, 2))
case("operator", lambda tf, a, b: a @ b, a=F32(3, 4), b=F32(4, 2), partial=False)
case("sparse_flags", lambda tf, a, b: tf.matmul(a, b, a_is_sparse=True), a=F32(3, 4), b=F32(4, 2))
case("empty_inner", lambda tf, a, b: tf.matmul(a, b), a=F32(3, 0), b=F32(0, 2))
case("empty_outer", lambda tf, a, b: tf.matmul(a, b), a=F32(0, 3), b=F32(3, 2))
case("named", lambda tf, a, b: tf.matmul(a, b, name="product"), a=F32(3, 4), b=F32(4, 2))
case("matvec", lambda tf, a, b: tf.linalg.matvec(a, b), a=F32(3, 4), b=F32(4))
case("xw_plus_b", lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b), x=F32(2, 3), w=F32(3, 4), b=F32(4))
case("relu_layer", lambda tf, x, w, b: tf.nn.relu_layer(x, w, b), x=F32(2, 3), w=F32(3, 4), b=F32(4))
case("tensordot_1", lambda tf, a, b: tf.tensordot(a, b, 1), a=F32(2, 3, 4), b=F32(4, 5))
case("tensordot_axes", lambda tf, a, b: tf.tensordot(a, b, [[1, 2], [1, 0]]), a=F64(2, 3, 4), b=F64(4, 3, 5))
case("tensordot_int_axes", lambda tf, a, b: tf.tensordot(a, b, axes=[2, 0]), a=F32(2, 3, 4), b=F32(4, 5))
case("tensordot_0", lambda tf, a, b: tf.tensordot(a, b, 0), a=F32(2), b=F32(3))
EINSUMS = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "ij,ij->": ((2, 3), (2, 3)),
    "ij,j->i": ((2, 3), (3,)),
    "ij->ji": ((2, 3),),
    "ij->i": ((2, 3),),
    "i,j->ij": ((2,), (3,)),
    "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "abc,cd,de->abe": ((2, 2, 3), (3, 2), (2, 4)),
    "ijk,ijk->jk": ((2, 3, 4), (2, 3, 4)),
    "ij,kj->ik": ((2, 3), (4, 3)),
}
for _equation, _shapes in EINSUMS.items():
    case(
        "einsum_" + _equation.replace(",", "_").replace("->", "_to_"),
        lambda tf, _equation=_equation, **arrays: tf.einsum(_equation, *[arrays[k] for k in sorted(arrays)]),
        **{"x%d" % i: F64(*shape) for i, shape in enumerate(_shapes)},
    )
case("outer_product_sum", lambda tf, x, w: tf.reduce_sum(tf.matmul(x, w) * x), x=F64(3, 3), w=F64(3, 3))
case("diag", lambda tf, x: tf.diag(x), x=F32(3))
case("diag_part", lambda tf, x: tf.diag_part(x), x=F32(3, 3))
case("trace", lambda tf, x: tf.trace(x), x=F32(3, 3))
case("matrix_transpose", lambda tf, x: tf.matrix_transpose(x), x=F32(2, 3, 4))
case("matrix_band_part", lambda tf, x: tf.matrix_band_part(x, -1, 0), x=F32(2, 3, 4))
case("matrix_diag", lambda tf, x: tf.matrix_diag(x), x=F32(2, 3))
case("matrix_diag_part", lambda tf, x: tf.matrix_diag_part(x), x=F32(2, 3, 3))
case("matrix_set_diag", lambda tf, x, d: tf.matrix_set_diag(x, d), x=F32(2, 3, 3), d=F32(2, 3))
case("eye", lambda tf: [tf.eye(3), tf.eye(2, 3), tf.eye(2, batch_shape=[2]), tf.eye(2, dtype=tf.int32)])
error_case("inner_dimensions", lambda tf, a, b: tf.matmul(a, b), a=F32(3, 4), b=F32(3, 4))
error_case(
    "inner_dimensions_at_run",
    lambda tf, a, b: tf.matmul(tf.placeholder_with_default(a, None), b),
    a=F32(3, 4),
    b=F32(3, 4),
)
error_case("vector", lambda tf, a, b: tf.matmul(a, b), a=F32(4), b=F32(4, 2))
error_case("dtypes", lambda tf, a, b: tf.matmul(a, b), a=F32(3, 4), b=F64(4, 2))
error_case(
    "transpose_and_adjoint",
    lambda tf, a, b: tf.matmul(a, b, transpose_a=True, adjoint_a=True),
    a=F32(4, 3),
    b=F32(4, 2),
)
error_case("batch_dimensions", lambda tf, a, b: tf.matmul(a, b), a=F32(2, 3, 4), b=F32(3, 4, 2))
error_case("einsum_malformed", lambda tf, a, b: tf.einsum("ij,jk->iz", a, b), a=F32(2, 3), b=F32(3, 4))
error_case("einsum_operands", lambda tf, a: tf.einsum("ij,jk->ik", a), a=F32(2, 3))
