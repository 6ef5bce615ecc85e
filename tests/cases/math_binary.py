"""Elementwise functions of two tensors, comparisons, logic and selection."""

import numpy as np

from cases.table import BOOL, C64, F16, F32, F64, I8, I32, I64, U8, Table

TABLE = Table("math_binary")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

ARITHMETIC = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "squared_difference",
    "divide",
    "math.add",
    "math.subtract",
    "math.multiply",
    "truediv",
    "math.divide_no_nan",
    "realdiv",
]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
INTEGER_DIVISION = ["floordiv", "floormod", "mod", "truncatediv", "truncatemod", "floor_div"]
LEFT = np.array([7, -7, 7, -7, 6, -6, 0, 1], np.int32)
RIGHT = np.array([3, 3, -3, -3, 3, 3, -5, 1], np.int32)

for _label, _kind in (("", F32), ("f64_", F64)):
    each(_label, ARITHMETIC, lambda f, x, y: f(x, y), x=_kind(3, 4), y=_kind(3, 4, low=0.5, high=2.0))
    each(_label + "broadcast_", ARITHMETIC[:7], lambda f, x, y: f(x, y), x=_kind(2, 1, 4), y=_kind(3, 1))
    each(_label + "scalar_", ARITHMETIC[:7], lambda f, x: f(x, 2.0), x=_kind(3))
