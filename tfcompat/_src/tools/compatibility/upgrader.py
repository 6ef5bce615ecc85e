"""Upgrades files and trees of files by an APIChangeSpec, with a report."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from tfcompat._src.platform import temporary_files
from tfcompat._src.tools.compatibility import written_tree
from tfcompat._src.tools.compatibility.api_changes import APIChangeSpec, Log
from tfcompat._src.tools.compatibility.editor import Editor

_LINE = "-" * 80 + "\n"
_DOUBLE = "=" * 80 + "\n"

Outcome = tuple[int, str, list[str]]
"""How many files were upgraded, the report, and the messages that need attention."""


class ASTCodeUpgrader:
    """Upgrades programs by an APIChangeSpec."""

    def __init__(self, api_change_spec: APIChangeSpec) -> None:
        if not isinstance(api_change_spec, APIChangeSpec):
            raise TypeError(f"Must pass APIChangeSpec to ASTCodeUpgrader, got {type(api_change_spec)}")
        self._spec = api_change_spec

    def update_string_pasta(self, text: str, in_filename: str) -> tuple[int, str, list[str], list[str]]:
        """Upgrades a program's text: 1 (0 where it is not Python), the new text, all messages, and those that need attention."""
        try:
            tree = written_tree.parse(text)
        except (SyntaxError, ValueError):
            return 0, "", ["ERROR: Failed to parse.\n" + traceback.format_exc()], []
        logs, attention = self._spec.preprocess(tree)
        editor = Editor(self._spec)
        editor.visit(tree)
        self._spec.clear_preprocessing()
        return (
            1,
            written_tree.write(tree),
            [self.format_log(log, None) for log in [*logs, *editor.log]],
            [self.format_log(log, in_filename) for log in [*attention, *editor.warnings_and_errors]],
        )

    def format_log(self, log: Log, in_filename: str | None) -> str:
        """A message as a line of the report."""
        level, line, column, message = log
        return f"{in_filename}:" * bool(in_filename) + f"{line}:{column}: {level}: {message}"

    def report(self, log: list[str], in_filename: str, out_filename: str) -> str:
        """The part of the report for one file."""
        head = f"Processing file {in_filename!r}\n outputting to {out_filename!r}\n"
        return _LINE + head + _LINE + "\n" + "\n".join(log) + "\n" + _LINE + "\n"

    def process_opened_file(self, in_filename: str, in_file: TextIO, out_filename: str, out_file: TextIO | None) -> Outcome:
        """Upgrades what `in_file` holds into `out_file`."""
        processed, text, log, attention = self.update_string_pasta("".join(in_file.readlines()), in_filename)
        if out_file and processed:
            out_file.write(text)
        return processed, self.report(log, in_filename, out_filename), attention

    def process_file(self, in_filename: str, out_filename: str) -> Outcome:
        """Upgrades a file into another, or in place. The new file is empty where the old one is not Python."""
        with open(in_filename, encoding="utf-8") as file:
            processed, text, log, attention = self.update_string_pasta(file.read(), in_filename)
        temporary_files.write_whole(out_filename, text.encode())
        return processed, self.report(log, in_filename, out_filename), attention

    def process_tree(self, root_directory: str, output_root_directory: str, copy_other_files: bool) -> tuple[int, str, dict[str, list[str]]]:
        """Upgrades the Python files of a folder into a new folder; other files are copied if asked for."""
        if output_root_directory == root_directory:
            return self.process_tree_inplace(root_directory)
        _check_new(root_directory, output_root_directory)
        files = [_Pair.of(path, root_directory, output_root_directory) for path in _files_below(root_directory)]
        total = _Total(root_directory)
        for pair in files:
            if not pair.source.endswith(".py"):
                continue
            os.makedirs(os.path.dirname(pair.target), exist_ok=True)
            if os.path.islink(pair.source):
                total.report += _copy_link(pair, files, root_directory, output_root_directory)
            else:
                total.add(pair.source, self.process_file(pair.source, pair.target))
        for pair in files:
            if copy_other_files and not pair.source.endswith(".py"):
                os.makedirs(os.path.dirname(pair.target), exist_ok=True)
                shutil.copy(pair.source, pair.target)
        return total.count, total.report, total.attention

    def process_tree_inplace(self, root_directory: str) -> tuple[int, str, dict[str, list[str]]]:
        """Upgrades the Python files of a folder in place."""
        total = _Total(root_directory)
        for path in [path for path in _files_below(root_directory) if path.endswith(".py")]:
            if os.path.islink(path):
                total.report += f"Skipping symlink {path}.\n"
            else:
                total.add(path, self.process_file(path, path))
        return total.count, total.report, total.attention


class _Pair(NamedTuple):
    """A file and the file that is made from it."""

    source: str
    target: str

    @classmethod
    def of(cls, path: str, root: str, new_root: str) -> _Pair:
        return cls(path, os.path.join(new_root, os.path.relpath(path, root)))


class _Total:
    """What the upgrades of several files come to."""

    def __init__(self, root: str) -> None:
        self.count = 0
        self.report = _DOUBLE + f"Input tree: {root!r}\n" + _DOUBLE
        self.attention: dict[str, list[str]] = {}

    def add(self, path: str, outcome: Outcome) -> None:
        self.count += 1
        self.report += outcome[1]
        self.attention[path] = outcome[2]


def _files_below(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names)


def _check_new(root: str, new_root: str) -> None:
    if new_root and os.path.exists(new_root):
        print(f"Output directory {new_root!r} must not already exist.")
        raise SystemExit(1)
    if os.path.split(os.path.normpath(root)) == os.path.split(os.path.normpath(new_root)):
        print(f"Output directory {root!r} same as input directory {new_root!r}")
        raise SystemExit(1)


def _copy_link(pair: _Pair, files: list[_Pair], root: str, new_root: str) -> str:
    """Makes the new folder's link: to the upgraded file where its target is upgraded too; returns what the report says of it."""
    target = os.readlink(pair.source)
    moved = _Pair.of(target, root, new_root)
    if moved in files:
        os.symlink(moved.target, pair.target)
        return ""
    os.symlink(target, pair.target)
    return f"Copying symlink {pair.source} without modifying its target {target}"
