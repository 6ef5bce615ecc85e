"""What a tf.function of a method is bound to."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class TfMethodTarget:
    """Stands in the place of the object of a bound method, without keeping it alive.

    Args:
      target: a weak reference to the object. original_python_function: the method, as a function of the object and its arguments.
    """

    def __init__(self, target: Callable[[], Any], original_python_function: Callable) -> None:
        self.weakrefself_target__ = target
        self.weakrefself_func__ = weakref.ref(original_python_function)

    @property
    def target(self) -> Any:
        """The object; None where it is gone."""
        return self.weakrefself_target__()

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls the method."""
        function: Any = self.weakrefself_func__()
        return getattr(function, "__func__", function)(self.target, *args, **kwargs)