each("reversed_scalar_", ARITHMETIC[:7], lambda f, x: f(2.0, x), x=F32(3))
each(
    "f16_", ARITHMETIC[:6], lambda f, x, y: f(x, y), x=F16(5), y=F16(5), rtol=2e-3, reason="half precision has 11 bits"
)
each(
    "i32_",
    ["add", "subtract", "multiply", "maximum", "minimum", "squared_difference"],
    lambda f, x, y: f(x, y),
    x=I32(3, 4),
    y=I32(4),
)
each("i64_", ["add", "subtract", "multiply", "maximum"], lambda f, x, y: f(x, y), x=I64(4), y=I64(4))
each("u8_", ["add", "subtract", "multiply"], lambda f, x, y: f(x, y), x=U8(4), y=U8(4))
each(
    "c64_", ["add", "subtract", "multiply", "divide", "squared_difference"], lambda f, x, y: f(x, y), x=C64(4), y=C64(4)
)
each("signs_", INTEGER_DIVISION, lambda f, x, y: f(x, y), x=LEFT, y=RIGHT)
each("signs_i64_", INTEGER_DIVISION, lambda f, x, y: f(x, y), x=LEFT.astype(np.int64), y=RIGHT.astype(np.int64))
each(
    "signs_f32_",
    ["floordiv", "floormod", "mod", "divide", "truediv"],
    lambda f, x, y: f(x, y),
    x=LEFT.astype(np.float32) + 0.25,
    y=RIGHT.astype(np.float32),
)
each(
    "signs_i32_",
    ["divide", "truediv", "div", "div_no_nan"],
    lambda f, x, y: f(x, y),
    x=LEFT.astype(np.float32),
    y=RIGHT.astype(np.float32),
)
case("truediv_of_ints", lambda tf, x, y: tf.truediv(x, y), x=LEFT, y=RIGHT)
case("divide_of_ints", lambda tf, x, y: tf.divide(x, y), x=LEFT, y=RIGHT)
case("div_of_ints", lambda tf, x, y: tf.div(x, y), x=LEFT, y=RIGHT)
case("truediv_of_i8", lambda tf, x, y: tf.truediv(x, y), x=I8(4), y=np.array([1, 2, 3, 4], np.int8))
case("divide_by_zero", lambda tf, x: x / tf.zeros([4]), x=np.array([1, -1, 0, np.nan], np.float32), grad=False)
case("div_no_nan_by_zero", lambda tf, x, y: tf.div_no_nan(x, y), x=F32(3), y=np.array([0, 1, 0], np.float32))
each(
    "",
    COMPARISONS,
    lambda f, x, y: f(x, y),
    x=np.array([1, 2, np.nan, 4], np.float32),
    y=np.array([2, 2, np.nan, 1], np.float32),
)
each("i64_", COMPARISONS, lambda f, x, y: f(x, y), x=I64(3, 1), y=I64(4))
each("bool_", ["equal", "not_equal"], lambda f, x, y: f(x, y), x=BOOL(4), y=BOOL(4))
each(
    "",
    ["logical_and", "logical_or", "logical_xor", "math.logical_and"],
    lambda f, x, y: f(x, y),
    x=BOOL(4, 1),
    y=BOOL(3),
)
each("", ["pow", "math.pow"], lambda f, x, y: f(x, y), x=F32(3, 4, low=0.3, high=3), y=F32(4))
case("f64_pow", lambda tf, x, y: tf.pow(x, y), x=F64(3, low=0.3, high=3), y=F64(3))
case("pow_of_ints", lambda tf, x, y: tf.pow(x, y), x=I32(5), y=I32(5, low=0, high=4))
case("pow_scalar", lambda tf, x: [x**2, x**3, 2.0**x], x=F32(5))
case("atan2", lambda tf, y, x: tf.atan2(y, x), y=F64(6), x=F64(6))
each(
    "",
    ["math.igamma", "math.igammac", "math.zeta", "math.polygamma"],
    lambda f, a, x: f(a, x),
    a=np.array([2.0, 3.0, 4.0], np.float32),
    x=F32(3, low=1.1, high=3.0),
    grad=False,
    rtol=2e-5,
    reason="different series in Eigen and XLA",
)
case(
    "betainc",
    lambda tf, x: tf.betainc(2.0 + tf.zeros([3]), 3.0 + tf.zeros([3]), x),
    x=F32(3, low=0.1, high=0.9),
    grad=False,
)
each(
    "",
    ["math.xlogy", "math.xdivy"],
    lambda f, x, y: f(x, y),
    x=np.array([0, 1, 2.5], np.float64),
    y=np.array([0, 2, 0.5], np.float64),
    grad=False,
)
case(
    "operators",
    lambda tf, x, y: [x + y, x - y, x * y, x / y, x // y, x % y, x < y, x <= y, x > y, x >= y],
    x=F32(4),
    y=F32(4, low=0.5, high=2),
)
case("reversed_operators", lambda tf, x: [1 + x, 1 - x, 2 * x, 2 / x, 2 // x, 5 % x, 1 < x], x=F32(4, low=0.5, high=2))
case(
    "int_operators", lambda tf, x, y: [x + y, x - y, x * y, x / y, x // y, x % y, 7 // y, 7 % y, x + 1], x=LEFT, y=RIGHT
)
case("bool_operators", lambda tf, x, y: [x & y, x | y, x ^ y, True & x], x=BOOL(4), y=BOOL(4))
case("array_operand", lambda tf, x: [x + np.ones([3], np.float32), np.float32(2) * x], x=F32(2, 3))
case("self_operand", lambda tf, x: x * x + x, x=F32(3))
case(
    "named",
    lambda tf, x, y: [tf.add(x, y, name="sum"), tf.multiply(x, y, name="sum"), tf.truediv(x, y, name="q")],
    x=F32(2),
    y=F32(2),
)
case("add_n", lambda tf, x, y, z: tf.add_n([x, y, z]), x=F32(3), y=F32(3), z=F32(3))
case("add_n_one", lambda tf, x: [tf.add_n([x]), tf.add_n([x], name="sum")], x=F32(3))
case("accumulate_n", lambda tf, x, y: tf.accumulate_n([x, y, x]), x=F32(3), y=F32(3), partial=False)
case("where_three", lambda tf, c, x, y: tf.where(c, x, y), c=BOOL(3, 4), x=F32(3, 4), y=F32(3, 4))
case("where_rows", lambda tf, c, x, y: tf.where(c, x, y), c=BOOL(3), x=F32(3, 4), y=F32(3, 4))
case("where_scalar", lambda tf, x, y: tf.where(True, x, y), x=F32(3), y=F32(3))
case("where_indices", lambda tf, c: tf.where(c), c=BOOL(3, 4))
case("where_indices_of_floats", lambda tf, x: tf.where(x), x=np.array([[0, 1.5], [2, 0]], np.float32), grad=False)
case("where_v2", lambda tf, c, x, y: tf.where_v2(c, x, y), c=BOOL(3, 1), x=F32(4), y=F32(3, 1))
case("cross", lambda tf, a, b: tf.cross(a, b), a=F64(4, 3), b=F64(4, 3))
case("lerp", lambda tf, x, y: x + 0.25 * (y - x), x=F32(3), y=F32(3))
each(
    "",
    ["bitwise.bitwise_and", "bitwise.bitwise_or", "bitwise.bitwise_xor"],
    lambda f, x, y: f(x, y),
    x=I32(5),
    y=I32(5),
)
each("", ["bitwise.left_shift", "bitwise.right_shift"], lambda f, x, y: f(x, y), x=I32(5), y=I32(5, low=0, high=5))
case("empty", lambda tf, x, y: x + y, x=F32(0, 3), y=F32(1, 3))
case("empty_broadcast", lambda tf, x, y: x * y, x=F32(2, 0), y=F32(2, 1))
error_case("add_shapes", lambda tf, x, y: x + y, x=F32(3), y=F32(4))
error_case("add_dtypes", lambda tf, x, y: x + y, x=F32(3), y=F64(3))
error_case("add_dtypes_int", lambda tf, x, y: tf.add(x, y), x=F32(3), y=I32(3))
error_case("add_string_constant", lambda tf, x: x + "a", x=F32(3))
error_case("add_float_to_int", lambda tf, x: x + 1.5, x=I32(3))
error_case("add_n_empty", lambda tf: tf.add_n([]))
error_case("add_n_shapes", lambda tf, x, y: tf.add_n([x, y]), x=F32(3), y=F32(4))
case(
    "truncatemod_f32",
    lambda tf, x, y: tf.truncatemod(x, y),
    x=LEFT + np.float32(0.25),
    y=RIGHT + np.float32(0),
    grad=False,
)
error_case("integer_division_by_zero", lambda tf, x: x // tf.zeros([3], tf.int32), x=I32(3))
error_case("integer_modulo_by_zero", lambda tf, x: tf.floormod(x, tf.zeros([3], tf.int32)), x=I32(3))
error_case("negative_integer_power", lambda tf, x: tf.pow(x, -1), x=I32(3, low=2, high=4))
error_case("unknown_shapes_differ", lambda tf, x, y: tf.placeholder_with_default(x, [None]) + y, x=F32(3), y=F32(4))
error_case("tensor_as_bool", lambda tf, x: bool(x), x=F32())
error_case("iterate_tensor", lambda tf, x: list(iter(x)), x=F32(3))
error_case("where_one_branch", lambda tf, c, x: tf.where(c, x), c=BOOL(3), x=F32(3))
