"""Strings and numbers: AsString, StringToNumber, DecodeRaw."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import as_array
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_NO_GRADIENT = NotDifferentiable("strings are not differentiable")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


_LAST_DIGIT = 1074
"""No float64 has a digit other than zero further behind its point, nor so many that matter."""


class _Form(NamedTuple):
    """How C's printf writes a number: the format without a width, how many zeros follow its digits, the width, the flag."""

    pattern: str
    zeros: int
    width: int
    flag: str

    def printed(self, value: float | int) -> bytes:
        """The number as text; infinity and NaN are filled up with spaces, not zeros."""
        text = (self.pattern % value).encode()
        if self.zeros and math.isfinite(value):
            mantissa, e, exponent = text.partition(b"e")
            text = mantissa.ljust(len(mantissa) + self.zeros, b"0")
            if e:
                text += e + exponent
        if len(text) >= self.width:
            return text
        if self.flag == "-":
            return text.ljust(self.width)
        return text.zfill(self.width) if self.flag == "0" and math.isfinite(value) else text.rjust(self.width)


def _form(dtype: np.dtype, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> _Form:
    """The printf format of a number; InvalidArgumentError for options that exclude each other."""
    kind, name = dtype.kind, dtypes.as_dtype(dtype).name
    if kind not in "fc" and (scientific or shortest):
        raise _invalid(f"scientific and shortest format not supported for datatype {name}")
    if kind not in "fc" and precision > -1:
        raise _invalid(f"precision not supported for datatype {name}")
    if scientific and shortest:
        raise _invalid("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise _invalid("Fill string must be one or fewer characters")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise _invalid(f'Fill argument not supported: "{fill}"')
    digits = f".{min(precision, _LAST_DIGIT)}" if precision > -1 else ""
    pattern = f"%{fill.strip('-0')}{digits}" + ("d" if kind in "iu" else "e" if scientific else "g" if shortest else "f")
    keeps_zeros = not shortest or fill == "#"
    return _Form(pattern, max(0, precision - _LAST_DIGIT) if keeps_zeros else 0, width, fill)


@op(
    "AsString",
    "(input: T, *, T: {int8, int16, int32, int64, complex64, complex128, float32, float64, bool}, precision: int = -1, "
    'scientific: bool = False, shortest: bool = False, width: int = -1, fill: string = "") -> (output: string)',
    shape=si.unchanged, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _as_string(x, *, precision, scientific, shortest, width, fill):
    kind = x.dtype.kind
    form = _form(x.dtype, precision, scientific, shortest, width, fill)
    found = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        value = x[place].item()
        if kind == "b":
            found[place] = b"true" if value else b"false"
        elif kind == "c":
            found[place] = b"(" + form.printed(value.real) + b"," + form.printed(value.imag) + b")"
        else:
            found[place] = form.printed(value)
    return found


@export("as_string", "strings.as_string", "dtypes.as_string")
def as_string(
    input: TensorLike, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = "",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Numbers as decimal text, as C's printf writes them.

    Args:
      input: a numeric or bool tensor.
      precision: digits after the point, for floating numbers.
      scientific, shortest: the forms %e and %g in place of %f.
      width: smallest number of characters.
      fill: character to fill up with, for instance "0".
      name: node name.

    Raises:
      InvalidArgumentError: in a run with options that do not go together.
    """
    return raw.AsString(
        input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill, name=name
    )


_WHITE_SPACE = b" \t\n\v\f\r"
_HEXADECIMAL = re.compile(rb"[+-]?0[xX][0-9A-Fa-f]+")
_INTEGER = re.compile(rb"[ \t\n\v\f\r]*-?[0-9]+[ \t\n\v\f\r]*")


def parse_number(text: bytes, dtype: np.dtype) -> float | int:
    """The number that a string says, as TensorFlow reads numbers; ValueError where it is none or beyond `dtype`."""
    if dtype.kind == "f":
        if b"_" in text or text.strip().lower().endswith(b"infinity"):
            raise ValueError("no number of C's")
        bare = text.strip(_WHITE_SPACE)
        if text and not bare:
            return 0.0
        return float(int(bare, 16)) if _HEXADECIMAL.fullmatch(bare) else float(text)
    if not _INTEGER.fullmatch(text):
        raise ValueError("not an integer")
    limits, value = np.iinfo(dtype), int(text)
    if not limits.min <= value <= limits.max:
        raise ValueError(f"beyond {dtype}")
    return value


_NOT_IN_PLAIN_FLOATS = b"_xXyY"
_PLAIN_INTEGERS = b"0123456789- ,"


def parse_numbers(texts: Sequence[bytes], dtype: np.dtype) -> np.ndarray:
    """The numbers that strings say, as an array; ValueError where `parse_number` raises it for one of them."""
    joined = b",".join(texts)
    if dtype.kind == "f":
        is_plain = len(joined.translate(None, _NOT_IN_PLAIN_FLOATS)) == len(joined)
        try:
            numbers = list(map(float, texts)) if is_plain else [parse_number(t, dtype) for t in texts]
        except ValueError:  # Python takes no white space for a number
            numbers = [parse_number(t, dtype) for t in texts]
        found = as_array(numbers, np.float64)
        if found.dtype == dtype:
            return found
        with np.errstate(over="ignore"):
            return found.astype(dtype)
    if joined.translate(None, _PLAIN_INTEGERS):
        return np.array([parse_number(t, dtype) for t in texts], dtype)
    numbers, limits = list(map(int, texts)), np.iinfo(dtype)
    if numbers and not limits.min <= min(numbers) <= max(numbers) <= limits.max:
        raise ValueError(f"beyond {dtype}")
    return np.array(numbers, dtype)


@op(
    "StringToNumber", "(string_tensor: string, *, out_type: {float32, float64, int32, int64} = float32) -> (output: out_type)",
    shape=si.unchanged, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _string_to_number(x, *, out_type):
    dtype, texts = np.dtype(out_type), x.reshape(-1).tolist()
    try:
        return parse_numbers(texts, dtype).reshape(x.shape)
    except ValueError:
        shown = next(t for t in texts if not _is_number(t, dtype)).decode("utf-8", "replace")
        raise _invalid(f"StringToNumberOp could not correctly convert string: {shown}") from None


def _is_number(text: bytes, dtype: np.dtype) -> bool:
    try:
        parse_number(text, dtype)
    except ValueError:
        return False
    return True


@export("string_to_number", "strings.to_number")
def string_to_number(
    string_tensor: TensorLike | None = None, out_type: DTypeLike = dtypes.float32, name: str | None = None, input: object = None
) -> Tensor:
    """Each string read as a number of `out_type`, float32, float64, int32 or int64.

    Raises:
      InvalidArgumentError: in a run with a string that is no such number.
    """
    string_tensor = deprecated_argument_lookup("input", input, "string_tensor", string_tensor)
    return raw.StringToNumber(string_tensor, out_type=out_type, name=name)


@op(
    "DecodeRaw",
    "(bytes: string, *, out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, complex64, "
    "complex128, bool}, little_endian: bool = True) -> (output: out_type)",
    shape=lambda c: [None if c.inputs[0] is None else (*c.inputs[0], None)], gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_raw(x, *, out_type, little_endian):
    dtype = np.dtype(out_type)
    sizes = [len(text) for text in x.reshape(-1)]
    size = sizes[0] if sizes else 0
    for i, other in enumerate(sizes):
        if other != size:
            raise _invalid(
                f"DecodeRaw requires input strings to all be the same size, but element {i} has size {size} != {other}"
            )
    if size % dtype.itemsize:
        raise _invalid(
            f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.itemsize}, the size of {dtype.name}"
        )
    return _numbers(x.reshape(-1), dtype, little_endian).reshape(*x.shape, size // dtype.itemsize)


def _numbers(texts: Any, dtype: np.dtype, little_endian: bool) -> np.ndarray:
    """The bytes of all strings, one after another, as numbers."""
    return np.frombuffer(b"".join(texts), dtype.newbyteorder("<" if little_endian else ">")).astype(dtype)


def _padded_shape(c):
    length, size = si.scalar_value(c, 1), np.dtype(c.attr("out_type").as_numpy_dtype).itemsize
    if length is not None and length % size:
        raise ValueError(f"Dimension size must be evenly divisible by {size} but is {length}")
    return [None if c.inputs[0] is None else (*c.inputs[0], None if length is None else length // size)]


@op(
    "DecodePaddedRaw",
    "(input_bytes: string, fixed_length: int32, *, out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, "
    "int64}, little_endian: bool = True) -> (output: out_type)",
    shape=_padded_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_padded_raw(x, fixed_length, *, out_type, little_endian):
    dtype = np.dtype(out_type)
    if np.ndim(fixed_length):
        raise _invalid(f"k must be scalar, got shape {list(fixed_length.shape)}")
    length = int(fixed_length)
    if length % dtype.itemsize:
        raise _invalid(f"fixed_length ({length}) must be a multiple of the size of out_type ({dtype.itemsize})")
    if length <= 0:
        raise _invalid(f"fixed_length ({length}) must be greater than zero.")
    texts = [text[:length].ljust(length, b"\0") for text in x.reshape(-1)]
    return _numbers(texts, dtype, little_endian).reshape(*x.shape, length // dtype.itemsize)


@export("decode_raw", "io.decode_raw")
def decode_raw(
    input_bytes: TensorLike | None = None, out_type: object = None, little_endian: bool = True, name: str | None = None,
    bytes: object = None,
) -> Tensor:  # fmt: skip
    """The bytes of each string read as numbers of `out_type`, one more dimension.

    Args:
      input_bytes: strings of one length (`bytes` is its old name).
      out_type: dtype of the numbers.
      little_endian: order of the bytes of a number.
      name: node name.

    Raises:
      InvalidArgumentError: in a run with strings of different or unfitting lengths.
    """
    input_bytes = deprecated_argument_lookup("input_bytes", input_bytes, "bytes", bytes)
    if input_bytes is None or out_type is None:
        raise ValueError("decode_raw() needs input_bytes and out_type.")
    return raw.DecodeRaw(input_bytes, out_type=out_type, little_endian=little_endian, name=name)
