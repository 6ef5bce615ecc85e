"""Rewrites a syntax tree so that it does what Python 2 did: expressions become calls of the names of `spelling`, at the same place."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from tfcompat._src.cli.python2 import spelling

LISTED = frozenset({"keys", "values", "items"})
"""Methods that gave lists."""
LOST = frozenset({
    "iteritems", "iterkeys", "itervalues", "viewitems", "viewkeys", "viewvalues", "has_key", "next", "im_func", "im_self", "im_class",
    "func_code", "func_defaults", "func_dict", "func_globals", "func_name", "func_doc", "message",
})  # fmt: skip
"""Attributes that Python 3 has under another name, or not at all."""
OF_TEXT = frozenset({
    "decode", "encode", "format", "split", "rsplit", "splitlines", "replace", "startswith", "endswith", "find", "rfind", "strip", "lstrip",
    "rstrip", "join", "partition", "rpartition", "lower", "upper", "title", "translate", "isdigit", "isalpha", "isalnum", "isspace", "zfill",
})  # fmt: skip
"""Methods of text, which Python 2 has for bytes too, or which do something else."""
CONVERSIONS = frozenset({"str", "bytes", "unicode"})
_ATTRIBUTES = LOST | OF_TEXT | {"sort"}
_ORDERS = {ast.Lt: spelling.LESS, ast.LtE: spelling.LESS_EQUAL, ast.Gt: spelling.GREATER, ast.GtE: spelling.GREATER_EQUAL}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def rewrite(tree: ast.Module, features: Collection[str]) -> ast.Module:
    """Rewrites a tree in place and returns it.

    Args:
      features: what the source imports from `__future__`.
    """
    Rewriting("division" in features).visit(tree)
    return ast.fix_missing_locations(tree)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class Rewriting(ast.NodeTransformer):
    """Visits every node of a module.

    Args:
      divides: `/` is true division, as the module says.
    """

    def __init__(self, divides: bool) -> None:
        self._divides = divides
        self._scope: ast.AST | None = None

    def visit(self, node: ast.AST) -> Any:
        result = super().visit(node)
        if isinstance(result, ast.AST) and result is not node and "lineno" in node._attributes and not hasattr(result, "lineno"):
            ast.copy_location(result, node)
        return result

    # Scopes

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._in_scope(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._in_scope(node)
        start = 1 if _is_docstring(node.body[0]) else 0
        node.body[start:start] = self._unpacking(node.args, node.body[0])
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._in_scope(node)
        for argument in node.args.args:
            pattern = spelling.pattern_of(argument.arg)
            if pattern is not None:
                given = ast.List([ast.Name(argument.arg, ast.Load())], ast.Load())
                bound = ast.ListComp(node.body, [ast.comprehension(pattern, given, [], 0)])
                node.body = ast.copy_location(ast.Subscript(bound, ast.Constant(0), ast.Load()), node.body)
        return node

    def _in_scope(self, node: Any) -> ast.AST:
        outer, self._scope = self._scope, node
        self.generic_visit(node)
        if not isinstance(node, ast.Lambda):
            _hoist_globals(node)
        self._scope = outer
        return node

    @staticmethod
    def _unpacking(arguments: ast.arguments, place: ast.stmt) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for argument in arguments.args:
            pattern = spelling.pattern_of(argument.arg)
            if pattern is not None:
                statements.append(ast.copy_location(ast.Assign([pattern], ast.Name(argument.arg, ast.Load())), place))
        return statements

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        for statement in node.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__metaclass__" and not node.keywords:
                node.keywords.append(ast.keyword("metaclass", statement.value))
        node.decorator_list.append(ast.copy_location(ast.Name(spelling.CLASS, ast.Load()), node))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Keeps the variable of an exception that is read behind the handler; unpacks one that is a tuple."""
        self.generic_visit(node)
        pattern, value = spelling.pattern_of(node.name), ast.Name(spelling.CAUGHT, ast.Load())
        if pattern is not None:
            value = ast.Attribute(value, "args", ast.Load())
        elif node.name and self._is_read_elsewhere(node):
            pattern = ast.Name(node.name, ast.Store())
        if pattern is not None:
            kept = ast.Assign([pattern], value)
            node.body.insert(0, ast.copy_location(kept, node))
            node.name = spelling.CAUGHT
        return node

    def _is_read_elsewhere(self, handler: ast.ExceptHandler) -> bool:
        inside = {id(each) for each in ast.walk(handler)}
        assert self._scope is not None  # noqa: S101
        return any(
            isinstance(each, ast.Name) and each.id == handler.name and isinstance(each.ctx, ast.Load) and id(each) not in inside
            for each in ast.walk(self._scope)
        )

    # Operators

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not self._divides and not self._is_float(node.left, node.right):
            return _call(spelling.DIVIDED, node.left, node.right)
        if isinstance(node.op, ast.Mod) and not isinstance(node.right, ast.Constant):
            return _call(spelling.FORMATTED, node.left, node.right)
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            return _call(spelling.FORMATTED, node.left, node.right)
        return node

    @staticmethod
    def _is_float(*operands: ast.expr) -> bool:
        """Whether an operand is a literal with a point, by which everything divides truly."""
        return any(isinstance(each, ast.Constant) and isinstance(each.value, (float, complex)) for each in operands)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`x /= y` becomes `x = divided_in_place(x, y)`, with the parts of x evaluated once."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or self._divides:
            return node
        target, before = _twice(node.target)
        return ast.Assign([target], _call(spelling.DIVIDED_IN_PLACE, before, node.value))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        kind, right = type(node.ops[0]), node.comparators[0]
        if kind in _ORDERS:
            return _call(_ORDERS[kind], node.left, right)
        if kind in (ast.Eq, ast.NotEq) and (_is_text(node.left) or _is_text(right)):
            equal = _call(spelling.EQUAL, node.left, right)
            return equal if kind is ast.Eq else ast.UnaryOp(ast.Not(), ast.copy_location(equal, node))
        return node

    # Attributes and calls

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in _ATTRIBUTES or not isinstance(node.ctx, ast.Load):
            return node
        return _call(spelling.ATTRIBUTE, node.value, ast.Constant(node.attr))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in LISTED and not node.args and not node.keywords:
            return _call(spelling.LISTED, node)
        if isinstance(function, ast.Name) and function.id == spelling.PRINT:
            return _printing(*node.args)
        if isinstance(function, ast.Name) and function.id in CONVERSIONS and node.args:
            node.args.insert(0, function)
            node.func = ast.copy_location(ast.Name(spelling.CALLED, ast.Load()), function)
        return node


