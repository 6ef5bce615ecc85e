"""The gradient registry: for each name its rule, 1.15's of all op types and those that a program registers or puts in their place.

`ops._gradient_registry` of 1.15 is GRADIENTS here. Programs read and change its `_registry`, a mapping from names to `{"type": rule, "location":
...}`; gradients of operations and `Graph.gradient_override_map` look their rules up in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tfcompat._src.base.export import export

Rule = Callable[..., Any]
Entry = dict[str, Any]
"""The record of a rule, as programs see and change it."""
"""`rule(op, *grads)` returns the gradients of the inputs: one, or a list."""


class HasType(Protocol):
    """An operation, of which a rule of several op types reads the type."""

    @property
    def type(self) -> str:
        """The op type."""


class Location(NamedTuple):
    """Where an entry was registered, with the names of 1.15's frames."""

    filename: str
    lineno: int
    name: str


class _OpTypes:
    """A slot, filled by the layer that has the rules: an op type -> its rule (None if it has no gradient), and where it was registered."""

    rule_of: Callable[[str], tuple[Rule | None, Location]]


def fill_rules(rule_of: Callable[[str], tuple[Rule | None, Location]]) -> None:
    """Sets the function that returns the rule and the location of an op type which 1.15 registers."""
    _OpTypes.rule_of = staticmethod(rule_of)


@functools.cache
def registered_in_tensorflow() -> dict[str, str | None]:
    """Returns the names under which 1.15 registers gradients of op types, and the function ("module:name"; None: not differentiable)."""
    lines = Path(__file__).with_name("registered_gradients.txt").read_text().splitlines()
    pairs = (line.split(" ") for line in lines)
    return {name: None if function == "none" else function for name, function in pairs}


class _Entries(MutableMapping[str, Entry]):
    """Name -> `{"type": rule or None, "location": Location}`. Entries of op types are made when they are first read.

    Attributes:
      made: the entries that exist. rules: those of 1.15 for op types, as far as they were asked for. deleted: op types without an entry.
    """

    def __init__(self) -> None:
        self.made: dict[str, Entry] = {}
        self.rules: dict[str, Rule | None] = {}
        self.deleted: set[str] = set()

    def __getitem__(self, name: str) -> Entry:
        if name not in self.made:
            if name not in self:
                raise KeyError(name)
            location = _OpTypes.rule_of(name)[1]
            self.made[name] = {"type": self.original(name), "location": location}
        return self.made[name]

    def original(self, name: str) -> Rule | None:
        """Returns the rule that 1.15 registers for an op type, whatever the program has put in its place."""
        if name not in self.rules:
            self.rules[name] = _OpTypes.rule_of(name)[0]
        return self.rules[name]

    def __setitem__(self, name: str, entry: Entry) -> None:
        self.made[name] = entry
        self.deleted.discard(name)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.made.pop(name, None)
        if name in registered_in_tensorflow():
            self.deleted.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self.made or name in registered_in_tensorflow() and name not in self.deleted

    def __iter__(self) -> Iterator[str]:
        names = registered_in_tensorflow()
        yield from [name for name in names if name not in self.deleted]
        yield from [name for name in self.made if name not in names]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_changed(self, name: str) -> bool:
        """Whether a program has registered, replaced or deleted the rule under a name."""
        if name in self.deleted:
            return True
        entry = self.made.get(name)
        return entry is not None and not (name in self.rules and entry["type"] is self.rules[name])


class GradientRegistry:
    """1.15's registry object: `lookup`, `list`, `register`, and the mapping `_registry`."""

    def __init__(self) -> None:
        self._name = "gradient"
        self._registry = _Entries()

    def register(self, candidate: Rule | None, name: str | None = None) -> None:
        """Adds a rule, or None for an op type without a gradient, under `name`; raises KeyError if that is taken."""
        if not name:
            name = getattr(candidate, "__name__", "")
        if name in self._registry:
            at = self._registry[name]["location"]
            raise KeyError(f"Registering two gradient with name '{name}'! (Previous registration was in {at.name} {at.filename}:{at.lineno})")
        caller = sys._getframe(2)
        self._registry[name] = {"type": candidate, "location": Location(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)}

    def list(self) -> list[str]:
        """Returns all names."""
        return [*self._registry]

    def lookup(self, name: str) -> Rule | None:
        """Returns the rule under a name, or None for one that is not differentiable; raises LookupError for other names."""
        if name not in self._registry:
            raise LookupError(f"gradient registry has no entry for: {name}")
        rule: Rule | None = self._registry[name]["type"]
        return rule


GRADIENTS = GradientRegistry()
"""The registry of the process."""


def rule_of_function(function: str) -> Rule | None:
    """Returns the rule that a function of 1.15 ("tensorflow.python.ops.nn_grad:_ReluGrad") is, or None if it registers no such function.

    The rule of a function that is registered for several op types is that of the operation's type.
    """
    op_types = [name for name, registered in registered_in_tensorflow().items() if registered == function]
    rules = {name: GRADIENTS._registry.original(name) for name in op_types}
    if len(op_types) < 2:
        return next(iter(rules.values()), None)

    def rule(op: HasType, *grads: object) -> object:
        chosen = rules.get(op.type) or rules[op_types[0]]
        return chosen(op, *grads)  # type: ignore[misc]  # 1.15 has a function for the type, so that there is a rule

    return rule


def is_changed(op_type: str) -> bool:
    """Whether the program has registered, replaced or deleted the gradient of an op type."""
    return GRADIENTS._registry.is_changed(op_type)


@export("RegisterGradient")
class RegisterGradient:
    """Decorator that registers `f(op, *grads)`, which returns the gradients of the inputs, under a name.

    The name is an op type, or a name to which `Graph.gradient_override_map` maps an op type.

    Raises:
      TypeError: the name is no string. KeyError: the name is taken.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Rule) -> Rule:
        GRADIENTS.register(f, self._op_type)
        return f


@export("NoGradient", "NotDifferentiable", "no_gradient")
def no_gradient(op_type: str) -> None:
    """Registers the op type `op_type` as not differentiable; raises TypeError if it is no string, KeyError if it is registered."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    GRADIENTS.register(None, op_type)
