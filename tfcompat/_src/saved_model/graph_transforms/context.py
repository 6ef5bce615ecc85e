"""What a transform of the Graph Transform Tool is given, and the table of transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.base import errors


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


@dataclass(frozen=True)
class Context:
    """A transform's name, the names of the graph's inputs and outputs, and the values that each parameter was given."""

    transform: str
    inputs: list[str]
    outputs: list[str]
    parameters: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ends(self) -> set[str]:
        """The nodes of the inputs and outputs."""
        return {node_of(name) for name in (*self.inputs, *self.outputs)}

    def one(self, name: str, default: str | None = None) -> str:
        """The value of a parameter; InvalidArgumentError where it comes more than once, or never and there is no default."""
        given = self.parameters.get(name, [] if default is None else [default])
        if len(given) != 1:
            raise invalid(f"{self.transform} takes one parameter {name}, as in {self.transform}({name}=value); it came {len(given)} times.")
        return given[0]

    def integer(self, name: str, default: int) -> int:
        """The value of a parameter that is an integer; InvalidArgumentError where it is none."""
        text = self.one(name, str(default))
        try:
            return int(text)
        except ValueError:
            raise invalid(f"The parameter {name} of {self.transform} must be an integer, but is {text!r}.") from None

    def truth(self, name: str, default: bool) -> bool:
        """The value of a parameter that is true or false; InvalidArgumentError where it is neither."""
        text = self.one(name, str(default)).lower()
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        raise invalid(f"The parameter {name} of {self.transform} must be true or false, but is {text!r}.")


Transform = Callable[[Any, Context], Any]
TRANSFORMS: dict[str, Transform] = {}
"""The function of each transform: of a GraphDef, which stays as it is, and a Context; it gives the nodes, or a GraphDef."""


def transform(name: str) -> Callable[[Transform], Transform]:
    """Puts a function into the table."""

    def add(function: Transform) -> Transform:
        TRANSFORMS[name] = function
        return function

    return add


def node_of(name: str) -> str:
    """The node that an input of another node comes from."""
    return name.removeprefix("^").partition(":")[0]


def with_slot(name: str) -> str:
    """The name of an input with the number of the output."""
    return name if ":" in name else f"{name}:0"


def is_control(name: str) -> bool:
    return name.startswith("^")


def copied(node: Any) -> Any:
    """A copy of a NodeDef, to be changed."""
    made = type(node)()
    made.CopyFrom(node)
    return made
