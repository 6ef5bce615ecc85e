"""Functions of single elements: XLA's values at the ends of the number ranges and between, for all dtypes that they take."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from interpreter.against_xla import check
from jax import lax

RANDOM = np.random.RandomState(0)
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
ENDS = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, -2, 3, 300, -300, 3e9, -3e9, 1e20, -1e20, 1e-20, 1e-37, 3e38, -3e38]
)
VALUES = np.concatenate([ENDS, RANDOM.randn(60), RANDOM.uniform(-1, 1, 40), RANDOM.uniform(0, 40, 40)])


def floats(dtype, values=VALUES):
    """Values of a float type, without denormal ones."""
    with np.errstate(over="ignore"):
        x = values.astype(dtype)
    return x[~(np.abs(x.astype(np.float64)) < float(ml_dtypes.finfo(dtype).smallest_normal)) | (x == 0)]


def integers(dtype):
    """The ends of an integer type, and numbers near zero."""
    info = np.iinfo(dtype)
    near = [n for n in (-7, -2, -1, 0, 1, 2, 3, 5, 7, 31, 32, 64) if n >= info.min]
    return np.array([info.min, info.min + 1, info.max - 1, info.max, *near], dtype)


def pairs(x):
    """Every element with every other."""
    return [a.ravel() for a in np.meshgrid(x, x)]


@pytest.mark.parametrize(
    "name", ["neg", "abs", "sign", "floor", "ceil", "round", "sqrt", "square", "is_finite", "convert_twice", "reciprocal"]
)  # fmt: skip
def test_exact_functions(name):
    functions = {"convert_twice": lambda x: x.astype(np.float32).astype(x.dtype), "reciprocal": lambda x: 1 / x}
    for dtype in FLOATS:
        check(functions.get(name) or getattr(lax, name), floats(dtype))


# Units in the last place of float32 and float64; where there are many, XLA's polynomial is the worse one (against SciPy in more bits).
ULPS = {
    "exp": 3, "exp2": 600, "log": 3, "expm1": 4, "sin": 3, "cos": 3, "tan": 4, "asin": 3, "acos": 3, "atan": 3,
    "tanh": 8, "asinh": 4, "acosh": 4, "logistic": 4, "rsqrt": 3, "erf": 4, "cbrt": 4, "bessel_i0e": 8, "bessel_i1e": 10,
}  # fmt: skip


@pytest.mark.parametrize("name", ULPS)
def test_transcendental_functions(name):
    function = getattr(lax, name)
    for dtype in FLOATS[:2]:
        check(function, floats(dtype), ulps=ULPS[name])


@pytest.mark.parametrize("name", ["sinh", "cosh", "erfc", "erf_inv", "atanh", "log1p", "digamma", "lgamma"])
def test_functions_that_lose_digits(name):
    """XLA's lose digits near zeros of the function (lgamma, digamma) or where exponents are large (sinh, erfc): relative to the values around."""
    for dtype, bound in zip(FLOATS[:2], (3e-6, 1e-13)):
        x = floats(dtype)
        is_used = (np.abs(x.astype(np.float64)) < 1e10) & ((x != 0) | (name != "digamma"))  # versions of JAX differ at 0
        check(getattr(lax, name), x[is_used], rtol=bound, atol=bound)


@pytest.mark.parametrize("name", [n for n in ULPS if n != "exp2"])
def test_transcendental_functions_of_small_floats(name):
    """One rounding: XLA's may be two apart, as it computes some in several steps."""
    function = getattr(lax, name)
    for dtype in FLOATS[2:]:
        x = floats(dtype)
        check(function, x, ulps=0 if name == "logistic" else 2)


def test_the_gamma_functions_ends():
    ends = np.array([np.nan, np.inf, 0.0, -1, -2, 3, 0.5], np.float32)
    for name in ("lgamma", "digamma"):
        check(getattr(lax, name), np.append(ends[ends != 0] if name == "digamma" else ends, np.float32(-np.inf)), ulps=20)
    infinity = [np.inf] if jax.__version_info__ < (0, 11) else []  # where later versions give other values
    numbers = np.array([np.nan, *infinity, -1, 1, 0.5, 20, 50], np.float32)
    check(lax.igamma, *pairs(numbers), rtol=1e-5)
    check(lax.igammac, *pairs(numbers), rtol=3e-4)


def test_functions_of_several_numbers():
    x, y = RANDOM.uniform(0.5, 20, (2, 50))
    share = RANDOM.uniform(0, 1, 50)
    for dtype, bound in ((np.float32, 2e-5), (np.float64, 1e-12)):
        a, b, s = x.astype(dtype), y.astype(dtype), share.astype(dtype)
        check(lambda a, b, s: (lax.igamma(a, b), lax.igammac(a, b), lax.zeta(a + 1, b), lax.betainc(a, b, s)), a, b, s, rtol=10 * bound, atol=bound)
        check(lambda a, b: lax.polygamma(jnp.round(a), b), a, b, rtol=10 * bound)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt", "le", "gt", "ge", "nextafter"])
