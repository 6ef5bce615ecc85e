"""`tensorflow.python.autograph.utils.ag_logging`: how much AutoGraph logs, and where."""

from __future__ import annotations

import os
import sys

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging

VERBOSITY_VAR_NAME = "AUTOGRAPH_VERBOSITY"
DEFAULT_VERBOSITY = 0
verbosity_level: int | None = None
"""What `set_verbosity` said last."""
echo_log_to_stdout = hasattr(sys, "ps1")
"""Whether what is logged is printed too."""


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much AutoGraph logs.

    Args:
      level: 0 logs warnings only; from 1 on each function that is converted is logged too.
      alsologtostdout: whether that is printed as well.
    """
    global verbosity_level, echo_log_to_stdout
    verbosity_level, echo_log_to_stdout = level, alsologtostdout


@export("autograph.trace")
def trace(*args: object) -> None:
    """Prints its arguments when a function is traced.

    Args:
      args: what to print.
    """
    print(*args)


def get_verbosity() -> int:
    """How much is logged: what `set_verbosity` said, else the environment variable AUTOGRAPH_VERBOSITY."""
    return int(os.getenv(VERBOSITY_VAR_NAME, DEFAULT_VERBOSITY)) if verbosity_level is None else verbosity_level


def has_verbosity(level: int) -> bool:
    """Whether messages of a level are logged."""
    return get_verbosity() >= level


def log(level: int, msg: str, *args: object, **kwargs: object) -> None:
    """Logs a message of a level."""
    if has_verbosity(level):
        logging.info(msg, *args, **kwargs)
        _echo(msg % args)


def error(level: int, msg: str, *args: object, **kwargs: object) -> None:
    """Logs an error of a level."""
    if has_verbosity(level):
        logging.error(msg, *args, **kwargs)
        _echo("ERROR: " + msg % args)


def warn(msg: str, *args: object, **kwargs: object) -> None:
    """Logs a warning."""
    logging.warn(msg, *args, **kwargs)
    _echo("WARNING: " + msg % args)


def _echo(text: str) -> None:
    if echo_log_to_stdout:
        print(text)
