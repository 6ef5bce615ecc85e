"""`tfcompat recorder`: prints the program that records runs in an old environment."""

from __future__ import annotations

import sys

from tfcompat._src.replay import recorder

ARGUMENTS = "> tf1_record.py"
USAGE = f"""usage: tfcompat recorder {ARGUMENTS}

Prints a file of pure Python, which records the runs of a program where it has TensorFlow 1.4 to 1.15 (Python 2.7, 3.5 and later):

  python tf1_record.py --out rec --all-tensors train.py ARGS

tfcompat replay rec then runs the record here, and compares.
"""


def main(arguments: list[str]) -> int:
    """Prints the recorder's source; returns the exit status."""
    if arguments:
        (sys.stdout if arguments[0] in ("-h", "--help") else sys.stderr).write(USAGE)
        return 0 if arguments[0] in ("-h", "--help") else 2
    with open(recorder.__file__, encoding="utf-8") as file:
        sys.stdout.write(file.read())
    return 0
