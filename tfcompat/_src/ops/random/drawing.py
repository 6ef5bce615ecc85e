"""Drawing functions, which are one call in a trace."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.one_call import one_call
from tfcompat._src.ops.random.philox import FORM

Array = Any


def drawing(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a trace have a drawing function as one call; in NumPy it stays what it is.

    Args:
      static: which parameters are no arrays, of those after the namespace, a key and a counter.
    """

    def decorate(draw: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(draw).parameters)[1:]

        def traced(*arguments: Any) -> Any:
            return draw(jnp, *arguments)

        traced.__name__ = f"tfcompat_{draw.__name__}"
        call = one_call(traced, functools.partial(draw, np), [names.index(n) for n in static])

        @functools.wraps(draw)
        def drawn(xp: ModuleType, key: Array, counter: Array, *arguments: Any) -> Any:
            if xp is np or FORM.is_portable:
                return draw(xp, key, counter, *arguments)
            return call(key, counter, *arguments)

        return drawn

    return decorate
