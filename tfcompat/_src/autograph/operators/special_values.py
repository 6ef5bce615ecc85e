"""`tensorflow.python.autograph.operators.special_values`: what stands for a variable that has no value."""

from __future__ import annotations

from typing import Any


class Undefined:
    """Stands for a variable that has no value yet.

    Attributes:
      symbol_name: the name of the variable.
    """

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def __repr__(self) -> str:
        return f"<undefined {self.symbol_name}>"


class UndefinedReturnValue:
    """What a function returns where no `return` was met."""


def is_undefined(value: object) -> bool:
    """Whether a value is an Undefined."""
    return isinstance(value, Undefined)


def is_undefined_return(value: object) -> bool:
    """Whether a value says that no `return` was met."""
    return isinstance(value, UndefinedReturnValue)


def retval(value: object) -> Any:
    """What the caller of a function gets: None where no `return` was met."""
    return None if is_undefined_return(value) else value
