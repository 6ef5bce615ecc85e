"""Tensors as text, with the indices of what each line shows."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.debug import dump_files
from tfcompat._src.debug.cli.debugger_cli_common import RichLine, RichTextLines, rich_text_lines_from_rich_line_list

_OMISSION = "...,"
_EDGE_ITEMS = 3
"""How many elements NumPy shows at each end of an axis where it leaves some out."""
_ELEMENT = re.compile(r"([-+]?(?:[0-9][-+0-9eE.]*|nan|inf))(?:\s|,|\])")
BEGIN_INDICES_KEY = "i0"
OMITTED_INDICES_KEY = "omitted"
DEFAULT_TENSOR_ELEMENT_HIGHLIGHT_FONT_ATTR = "bold"


class HighlightOptions:
    """Which elements are highlighted, and how.

    Args:
      criterion: a function of an array that returns an array of booleans of the same shape.
      description: what the criterion is, for the first line of the text.
      font_attr: the attribute of highlighted elements.
    """

    def __init__(
        self, criterion: Callable[[Any], Any], description: str | None = None, font_attr: object = DEFAULT_TENSOR_ELEMENT_HIGHLIGHT_FONT_ATTR
    ) -> None:
        self.criterion = criterion
        self.description = description
        self.font_attr = font_attr


def format_tensor(
    tensor: object,
    tensor_label: str | None,
    include_metadata: bool = False,
    auxiliary_message: RichTextLines | None = None,
    include_numeric_summary: bool = False,
    np_printoptions: dict[str, Any] | None = None,
    highlight_options: HighlightOptions | None = None,
) -> RichTextLines:
    """The text of a tensor, in which each line of an array is annotated with the indices of its first element.

    Args:
      tensor: an array, or what a dump has in place of one.
      tensor_label: its name, or None for no first line.
      include_metadata: also dtype and shape.
      auxiliary_message: lines above the value.
      include_numeric_summary: also a table of counts and moments.
      np_printoptions: arguments of `np.printoptions`.
      highlight_options: which elements are highlighted.
    """
    label = [] if tensor_label is None else ['Tensor "%s":' % tensor_label]
    if not isinstance(tensor, np.ndarray):
        plain = str(tensor) if isinstance(tensor, dump_files.InconvertibleTensorProto) else _repr(tensor, np_printoptions)
        return RichTextLines(label + ([""] if label else []) + plain.split("\n"))
    head = label + (["  dtype: %s" % tensor.dtype, "  shape: %s" % (tensor.shape,)] if include_metadata else [])
    text = RichTextLines(head + ([""] if head else []), None if tensor_label is None else {0: _label_segments(tensor_label)})
    if auxiliary_message:
        text.extend(auxiliary_message)
    if include_numeric_summary:
        text.append("Numeric summary:")
        text.extend(numeric_summary(tensor))
        text.append("")
    lines = _repr(tensor, np_printoptions).split("\n")
    is_bytes = tensor.dtype.type is np.bytes_  # brackets in them would be taken for those of the array
    text.extend(RichTextLines(lines, annotations=None if is_bytes else _annotate_ndarray_lines(lines, tensor, np_printoptions)))
    if highlight_options is not None:
        _highlight(text, tensor, highlight_options)
    return text


def _label_segments(label: str) -> list[tuple[int, int, Any]]:
    """Marks the name in 'Tensor "name:0:Op":', and in another color what follows its last colon and is no output slot."""
    begin, end = len('Tensor "'), len('Tensor "') + len(label)
    last = label.rpartition(":")[2]
    if last.isdigit():
        return [(begin, end, "bold")]
    return [(begin, end - len(last) - 1, "bold"), (end - len(last), end, "yellow")]


def _repr(value: object, options: dict[str, Any] | None) -> str:
    """The text of a value as NumPy 1 wrote it: 12.0 in place of np.float32(12.0)."""
    with np.printoptions(legacy="1.25", **(options or {})):  # type: ignore[arg-type]
        return repr(value)


def _annotate_ndarray_lines(
    array_lines: list[str], tensor: np.ndarray, np_printoptions: dict[str, Any] | None = None, offset: int = 0
) -> dict[Any, Any]:
    """Annotations of the lines of an array's text: row + offset -> {BEGIN_INDICES_KEY or OMITTED_INDICES_KEY: indices}.

    Brackets say where an axis begins and ends, commas how many elements a line of the last axis has.
    """
    annotations: dict[Any, Any] = {"tensor_metadata": {"dtype": tensor.dtype, "shape": tensor.shape}}
    if not tensor.ndim:
        return annotations
    edge_items = (np_printoptions or {}).get("edgeitems", _EDGE_ITEMS)
    indices, depth = [0] * tensor.ndim, 0
    for row, line in enumerate((line.strip() for line in array_lines), offset):
        if not line:
            continue
        if line == _OMISSION:
            annotations[row] = {OMITTED_INDICES_KEY: list(indices)}
            indices[depth - 1] = tensor.shape[depth - 1] - edge_items
            continue
        annotations[row] = {BEGIN_INDICES_KEY: list(indices)}
        closed = line.count("]")
        depth += line.count("[") - closed
        if not closed:
            indices[depth - 1] += line.rpartition("[")[2].count(",")
        elif depth > 0:
            indices[depth - 1] += 1
            indices[depth:] = [0] * (tensor.ndim - depth)
    return annotations


def _highlight(text: RichTextLines, tensor: np.ndarray, options: HighlightOptions) -> None:
    """Marks the elements that pass the criterion, and says in the first line how many do."""
    chosen = [[int(index) for index in indices] for indices in np.argwhere(options.criterion(tensor))]
    what = "(%s)" % options.description if options.description else ""
    text.lines[0] += " Highlighted%s: %d of %d element(s) (%.2f%%)" % (what, len(chosen), tensor.size, len(chosen) / tensor.size * 100.0)
    if chosen and tensor.ndim:
        for is_omitted, row, start, end in zip(*locate_tensor_element(text, chosen)):
            if not is_omitted and start is not None:
                text.font_attr_segs.setdefault(row, []).append((start, end, options.font_attr))


# ---- where an element is ----


def locate_tensor_element(formatted: RichTextLines, indices: Any) -> tuple[Any, Any, Any, Any]:
    """Finds elements of a tensor in its text.

    Args:
      formatted: what `format_tensor` returned.
      indices: the indices of an element, or an ascending list of these.

    Returns:
      Whether the element is in an omitted line, its row, and its first column and the one after its last, which are None where
      an ellipsis hides it. Four lists where a list of indices is given.

    Raises:
      AttributeError: the text is not that of an array.
      ValueError: indices do not fit the shape, or do not ascend.
    """
    if "tensor_metadata" not in formatted.annotations:
        raise AttributeError("tensor_metadata is not available in annotations.")
    is_batch = isinstance(indices[0], list)
    wanted = indices if is_batch else [indices]
    _check_indices(wanted, formatted.annotations["tensor_metadata"]["shape"])
    rows = sorted(row for row in formatted.annotations if isinstance(row, int))
    begins = [next(iter(formatted.annotations[row].values())) for row in rows]
    found = []
    for element in wanted:
        position = bisect.bisect_right(begins, list(element)) - 1
        row = rows[position]
        start, end = _columns_of(formatted.lines[row], element[-1] - begins[position][-1])
        found.append((OMITTED_INDICES_KEY in formatted.annotations[row], row, start, end))
    return tuple(map(list, zip(*found))) if is_batch else found[0]  # type: ignore[return-value]


def _check_indices(wanted: list[list[int]], shape: tuple[int, ...]) -> None:
    previous: list[int] = []
    for indices in wanted:
        if len(indices) != len(shape):
            raise ValueError("Dimensions mismatch: requested: %d; actual: %d" % (len(indices), len(shape)))
        if any(index >= size for index, size in zip(indices, shape)):
            raise ValueError("Indices exceed tensor dimensions.")
        if any(index < 0 for index in indices):
            raise ValueError("Indices contain negative value(s).")
        if indices < previous:
            raise ValueError("Input indices sets are not in ascending order.")
        previous = indices


def _columns_of(line: str, position: int) -> tuple[int, int] | tuple[None, None]:
    """The columns of the element at `position` in a line, unless it is behind an ellipsis."""
    shown = line.partition(_OMISSION)[0]
    for counted, match in enumerate(_ELEMENT.finditer(shown)):
        if counted == position:
            return match.span(1)
    return None, None


# ---- counts and moments ----


def numeric_summary(tensor: object) -> RichTextLines:
    """Tables of how many elements are NaN, infinite, negative, zero and positive, and of moments of the finite ones."""
    if not isinstance(tensor, np.ndarray) or not tensor.size:
        return RichTextLines(["No numeric summary available due to empty tensor."])
    if tensor.dtype == np.bool_:
        ones = int(np.sum(tensor))
        return _table([("False", tensor.size - ones), ("True", ones)], tensor.size)
    if not np.issubdtype(tensor.dtype, np.number):
        return RichTextLines(["No numeric summary available due to tensor dtype: %s." % tensor.dtype])
    if np.issubdtype(tensor.dtype, np.complexfloating):
        raise TypeError("A numeric summary of complex numbers would be ambiguous: they are neither negative nor positive.")
    finite = tensor[np.isfinite(tensor)]
    counts = [
        ("nan", np.sum(np.isnan(tensor))),
        ("-inf", np.sum(np.isneginf(tensor))),
        ("-", np.sum(finite < 0)),
        ("0", np.sum(finite == 0)),
        ("+", np.sum(finite > 0)),
        ("+inf", np.sum(np.isposinf(tensor))),
    ]
    text = _table(counts, tensor.size)
    if finite.size:
        with np.errstate(over="ignore", invalid="ignore"):
            moments = [("min", np.min(finite)), ("max", np.max(finite)), ("mean", np.mean(finite)), ("std", np.std(finite))]
        text.extend(_table(moments))
    return text


def _table(columns: list[tuple[str, Any]], total: int | None = None) -> RichTextLines:
    """Two lines, of names and of values; where a total is given, zeros are left out and the total stands at the end."""
    shown = [(name, str(value)) for name, value in columns if total is None or value]
    width = max((max(len(name), len(value)) + 1 for name, value in shown), default=0)
    cells = [(name.rjust(width), value.rjust(width)) for name, value in shown]
    cells.append((" |", " |"))
    if total is not None:
        value = str(total)
        width = max(len("total") + 1, len(value))
        cells.append(("total".rjust(width) + " |", value.rjust(width) + " |"))
    lines = [RichLine("|" + "".join(texts)) for texts in zip(*cells)]
    return rich_text_lines_from_rich_line_list(lines)
