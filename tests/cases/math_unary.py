"""Elementwise functions of one tensor."""

import numpy as np

from cases.table import BOOL, C64, C128, F16, F32, F64, I8, I32, I64, Table

TABLE = Table("math_unary")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 3.5, -2.5, 2.5, 0.5], np.float32)
ANYWHERE = [
    "abs",
    "negative",
    "sign",
    "square",
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "asinh",
    "erf",
    "sigmoid",
    "floor",
    "ceil",
    "round",
    "rint",
    "identity",
    "zeros_like",
    "ones_like",
    "math.softplus",
    "nn.relu",
    "nn.relu6",
    "nn.elu",
    "nn.selu",
    "nn.softsign",
    "nn.leaky_relu",
    "nn.swish",
    "log_sigmoid",
    "stop_gradient",
    "is_nan",
    "is_inf",
    "is_finite",
    "nn.tanh",
    "nn.sigmoid",
    "nn.softplus",
]
POSITIVE = [
    "sqrt",
    "rsqrt",
    "log",
    "log1p",
    "lgamma",
    "digamma",
    "reciprocal",
    "math.bessel_i0",
    "math.bessel_i1",
    "math.bessel_i0e",
    "math.bessel_i1e",
]
INSIDE_ONE = ["asin", "acos", "atanh", "erfc"]

