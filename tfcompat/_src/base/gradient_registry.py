"""Gradient functions registered by name: for `gradient_override_map`, and for op types whose gradient a program defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export

_REGISTRY: dict[str, Callable[..., Any] | None] = {}


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

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        _add(self._op_type, f)
        return f


def _add(op_type: str, function: Callable[..., Any] | None) -> None:
    if op_type in _REGISTRY:
        raise KeyError(f"Registering two gradient with name '{op_type}'!")
    _REGISTRY[op_type] = function


@export("NoGradient", "NotDifferentiable", "no_gradient")
def no_gradient(op_type: str) -> None:
    """Registers the op type `op_type` as not differentiable; raises TypeError if it is no string, KeyError if it is registered."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _add(op_type, None)


def is_registered(name: str) -> bool:
    return name in _REGISTRY


def lookup(name: str) -> Callable[..., Any] | None:
    """Returns the registered function, or None for a name that is not differentiable; raises LookupError for other names."""
    if name not in _REGISTRY:
        raise LookupError(f"gradient registry has no entry for: {name}")
    return _REGISTRY[name]
