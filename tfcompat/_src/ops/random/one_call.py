"""Drawing functions that are one call in a trace: JAX traces each once for a size, and an evaluation in NumPy computes the call by NumPy's form of it."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.jax_compat import ClosedJaxpr
from tfcompat._src.ops.random.philox import FORM

Array = Any

IN_NUMPY: weakref.WeakKeyDictionary[ClosedJaxpr, Callable[..., list[Array]]] = weakref.WeakKeyDictionary()
"""By the trace that is called: from a key, a counter and the other arrays that the function takes, to its results.
JAX makes other traces of it, under the same name, that compute parts: when it differentiates a loop, say. These are not here."""


def one_call(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a trace have a drawing function as one call; in NumPy it stays what it is.

    Args:
      static: which parameters are no arrays, of those after the namespace, a key and a counter.
    """

    def decorate(draw: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(draw).parameters)[3:]

        def traced(key: Array, counter: Array, *arguments: Any) -> Any:
            return draw(jnp, key, counter, *arguments)

        traced.__name__ = f"tfcompat_{draw.__name__}"
        call = jax.jit(traced, static_argnums=[2 + i for i, n in enumerate(names) if n in static])

        @functools.wraps(draw)
        def drawn(xp: ModuleType, key: Array, counter: Array, *arguments: Any) -> Any:
            if xp is np or FORM.is_portable:
                return draw(xp, key, counter, *arguments)
            given = [a if n in static else None for n, a in zip(names, arguments)]
            IN_NUMPY[call.trace(key, counter, *arguments).jaxpr] = functools.partial(_in_numpy, draw, given)
            return call(key, counter, *arguments)

        return drawn

    return decorate


def _in_numpy(draw: Callable[..., Any], given: list[Any], key: Array, counter: Array, *arrays: Array) -> list[Array]:
    """The results of a drawing function for arrays, which stand where None is in `given`."""
    rest = iter(arrays)
    found = draw(np, key, counter, *[next(rest) if a is None else a for a in given])
    return list(found) if isinstance(found, tuple) else [found]
