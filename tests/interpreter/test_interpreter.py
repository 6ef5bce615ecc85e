"""What the interpreter gives against what XLA gives on the CPU, primitive by primitive."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter import engine

INT_MIN = np.iinfo(np.int32).min
RANDOM = np.random.RandomState(0)
FLOATS = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3e9, -3e9, 1e20, 2.5, -2.5, 0.5, 300, -1], np.float32)
INTS = np.array([INT_MIN, INT_MIN, -7, 7, -7, 5, 0], np.int32)
DIVISORS = np.array([-1, 0, 2, -2, 0, 3, 0], np.int32)
AMOUNTS = np.array([0, 31, 32, -1, 1, 40, 3], np.int32)
IMAGES = RANDOM.randn(2, 8, 9, 4).astype(np.float32)


def check(function, *arguments, ulps=0, sums=0.0):
    """Equal dtypes and shapes; equal bits, or values within some units in the last place or, for sums in another order, within an absolute bound."""
    with jax_compat.x64():
        wanted = jax.tree.leaves(jax.jit(function)(*arguments))
        found = engine.prepare(jax.make_jaxpr(function)(*arguments))(*arguments)
    for want, have in zip(map(np.asarray, wanted), found, strict=True):
        assert (want.dtype, want.shape) == (have.dtype, have.shape)
        if sums:
            np.testing.assert_allclose(have.astype(np.float64), want.astype(np.float64), rtol=sums, atol=sums)
        elif ulps:
            np.testing.assert_array_max_ulp(have, want, ulps)
        else:
            wide = np.float32 if want.dtype == ml_dtypes.bfloat16 else want.dtype
            np.testing.assert_array_equal(have.astype(wide), want.astype(wide))
            if want.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(have) & ~np.isnan(have), np.signbit(want) & ~np.isnan(want))


@pytest.mark.parametrize("name, other", [("div", DIVISORS), ("rem", DIVISORS), ("shift_left", AMOUNTS), ("shift_right_logical", AMOUNTS), ("shift_right_arithmetic", AMOUNTS)])
def test_ends_of_the_integers(name, other):
    check(getattr(lax, name), INTS, other)
    check(getattr(lax, name), INTS.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float64"])
def test_conversions(dtype):
    check(lambda x: x.astype(dtype), FLOATS)
    check(lambda x: x.astype(dtype), INTS)


@pytest.mark.parametrize("name", ["sign", "round", "floor", "ceil", "neg", "abs", "is_finite", "sqrt", "square"])
def test_exact_functions_of_floats(name):
    check(getattr(lax, name), FLOATS)


@pytest.mark.parametrize("name", ["max", "min", "eq", "lt", "rem", "nextafter"])
def test_pairs_of_floats(name):
    left, right = (a.ravel() for a in np.meshgrid(FLOATS, FLOATS[[0, 1, 3, 8, 12]]))
    check(getattr(lax, name), left, right)


@pytest.mark.parametrize("name", ["clz", "population_count", "bitwise_not"])
def test_bits(name):
    check(getattr(lax, name), INTS)


@pytest.mark.parametrize("config", [((-1, 2, 1), (3, -4, 0)), ((-3, -1, 2), (0, 0, 3)), ((0, 0, 0), (-5, 0, 0))])
def test_padding(config):
    check(lambda x: lax.pad(x, np.float32(7), config), np.arange(20, dtype=np.float32).reshape(4, 5))


@pytest.mark.parametrize(
    "options",
    [
        {"window_strides": (2, 1), "padding": "SAME"},
        {"window_strides": (1, 1), "padding": "VALID", "feature_group_count": 2, "rhs_dilation": (2, 1)},
        {"window_strides": (1, 2), "padding": ((-1, 3), (2, -2)), "lhs_dilation": (2, 3)},
        {"window_strides": (1, 1), "padding": "VALID", "batch_group_count": 2},
    ],
)
def test_convolutions(options):
    kernel = RANDOM.randn(3, 2, 4 // options.get("feature_group_count", 1), 6).astype(np.float32)
    check(lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options), IMAGES, kernel, sums=1e-5)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("places", [[[9, -3], [1, 0]], [[]]])
def test_gather(mode, places):
    check(lambda x, i: jnp.take(x, i, axis=1, mode=mode), IMAGES, np.array(places, np.int64))


def test_gather_in_batches():
    check(jax.vmap(lambda x, i: x[i]), IMAGES[0], np.array([0, 1, 2, 9, 3, 4, 5, -1]))


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
def test_scatter_leaves_out_what_is_outside(kind):
    x, updates = np.arange(20).reshape(4, 5), np.arange(12).reshape(4, 3) - 5
    check(lambda x, i, u: getattr(x.at[:, i], kind)(u), x, np.array([0, 9, -2]), updates)


def test_sorts():
    keys = np.array([np.nan, 1, -0.0, 0, -np.inf, 1], np.float32)
    check(lambda a, b: lax.sort((a, b), num_keys=1), keys, np.arange(6))
    check(lambda a, b: lax.sort((a, b), num_keys=2), np.array([2, 1, 2, 1]), keys[:4])
    check(lambda a: lax.top_k(a, 3), np.array([[1, np.nan, 2, 2, -0.0, 0.0]], np.float32))


def test_control_flow():
    check(lambda a: lax.scan(lambda c, y: (c + y, c * y), a[0], a, reverse=True), np.arange(15).reshape(5, 3))
    check(lambda a: lax.while_loop(lambda s: s < 100, lambda s: s * 2 + 1, a), np.int64(1))
    for index in (-3, 0, 1, 7):
        check(lambda i, x: lax.switch(i, [lambda x: x + 1, lambda x: x * 3], x), np.int32(index), np.int32(5))
    check(jax.checkpoint(lambda x: x * 2), np.arange(3))


def test_small_floats_are_rounded_once():
    x = RANDOM.randn(64).astype(ml_dtypes.bfloat16)
    check(lambda x, y: (x + y, x * y, x / y), x, x[::-1].copy())


def test_reductions_of_nothing():
    check(lambda x: (x.sum(0), x.max(1, initial=-1), jnp.cumsum(x, 0)), np.zeros((0, 3), np.float32))


def test_results_share_no_memory_with_arguments():
    with jax_compat.x64():
        evaluate = engine.prepare(jax.make_jaxpr(lambda x: (x, x.reshape(2, 2)))(np.arange(4)))
    x = np.arange(4)
    assert not any(np.shares_memory(x, y) for y in evaluate(x))


def test_what_is_missing_is_known_before_a_run():
    with jax_compat.x64():
        trace = jax.make_jaxpr(lambda x: lax.cond(x[0, 0] > 0, lambda x: jnp.linalg.eigvals(x).real, lambda x: x[0], x))(np.eye(2))
    assert engine.missing(trace.jaxpr) == {"eig"}
    with pytest.raises(NotImplementedError, match="eig"):
        engine.prepare(trace)


def test_large_arrays_are_chosen_from_by_bits():
    x = np.resize(FLOATS, (64, 40))
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        y = np.nan_to_num(x).clip(-9, 9).astype(dtype) if np.dtype(dtype).kind == "i" else x.astype(dtype)
        check(lambda y: (jnp.where(y > 0, y, -y), jnp.where(y > 0, y, 0), jnp.where(y > 0, -0.0, y).astype(dtype), jnp.where(y.T > 0, y.T, 1)), y)


def test_extremes_of_two_zeros():
    zeros = np.resize(np.array([0.0, -0.0, -0.0, 0.0, 1, -1], np.float32), 5000)
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        x = zeros.astype(dtype)
        check(lambda x, y: (lax.max(x, y), lax.min(x, y)), x, np.roll(x, 1))


def test_outer_products():
    x = RANDOM.randn(40).astype(np.float32)
    check(lambda x, y: (jnp.outer(x, y), lax.dot_general(x[:, None], y[None, :], (((1,), (0,)), ((), ())))), x, x[:30].copy())
    check(lambda x, y: x[:, None] @ y[None, :], (x * 3).astype(np.int32), (x * 5).astype(np.int32)[:7])
    check(lambda x: jnp.matmul(x[:, None], x[None]), x > 0)


def test_arrays_taken_apart():
    check(lambda x: jnp.unstack(x, axis=1), IMAGES)


@pytest.mark.parametrize("name", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_rows_of_a_transposed_array_are_combined_with_updates(name, axes):
    """An array that is not in C order is written too, twice in the row that comes twice."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    updates = RANDOM.randn(3, *np.transpose(x, axes).shape[1:]).astype(np.float32)

    def function(x, updates):
        return getattr(jnp.transpose(x, axes).at[jnp.array([1, 0, 1])], name)(updates)

    check(function, x, updates)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [7, 1000, 500_000])
def test_many_updates_of_rows_are_added_up(dtype, rows):
    random = np.random.RandomState(4)
    place, updates = random.randint(0, rows, 20_000), random.randint(-9, 9, (20_000, 16)).astype(dtype)
    updates[:3, 0] = np.inf, -np.inf, np.nan
    start = random.randint(-9, 9, (rows, 16)).astype(dtype)
    check(lambda table, where, given: table.at[where].add(given), start, place, updates)  # whole numbers: every order gives the same sums
