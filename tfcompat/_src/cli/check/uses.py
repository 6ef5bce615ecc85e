"""Reads one module: which names of other modules it uses, where, and what its own names mean in the end."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tfcompat._src.cli.check import python2
from tfcompat._src.cli.check.files import Place, Source
from tfcompat._src.cli.check.scopes import OPAQUE, Meaning, Scope, joined

_VERSION = re.compile(r"version|hasattr|\bPY[23]\b", re.IGNORECASE)
_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError"}
_CAUGHT_WITH_ALL = {"", "Exception", "BaseException"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Call(NamedTuple):
    """How a function is called: keywords by name, positional arguments, and whether these are all (no `*args`, no `**kwargs`)."""

    keywords: tuple[str, ...]
    positional: tuple[ast.expr, ...]
    is_whole: bool


@dataclass(frozen=True)
class Use:
    """A name of other modules that is used: one of `paths`, the alternatives where branches of the program bind it differently."""

    paths: tuple[str, ...]
    place: Place
    is_guarded: bool
    call: Call | None = None


@dataclass(frozen=True)
class Oddity:
    """A name without a module: a built-in name ("xrange"), a method of an object that is not known (".has_key"), an idiom ("range(a / b)")."""

    name: str
    place: Place
    is_guarded: bool


class Context(NamedTuple):
    """What a reader asks of others.

    Args:
      find: the module of the program for a dotted name, the path of the importing file and the number of dots before the name; or None.
      brings: whether `from path import *` of a module outside of the program brings a name.
      watched: names of attributes to note where the object is not known.
    """

    find: Callable[[str, str, int], Any]
    brings: Callable[[str, str], bool]
    watched: frozenset[str]


class Module:
    """A module of the program as it was read."""

    def __init__(self, source: Source, context: Context) -> None:
        self.path = source.path
        self.scope = Scope()
        self.uses: list[Use] = []
        self.oddities: list[Oddity] = []
        self.imported: dict[str, Place] = {}
        self.defined = {node.name for node in ast.walk(source.tree) if isinstance(node, _FUNCTIONS)}
        self.stored: set[str] = set()
        self._reader = _Reader(self, source, context)

    def read(self) -> None:
        self._reader.run()

    def member(self, name: str) -> Meaning:
        """What an attribute of the module means."""
        return self.scope.names.get(name, (OPAQUE,))


class _Reader(ast.NodeVisitor):
    def __init__(self, module: Module, source: Source, context: Context) -> None:
        self._module, self._source, self._context, self._find = module, source, context, context.find
        self._scope = module.scope
        self._guards = 0
        self._waiting: list[tuple[Any, Scope, int]] = []

    def run(self) -> None:
        """Reads the module's own statements, then the functions, which see its names as they are in the end."""
        self._statements(self._source.tree.body)
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            for node, scope, guards in waiting:
                self._scope, self._guards = scope, guards
                self._statements(node.body)

    # What is noted.

    def _use(self, paths: Iterable[str], node: ast.AST, call: Call | None = None, is_guarded: bool = False) -> None:
        place = self._source.place(node.lineno)  # type: ignore[attr-defined]
        self._module.uses.append(Use(tuple(paths), place, is_guarded or self._guards > 0, call))

    def _oddity(self, name: str, node: ast.AST) -> None:
        place = self._source.place(node.lineno)  # type: ignore[attr-defined]
        self._module.oddities.append(Oddity(name, place, self._guards > 0))

    # Meanings.

    def _meaning(self, node: ast.AST) -> Meaning:
        """What an expression means, where it is a name, attributes of one, or a choice of such."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id) or (OPAQUE,)
        if isinstance(node, ast.Attribute):
            return tuple(dict.fromkeys(each for value in self._meaning(node.value) for each in _member(value, node.attr)))
        if isinstance(node, ast.IfExp):
            return tuple(dict.fromkeys((*self._meaning(node.body), *self._meaning(node.orelse))))
        return (OPAQUE,)

    def _of_name(self, name: str) -> Meaning | None:
        found = self._scope.find(name)
        if found is None and not hasattr(builtins, name):
            return next(((f"{path}.{name}",) for path in self._scope.all_stars() if self._context.brings(path, name)), None)
        return found

    def _bind(self, target: ast.AST, value: ast.AST | None) -> None:
        if isinstance(target, ast.Name):
            is_nothing = isinstance(value, ast.Constant) and value.value is None
            if not (is_nothing and self._scope.find(target.id)):
                self._scope.bind(target.id, (OPAQUE,) if value is None else self._meaning(value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else [None] * len(target.elts)
            for part, given in zip(target.elts, values):
                self._bind(part, given)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif isinstance(target, ast.Attribute):
            self._module.stored.update(each for each in self._meaning(target) if isinstance(each, str))
            self.visit(target.value)
        else:
            self.visit(target)

    # Statements.

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _branches(self, bodies: Iterable[tuple[Sequence[ast.stmt], bool]]) -> None:
        """Reads alternative bodies, those marked as guarded, and joins what they bind."""
        before, after = self._scope.names, []
        for body, is_guarded in bodies:
            self._scope.names = dict(before)
            self._guards += is_guarded
            self._statements(body)
            self._guards -= is_guarded
            after.append(self._scope.names)
        changed = {name for names in after for name, meaning in names.items() if before.get(name) is not meaning}
        before.update(joined({name: names[name] for name in changed & names.keys()} for names in after))
        self._scope.names = before

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        is_guard = _VERSION.search(ast.unparse(node.test)) is not None
        self._branches([(node.body, is_guard), (node.orelse, is_guard)])

    def visit_Try(self, node: ast.Try) -> None:
        is_guard = any(_catches(handler, node.body) for handler in node.handlers)
        for handler in node.handlers:
            if handler.type is not None:
                self.visit(handler.type)
        handlers = [(handler.body, is_guard and _catches(handler, node.body)) for handler in node.handlers]
        self._branches([([*node.body, *node.orelse], is_guard), *handlers])
        self._statements(node.finalbody)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self._bind(node.target, None)
        self._statements([*node.body, *node.orelse])

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, None)
        self._statements(node.body)

    visit_AsyncWith = visit_With  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self._bind(node.target, None)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target, node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        pass

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self._scope.outer.update(node.names)

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module.imported.setdefault(alias.name, self._source.place(node.lineno))
            first = alias.name.partition(".")[0]
            own = self._find(alias.name if alias.asname else first, self._module.path, 0)
            if own is None:
                self._use([alias.name], node)
            meaning = own if own is not None else alias.name if alias.asname else first
            self._scope.bind(alias.asname or first, (meaning,))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        path = node.module or ""
        own = self._find(path, self._module.path, node.level)
        if own is None and node.level == 0:
            self._module.imported.setdefault(path, self._source.place(node.lineno))
            self._use([path], node)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(own, path, node.level)
                continue
            meaning: Meaning = (OPAQUE,)
            if own is not None:
                meaning = own.member(alias.name)
                inner = self._find(f"{path}.{alias.name}".strip("."), self._module.path, node.level) if meaning == (OPAQUE,) else None
                meaning = meaning if inner is None else (inner,)
            elif node.level == 0 and path != "__future__":
                self._module.imported.setdefault(f"{path}.{alias.name}", self._source.place(node.lineno))
                self._use([f"{path}.{alias.name}"], node)
                meaning = (f"{path}.{alias.name}",)
            elif node.level:
                inner = self._find(f"{path}.{alias.name}".strip("."), self._module.path, node.level)
                meaning = (inner,)
            self._scope.bind(alias.asname or alias.name, meaning)

    def _import_all(self, own: Any, path: str, level: int) -> None:
        if own is not None:
            for name, meaning in own.scope.names.items():
                if not name.startswith("_"):
                    self._scope.bind(name, meaning)
            self._scope.stars += own.scope.stars
        elif level == 0:
            self._scope.stars.append(path)

    # Definitions.

    def _function(self, node: Any) -> None:
        for each in (*node.args.defaults, *node.args.kw_defaults, *getattr(node, "decorator_list", ())):
            if each is not None:
                self.visit(each)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        scope = Scope(_enclosing(self._scope))
        for argument in arguments:
            if argument is not None:
                scope.names[argument.arg] = (OPAQUE,)
        if isinstance(node, ast.Lambda):
            outside, self._scope = self._scope, scope
            self.visit(node.body)
            self._scope = outside
        else:
            self._scope.bind(node.name, (OPAQUE,))
            self._waiting.append((node, scope, self._guards))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in (*node.bases, *(keyword.value for keyword in node.keywords), *node.decorator_list):
            self.visit(each)
        self._scope.bind(node.name, (OPAQUE,))
        outside, self._scope = self._scope, Scope(_enclosing(self._scope), is_class=True)
        self._statements(node.body)
        self._scope = outside

    def _comprehension(self, node: Any) -> None:
        outside, self._scope = self._scope, Scope(self._scope)
        for generator in node.generators:
            self.visit(generator.iter)
            self._bind(generator.target, None)
            for test in generator.ifs:
                self.visit(test)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self._scope = outside

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    # Expressions.

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        is_guard = _VERSION.search(ast.unparse(node.test)) is not None
        self._guards += is_guard
        self.visit(node.body)
        self.visit(node.orelse)
        self._guards -= is_guard

    def visit_Name(self, node: ast.Name) -> None:
        self._name_or_attribute(node, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._name_or_attribute(node, None)

    def _name_or_attribute(self, node: ast.Name | ast.Attribute, call: Call | None) -> None:
        meaning = self._meaning(node)
        paths = [each for each in meaning if isinstance(each, str)]
        if paths:
            self._use(paths, node, call, is_guarded=len(paths) < len(meaning))
            if isinstance(node, ast.Attribute) and node.attr in python2.METHODS and not any(path.rpartition(".")[0] in self._module.imported for path in paths):
                self._oddity(f".{node.attr}", node)
            return
        if isinstance(node, ast.Name):
            if node.id in python2.BUILTINS and self._of_name(node.id) is None and not hasattr(builtins, node.id):
                self._oddity(node.id, node)
            return
        if node.attr in self._context.watched and isinstance(node.ctx, ast.Load) and not any(isinstance(each, Module) for each in self._meaning(node.value)):
            self._oddity(f".{node.attr}", node)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
        has_stars = any(isinstance(argument, ast.Starred) for argument in node.args)
        call = Call(keywords, () if has_stars else tuple(node.args), not has_stars and len(keywords) == len(node.keywords))
        if isinstance(node.func, (ast.Name, ast.Attribute)):
            self._name_or_attribute(node.func, call)
            self._idioms(node, node.func)
        else:
            self.visit(node.func)
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(each)

    def _idioms(self, node: ast.Call, function: ast.Name | ast.Attribute) -> None:
        name = function.id if isinstance(function, ast.Name) else ""
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):
            paths = [f"{each}.{node.args[1].value}" for each in self._meaning(node.args[0]) if isinstance(each, str)]
            if paths:
                self._use(paths, node, is_guarded=len(node.args) > 2)
        elif name == "range" and any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) for each in node.args):
            self._oddity("range(a / b)", node)
        elif name == "open":
            modes = (*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode"))
            if any(isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "U" in mode.value for mode in modes):
                self._oddity('open(path, "U")', node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.RShift) and isinstance(node.left, ast.Name) and node.left.id == "print":
            self._oddity("print >>file", node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) and not node.value.args else ""  # type: ignore[attr-defined]
        is_method = isinstance(called, ast.Attribute)
        if name in python2.GAVE_LISTS and is_method == (name in python2.GAVE_LISTS[3:]) and (is_method or self._of_name(name) is None):
            self._oddity(f".{name}()[i]" if is_method else f"{name}(...)[i]", node)
        self.generic_visit(node)


def _member(value: object, name: str) -> Meaning:
    if isinstance(value, str):
        return (f"{value}.{name}",)
    return value.member(name) if isinstance(value, Module) else (OPAQUE,)


def _enclosing(scope: Scope) -> Scope:
    """The scope that functions defined in `scope` see."""
    return scope.parent if scope.is_class and scope.parent is not None else scope


def _catches(handler: ast.ExceptHandler, body: Sequence[ast.stmt]) -> bool:
    """Whether a handler is there for names that are missing: it names such an error, or all errors of a body that only imports."""
    names = set(_names(handler.type))
    if names & _CAUGHT:
        return True
    return bool(names & _CAUGHT_WITH_ALL) and all(isinstance(each, (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass)) for each in body)


def _names(node: ast.expr | None) -> Iterator[str]:
    if node is None:
        yield ""
    elif isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _names(each)
    else:
        yield ast.unparse(node).rpartition(".")[2]
