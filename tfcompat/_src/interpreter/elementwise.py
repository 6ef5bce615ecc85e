"""Arithmetic on single elements, with XLA's results at the ends of the number ranges."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import scipy.special

from tfcompat._src.interpreter.table import TABLE, Equation, is_small_float, primitive

_DIRECT = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "max": np.maximum, "min": np.minimum,
    "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "abs": np.abs, "square": np.square, "exp": np.exp, "log": np.log,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "is_finite": np.isfinite,
    "nextafter": np.nextafter, "real": np.real, "imag": np.imag, "conj": np.conj,
}  # fmt: skip
_IN_FLOAT32 = {
    "exp2": np.exp2, "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "cbrt": np.cbrt, "pow": np.power, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": scipy.special.erf, "erfc": scipy.special.erfc, "erf_inv": scipy.special.erfinv,
    "digamma": scipy.special.digamma, "lgamma": scipy.special.gammaln, "igamma": scipy.special.gammainc,
    "igammac": scipy.special.gammaincc, "polygamma": scipy.special.polygamma, "zeta": scipy.special.zeta,
    "bessel_i0e": scipy.special.i0e, "bessel_i1e": scipy.special.i1e, "regularized_incomplete_beta": scipy.special.betainc,
}  # fmt: skip


def _direct(function: Callable) -> Callable:
    return lambda e: function


def _in_float32(function: Callable) -> Callable:
    """A function that small float types get in float32 and rounded once."""

    def prepared(e: Equation) -> Callable:
        dtype = e.dtype
        if is_small_float(dtype):
            return lambda *args: np.asarray(function(*[np.asarray(a, np.float32) for a in args])).astype(dtype)
        return lambda *args: np.asarray(function(*args)).astype(dtype, copy=False)

    return prepared


TABLE.update({name: _direct(function) for name, function in _DIRECT.items()})
TABLE.update({name: _in_float32(function) for name, function in _IN_FLOAT32.items()})


def _nonzero(y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, np.ones((), y.dtype), y)


@primitive("div")
def div(e: Equation) -> Callable:
    if e.dtype.kind not in "iu":
        return np.divide
    by_zero = np.array(-1).astype(e.dtype)

    def truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        divisor = _nonzero(y)
        quotient = np.floor_divide(x, divisor)
        inexact = quotient * divisor != x
        quotient = quotient + (inexact & ((x < 0) != (divisor < 0)))
        return np.where(y == 0, by_zero, quotient.astype(x.dtype))

    return truncated


@primitive("rem")
def rem(e: Equation) -> Callable:
    if e.dtype.kind not in "iu":
        return np.fmod
    return lambda x, y: np.where(y == 0, x, np.fmod(x, _nonzero(y)))


@primitive("sign")
def sign(e: Equation) -> Callable:
    if e.dtype.kind in "iu":
        return np.sign
    return lambda x: np.where(x == 0, x, np.sign(x))


@primitive("round")
def rounding(e: Equation) -> Callable:
    if int(e.params["rounding_method"]) == 1:
        return np.rint

    def away_from_zero(x: np.ndarray) -> np.ndarray:
        whole = np.trunc(x)
        return np.copysign(whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x), x)

    return away_from_zero


@primitive("integer_pow")
def integer_pow(e: Equation) -> Callable:
    y, dtype = e.params["y"], e.dtype

    def power(x: np.ndarray) -> np.ndarray:
        base, n, result = x, abs(y), None
        while n:
            if n & 1:
                result = base if result is None else np.multiply(result, base)
            n >>= 1
            base = np.multiply(base, base) if n else base
        result = np.ones_like(x) if result is None else result
        return np.divide(np.ones((), dtype), result) if y < 0 else result

    return power


def _shift(function: Callable, beyond: Callable) -> Callable:
    def prepared(e: Equation) -> Callable:
        bits = e.dtype.itemsize * 8
        unsigned = np.dtype(f"u{e.dtype.itemsize}")

        def shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            x, y = np.asarray(x), np.asarray(y)
            amount = y.view(unsigned)
            return np.where(amount < bits, function(x, np.where(amount < bits, amount, 0).astype(x.dtype)), beyond(x)).astype(x.dtype)

        return shift

    return prepared


def _right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.asarray(np.right_shift(x.view(unsigned), y.view(unsigned))).view(x.dtype)


def _right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    signed = np.dtype(f"i{x.dtype.itemsize}")
    return np.asarray(np.right_shift(x.view(signed), y.view(signed))).view(x.dtype)


def _sign_bits(x: np.ndarray) -> np.ndarray:
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return np.where(signed < 0, -1, 0).astype(signed.dtype).view(x.dtype)


TABLE["shift_left"] = _shift(np.left_shift, np.zeros_like)
TABLE["shift_right_logical"] = _shift(_right_logical, np.zeros_like)
TABLE["shift_right_arithmetic"] = _shift(_right_arithmetic, _sign_bits)


@primitive("population_count")
def population_count(e: Equation) -> Callable:
    unsigned = np.dtype(f"u{e.dtype.itemsize}")
    return lambda x: np.bitwise_count(np.asarray(x).view(unsigned)).astype(e.dtype)


@primitive("clz")
def clz(e: Equation) -> Callable:
    bits, unsigned = e.dtype.itemsize * 8, np.dtype(f"u{e.dtype.itemsize}")

    def count(x: np.ndarray) -> np.ndarray:
        x, step = np.array(x).view(unsigned), 1
        while step < bits:
            x = x | (x >> unsigned.type(step))
            step *= 2
        return (bits - np.bitwise_count(x).astype(np.int64)).astype(e.dtype)

    return count


@primitive("complex")
def make_complex(e: Equation) -> Callable:
    def pair(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
        result = np.empty(np.shape(real), e.dtype)
        result.real, result.imag = real, imaginary
        return result

    return pair


@primitive("clamp")
def clamp(e: Equation) -> Callable:
    return lambda low, x, high: np.minimum(np.maximum(x, low), high)


@primitive("select_n")
def select_n(e: Equation) -> Callable:
    if len(e.inputs) == 3:
        return lambda which, no, yes: np.where(which, yes, no)
    return lambda which, *cases: np.choose(which, cases)


@primitive("convert_element_type")
def convert(e: Equation) -> Callable:
    old, new = e.inputs[0].dtype, np.dtype(e.params["new_dtype"])
    if new == np.bool_:
        return lambda x: np.not_equal(x, np.zeros((), old))
    if old.kind == "c" and new.kind != "c":
        return lambda x: np.real(x).astype(new)
    if new.kind in "iu" and old.kind not in "iub":
        return _saturating(new)
    if is_small_float(new) and old.kind in "iu":
        return lambda x: np.asarray(x).astype(np.float32).astype(new)
    return lambda x: np.asarray(x).astype(new)


def _saturating(new: np.dtype) -> Callable:
    info = ml_dtypes.iinfo(new)
    low, high = float(info.min), float(info.max)

    def to_integer(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x).astype(np.float64)
        inside = (x > low) & (x < high)
        whole = np.where(inside, x, 0).astype(new)
        return np.where(x >= high, new.type(info.max), np.where(x <= low, new.type(info.min), whole))

    return to_integer


@primitive("bitcast_convert_type")
def bitcast(e: Equation) -> Callable:
    new, shape = np.dtype(e.params["new_dtype"]), e.outputs[0].shape
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(new).reshape(shape)


@primitive("reduce_precision")
def reduce_precision(e: Equation) -> Callable:
    sizes = {(5, 10): np.float16, (8, 7): ml_dtypes.bfloat16, (8, 23): np.float32, (11, 52): np.float64}
    through = sizes.get((e.params["exponent_bits"], e.params["mantissa_bits"]))
    if through is None:
        raise NotImplementedError(f"reduce_precision to {e.params} is not interpreted.")
    return lambda x: np.asarray(x).astype(through).astype(e.dtype)
