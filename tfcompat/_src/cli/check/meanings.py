"""How `tfcompat run` runs the files of a repository: as Python 2's, as ones for TensorFlow before 1.0, or as they are.

Programs are what is decided upon: a file that no other imports, with all that it imports. A file of several programs has an old meaning
where it has it in all of them. Cells of notebooks have none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tfcompat._src.cli.check.program import upwards
from tfcompat._src.cli.python2 import evidence as python2_evidence
from tfcompat._src.cli.tf0 import evidence as tf0_evidence


class Meaning(NamedTuple):
    """Whether a file is run with the meaning of Python 2, and of TensorFlow before 1.0."""

    is_python2: bool = False
    is_before_1: bool = False


def of(paths: Iterable[str]) -> dict[str, Meaning]:
    """The meaning of each Python file, by its path."""
    real = {path: os.path.realpath(path) for path in paths if path.endswith(".py")}
    sources, imports = _read(real.values())
    having: dict[str, list[Meaning]] = {path: [] for path in sources}
    for members in programs(imports):
        files = [(sources[path], path) for path in members]
        of_tensorflow = tf0_evidence.find(files)
        is_before_1 = of_tensorflow is not None and of_tensorflow.version == tf0_evidence.BEFORE_1
        meaning = Meaning(python2_evidence.find(files) is not None, is_before_1)
        for path in members:
            having[path].append(meaning)
    return {path: Meaning(*map(all, zip(*having[key]))) for path, key in real.items()}


def _read(paths: Iterable[str]) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """The sources of files and of those that they import, and which ones each imports."""
    sources: dict[str, bytes] = {}
    imports: dict[str, list[str]] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        if path not in sources:
            with open(path, "rb") as file:
                sources[path] = file.read()
            found = python2_evidence.imported(sources[path], path, upwards(os.path.dirname(path)))
            imports[path] = list(dict.fromkeys(map(os.path.realpath, found)))
            waiting += imports[path]
    return sources, imports


def programs(imports: dict[str, list[str]]) -> Iterator[list[str]]:
    """The files of each program, the one that starts it first; of files that import each other in a circle, one starts it."""
    imported = {inner for path, found in imports.items() for inner in found if inner != path}
    seen: set[str] = set()
    for start in sorted(imports, key=lambda path: path in imported):
        if start not in imported or start not in seen:
            members = {start: None}
            waiting = [start]
            while waiting:
                new = [inner for inner in imports[waiting.pop()] if inner not in members]
                members |= dict.fromkeys(new)
                waiting += new
            seen |= set(members)
            yield list(members)
