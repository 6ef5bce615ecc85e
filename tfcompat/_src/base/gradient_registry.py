"""Gradients registered by name: for `gradient_override_map`, and for op types from user code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export

_REGISTRY: dict[str, Callable[..., Any] | None] = {}


@export("RegisterGradient")
class RegisterGradient:
    """Decorator that registers `f(op, *grads) -> list of input gradients` under a name.

    The name is an op type, or one that `Graph.gradient_override_map` maps to.

    Raises:
      TypeError: the name is no string. KeyError: it is taken.
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
    """Says that op type `op_type` is not differentiable; TypeError where it is no string."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _add(op_type, None)


def is_registered(name: str) -> bool:
    return name in _REGISTRY


def lookup(name: str) -> Callable[..., Any] | None:
    """The registered function, or None for not differentiable; LookupError where there is none."""
    if name not in _REGISTRY:
        raise LookupError(f"gradient registry has no entry for: {name}")
    return _REGISTRY[name]
