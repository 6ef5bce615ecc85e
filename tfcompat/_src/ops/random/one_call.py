"""Drawing functions that are one call in a trace: JAX traces each once for a size, and an evaluation in NumPy computes the call by NumPy's form of it."""

from __future__ import annotations

import functools
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

IN_NUMPY: weakref.WeakKeyDictionary[ClosedJaxpr, Callable[..., Array]] = weakref.WeakKeyDictionary()
"""By the trace that is called: from a key, a counter, the shape and dtype of the result, and other arrays that the function takes, to the result.
JAX makes other traces of it, under the same name, that compute parts: when it differentiates a loop, say. These are not here."""
_STATIC = ("size", "dtype")


def one_call(takes: str = "size dtype") -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Makes a trace have a drawing function as one call; in NumPy it stays what it is.

    Args:
      takes: what the function takes after the namespace, a key and a counter: `size`, the elements of its flat result, `dtype`, and arrays.
    """
    names = takes.split()

    def decorate(draw: Callable[..., Array]) -> Callable[..., Array]:
        def in_numpy(key: Array, counter: Array, result: Any, *arrays: Array) -> Array:
            given = {"size": result.shape[0], "dtype": result.dtype}
            rest = iter(arrays)
            return draw(np, key, counter, *[given[n] if n in given else next(rest) for n in names])

        def traced(key: Array, counter: Array, *arguments: Any) -> Array:
            return draw(jnp, key, counter, *arguments)

        traced.__name__ = f"tfcompat_{draw.__name__}"
        call = jax.jit(traced, static_argnums=[2 + i for i, n in enumerate(names) if n in _STATIC])

        @functools.wraps(draw)
        def drawn(xp: ModuleType, key: Array, counter: Array, *arguments: Any) -> Array:
            if xp is np or FORM.is_portable:
                return draw(xp, key, counter, *arguments)
            IN_NUMPY[call.trace(key, counter, *arguments).jaxpr] = in_numpy
            return call(key, counter, *arguments)

        return drawn

    return decorate
