"""Floats as indices of arrays and as sizes: NumPy before 1.12, which programs of that time had, took their whole part.

Where the index of `x[index]` may be a float, the program's sources are compiled as `x[whole(x, index)]`. What is no array, such as a list, refuses
floats as it did.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy import sources
from tfcompat._src.cli.python2 import names, spelling

_FLOATS = (float, np.floating)
_SHAPED = {np: ("zeros", "ones", "empty", "eye", "identity"), np.random: ("rand", "randn")}
"""Module -> its functions whose first arguments are sizes."""


def _number(value: Any) -> Any:
    """An index, or a part of one, without floats."""
    if isinstance(value, _FLOATS):
        return int(value)
    if type(value) is slice:
        return slice(_number(value.start), _number(value.stop), _number(value.step))
    if type(value) is tuple:
        return tuple(map(_number, value))
    return list(map(_number, value)) if type(value) is list else value


def whole(values: Any, index: Any) -> Any:
    """The index of a value: of an array, one without floats."""
    return _number(index) if type(index) is not int and isinstance(values, np.ndarray) else index


def item(values: Any, index: Any) -> Any:
    """`values[index]`."""
    return values[whole(values, index)]


def _with_whole_sizes(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*sizes: Any, **named: Any) -> Any:
        return function(*map(_number, sizes), **named)

    return wrapped


def _may_be_float(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Slice):
        return any(map(_may_be_float, (node.lower, node.upper, node.step)))
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(map(_may_be_float, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _may_be_float(node.operand)
    return isinstance(node, (ast.Name, ast.Attribute, ast.BinOp, ast.Call, ast.Subscript, ast.IfExp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, float)
    )


def _as_value(index: ast.expr) -> ast.expr:
    """An index as an expression: its slices are calls."""
    if isinstance(index, ast.Slice):
        return _call(spelling.SLICE, *(bound or ast.Constant(None) for bound in (index.lower, index.upper, index.step)))
    return ast.Tuple([_as_value(each) for each in index.elts], ast.Load()) if isinstance(index, ast.Tuple) else index


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class _Rewriting(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not _may_be_float(node.slice):
            return node
        if isinstance(node.ctx, ast.Load):
            made: ast.expr = _call(spelling.ITEM, node.value, _as_value(node.slice))
            return ast.fix_missing_locations(ast.copy_location(made, node))
        owner = node.value
        if not isinstance(owner, ast.Name):
            node.value = ast.NamedExpr(ast.Name(spelling.INDEXED, ast.Store()), owner)
            owner = ast.Name(spelling.INDEXED, ast.Load())
        node.slice = _call(spelling.WHOLE, ast.Name(owner.id, ast.Load()), _as_value(node.slice))
        return ast.fix_missing_locations(node)


def rewrite(tree: ast.Module, path: str) -> None:
    """Rewrites the indices of a file of the program in place."""
    _Rewriting().visit(tree)


@functools.cache
def install() -> None:
    """Lets this process compile such sources, and gives NumPy's functions of sizes floats."""
    for space in (builtins, names.BUILTIN):
        vars(space).update({spelling.ITEM: item, spelling.WHOLE: whole, spelling.SLICE: slice})
    sources.rewritings.append(rewrite)
    for module, functions in _SHAPED.items():
        for name in functions:
            setattr(module, name, _with_whole_sizes(getattr(module, name)))
