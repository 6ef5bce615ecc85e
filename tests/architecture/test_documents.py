"""The documents show what happens: their examples are run."""

import doctest
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_examples(path):
    failed, tried = doctest.testfile(str(path), module_relative=False)
    assert tried and not failed


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_files_that_are_named_exist(path):
    there = {p.name for p in (ROOT / "tfcompat").rglob("*.py")}
    named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", path.read_text())}
    assert named and named <= there
