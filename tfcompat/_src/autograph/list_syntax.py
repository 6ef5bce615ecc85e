"""Lists that may be TensorLists: their methods as functions that give the changed list."""

from __future__ import annotations

import ast

from tfcompat._src.autograph.source import RUNTIME
from tfcompat._src.autograph.templates import expression, template


def _method_of_name(node: ast.AST, method: str) -> str | None:
    """The name `l` in a call `l.method(...)` without keywords."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return None
    return node.func.value.id if isinstance(node.func.value, ast.Name) else None


def _of_name(node: ast.AST, function: str) -> bool:
    """Whether a node is a call `function(name, ...)` or `module.function(name, ...)`."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called == function


class ListSyntax(ast.NodeTransformer):
    """Replaces what changes a list or a tensor in place, where `converts_lists` says so.

    Functions and classes inside of the function are left alone.
    """

    def __init__(self, converts_lists: bool) -> None:
        self._converts = converts_lists
        self._types: dict[str, str] = {}
        """The variables that hold the ElementTypes of lists."""

    def replace(self, node: ast.FunctionDef) -> None:
        """Changes the body of a function."""
        self._types = {}
        node.body = [each for statement in node.body for each in self._listed(self.visit(statement))]

    @staticmethod
    def _listed(made: ast.AST | list) -> list:
        return made if isinstance(made, list) else [made]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def _pop_options(self, name: str) -> str:
        """The text of what is known of the elements of a list."""
        return f"{RUNTIME}.ListPopOpts(*{self._types.get(name, (None, None))})"

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        target = node.targets[0]
        self.generic_visit(node)
        if not self._converts or len(node.targets) > 1:
            return node
        name = _method_of_name(node.value, "pop")
        if name is not None and not node.value.args:
            made = template(f"({name}, ag__popped) = {RUNTIME}.list_pop({name}, None, {self._pop_options(name)})", node)
            made[0].targets[0].elts[1] = target
            return made
        is_item = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and not isinstance(target.slice, ast.Slice)
        if is_item:
            name = target.value.id
            return template(f"{name} = {RUNTIME}.set_item({name}, ag__key, ag__value)", node, ag__key=target.slice, ag__value=node.value)
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if self._converts and isinstance(node.ctx, ast.Load) and not node.elts:
            return expression(f"{RUNTIME}.new_list()", node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        call = node.value
        name = _method_of_name(call, "append")
        if self._converts and name is not None and len(call.args) == 1:
            return template(f"{name} = {RUNTIME}.list_append({name}, ag__value)", node, ag__value=call.args[0])
        if self._converts and _of_name(call, "set_element_type"):
            name = call.args[0].id
            self._types[name] = f"ag__type_{name}"
            return template(f"{self._types[name]} = ag__call", node, ag__call=call)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._converts and _of_name(node, "stack") and len(node.args) == 1 and node.args[0].id in self._types:
            name = node.args[0].id
            return expression(f"{RUNTIME}.list_stack({name}, {RUNTIME}.ListStackOpts({self._types[name]}.dtype, ag__function))", node, ag__function=node.func)
        return node
