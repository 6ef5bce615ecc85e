"""Finds the programs below the given paths and parses them: Python files and notebooks."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tfcompat._src.cli.check import python2

_PASSED_OVER = {"__pycache__", "node_modules", "site-packages", "venv"}
_SUFFIXES = (".py", ".ipynb")
_MAGIC = re.compile(r"(\s*)(%{1,2}[a-zA-Z]|!|\?|[\w.]+\?+\s*$)")
_SHELL = re.compile(r"^(\s*[\w.]+\s*=\s*)(%[a-zA-Z]|!).*")
_DETAILS = re.compile(r"\. (Did you mean|Perhaps).*| \((detected at line|<).*")
_CELLS_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; of a notebook, a line of a cell (both counted from 1)."""

    path: str
    cell: int | None
    line: int

    @property
    def source(self) -> str:
        """The file, or the cell of a notebook."""
        return self.path if self.cell is None else f"{self.path}[{self.cell}]"


@dataclass(frozen=True)
class Problem:
    """Source that Python 3 does not compile: `is_python2` where the rewriting of Python 2's statements makes it readable."""

    place: Place
    text: str
    is_python2: bool


@dataclass
class Source:
    """A parsed file: the statements that could be read, and what could not."""

    path: str
    tree: ast.Module
    starts: list[tuple[int, int]]
    """First line in the tree and number of each cell of a notebook; [] for a file."""
    problems: list[Problem] = field(default_factory=list)

    def place(self, line: int) -> Place:
        for start, cell in reversed(self.starts):
            if line >= start:
                return Place(self.path, cell, line - start + 1)
        return Place(self.path, None, line)


def programs(paths: Iterable[str]) -> Iterator[str]:
    """The files to read: those that are named, and those below the folders that are named.

    Raises:
      OSError: a path does not exist.
    """
    for path in paths:
        if not os.path.isdir(path):
            with open(path, "rb"):
                yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in _PASSED_OVER and not name.startswith(".") and not _is_environment(folder, name))
            yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(_SUFFIXES) and not name.startswith("."))


def _is_environment(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))


def read(path: str) -> Source:
    """Parses a file. What cannot be parsed is among the problems of the result."""
    source = Source(path, ast.Module([], []), [])
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".ipynb"):
        start = 1
        for cell, text in _cells(source, data):
            source.starts.append((start, cell))
            _parse(source, text, start)
            start += text.count("\n") + 1
    else:
        try:
            text = data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
        except (SyntaxError, UnicodeDecodeError):
            text = data.decode("latin-1")
        _parse(source, text, 1)
    return source


def _cells(source: Source, data: bytes) -> Iterator[tuple[int, str]]:
    """The number and the text of each cell of Python in a notebook, without the commands of IPython."""
    try:
        book = json.loads(data)
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        texts = [(cell["cell_type"], cell.get("source", cell.get("input", ""))) for cell in cells]
    except (ValueError, KeyError, TypeError):
        source.problems.append(Problem(Place(source.path, None, 1), "this is not a notebook", False))
        return
    for number, (kind, text) in enumerate(texts, 1):
        text = text if isinstance(text, str) else "".join(text)
        if kind == "code" and (not text.startswith("%%") or text.startswith(_CELLS_OF_PYTHON)):
            yield number, "\n".join(_without_magic(line) for line in text.split("\n"))


def _without_magic(line: str) -> str:
    match = _MAGIC.match(line)
    return match[1] + "pass" if match else _SHELL.sub(r"\1None", line)


def _parse(source: Source, text: str, start: int) -> None:
    """Adds the statements of a text to those of a source, their lines counted from `start`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError) as e:
        readable = python2.readable(text)
        line = getattr(e, "lineno", None) or 1
        problem = Problem(source.place(start + line - 1), _DETAILS.sub("", str(getattr(e, "msg", e))), readable is not None)
        source.problems.append(problem)
        if readable is None:
            return
        tree = readable
    source.tree.body += ast.increment_lineno(tree, start - 1).body


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
