"""`tfcompat check`: says which names a program uses that tfcompat, or today's Python and NumPy, lack, without running it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from tfcompat._src.cli.check import files, names_of_others, names_of_tensorflow, report
from tfcompat._src.cli.check.program import Program
from tfcompat._src.shim.install import install_as_tensorflow

ARGUMENTS = "[--json] [--all] PATH..."
_EPILOG = "Exit status: 0 where nothing is missing, 1 where something is, 2 where there is nothing to read or the command line is wrong."
_FEW = 50


def main(arguments: list[str]) -> int:
    """Prints the report on the files and folders that `arguments` name, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="tfcompat check", description="Reads programs and notebooks without running them, and says what will not run.", epilog=_EPILOG
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a .py or .ipynb file, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print all names with their places as JSON")
    parser.add_argument("--all", action="store_true", help="print the names that work, too")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 2
    try:
        paths = list(dict.fromkeys(files.programs(options.paths)))
    except OSError as e:
        sys.stderr.write(f"tfcompat check: cannot read {e.filename}: {e.strerror}\n")
        return 2
    if not paths:
        sys.stderr.write(f"tfcompat check: no .py or .ipynb file in {', '.join(options.paths)}\n")
        return 2
    install_as_tensorflow()
    found = report.make(Program(paths, _brings, names_of_others.WATCHED), _progress(len(paths)))
    print(json.dumps(found.as_data(), indent=1) if options.json else report.text(found, options.all), end="\n" if options.json else "")
    return 1 if found.stops() else 0


def _brings(module: str, name: str) -> bool:
    of = names_of_tensorflow if names_of_tensorflow.is_of_tensorflow(module) else names_of_others
    return of.brings(module, name)


def _progress(files_in_all: int) -> Callable[[int], None]:
    """What is told how many files are read: it writes to a terminal, where there are many files."""
    is_shown = files_in_all > _FEW and sys.stderr.isatty()

    def show(count: int) -> None:
        if is_shown and (count % 10 == 0 or count == files_in_all):
            sys.stderr.write(f"\rtfcompat check: {count} of {files_in_all} files" + ("\r\033[K" if count == files_in_all else ""))
            sys.stderr.flush()

    return show
