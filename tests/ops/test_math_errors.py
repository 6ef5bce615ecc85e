"""Error classes of the math family: when building, by shape and dtype; when running, by data. Classes are those of TensorFlow 1.15."""

import numpy as np
import pytest

import tfcompat as tf

FLOAT, INT = np.float32, np.int32


def values(*numbers, dtype=FLOAT):
    return np.array(numbers, dtype)


BUILDING = {
    "add_shapes": (ValueError, "Dimensions must be equal", lambda p: p(FLOAT, 3) + p(FLOAT, 2)),
    "add_dtypes": (TypeError, "float32", lambda p: p(FLOAT, 3) + p(INT, 3)),
    "add_none": (ValueError, "None", lambda p: p(FLOAT, 3) + None),
    "add_string": (TypeError, "string", lambda p: p(FLOAT, 3) + "a"),
    "truediv_dtypes": (TypeError, "same dtype", lambda p: p(INT, 3) / p(FLOAT, 3)),
    "truediv_bool": (TypeError, "Invalid dtype", lambda p: tf.truediv(p(bool, 3), p(bool, 3))),
    "sqrt_int": (TypeError, "not in list of allowed values", lambda p: tf.sqrt(p(INT, 3))),
    "invert_float": (TypeError, "bool", lambda p: ~p(FLOAT, 3)),
    "sum_bool": (TypeError, "not in list of allowed values", lambda p: tf.reduce_sum(p(bool, 3))),
    "sum_axis": (ValueError, "Invalid reduction dimension", lambda p: tf.reduce_sum(p(FLOAT, 3), 1)),
    "sum_axis_twice": (ValueError, "reduction_indices", lambda p: tf.reduce_sum(p(FLOAT, 3), 0, reduction_indices=0)),
    "argmax_axis": (ValueError, "Dimension", lambda p: tf.argmax(p(FLOAT, 3, 2), 2)),
    "matmul_shapes": (ValueError, "Dimensions must be equal", lambda p: tf.matmul(p(FLOAT, 3, 2), p(FLOAT, 3, 2))),
    "matmul_rank": (ValueError, "must be rank 2", lambda p: tf.matmul(p(FLOAT, 3), p(FLOAT, 3, 2))),
    "matmul_dtypes": (TypeError, "float32", lambda p: tf.matmul(p(FLOAT, 3, 2), p(np.float64, 2, 2))),
    "matmul_flags": (
        ValueError, "Only one of", lambda p: tf.matmul(p(FLOAT, 2, 2), p(FLOAT, 2, 2), transpose_a=True, adjoint_a=True),
    ),
    "range_delta": (ValueError, "delta != 0", lambda p: tf.range(3, 5, 0)),
    "range_direction": (ValueError, "start <= limit", lambda p: tf.range(5, 3)),
    "linspace_num": (ValueError, "num > 0", lambda p: tf.linspace(0.0, 1.0, 0)),
    "add_n_empty": (ValueError, "at least one", lambda p: tf.add_n([])),
    "add_n_shapes": (ValueError, "both shapes must be equal", lambda p: tf.add_n([p(FLOAT, 3), p(FLOAT, 2)])),
    "add_n_dtypes": (TypeError, "all match", lambda p: tf.add_n([p(FLOAT, 3), p(INT, 3)])),
    "accumulate_n_dtype": (TypeError, "tensor_dtype", lambda p: tf.accumulate_n([p(FLOAT, 3)], tensor_dtype=tf.int32)),
    "clip_enlarges": (ValueError, "hapes", lambda p: tf.clip_by_value(p(FLOAT, 2), p(FLOAT, 3, 2), 1.0)),
    "clip_no_sequence": (TypeError, "sequence", lambda p: tf.clip_by_global_norm(p(FLOAT, 2), 1.0)),
    "scalar_mul_rank": (ValueError, "scalar", lambda p: tf.scalar_mul([2.0], p(FLOAT, 2))),
    "complex_dtypes": (TypeError, "incorrect types", lambda p: tf.complex(p(FLOAT, 2), p(np.float64, 2))),
    "cross_size": (ValueError, "must be 3", lambda p: tf.cross(p(FLOAT, 2, 2), p(FLOAT, 2, 2))),
    "tensordot_axes": (ValueError, "axes", lambda p: tf.tensordot(p(FLOAT, 2, 3), p(FLOAT, 3, 2), [[1], [0, 1]])),
    "einsum_format": (ValueError, "format", lambda p: tf.einsum("i j;j", p(FLOAT, 2, 3), p(FLOAT, 3))),
    "einsum_count": (ValueError, "arguments", lambda p: tf.einsum("ij,j", p(FLOAT, 2, 3))),
    "einsum_repeated": (ValueError, "more than once", lambda p: tf.einsum("ii->i", p(FLOAT, 2, 2))),
    "einsum_keyword": (TypeError, "invalid keyword", lambda p: tf.einsum("ij->ji", p(FLOAT, 2, 2), axis=1)),
}  # fmt: skip

