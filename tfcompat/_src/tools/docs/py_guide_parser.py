"""Reads guides, which are Markdown files, line by line."""

from __future__ import annotations

import os
import re


def md_files_in_dir(py_guide_src_dir: str) -> list[tuple[str, str]]:
    """(path, file name) of each Markdown file in a folder."""
    every = [(os.path.join(py_guide_src_dir, name), name) for name in os.listdir(py_guide_src_dir)]
    return [(path, name) for path, name in every if name.endswith(".md") and os.path.isfile(path)]


class PyGuideParser:
    """Calls one of its methods for each line of a guide, which subclasses override to note or replace lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def process(self, full_path: str) -> str:
        """Reads a file, calls a method for each line, and returns the text with replaced lines."""
        with open(full_path, "rb") as file:
            self._lines = file.read().decode("utf-8").split("\n")
        seen: set[str] = set()
        in_code = False
        for number, line in enumerate(self._lines):
            in_code ^= "```" in line
            if in_code:
                self.process_in_blockquote(number, line)
            elif line.startswith("# "):
                self.process_title(number, line[2:])
            elif line.startswith("## "):
                self.process_section(number, line.strip()[3:], self._tag(line, seen))
            else:
                self.process_line(number, line)
        text = "\n".join(self._lines)
        self._lines = []
        return text

    def _tag(self, line: str, seen: set[str]) -> str:
        """The id of a section: the one that its heading states in braces, or its words, with a number where another has the same."""
        stated = re.search(r" {([^}]+)} *$", line)
        tag = base = stated.group(1) if stated else re.sub("[^a-zA-Z0-9]+", "_", line.strip()[3:])
        count = 0
        while not stated and tag in seen:
            tag, count = f"{base}_{count}", count + 1
        seen.add(tag)
        return tag

    def replace_line(self, line_number: int, line: str) -> None:
        """Puts `line` in the place of a line of the file that is read."""
        self._lines[line_number] = line

    def process_title(self, line_number: int, title: str) -> None:
        """Takes the text of a first-level heading."""

    def process_section(self, line_number: int, section_title: str, tag: str) -> None:
        """Takes the text and the id of a second-level heading."""

    def process_in_blockquote(self, line_number: int, line: str) -> None:
        """Takes a line of code."""

    def process_line(self, line_number: int, line: str) -> None:
        """Takes any other line."""
