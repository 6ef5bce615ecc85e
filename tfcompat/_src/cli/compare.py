"""`tfcompat compare`: compares two records of one program."""

from __future__ import annotations

import argparse
import sys

from tfcompat._src.replay import report
from tfcompat._src.replay.compare import Comparison
from tfcompat._src.replay.page import page
from tfcompat._src.replay.record import Record, RecordError

ARGUMENTS = "RECORD RECORD [--exact] [--tolerance FACTOR] [--html FILE]"


def main(arguments: list[str]) -> int:
    """Compares two records; returns 0 where all runs agree, 1 where one differs or is missing, 2 where a record cannot be read."""
    parser = argparse.ArgumentParser(prog="tfcompat compare", description="Names the first run, tensor and node in which two records differ.")
    parser.add_argument("one", metavar="RECORD", help="a record")
    parser.add_argument("other", metavar="RECORD", help="another, of the same program")
    parser.add_argument("--exact", action="store_true", help="every bit must agree")
    parser.add_argument("--tolerance", type=float, default=1.0, metavar="FACTOR", help="multiply tolerances, which grow with the number of the run, by this (1)")
    parser.add_argument("--html", metavar="FILE", help="also write a page with the curves of scalars and a table of tensors by difference")
    options = parser.parse_args(arguments)
    try:
        one, other = Record(options.one), Record(options.other)
        found = Comparison(one, other, options.exact, options.tolerance)
        for record in (one, other):
            print(*report.about(record), sep="\n")
        print(*found.lines(), sep="\n")
        if options.html is not None:
            with open(options.html, "w", encoding="utf-8") as file:
                file.write(page(found))
    except (RecordError, OSError) as e:
        sys.stderr.write(f"tfcompat compare: {e}\n")
        return 2
    return 0 if found.agrees else 1