RUNNING = {
    "floordiv_zero": ("Integer division by zero", tf.floordiv, values(7, 1, dtype=INT), values(2, 0, dtype=INT)),
    "floormod_zero": ("Integer division by zero", tf.floormod, values(7, 1, dtype=INT), values(2, 0, dtype=INT)),
    "negative_power": ("negative integer powers", tf.pow, values(2, 3, dtype=INT), values(1, -1, dtype=INT)),
    "unknown_shapes": ("Incompatible shapes", tf.add, values(1, 2), values(1, 2, 3)),
    "matmul_sizes": ("mismatch", tf.matmul, np.zeros((2, 3), FLOAT), np.zeros((2, 3), FLOAT)),
    "axis": ("Invalid reduction dimension", tf.reduce_sum, values(1, 2), values(1, dtype=INT)),
    "empty_argmax": ("is empty", tf.argmax, np.zeros((2, 0), FLOAT), np.int32(1)),
    "scan_axis": ("scan axis", tf.cumsum, values(1, 2), np.int32(1)),
    "unsorted_ids": ("not increasing", tf.segment_sum, values(1, 2, 3), values(0, 2, 1, dtype=INT)),
    "too_few_ids": ("same size", tf.segment_sum, values(1, 2, 3), values(0, 1, dtype=INT)),
    "id_too_large": (
        "out of range", lambda x, ids: tf.unsorted_segment_sum(x, ids, 2), values(1, 2, 3), values(0, 1, 2, dtype=INT),
    ),
    "row_too_large": (
        "out of range", lambda x, rows: tf.sparse_segment_sum(x, rows, [0, 1]), values(1, 2, 3), values(0, 3, dtype=INT),
    ),
    "negative_bin": ("non-negative", lambda x, size: tf.bincount(x, minlength=size), values(-1, dtype=INT), np.int32(3)),
    "empty_range": ("value_range", tf.histogram_fixed_width, values(1, 2), values(1, 1)),
    "range_direction": ("start <= limit", tf.range, np.int32(5), np.int32(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILDING)
def test_building(name):
    error, text, build = BUILDING[name]
    with tf.Graph().as_default():
        with pytest.raises(error, match=text):
            build(lambda dtype, *sizes: tf.placeholder(dtype, sizes))


@pytest.mark.parametrize("name", RUNNING)
def test_running(name):
    text, function, x, y = RUNNING[name]
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(x.dtype), tf.placeholder(y.dtype)
        found = function(a, b)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(found, {a: x, b: y})


def test_constant_division_by_zero_builds_and_fails_when_run():
    with tf.Graph().as_default(), tf.Session() as session:
        quotient = tf.constant(1) // tf.constant(0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
            session.run(quotient)


def test_division_by_what_the_compiler_finds_to_be_zero():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [2])
        for quotient in (tf.ones([2], tf.int32) // (x * 0), tf.ones([2], tf.int32) % (x - x), tf.truncatediv(x, x * 0)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                session.run(quotient, {x: [3, 4]})


def test_failing_division_changes_no_variable():
    with tf.Graph().as_default(), tf.Session() as session:
        divisor = tf.placeholder(tf.int32, [])
        total = tf.Variable(1)
        update = total.assign_add(6 // divisor)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(update, {divisor: 0})
        assert session.run(total) == 1
        assert session.run(update, {divisor: 2}) == 4
