"""The syntax tree of a function with calls of `operators` in place of its control flow."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from typing import Any

from tfcompat._src.autograph import jumps, symbols
from tfcompat._src.autograph.list_syntax import ListSyntax
from tfcompat._src.autograph.options import Feature
from tfcompat._src.autograph.source import RUNTIME, FunctionNode
from tfcompat._src.autograph.templates import expression, template

DIRECT_CALLS = frozenset(("dir", "eval", "exec", "globals", "locals", "super", "vars"))
"""Built-in functions that look at the frame of the caller."""
GIVE_BOOL = frozenset(("callable", "hasattr", "isinstance", "issubclass"))
_STATEMENTS = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Call, ast.Not, ast.Assert, ast.Eq, ast.NotEq, ast.List, ast.Subscript)


def gives_bool(node: ast.expr) -> bool:
    """Whether an expression gives a Python bool whatever the values in it are."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in GIVE_BOOL
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and gives_bool(node.operand)
    return isinstance(node, ast.BoolOp) and all(map(gives_bool, node.values))


def _has(node: ast.AST, *kinds: type) -> bool:
    return any(isinstance(each, kinds) for each in ast.walk(node))


def may_change(node: FunctionNode) -> bool:
    """Whether there is anything in a function that a conversion could change."""
    return _has(node, *_STATEMENTS)


class _Scope:
    """A function that is being converted."""

    def __init__(self, node: FunctionNode, numbers: object) -> None:
        self.parameters = symbols.parameters(node.args)
        self.numbers = numbers
        body = node.body if isinstance(node.body, list) else []
        self.globals, self.nonlocals = symbols.declared(body, ast.Global), symbols.declared(body, ast.Nonlocal)
        own = symbols._own_nodes(body)
        deleted = {each.id for each in own if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Del)}
        self.always_there = set(self.parameters) - deleted
        self.liveness: symbols.Liveness | None = None

    def declarations(self, names: Iterable[str]) -> str:
        """The statement that lets a function inside of this one bind names of it."""
        names = [name for name in names if "." not in name and "[" not in name]
        parts = [("global", [n for n in names if n in self.globals]), ("nonlocal", [n for n in names if n not in self.globals])]
        return "\n".join(f"  {kind} {', '.join(found)}" for kind, found in parts if found)


