"""Seeded random numbers, compared to the bit where 1.15 computes them without the C library."""

import numpy as np

from cases.table import F32, Table, steps

TABLE = Table("random")
case, error_case = TABLE.case, TABLE.error_case
LIBM = dict(rtol=1e-6, reason="log, sin and cos of the C library: one unit in the last place")

for _dtype in ("float32", "float64", "float16", "bfloat16"):
    case("uniform_" + _dtype, lambda tf, d=_dtype: tf.random_uniform([7, 3], -1, 2, dtype=d), seed=42, run=steps(2))
for _dtype in ("int32", "int64"):
    case("uniform_" + _dtype, lambda tf, d=_dtype: tf.random_uniform([17], -5, 100, dtype=d), seed=42, run=steps(2))
for _dtype in ("float32", "float64", "float16"):
    _options = dict(rtol=2e-3, reason="half precision") if _dtype == "float16" else LIBM
    case(
        "normal_" + _dtype,
        lambda tf, d=_dtype: tf.random_normal([7, 3], 1.0, 2.0, dtype=d),
        seed=42,
        run=steps(2),
        atol=1e-6,
        **_options,
    )
    case(
        "truncated_" + _dtype,
        lambda tf, d=_dtype: tf.truncated_normal([7, 3], 1.0, 2.0, dtype=d),
        seed=42,
        run=steps(2),
        atol=1e-6,
        **_options,
    )
case(
    "seed_pairs",
    lambda tf: [
        tf.random_uniform([2], seed=0),
        tf.random_uniform([2]),
        tf.random_uniform([2], seed=5),
        tf.random_uniform([2], seed=-1),
    ],
    seed=0,
)
case(
    "op_seed_only",
    lambda tf: [tf.random_uniform([2], seed=0), tf.random_uniform([2], seed=1), tf.random_normal([2], seed=2**31 - 1)],
    **LIBM,
)
case("equal_seeds", lambda tf: [tf.random_uniform([4], seed=3), tf.random_uniform([4], seed=3)], seed=1, run=steps(2))
case("large_seed", lambda tf: tf.random_uniform([3], seed=2**40), seed=2**33)
case(
    "nodes_count",
    lambda tf: [
        tf.random_uniform([2]),
        tf.random_normal([2]),
        tf.truncated_normal([2]),
        tf.random_uniform([2], name="here"),
    ],
    seed=3,
    **LIBM,
)
case("tensor_shape", lambda tf, x: tf.random_uniform(tf.shape(x)), x=F32(3, 2), seed=4, grad=False, partial=False)
case("tensor_bounds", lambda tf, x: tf.random_uniform([3], 0.0, x), x=np.array(2.0, np.float32), seed=4)
case("empty", lambda tf: [tf.random_uniform([0]), tf.random_normal([0, 3])], seed=4)
case("scalar", lambda tf: [tf.random_uniform([]), tf.random_normal([])], seed=4, **LIBM)
case("shuffle", lambda tf: tf.random_shuffle(tf.range(10)), seed=5, run=steps(3))
case("shuffle_rows", lambda tf, x: tf.random_shuffle(x), x=F32(6, 2), seed=5, run=steps(2))
case("shuffle_one", lambda tf: tf.random_shuffle([7]), seed=5)
case("multinomial", lambda tf, x: tf.multinomial(x, 9), x=F32(4, 5), seed=6, run=steps(2))
case("categorical", lambda tf, x: tf.random.categorical(x, 5, dtype=tf.int32), x=F32(2, 3), seed=6, run=steps(2))
case(
    "gamma",
    lambda tf: tf.random_gamma([5], [0.5, 1.0, 3.0]),
    seed=7,
    run=steps(2),
    rtol=1e-5,
    reason="the C library's log and exp",
)
case("poisson", lambda tf: [tf.random_poisson(3.0, [8]), tf.random_poisson([20.0, 0.5], [4])], seed=7, run=steps(2))
case("random_crop", lambda tf, x: tf.random_crop(x, [2, 2]), x=F32(5, 6), seed=8, run=steps(2))
case(
    "parameterized_truncated_normal",
    lambda tf: tf.contrib.framework.nest.flatten(tf.truncated_normal([50], 0.0, 3.0)),
    seed=8,
    **LIBM,
)
case(
    "stateless",
    lambda tf: [
        tf.random.stateless_uniform([5], [1, 2]),
        tf.random.stateless_normal([4], [3, 4]),
        tf.random.stateless_truncated_normal([4], [5, 6]),
        tf.random.stateless_uniform([4], [1, 2], 0, 9, tf.int32),
    ],
    atol=1e-6,
    **LIBM,
)
case("stateless_multinomial", lambda tf: tf.random.stateless_multinomial([[0.0, 1.0]], 6, [1, 2]))
case(
    "public_names",
    lambda tf: [
        tf.random.uniform([2]),
        tf.random.normal([2]),
        tf.random.truncated_normal([2]),
        tf.random.shuffle([1, 2, 3]),
    ],
    seed=9,
    **LIBM,
)
case("get_seed", lambda tf: [tf.get_seed(None), tf.get_seed(4), tf.get_seed(0)], seed=10, fetch=False)
case("two_graph_seeds", lambda tf: _reseeded(tf), seed=10)
case("many", lambda tf: tf.random_uniform([301, 7]), seed=12)
case(
    "many_normal",
    lambda tf: tf.random_normal([301, 7]),
    seed=12,
    rtol=2e-6,
    atol=1e-6,
    reason="log, sin and cos of the C library",
)


def _reseeded(tf):
    first = tf.random_uniform([2])
    tf.set_random_seed(77)
    return [first, tf.random_uniform([2])]


error_case("uniform_int_without_max", lambda tf: tf.random_uniform([2], dtype=tf.int32))
error_case("uniform_bad_dtype", lambda tf: tf.random_uniform([2], dtype=tf.uint8))
error_case("uniform_empty_range", lambda tf: tf.random_uniform([2], 3, 3, tf.int32))
error_case("negative_shape", lambda tf: tf.random_normal([-2]))
error_case("multinomial_rank", lambda tf, x: tf.multinomial(x, 2), x=F32(3))
error_case("crop_too_large", lambda tf, x: tf.random_crop(x, [9]), x=F32(3))
