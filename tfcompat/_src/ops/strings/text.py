"""Ops on each string of a tensor: joining, splitting, parts, case, regular expressions, base64. Strings are bytes."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.framework import dtypes, errors, raw
from tfcompat._src.framework import shape_inference as si
from tfcompat._src.framework.convert import constant, convert_to_tensor
from tfcompat._src.framework.deprecation import deprecated_argument_lookup
from tfcompat._src.framework.export import export
from tfcompat._src.framework.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.framework.scopes import name_scope
from tfcompat._src.framework.sparse_tensor import SparseTensor
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.math.sequence import arange

_UNIT = '{"BYTE", "UTF8_CHAR"} = "BYTE"'
_NO_GRADIENT = NotDifferentiable("strings are not differentiable")
_add = functools.partial(op, gradient=_NO_GRADIENT, place=HOST, depth=2)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _each(function: Callable, x: Any, dtype: Any = object) -> np.ndarray:
    """`function` of every element."""
    x = np.asarray(x, object)
    found = np.empty(x.shape, dtype)
    for place in np.ndindex(x.shape):
        found[place] = function(x[place])
    return found


def _compiled(pattern: bytes) -> re.Pattern:
    try:
        return re.compile(pattern)
    except re.error as e:
        raise _invalid(f"Invalid pattern: {pattern.decode('latin-1')}, error: {e}") from None


# ---- one string to one ----


def _text_length(text: bytes, unit: str) -> int:
    return len(text.decode("utf-8", "replace")) if unit == "UTF8_CHAR" else len(text)


def _cased(change: str) -> Callable:
    def kernel(x, *, encoding):
        if encoding not in ("", "utf-8"):
            raise _invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        if encoding:
            return _each(lambda s: getattr(s.decode("utf-8", "replace"), change)().encode(), x)
        return _each(lambda s: getattr(s, change)(), x)

    return kernel


_add("StringLength", f"(input: string, *, unit: {_UNIT}) -> (output: int32)", shape=si.unchanged,
     kernel=lambda x, *, unit: _each(lambda s: _text_length(s, unit), x, np.int32))  # fmt: skip
_add("StringStrip", "(input: string) -> (output: string)", shape=si.unchanged,
     kernel=lambda x: _each(lambda s: s.strip(b" \t\n\v\f\r"), x))  # fmt: skip
_add("StringLower", '(input: string, *, encoding: string = "") -> (output: string)', shape=si.unchanged,
     kernel=_cased("lower"))  # fmt: skip
_add("StringUpper", '(input: string, *, encoding: string = "") -> (output: string)', shape=si.unchanged,
     kernel=_cased("upper"))  # fmt: skip
_add("EncodeBase64", "(input: string, *, pad: bool = False) -> (output: string)", shape=si.unchanged,
     kernel=lambda x, *, pad: _each(lambda s: _encoded(s, pad), x))  # fmt: skip
_add("DecodeBase64", "(input: string) -> (output: string)", shape=si.unchanged,
     kernel=lambda x: _each(_decoded, x))  # fmt: skip


def _encoded(text: bytes, pad: bool) -> bytes:
    found = base64.urlsafe_b64encode(text)
    return found if pad else found.rstrip(b"=")


def _decoded(text: bytes) -> bytes:
    bare = text.rstrip(b"=")
    if not re.fullmatch(rb"[A-Za-z0-9_-]*", bare) or len(bare) % 4 == 1:
        raise _invalid("Invalid character found in base64.")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


@export("strings.length")
def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string, int32, in bytes or ("UTF8_CHAR") code points."""
    return raw.StringLength(input, unit=unit, name=name)


@export("string_strip", "strings.strip")
def string_strip(input: Any, name: str | None = None) -> Tensor:
    """Each string without white space at its ends."""
    return raw.StringStrip(input, name=name)


@export("strings.lower")
def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in lower case: ASCII letters, or all with the encoding "utf-8"."""
    return raw.StringLower(input, encoding=encoding, name=name)


@export("strings.upper")
def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in upper case: ASCII letters, or all with the encoding "utf-8"."""
    return raw.StringUpper(input, encoding=encoding, name=name)


@export("encode_base64", "io.encode_base64")
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in web-safe base64 (RFC 4648, section 5), with "=" at the end where `pad` is true."""
    return raw.EncodeBase64(input, pad=pad, name=name)


@export("decode_base64", "io.decode_base64")
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Each string decoded from web-safe base64; InvalidArgumentError in a run with other characters."""
    return raw.DecodeBase64(input, name=name)


# ---- regular expressions ----


def _rewritten(rewrite: bytes) -> bytes:
    """A rewrite string in Python's form: \\0 is the whole match."""
    return re.sub(rb"\\(\d)", rb"\\g<\1>", rewrite)