class Converter(ast.NodeTransformer):
    """Converts one function, with the functions inside of it.

    Args:
      uses: says which Features are used.
    """

    def __init__(self, uses: Any) -> None:
        self._uses = uses
        self._lists = ListSyntax(uses(Feature.LISTS))
        self._numbers = itertools.count(1)
        self._scopes: list[_Scope] = []

    def convert(self, node: FunctionNode) -> FunctionNode:
        """The converted function, without decorators, annotations and default values."""
        arguments = node.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if each is not None:
                each.annotation = None
        arguments.defaults = [ast.copy_location(jumps.constant(None), default) for default in arguments.defaults]
        arguments.kw_defaults = [default and ast.copy_location(jumps.constant(None), default) for default in arguments.kw_defaults]
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            return self._function(node)
        return self._lambda(node)

    # ---- functions ----

    def _function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        scope = _Scope(node, self._numbers)
        self._scopes.append(scope)
        no_result, result = expression(f"{RUNTIME}.NO_RESULT", node), expression(f"{RUNTIME}.retval({jumps.RESULT})", node)
        self._lists.replace(node)
        body = [_WithoutDeclarations(scope).visit(each) for each in node.body]
        body = jumps.without_jumps(body, no_result, result)
        scope.liveness = symbols.Liveness(body, scope.globals | scope.nonlocals)
        own = [name for name in symbols.bound(body) if name not in scope.parameters and name not in scope.globals | scope.nonlocals]
        head = f"if False: {' = '.join(own)} = None" if own else ""
        kinds = (("global", scope.globals), ("nonlocal", scope.nonlocals))
        text = "\n".join([*(f"{kind} {', '.join(sorted(names))}" for kind, names in kinds if names), head])
        node.body = [*(template(text, node) if text else []), *self._block(body)]
        self._scopes.pop()
        return node

    def _lambda(self, node: ast.Lambda) -> ast.Lambda:
        self._scopes.append(_Scope(node, self._numbers))
        node.body = self.visit(node.body)
        self._scopes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args = self._outside(node.args)
        own = symbols._own_nodes(node.body)
        if any(isinstance(each, (ast.Yield, ast.YieldFrom, ast.Await)) for each in own):
            return node
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self._outside(node.args)
        return self._lambda(node)

    def _outside(self, arguments: ast.arguments) -> ast.arguments:
        arguments.defaults = [self.visit(default) for default in arguments.defaults]
        arguments.kw_defaults = [default and self.visit(default) for default in arguments.kw_defaults]
        return arguments

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    # ---- statements ----

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for each in statements:
            made = self.visit(each)
            found += made if isinstance(made, list) else [made]
        return found

    def _closure(self, kind: str, arguments: str, names: Iterable[str], body: list[ast.stmt], like: ast.AST) -> tuple[str, ast.stmt]:
        """A function inside of the user's one, and its name."""
        label = f"ag__{kind}_{next(self._numbers)}"
        made = template(f"def {label}({arguments}):\n{self._scopes[-1].declarations(names)}\n  pass", like)[0]
        made.body = [*made.body[:-1], *(body or made.body[-1:])]
        return label, made

    def _state(self, names: list[str], like: ast.AST) -> tuple[str, list[ast.stmt]]:
        """Functions that read and write what a statement changes, and the text of the arguments that name them."""
        scope = self._scopes[-1]
        maybe = [n for n in names if n.isidentifier() and n not in scope.always_there]
        reads = [f"{RUNTIME}.value(lambda: {n}, {n!r})" if n in maybe else n for n in names]
        get = template(f"return ({''.join(read + ', ' for read in reads)})", like)
        text = [f"({''.join(n + ', ' for n in names)}) = ag__state"] if names else []
        text += [f"if {RUNTIME}.is_undefined({n}): del {n}" for n in maybe]
        get_label, get_function = self._closure("get_state", "", (), get, like)
        set_label, set_function = self._closure("set_state", "ag__state", names, template("\n".join(text), like), like)
        return f"{get_label}, {set_label}, {tuple(names)!r}", [get_function, set_function]

    def visit_If(self, node: ast.If) -> Any:
        if gives_bool(node.test):
            return self.generic_visit(node)
        bound, composites = symbols.bound([*node.body, *node.orelse]), symbols.composites([*node.body, *node.orelse])
        after = self._scopes[-1].liveness.after[node]
        needed = [n for n in bound if n in after]
        rest = [n for n in bound if n not in after]
        test = self.visit(node.test)
        body, body_function = self._closure("if_body", "", bound, self._block(node.body), node)
        orelse, orelse_function = self._closure("if_orelse", "", bound, self._block(node.orelse), node)
        state, state_functions = self._state([*needed, *composites, *rest], node)
        call = f"{RUNTIME}.if_stmt(ag__test, {body}, {orelse}, {state}, {len(needed) + len(composites)})"
        return [body_function, orelse_function, *state_functions, *template(call, node.test, ag__test=test)]

    def visit_While(self, node: ast.While) -> Any:
        bound = symbols.bound([*node.body, node.test])
        test = self._stopped(node, node.test)
        loop, functions = self._loop(node, bound, node.body)
        body = self._block(node.body)
        answer = ast.copy_location(ast.Return(value=self.visit(test)), node.test)
        test_label, test_function = self._closure("while_test", "", bound, [answer], node.test)
        body_label, body_function = self._closure("while_body", "", bound, body, node)
        call = f"{RUNTIME}.while_stmt({test_label}, {body_label}, {loop})"
        return [test_function, body_function, *functions, *template(call, node.test)]

    def visit_For(self, node: ast.For) -> Any:
        assign = ast.copy_location(ast.Assign(targets=[node.target], value=expression("ag__item", node.target)), node.target)
        bound = symbols.bound([assign, *node.body])
        stop = self._stopped(node, None)
        loop, functions = self._loop(node, bound, [assign, *node.body])
        body = self._block([assign, *node.body])
        iterated = self.visit(node.iter)
        goes_on = "None"
        if stop is not None:
            goes_on, function = self._closure("for_test", "", (), [ast.copy_location(ast.Return(value=self.visit(stop)), node)], node)
            functions.append(function)
        body_label, body_function = self._closure("for_body", "ag__item", bound, body, node)
        call = f"{RUNTIME}.for_stmt(ag__iterated, {goes_on}, {body_label}, {loop})"
        return [body_function, *functions, *template(call, node.iter, ag__iterated=iterated)]

    def _stopped(self, node: ast.For | ast.While, test: ast.expr | None) -> ast.expr | None:
        """The condition of a loop with the flags that end it."""
        if not node.stops:
            return test
        flags = jumps.unless(node.stops)
        found = flags if test is None else ast.BoolOp(op=ast.And(), values=[flags, test])
        return ast.fix_missing_locations(ast.copy_location(found, node))

    def _loop(self, node: ast.For | ast.While, bound: dict[str, None], body: list[ast.stmt]) -> tuple[str, list[ast.stmt]]:
        around = self._scopes[-1].liveness.around[node]
        composites = symbols.composites(body)
        variables = [n for n in bound if n in around]
        rest = [n for n in bound if n not in around]
        state, functions = self._state([*variables, *composites, *rest], node)
        return f"{state}, {len(variables) + len(composites)}", functions

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        if not self._uses(Feature.ASSERT_STATEMENTS):
            return node
        message = node.msg or ast.copy_location(jumps.constant("Assertion error"), node)
        return template(f"{RUNTIME}.assert_stmt(ag__test, lambda: ag__message)", node, ag__test=node.test, ag__message=message)

    # ---- expressions ----

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == RUNTIME:
            return self.generic_visit(node)
        self.generic_visit(node)
        scope = self._scopes[-1]
        if isinstance(node.func, ast.Name) and node.func.id in DIRECT_CALLS:
            if node.func.id == "super" and not node.args and scope.parameters:
                node.args = [expression("__class__", node), expression(scope.parameters[0], node)]
            return node
        node.func = expression(f"{RUNTIME}.call(ag__function)", node.func, ag__function=node.func)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if gives_bool(node.test) or _has(node, ast.NamedExpr):
            return node
        text = f"{RUNTIME}.if_exp(ag__test, lambda: ag__body, lambda: ag__orelse)"
        return expression(text, node, ag__test=node.test, ag__body=node.body, ag__orelse=node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if gives_bool(node) or _has(node, ast.NamedExpr):
            return self.generic_visit(node)
        self.generic_visit(node)
        function = "and_" if isinstance(node.op, ast.And) else "or_"
        found = node.values[-1]
        for value in reversed(node.values[:-1]):
            found = expression(f"{RUNTIME}.{function}(lambda: ag__a, lambda: ag__b)", node, ag__a=value, ag__b=found)
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        is_not = isinstance(node.op, ast.Not) and not gives_bool(node)
        self.generic_visit(node)
        return expression(f"{RUNTIME}.not_(ag__a)", node, ag__a=node.operand) if is_not else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if not self._uses(Feature.EQUALITY_OPERATORS) or len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            return node
        function = "eq" if isinstance(node.ops[0], ast.Eq) else "not_eq"
        return expression(f"{RUNTIME}.{function}(ag__a, ag__b)", node, ag__a=node.left, ag__b=node.comparators[0])


class _WithoutDeclarations(ast.NodeTransformer):
    """Removes the `global` and `nonlocal` statements of a scope."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef
