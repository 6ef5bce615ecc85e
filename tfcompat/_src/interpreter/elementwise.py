"""Elementwise arithmetic. Where NumPy and XLA differ (zeros with signs, division by zero, shifts, conversions out of range), XLA's result is kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter.table import TABLE, DType, Equation, Prepare, ToArray, is_small_float, primitive

LARGE = 2**10
"""From this many elements on, one more pass over an array costs less than a mispredicted branch for each element."""

_DIRECT: dict[str, ToArray] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "abs": np.abs, "square": np.square, "log": np.log,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "is_finite": np.isfinite,
    "nextafter": np.nextafter, "real": np.real, "imag": np.imag, "conj": np.conj, "reciprocal": np.reciprocal,
}  # fmt: skip


def _direct(function: ToArray) -> Prepare:
    """Returns the preparation of a NumPy function that needs no parameters."""
    return lambda e: function


TABLE.update({name: _direct(function) for name, function in _DIRECT.items()})


def _has_minus_zero(x: NDArray) -> bool:
    """Returns whether an array contains -0, whose bit pattern is that of the lowest integer."""
    bits = _signed(x.dtype)
    return x.size > 0 and x.view(bits).min() == np.iinfo(bits).min


def _extreme(ufunc: ToArray, may_err: Callable[[NDArray, NDArray, NDArray], bool], of_zeros: ToArray) -> Prepare:
    """Returns max or min with XLA's order of zeros, -0 < 0; for equal zeros of both signs NumPy returns either.

    `may_err` is a cheap test of arguments and result that is rarely true; only then are zeros looked for and replaced by `of_zeros`.
    """

    def of_floats(x: NDArray, y: NDArray) -> NDArray:
        result = ufunc(x, y)
        if may_err(x, y, result) and (zeros := (result == 0) & (x == y)).any():
            result = np.where(zeros, of_zeros(x, y), result)
        return result

    return lambda e: of_floats if e.dtype.kind in "fV" else ufunc


# The sum of two zeros is -0 only if both are: that is their maximum. Negated twice, it is their minimum.
TABLE["max"] = _extreme(np.maximum, lambda x, y, result: _has_minus_zero(result), np.add)
TABLE["min"] = _extreme(np.minimum, lambda x, y, result: _has_minus_zero(x) or _has_minus_zero(y), lambda x, y: -(-x - y))


def _nonzero(y: NDArray) -> NDArray:
    """Returns divisors with 1 in place of 0, so that NumPy computes all quotients."""
    return np.where(y == 0, np.ones((), y.dtype), y)


@primitive("div")
def div(e: Equation) -> ToArray:
    """Division. Integers are rounded toward zero, and division by zero gives -1 (all bits set), as in XLA."""
    if e.dtype.kind not in "iu":
        return np.divide
    by_zero = np.array(-1).astype(e.dtype)

    def truncated(x: NDArray, y: NDArray) -> NDArray:
        divisor = _nonzero(y)
        quotient = np.floor_divide(x, divisor)
        # NumPy rounds down: add one where the quotient is negative and not exact.
        inexact = quotient * divisor != x
        quotient = quotient + (inexact & ((x < 0) != (divisor < 0)))
        return np.where(y == 0, by_zero, quotient.astype(x.dtype))

    return truncated


@primitive("rem")
def rem(e: Equation) -> ToArray:
    """Remainder with the sign of the dividend; of integers, x itself if the divisor is zero, as in XLA."""
    if e.dtype.kind not in "iu":
        return np.fmod
    return lambda x, y: np.where(y == 0, x, np.fmod(x, _nonzero(y)))


@primitive("sign")
def sign(e: Equation) -> ToArray:
    """Sign of a number; of floats, -0 and NaN are kept."""
    if e.dtype.kind in "iuc":
        return np.sign
    # NumPy's sign of -0 is 0.
    return lambda x: np.copysign(np.sign(x), x)


@primitive("round")
def rounding(e: Equation) -> ToArray:
    # 1 is JAX's ROUND_TO_NEAREST_EVEN, 0 its ROUND_AWAY_FROM_ZERO.
    if int(e.params["rounding_method"]) == 1:
        return np.rint

    def away_from_zero(x: NDArray) -> NDArray:
        whole = np.trunc(x)
        return np.copysign(whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x), x)

    return away_from_zero


@primitive("one_minus_square")
def one_minus_square(e: Equation) -> ToArray:
    one = e.dtype.type(1)
    return lambda x: (one + x) * (one - x)


@primitive("polynomial")
def polynomial(e: Equation) -> ToArray:
    def by_horner(x: NDArray, *coefficients: NDArray) -> NDArray:
        value = coefficients[-1]
        for c in coefficients[-2::-1]:
            value = value * x + c
        return value

    return by_horner


@primitive("integer_pow")
def integer_pow(e: Equation) -> ToArray:
    """Power with a constant integer exponent, by repeated squaring."""
    y, dtype = e.params["y"], e.dtype

    def power(x: NDArray) -> NDArray:
        base, n, result = x, abs(y), None
        # Binary exponentiation: the squares of the base for the set bits of the exponent.
        while n:
            if n & 1:
                result = base if result is None else np.multiply(result, base)
            n >>= 1
            base = np.multiply(base, base) if n else base
        result = np.ones_like(x) if result is None else result
        return np.divide(np.ones((), dtype), result) if y < 0 else result

    return power


def _unsigned(dtype: DType) -> DType:
    return np.dtype(f"u{dtype.itemsize}")


def _signed(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")


def _shift(function: ToArray, as_type: Callable[[DType], DType], all_out: ToArray) -> Prepare:
    """Returns a shift of the bits read `as_type`. For amounts of at least the number of bits the result is `all_out` of the bits."""

    def prepared(e: Equation) -> ToArray:
        bits, dtype, seen, unsigned = e.dtype.itemsize * 8, e.dtype, as_type(e.dtype), _unsigned(e.dtype)

        def shift(x: NDArray, y: NDArray) -> NDArray:
            x, amount = x.view(seen), y.view(unsigned)
            # Read as unsigned, a negative amount is also too large; in C, and so in NumPy, such shifts are undefined.
            inside = amount < bits
            if inside.all():
                return function(x, amount.view(seen)).view(dtype)
            shifted = function(x, np.where(inside, amount, 0).astype(seen))
            return np.where(inside, shifted, all_out(x)).astype(seen, copy=False).view(dtype)

        return shift

    return prepared


TABLE["shift_left"] = _shift(np.left_shift, _unsigned, np.zeros_like)
TABLE["shift_right_logical"] = _shift(np.right_shift, _unsigned, np.zeros_like)
TABLE["shift_right_arithmetic"] = _shift(np.right_shift, _signed, lambda x: np.where(x < 0, -1, 0))


@primitive("mulhi")
def mulhi(e: Equation) -> ToArray:
    """Upper half of the product of two integers."""
    dtype, bits = e.dtype, e.dtype.itemsize * 8
    if bits < 64:
        twice = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        return lambda x, y: (x.astype(twice) * y.astype(twice) >> twice.type(bits)).astype(dtype)
    # There is no 128-bit type: four products of 32-bit halves, with carries (Knuth, TAOCP vol. 2, 4.3.1, algorithm M).
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)

    def unsigned(x: NDArray, y: NDArray) -> NDArray:
        x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
        middle = x1 * y0 + (x0 * y0 >> half)
        upper: NDArray = x1 * y1 + (middle >> half) + (x0 * y1 + (middle & low) >> half)
        return upper

    def signed(x: NDArray, y: NDArray) -> NDArray:
        # Signed from unsigned: a negative factor was read as 2**64 more than it is (Warren, Hacker's Delight, 8-3).
        high = unsigned(x.view(np.uint64), y.view(np.uint64)).view(dtype)
        upper: NDArray = high - np.where(x < 0, y, 0) - np.where(y < 0, x, 0)
        return upper

    return unsigned if dtype.kind == "u" else signed


@primitive("population_count")
def population_count(e: Equation) -> ToArray:
    dtype, unsigned = e.dtype, _unsigned(e.dtype)
    return lambda x: np.bitwise_count(x.view(unsigned)).astype(dtype)


@primitive("clz")
def clz(e: Equation) -> ToArray:
    """Number of leading zero bits."""
    dtype, bits, unsigned = e.dtype, e.dtype.itemsize * 8, _unsigned(e.dtype)

    def count(x: NDArray) -> NDArray:
        # Copies the highest set bit to all lower positions, doubling the distance, then counts bits (Warren, Hacker's Delight, 5-3).
        x, step = x.view(unsigned), 1
        while step < bits:
            x = x | (x >> unsigned.type(step))
            step *= 2
        return (bits - np.bitwise_count(x).astype(np.int64)).astype(dtype)

    return count


def _in_order(dtype: DType) -> ToArray:
    """Returns a function of floats to integers in IEEE 754's total order: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    # As integers, negative floats are in reverse order: inverting all bits but the sign corrects that.
    signed = _signed(dtype)
    rest = signed.type(np.iinfo(signed).max)
    return lambda x: (bits := x.view(signed)) ^ np.where(bits < 0, rest, signed.type(0))


