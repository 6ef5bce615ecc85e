"""`tensorflow.python.autograph.core.config`: the modules whose functions are converted, or run as they are."""

from __future__ import annotations

import enum
from typing import Any


class Action(enum.Enum):
    """What a rule says of a module."""

    NONE = 0
    CONVERT = 1
    DO_NOT_CONVERT = 2


class Rule:
    """A rule for a module and all modules in it."""

    _action = Action.NONE

    def __init__(self, module_prefix: str) -> None:
        self._prefix = module_prefix

    def __str__(self) -> str:
        return f"{type(self).__name__} rule for {self._prefix}"

    def matches(self, module_name: str) -> bool:
        """Whether the rule is for a module."""
        return module_name == self._prefix or module_name.startswith(self._prefix + ".")

    def get_action(self, module: Any) -> Action:
        """What the rule says of a module: NONE where it is for others."""
        return self._action if self.matches(module.__name__) else Action.NONE


class Convert(Rule):
    """Functions of these modules are converted."""

    _action = Action.CONVERT


class DoNotConvert(Rule):
    """Functions of these modules run as they are."""

    _action = Action.DO_NOT_CONVERT


_PYTHON = (
    "collections", "copy", "cProfile", "inspect", "ipdb", "linecache", "mock", "pathlib", "pdb", "posixpath", "pstats", "re", "threading",
)  # fmt: skip
_LIBRARIES = ("numpy", "tensorflow", "tensorflow_probability", "tensorflow_datasets.core")
CONVERSION_RULES: tuple[Rule, ...] = tuple(map(DoNotConvert, (*_PYTHON, *_LIBRARIES, "tfcompat", "jax", "jaxlib")))
"""The first rule that is for a module counts."""
