"""`tf.flags`: absl's flags; `FLAGS` parses the command line when a flag is first read; old argument names are taken."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

from absl import flags as absl_flags
from absl.flags import *  # noqa: F403

RENAMED_ARGUMENTS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class FlagValues:
    """absl's flag values, parsed from `sys.argv` when a flag is read before anything has parsed them."""

    def __init__(self, values: absl_flags.FlagValues) -> None:
        self.__dict__["__wrapped"] = values

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        if name == "__dict__":
            return own
        values = own["__wrapped"]
        if name in values and not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["__wrapped"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped"])

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["__wrapped"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["__wrapped"][name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["__wrapped"]

    def __len__(self) -> int:
        return len(self.__dict__["__wrapped"])

    def __iter__(self) -> Any:
        return iter(self.__dict__["__wrapped"])

    def __str__(self) -> str:
        return str(self.__dict__["__wrapped"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["__wrapped"](*args, **kwargs)


def taking_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """`define`, which also takes the argument names of TensorFlow before 1.5."""

    @functools.wraps(define)
    def defining(*args: Any, **kwargs: Any) -> Any:
        old = RENAMED_ARGUMENTS.keys() & kwargs.keys()
        if old:
            logging.warning(
                "Use of the keyword argument names (flag_name, default_value, docstring) is deprecated, "
                "please use (name, default, help) instead."
            )
        return define(*args, **{RENAMED_ARGUMENTS.get(name, name): value for name, value in kwargs.items()})

    return defining


absl_flags.disclaim_key_flags()
DEFINE_string = taking_old_names(absl_flags.DEFINE_string)
DEFINE_boolean = taking_old_names(absl_flags.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = taking_old_names(absl_flags.DEFINE_float)
DEFINE_integer = taking_old_names(absl_flags.DEFINE_integer)
FLAGS = FlagValues(absl_flags.FLAGS)
