"""Functions with a backward function for JAX's reverse mode, which forward mode takes too: a `jax.custom_vjp` refuses that.

The derivative is a `jax.custom_jvp`, whose tangents come of a primitive: transposed, as reverse mode does, it is the backward function;
evaluated, as in forward mode, it is the transpose of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Primitive, ad, batching, mlir, x64

Value: TypeAlias = jax.Array | NDArray
Arrays: TypeAlias = Sequence[Value]
Function: TypeAlias = Callable[..., Arrays]
"""A function of arrays."""
Shapes: TypeAlias = tuple[jax.core.ShapedArray, ...]


class Backward(Protocol):
    """(arrays, results, cotangents of the results) -> cotangents of the arrays, None for one of zeros.

    `is_plain`: whether only first derivatives by the cotangents are asked, so that JAX may find all derivatives by itself.
    """

    def __call__(self, arrays: Arrays, results: Arrays, cotangents: Arrays, is_plain: bool, /) -> Sequence[Value | None]: ...


def with_backward(function: Function, backward: Backward) -> Function:
    """Returns `function`, of arrays that gives a list of arrays, with the derivative of `backward` in both modes. It captures no tracers."""

    @jax.custom_jvp
    def call(*arrays: Value) -> Arrays:
        return function(*arrays)

    @call.defjvp
    def derivative(arrays: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
        results = call(*arrays)
        moving = [i for i, array in enumerate(arrays) if _is_real(array)]
        varying = [i for i, result in enumerate(results) if _is_real(result)]
        kept = len(arrays) + len(results)

        def back(*values: Value, is_plain: bool = False) -> Arrays:
            given, found, behind = values[: len(arrays)], values[len(arrays) : kept], dict(zip(varying, values[kept:]))
            with x64():
                cotangents = backward(given, found, [behind.get(i, _no_tangent(result)) for i, result in enumerate(found)], is_plain)
                return [jnp.zeros_like(given[i]) if (cotangent := cotangents[i]) is None else cotangent for i in moving]

        def along(*values: Value) -> Arrays:
            # It is linear in cotangents, so that they may be any; some rules take zeros for a special case.
            start = [jnp.ones_like(values[len(arrays) + i]) for i in varying]
            with x64():
                _, transposed = jax.vjp(lambda *cotangents: back(*values[:kept], *cotangents, is_plain=True), *start)
                return list(transposed(list(values[kept:])))

        shapes = tuple([jax.typeof(results[i]) for i in varying])
        moved = _SLOPE.bind(*arrays, *results, *[tangents[i] for i in moving], along=along, back=back, kept=kept, shapes=shapes)
        slopes = dict(zip(varying, moved))
        return results, [slopes.get(i, _no_tangent(result)) for i, result in enumerate(results)]

    return call


def _is_real(array: Value) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _no_tangent(array: Value) -> NDArray:
    return np.zeros(np.shape(array), jax.dtypes.float0)


_SLOPE = Primitive("slope")
_SLOPE.multiple_results = True
"""(kept arrays, tangents) -> tangents of results of `shapes`: linear in the tangents. `along` evaluates it; `back` is its transpose."""


def _evaluated(*arrays: Value, along: Function, **_: object) -> Arrays:
    return along(*arrays)


def _shapes(*_: object, shapes: Shapes, **__: object) -> Shapes:
    return shapes


def _differentiated(arrays: Arrays, tangents: Sequence[Value | ad.Zero], *, along: Function, kept: int, **rest: object) -> tuple[Arrays, Arrays]:
    if all(isinstance(t, ad.Zero) for t in tangents[:kept]):
        ahead = [ad.instantiate_zeros(t) for t in tangents[kept:]]
        return _SLOPE.bind(*arrays, along=along, kept=kept, **rest), _SLOPE.bind(*arrays[:kept], *ahead, along=along, kept=kept, **rest)
    # What is kept has tangents of its own: this is a second derivative, which is JAX's.
    results, moved = jax.jvp(along, tuple(arrays), tuple([ad.instantiate_zeros(t) for t in tangents]))
    return results, moved


def _transposed(cotangents: Arrays, *arrays: Value, back: Function, kept: int, **_: object) -> list[Value | None]:
    found = back(*arrays[:kept], *[ad.instantiate_zeros(c) for c in cotangents])
    asked = [ad.is_undefined_primal(array) for array in arrays[kept:]]
    return [None] * kept + [cotangent if is_asked else None for cotangent, is_asked in zip(found, asked)]


def _batched(arrays: Arrays, axes: Sequence[int | None], *, along: Function, back: Function, kept: int, shapes: Shapes) -> tuple[Arrays, list[int]]:
    size = next(array.shape[axis] for array, axis in zip(arrays, axes) if axis is not None)
    # All tangents are batched, as all cotangents are.
    ahead = [batching.bdim_at_front(array, axis, size) for array, axis in zip(arrays[kept:], axes[kept:])]
    found = _SLOPE.bind(
        *arrays[:kept], *ahead, along=jax.vmap(along, (*axes[:kept], *[0] * len(ahead))), back=jax.vmap(back, (*axes[:kept], *[0] * len(shapes))),
        kept=kept, shapes=tuple([s.update(shape=(size, *s.shape)) for s in shapes]),
    )  # fmt: skip
    return found, [0] * len(found)


_SLOPE.def_impl(_evaluated)
_SLOPE.def_abstract_eval(_shapes)
ad.primitive_jvps[_SLOPE] = _differentiated
ad.primitive_transposes[_SLOPE] = _transposed
batching.primitive_batchers[_SLOPE] = _batched
mlir.register_lowering(_SLOPE, mlir.lower_fun(_evaluated, multiple_results=True))
