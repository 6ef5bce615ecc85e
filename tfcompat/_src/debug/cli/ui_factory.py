"""Chooses the user interface."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from tfcompat._src.debug.cli.base_ui import BaseUI, UnavailableError

SUPPORTED_UI_TYPES = ["curses", "readline"]
_CLASSES = {
    "curses": ("tfcompat._src.debug.cli.curses_ui", "CursesUI"),
    "readline": ("tfcompat._src.debug.cli.readline_ui", "ReadlineUI"),
}
"""The module and class of each interface: Python's modules `curses` and `readline` are not there on every system."""


def get_ui(
    ui_type: str | None, on_ui_exit: Callable[[], Any] | None = None, available_ui_types: list[str] | None = None, config: object = None
) -> BaseUI:
    """A user interface, or another of the available ones where this one cannot be shown: curses needs a terminal.

    Args:
      ui_type: "curses" or "readline"; curses if None.
      on_ui_exit: a function that is called when the interface is left.
      available_ui_types: those that may be chosen from, SUPPORTED_UI_TYPES if None.
      config: the settings, a CLIConfig; those of the home folder if None.

    Raises:
      ValueError: `ui_type` is not available, or none can be shown.
    """
    left = list(SUPPORTED_UI_TYPES if available_ui_types is None else available_ui_types)
    if ui_type and ui_type not in left:
        raise ValueError("Invalid ui_type: '%s'" % ui_type)
    wanted = ui_type or "curses"
    if wanted == "curses" and "readline" in left and not _is_terminal():
        wanted = "readline"
    module, name = _CLASSES[wanted]
    try:
        shown: BaseUI = getattr(importlib.import_module(module), name)(on_ui_exit=on_ui_exit, config=config)
    except (ImportError, UnavailableError):
        left = [other for other in left if other != wanted]
        if not left:
            raise ValueError("Exhausted all fallback ui_types.")
        return get_ui(left[0], on_ui_exit, left, config)
    return shown


def _is_terminal() -> bool:
    """Whether a person types and looks at a terminal that can be drawn on."""
    files = (sys.stdin, sys.stdout)
    return all(file is not None and not file.closed and file.isatty() for file in files) and os.environ.get("TERM", "dumb") != "dumb"