def _total(compare: ToArray) -> Prepare:
    """Returns a comparison by total order; of integers it is the comparison itself."""
    def prepared(e: Equation) -> ToArray:
        if e.inputs[0].dtype.kind not in "fV":
            return compare
        key = _in_order(e.inputs[0].dtype)
        return lambda x, y: compare(key(x), key(y))

    return prepared


TABLE["lt_to"], TABLE["le_to"] = _total(np.less), _total(np.less_equal)


@primitive("complex")
def make_complex(e: Equation) -> ToArray:
    shape, dtype = e.shape, e.dtype

    def pair(real: NDArray, imaginary: NDArray) -> NDArray:
        result = np.empty(shape, dtype)
        result.real, result.imag = real, imaginary
        return result

    return pair


@primitive("clamp")
def clamp(e: Equation) -> ToArray:
    """Limits values to [low, high]. If low > high, the result is high, as in XLA."""
    return lambda low, x, high: np.minimum(np.maximum(x, low), high)


@primitive("select_n")
def select_n(e: Equation) -> ToArray:
    """Chooses elements from cases by index or, of two cases, by a boolean."""
    # More than two cases: the selector is an integer.
    if len(e.inputs) > 3:
        return lambda which, *cases: np.choose(which, cases)
    if e.inputs[0].dtype == np.bool_ and e.inputs[0].shape and e.dtype.itemsize in (4, 8) and math.prod(e.shape) >= LARGE:
        return _by_bits(e.dtype)
    return lambda which, no, yes: np.where(which, yes, no) if which.ndim else yes if which else no


