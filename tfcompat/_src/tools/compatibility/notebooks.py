"""Upgrades the Python cells of a Jupyter notebook as one program."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tfcompat._src.platform import temporary_files
from tfcompat._src.tools.compatibility.upgrader import ASTCodeUpgrader, Outcome

_MAGIC = "###!!!"
"""Before a line that is none of Python's, so that it is a comment."""
_NEWLINE = "###==="
"""In the place of a newline that is part of a line."""


class CodeLine(NamedTuple):
    """A line of a notebook's program, and the number of its cell among those with code."""

    cell_number: int
    code: str


def is_python(cell: dict[str, Any]) -> bool:
    """Whether a cell holds Python code."""
    return cell["cell_type"] == "code" and bool(cell["source"]) and not cell["source"][0].startswith("%%")


def skip_magic(code_line: str, magic_list: list[str]) -> bool:
    """Whether a line begins with one of the signs of commands that are none of Python's."""
    return code_line.startswith(tuple(magic_list))


def check_line_split(code_line: str) -> bool:
    """Whether a line goes on in the next one."""
    return code_line.endswith("\n") and code_line.rstrip().endswith("\\")


def process_file(in_filename: str, out_filename: str, upgrader: ASTCodeUpgrader) -> Outcome:
    """Upgrades a notebook into another file, or in place."""
    print("Extracting code lines from original notebook")
    with open(in_filename, encoding="utf-8") as file:
        notebook = json.load(file)
    lines = [line for number, cell in enumerate(_cells(notebook)) for line in _code(number, cell["source"])]
    processed, text, log, attention = upgrader.update_string_pasta("\n".join(line.code for line in lines), in_filename)
    if not processed:
        raise SyntaxError("Was not able to process the file: \n{}\n".format("".join(log)))
    _update(notebook, lines, text.split("\n"))
    temporary_files.write_whole(out_filename, json.dumps(notebook).encode())
    return processed, upgrader.report(log, in_filename, out_filename), attention


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if is_python(cell)]


def _code(number: int, source: list[str]) -> list[CodeLine]:
    lines = []
    goes_on = False
    for index, line in enumerate(source):
        foreign = goes_on or skip_magic(line, ["%", "!", "?"])
        goes_on = foreign and check_line_split(line)
        if index + 1 == len(source) and line.endswith("\n"):
            line = line.replace("\n", _NEWLINE)
        lines.append(CodeLine(number, (_MAGIC * foreign + line).rstrip().replace("\n", _NEWLINE)))
    return lines


def _update(notebook: dict[str, Any], lines: list[CodeLine], updated: list[str]) -> None:
    """Puts the new lines where the old ones were; the number of lines must be the same."""
    if len(lines) != len(updated):
        raise ValueError(f"The lengths of input and converted files are not the same: {len(lines)} vs {len(updated)}")
    for number, cell in enumerate(_cells(notebook)):
        new = "\n".join(text for line, text in zip(lines, updated) if line.cell_number == number)
        cell["source"] = new.replace(_MAGIC, "").replace(_NEWLINE, "\n")
