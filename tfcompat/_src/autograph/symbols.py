"""Which names the statements of a function read, bind and still need: the analysis of a function without jumps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of all parameters."""
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest)]


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope; of a scope inside of it only the node itself, and what it evaluates outside."""
    for node in nodes:
        yield node
        if isinstance(node, FUNCTIONS):
            yield from _own_nodes([*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)])
        elif isinstance(node, ast.ClassDef):
            yield from _own_nodes([*node.decorator_list, *node.bases, *node.keywords])
        elif isinstance(node, COMPREHENSIONS):
            yield from _own_nodes([node.generators[0].iter])
            yield from (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        else:
            yield from _own_nodes(ast.iter_child_nodes(node))


def bound(nodes: Iterable[ast.AST]) -> dict[str, None]:
    """The names that statements bind or delete in their scope, in order."""
    found: dict[str, None] = {}
    for node in _own_nodes(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] = None
        elif isinstance(node, ast.NamedExpr):
            found[node.target.id] = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(dict.fromkeys((alias.asname or alias.name.split(".")[0]) for alias in node.names))
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found[node.rest] = None
    return found


def declared(nodes: Iterable[ast.AST], kind: type) -> set[str]:
    """The names that `global` or `nonlocal` statements of a scope name."""
    return {name for node in _own_nodes(nodes) if isinstance(node, kind) for name in node.names}


def free(node: ast.AST) -> set[str]:
    """The names that an expression or statement reads from the scope around it."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, FUNCTIONS):
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = set().union(*map(free, body)) - set(parameters(node.args))
        inside -= bound(body).keys() - declared(body, ast.Nonlocal) if isinstance(node.body, list) else set()
        outside = [*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)]
        return inside.union(*map(free, outside))
    if isinstance(node, COMPREHENSIONS):
        targets = bound(g.target for g in node.generators).keys()
        first = free(node.generators[0].iter)
        return first | (set().union(*map(free, ast.iter_child_nodes(node))) - targets)
    found = set().union(*map(free, ast.iter_child_nodes(node)))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    return found


def composite(node: ast.AST) -> str | None:
    """The text of `a.b`, `a["k"]` or `a[i]` where it begins with a name and all indices are constants or names, else None."""
    inner = node
    while True:
        if isinstance(inner, ast.Attribute):
            inner = inner.value
        elif isinstance(inner, ast.Subscript) and isinstance(inner.slice, (ast.Constant, ast.Name)):
            inner = inner.value
        elif isinstance(inner, ast.Name) and inner is not node:
            return ast.unparse(node)
        else:
            return None


def composites(statements: list[ast.stmt]) -> list[str]:
    """The composites that statements assign to, of objects that are the same before and after."""
    rebound = bound(statements)
    found: dict[str, None] = {}
    for node in _own_nodes(statements):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            text = composite(node)
            if text is not None and not free(ast.parse(text)) & rebound.keys():
                found[text] = None
    return [text for text in found if not any(text != other and text.startswith((other + ".", other + "[")) for other in found)]


class Liveness:
    """What is needed after each `if` and each loop of a function.

    Args:
      body: statements without jumps except one `return` at the end. outside: names that others see, such as globals.

    Attributes:
      after: the names that are read after a statement. around: the names that a loop reads in later iterations or that are read after it.
    """

    def __init__(self, body: list[ast.stmt], outside: set[str]) -> None:
        self.after: dict[ast.stmt, set[str]] = {}
        self.around: dict[ast.stmt, set[str]] = {}
        self._always = set(outside)
        functions = [node for node in _own_nodes(body) if isinstance(node, ast.FunctionDef)]
        self._functions = {node.name: free(node) for node in functions}
        self._block(body, set())

    def _reads(self, *nodes: ast.AST | None) -> set[str]:
        """The names that expressions read; one that names a function of this scope reads what the function reads."""
        found = set().union(*(free(node) for node in nodes if node is not None))
        for name in list(found):
            found |= self._functions.get(name, set())
        return found

    def _block(self, statements: list[ast.stmt], live: set[str]) -> set[str]:
        for node in reversed(statements):
            live = self._statement(node, live | self._always)
        return live

    def _statement(self, node: ast.stmt, live: set[str]) -> set[str]:
        """The names that are needed before a statement where `live` are needed after it."""
        if isinstance(node, ast.If):
            self.after[node] = live
            return self._reads(node.test) | self._block(node.body, live) | self._block(node.orelse, live)
        if isinstance(node, (ast.While, ast.For)):
            return self._loop(node, live)
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self._try(node, live)
        if isinstance(node, ast.With):
            targets = bound(item.optional_vars for item in node.items if item.optional_vars is not None)
            inner = self._block(node.body, live) - targets.keys()
            return inner | self._reads(*(item.context_expr for item in node.items))
        if isinstance(node, ast.Match):
            inside = set().union(*(self._block(case.body, live) for case in node.cases))
            return live | inside | self._reads(node.subject, *(case.guard for case in node.cases))
        if isinstance(node, ast.ClassDef):
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            return (live - {node.name}) | names
        return (live - bound([node]).keys()) | self._reads(node)

    def _loop(self, node: ast.While | ast.For, live: set[str]) -> set[str]:
        stops = set(node.stops)
        is_for = isinstance(node, ast.For)
        test = stops if is_for else stops | self._reads(node.test)
        targets = bound([node.target]).keys() if is_for else set()
        head = live | test
        while True:
            self.around[node] = head
            found = head | (self._block(node.body, head) - targets)
            if found == head:
                break
            head = found
        return head | self._reads(node.iter, node.target) if is_for else head

    def _try(self, node: ast.Try, live: set[str]) -> set[str]:
        outer = self._always
        after = self._block(node.finalbody, live)
        self._always = outer | (after if node.finalbody else set())
        handled = set()
        for handler in node.handlers:
            handled |= (self._block(handler.body, after) - {handler.name}) | self._reads(handler.type)
        self._always = self._always | handled
        found = self._block(node.body, self._block(node.orelse, after)) | handled
        self._always = outer
        return found
