"""Which source lines made the nodes of a run."""

from __future__ import annotations

import collections
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.profiling import AggregateProfile, ProfileDatum
from tfcompat._src.graph.graph import Graph

UNCOMPILED_SOURCE_SUFFIXES = (".py",)
COMPILED_SOURCE_SUFFIXES = (".pyc", ".pyo")
_TENSORFLOW_BASEDIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_EXAMPLES = os.path.normpath("python/debug/examples")


def _norm_abs_path(file_path: str) -> str:
    return os.path.normpath(os.path.abspath(file_path))


def is_extension_uncompiled_python_source(file_path: str) -> bool:
    """Whether the file is one of Python's sources, by the end of its name."""
    return file_path.lower().endswith(UNCOMPILED_SOURCE_SUFFIXES)


def is_extension_compiled_python_source(file_path: str) -> bool:
    """Whether the file is a compiled one of Python, by the end of its name."""
    return file_path.lower().endswith(COMPILED_SOURCE_SUFFIXES)


def guess_is_tensorflow_py_library(py_file_path: str) -> bool:
    """Whether a file is part of this library, and no test or example of the debugger. ValueError where it is not Python's."""
    if py_file_path.startswith("<frozen"):  # a module of Python that has no file, as runpy since Python 3.11
        return False
    if not is_extension_uncompiled_python_source(py_file_path) and not is_extension_compiled_python_source(py_file_path):
        raise ValueError("Input file path (%s) is not a Python source file." % py_file_path)
    path = _norm_abs_path(py_file_path)
    return path.startswith(_TENSORFLOW_BASEDIR + os.sep) and not path.endswith("_test.py") and not os.path.dirname(path).endswith(_EXAMPLES)


def frames_of_program(traceback: Sequence[Any]) -> Sequence[Any]:
    """A traceback without the frames that lead to the program: those of Python and of `tfcompat run` before the first of another file."""
    first = next((row for row, frame in enumerate(traceback) if not frame[0].startswith(("<frozen", _TENSORFLOW_BASEDIR + os.sep))), 0)
    return traceback[first:]


def load_source(source_file_path: str) -> tuple[list[str], int]:
    """The lines of a file, and the width of a column with their numbers."""
    with open(source_file_path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    return lines, math.ceil(math.log10(len(lines))) + 3


def _graph_of(dump: DebugDumpDir, purpose: str) -> Graph:
    if not dump.python_graph:
        raise ValueError("Cannot %s due to a lack of set Python graph in the dump object" % purpose)
    return dump.python_graph


def annotate_source(
    dump: DebugDumpDir,
    source_file_path: str,
    do_dumped_tensors: bool = False,
    file_stack_top: bool = False,
    min_line: int | None = None,
    max_line: int | None = None,
) -> dict[int, list[str]]:
    """What each line of a file made: number of the line, from 1 -> names of nodes.

    Args:
      dump: a dump with a graph, which has the tracebacks.
      source_file_path: the file.
      do_dumped_tensors: whether the names are those of dumped tensors in place of nodes.
      file_stack_top: whether only the innermost line of the file made a node, not those that called it.
      min_line: the first line.
      max_line: the line after the last.

    Raises:
      ValueError: the dump has no graph.
    """
    wanted = _norm_abs_path(source_file_path)
    found: dict[int, list[str]] = {}
    for op in _graph_of(dump, "perform source annotation").get_operations():
        for path, line, _, _ in reversed(dump.node_traceback(op.name)):
            if not _is_between(line, min_line, max_line) or _norm_abs_path(path) != wanted:
                continue
            made = {key.rpartition(":")[0] for key in dump.debug_watch_keys(op.name)} if do_dumped_tensors else {op.name}
            found.setdefault(line, []).extend(made)
            if file_stack_top:
                break
    return found


def _is_between(line: int, first: int | None, end: int | None) -> bool:
    return (first is None or line >= first) and (end is None or line < end)


def list_source_files_against_dump(
    dump: DebugDumpDir, path_regex_whitelist: str | None = None, node_name_regex_whitelist: str | None = None
) -> list[tuple[str, bool, int, int, int, int]]:
    """The files whose lines made nodes, sorted.

    Args:
      dump: a dump with a graph, which has the tracebacks.
      path_regex_whitelist: a regular expression that paths begin with.
      node_name_regex_whitelist: a regular expression that names of nodes begin with.

    Returns:
      For each file its path, whether it is part of this library, how many nodes and tensors it made, how many values of these were
      dumped, and the first line that made one.

    Raises:
      ValueError: the dump has no graph.
    """
    nodes, tensors = collections.defaultdict(set), collections.defaultdict(set)
    first_lines: dict[str, int] = {}
    dumps: dict[str, int] = {}
    for op in _graph_of(dump, "generate source list").get_operations():
        if node_name_regex_whitelist and not re.match(node_name_regex_whitelist, op.name):
            continue
        names = {tensor.name for tensor in op.outputs}
        dumps.update((name, count) for name, count in _dumps_of(dump, op.name))
        for path, line, _, _ in frames_of_program(dump.node_traceback(op.name)):
            path = _norm_abs_path(path)
            if path_regex_whitelist and not re.match(path_regex_whitelist, path):
                continue
            nodes[path].add(op.name)
            tensors[path] |= names
            first_lines[path] = min(line, first_lines.get(path, line))
    return [
        (path, guess_is_tensorflow_py_library(path), len(nodes[path]), len(tensors[path]), sum(dumps.get(name, 0) for name in tensors[path]), first)
        for path, first in sorted(first_lines.items())
        if os.path.isfile(path)
    ]


def _dumps_of(dump: DebugDumpDir, node_name: str) -> Iterator[tuple[str, int]]:
    """The dumped tensors of a node, each with the number of its values, by the first debug op that watched it."""
    seen = set()
    for key in dump.debug_watch_keys(node_name):
        name = key.rpartition(":")[0]
        if name not in seen:
            seen.add(name)
            yield name, len(dump.watch_key_to_data(key))


def annotate_source_against_profile(
    profile_data: Iterable[ProfileDatum],
    source_file_path: str,
    node_name_filter: str | None = None,
    op_type_filter: str | None = None,
    min_line: int | None = None,
    max_line: int | None = None,
) -> dict[int, AggregateProfile]:
    """The times of what each line of a file made: number of the line, from 1 -> AggregateProfile.

    Args:
      profile_data: executions of nodes.
      source_file_path: the file.
      node_name_filter: a regular expression that names of nodes begin with.
      op_type_filter: a regular expression that types of nodes begin with.
      min_line: the first line.
      max_line: the line after the last.
    """
    wanted = _norm_abs_path(source_file_path)
    found: dict[int, AggregateProfile] = {}
    for datum in profile_data:
        if not datum.file_path or _norm_abs_path(datum.file_path) != wanted or not _is_between(datum.line_number, min_line, max_line):
            continue
        if node_name_filter and not re.match(node_name_filter, datum.node_exec_stats.node_name):
            continue
        if op_type_filter and not re.match(op_type_filter, datum.op_type):
            continue
        if datum.line_number in found:
            found[datum.line_number].add(datum)
        else:
            found[datum.line_number] = AggregateProfile(datum)
    return found
