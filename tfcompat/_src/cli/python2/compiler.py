"""Compiles sources of Python 2, and keeps the code of files from one run to the next."""

from __future__ import annotations

import ast
import functools
import hashlib
import marshal
import pathlib
import sys
import types
import warnings
from typing import Any

from tfcompat._src.cli import program_cache
from tfcompat._src.cli.legacy import sources
from tfcompat._src.cli.python2 import meaning, syntax

_HERE = pathlib.Path(__file__).parent


def compiled(source: bytes, path: str) -> types.CodeType:
    """The code of a source file, from the cache where that has it."""
    store = _store()
    others = ",".join(each.__module__ for each in sources.rewritings).encode()
    key = hashlib.sha256(b"\n".join((_version(), others, path.encode(errors="surrogateescape"), source))).hexdigest()
    kept = store and store.get(key)
    if kept:
        return marshal.loads(kept)
    code = compile_text(syntax.decoded(source), path, "exec")
    if store:
        store.put(key, marshal.dumps(code))
    return code


@functools.cache
def _version() -> bytes:
    """Digest of what a source's code depends on besides the source: the Python that compiles it, and how it is rewritten."""
    rewriting = (_HERE / "syntax.py", _HERE / "meaning.py", _HERE / "spelling.py", _HERE / "float_indices.py", _HERE.parent / "tf0" / "sources.py", pathlib.Path(sources.__file__))
    texts = [path.read_bytes() for path in rewriting]
    return hashlib.sha256(b"\n".join((sys.version.encode(), *texts))).digest()


@functools.cache
def _store() -> program_cache.ProgramStore | None:
    return program_cache.store(program_cache.name_of("sources of Python 2"))


def compile_text(text: str, path: str, mode: str, divides: bool = False) -> types.CodeType:
    """Compiles text as Python 2.

    Args:
      mode: "exec", "eval" or "single", as for `compile`.
      divides: `/` is true division, as the module says that compiles it.
    """
    converted = syntax.convert(text).text if mode == "exec" or not _parses(text, mode) else text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree: Any = ast.parse(converted, path, "exec" if mode == "single" else mode)
        _mark_changed_lines(tree, text, converted)
        if isinstance(tree, ast.Module):
            sources.rewrite(tree, converted.encode(errors="surrogatepass"), path, has_modes=True)
        features = syntax.features(text) | ({"division"} if divides else set())
        meaning.rewrite(tree, features)
        return compile(tree if mode != "single" else ast.Interactive(tree.body), path, mode, dont_inherit=True)


def _parses(text: str, mode: str) -> bool:
    try:
        ast.parse(text, mode=mode)
    except SyntaxError:
        return False
    return True


def _mark_changed_lines(tree: ast.AST, before: str, after: str) -> None:
    """Lets what stands on a converted line span the whole line, so that tracebacks point at no column of another text."""
    lines = before.splitlines()
    changed = set(syntax.changed_lines(before, after))
    for node in ast.walk(tree) if changed else ():
        if hasattr(node, "lineno") and (node.lineno in changed or node.end_lineno in changed):
            node.col_offset = 0
            node.end_col_offset = len(lines[node.end_lineno - 1].encode())
