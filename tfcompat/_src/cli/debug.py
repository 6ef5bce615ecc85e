"""`tfcompat debug DIR`: looks at what a debugged run has dumped."""

from __future__ import annotations

import argparse
import sys

from tfcompat._src.base import errors
from tfcompat._src.debug.cli.offline_analyzer import analyze
from tfcompat._src.debug.cli.ui_factory import SUPPORTED_UI_TYPES
from tfcompat._src.debug.page import write_page

ARGUMENTS = "DIR [--ui_type curses|readline] [--no_validate] [--html FILE]"


def main(arguments: list[str]) -> int:
    """Shows a dump in a user interface, or writes a page of it; the exit status, 1 where the dump cannot be read.

    Args:
      arguments: the folder of a run, and options.
    """
    parser = argparse.ArgumentParser(prog="tfcompat debug", description="the tensors and nodes of a debugged run")
    parser.add_argument("dump", metavar="DIR", help="folder of a run, which tfdbg has written; for a page also one with such folders")
    parser.add_argument("--ui_type", choices=SUPPORTED_UI_TYPES, default="curses", help="user interface; readline where there is no terminal")
    parser.add_argument("--no_validate", action="store_true", help="take a dump whose tensors do not agree with its graphs")
    parser.add_argument("--html", metavar="FILE", help="write a page with all tensors and the graph, which needs no network, in place of a user interface")
    found = parser.parse_args(arguments)
    try:
        if found.html is None:
            analyze(found.dump, found.ui_type, not found.no_validate)
        else:
            write_page(found.dump, found.html, not found.no_validate)
    except (OSError, ValueError, errors.OpError) as e:
        sys.stderr.write(f"tfcompat debug: {e}\n")
        return 1
    return 0
