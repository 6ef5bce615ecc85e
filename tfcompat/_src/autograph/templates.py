"""Syntax trees from text."""

from __future__ import annotations

import ast


def template(text: str, like: ast.AST, **parts: ast.AST) -> list[ast.stmt]:
    """Statements from text, at the place of another node; names that stand in `parts` are replaced."""
    made = ast.parse(text)
    for node in ast.walk(made):
        if hasattr(node, "lineno"):
            node.lineno, node.col_offset = like.lineno, like.col_offset
            node.end_lineno, node.end_col_offset = like.end_lineno, like.end_col_offset
    return _Substitution(parts).visit(made).body


class _Substitution(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.AST]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._parts.get(node.id, node)


def expression(text: str, like: ast.AST, **parts: ast.AST) -> ast.expr:
    return template(text, like, **parts)[0].value