def _by_bits(dtype: DType) -> ToArray:
    """Returns a choice between two cases without branches: `no ^ ((no ^ yes) & mask)`, where the mask has all bits or none.

    `np.where` branches for each element, which costs most where the processor predicts the condition badly.
    """
    bits = _signed(dtype)

    def is_zero(x: NDArray) -> bool:
        return not any(x.strides) and not x[(0,) * x.ndim]

    def choose(which: NDArray, no: NDArray, yes: NDArray) -> NDArray:
        no, yes = no.view(bits), yes.view(bits)
        mask = which.view(np.int8).astype(bits)
        np.negative(mask, out=mask)
        # Relu and its gradient choose between values and a broadcast zero: one operation suffices.
        if is_zero(no):
            mask &= yes
        elif is_zero(yes):
            np.invert(mask, out=mask)
            mask &= no
        else:
            mask &= yes ^ no
            mask ^= no
        return mask.view(dtype)

    return choose


@primitive("convert_element_type")
def convert(e: Equation) -> ToArray:
    """Conversion of dtypes. Floats out of an integer type's range saturate, and the real part of complex numbers is taken, as in XLA."""
    old, new = e.inputs[0].dtype, np.dtype(e.params["new_dtype"])
    if new == old:
        return lambda x: x
    if new == np.bool_:
        return lambda x: np.not_equal(x, np.zeros((), old))
    # NumPy warns about the lost imaginary part, XLA drops it.
    if old.kind == "c" and new.kind != "c":
        from_real = convert(Equation({"new_dtype": new}, [np.empty(0, old).real], e.outputs))
        return lambda x: from_real(np.real(x))
    if new.kind in "iu" and old.kind not in "iub":
        return _saturating(new)
    if is_small_float(new) and old.kind in "iu":
        return lambda x: x.astype(np.float32).astype(new)
    return lambda x: x.astype(new)


