"""Reads `tf1_modules.txt`, the recorded table of the names in each module of TensorFlow 1.15's Python package.

`tests/oracle/shim_table.py` records the file from the real program and describes its format: a line for each module, a word for each name.
"""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

FUTURE = ("absolute_import", "division", "print_function")
_WORD = re.compile(r"(\w+)([=@^~]?)(.*)")


@dataclass(frozen=True)
class Word:
    """What a name of a module means.

    Attributes:
      kind: "public", "op", "name" and "module" (of TensorFlow), "outer" and "outer module" (of Python or another package), or "own" (the
        module itself defines it).
      module: the module that has the object, for "name" and "outer"; the module itself for "module" and "outer module".
      there: the public path, op type, or name in `module`; for "own", "c", "f" or "v" (class, function, value) and the JSON of a plain value.
    """

    kind: str
    module: str
    there: str


@dataclass(frozen=True)
class Names:
    """The names of a module.

    Attributes:
      words: by name. repeats: modules that it imports with a star. exported: its `__all__`, or None.
    """

    words: dict[str, Word]
    repeats: tuple[str, ...]
    exported: tuple[str, ...] | None


@functools.cache
def modules() -> dict[str, str]:
    """Returns the words of each module by its path, and "" for packages above these that have no line. The path "." has the usual modules."""
    lines = pathlib.Path(__file__).with_name("tf1_modules.txt").read_text().splitlines()
    # A line is the path, a blank, and the words. Packages without names have no line, but can be imported.
    table = {path: words for path, _, words in (line.partition(" ") for line in lines)}
    for path in list(table):
        while "." in path.strip("."):
            path = path.rpartition(".")[0]
            table.setdefault(path, "")
    return table


@functools.cache
def _usual_modules() -> dict[str, str]:
    """Returns, by name, the path of the module that most modules import under this name; the table leaves it out there."""
    return dict(word.split("=") for word in modules()["."].split())


@functools.cache
def names(module: str) -> Names:
    """Parses the words of one module."""
    words: dict[str, Word] = {}
    repeats: list[str] = []
    exported = None
    # Words that are no name: a star import, `__all__`, and the three names that `from __future__ import` brings in most modules.
    for text in modules().get(module, "").split():
        if text.startswith("*@"):
            repeats.append(text[2:])
        elif text.startswith("__all__="):
            exported = tuple(filter(None, text.partition("=")[2].split(",")))
        elif text == "__future__":
            words.update((name, Word("outer", "__future__", name)) for name in FUTURE)
        else:
            name, sign, rest = _WORD.fullmatch(text).groups()  # type: ignore[union-attr]  # each word of a table fits
            words[name] = _word(name, sign, rest)
    return Names(words, tuple(repeats), exported)


def _word(name: str, sign: str, rest: str) -> Word:
    """Parses one word: `sign` tells its kind ("~" own, "=" or none public or op, "@" TensorFlow, "^" another package), `rest` its meaning."""
    if sign == "~":
        return Word("own", "", rest)
    if rest.startswith("raw:"):
        return Word("op", "", rest[4:])
    if sign in ("", "="):
        return Word("public", "", rest or name)
    # "module:name" is a name of a module; "module" alone, or nothing for the usual one, is a module.
    outer = "outer " if sign == "^" else ""
    module, colon, there = rest.partition(":")
    if not rest or (colon and not there):
        return Word(outer + "module", module or _usual_modules()[name], "")
    return Word(outer.strip() or "name", module, there or name)


@functools.cache
def brought_by_star(module: str) -> tuple[str, ...]:
    """Returns the names that `from module import *` imports in TensorFlow 1.15."""
    # Depth-first over star imports, each module once. An `__all__` is complete by itself.
    brought: dict[str, None] = {}
    todo, seen = [module], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            held = names(path)
            chosen = held.exported
            brought.update(dict.fromkeys((name for name in held.words if not name.startswith("_")) if chosen is None else chosen))
            todo += held.repeats if chosen is None else ()
    return tuple(brought)
