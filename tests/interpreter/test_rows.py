"""Rows of the case tables on the interpreter, against what TensorFlow 1.15.5 gave for them: some of each table, or all.

    TFCOMPAT_INTERPRETED_ROWS=all pytest tests/interpreter/test_rows.py
"""

import importlib
import itertools
import os

import pytest
import test_cases

from tfcompat._src.runtime import interpreted

OF_EACH = 1


def is_computed(case):
    """Whether a session runs what the row builds."""
    return case.fetch and not case.error and not case.run


def rows():
    """All rows, or a few of each table: those that a session runs, from its middle on, where they are less plain."""
    for family in test_cases.FAMILIES:
        cases = importlib.import_module("cases." + family).TABLE.cases
        if os.environ.get("TFCOMPAT_INTERPRETED_ROWS") != "all":
            computed = [c for c in cases if is_computed(c)]
            cases = itertools.islice(computed, len(computed) // 2, len(computed) // 2 + OF_EACH)
        yield from (pytest.param(case, id=case.id) for case in cases)


@pytest.mark.parametrize("case", list(rows()))
def test_row(case, compiles, monkeypatch):
    monkeypatch.setattr(interpreted, "ENGINE", "interpret")
    test_cases.test_case(case, compiles)
