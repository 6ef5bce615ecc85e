"""The arguments of a call in a source: their spans, and the separators and the tail that stay where arguments come and go."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import NamedTuple

from tfcompat._src.tools.compatibility.scanning import skip

Item = ast.expr | ast.keyword


class Arguments(NamedTuple):
    """Between the parentheses of a call: `head` before the first argument, the separators, and `tail` behind the last argument."""

    open: int
    spans: list[tuple[int, int]]
    head: str
    separators: list[str]
    tail: str


def read(text: str, opening: int, closing: int, bounds: list[tuple[int, int]]) -> Arguments:
    """Reads the text between the parentheses at `opening` and `closing`; `bounds` has the arguments with their own parentheses.

    Spaces behind an argument are its own unless they hold a comment.
    """
    spans, separators = [], []
    at = opening + 1
    first = skip(text, at)
    head, tail = text[at:first], ""
    for index, (start, end) in enumerate(bounds):
        comma = skip(text, end)
        own = comma if "#" not in text[end:comma] else end
        spans.append((start, own))
        if index + 1 < len(bounds):
            separators.append(text[own : bounds[index + 1][0]])
        else:
            tail = text[own:closing]
    return Arguments(opening, spans, head, separators, tail)


def write(arguments: Arguments, call: ast.Call, text_of: Callable[[ast.AST], str], before: str) -> str:
    """What follows the function of a call, for the arguments that it has now."""
    items = in_order(call)
    separators = [*arguments.separators, *[", "] * len(items)]
    pieces = [before, "(", arguments.head]
    for index, item in enumerate(items):
        pieces += [text_of(item), separators[index] if index + 1 < len(items) else ""]
    return "".join([*pieces, arguments.tail if items else "", ")"])


def in_order(call: ast.Call) -> list[Item]:
    """The arguments of a call as they are written: by position in the source; arguments without one stay where they are in the lists."""
    items: list[Item] = [*call.args, *call.keywords]
    return sorted(items, key=functools.cmp_to_key(_compare))


def _compare(a: Item, b: Item) -> int:
    if isinstance(b, ast.keyword) and not isinstance(a, (ast.keyword, ast.Starred)):
        return -1
    if isinstance(a, ast.keyword) and not isinstance(b, (ast.keyword, ast.Starred)):
        return 1
    first, second = _position(a), _position(b)
    if first is None or second is None:
        return 0
    return (first > second) - (first < second)


def _position(item: Item) -> tuple[int, int] | None:
    node = item.value if isinstance(item, ast.keyword) else item
    return (node.lineno, node.col_offset) if hasattr(node, "lineno") and hasattr(node, "col_offset") else None
