"""Decides whether a program is Python 2's, from the files that it imports, before any of it runs.

A program is one of Python 2 where a file is that only Python 2 compiles, or where it uses, without a guard, a name that only Python 2
has and no file has syntax that only Python 3 has. Files are parsed only where a word in them suggests it.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfcompat._src.cli.python2 import compiler, modules, program, syntax

BUILTINS = frozenset({"basestring", "cmp", "execfile", "file", "long", "raw_input", "reduce", "reload", "unichr", "unicode", "xrange", "apply", "buffer", "intern"})
METHODS = frozenset({"has_key", "iteritems", "iterkeys", "itervalues"})
NAMES = frozenset({
    "itertools.ifilter", "itertools.imap", "itertools.izip", "itertools.izip_longest", "os.getcwdu", "string.join", "string.letters", "string.lowercase",
    "string.maketrans", "string.uppercase", "sys.maxint", "sys.setdefaultencoding", "urllib.quote", "urllib.unquote", "urllib.urlencode", "urllib.urlopen",
    "urllib.urlretrieve",
})  # fmt: skip
_OF_COMMON_WORDS = frozenset({"apply", "buffer", "file", "intern", "long", "reduce", "reload", "cmp"})
"""Built-in names that a module may also get by `from x import *`."""
_MODULES = frozenset(modules.MOVED) - {"repr", "exceptions", "commands", "thread", "sets", "sha", "md5", "robotparser", "ttk"}
_SYNTAX = re.compile(
    rb"^[^#\n]*?(?<![\w.'\"])(?:print[ \t]+(?![=.,)\]:]|in\b|is\b)[^\s(]|print[ \t]*\([^\n]*\)[ \t]*[,%]|print[ \t]*>>|print['\"]|print[ \t]*(?:$|;|#)|except[ \t]+[^:\n]+,[ \t]*\w+[ \t]*:"
    rb"|raise[ \t]+[\w.]+[ \t]*,|exec[ \t]+[^\s(=.]|lambda[ \t]*\(|def[ \t]+\w+[^\n]*,?[ \t]*\([^()\n]*\)[ \t]*[,)=]|[uU][rR]['\"]|0[0-7]+\b(?!\.)|(?:0[xX][\da-fA-F]+|\d+)[lL]\b)|<>|`|\t",
    re.MULTILINE,
)
_WORDS = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(word.encode() for word in {*BUILTINS, *METHODS, *_MODULES, *(name.rpartition(".")[2] for name in NAMES)})))
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([^\n#;]*)|import[ \t]+([^\n#;]*))", re.MULTILINE)
_GUARDS = {"ImportError", "NameError", "AttributeError", "ModuleNotFoundError", "Exception", "BaseException"}
_VERSION_WORDS = re.compile(r"version|PY2|PY3|python_2|python2|hasattr|_is_py")
_OF_PYTHON_3 = re.compile(
    rb"\basync[ \t]+(?:def|with|for)\b|\bnonlocal\b|\byield[ \t]+from\b|\)[ \t]*->|(?<!\w)[rR]?[fF][rR]?['\"]|\braise\b[^\n#]*\bfrom\b|:=|\bsuper\(\)"
    rb"|\bprint\([^\n]*\b(?:end|sep|file|flush)[ \t]*=|\*,"
)


class Evidence(NamedTuple):
    """A construct or name of Python 2 in a file of the program."""

    path: str
    construct: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.path)} is for Python 2 ({self.construct}, line {self.line}): / of ints is //"


def find(program_files: Iterable[tuple[bytes, str]]) -> Evidence | None:
    """Looks for Python 2 in the files of a program, (source, path) of each; None for a program of Python 3, or of both."""
    names: Evidence | None = None
    is_for_3 = False
    for text, place in program_files:
        if (found := _syntax(text, place)) is not None:
            return found
        if names is None and not is_for_3:
            names = _name(text, place)
        is_for_3 = is_for_3 or _needs_python3(text)
    return None if is_for_3 else names


def files(source: bytes, path: str, folders: list[str]) -> Iterator[tuple[bytes, str]]:
    """(source, path) of a program's files, the given one first.

    Args:
      folders: where its imports are looked for; what is not of the program there is passed over.
    """
    folders = [folder for folder in folders if program.is_of_program(os.path.join(folder, "x"))]
    waiting, seen = [(source, path)], {os.path.realpath(path)}
    while waiting:
        source, path = waiting.pop(0)
        yield source, path
        for found in imported(source, path, folders):
            if (real := os.path.realpath(found)) not in seen:
                seen.add(real)
                try:
                    with open(found, "rb") as file:
                        waiting.append((file.read(), found))
                except OSError:
                    continue


def imported(source: bytes, path: str, folders: list[str]) -> Iterator[str]:
    """Paths of the program's files that a source may import: also those that an implicit relative import means."""
    own = os.path.dirname(os.path.abspath(path))
    for dots, module, names, modules_named in _IMPORT.findall(source):
        if dots:
            start = own
            for _ in range(len(dots) - 1):
                start = os.path.dirname(start)
            roots = [start]
        else:
            roots = list(dict.fromkeys([own, *folders]))
        if modules_named:
            wanted = [part.split()[0] for part in modules_named.decode("latin-1").split(",") if part.split()]
        else:
            inside = re.findall(r"[\w*]+", names.decode("latin-1"))
            base = module.decode()
            wanted = [base] if base else []
            wanted += [f"{base}.{name}" if base else name for name in inside if name.isidentifier()]
        for name in wanted:
            if name.partition(".")[0] not in sys.stdlib_module_names or dots:
                yield from _found(name, roots)