def _printing(ends_line: ast.expr, file: ast.expr, *items: ast.expr) -> ast.expr:
    """`print` with its items, each of which is written before the next is computed: they are calls in calls."""
    for item in items:
        file = ast.copy_location(_call(spelling.PRINTED, file, item), item)
    return _call(spelling.PRINT, ends_line, file)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _is_text(node.value)


def _twice(target: ast.expr) -> tuple[ast.expr, ast.expr]:
    """A target, and an expression of its value before, which keeps what the target is made of."""
    if isinstance(target, ast.Attribute):
        owner = ast.NamedExpr(ast.Name(spelling.OWNER, ast.Store()), target.value)
        target.value = ast.Name(spelling.OWNER, ast.Load())
        return target, ast.Attribute(owner, target.attr, ast.Load())
    if isinstance(target, ast.Subscript):
        owner = ast.NamedExpr(ast.Name(spelling.OWNER, ast.Store()), target.value)
        index = ast.NamedExpr(ast.Name(spelling.PLACE, ast.Store()), _as_expression(target.slice))
        put = ast.Subscript(ast.Name(spelling.OWNER, ast.Load()), ast.Name(spelling.PLACE, ast.Load()), ast.Store())
        return put, ast.Subscript(owner, index, ast.Load())
    assert isinstance(target, ast.Name)  # noqa: S101
    return target, ast.Name(target.id, ast.Load())


def _as_expression(index: ast.expr) -> ast.expr:
    """An index as a value: its slices are made by `slice`."""
    if isinstance(index, ast.Slice):
        return _call(spelling.SLICE, *(bound or ast.Constant(None) for bound in (index.lower, index.upper, index.step)))
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_as_expression(each) for each in index.elts], ast.Load())
    return index


def _hoist_globals(scope: Any) -> None:
    """Declares global names before they are used; in a module, where that says nothing, not at all."""
    found: list[ast.Global] = []

    class Taking(ast.NodeTransformer):
        def visit_Global(self, node: ast.Global) -> ast.AST:
            found.append(node)
            return ast.copy_location(ast.Pass(), node)

        def _of_another_scope(self, node: ast.AST) -> ast.AST:
            return node

        visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _of_another_scope

    scope.body = [Taking().visit(statement) for statement in scope.body]
    if found and not isinstance(scope, ast.Module):
        start = 1 if _is_docstring(scope.body[0]) else 0
        names = list(dict.fromkeys(name for each in found for name in each.names))
        scope.body.insert(start, ast.copy_location(ast.Global(names), found[0]))
