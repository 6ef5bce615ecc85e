"""Strings joined by rows and segments: StringNGrams, UnsortedSegmentJoin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NO_GRADIENT = NotDifferentiable("strings are not differentiable", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- n-grams ----


def _padding(width: int, pad_width: int) -> int:
    """Pads at each end of a row, for n-grams of `width`."""
    return min(width - 1 if pad_width < 0 else pad_width, width - 1)


def _ngrams(row: list[bytes], width: int, pads: int, left: bytes, right: bytes, separator: bytes) -> Iterator[bytes]:
    padded = [left] * pads + row + [right] * pads
    for start in range(len(padded) - width + 1):
        yield separator.join(padded[start : start + width])


def _ngrams_shape(c):
    si.with_rank(c.inputs[0], 1)
    return [(None,), si.with_rank(c.inputs[1], 1)]


@op(
    "StringNGrams",
    "(data: string, data_splits: Tsplits, *, separator: string, ngram_widths: list(int) >= 0, left_pad: string, "
    "right_pad: string, pad_width: int, preserve_short_sequences: bool, Tsplits: INDEX = int64) -> "
    "(ngrams: string, ngrams_splits: Tsplits)",
    shape=_ngrams_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _string_ngrams(data, splits, *, separator, ngram_widths, left_pad, right_pad, pad_width, preserve_short_sequences):
    if any(w <= 0 for w in ngram_widths):
        raise _invalid("ngram_widths must contain positive values")
    if splits.ndim != 1:
        raise _invalid(f"data_splits must be a vector, got shape {shape_text(splits.shape)}")
    for value in splits:
        if not 0 <= value <= data.size:
            raise _invalid(f"Invalid split value {value}, must be in [0,{data.size}]")
    if not data.size or not splits.size:
        return data, splits
    left, right, between = (text.encode("latin-1") for text in (left_pad, right_pad, separator))
    flat, found, ends = data.reshape(-1).tolist(), [], [0]
    for start, end in zip(splits, splits[1:]):
        row = flat[start:end]
        made = [g for w in ngram_widths for g in _ngrams(row, w, _padding(w, pad_width), left, right, between)]
        if preserve_short_sequences and row and not made:
            if pad_width < 0:
                raise _invalid(
                    "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not provided, got "
                    f"{pad_width}"
                )
            width = len(row) + 2 * pad_width
            made = list(_ngrams(row, width, _padding(width, pad_width), left, right, between))
        found += made
        ends.append(len(found))
    values = np.empty(len(found), object)
    values[:] = found
    return values, np.array(ends, splits.dtype)


# ---- segments ----


def _segment_shape(c):
    si.with_rank(c.inputs[2], 0)
    inputs, ids, count = c.inputs[0], c.inputs[1], si.size_from_input(c, 2)
    if inputs is None or ids is None:
        return [None]
    si.merge(inputs[: len(ids)], ids)
    return [(count, *inputs[len(ids) :])]


@op(
    "UnsortedSegmentJoin",
    '(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments, *, separator: string = "", Tindices: INDEX, '
    "Tnumsegments: INDEX = int32) -> (output: string)",
    shape=_segment_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _unsorted_segment_join(x, ids, count, *, separator):
    if not ids.ndim:
        raise _invalid("Segment_id cannot have rank 0")
    if ids.ndim > x.ndim:
        raise errors.OutOfRangeError(None, None, f"Invalid segment_id rank {ids.ndim} for input with {x.ndim} dimension(s)")
    for i, (segment, size) in enumerate(zip(ids.shape, x.shape)):
        if segment != size:
            raise _invalid(f"Segment dimension is {segment} while input dimension is {x.ndim} in rank {i}")
    count = int(count)
    if ids.size and not (0 <= ids.min() and ids.max() < count):
        raise _invalid("segment_ids are not allowed to exceed num_segments or to have negative values.")
    rest = x.shape[ids.ndim :]
    checks.require_room((count, *rest), np.dtype(object))
    rows = x.reshape(ids.size, -1)
    groups: dict[int, list[int]] = {}
    for i, segment in enumerate(ids.reshape(-1).tolist()):
        groups.setdefault(segment, []).append(i)
    found, between = np.full((count, rows.shape[1]), b"", object), separator.encode("latin-1")
    for segment, members in groups.items():
        for column in range(rows.shape[1]):
            found[segment, column] = between.join(rows[members, column])
    return found.reshape(count, *rest)


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment joined.

    Args:
      inputs: string Tensor.
      segment_ids: int32 or int64, of the first dimensions of `inputs`: the segment of each row.
      num_segments: number of segments.
      separator: text between the strings.
      name: node name.

    Returns:
      a string Tensor [num_segments, ...].

    Raises:
      InvalidArgumentError: in a run with a segment outside [0, num_segments), or shapes that do not fit.
    """
    return raw.UnsortedSegmentJoin(inputs, segment_ids, num_segments, separator=separator, name=name)
