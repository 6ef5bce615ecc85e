"""Functions on strings whose results are ragged: splitting, n-grams, and characters of Unicode text."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.dispatch import dispatch_for_types
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.ragged.array import expand_dims
from tfcompat._src.ops.ragged.math import ragged_reduce_aggregate
from tfcompat._src.ops.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.ops.strings.segments import unsorted_segment_join
from tfcompat._src.ops.strings.text import reduce_join as reduce_join_dense

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- splitting ----


def _ragged(indices: Tensor, values: Tensor, dense_shape: Tensor) -> RaggedTensor:
    return RaggedTensor.from_value_rowids(values=values, value_rowids=indices[:, 0], nrows=dense_shape[0], validate=False)


def _check_result_type(result_type: str) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


@export("string_split")
def string_split(
    source: TensorLike, sep: TensorLike | None = None, skip_empty: bool = True, delimiter: object = None, result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The strings of a vector split at every byte of `sep`, into single bytes where it is empty.

    Args:
      source: string vector.
      sep: scalar string, " " by default (`delimiter` is its old name).
      skip_empty: whether empty parts are left out.
      result_type: "SparseTensor" [size of `source`, largest number of parts] or "RaggedTensor".
      name: name scope.

    Raises:
      ValueError: another result type.
    """
    with name_scope(name, "StringSplit", [source]):
        sep = deprecated_argument_lookup("sep", sep, "delimiter", delimiter)
        sep = convert_to_tensor(" " if sep is None else sep, dtype=dtypes.string)
        source = convert_to_tensor(source, dtype=dtypes.string)
        parts = SparseTensor(*raw.StringSplit(source, sep, skip_empty=skip_empty))
        _check_result_type(result_type)
        return parts if result_type == "SparseTensor" else _ragged(parts.indices, parts.values, parts.dense_shape)


def sparse_string_split(source: TensorLike, sep: TensorLike | None = None, maxsplit: int = -1) -> SparseTensor:
    """The strings of a vector split at `sep` (white space where it is empty), as a matrix."""
    sep = convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
    source = convert_to_tensor(source, dtype=dtypes.string)
    return SparseTensor(*raw.StringSplitV2(source, sep, maxsplit=maxsplit))


