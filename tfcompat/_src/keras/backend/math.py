"""Arithmetic, comparisons and reductions of tf.keras.backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.math import binary, compare, reduce, scan, unary
from tfcompat._src.ops.math.cast import cast as cast_to
from tfcompat._src.ops.math.clip import clip_by_value


@export("keras.backend.cast")
def cast(x: object, dtype: object) -> Tensor:
    """`x` with elements of another type."""
    return cast_to(x, dtype)


def _unary(function: Callable, doc: str) -> Callable:
    def call(x: object) -> Tensor:
        return function(x)

    call.__name__, call.__doc__ = function.__name__, doc
    return call


def _binary(function: Callable, doc: str) -> Callable:
    def call(x: object, y: object) -> Tensor:
        return function(x, y)

    call.__name__, call.__doc__ = function.__name__, doc
    return call


def _reduction(function: Callable, doc: str, prepare: Callable = lambda x: x) -> Callable:
    def call(x: object, axis: object = None, keepdims: bool = False) -> Tensor:
        return function(prepare(x), axis=axis, keepdims=keepdims)

    call.__name__, call.__doc__ = function.__name__, doc
    return call


def _as_number(x: Any) -> Any:
    return cast_to(x, floatx()) if x.dtype.base_dtype == dtypes.bool else x


def _as_bool(x: object) -> Tensor:
    return cast_to(x, dtypes.bool)


square = export("keras.backend.square")(_unary(unary.square, "`x * x`."))
absolute = export("keras.backend.abs")(_unary(unary.absolute, "The absolute value."))
exp = export("keras.backend.exp")(_unary(unary.exp, "e to the power of `x`."))
log = export("keras.backend.log")(_unary(unary.log, "The natural logarithm."))
round_half_to_even = export("keras.backend.round")(
    _unary(unary.round_half_to_even, "The nearest integer, the even one for halves.")
)
sign = export("keras.backend.sign")(_unary(unary.sign, "-1, 0 or 1."))
sin = export("keras.backend.sin")(_unary(unary.sin, "The sine."))
cos = export("keras.backend.cos")(_unary(unary.cos, "The cosine."))

equal = export("keras.backend.equal")(_binary(compare.equal, "Whether `x == y`, element by element."))
not_equal = export("keras.backend.not_equal")(_binary(compare.not_equal, "Whether `x != y`, element by element."))
greater = export("keras.backend.greater")(_binary(compare.greater, "Whether `x > y`, element by element."))
greater_equal = export("keras.backend.greater_equal")(
    _binary(compare.greater_equal, "Whether `x >= y`, element by element.")
)
less = export("keras.backend.less")(_binary(compare.less, "Whether `x < y`, element by element."))
less_equal = export("keras.backend.less_equal")(_binary(compare.less_equal, "Whether `x <= y`, element by element."))
maximum = export("keras.backend.maximum")(_binary(binary.maximum, "The larger of each pair of elements."))
minimum = export("keras.backend.minimum")(_binary(binary.minimum, "The smaller of each pair of elements."))

reduce_max = export("keras.backend.max")(_reduction(reduce.reduce_max, "The largest element along `axis`."))
reduce_min = export("keras.backend.min")(_reduction(reduce.reduce_min, "The smallest element along `axis`."))
reduce_sum = export("keras.backend.sum")(_reduction(reduce.reduce_sum, "The sum along `axis`."))
reduce_prod = export("keras.backend.prod")(_reduction(reduce.reduce_prod, "The product along `axis`."))
reduce_mean = export("keras.backend.mean")(_reduction(reduce.reduce_mean, "The mean along `axis`.", _as_number))
reduce_variance = export("keras.backend.var")(
    _reduction(reduce.reduce_variance, "The variance along `axis`.", _as_number)
)
reduce_std = export("keras.backend.std")(
    _reduction(reduce.reduce_std, "The standard deviation along `axis`.", _as_number)
)
reduce_any = export("keras.backend.any")(_reduction(reduce.reduce_any, "Whether any is true along `axis`.", _as_bool))
reduce_all = export("keras.backend.all")(_reduction(reduce.reduce_all, "Whether all are true along `axis`.", _as_bool))
logsumexp = _reduction(reduce.reduce_logsumexp, "log(sum(exp(x))) along `axis`, without overflow.")


@export("keras.backend.pow")
def power(x: object, a: object) -> Tensor:
    """`x` to the power of `a`."""
    return binary.power(x, a)


@export("keras.backend.sqrt")
def sqrt(x: Any) -> Tensor:
    """The square root of `x`, and 0 for negative elements."""
    bounds = [constant(bound, dtype=x.dtype.base_dtype) for bound in (0.0, np.inf)]
    return unary.sqrt(clip_by_value(x, *bounds))


@export("keras.backend.clip")
def clip(x: Any, min_value: float, max_value: float | None) -> Tensor:
    """`x` limited to [min_value, max_value]; the lower limit counts where it is the larger one."""
    if max_value is None:
        max_value = np.inf
    elif max_value < min_value:
        max_value = min_value
    return clip_by_value(x, *(constant(bound, dtype=x.dtype.base_dtype) for bound in (min_value, max_value)))


@export("keras.backend.argmax")
def argmax(x: object, axis: int = -1) -> Tensor:
    """The index of the largest element along `axis`."""
    return reduce.argmax(x, axis)


@export("keras.backend.argmin")
def argmin(x: object, axis: int = -1) -> Tensor:
    """The index of the smallest element along `axis`."""
    return reduce.argmin(x, axis)


@export("keras.backend.cumsum")
def cumsum(x: object, axis: int = 0) -> Tensor:
    """The running sum along `axis`."""
    return scan.cumsum(x, axis=axis)


@export("keras.backend.cumprod")
def cumprod(x: object, axis: int = 0) -> Tensor:
    """The running product along `axis`."""
    return scan.cumprod(x, axis=axis)
