"""Ops on each string of a tensor: joining, splitting, parts, case, regular expressions, base64. Strings are bytes."""

from __future__ import annotations

import base64
import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.sparse.parts import ragged_indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike

_UNIT = '{"BYTE", "UTF8_CHAR"} = "BYTE"'
_NO_GRADIENT = NotDifferentiable("strings are not differentiable")
_add = functools.partial(op, gradient=_NO_GRADIENT, side=HOST, depth=2)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _each(function: Callable, x: Any, dtype: Any = object) -> np.ndarray:
    """`function` of every element."""
    x = np.asarray(x, object)
    found = np.empty(x.shape, dtype)
    for place in np.ndindex(x.shape):
        found[place] = function(x[place])
    return found


# ---- one string to one ----


def _starts(text: bytes) -> list[int]:
    """Where the characters of UTF-8 text start: at every byte that continues none."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]


def _text_length(text: bytes, unit: str) -> int:
    return len(_starts(text)) if unit == "UTF8_CHAR" else len(text)


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
    if len(text) % 4 == 1:
        raise _invalid("Base64 string length cannot be 1 modulo 4.")
    bare = text if len(text) % 4 else text[:-2] + text[-2:].rstrip(b"=")
    if not re.fullmatch(rb"[A-Za-z0-9_-]*", bare):
        raise _invalid("Invalid character found in base64.")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


@export("strings.length")
def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string, int32, in bytes or ("UTF8_CHAR") code points."""
    return raw.StringLength(input, unit=unit, name=name)


@export("string_strip", "strings.strip")
def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Each string without white space at its ends."""
    return raw.StringStrip(input, name=name)


@export("strings.lower")
def string_lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in lower case: ASCII letters, or all with the encoding "utf-8"."""
    return raw.StringLower(input, encoding=encoding, name=name)


@export("strings.upper")
def string_upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in upper case: ASCII letters, or all with the encoding "utf-8"."""
    return raw.StringUpper(input, encoding=encoding, name=name)


@export("encode_base64", "io.encode_base64")
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in web-safe base64 (RFC 4648, section 5), with "=" at the end where `pad` is true."""
    return raw.EncodeBase64(input, pad=pad, name=name)


@export("decode_base64", "io.decode_base64")
def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Each string decoded from web-safe base64; InvalidArgumentError in a run with other characters."""
    return raw.DecodeBase64(input, name=name)


# ---- joining ----


def _join_shape(c):
    if all(other == () for other in c.inputs):
        return [()]
    sizes = None
    for other in c.inputs:
        sizes = si.merge(sizes, other or None)
    return [sizes]


def _joined(inputs, *, separator):
    first, *others = [x.shape for x in inputs if x.ndim] or [()]
    for shape in others:
        if shape != first:
            raise _invalid(f"Input shapes do not match: {shape_text(first)} vs. {shape_text(shape)}")
    parts = np.broadcast_arrays(*(np.asarray(x, object) for x in inputs))
    found = np.empty(parts[0].shape, object)
    for place in np.ndindex(found.shape):
        found[place] = separator.encode("latin-1").join(part[place] for part in parts)
    return found


_add("StringJoin", '(inputs: N*string, *, N: int >= 1, separator: string = "") -> (output: string)', shape=_join_shape,
     kernel=_joined)  # fmt: skip


@export("string_join", "strings.join")
def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """The strings of several tensors of one shape (or scalars) joined element by element, `separator` between them."""
    return raw.StringJoin(inputs, separator=separator, name=name)


def _reduce_join_shape(c):
    si.with_rank_at_most(c.inputs[1], 1)
    sizes, axes = c.inputs[0], c.value(1)
    if sizes is None:
        return [None]
    rank = len(sizes)
    if axes is None:
        return [(None,) * rank if c.attr("keep_dims") else None]
    for axis in axes.reshape(-1):
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    axes = {int(a) % rank for a in axes.reshape(-1)}
    keep = c.attr("keep_dims")
    return [tuple(1 if d in axes else s for d, s in enumerate(sizes) if keep or d not in axes)]


def _reduce_joined(x, axes, *, keep_dims, separator):
    axes = [int(a) for a in np.reshape(axes, -1)]
    for i, axis in enumerate(axes):
        if not -x.ndim <= axis < x.ndim:
            raise errors.OutOfRangeError(
                None, None, f"Invalid reduction dimension {axis} for input with {x.ndim} dimension(s)"
            )
        if any(axis % x.ndim == a % x.ndim for a in axes[:i]):
            raise _invalid(f"Duplicate reduction dimension {axis}")
    axes = [a % x.ndim for a in axes]
    kept = [d for d in range(x.ndim) if d not in axes]
    length = math.prod(x.shape[d] for d in axes)
    rows = np.transpose(np.asarray(x, object), kept + axes[::-1]).reshape([x.shape[d] for d in kept] + [length])
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
    inputs: TensorLike, axis: TensorLike | None = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: object = None, keepdims: bool | None = None,
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


def _part(text: bytes, start: int, length: int, unit: str, index: int) -> bytes:
    """`length` bytes (all where negative) or characters from `start`; InvalidArgumentError where `start` is outside.

    Characters of negative length are none from the front, and counted from the end they are outside.
    """
    borders = [*_starts(text), len(text)] if unit == "UTF8_CHAR" else range(len(text) + 1)
    size = len(borders) - 1
    if not -size <= start <= size or (unit != "BYTE" and start < 0 and length < 0):
        shown = f" b'{text.decode('utf-8', 'replace')}'" if unit == "BYTE" else ""
        raise _invalid(f"pos {start} out of range for string{shown} at index {index}")
    start += size * (start < 0)
    if length < 0:
        length = size if unit == "BYTE" else 0
    return text[borders[start] : borders[min(start + length, size)]]


def _substr(x, pos, length, *, unit):
    if pos.shape != length.shape:
        raise _invalid(f"pos and len should have the same shape, got: {list(pos.shape)} vs. {list(length.shape)}")
    try:
        texts, starts, lengths = np.broadcast_arrays(np.asarray(x, object), pos, length)
    except ValueError:
        raise _invalid(f"Incompatible shapes: {list(x.shape)} vs. {list(pos.shape)}") from None
    found = np.empty(texts.shape, object)
    for i, place in enumerate(np.ndindex(found.shape)):
        found[place] = _part(texts[place], int(starts[place]), int(lengths[place]), unit, i)
    return found


_add("Substr", f"(input: string, pos: T, len: T, *, T: INDEX, unit: {_UNIT}) -> (output: string)", shape=_substr_shape,
     kernel=_substr)  # fmt: skip


@export("substr", "strings.substr")
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The part of each string of `len` bytes (or code points, "UTF8_CHAR") from `pos`, which counts from the end where negative.

    Raises:
      InvalidArgumentError: in a run with `pos` outside a string.
    """
    return raw.Substr(input, pos, len, unit=unit, name=name)


