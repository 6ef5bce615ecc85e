"""Which names each module of TensorFlow 1.15's Python package holds, read from `tf1_modules.json`.

`tests/oracle/shim_table.py` records the file from the real program and describes its format.
"""

from __future__ import annotations

import functools
import json
import pathlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """What a module holds: names with a target (see `resolve.target`), and modules all of whose names it repeats."""

    targets: dict[str, str]
    repeats: tuple[str, ...]


@functools.cache
def modules() -> dict[str, str]:
    """Module path -> its words, and every package path above one of them."""
    found = json.loads(pathlib.Path(__file__).with_name("tf1_modules.json").read_text())
    for path in list(found):
        while "." in path:
            path = path.rpartition(".")[0]
            found.setdefault(path, "")
    return found


@functools.cache
def _usual_modules() -> dict[str, str]:
    """The path of the module that most modules mean by a name."""
    return dict(word.split("=") for word in modules()[""].split())


@functools.cache
def names(module: str) -> Names:
    """The names of one module."""
    targets: dict[str, str] = {}
    repeats: list[str] = []
    for word in modules().get(module, "").split():
        if word.startswith("*@"):
            repeats.append(word[2:])
        elif "@" in word:
            name, _, origin = word.partition("@")
            origin = origin or _usual_modules()[name] + ":"
            targets[name] = "@" + (origin if ":" in origin else f"{origin}:{name}")
        else:
            name, _, path = word.partition("=")
            targets[name] = path or name
    return Names(targets, tuple(repeats))
