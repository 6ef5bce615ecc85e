"""Log lines that TensorBoard shows: they go to an event file and to the log of the program."""

from __future__ import annotations

import time
from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

DEBUG = "DEBUG"
INFO = "INFO"
WARN = "WARN"
ERROR = "ERROR"
FATAL = "FATAL"

_EVENT_LEVELS = {
    DEBUG: messages.LogMessage.DEBUGGING, INFO: messages.LogMessage.INFO, WARN: messages.LogMessage.WARN,
    ERROR: messages.LogMessage.ERROR, FATAL: messages.LogMessage.FATAL,
}  # fmt: skip
_LOG_LEVELS = {DEBUG: logging.DEBUG, INFO: logging.INFO, WARN: logging.WARN, ERROR: logging.ERROR, FATAL: logging.FATAL}
_NOT_SET = object()
_state: dict[str, Any] = {"verbosity": WARN, "writer": _NOT_SET}


def _check_level(level: str) -> None:
    if level not in _EVENT_LEVELS:
        raise ValueError(f"Level {level} is not a valid tensorboard_logging level")


def get_verbosity() -> str:
    """The lowest level that goes to the event file."""
    return _state["verbosity"]


def set_verbosity(verbosity: str) -> None:
    """Sets the lowest level that goes to the event file; ValueError where it is none."""
    _check_level(verbosity)
    _state["verbosity"] = verbosity


def set_summary_writer(summary_writer: object) -> None:
    """Sets the FileWriter; None: only the log of the program is written."""
    _state["writer"] = summary_writer


def _clear_summary_writer() -> None:
    _state["writer"] = _NOT_SET


def log(level: str, message: str, *args: object) -> None:
    """Writes `message % args`.

    Raises:
      RuntimeError: no writer was set. ValueError: `level` is none.
    """
    writer = _state["writer"]
    if writer is _NOT_SET:
        raise RuntimeError("Must call set_summary_writer before doing any logging from tensorboard_logging")
    _check_level(level)
    if writer and _EVENT_LEVELS[level] >= _EVENT_LEVELS[get_verbosity()]:
        line = messages.LogMessage(level=_EVENT_LEVELS[level], message=message % args)
        writer.add_event(messages.Event(wall_time=time.time(), log_message=line))
    logging.log(_LOG_LEVELS[level], message, *args)


def debug(message: str, *args: object) -> None:
    log(DEBUG, message, *args)


def info(message: str, *args: object) -> None:
    log(INFO, message, *args)


def warn(message: str, *args: object) -> None:
    log(WARN, message, *args)


def error(message: str, *args: object) -> None:
    log(ERROR, message, *args)


def fatal(message: str, *args: object) -> None:
    log(FATAL, message, *args)