def _replaced(x: Any, pattern: bytes, rewrite: bytes, replace_global: bool) -> np.ndarray:
    compiled, template = _compiled(pattern), _rewritten(rewrite)
    return _each(lambda s: compiled.sub(template, s, 0 if replace_global else 1), x)


def _matches(x: Any, pattern: bytes) -> np.ndarray:
    compiled = _compiled(pattern)
    return _each(lambda s: compiled.fullmatch(s) is not None, x, bool)


def _pattern_shape(c):
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return [c.inputs[0]]


_add(
    "RegexReplace", "(input: string, pattern: string, rewrite: string, *, replace_global: bool = True) -> (output: string)",
    shape=_pattern_shape,
    kernel=lambda x, pattern, rewrite, *, replace_global: _replaced(x, pattern.item(), rewrite.item(), replace_global),
)  # fmt: skip
_add(
    "StaticRegexReplace",
    "(input: string, *, pattern: string, rewrite: string, replace_global: bool = True) -> (output: string)",
    shape=si.unchanged,
    kernel=lambda x, *, pattern, rewrite, replace_global: _replaced(
        x, pattern.encode("latin-1"), rewrite.encode("latin-1"), replace_global
    ),
)  # fmt: skip
_add("RegexFullMatch", "(input: string, pattern: string) -> (output: bool)", shape=_pattern_shape,
     kernel=lambda x, pattern: _matches(x, pattern.item()))  # fmt: skip
_add("StaticRegexFullMatch", "(input: string, *, pattern: string) -> (output: bool)", shape=si.unchanged,
     kernel=lambda x, *, pattern: _matches(x, pattern.encode("latin-1")))  # fmt: skip


@export("regex_replace", "strings.regex_replace")
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Each string with matches of `pattern` replaced.

    Args:
      input: string tensor.
      pattern: regular expression, a string or scalar tensor.
      rewrite: what takes their place; \\0 to \\9 stand for groups.
      replace_global: whether all matches are replaced, else the first.
      name: node name.

    Raises:
      InvalidArgumentError: in a run with an invalid pattern.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw.StaticRegexReplace(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name)
    return raw.RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether the regular expression `pattern` matches the whole of each string; InvalidArgumentError for a bad pattern."""
    if isinstance(pattern, (str, bytes)):
        return raw.StaticRegexFullMatch(input, pattern=pattern, name=name)
    return raw.RegexFullMatch(input, pattern, name=name)


# ---- joining ----


def _join_shape(c):
    sizes: Any = ()
    for other in c.inputs:
        if other != ():
            sizes = other if sizes == () else si.merge(sizes, other)
    return [None if None in c.inputs else sizes]


def _joined(inputs, *, separator):
    shapes = {x.shape for x in inputs if x.ndim}
    if len(shapes) > 1:
        raise _invalid(f"Input shapes do not match: {' vs. '.join(str(list(s)) for s in shapes)}")
    parts = np.broadcast_arrays(*(np.asarray(x, object) for x in inputs))
    found = np.empty(parts[0].shape, object)
    for place in np.ndindex(found.shape):
        found[place] = separator.encode("latin-1").join(part[place] for part in parts)
    return found


_add("StringJoin", '(inputs: N*string, *, N: int >= 1, separator: string = "") -> (output: string)', shape=_join_shape,
     kernel=_joined)  # fmt: skip


@export("string_join", "strings.join")
def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of several tensors of one shape (or scalars) joined element by element, `separator` between them."""
    return raw.StringJoin(inputs, separator=separator, name=name)


def _reduce_join_shape(c):
    sizes, axes = c.inputs[0], c.value(1)
    if sizes is None or axes is None:
        return [None]
    axes = {si.normalize_axis(int(a), len(sizes)) for a in axes.reshape(-1)}
    keep = c.attr("keep_dims")
    return [tuple(1 if d in axes else s for d, s in enumerate(sizes) if keep or d not in axes)]


def _reduce_joined(x, axes, *, keep_dims, separator):
    axes = [int(a) for a in np.reshape(axes, -1)]
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise _invalid(f"Invalid reduction dimension {axis} for input with {x.ndim} dimension(s)")
    axes = [a % x.ndim for a in axes]
    if len(set(axes)) < len(axes):
        raise _invalid(f"Duplicate reduction dimension in {axes}")
    kept = [d for d in range(x.ndim) if d not in axes]
    rows = np.transpose(np.asarray(x, object), kept + axes[::-1]).reshape([x.shape[d] for d in kept] + [-1])
    found = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(found.shape):
        found[place] = separator.encode("latin-1").join(rows[place])
    return found.reshape([1 if d in axes else s for d, s in enumerate(x.shape)]) if keep_dims else found


_add(
    "ReduceJoin",
    '(inputs: string, reduction_indices: int32, *, keep_dims: bool = False, separator: string = "") -> (output: string)',
    shape=_reduce_join_shape, kernel=_reduce_joined,
)  # fmt: skip


