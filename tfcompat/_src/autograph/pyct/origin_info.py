"""`tensorflow.python.autograph.pyct.origin_info`: where the nodes of a tree stood in the user's source."""

from __future__ import annotations

import ast
import inspect
import io
import os
import tokenize
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import anno, ast_util, parser


class LineLocation(NamedTuple):
    """A line of a file, numbered from 1."""

    filename: str
    lineno: int


class Location(NamedTuple):
    """A place in a file: a line, numbered from 1, and a column, from 0."""

    filename: str
    lineno: int
    col_offset: int

    @property
    def line_loc(self) -> LineLocation:
        """The line."""
        return LineLocation(self.filename, self.lineno)


class OriginInfo(NamedTuple):
    """Where a node stood, in which function, and the line with its comment."""

    loc: Location
    function_name: str | None
    source_code_line: str
    comment: str | None

    def as_frame(self) -> tuple[str, int, str | None, str]:
        """A row of `traceback.extract_tb`."""
        return self.loc.filename, self.loc.lineno, self.function_name, self.source_code_line

    def __repr__(self) -> str:
        file = os.path.basename(self.loc.filename) if self.loc.filename else "<no file>"
        return f"{file}:{self.loc.lineno}:{self.loc.col_offset}"


def create_source_map(nodes: object, code: str, filepath: str) -> dict[LineLocation, OriginInfo]:
    """The lines of generated code, each with the origin of what stands first in it.

    Args:
      nodes: the nodes that the code was made of, with notes of their origins.
      code: the generated code.
      filepath: the name of its file.

    Raises:
      ValueError: the code is not that of the nodes.
    """
    again = parser.parse_str(code, single_node=False)
    for node in again:
        resolve(node, code, filepath, node.lineno, node.col_offset)
    found: dict[LineLocation, OriginInfo] = {}
    for before, after in ast_util.parallel_walk(nodes, again):
        origin, place = (anno.getanno(each, anno.Basic.ORIGIN, default=None) if each is not None else None for each in (before, after))
        if origin is None or place is None:
            continue
        known = found.get(place.loc.line_loc)
        if known is None or (known.loc.line_loc != origin.loc.line_loc and known.loc.col_offset > origin.loc.col_offset):
            found[place.loc.line_loc] = origin
    return found


def _comments(source: str) -> dict[int, str]:
    """The comments of text by the numbers of their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {each.start[0]: each.string.strip()[1:].strip() for each in tokens if each.type == tokenize.COMMENT}


def _with_functions(node: ast.AST, function: str | None = None) -> Iterator[tuple[ast.AST, str | None]]:
    """The nodes of a tree, each with the name of the function that it stands in; a function stands in itself."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function = node.name
    yield node, function
    for child in ast.iter_child_nodes(node):
        yield from _with_functions(child, function)


def resolve(node: Any, source: str, context_filepath: str, context_lineno: int, context_col_offset: int) -> None:
    """Notes on the nodes of a tree where they stood.

    Args:
      node: the tree.
      source: the text that it was parsed from.
      context_filepath: the file that this text is part of.
      context_lineno, context_col_offset: where it begins there.
    """
    lines, comments = source.split("\n"), _comments(source)
    first = node.decorator_list[0] if getattr(node, "decorator_list", None) else node
    down, right = context_lineno - first.lineno, context_col_offset - node.col_offset
    for each, function in _with_functions(node):
        line = getattr(each, "lineno", None)
        if line is not None:
            place = Location(context_filepath, line + down, each.col_offset + right)  # type: ignore[attr-defined]  # it has a line
            anno.setanno(each, "lineno", line)
            anno.setanno(each, anno.Basic.ORIGIN, OriginInfo(place, function, lines[line - 1], comments.get(line)))


def resolve_entity(node: Any, source: str, entity: Any) -> None:
    """Notes on the nodes of the tree of a function or class, which was parsed from `source`, where they stood in its file."""
    lines, first = inspect.getsourcelines(entity)
    resolve(node, source, inspect.getsourcefile(entity) or "", first, len(lines[0]) - len(lines[0].lstrip()))
