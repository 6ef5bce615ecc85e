"""tf.enable_tensor_equality: `==` of tensors and variables compares elements where operations run when they are called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_LIBRARIES = frozenset(("tfcompat", "weakref", "_weakrefset", "copy", "collections", "functools"))
"""Whose code keeps tensors in sets and dicts by identity, in any case."""
_METHODS = ("__eq__", "__ne__", "__hash__")
_BY_IDENTITY = {kind: {name: kind.__dict__.get(name) for name in _METHODS} for kind in (Tensor, Variable)}


def _by_identity(caller: Any) -> bool:
    root = caller.f_globals.get("__name__", "").partition(".")[0]
    return root in _LIBRARIES or not executing_eagerly_outside_functions()


def _equal(self: Any, other: TensorLike) -> Tensor | bool:
    return self is other if _by_identity(sys._getframe(1)) else raw.Equal(self, other)


def _not_equal(self: Any, other: TensorLike) -> Tensor | bool:
    return self is not other if _by_identity(sys._getframe(1)) else raw.NotEqual(self, other)


def _hash(self: Any) -> int:
    if _by_identity(sys._getframe(1)):
        return id(self)
    kind = "Variable" if isinstance(self, Variable) else "Tensor"
    raise TypeError(f"{kind} is unhashable if Tensor equality is enabled. Instead, use tensor.experimental_ref() as the key.")


Tensor._USE_EQUALITY = False  # type: ignore[attr-defined]


@export("enable_tensor_equality")
def enable_tensor_equality() -> None:
    """From now on `==` and `!=` compare the elements of tensors and variables in eager execution, and these have no hash there.

    In graphs without eager execution they are compared by identity still.
    """
    Tensor._USE_EQUALITY = True  # type: ignore[attr-defined]
    for kind in _BY_IDENTITY:
        for name, method in zip(_METHODS, (_equal, _not_equal, _hash)):
            setattr(kind, name, method)


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """From now on tensors and variables are compared by identity and have a hash, as is so by default."""
    Tensor._USE_EQUALITY = False  # type: ignore[attr-defined]
    for kind, methods in _BY_IDENTITY.items():
        for name, method in methods.items():
            if method is not None:
                setattr(kind, name, method)
            elif name in kind.__dict__:
                delattr(kind, name)
