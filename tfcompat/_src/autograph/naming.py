"""`tensorflow.python.autograph.core.naming`: names for what a conversion makes."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable
from typing import Any

from tfcompat._src.autograph.pyct.qual_names import QN
from tfcompat._src.autograph.utils import capitalize_initial


class _NamingStyle(enum.Enum):
    SNAKE = 1
    CAMEL = 2


class Namer:
    """Gives names that are not among those of a namespace, and not among those that it gave.

    Args:
      global_namespace: the names that are taken.
    """

    def __init__(self, global_namespace: Collection[str]) -> None:
        self.global_namespace = global_namespace
        self.generated_names: set[str] = set()

    def _as_symbol_name(self, fqn: str | tuple[str, ...], style: _NamingStyle = _NamingStyle.SNAKE) -> str:
        """A dotted name, or its parts, as one identifier."""
        parts = (".".join(fqn) if isinstance(fqn, tuple) else fqn).split(".")
        return "_".join(parts) if style is _NamingStyle.SNAKE else "".join(map(capitalize_initial, parts))

    def class_name(self, original_fqn: str | tuple[str, ...]) -> str:
        """The name of the class that a class becomes."""
        return self._free(f"Tf{self._as_symbol_name(original_fqn, _NamingStyle.CAMEL)}", 0, self.global_namespace)

    def function_name(self, original_fqn: str | tuple[str, ...]) -> str:
        """The name of the function that a function becomes."""
        return self._free(f"tf__{self._as_symbol_name(original_fqn)}", 0, self.global_namespace)

    def new_symbol(self, name_root: str, reserved_locals: Iterable[Any]) -> str:
        """A name that begins with `name_root`, whose own number is counted on.

        Args:
          name_root: the beginning. reserved_locals: names that are taken too, as strings or as QNs.

        Raises:
          ValueError: one of them is something else.
        """
        reserved: set[str] = set()
        for each in reserved_locals:
            if not isinstance(each, (QN, str)):
                raise ValueError(f'Unexpected symbol type "{type(each)}"')
            reserved.update(each.qn if isinstance(each, QN) else (each,))
        stem, _, last = name_root.rpartition("_")
        root, number = (stem, int(last)) if last.isdigit() else (name_root, 0)
        return self._free(root, number, {*self.global_namespace, *reserved, *self.generated_names})

    def _free(self, root: str, number: int, taken: Collection[str]) -> str:
        """The first name that is not taken: `root`, or `root` with a number behind it."""
        name = root
        while name in taken:
            number += 1
            name = f"{root}_{number}"
        self.generated_names.add(name)
        return name