def test_pairs_of_floats(name):
    for dtype in FLOATS:
        x = floats(dtype, ENDS)
        left, right = pairs(x)
        if name == "nextafter":
            is_finite = np.isfinite(left.astype(np.float64)) & (left != 0)
            left, right = left[is_finite], right[is_finite]
        result = getattr(np, {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, "add"))
        with np.errstate(all="ignore"):
            size = np.abs(result(left, right).astype(np.float64))
        normal = ~(size < float(ml_dtypes.finfo(dtype).smallest_normal)) | (size == 0)
        check(getattr(lax, name), left[normal], right[normal])


def test_derivatives_of_gamma_functions():
    x, y = RANDOM.uniform(0.1, 20, (2, 60))
    for dtype, bound in ((np.float32, 2e-5), (np.float64, 1e-12)):
        check(lambda a, b: (lax.igamma_grad_a(a, b), lax.random_gamma_grad(a, b)), x.astype(dtype), y.astype(dtype), rtol=bound, atol=bound)


def test_powers_and_angles():
    for dtype in FLOATS[:2]:
        left, right = pairs(floats(dtype, ENDS))
        with np.errstate(all="ignore"):
            size = np.abs(np.power(left, right))
        normal = ~(size < float(np.finfo(dtype).smallest_normal)) | (size == 0)
        check(lax.pow, left[normal], right[normal], ulps=4)
        check(lax.atan2, left, right, ulps=4)
        check(lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, -2), lax.integer_pow(x, 0)), floats(dtype, ENDS[:18]), ulps=2)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    x = integers(dtype)
    left, right = pairs(x)
    for name in ("add", "sub", "mul", "div", "rem", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "lt", "ge"):
        check(getattr(lax, name), left, right)
    for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        check(getattr(lax, name), left, right)
        check(getattr(lax, name), x, np.array(3, dtype).repeat(len(x)))
    for name in ("neg", "abs", "sign", "bitwise_not", "clz", "population_count"):
        if name not in ("neg", "abs") or np.dtype(dtype).kind == "i":
            check(getattr(lax, name), x)
    check(lambda x: lax.integer_pow(x, 5), x)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_high_halves_of_products(dtype):
    x, y = pairs(np.append(integers(dtype), np.frombuffer(RANDOM.bytes(160), dtype)))
    check(lax.mulhi, x, y)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS, "complex64"])
def test_conversions(dtype):
    with np.errstate(over="ignore"):
        for source in (*FLOATS, np.int32, np.uint32, np.int64, np.uint8, np.bool_):
            values = integers(source) if source in INTEGERS else np.array([True, False]) if source is np.bool_ else floats(source)
            check(lambda x: lax.convert_element_type(x, dtype), values)
    check(lambda x: lax.convert_element_type(x, dtype), np.array([], np.float32))


def test_numbers_of_two_parts():
    x = (RANDOM.randn(30) + 1j * RANDOM.randn(30)).astype(np.complex64)
    check(lambda x: (lax.real(x), lax.imag(x), lax.conj(x), lax.complex(lax.imag(x), lax.real(x)), x == x[0]), x)
    check(lambda x, y: (x + y, x * y, x / y, jnp.abs(x), jnp.exp(x), jnp.log(x), jnp.sqrt(x), jnp.sin(x), jnp.tanh(x), jnp.sign(x), x**y), x, x[::-1].copy(), rtol=2e-5, atol=1e-5)
    check(lambda x: lax.convert_element_type(x, np.complex64), x.real)


def test_choices():
    x = floats(np.float32, ENDS)
    check(lambda x, low, high: lax.clamp(low, x, high), x, np.float32(-1), np.float32(2))
    check(lambda which, x, y: (lax.select(which, x, y), lax.select_n(which, x, y)), x > 0, x, -x)
    check(lambda which, x, y: lax.select(which, x, y), np.bool_(True), x, -x)
    check(lambda which, x: lax.select_n(which, x, 2 * x, 3 * x), np.array([0, 1, 2, 1], np.int32), x[5:9])


def test_total_order():
    sorted_values, x = np.array([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], np.float32), floats(np.float32, ENDS)
    for method in ("compare_all", "scan"):
        check(lambda x, y: jnp.searchsorted(x, y, method=method), sorted_values, x)


@pytest.mark.parametrize("form", [(8, 7), (5, 10), (8, 3), (4, 3), (8, 23), (2, 1)])
def test_reduced_precision(form):
    for dtype in (np.float32, np.float64):
        x = np.append(floats(dtype), np.array([6e-5, 7e-5, 65504, 65519, 65520, 65536, 240, 248, 0.015], dtype))
        check(lambda x: lax.reduce_precision(x, *form), x)


def test_bits_of_numbers():
    x = floats(np.float32)
    check(lambda x: lax.bitcast_convert_type(x, np.int32), x)
    check(lambda x: lax.bitcast_convert_type(x, np.uint8), x)
    check(lambda x: lax.bitcast_convert_type(x, np.float64), x[:64].reshape(32, 2).view(np.uint32))


def test_denormal_numbers_are_zero():
    x = np.array([1e-40, -1e-40, 1.5e-38, -1.5e-38, 1], np.float32)
    check(lambda x: (x * 2, x + x, x * np.float32(0.25), x > 0, x == 0), x)
    check(lambda x: (x, x.reshape(5, 1), -x, jnp.abs(x)), x)
    assert x[0] != 0 and x[0] * np.float32(0.5) != 0, "the setting of the thread is as before"