def _found(name: str, roots: list[str]) -> Iterator[str]:
    parts = name.split(".")
    for root in roots:
        for length in range(1, len(parts) + 1):
            base = os.path.join(root, *parts[:length])
            for candidate in (base + ".py", os.path.join(base, "__init__.py")):
                if os.path.isfile(candidate) and program.is_of_program(candidate):
                    yield candidate


def parsed(text: bytes | str) -> ast.Module | None:
    """The tree of a source that this Python compiles; None for others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<file>", "exec", dont_inherit=True)
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None


@functools.cache
def _syntax(source: bytes, path: str) -> Evidence | None:
    """The first construct of Python 2, where only Python 2 compiles a file."""
    if not _SYNTAX.search(source) or parsed(source) is not None:
        return None
    try:
        converted = syntax.convert(syntax.decoded(source))
        compiler.compile_text(syntax.decoded(source), path, "exec")
    except (SyntaxError, ValueError, ModuleNotFoundError):
        return None
    construct, line = converted.evidence[0] if converted.evidence else ("tabs", 1)
    return Evidence(path, construct, line)


@functools.cache
def _needs_python3(source: bytes) -> bool:
    """Whether a file has syntax that Python 2 does not compile."""
    if not _OF_PYTHON_3.search(source):
        return False
    try:
        text = syntax.decoded(source)
        tree = parsed(source)
    except (SyntaxError, UnicodeDecodeError):
        return False
    if tree is None:
        return False
    return any(_is_of_python3(node, syntax.features(text)) for node in ast.walk(tree))


def _is_of_python3(node: ast.AST, features: set[str]) -> bool:
    if isinstance(node, (ast.AsyncFunctionDef, ast.Nonlocal, ast.YieldFrom, ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.MatMult)):
        return True
    if isinstance(node, ast.Raise):
        return node.cause is not None
    if isinstance(node, ast.arguments):
        return bool(node.kwonlyargs or node.posonlyargs)
    if isinstance(node, ast.arg):
        return node.annotation is not None
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return bool(node.returns if isinstance(node, ast.FunctionDef) else node.keywords)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "print" and "print_function" not in features:
            return bool(node.keywords)
        return node.func.id == "super" and not node.args
    return False


# Names


@functools.cache
def _name(source: bytes, path: str) -> Evidence | None:
    """The first name of Python 2 that a file uses without a guard."""
    tree = parsed(source) if _WORDS.search(source) else None
    if tree is None:
        return None
    reader = _Reader()
    reader.visit(tree)
    for construct, line in reader.found:
        if construct in reader.bound or (reader.has_star and construct in _OF_COMMON_WORDS):
            continue
        if construct.startswith(".") and "pandas" in reader.imported:
            continue
        return Evidence(path, construct, line)
    return None


class _Reader(ast.NodeVisitor):
    """Collects uses of names of Python 2 that nothing guards, and the names that the module binds."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int]] = []
        self.bound: set[str] = set()
        self.imported: set[str] = set()
        self.has_star = False

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)
        elif node.id in BUILTINS:
            self.found.append((node.id, node.lineno))

    def visit_arg(self, node: ast.arg) -> None:
        self.bound.add(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bound.add(node.name)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bound.add(alias.asname or alias.name.partition(".")[0])
            self.imported.add(alias.name.partition(".")[0])
            if alias.name in _MODULES:
                self.found.append((f"import {alias.name}", node.lineno))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.imported.add((node.module or "").partition(".")[0])
        for alias in node.names:
            self.has_star = self.has_star or alias.name == "*"
            self.bound.add(alias.asname or alias.name)
            if not node.level and f"{node.module}.{alias.name}" in NAMES:
                self.found.append((f"{node.module}.{alias.name}", node.lineno))
        if not node.level and node.module in _MODULES:
            self.found.append((f"import {node.module}", node.lineno))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in NAMES and node.value.id in self.imported:
            self.found.append((f"{node.value.id}.{node.attr}", node.lineno))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and not (isinstance(node.func.value, ast.Name) and node.func.value.id == "six"):
            self.found.append((f".{node.func.attr}()", node.lineno))

    def visit_Try(self, node: ast.Try) -> None:
        caught = {each.id for handler in node.handlers for each in ast.walk(handler.type or ast.Name("Exception")) if isinstance(each, ast.Name)}
        self._guarded(node, bool(caught & _GUARDS))

    def visit_If(self, node: ast.If) -> None:
        self._guarded(node, _VERSION_WORDS.search(ast.unparse(node.test)) is not None)

    visit_IfExp = visit_If  # type: ignore[assignment]  # noqa: N815

    def _guarded(self, node: ast.AST, is_guard: bool) -> None:
        before = len(self.found)
        self.generic_visit(node)
        if is_guard:
            del self.found[before:]
