"""`tf.flags`: absl's flags under their names; `FLAGS` parses the command line when a flag is first read.

Programs list `tf.flags`, so the module's own names begin with an underscore.
"""

import functools as _functools
import logging as _logging
import sys as _sys
from collections.abc import Callable as _Callable
from typing import Any as _Any

from absl import flags as _absl_flags
from absl.flags import *  # noqa: F403

_RENAMED_ARGUMENTS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _FlagValuesWrapper:
    """Flag values of absl, which read `sys.argv` when a flag is asked for before anything has parsed them.

    Args:
      flags_object: the absl.flags.FlagValues; all but reading a flag is done by it.
    """

    def __init__(self, flags_object: _absl_flags.FlagValues) -> None:
        self.__dict__["__wrapped"] = flags_object

    def __getattribute__(self, name: str) -> _Any:
        if name == "__dict__":
            return super().__getattribute__(name)
        return self.__dict__["__wrapped"].__getattribute__(name)

    def __getattr__(self, name: str) -> _Any:
        values = self.__dict__["__wrapped"]
        if name.startswith("__") and name.endswith("__"):  # what Python asks of every object is no flag
            raise AttributeError(name)
        if not values.is_parsed():
            values(_sys.argv)
        return values.__getattr__(name)

    def __setattr__(self, name: str, value: _Any) -> None:
        setattr(self.__dict__["__wrapped"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["__wrapped"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["__wrapped"])

    def __getitem__(self, name: str) -> _Any:
        return self.__dict__["__wrapped"][name]

    def __setitem__(self, name: str, flag: _Any) -> None:
        self.__dict__["__wrapped"][name] = flag

    def __len__(self) -> int:
        return len(self.__dict__["__wrapped"])

    def __iter__(self) -> _Any:
        return iter(self.__dict__["__wrapped"])

    def __str__(self) -> str:
        return str(self.__dict__["__wrapped"])

    def __call__(self, *args: _Any, **kwargs: _Any) -> _Any:
        return self.__dict__["__wrapped"](*args, **kwargs)


def _wrap_define_function(define: _Callable[..., _Any]) -> _Callable[..., _Any]:
    """`define`, which also takes the argument names of TensorFlow before 1.5."""

    @_functools.wraps(define)
    def defining(*args: _Any, **kwargs: _Any) -> _Any:
        old = _RENAMED_ARGUMENTS.keys() & kwargs.keys()
        if old:
            _logging.warning(
                "Use of the keyword argument names (flag_name, default_value, docstring) is deprecated, "
                "please use (name, default, help) instead."
            )
        return define(*args, **{_RENAMED_ARGUMENTS.get(name, name): value for name, value in kwargs.items()})

    return defining


_absl_flags.disclaim_key_flags()
DEFINE_string = _wrap_define_function(_absl_flags.DEFINE_string)
DEFINE_boolean = _wrap_define_function(_absl_flags.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = _wrap_define_function(_absl_flags.DEFINE_float)
DEFINE_integer = _wrap_define_function(_absl_flags.DEFINE_integer)
FLAGS = _FlagValuesWrapper(_absl_flags.FLAGS)