@export("compat.v2.strings.substr")
def substr_v2(input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """`substr` with the arguments of TensorFlow 2."""
    return substr(input, pos, len, name, unit)


def _split_shape(c):
    si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 0)
    return [(None, 2), (None,), (2,)]


def _rows(parts: list[list[bytes]]) -> tuple:
    """Lists of strings as the three parts of a sparse tensor."""
    counts = np.fromiter(map(len, parts), np.int64, len(parts))
    values = np.empty(int(counts.sum()), object)
    values[:] = list(itertools.chain.from_iterable(parts))
    return ragged_indices(counts), values, np.array([len(parts), counts.max(initial=0)], np.int64)


def _split_at(text: bytes, delimiter: bytes, skip_empty: bool) -> list[bytes]:
    if not text:
        return []
    if not delimiter:
        return [text[i : i + 1] for i in range(len(text))]
    parts = text.split(delimiter) if len(delimiter) == 1 else re.split(b"[" + re.escape(delimiter) + b"]", text)
    return [p for p in parts if p] if skip_empty else parts


def _cut(text: bytes, sep: bytes, maxsplit: int) -> list[bytes]:
    """`text` cut at `sep`, or at runs of white space; after the last of `maxsplit` words comes the rest, even if empty."""
    if maxsplit == 0:
        return [text]
    parts = text.split(sep or None, maxsplit)
    return [*parts, b""] if not sep and len(parts) == maxsplit else parts


def _require_vector(x: Any) -> None:
    if x.ndim != 1:
        raise _invalid(f"input must be a vector, got shape: {shape_text(x.shape)}")


def _string_split(x, delimiter, *, skip_empty):
    _require_vector(x)
    checks.scalar("delimiter", delimiter)
    return _rows([_split_at(s, delimiter.item(), skip_empty) for s in x])


def _string_split_v2(x, sep, *, maxsplit):
    _require_vector(x)
    checks.scalar("sep", sep)
    return _rows([_cut(s, sep.item(), maxsplit) for s in x])


_add(
    "StringSplit",
    "(input: string, delimiter: string, *, skip_empty: bool = True) -> (indices: int64, values: string, shape: int64)",
    shape=_split_shape,
    kernel=_string_split,
)  # fmt: skip
_add(
    "StringSplitV2",
    "(input: string, sep: string, *, maxsplit: int = -1) -> (indices: int64, values: string, shape: int64)",
    shape=_split_shape,
    kernel=_string_split_v2,
)  # fmt: skip


# ---- templates ----


@export("strings.format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A string scalar: `template` with the text of a tensor in place of each placeholder.

    Args:
      template: the text.
      inputs: a tensor, or a list of them.
      placeholder: what stands for a tensor in the template.
      summarize: first and last entries shown in each dimension, -1 for all.
      name: node name.

    Raises:
      ValueError: there are not as many placeholders as tensors.
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else inputs
    count = template.count(placeholder)
    if count != len(tensors):
        raise ValueError(
            f"{count} placeholder(s) in template does not match {len(tensors)} tensor(s) provided as input"
        )
    return raw.StringFormat(tensors, template=template, placeholder=placeholder, summarize=summarize, name=name)
