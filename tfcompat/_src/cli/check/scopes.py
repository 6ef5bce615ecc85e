"""The names of a scope and what they mean, as far as it can be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

OPAQUE = None
"""The meaning of a name that is none of a module: an argument, the result of a call, a definition of the program."""

Meaning = tuple[Any, ...]
"""What a name may mean: dotted paths ("tensorflow.layers"), modules of the program, OPAQUE. More than one where branches differ."""


@dataclass
class Scope:
    """A scope of Python: a module, a class, a function or a comprehension."""

    parent: Scope | None = None
    is_class: bool = False
    names: dict[str, Meaning] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    """Modules outside of the program whose names are all imported."""
    outer: set[str] = field(default_factory=set)
    """Names that `global` or `nonlocal` gives to the module."""

    def bind(self, name: str, meaning: Meaning) -> None:
        scope = self
        if name in self.outer:
            while scope.parent is not None:
                scope = scope.parent
        scope.names[name] = meaning

    def find(self, name: str) -> Meaning | None:
        """What a name means here, or None where no scope binds it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and not (scope.is_class and scope is not self):
                return scope.names[name]
            scope = scope.parent
        return None

    def all_stars(self) -> list[str]:
        own = self.parent.all_stars() if self.parent else []
        return self.stars + own


def joined(branches: Iterable[dict[str, Meaning]]) -> dict[str, Meaning]:
    """What names mean after a statement with several branches."""
    found: dict[str, dict[Any, None]] = {}
    for names in branches:
        for name, meaning in names.items():
            found.setdefault(name, {}).update(dict.fromkeys(meaning))
    return {name: tuple(meaning) for name, meaning in found.items()}
