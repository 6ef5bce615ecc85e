"""Tables of text that fit a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

_GAP = 2
_LEAST = 8


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints rows under a header; columns of numbers lie at the right.

    On a terminal, the widest columns are shortened in the middle until a row fits; elsewhere everything is printed.

    Args:
      header: a title per column.
      rows: a cell per column; an int is printed with commas.
    """
    given = [list(row) for row in rows]
    is_number = [bool(given) and all(isinstance(row[i], int) for row in given) for i in range(len(header))]
    cells = [list(header), *([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in given)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - _GAP * (len(header) - 1)
        while sum(widths) > room and max(widths) > _LEAST:
            widths[widths.index(max(widths))] -= 1
    for row in cells:
        parts = [text.rjust(n) if right else text.ljust(n) for text, n, right in zip(map(shortened, row, widths), widths, is_number)]
        print((" " * _GAP).join(parts).rstrip())


def shortened(text: str, width: int) -> str:
    """A text of at most `width` characters, whose beginning and end are those of the text."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def size(number: int) -> str:
    """Bytes as a person reads them: "14.2 KB"."""
    value, units = float(number), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