def _saturating(new: DType) -> ToArray:
    """Returns a conversion to an integer type that maps NaN to 0 and values out of range to its limits."""
    info = ml_dtypes.iinfo(new)
    # Rounded to float64: for 64-bit types the upper limit becomes 2**63 or 2**64, the first value out of range.
    low, high = float(info.min), float(info.max)

    def to_integer(x: NDArray) -> NDArray:
        # The usual case, no value near the limits, takes two reductions and one conversion; NaN makes the comparison false.
        if x.size and low < x.min() and x.max() < high:
            return x.astype(new)
        x = x.astype(np.float64)
        inside = (x > low) & (x < high)
        whole = np.where(inside, x, 0).astype(new)
        return np.where(x >= high, new.type(info.max), np.where(x <= low, new.type(info.min), whole))

    return to_integer


@primitive("bitcast_convert_type")
def bitcast(e: Equation) -> ToArray:
    new, shape = np.dtype(e.params["new_dtype"]), e.shape
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(new).reshape(shape)


@primitive("reduce_precision")
def reduce_precision(e: Equation) -> ToArray:
    """Rounds floats to fewer bits of mantissa and exponent, by arithmetic on their bits; NaN is kept."""
    dtype = e.dtype
    unsigned, layout = _unsigned(dtype), ml_dtypes.finfo(dtype)
    # All constants are integers in the position of the bits that they are compared with.
    lost = layout.nmant - e.params["mantissa_bits"]
    bias, range_of = (1 << (layout.nexp - 1)) - 1, 1 << (e.params["exponent_bits"] - 1)
    sign_bit, exponents = 1 << (layout.bits - 1), ((1 << layout.nexp) - 1) << layout.nmant
    lowest, highest = (bias - range_of + 2) << layout.nmant, (bias + range_of - 1) << layout.nmant
    loses_range = e.params["exponent_bits"] < layout.nexp

    def reduced(x: NDArray) -> NDArray:
        bits = x.view(unsigned)
        rounded = bits
        if lost > 0:
            # Round half to even: add just under half a unit of the last kept bit, and one more if that bit is set.
            last = rounded >> unsigned.type(lost) & unsigned.type(1)
            rounded = rounded + last + unsigned.type((1 << (lost - 1)) - 1) & unsigned.type(~((1 << lost) - 1) & (2 * sign_bit - 1))
        if loses_range:
            # Exponents beyond the new range overflow to infinity or underflow to zero, with the sign of the argument.
            exponent, minus = rounded & unsigned.type(exponents), bits & unsigned.type(sign_bit)
            rounded = np.where(exponent > highest, minus | unsigned.type(exponents), np.where(exponent < lowest, minus, rounded))
        return np.where(np.isnan(x), x, rounded.view(dtype))

    return reduced
