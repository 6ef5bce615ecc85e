"""Unicode text in its encodings: UnicodeDecode, UnicodeEncode, UnicodeTranscode, UnicodeScript."""

from __future__ import annotations

import codecs
import functools
import json
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors as errors_lib
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_add = functools.partial(op, gradient=NotDifferentiable("text has no derivative", raises=True), side=HOST, depth=2)
_CODECS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be", "UTF-16": "utf-16-be", "UTF-32": "utf-32-be"}
_BOMS = {"UTF-16": ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le")),
         "UTF-32": ((b"\0\0\xfe\xff", "utf-32-be"), (b"\xff\xfe\0\0", "utf-32-le"))}  # fmt: skip
_LAST = 0x10FFFF


def _invalid(text: str) -> errors_lib.InvalidArgumentError:
    return errors_lib.InvalidArgumentError(None, None, text)


def _check_codec(encoding: str) -> None:
    try:
        codecs.lookup(_CODECS.get(encoding, encoding))
    except LookupError:
        raise _invalid(f"Could not create converter for input encoding: {encoding}") from None


def _check_replacement(replacement_char: int) -> None:
    if not 0 <= replacement_char <= _LAST:
        raise _invalid("replacement_char out of unicode codepoint range")


def _characters(text: bytes, encoding: str) -> Iterator[tuple[int, int, bool]]:
    """(code point, bytes, whether the bytes are malformed) of each character."""
    codec, start = _CODECS.get(encoding, encoding), 0
    for mark, marked in _BOMS.get(encoding, ()):
        if text.startswith(mark):
            codec, start = marked, len(mark)
            break
    lead = start
    while start < len(text):
        try:
            part, wrong, stop = text[start:].decode(codec), 0, len(text)
        except UnicodeDecodeError as e:
            part, wrong, stop = text[start : start + e.start].decode(codec), e.end - e.start, start + e.end
        for ch in part:
            yield ord(ch), len(ch.encode(codec)) + lead, False
            lead = 0
        if wrong:
            yield 0xFFFD, wrong + lead, True
            lead = 0
        start = stop


class _Policy:
    """What happens to malformed and control characters."""

    def __init__(self, errors: str, replacement_char: int, replace_control_characters: bool) -> None:
        _check_replacement(replacement_char)
        self.errors, self.replacement, self.controls = errors, replacement_char, replace_control_characters

    def apply(self, text: bytes, encoding: str) -> tuple[list[int], list[int]]:
        """Code points and the bytes where they start; InvalidArgumentError for malformed text under "strict"."""
        points, starts, position = [], [], 0
        for point, size, malformed in _characters(text, encoding):
            if malformed and self.errors == "strict":
                raise _invalid("Invalid formatting on input string")
            replaced = malformed or (self.controls and point <= 0x1F)
            if not (replaced and self.errors == "ignore"):
                points.append(self.replacement if replaced else point)
                starts.append(position)
            position += size
        return points, starts


def _encoded(points: Any, encoding: str) -> bytes:
    if encoding == "UTF-8":
        points = [0xFFFD if 0xD800 <= p < 0xE000 else p for p in points]
    return "".join(map(chr, points)).encode(_CODECS[encoding], "surrogatepass")


_ERRORS = 'errors: {"strict", "replace", "ignore"} = "replace", replacement_char: int = 65533'
_DECODE = f"(input: string, *, input_encoding: string, {_ERRORS}, replace_control_characters: bool = False"


def _transcode(x, *, input_encoding, output_encoding, errors, replacement_char, replace_control_characters):
    _check_codec(input_encoding)
    policy = _Policy(errors, replacement_char, replace_control_characters)
    found = np.empty(x.size, object)
    found[:] = [_encoded(policy.apply(text, input_encoding)[0], output_encoding) for text in x.reshape(-1)]
    return found.reshape(x.shape)


def _decoded(x, input_encoding, errors, replacement_char, replace_control_characters, splits_dtype) -> tuple:
    _check_codec(input_encoding)
    policy = _Policy(errors, replacement_char, replace_control_characters)
    found = [policy.apply(text, input_encoding) for text in x.reshape(-1)]
    splits = np.cumsum([0, *(len(points) for points, _ in found)]).astype(splits_dtype)
    points = np.array([p for row, _ in found for p in row], np.int32)
    return splits, points, np.array([s for _, row in found for s in row], np.int64)


