"""`tf.logging`: Python's logger "tensorflow", whose lines read LEVEL:tensorflow:message on stderr."""

from __future__ import annotations

import collections
import functools
import logging
import sys
from typing import Any

from tfcompat._src.base.export import export

DEBUG = export("logging.DEBUG")(logging.DEBUG)
ERROR = export("logging.ERROR")(logging.ERROR)
FATAL = export("logging.FATAL")(logging.FATAL)
INFO = export("logging.INFO")(logging.INFO)
WARN = export("logging.WARN")(logging.WARNING)

CALLS: collections.Counter[tuple[str, int]] = collections.Counter()
"""Calls of `log_every_n` and `log_first_n` from each place."""
FROM_CALLER = 2
"""Stack level of whoever called a function of this module."""


@export("get_logger")
@functools.cache
def get_logger() -> logging.Logger:
    """The logger named "tensorflow"; it gets a handler of its own if the root logger has none when it is first used."""
    logger = logging.getLogger("tensorflow")
    if not logging.getLogger().handlers:
        interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
        if interactive:
            logger.setLevel(INFO)
        handler = logging.StreamHandler(sys.stdout if interactive else sys.stderr)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger


@export("logging.log", "logging.vlog")
def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at `level`."""
    get_logger().log(level, msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


vlog = log


@export("logging.debug")
def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level DEBUG."""
    get_logger().debug(msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


@export("logging.info")
def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level INFO."""
    get_logger().info(msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


@export("logging.warning", "logging.warn")
def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level WARN."""
    get_logger().warning(msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


warn = warning


@export("logging.error")
def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level ERROR."""
    get_logger().error(msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


@export("logging.fatal")
def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level FATAL; the program goes on."""
    get_logger().critical(msg, *args, **{"stacklevel": FROM_CALLER, **kwargs})


@export("logging.TaskLevelStatusMessage")
def TaskLevelStatusMessage(msg: str) -> None:  # noqa: N802
    """Logs `msg` at level ERROR."""
    get_logger().error(msg, stacklevel=FROM_CALLER)


@export("logging.flush")
def flush() -> None:
    """Not there in TensorFlow 1.15 either.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError()


@export("logging.log_every_n")
def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs `msg % args` on the first and every `n`-th further call from one place (see `calls_before`)."""
    if calls_before() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=FROM_CALLER)


@export("logging.log_first_n")
def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs `msg % args` on the first `n` calls from one place (see `calls_before`)."""
    if calls_before() < n:
        get_logger().log(level, msg, *args, stacklevel=FROM_CALLER)


@export("logging.log_if")
def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Logs `msg % args` if `condition` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=FROM_CALLER)


def calls_before() -> int:
    """How often the calling place has called `log_every_n` or `log_first_n` before.

    As in TensorFlow 1.15 the place is the line that called into the caller's file; all calls from the program's own
    file count together.
    """
    frame = sys._getframe(2)
    own_file = frame.f_code.co_filename
    while frame is not None and frame.f_code.co_filename == own_file:
        frame = frame.f_back  # type: ignore[assignment]
    place = ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    CALLS[place] += 1
    return CALLS[place] - 1


@export("logging.get_verbosity")
def get_verbosity() -> int:
    """The level from which on messages are logged."""
    return get_logger().getEffectiveLevel()


@export("logging.set_verbosity")
def set_verbosity(v: int | str) -> None:
    """Logs messages of level `v` and above only."""
    get_logger().setLevel(v)