@export("reduce_join", "strings.reduce_join")
def reduce_join(
    inputs: Any, axis: Any = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The strings along dimensions joined.

    Args:
      inputs: string tensor.
      axis: dimension or list of them, the first varying fastest; all in row-major order where it is None
        (`reduction_indices` is its old name).
      keepdims: whether those dimensions stay with size 1 (`keep_dims` is its old name).
      separator: text between the strings.
      name: node name.

    Raises:
      ValueError: a dimension is outside the rank.
    """
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = convert_to_tensor(inputs)
        if axis is None and inputs.shape.ndims is not None:
            axis = constant(np.arange(inputs.shape.ndims - 1, -1, -1), dtype=dtypes.int32)
        elif axis is None:
            axis = arange(rank(inputs) - 1, -1, -1)
        return raw.ReduceJoin(inputs, axis, keep_dims=bool(keepdims), separator=separator, name=name)


# ---- parts ----


def _substr_shape(c):
    si.merge(c.inputs[1], c.inputs[2])
    return [si.broadcast(c.inputs[0], c.inputs[1])]


def _part(text: bytes, start: int, length: int, unit: str) -> bytes:
    whole = text.decode("utf-8", "replace") if unit == "UTF8_CHAR" else text
    if not -len(whole) <= start <= len(whole):
        raise _invalid(f"pos {start} out of range for string {text!r}")
    start += len(whole) * (start < 0)
    found = whole[start : start + max(length, 0)]
    return found.encode() if unit == "UTF8_CHAR" else found


def _substr(x, pos, length, *, unit):
    try:
        texts, starts, lengths = np.broadcast_arrays(np.asarray(x, object), pos, length)
    except ValueError:
        raise _invalid(f"Incompatible shapes: {list(x.shape)} vs. {list(pos.shape)}") from None
    found = np.empty(texts.shape, object)
    for place in np.ndindex(found.shape):
        found[place] = _part(texts[place], int(starts[place]), int(lengths[place]), unit)
    return found


_add("Substr", f"(input: string, pos: T, len: T, *, T: INDEX, unit: {_UNIT}) -> (output: string)", shape=_substr_shape,
     kernel=_substr)  # fmt: skip


@export("substr", "strings.substr")
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The part of each string of `len` bytes (or code points, "UTF8_CHAR") from `pos`, which counts from the end where negative.

    Raises:
      InvalidArgumentError: in a run with `pos` outside a string.
    """
    return raw.Substr(input, pos, len, unit=unit, name=name)


def _split_shape(c):
    si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 0)
    return [(None, 2), (None,), (2,)]


def _rows(parts: list[list[bytes]]) -> tuple:
    """Lists of strings as the three parts of a sparse tensor."""
    indices = np.array([(i, j) for i, row in enumerate(parts) for j in range(len(row))], np.int64).reshape(-1, 2)
    values = np.empty(len(indices), object)
    values[:] = [s for row in parts for s in row]
    return indices, values, np.array([len(parts), max(map(len, parts), default=0)], np.int64)


def _split_at(text: bytes, delimiter: bytes, skip_empty: bool) -> list[bytes]:
    if not text:
        return []
    if not delimiter:
        return [text[i : i + 1] for i in range(len(text))]
    parts = re.split(b"[" + re.escape(delimiter) + b"]", text)
    return [p for p in parts if p] if skip_empty else parts


_add(
    "StringSplit",
    "(input: string, delimiter: string, *, skip_empty: bool = True) -> (indices: int64, values: string, shape: int64)",
    shape=_split_shape,
    kernel=lambda x, delimiter, *, skip_empty: _rows([_split_at(s, delimiter.item(), skip_empty) for s in x]),
)  # fmt: skip
_add(
    "StringSplitV2",
    "(input: string, sep: string, *, maxsplit: int = -1) -> (indices: int64, values: string, shape: int64)",
    shape=_split_shape,
    kernel=lambda x, sep, *, maxsplit: _rows([s.split(sep.item() or None, maxsplit) for s in x]),
)  # fmt: skip


@export("string_split")
def string_split(source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None) -> SparseTensor:
    """The strings of a vector split at every byte of `sep`, into single bytes where it is empty.

    Args:
      source: string vector.
      sep: scalar string, " " by default (`delimiter` is its old name).
      skip_empty: whether empty parts are left out.

    Returns:
      a SparseTensor [size of `source`, largest number of parts].
    """
    delimiter = deprecated_argument_lookup("sep", sep, "delimiter", delimiter)
    with name_scope(None, "StringSplit", [source]):
        delimiter = convert_to_tensor(" " if delimiter is None else delimiter, dtype=dtypes.string)
        source = convert_to_tensor(source, dtype=dtypes.string)
        indices, values, shape = raw.StringSplit(source, delimiter, skip_empty=skip_empty)
        return SparseTensor(indices, values, shape)