def _decode(x, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
    return _decoded(x, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)[:2]


def _decode_with_offsets(x, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits):
    return _decoded(x, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)


def _splits_shape(c):
    count = si.num_elements(c.inputs[0])
    return [(None if count is None else count + 1,)] + [(None,)] * (len(c.op.outputs) - 1)


_add(
    "UnicodeTranscode",
    '(input: string, *, input_encoding: string, output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}, '
    f"{_ERRORS}, replace_control_characters: bool = False) -> (output: string)",
    shape=si.unchanged, kernel=_transcode,
)  # fmt: skip
_add("UnicodeDecode", f"{_DECODE}, Tsplits: INDEX = int64) -> (row_splits: Tsplits, char_values: int32)", shape=_splits_shape,
     kernel=_decode)  # fmt: skip
_add(
    "UnicodeDecodeWithOffsets",
    f"{_DECODE}, Tsplits: INDEX = int64) -> (row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64)",
    shape=_splits_shape, kernel=_decode_with_offsets,
)  # fmt: skip


def _encode_shape(c):
    si.with_rank(c.inputs[0], 1)
    (splits,) = si.with_rank(c.inputs[1], 1)
    if splits == 0:
        raise ValueError("Negative dimension size caused by subtracting 1 from 0")
    return [(None if splits is None else splits - 1,)]


@op(
    "UnicodeEncode",
    '(input_values: int32, input_splits: Tsplits, *, errors: {"ignore", "replace", "strict"} = "replace", '
    'output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}, replacement_char: int = 65533, Tsplits: INDEX = int64) -> '
    "(output: string)",
    shape=_encode_shape, gradient=NotDifferentiable("text has no derivative", raises=True), side=HOST,
)  # fmt: skip
def _encode(values, splits, *, errors, output_encoding, replacement_char):
    _check_replacement(replacement_char)
    if values.ndim != 1 or splits.ndim != 1:
        raise _invalid(f"input_values and input_splits must be vectors, got {shape_text(values.shape)} and {shape_text(splits.shape)}")
    if not splits.size:
        raise _invalid("Input_splits should contain elements, but given input_values has 0 elements")
    if splits[0] < 0 or (np.diff(splits) < 0).any() or splits[-1] > len(values):
        raise _invalid(f"Values in input_splits must be equal or in ascending order, up to {len(values)}")
    wrong = (values < 0) | (values > _LAST)
    if wrong.any() and errors == "strict":
        raise _invalid("Code point value out of valid Unicode range.")
    found = np.empty(len(splits) - 1, object)
    for i, (start, end) in enumerate(zip(splits, splits[1:])):
        points = values[start:end]
        bad = wrong[start:end]
        points = points[~bad] if errors == "ignore" else np.where(bad, replacement_char, points)
        found[i] = _encoded(points.tolist(), output_encoding)
    return found


@export("strings.unicode_transcode")
def unicode_transcode(
    input: TensorLike, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Each string in another encoding.

    Args:
      input: string Tensor.
      input_encoding: name of its encoding.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what happens to malformed text: "replace", "ignore" (left out) or "strict".
      replacement_char: code point that replaces it.
      replace_control_characters: whether code points up to 0x1F count as malformed.
      name: node name.

    Raises:
      InvalidArgumentError: in a run with an unknown encoding, or malformed text under "strict".
    """
    return raw.UnicodeTranscode(
        input, input_encoding=input_encoding, output_encoding=output_encoding, errors=errors,
        replacement_char=replacement_char, replace_control_characters=replace_control_characters, name=name,
    )  # fmt: skip


# ---- scripts ----


@functools.cache
def _script_ranges() -> tuple[np.ndarray, np.ndarray]:
    """The first code point of each range of one script, and the scripts (ICU's UScriptCode)."""
    rows = json.loads(pathlib.Path(__file__).with_name("unicode_scripts.json").read_text())
    starts, codes = np.array(rows, np.int64).T
    return np.cumsum(starts), codes.astype(np.int32)


@op("UnicodeScript", "(input: int32) -> (output: int32)", shape=si.unchanged, side=HOST,
    gradient=NotDifferentiable("a script has no derivative", raises=True))  # fmt: skip
def _unicode_script(x):
    starts, codes = _script_ranges()
    known = (x >= 0) & (x <= _LAST)
    places = np.searchsorted(starts, np.where(known, x, 0), side="right") - 1
    return np.where(known, codes[places], np.int32(-1)).astype(np.int32)


@export("strings.unicode_script")
def unicode_script(input: TensorLike, name: str | None = None) -> Tensor:
    """The script of each int32 code point as ICU's number (USCRIPT_LATIN is 25), -1 for what is no code point."""
    return raw.UnicodeScript(input, name=name)
