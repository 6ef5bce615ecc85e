"""Functions of arrays with symbolic sizes (`jax.export.symbolic_shape`), from functions that compute with numbers while they are traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from tfcompat._src.runtime.latency.merged_traces import Differing, Fit, MergedTrace

_CORNERS, _CHECKED = (256, 257), (255, 258, 259, 260)
"""Sizes that are traced, beyond those that are special to kernels and to the unrolling of loops. They have all remainders of division by up to
5, so that a number that a stride makes (as of padding) is no polynomial of them.
"""
_MOST_SYMBOLS = 3


def is_symbolic(arrays: Sequence[Any]) -> bool:
    """Whether any size of the arrays is a symbol."""
    return any(not isinstance(size, int) for array in arrays for size in array.shape)


def call(function: Callable[..., Any], arguments: object) -> Any:
    """`function(*arguments)` where sizes of arguments are symbols.

    Args:
      function: of arrays, traced for numbers only. arguments: a tuple of trees of arrays.

    Raises:
      NotImplementedError: the function computes something else for other sizes, or a size is an expression such as 2*b; it names what.
    """
    leaves, tree = jax.tree.flatten(arguments)
    symbols = list(dict.fromkeys(size for leaf in leaves for size in leaf.shape if not isinstance(size, int)))
    if not all(str(symbol).isidentifier() for symbol in symbols) or len(symbols) > _MOST_SYMBOLS:
        raise NotImplementedError(f"Symbolic sizes must be at most {_MOST_SYMBOLS} plain names, but got {', '.join(map(str, symbols))}.")
    points = [*itertools.product(_CORNERS, repeat=len(symbols)), *([size] * len(symbols) for size in _CHECKED)]
    points = [tuple(size + 60 * i for i, size in enumerate(point)) for point in points]  # no two symbols are equal
    made = []
    for point in points:
        numbers = dict(zip(symbols, point))
        shaped = [jax.ShapeDtypeStruct([numbers.get(size, size) for size in leaf.shape], leaf.dtype) for leaf in leaves]
        made.append(jax.make_jaxpr(function, return_shape=True)(*jax.tree.unflatten(tree, shaped)))
    try:
        outputs = MergedTrace(Fit(points), [jaxpr for jaxpr, _ in made], "the function")(symbols, leaves)
    except (Differing, jax.errors.InconclusiveDimensionOperation) as error:
        raise NotImplementedError(f"With symbolic sizes this run has no JAX function: {error}") from None
    return jax.tree.unflatten(jax.tree.structure(made[0][1]), outputs)
