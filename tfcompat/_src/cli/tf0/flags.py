"""`tf.flags` and `tf.app.run` until TensorFlow 1.4: argparse reads the command line, passes over what it does not know, and takes `--flag False`."""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable
from typing import Any

_PARSER = argparse.ArgumentParser()


class FlagValues:
    """The values of the flags, which parse the command line when one is first read or set.

    Programs read them as `FLAGS.__dict__["__flags"]` and as `FLAGS.__flags`.
    """

    def __init__(self) -> None:
        self.__dict__.update({"__flags": {}, "__parsed": False})

    def _parse_flags(self, args: list[str] | None = None) -> list[str]:
        known, others = _PARSER.parse_known_args(args)
        self.__dict__["__flags"].update(vars(known))
        self.__dict__["__parsed"] = True
        return others

    def _values(self) -> dict[str, Any]:
        if not self.__dict__["__parsed"]:
            self._parse_flags()
        values: dict[str, Any] = self.__dict__["__flags"]
        return values

    def __getattr__(self, name: str) -> Any:
        values = self._values() if not (name.startswith("__") and name.endswith("__")) else {}  # what Python asks of every object is no flag
        if name not in values:
            raise AttributeError(name)
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._values()[name] = value


def _define(kind: Callable[[str], Any]) -> Callable[[str, Any, str], None]:
    def define(flag_name: str, default_value: Any, docstring: str) -> None:
        _PARSER.add_argument(f"--{flag_name}", default=default_value, help=docstring, type=kind)

    return define


def _define_boolean(flag_name: str, default_value: Any, docstring: str) -> None:
    """Defines `--flag`, `--flag true`, `--flag=false` and `--noflag`."""

    def is_true(text: str) -> bool:
        return text.lower() in ("true", "t", "1")

    _PARSER.add_argument(f"--{flag_name}", nargs="?", const=True, default=default_value, help=docstring, type=is_true)
    _PARSER.add_argument(f"--no{flag_name}", action="store_false", dest=flag_name.replace("-", "_"))


FLAGS = FlagValues()


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the flags, runs the program's `main` with what is left of the command line, and exits with what that returns."""
    others = FLAGS._parse_flags(argv[1:] if argv else None)
    sys.exit((main or sys.modules["__main__"].main)(sys.argv[:1] + others))


MODULE = types.ModuleType("tensorflow.python.platform.flags", __doc__)
vars(MODULE).update(
    FLAGS=FLAGS, DEFINE_bool=_define_boolean, DEFINE_boolean=_define_boolean, DEFINE_float=_define(float), DEFINE_integer=_define(int), DEFINE_string=_define(str)
)
