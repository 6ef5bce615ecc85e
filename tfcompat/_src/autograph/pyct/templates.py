"""`tensorflow.python.autograph.pyct.templates`: syntax trees from text in which names stand for other trees."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from tfcompat._src.autograph.pyct import anno, ast_util, parser, qual_names

_KEPT = (anno.Basic.ORIGIN, anno.Basic.SKIP_PROCESSING, anno.Static.ORIG_DEFINITIONS, "extra_test", "function_context_name")
"""Notes that trees keep when they take the place of a name."""

_OWN_CONTEXTS = (ast.Dict, ast.Lambda, ast.comprehension)


def _set_contexts(node: ast.AST, kind: type[ast.expr_context] | None) -> None:
    """Gives a tree the context of the name whose place it takes; what only leads to a value is loaded, and arguments stay as they are."""
    if hasattr(node, "ctx") and kind is not None:
        node.ctx = kind()
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        kind = ast.Load
    elif isinstance(node, (ast.Call, *_OWN_CONTEXTS)):
        kind = None
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr_context):
            _set_contexts(child, kind)


class _Replacer(ast.NodeTransformer):
    """Puts trees in the place of names."""

    def __init__(self, replacements: dict[str, Any]) -> None:
        self._replacements = replacements

    def _copies(self, key: str) -> list[Any]:
        copies = ast_util.copy_clean(self._replacements[key], preserve_annos=_KEPT)
        return [copies] if isinstance(copies, ast.AST) else list(copies)

    def visit_Expr(self, node: ast.Expr) -> Any:
        value = self.visit(node.value)
        return node if value is node.value else value

    def visit_keyword(self, node: ast.keyword) -> Any:
        if node.arg not in self._replacements:
            return self.generic_visit(node)
        found = self._copies(node.arg)
        if not found or not all(isinstance(each, ast.keyword) for each in found):
            raise ValueError(
                "a keyword argument may only be replaced by another keyword or a non-empty list of keywords. Found: "
                f"{found} for keyword {node.arg}"
            )
        return found

    def _name_for(self, key: str, what: str) -> str:
        found = self._replacements[key]
        if not isinstance(found, ast.Name):
            raise ValueError(f"{what} can only be replaced by a Name node. Found: {found}")
        return found.id

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        if node.name in self._replacements:
            node.name = self._name_for(node.name, "a function name")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if node.attr in self._replacements:
            node.attr = self._name_for(node.attr, "An attribute")
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        if node.arg not in self._replacements:
            return self.generic_visit(node)
        return [each if isinstance(each, ast.arg) else ast.arg(each.id) for each in self._copies(node.arg)]

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self._replacements:
            return node
        found = self._copies(node.id)
        for each in found:
            if hasattr(each, "ctx"):
                _set_contexts(each, type(node.ctx))
        return found[0] if len(found) == 1 else found


def _as_tree(value: object) -> Any:
    if isinstance(value, str):
        return ast.Name(value, ast.Load())
    if isinstance(value, qual_names.QN):
        return value.ast()
    return type(value)(map(_as_tree, value)) if isinstance(value, (list, tuple)) else value


def replace(template: str, **replacements: object) -> list[Any]:
    """The statements of a template with other trees in the place of names.

    Args:
      template: text.
      **replacements: by name: a tree, a list of trees, a QN, or the text of another name.

    Raises:
      ValueError: the template is no text, or a name stands where such a tree cannot.
    """
    if not isinstance(template, str):
        raise ValueError(f"Expected string template, got {type(template)}")
    trees = {name: _as_tree(value) for name, value in replacements.items()}
    text = parser.STANDARD_PREAMBLE + textwrap.dedent(template)
    results: list[Any] = []
    for node in parser.parse_str(text, parser.STANDARD_PREAMBLE_LEN, single_node=False):
        found = _Replacer(trees).visit(node)
        results += found if isinstance(found, (list, tuple)) else [found]
    return [qual_names.resolve(each) for each in results]


def replace_as_expression(template: str, **replacements: object) -> Any:
    """The expression that a template is; arguments as for `replace`; ValueError where it is something else."""
    found = replace(template, **replacements)
    if len(found) != 1:
        raise ValueError("single expression expected; for more general templates use replace")
    (node,) = found
    if isinstance(node, ast.Expr):
        return node.value
    if isinstance(node, ast.expr):
        return node
    raise ValueError(f"the template is expected to generate an expression or a name node; instead found {node}")
