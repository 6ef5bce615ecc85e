"""Functions that compose to networks: `f | g`, `f ** n`, `f + g` and `f * g`, and arguments that are given before the input."""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable as AnyCallable
from typing import Any

from tfcompat._src.base.export import export

QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
KEYWORDS = re.compile(r"\b(def|exec|import|while)\b")
debug_ = False


@export("contrib.specs.check_keywords")
def check_keywords(spec: str) -> None:
    """Refuses statements that a specification should not need.

    Raises:
      ValueError: `import`, `while`, `def` or `exec` stands in it, outside of quotes.
    """
    found = KEYWORDS.search(QUOTED.sub("", spec))
    if found:
        raise ValueError(f"The specification {spec!r} has the keyword {found[0]!r}; it may assign expressions only.")


@export("contrib.specs.get_positional")
def get_positional(args: Any, kw: dict[str, Any], kw_overrides: bool = False) -> tuple[Any, dict[str, Any]]:
    """Moves keyword arguments named `_0`, `_1`, ... to the positional arguments that they number.

    Args:
      args: positional arguments.
      kw: keyword arguments.
      kw_overrides: whether a numbered argument replaces a positional one that is not None.

    Returns:
      Positional and keyword arguments.
    """
    numbered = {int(key[1:]): value for key, value in kw.items() if key.startswith("_")}
    if not numbered:
        return args, kw
    filled = list(args) + [None] * (max(numbered) + 1 - len(args))
    filled = [numbered[i] if i in numbered and (kw_overrides or given is None) else given for i, given in enumerate(filled)]
    return filled, {key: value for key, value in kw.items() if not key.startswith("_")}


@export("contrib.specs.Composable")
class Composable:
    """What can be composed with others: it has `funcall`, a function of one input."""

    def funcall(self, x: Any) -> Any:
        """The function's value for an input."""
        raise NotImplementedError(f"{type(self).__name__} does not define funcall.")

    def __or__(self, f: Composable) -> Composable:
        return Composition(self, f)

    def __add__(self, g: Composable) -> Composable:
        return Operator(operator.add, self, g)

    def __mul__(self, g: Composable) -> Composable:
        return Operator(operator.mul, self, g)

    def __pow__(self, n: int) -> Composable:
        if n < 0:
            raise AssertionError(f"A network cannot be repeated {n} times; the exponent must not be negative.")
        repeated: Composable = self if n else Function(lambda x: x)
        for _ in range(n - 1):
            repeated = repeated | self
        return repeated


@export("contrib.specs.Callable")
class Callable(Composable):
    """A function of one input."""

    def __init__(self, f: AnyCallable[[Any], Any]) -> None:
        self.f = f

    def funcall(self, x: object) -> Any:
        return self.f(x)


@export("contrib.specs.Operator")
class Operator(Composable):
    """An operator on the values of several functions for the same input."""

    def __init__(self, op: AnyCallable[..., Any], *args: Composable) -> None:
        self.op = op
        self.funs = args

    def funcall(self, x: object) -> Any:
        return self.op(*(each.funcall(x) for each in self.funs))


@export("contrib.specs.Function")
class Function(Composable):
    """A function with arguments that are remembered until its input comes; a call gives it more of them, before the earlier ones.

    Raises:
      ValueError: `f` cannot be called.
    """

    def __init__(self, f: AnyCallable[..., Any], *args: Any, **kw: Any) -> None:
        if not callable(f):
            raise ValueError(f"A function of a specification must be callable; {f!r} is not.")
        self.f = f
        self.args = list(args)
        self.kw = kw

    def __call__(self, *args: Any, **kw: Any) -> Function:
        return Function(self.f, *args, *self.args, **{**self.kw, **kw})

    def funcall(self, x: Any) -> Any:
        args, kw = get_positional(self.args, self.kw)
        if debug_:
            print("DEBUG:", self.f, x, args, kw)
        return self.f(x, *args, **kw)


@export("contrib.specs.Composition")
class Composition(Composable):
    """One function of another one's value."""

    def __init__(self, f: Composable, g: Composable) -> None:
        self.f = f
        self.g = g

    def funcall(self, x: object) -> Any:
        return self.g.funcall(self.f.funcall(x))


@export("contrib.specs.External")
def External(module_name: str, function_name: str) -> Function:
    """A function of a module, which is imported by its full name."""
    return Function(vars(importlib.import_module(module_name))[function_name])


@export("contrib.specs.Import")
def Import(statements: str) -> Function:
    """The function that statements assign to `f`.

    Raises:
      ValueError: They assign nothing to `f`.
    """
    found: dict[str, Any] = {}
    exec(statements, found)  # noqa: S102 (statements of the caller's own program)
    if "f" not in found:
        raise ValueError(f"The statements {statements!r} do not assign the function to the name f.")
    return Function(found["f"])


@export("contrib.specs.debug")
def debug(mode: bool = True) -> None:
    """Says whether each function of a network prints its arguments when it is applied."""
    global debug_
    debug_ = mode
