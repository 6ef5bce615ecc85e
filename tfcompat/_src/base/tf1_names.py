"""The names in the public namespaces of TensorFlow 1.15.5, read from `tf1_names.txt`.

`tests/oracle/public_names.py` records the file from the real program. It is read when a program asks for a name that is missing.
"""

from __future__ import annotations

import difflib
import functools
import pathlib

_LIKENESS = 0.75
"""The least similarity (difflib's ratio, 0 to 1) of a name that is proposed for another."""

INTERNAL = ("python", "core", "tools", "examples", "compiler")
"""Packages of TensorFlow beside the public namespaces; their names are not recorded."""


@functools.cache
def spaces() -> dict[str, frozenset[str]]:
    """Returns the names of each namespace ("nn", "" for tf itself); "compat.v1" repeats them all."""
    lines = pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()
    words = [line.split() for line in lines]
    names_in = {space.strip("."): frozenset(names) for space, *names in words}
    return names_in | {f"compat.v1.{space}".strip("."): names for space, names in names_in.items()}


def has(path: str) -> bool | None:
    """Returns whether TensorFlow 1.15 has `tf.path` ("nn.relu"); None if its namespace is not recorded."""
    space, _, name = path.rpartition(".")
    if path.partition(".")[0] in INTERNAL:
        return None
    if space in spaces():
        return name in spaces()[space]
    return False if space and has(space) is False else None


def nearest(path: str) -> str | None:
    """Returns the name of TensorFlow 1.15 that `tf.path` probably means: a similar one, or the same in another namespace; else None."""
    space, _, name = path.rpartition(".")
    # A misspelt name first, then a name from another namespace, such as tf.relu for tf.nn.relu.
    alike = difflib.get_close_matches(name, sorted(spaces().get(space, ())), 1, _LIKENESS)
    if alike:
        return f"{space}.{alike[0]}".strip(".")
    elsewhere = sorted(other for other, names in spaces().items() if name in names and not other.startswith(("compat.", "contrib.")))
    # Short names such as "op" occur in namespaces that have nothing to do with the one asked for.
    return f"{elsewhere[0]}.{name}".strip(".") if elsewhere and len(name) > 3 else None
