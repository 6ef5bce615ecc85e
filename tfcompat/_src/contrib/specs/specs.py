"""Networks of a line of text: `net = (Cr(64, [5, 5]) | Mp([2, 2])) ** 3 | Fs(10)`."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.specs import params_ops, specs_lib, specs_ops


def _bindings(statements: str, words: types.ModuleType, environment: dict[str, Any] | None) -> dict[str, Any]:
    """What names mean after the statements, which may use the names of a module and of the environment."""
    specs_lib.check_keywords(statements)
    bound = dict(environment or {})
    exec(statements, vars(words), bound)  # noqa: S102 (statements of the caller's own program)
    return bound


@export("contrib.specs.eval_params")
def eval_params(params: str, environment: dict[str, Any] | None = None) -> dict[str, Any]:
    """The values that statements give to names; they may use `params_ops`.

    Args:
      params: assignments.
      environment: values of names that the statements may use.

    Returns:
      The environment with the names that the statements assign.

    Raises:
      ValueError: A keyword stands in the statements that they should not need.
    """
    return _bindings(params, params_ops, environment)


@export("contrib.specs.eval_spec")
def eval_spec(spec: str, environment: dict[str, Any] | None = None) -> dict[str, Any]:
    """The networks that statements give to names; they may use `specs_ops`.

    Args:
      spec: assignments.
      environment: values of names that the statements may use.

    Returns:
      The environment with the names that the statements assign.

    Raises:
      ValueError: A keyword stands in the statements that they should not need.
    """
    return _bindings(spec, specs_ops, environment)


@export("contrib.specs.create_net_fun")
def create_net_fun(spec: str, environment: dict[str, Any] | None = None) -> Callable[[Any], Any]:
    """The function of one input that statements assign to `net`.

    Args:
      spec: assignments, one of them to `net`.
      environment: values of names that the statements may use.

    Raises:
      ValueError: Nothing is assigned to `net`, or a keyword stands in the statements that they should not need.
    """
    net = eval_spec(spec, environment).get("net")
    if net is None:
        raise ValueError(f"The specification {spec!r} does not assign the network to the name net.")
    return net.funcall


@export("contrib.specs.create_net")
def create_net(spec: str, inputs: object, environment: dict[str, Any] | None = None) -> Any:
    """The outputs of the network that statements assign to `net`, for `inputs`; see `create_net_fun`."""
    return create_net_fun(spec, environment)(inputs)


@export("contrib.specs.LocalImport")
class LocalImport:
    """A context in which the caller's module has more global names.

    Args:
      names: dict or module with the names; those of Python's own form (`__name__`) are left out.
    """

    def __init__(self, names: object) -> None:
        held = names if isinstance(names, dict) else vars(names)
        self.names = {name: value for name, value in held.items() if not name.startswith("__")}

    def __enter__(self) -> None:
        self.bindings = sys._getframe(1).f_globals
        self.old = {name: self.bindings[name] for name in self.names if name in self.bindings}
        self.bindings.update(self.names)

    def __exit__(self, *of_exception: Any) -> None:
        for name in self.names:
            self.bindings.pop(name, None)
        self.bindings.update(self.old)


ops = export("contrib.specs.ops")(LocalImport(specs_ops))
