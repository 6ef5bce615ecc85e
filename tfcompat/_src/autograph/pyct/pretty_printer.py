"""`tensorflow.python.autograph.pyct.pretty_printer`: a syntax tree as indented text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

_COLORS = {"bold": "1", "dark": "2", "blue": "34", "magenta": "35", "red": "31"}


def _painter(color: bool) -> Any:
    return (lambda text, how: f"\033[{_COLORS[how]}m{text}\033[0m") if color else (lambda text, how: text)


def fmt(node: object, color: bool = True, noanno: bool = False) -> str:
    """The text of a node, or of a list of nodes: a line for each field.

    Args:
      node: the node or nodes.
      color: whether the text is colored for a terminal.
      noanno: whether notes are left out.
    """
    nodes = node if isinstance(node, (list, tuple)) else [node]
    return "".join(line + "\n" for each in nodes for line in _node_lines(each, "", 0, _painter(color), noanno))


def _node_lines(node: Any, name: str, level: int, paint: Any, noanno: bool) -> Iterator[str]:
    margin, label = paint("| " * level, "dark") if level else "", f"{paint(name, 'blue')}=" if name else ""
    if not isinstance(node, ast.AST):
        yield f'{margin}{label}"{node}"' if isinstance(node, str) else f"{margin}{label}{node}"
        return
    yield f"{margin}{label}{paint(type(node).__name__, 'bold')}{':' if node._fields else '()'}"
    for field in node._fields:
        if not (noanno and field.startswith("__")):
            yield from _field_lines(node, field, level + 1, paint, noanno)


def _field_lines(node: ast.AST, field: str, level: int, paint: Any, noanno: bool) -> Iterator[str]:
    margin, label = paint("| " * level, "dark"), f"{paint(field, 'blue')}="
    if not hasattr(node, field):
        yield margin + paint(f"{field}=<unset>", "red")
        return
    value = getattr(node, field)
    if isinstance(value, ast.AST):
        yield from _node_lines(value, field, level, paint, noanno)
    elif isinstance(value, (list, tuple)):
        begin, end = "[]" if isinstance(value, list) else "()"
        if not value:
            yield margin + label + begin + end
            return
        yield margin + label + begin
        for each in value:
            yield from _node_lines(each, "", level + 1, paint, noanno)
        yield margin + end
    else:
        text = f'b"{value!r}"' if isinstance(value, bytes) else f'u"{value}"' if isinstance(value, str) else value
        yield margin + label + paint(f"{text}", "magenta")
