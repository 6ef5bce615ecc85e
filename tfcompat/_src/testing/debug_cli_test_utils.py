"""Assertions about screens of the debugger."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_AROUND_VALUES = re.compile(r"array|[()\[\]|,]")


def assert_lines_equal_ignoring_whitespace(test: Any, expected_lines: Sequence[str], actual_lines: Sequence[str]) -> None:
    """Asserts, as the TestCase `test`, that lines are equal but for spaces."""
    test.assertEqual(["".join(line.split()) for line in expected_lines], ["".join(line.split()) for line in actual_lines])


def assert_array_lines_close(test: Any, expected_array: Any, array_lines: Sequence[str]) -> None:
    """Asserts, as the TestCase `test`, that the numbers in the text of an array are close to those of `expected_array`, of any shape."""
    words = _AROUND_VALUES.sub(" ", " ".join(array_lines)).split()
    test.assertAllClose(np.ravel(expected_array), [float(word) for word in words])
