"""Which names each module of TensorFlow 1.15's Python package holds, read from `tf1_modules.txt`.

`tests/oracle/shim_table.py` records the file from the real program and describes its format.
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
    """What stands behind a name: `kind` is "public", "op", "name" and "module" (of TensorFlow), "outer" and "outer module" (of
    Python or another package) or "own" (the module defines it: `there` is "c", "f" or "v" and the JSON of a plain value).
    """

    kind: str
    module: str
    there: str


@dataclass(frozen=True)
class Names:
    """What a module holds: names of its own, modules whose names it repeats, and what a star brings, where it says so itself."""

    words: dict[str, Word]
    repeats: tuple[str, ...]
    exported: tuple[str, ...] | None


@functools.cache
def modules() -> dict[str, str]:
    """Module path -> its words, and every package path above one of them."""
    lines = pathlib.Path(__file__).with_name("tf1_modules.txt").read_text().splitlines()
    found = {path: words for path, _, words in (line.partition(" ") for line in lines)}
    for path in list(found):
        while "." in path.strip("."):
            path = path.rpartition(".")[0]
            found.setdefault(path, "")
    return found


@functools.cache
def _usual_modules() -> dict[str, str]:
    """The path of the module that most modules mean by a name."""
    return dict(word.split("=") for word in modules()["."].split())


@functools.cache
def names(module: str) -> Names:
    """The names of one module."""
    words: dict[str, Word] = {}
    repeats: list[str] = []
    exported = None
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
    if sign == "~":
        return Word("own", "", rest)
    if rest.startswith("raw:"):
        return Word("op", "", rest[4:])
    if sign in ("", "="):
        return Word("public", "", rest or name)
    outer = "outer " if sign == "^" else ""
    module, colon, there = rest.partition(":")
    if not rest or (colon and not there):
        return Word(outer + "module", module or _usual_modules()[name], "")
    return Word(outer.strip() or "name", module, there or name)


@functools.cache
def brought_by_star(module: str) -> tuple[str, ...]:
    """The names that `from module import *` brings in TensorFlow 1.15."""
    found: dict[str, None] = {}
    todo, seen = [module], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            held = names(path)
            chosen = held.exported
            found.update(dict.fromkeys((name for name in held.words if not name.startswith("_")) if chosen is None else chosen))
            todo += held.repeats if chosen is None else ()
    return tuple(found)
