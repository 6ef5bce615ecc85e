"""A weak reference to the object of a method that a tf.function wraps."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class TfMethodTarget:
    """Takes the place of a bound method's object without keeping it alive.

    Args:
      target: a weak reference to the object.
      original_python_function: the method, as a function of the object and its arguments.
    """

    def __init__(self, target: Callable[[], Any], original_python_function: Callable) -> None:
        self.weakrefself_target__ = target
        self.weakrefself_func__ = weakref.ref(original_python_function)

    @property
    def target(self) -> Any:
        """The object, or None if it is gone."""
        return self.weakrefself_target__()

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls the method."""
        function: Any = self.weakrefself_func__()
        return getattr(function, "__func__", function)(self.target, *args, **kwargs)
