"""Functions that stay one call in a trace: JAX traces each once per shapes, and the interpreter runs a NumPy form of the whole call."""

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
"""The jaxpr of a call -> a function from its input arrays to its outputs, in NumPy.
The keys are jaxprs, not names: JAX also makes jaxprs of the same name that compute only parts, such as those of a differentiated loop."""


def one_call(function: Callable[..., T], in_numpy: Callable[..., object], static: Collection[int] = ()) -> Callable[..., T]:
    """Returns `function` jitted, so that it is one call in a trace, and registers its NumPy form for each jaxpr.

    Args:
      function: a function of JAX arrays that returns an array or a tuple of arrays.
      in_numpy: the same function of NumPy arrays; its results share no memory with its arguments.
      static: positions of the arguments that are not arrays.
    """
    call = jax.jit(function, static_argnums=tuple(static))

    @functools.wraps(function)
    def called(*arguments: object) -> T:
        # JAX caches the trace by shapes and static arguments, so this registers the jaxpr that the call below refers to.
        given = {i: arguments[i] for i in static}
        IN_NUMPY[call.trace(*arguments).jaxpr] = functools.partial(_computed, in_numpy, given)
        return cast(T, call(*arguments))

    return called


def _computed(in_numpy: Callable[..., object], given: dict[int, object], *arrays: NDArray) -> list[NDArray]:
    """Calls `in_numpy` with the arrays and, at their positions, the static arguments `given`; returns a list of the results."""
    rest = iter(arrays)
    result = in_numpy(*[given[i] if i in given else next(rest) for i in range(len(given) + len(arrays))])
    return list(result) if isinstance(result, tuple) else [cast(NDArray, result)]
