"""The version of TensorFlow before 1.0 that a process runs as, and what a program of unknown version leaves open."""

from __future__ import annotations

import sys

BEFORE_1 = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "0.12")
BEFORE_1_5 = ("1.0", "1.1", "1.2", "1.3", "1.4")
ALL = (*BEFORE_1, *BEFORE_1_5, *(f"1.{minor}" for minor in range(5, 16)))


def is_old(version: str | None) -> bool:
    """Whether a version is one that 1.15 differs from in what `tfcompat run` knows."""
    return version in (*BEFORE_1, *BEFORE_1_5)


class Version:
    """The version of this process, once `tfcompat run` has chosen it.

    Args:
      text: such as "0.12"; None for TensorFlow 1.15.
      is_given: whether the command line names it.
    """

    def __init__(self, text: str | None = None, is_given: bool = False) -> None:
        self.text, self.is_given = text, is_given
        self._has_told = False

    def lstm_state_is_tuple(self) -> bool:
        """Whether a cell of LSTM whose constructor does not say it keeps its state as a tuple; says so once where nobody has named the version."""
        is_tuple = self.text in ("0.11", "0.12")
        if not (self.is_given or self._has_told):
            self._has_told = True
            sys.stderr.write(
                "tfcompat: a cell of the program leaves out state_is_tuple: the state is a tuple, as in TensorFlow 0.11 and 0.12. "
                "Until 0.10 it was one tensor: --tf 0.10 makes it that\n"
            )
        return is_tuple


CURRENT = Version()
