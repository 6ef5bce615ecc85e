"""`tf.app.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from absl import app

from tfcompat._src.base.export import export
from tfcompat._src.platform import flags as flags_module

flags = export("flags", "app.flags")(flags_module)


@export("app.run")
def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the flags it knows, runs the program's `main(argv)` with the rest, and exits with what that returns.

    Args:
      main: the function; `main` of the script if None.
      argv: the command line, program name first; `sys.argv` if None.
    """
    app.run(main or sys.modules["__main__"].main, argv=argv, flags_parser=parse_known_flags)


def parse_known_flags(argv: list[str] | None) -> list[str]:
    return flags_module.FLAGS(sys.argv if argv is None else argv, known_only=True)
