"""Screens of source files: the lines of one with what they made, and a table of all."""

from __future__ import annotations

from typing import Any

from tfcompat._src.debug import debug_graphs, source_utils
from tfcompat._src.debug.cli import cli_shared
from tfcompat._src.debug.cli.debugger_cli_common import (
    INIT_SCROLL_POS_KEY,
    MenuItem,
    RichLine,
    RichTextLines,
    rich_text_lines_from_rich_line_list,
)
from tfcompat._src.debug.dump_dir import DebugDumpDir

RL = RichLine
_MORE = 5
"""How many more elements of a line are shown when the mark of omitted ones is clicked."""
_HEADS = ("Source file path", "#(nodes)", "#(tensors)", "#(tensor dumps)")


def source_lines(dump: DebugDumpDir, made: dict[int, list[str]], parsed: Any) -> RichTextLines:
    """The lines of a file, each followed by what it made.

    Args:
      dump: the dump whose tensors can be printed.
      made: number of a line, from 1 -> names of nodes or tensors.
      parsed: the arguments of `print_source`.
    """
    lines, width = source_utils.load_source(parsed.source_file_path)
    shown: list[RL | str] = []
    scroll = 0
    for number, line in enumerate(lines, 1):
        if number == parsed.line_begin:
            scroll = len(shown)
        label = RL("L%d" % number, cli_shared.COLOR_YELLOW)
        shown.append(label + " " * (width - len(label)) + line)
        names = sorted(made.get(number, ()))
        for name in names[: parsed.max_elements_per_line]:
            is_dumped = dump.debug_watch_keys(debug_graphs.get_node_name(name))
            shown.append(RL("    ") + RL(name, MenuItem("", "pt %s" % name) if is_dumped else cli_shared.COLOR_BLUE))
        left = len(names) - parsed.max_elements_per_line
        if left > 0:
            kind = "tensor(s)" if parsed.tensors else "op(s)"
            link = "ps %s %s -b %d -m %d"
            more = link % (parsed.source_file_path, "-t" if parsed.tensors else "", number, parsed.max_elements_per_line + _MORE)
            shown.append(RL("    (... Omitted %d of %d %s ...) " % (left, len(names), kind)) + RL("+%d" % _MORE, MenuItem(None, more)))
    return rich_text_lines_from_rich_line_list(shown, annotations={INIT_SCROLL_POS_KEY: scroll})


def source_table(files: list[tuple[Any, ...]], is_library: bool) -> RichTextLines:
    """A table of files, as `list_source_files_against_dump` gives them, that are TensorFlow's or are not."""
    color = cli_shared.COLOR_GRAY if is_library else cli_shared.COLOR_WHITE
    title = "TensorFlow Python library file(s):" if is_library else "File(s) outside TensorFlow Python library:"
    lines: list[RL | str] = [RL(title, color)]
    if not files:
        return rich_text_lines_from_rich_line_list([*lines, "[No files.]", ""])
    rows = [(path, str(nodes), str(tensors), str(dumps)) for path, _, nodes, tensors, dumps, _ in files]
    widths = [max(len(cell) for cell in column) + 1 for column in zip(_HEADS, *rows)]
    widths[-1] = 0  # nothing follows the last column
    lines.append(_row(_HEADS, widths, color, color))
    for cells, file in zip(rows, files):
        path, first_line = file[0], file[-1]
        attributes: list[Any] = [color]
        if source_utils.is_extension_uncompiled_python_source(path):
            attributes.append(MenuItem(None, "ps %s -b %d" % (path, first_line)))
        lines.append(_row(cells, widths, attributes, color))
    return rich_text_lines_from_rich_line_list([*lines, ""])


def _row(cells: tuple[str, ...], widths: list[int], of_path: object, color: str) -> RichLine:
    line = RL(cells[0], of_path) + " " * (widths[0] - len(cells[0]))
    for cell, width in zip(cells[1:], widths[1:]):
        line += RL(cell.ljust(width), color)
    return line