each("", ANYWHERE, lambda f, x: f(x), x=F32(3, 4))
each("f64_", ANYWHERE, lambda f, x: f(x), x=F64(2, 3))
each("", POSITIVE, lambda f, x: f(x), x=F32(3, 4, low=0.3, high=4.0))
each("f64_", POSITIVE, lambda f, x: f(x), x=F64(2, 3, low=0.3, high=4.0))
each("", INSIDE_ONE, lambda f, x: f(x), x=F32(3, 4, low=-0.9, high=0.9))
each("f64_", INSIDE_ONE, lambda f, x: f(x), x=F64(2, 3, low=-0.9, high=0.9))
case("acosh", lambda tf, x: tf.acosh(x), x=F32(3, 4, low=1.2, high=4.0))
case("f64_acosh", lambda tf, x: tf.acosh(x), x=F64(3, 4, low=1.2, high=4.0))
each(
    "special_",
    [
        "abs",
        "sign",
        "square",
        "exp",
        "sqrt",
        "log",
        "round",
        "rint",
        "floor",
        "ceil",
        "tanh",
        "sigmoid",
        "nn.relu",
        "nn.relu6",
        "nn.elu",
        "math.softplus",
        "is_nan",
        "is_inf",
        "is_finite",
        "reciprocal",
        "nn.leaky_relu",
        "erf",
        "log1p",
        "rsqrt",
    ],
    lambda f, x: f(x),
    x=SPECIAL,
    grad=False,
)
each(
    "f16_",
    ["abs", "exp", "sqrt", "tanh", "sigmoid", "nn.relu", "round", "log", "square"],
    lambda f, x: f(x),
    x=F16(3, 4, low=0.2, high=3.0),
    rtol=2e-3,
    reason="half precision has 11 bits",
)
each(
    "i32_",
    ["abs", "negative", "sign", "square", "identity", "zeros_like", "ones_like", "nn.relu", "nn.relu6"],
    lambda f, x: f(x),
    x=I32(3, 4),
)
each("i64_", ["abs", "negative", "sign", "square"], lambda f, x: f(x), x=I64(5))
each(
    "c64_",
    [
        "abs",
        "negative",
        "square",
        "exp",
        "sqrt",
        "log",
        "sin",
        "cos",
        "tanh",
        "real",
        "imag",
        "conj",
        "angle",
        "reciprocal",
        "sign",
    ],
    lambda f, x: f(x),
    x=C64(3, 2),
)
each("c128_", ["abs", "exp", "real", "imag", "conj"], lambda f, x: f(x), x=C128(3))
each("empty_", ["abs", "exp", "sigmoid", "nn.relu", "square"], lambda f, x: f(x), x=F32(0, 3))
each("scalar_", ["abs", "exp", "sigmoid", "nn.relu", "square"], lambda f, x: f(x), x=F32())
each(
    "named_",
    ["abs", "exp", "sigmoid", "nn.relu", "square", "round", "nn.selu", "nn.leaky_relu", "log_sigmoid", "zeros_like"],
    lambda f, x: f(x, name="here"),
    x=F32(2),
)
case("logical_not", lambda tf, x: tf.logical_not(x), x=BOOL(4))
case("invert_operator", lambda tf, x: ~x, x=BOOL(4))
case("neg_operator", lambda tf, x: -x, x=F32(4))
case("abs_operator", lambda tf, x: abs(x), x=F32(4))
case("leaky_relu_alpha", lambda tf, x: tf.nn.leaky_relu(x, alpha=0.05), x=F32(3, 4))
case("crelu", lambda tf, x: tf.nn.crelu(x), x=F32(3, 4))
case("crelu_axis", lambda tf, x: tf.nn.crelu(x, axis=0), x=F32(3, 4))
case("real_of_float", lambda tf, x: tf.real(x), x=F32(3))
case("conj_of_float", lambda tf, x: tf.conj(x), x=F32(3))
case("imag_of_float", lambda tf, x: tf.imag(x), x=F32(3), grad=False)
case("complex", lambda tf, a, b: tf.complex(a, b), a=F32(3), b=F32(3))
case("complex_f64", lambda tf, a, b: tf.complex(a, b), a=F64(3), b=F64(3))
case("sigmoid_then_log", lambda tf, x: tf.log(tf.sigmoid(x)), x=F32(3, 4))
case("second_derivative", lambda tf, x: tf.gradients(tf.tanh(x) * tf.exp(x), x)[0], x=F64(4))
case("second_derivative_sigmoid", lambda tf, x: tf.gradients(tf.sigmoid(x), x)[0], x=F64(4))
case("add_check_numerics", lambda tf, x: tf.check_numerics(x, "bad"), x=F32(3))
case("zeros_like_dtype", lambda tf, x: tf.zeros_like(x, dtype=tf.int64), x=F32(3, 2))
case("ones_like_dtype", lambda tf, x: tf.ones_like(x, dtype=tf.float64), x=I32(3, 2))
case("zeros_like_no_optimize", lambda tf, x: tf.zeros_like(x, optimize=False), x=F32(3, 2))
for _name, _source in (
    ("f32", F32(6, low=-9.7, high=9.7)),
    ("i32", I32(6)),
    ("bool", BOOL(6)),
    ("f64", F64(6)),
    ("i8", I8(6)),
    ("c64", C64(6)),
):
    for _to in ("float32", "float64", "int32", "int64", "bool", "float16", "bfloat16", "complex64", "uint8", "int8"):
        if _to == "uint8" and _name not in ("bool",):
            continue
        case("cast_%s_%s" % (_name, _to), lambda tf, x, _to=_to: tf.cast(x, _to), x=_source)
case("cast_same", lambda tf, x: tf.cast(x, tf.float32), x=F32(3))
each("", ["to_float", "to_double", "to_int32", "to_int64", "to_complex64"], lambda f, x: f(x), x=F32(3, high=9.0))
case("saturate_cast", lambda tf, x: tf.saturate_cast(x, tf.uint8), x=F32(8, low=-300, high=600))
case("bitcast", lambda tf, x: tf.bitcast(x, tf.int32), x=F32(3))
case("bitcast_smaller", lambda tf, x: tf.bitcast(x, tf.uint8), x=F32(3))
case("population_count", lambda tf, x: tf.bitwise.invert(x), x=I32(4))
error_case("check_numerics_nan", lambda tf, x: tf.check_numerics(x, "bad"), x=SPECIAL)
error_case("logical_not_of_float", lambda tf, x: tf.logical_not(x), x=F32(3))
error_case("swish_named", lambda tf, x: tf.nn.swish(x, name="here"), x=F32(2))
error_case("sqrt_of_int", lambda tf, x: tf.sqrt(x), x=I32(3))
error_case("unknown_dtype", lambda tf, x: tf.cast(x, "float33"), x=F32(3))
error_case("cast_string", lambda tf, x: tf.cast(x, tf.string), x=F32(3))
