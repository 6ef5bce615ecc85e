"""Functions that are one call in a trace: JAX traces each once for sizes, and an evaluation in NumPy computes the call by a form of its own."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection
from typing import TypeVar, cast

import jax

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr

T = TypeVar("T")

IN_NUMPY: weakref.WeakKeyDictionary[ClosedJaxpr, Callable[..., list[NDArray]]] = weakref.WeakKeyDictionary()
"""By the trace that is called: from the arrays that the function takes to its results.
JAX makes other traces of it, under the same name, that compute parts: when it differentiates a loop, say. These are not here."""


def one_call(function: Callable[..., T], in_numpy: Callable[..., object], static: Collection[int] = ()) -> Callable[..., T]:
    """A function that, where it is traced, is one call.

    Args:
      function: of arrays of JAX, gives one or a tuple. in_numpy: the same of NumPy arrays, which gives arrays that share no memory with them.
      static: the positions of arguments that are no arrays.
    """
    call = jax.jit(function, static_argnums=tuple(static))

    @functools.wraps(function)
    def called(*arguments: object) -> T:
        given = {i: arguments[i] for i in static}
        IN_NUMPY[call.trace(*arguments).jaxpr] = functools.partial(_computed, in_numpy, given)
        return cast(T, call(*arguments))

    return called


def _computed(in_numpy: Callable[..., object], given: dict[int, object], *arrays: NDArray) -> list[NDArray]:
    """The results for arrays, with what is `given` by position between them."""
    rest = iter(arrays)
    found = in_numpy(*[given[i] if i in given else next(rest) for i in range(len(given) + len(arrays))])
    return list(found) if isinstance(found, tuple) else [cast(NDArray, found)]
