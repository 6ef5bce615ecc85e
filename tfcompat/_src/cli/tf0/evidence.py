"""Decides whether a program is for TensorFlow before 1.0, from the files that it imports, before any of it runs.

It is where it uses, without a guard, one name that decides, names or old orders of arguments of two kinds, or one of them three times, and
no name that TensorFlow has since 1.0. Files are parsed only where a word in them suggests it.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from tfcompat._src.cli.python2 import evidence, syntax
from tfcompat._src.cli.tf0 import names

BEFORE_1 = "0.12"
BEFORE_1_5 = "1.4"
_GUARDS = {"ImportError", "AttributeError", "ModuleNotFoundError", "Exception", "BaseException"}
_VERSIONS = re.compile(r"version|hasattr|\bdir\(")
_ENOUGH = 3


class Evidence(NamedTuple):
    """A name of an old TensorFlow in a file of the program, and the newest version that has it."""

    version: str
    path: str
    construct: str
    line: int

    def __str__(self) -> str:
        of = "TensorFlow before 1.0" if self.version == BEFORE_1 else "TensorFlow until 1.4"
        return f"{os.path.basename(self.path)} is for {of} ({self.construct}, line {self.line}): it runs with the meaning of {self.version}"


class Use(NamedTuple):
    """A use of something that 1.15 lacks: what it is, and the line."""

    construct: str
    line: int
    is_decisive: bool = False


def _words() -> bytes:
    last = {path.rpartition(".")[2] for path in (*names.GONE, *names.OLD_ORDERS)}
    keywords = {keyword for each in names.OLD_KEYWORDS.values() for keyword in each if keyword != "shape"}
    return b"|".join(sorted(word.encode() for word in {*last, *keywords, *names.FLAGS_OF_ARGPARSE}))


_HINT = re.compile(rb"\b(?:%s)\b" % _words())


def find(program_files: Iterable[tuple[bytes, str]]) -> Evidence | None:
    """Looks for an old TensorFlow in the files of a program, (source, path) of each; None for a program of 1.15."""
    flags: Evidence | None = None
    first: Evidence | None = None
    found: list[str] = []
    is_of_1 = False
    for source, path in program_files:
        if b"tensorflow" not in source and b"FLAGS" not in source:
            continue
        if _HINT.search(source):
            reader = read(source)
            for use in reader.uses:
                evidence_of_use = Evidence(BEFORE_1, path, use.construct, use.line)
                first = evidence_of_use if first is None or (use.is_decisive and not _is_enough(found)) else first
                found += [use.construct] * (_ENOUGH if use.is_decisive else 1)
            if reader.flags and flags is None:
                flags = Evidence(BEFORE_1_5, path, *reader.flags[0][:2])
            is_of_1 = is_of_1 or reader.is_of_1
        elif not is_of_1 and b"tensorflow" in source and _OF_1_HINT.search(source):
            is_of_1 = read(source).is_of_1
    return first if _is_enough(found) and not is_of_1 else flags


def _is_enough(found: list[str]) -> bool:
    return len(set(found)) > 1 or len(found) >= _ENOUGH


_OF_1_HINT = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted({name.rpartition(".")[2].encode() for name in names.OF_1})))


@functools.cache
def read(source: bytes) -> Reader:
    """What a source uses; nothing where neither Python parses it."""
    reader = Reader()
    tree = evidence.parsed(source)
    if tree is None:
        try:
            tree = evidence.parsed(syntax.convert(syntax.decoded(source)).text)
        except (SyntaxError, ValueError, ModuleNotFoundError):
            tree = None
    if tree is not None:
        reader.visit(tree)
    return reader


class Reader(ast.NodeVisitor):
    """Collects what a file uses of an old TensorFlow without a guard."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.flags: list[Use] = []
        self.is_of_1 = False
        self._meant: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == "tensorflow":
                path = alias.name.partition(".")[2]
                self._meant[alias.asname or "tensorflow"] = path if alias.asname else ""
                self._name(path, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or (node.module or "").partition(".")[0] != "tensorflow":
            return
        module = (node.module or "").partition(".")[2]
        for alias in node.names:
            path = f"{module}.{alias.name}" if module else alias.name
            self._meant[alias.asname or alias.name] = path
            self._name(path, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if node.attr in names.FLAGS_OF_ARGPARSE and "FLAGS" in ast.unparse(node.value):
            self.flags.append(Use(f"FLAGS.{node.attr}", node.lineno))
        elif path is not None:
            self._name(path, node.lineno)
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        key = node.slice
        if isinstance(key, ast.Constant) and key.value in names.FLAGS_OF_ARGPARSE:
            self.flags.append(Use(f"FLAGS.__dict__[{key.value!r}]", node.lineno))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        path = self._path(node.func)
        if path is not None and (old := old_call(path, node)):
            self.uses.append(Use(old, node.lineno))
        self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        caught = {each.id for handler in node.handlers for each in ast.walk(handler.type or ast.Name("Exception")) if isinstance(each, ast.Name)}
        self._guarded(node, bool(caught & _GUARDS))

    def visit_If(self, node: ast.If) -> None:
        self._guarded(node, _VERSIONS.search(ast.unparse(node.test)) is not None)

    visit_IfExp = visit_If  # type: ignore[assignment]  # noqa: N815

    def _guarded(self, node: ast.AST, is_guard: bool) -> None:
        uses, flags, is_of_1 = len(self.uses), len(self.flags), self.is_of_1
        self.generic_visit(node)
        if is_guard:
            del self.uses[uses:], self.flags[flags:]
            self.is_of_1 = is_of_1

    def _path(self, node: ast.AST) -> str | None:
        """The path below `tensorflow` that an expression names."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._meant:
            return None
        return ".".join(filter(None, [self._meant[node.id], *reversed(parts)]))

    def _name(self, path: str, line: int) -> None:
        gone = gone_name(path)
        if gone is not None:
            self.uses.append(Use(f"tf.{gone}", line, gone in names.DECISIVE))
        elif _starts(path, names.OF_1):
            self.is_of_1 = True


def gone_name(path: str) -> str | None:
    """The name of TensorFlow before 1.0 that a path is, or leads into."""
    return _starts(path, names.GONE) or _starts(re.sub(r"^python\.ops\.\w*(?:_ops|nn|rnn_cell)\.", "", path), names.GONE)


def _starts(path: str, known: Iterable[str]) -> str | None:
    parts = path.split(".")
    return next((start for length in range(1, len(parts) + 1) if (start := ".".join(parts[:length])) in known), None)


def of_public(path: str) -> str:
    """The path of an operation, without the internal module that a program takes it from."""
    return re.sub(r"^python\.ops\.(?:array|math|nn|image)_ops\.", "", path)


def old_call(path: str, node: ast.Call) -> str | None:
    """The old order of arguments, or the old keyword, that a call has, where 1.15 refuses it."""
    path = of_public(path)
    for keyword in node.keywords:
        if keyword.arg in names.OLD_KEYWORDS.get(path, ()):
            return f"tf.{path}({keyword.arg}=)"
    if path not in names.OLD_ORDERS or len(node.args) < 2:
        return None
    first, second = node.args[:2]
    if path in ("concat", "split"):
        is_old = _is_number(first) or (path == "concat" and isinstance(second, (ast.List, ast.ListComp, ast.Tuple)) and not isinstance(first, (ast.List, ast.ListComp)))
    elif path == "image.resize_images":
        is_old = len(node.args) > 2 and not isinstance(second, (ast.List, ast.Tuple)) and not _is_number(node.args[2], small=True)
    else:
        is_old = True
    return f"tf.{names.OLD_ORDERS[path]}" if is_old else None


def _is_number(node: ast.expr, small: bool = False) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and (not small or node.value < 4)
