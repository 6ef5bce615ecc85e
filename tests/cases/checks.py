"""Assertions: nodes, and what passes and fails while building and in a run."""

import numpy as np

from cases.table import F32, I32, Table

TABLE = Table("checks")
case, error_case = TABLE.case, TABLE.error_case


def guarded(name, check, partial=False, **inputs):
    """A value that is given after the check."""

    def build(tf, **tensors):
        with tf.control_dependencies([check(tf, **tensors)]):
            return [tf.identity(t) for _, t in sorted(tensors.items())]

    case(name, build, partial=partial, grad=False, **inputs)


X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
guarded("equal", lambda tf, x, y: tf.assert_equal(x, y), x=X, y=X)
guarded("equal_itself", lambda tf, x: tf.assert_equal(x, x), x=X)
guarded("equal_int", lambda tf, x: tf.assert_equal(x, [1, 2], message="of ints"), x=np.array([1, 2], np.int32))
guarded("none_equal", lambda tf, x: tf.assert_none_equal(x, -1.0, message="m"), x=X)
guarded("less", lambda tf, x: tf.assert_less(x, 5.0, data=["larger", x], summarize=2, name="l"), x=X)
guarded("less_equal", lambda tf, x: tf.assert_less_equal(x, 4.0), x=X)
guarded("greater", lambda tf, x: tf.assert_greater(x, 0.0), x=X)
guarded("greater_equal", lambda tf, x: tf.assert_greater_equal(x, 1.0, message="m", name="ge"), x=X)
guarded("near", lambda tf, x, y: tf.assert_near(x, y), x=X, y=X)
guarded("near_given", lambda tf, x: tf.assert_near(x, x + 0.1, rtol=0.1, atol=0.2, message="m"), x=X)
guarded("positive", lambda tf, x: tf.assert_positive(x), x=X)
guarded("negative", lambda tf, x: tf.assert_negative(-x, message="m"), x=X)
guarded("non_negative", lambda tf, x: tf.assert_non_negative(x, data=[x]), x=X)
guarded("non_positive", lambda tf, x: tf.assert_non_positive(-x, name="np"), x=X)
guarded("rank", lambda tf, x: tf.assert_rank(x, 2), x=X)
guarded("rank_unknown", lambda tf, x: tf.assert_rank(tf.placeholder_with_default(x, None), 2), x=X)
guarded(
    "rank_at_run",
    lambda tf, x: tf.assert_rank(tf.placeholder_with_default(x, None), tf.placeholder_with_default(2, [])),
    x=X,
)
guarded("rank_at_least", lambda tf, x: tf.assert_rank_at_least(tf.placeholder_with_default(x, None), 1), x=X)
guarded("rank_in", lambda tf, x: tf.assert_rank_in(tf.placeholder_with_default(x, None), [1, 2]), x=X)
guarded("rank_in_static", lambda tf, x: tf.assert_rank_in(x, (2,)), x=X)
guarded("integer", lambda tf, x: tf.assert_integer(x), x=I32(3))
guarded("type", lambda tf, x: tf.assert_type(x, tf.float32), x=X)
guarded("shapes", lambda tf, x: tf.debugging.assert_shapes([(x, ("n", 2)), (x, ("...", "n")[1:] * 2)]), x=X)
guarded(
    "shapes_unknown",
    lambda tf, x: tf.debugging.assert_shapes(
        [(x, ("n", "m")), (tf.placeholder_with_default(x, [None, None]), (Ellipsis, "m")), (x[0, 0], ())]
    ),
    x=X,
)
case("scalar", lambda tf, x: tf.assert_scalar(x, name="s"), x=F32())
case("scalar_of_number", lambda tf: tf.assert_scalar(3.0))
case("is_non_decreasing", lambda tf, x: tf.is_non_decreasing(x), x=I32(4), partial=False)
case("is_strictly_increasing", lambda tf, x: tf.math.is_strictly_increasing(x), x=X, partial=False)
case("is_increasing_short", lambda tf, x: tf.is_strictly_increasing(x), x=F32(1), grad=False, partial=False)
case("all_finite", lambda tf, x: tf.verify_tensor_all_finite(x, "not finite"), x=F32(3))


def check_all(tf, x):
    y = tf.sqrt(tf.abs(x)) + 1.0
    with tf.control_dependencies([tf.add_check_numerics_ops()]):
        return tf.identity(y)


case("add_check_numerics_ops", check_all, x=F32(3), grad=False)


def failing(name, check, **inputs):
    def build(tf, **tensors):
        with tf.control_dependencies([check(tf, **tensors)]):
            return tf.constant(1.0)

    error_case(name, build, **inputs)


failing("equal_fails", lambda tf, x: tf.assert_equal(x, x + 1.0), x=X)
failing("equal_fails_static", lambda tf: tf.assert_equal([1, 2], [1, 3], message="m"))
failing("less_fails", lambda tf, x: tf.assert_less(x, 2.0, data=["data", x], summarize=10, message="m"), x=X)
failing("positive_fails", lambda tf, x: tf.assert_positive(-x), x=X)
failing("positive_fails_static", lambda tf: tf.assert_positive(np.float32([1, -1])))
failing("near_fails", lambda tf, x: tf.assert_near(x, x + 1.0, message="m"), x=X)
failing("rank_fails", lambda tf, x: tf.assert_rank(x, 3, message="m"), x=X)
failing("rank_vector", lambda tf, x: tf.assert_rank(x, [3]), x=X)
failing("rank_fails_run", lambda tf, x: tf.assert_rank(tf.placeholder_with_default(x, None), 3), x=X)
failing("rank_at_least_fails", lambda tf, x: tf.assert_rank_at_least(x, 3), x=X)
failing("rank_in_fails", lambda tf, x: tf.assert_rank_in(x, [1, 3]), x=X)
failing("integer_fails", lambda tf, x: tf.assert_integer(x, message="m"), x=X)
failing("type_fails", lambda tf, x: tf.assert_type(x, tf.int32), x=X)
failing("scalar_fails", lambda tf, x: tf.assert_scalar(x), x=X)
failing("shapes_fail", lambda tf, x: tf.debugging.assert_shapes({x: ("n", 3)}), x=X)
failing("shapes_iterable", lambda tf, x: tf.debugging.assert_shapes({x: 3}), x=X)
failing("shapes_star", lambda tf, x: tf.debugging.assert_shapes({x: (2, "*")}), x=X)
failing(
    "shapes_fail_run",
    lambda tf, x: tf.debugging.assert_shapes({tf.placeholder_with_default(x, [None, 2]): (3, 2)}),
    x=X,
)
error_case("same_float_dtype", lambda tf, x: tf.constant(str(tf.assert_same_float_dtype([x, tf.constant(1)]))), x=X)
error_case("same_float_integer", lambda tf: tf.assert_same_float_dtype([tf.constant(1)]))
error_case("proper_iterable", lambda tf, x: tf.assert_proper_iterable(x), x=X)
error_case("finite_fails", lambda tf, x: tf.verify_tensor_all_finite(x / 0.0, "not finite"), x=X)
