"""Which names the public namespaces of TensorFlow 1.15.5 hold, read from `tf1_names.txt`.

`tests/oracle/public_names.py` records the file from the real program. It is read when a name is lacking, not before.
"""

from __future__ import annotations

import difflib
import functools
import pathlib

_LIKENESS = 0.75
"""How alike two names are, as `difflib` measures it, of which one is proposed for the other."""


INTERNAL = ("python", "core", "tools", "examples", "compiler")
"""Packages of TensorFlow beside the public namespaces, which were not recorded."""


@functools.cache
def spaces() -> dict[str, frozenset[str]]:
    """Namespace ("nn", "" for tf itself) -> its names."""
    lines = pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines()
    words = [line.split() for line in lines]
    found = {space.strip("."): frozenset(names) for space, *names in words}
    return found | {f"compat.v1.{space}".strip("."): names for space, names in found.items()}


def has(path: str) -> bool | None:
    """Whether TensorFlow 1.15 has `tf.path` ("nn.relu"); None where its namespace was not recorded."""
    space, _, name = path.rpartition(".")
    if path.partition(".")[0] in INTERNAL:
        return None
    if space in spaces():
        return name in spaces()[space]
    return False if space and has(space) is False else None


def nearest(path: str) -> str | None:
    """The name of TensorFlow 1.15 ("nn.relu") that `tf.path` is probably meant to be: spelt alike, or the same in another namespace."""
    space, _, name = path.rpartition(".")
    alike = difflib.get_close_matches(name, sorted(spaces().get(space, ())), 1, _LIKENESS)
    if alike:
        return f"{space}.{alike[0]}".strip(".")
    elsewhere = sorted(other for other, names in spaces().items() if name in names and not other.startswith(("compat.", "contrib.")))
    return f"{elsewhere[0]}.{name}".strip(".") if elsewhere and len(name) > 3 else None