@export("compat.v2.strings.split")
def string_split_v2(input: Any, sep: TensorLike | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The strings split at `sep` (white space where it is empty), one more ragged dimension."""
    with name_scope(name, "StringSplit", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, dtype=dtypes.string, name="input")
        if isinstance(input, RaggedTensor):
            return input.with_flat_values(string_split_v2(input.flat_values, sep, maxsplit))
        rank = input.shape.ndims
        if rank == 0:
            return string_split_v2(stack([input]), sep, maxsplit)[0]
        if rank in (1, None):
            parts = sparse_string_split(input, sep, maxsplit)
            return _ragged(parts.indices, parts.values, parts.dense_shape)
        return string_split_v2(RaggedTensor.from_tensor(input), sep, maxsplit)


@export("strings.split")
def strings_split_v1(
    input: Any = None, sep: TensorLike | None = None, maxsplit: int = -1, result_type: str = "SparseTensor", source: object = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Each string split at `sep`.

    Args:
      input: string Tensor or RaggedTensor (`source` is its old name).
      sep: scalar string; where it is empty or None, the strings are split at runs of white space.
      maxsplit: largest number of cuts, -1 for all.
      result_type: "SparseTensor" or "RaggedTensor", with one more dimension.
      name: name scope.

    Raises:
      ValueError: another result type.
    """
    input = deprecated_argument_lookup("input", input, "source", source)
    with name_scope(name, "StringSplit", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, dtype=dtypes.string, name="input")
        if result_type == "SparseTensor" and input.shape.rank == 1:
            return sparse_string_split(input, sep, maxsplit)
        found = string_split_v2(input, sep=sep, maxsplit=maxsplit)
        _check_result_type(result_type)
        return found.to_sparse() if result_type == "SparseTensor" else found


@export("strings.bytes_split")
def string_bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of each string of a Tensor or RaggedTensor, one more ragged dimension; ValueError for an unknown rank."""
    with name_scope(name, "StringsByteSplit", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if isinstance(input, RaggedTensor):
            return input.with_flat_values(string_bytes_split(input.flat_values))
        rank = input.shape.ndims
        if rank is None:
            raise ValueError("input must have a statically-known rank.")
        if rank == 0:
            return string_bytes_split(stack([input]))[0]
        if rank == 1:
            return _ragged(*raw.StringSplit(input, "", skip_empty=False))
        return string_bytes_split(RaggedTensor.from_tensor(input))


def reduce_join(inputs: TensorLike, axis: TensorLike | None = None, keepdims: bool | None = None, separator: str = "", name: str | None = None) -> Any:
    """The strings along dimensions of a ragged tensor joined, over all (None) without separator; `keepdims` may not be true."""

    def join_rows(x: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
        return reduce_join_dense(x, axis, separator="" if axis is None else separator, name=name)

    join_segments = functools.partial(unsorted_segment_join, separator=separator)
    return ragged_reduce_aggregate(join_rows, join_segments, inputs, axis, keepdims, name or "RaggedSegmentJoin")


@dispatch_for_types(reduce_join_dense, RaggedTensor, RaggedTensorValue)
def _reduce_join_of_ragged(
    inputs: TensorLike, axis: TensorLike | None = None, keep_dims: bool | None = None, separator: str = "", name: str | None = None,
    reduction_indices: object = None, keepdims: bool | None = None,
) -> Any:  # fmt: skip
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    return reduce_join(inputs, axis, keepdims, separator, name)


# ---- n-grams ----


def _pads(pad_values: object) -> tuple[Any, Any]:
    both = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if pad_values is None:
        return "", ""
    if not all(isinstance(p, (str, bytes)) for p in both[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return both[0], both[1]


@export("strings.ngrams")
def ngrams(
    data: Any, ngram_width: Any, separator: str = " ", pad_values: object = None, padding_width: int | None = None,
    preserve_short_sequences: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """The n-grams of each row of strings.

    Args:
      data: string Tensor or RaggedTensor.
      ngram_width: number of strings in an n-gram, or a list of such numbers.
      separator: text between the strings of an n-gram.
      pad_values: string for both ends of a row, or a tuple for left and right; by default nothing.
      padding_width: how many pads, at most the width less one, which is the default.
      preserve_short_sequences: whether a row that is too short gives one n-gram of all that it has.
      name: name scope.

    Returns:
      a RaggedTensor of the rows of n-grams, or a Tensor where `data` is one.

    Raises:
      TypeError: pads are no strings. ValueError: a width is not positive, or the rank is 0 or unknown.
    """
    with name_scope(name, "StringNGrams", [data]):
        left, right = _pads(pad_values)
        if padding_width is not None and padding_width < 1:
            raise ValueError("padding_width must be greater than 0.")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        data = convert_to_tensor_or_ragged_tensor(data, name="data", dtype=dtypes.string)
        arguments = (ngram_width, separator, pad_values, padding_width, preserve_short_sequences, name)
        dense_shape = None
        if isinstance(data, Tensor):
            dense_shape = concat([shape_of(data)[:-1], [-1]], axis=0)
            if data.shape.ndims is None:
                raise ValueError("Rank of data must be known.")
            if data.shape.ndims == 0:
                raise ValueError("Data must have rank>0")
            if data.shape.ndims == 1:
                return ngrams(RaggedTensor.from_row_starts(data, [0], validate=False), *arguments)[0]
            data = RaggedTensor.from_tensor(data, ragged_rank=data.shape.ndims - 1)
        if data.ragged_rank > 1:
            found = data.with_values(ngrams(data.values, *arguments))
        else:
            pad_width = 0 if pad_values is None else -1 if padding_width is None else padding_width
            found = _row_ngrams(data, ngram_width, separator, left, right, pad_width, preserve_short_sequences)
        return found if dense_shape is None else reshape(found.flat_values, dense_shape)


def _row_ngrams(
    data: RaggedTensor, ngram_width: object, separator: str, left: str, right: str, pad_width: int, preserve_short: bool
) -> RaggedTensor:
    widths = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any(w < 1 for w in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    values, splits = raw.StringNGrams(
        data.flat_values, data.row_splits, separator=separator, ngram_widths=widths, left_pad=left, right_pad=right,
        pad_width=pad_width, preserve_short_sequences=preserve_short,
    )  # fmt: skip
    return RaggedTensor.from_row_splits(values, splits, validate=False)


# ---- Unicode ----


@export("strings.unicode_encode")
def unicode_encode(
    input: TensorLike, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """Strings of int32 code points.

    Args:
      input: Tensor or RaggedTensor [..., characters].
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what happens to numbers that are no code points: "replace", "ignore" (left out) or "strict".
      replacement_char: code point that replaces them.
      name: name scope.

    Raises:
      ValueError: the rank is 0 or unknown. InvalidArgumentError: in a run under "strict".
    """
    with name_scope(name, "UnicodeEncode", [input]):
        codes = convert_to_tensor_or_ragged_tensor(input)
        how = (output_encoding, errors, replacement_char)
        rank = codes.shape.ndims
        if rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if is_ragged(codes):
            if codes.flat_values.shape.ndims > 1:
                return codes.with_flat_values(unicode_encode(codes.flat_values, *how))
            if codes.ragged_rank > 1:
                return codes.with_values(unicode_encode(codes.values, *how))
            return raw.UnicodeEncode(
                codes.values, codes.row_splits, output_encoding=output_encoding, errors=errors,
                replacement_char=replacement_char,
            )  # fmt: skip
        if rank == 2:
            return unicode_encode(RaggedTensor.from_tensor(codes), *how)
        if rank > 2:
            rows = reshape(codes, stack([-1, shape_of(codes)[-1]]))
            return reshape(unicode_encode(rows, *how), codes.shape[:-1])
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        row = RaggedTensor.from_row_splits(codes, stack([0, shape_of(codes, out_type=dtypes.int32)[0]]), validate=False)
        return reshape(unicode_encode(row, *how), [])


def _decoded(input: Any, encoding: str, errors: str, replacement_char: int, replace_controls: bool, offsets: bool) -> tuple:
    """The code points of strings, ragged but for a scalar, and with `offsets` the bytes where they start."""
    input = convert_to_tensor_or_ragged_tensor(input, name="input")
    rank = input.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1 and not is_ragged(input):
        input = RaggedTensor.from_tensor(input, ragged_rank=rank - 1)
    elif rank > 1 and input.ragged_rank < rank - 1:
        inner = RaggedTensor.from_tensor(input.flat_values, ragged_rank=rank - input.ragged_rank + 1)
        input = input.with_flat_values(inner)
    flat = reshape(input.flat_values if is_ragged(input) else input, [-1])
    splits, *found = (raw.UnicodeDecodeWithOffsets if offsets else raw.UnicodeDecode)(
        flat, input_encoding=encoding, errors=errors, replacement_char=replacement_char,
        replace_control_characters=replace_controls,
    )  # fmt: skip
    if rank == 0:
        return tuple(found)
    rows = [RaggedTensor.from_row_splits(values, splits, validate=False) for values in found]
    return tuple(input.with_flat_values(r) if rank > 1 else r for r in rows)


@export("strings.unicode_decode")
def unicode_decode(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """The int32 code points of each string, one more ragged dimension.

    Args:
      input: string Tensor or RaggedTensor of a known rank.
      input_encoding: name of its encoding.
      errors: what happens to malformed text: "replace", "ignore" or "strict".
      replacement_char: code point that replaces it.
      replace_control_characters: whether code points up to 0x1F count as malformed.
      name: name scope.

    Raises:
      ValueError: the rank is unknown. InvalidArgumentError: in a run with malformed text under "strict".
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, False)[0]


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """What `unicode_decode` gives, and the int64 bytes where the characters start, in the same form."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, True)


@export("strings.unicode_split")
def unicode_split(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """The characters of each string as strings, one more ragged dimension; arguments as `unicode_decode`'s."""
    with name_scope(name, "UnicodeSplit", [input]):
        (codes,) = _decoded(input, input_encoding, errors, replacement_char, False, False)
        return unicode_encode(expand_dims(codes, -1), input_encoding, errors, replacement_char)


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> tuple[Any, Any]:
    """What `unicode_split` gives, and the int64 bytes where the characters start, in the same form."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, offsets = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return unicode_encode(expand_dims(codes, -1), input_encoding, errors, replacement_char), offsets
