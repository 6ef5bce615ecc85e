"""Compiles sources of TensorFlow before 1.0: the operands of `%`, `//` and Python 2's `/` are marked, which round tensors in another way, and
`re.split` and its like pass over empty matches, as in the Pythons that had that TensorFlow.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from tfcompat._src.cli.legacy import sources
from tfcompat._src.cli.python2 import float_indices, regular_expressions
from tfcompat._src.cli.python2 import names as python2_names
from tfcompat._src.cli.tf0.operations import Operand
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.variable import Variable

OPERAND, RE = "__operand_by_tfcompat__", "__re_by_tfcompat__"
_ROUNDING = (ast.Mod, ast.FloorDiv, ast.Div)


def operand(value: Any) -> Any:
    """A value of a program as an operand of an operator that rounds."""
    return Operand(value) if isinstance(value, (Tensor, Variable)) else value


def module_re(module: Any) -> Any:
    """What a program's `re` is."""
    return regular_expressions.MODULE if module is re else module


class _Rewriting(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, (str, bytes))
        if isinstance(node.op, _ROUNDING) and not is_text:
            node.left, node.right = (_marked(each) for each in (node.left, node.right))
        return node


    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "re" and node.attr in regular_expressions.NAMES:
            node.value = _marked(node.value, RE)
        return node


def _marked(node: ast.expr, name: str = OPERAND) -> ast.expr:
    if isinstance(node, ast.Constant):
        return node
    return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node], []), node))


def rewrite(tree: ast.Module, path: str) -> None:
    """Rewrites the tree of a file of the program in place."""
    _Rewriting().visit(tree)


def install() -> None:
    """Lets this process compile such sources."""
    for names in (builtins, python2_names.BUILTIN):
        setattr(names, OPERAND, operand)
        setattr(names, RE, module_re)
    sources.rewritings.append(rewrite)
    float_indices.install()
