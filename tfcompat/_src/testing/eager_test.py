"""`tensorflow.python.eager.test`: a program of tests in eager mode."""

from __future__ import annotations

from tfcompat._src.eager.mode import enable_eager_execution
from tfcompat._src.testing import googletest


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of `__main__` in eager mode."""
    enable_eager_execution()
    googletest.main(argv)
