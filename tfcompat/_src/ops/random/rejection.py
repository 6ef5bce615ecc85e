"""Gamma and Poisson samples, equal to TensorFlow 1.15's: every output rejects within 256 draws of its own."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
from jax import lax

from tfcompat._src.ops.random import philox
from tfcompat._src.ops.random.distributions import double_from_words, normals_from_words
from tfcompat._src.ops.random.fill import run_lanes

Array = Any

_SHIFT = 8
_MAX_TRIPS = 256
_KNUTH_LIMIT = 10.0
_LOG_GAMMA = np.vectorize(math.lgamma, otypes=[np.float64])


def gamma(xp: ModuleType, key: Array, counter: Array, samples: int, alpha: Array) -> Array:
    """Gamma samples of rate 1 by G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", 2000.

    Args:
      xp: numpy or jax.numpy.
      key: uint32, shape [2].
      counter: uint32, shape [4].
      samples: samples for each alpha.
      alpha: shapes of the distributions, float of shape [n]; NaN or negative gives NaN.

    Returns:
      alpha's dtype, shape [samples, n].
    """
    index, shape = _lanes(xp, samples, alpha)
    small = shape < 1
    d = shape + xp.where(small, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / xp.sqrt(xp.where(d > 0, d, xp.float64(np.nan)))
    size = index.shape
    blank = xp.zeros(size, xp.float64)
    no = xp.zeros(size, np.bool_)
    state = (no, xp.zeros(size, xp.uint32), blank + np.nan, no, blank, no, blank)

    def body(constants: tuple, state: tuple) -> tuple:
        index, shape, small, d, c = constants
        _, step, _, has_normal, kept_normal, has_uniform, kept_uniform = state

        def take(pair: Any, step: Array, wanted: Array, has: Array, kept: Array) -> tuple:
            """The last unused member of a pair; a new pair is drawn where none is left."""
            first, last = pair(philox.draw(xp, key, counter, index, _SHIFT, step))
            fresh = wanted & ~has
            value = xp.where(has, kept, last)
            return value, step + fresh.astype(xp.uint32), has ^ wanted, xp.where(fresh, first, kept)

        def uniforms(words: list[Array]) -> list[Array]:
            return _uniform_pair(xp, words)

        def normals(words: list[Array]) -> list[Array]:
            return normals_from_words(xp, words, np.float64)

        every = xp.ones(index.shape, np.bool_)
        x, step, has_normal, kept_normal = take(normals, step, every, has_normal, kept_normal)
        v = 1 + c * x
        positive = v > 0
        v = xp.where(positive, v * v * v, 1.0)
        u, step, has_uniform, kept_uniform = take(uniforms, step, positive, has_uniform, kept_uniform)
        bound = 0.5 * x * x + d * (1 - v + xp.log(v))
        inside = (u < 1 - 0.0331 * (x * x) * (x * x)) | (xp.log(xp.maximum(u, 1e-300)) < bound)
        accepted = positive & inside
        b, step, has_uniform, kept_uniform = take(uniforms, step, accepted & small, has_uniform, kept_uniform)
        result = d * v * xp.where(small, b ** (1 / shape), 1.0)
        return accepted, step, result, has_normal, kept_normal, has_uniform, kept_uniform

    result = run_lanes(xp, body, (index, shape, small, d, c), state, _MAX_TRIPS)[2]
    first_uniform = _uniform_pair(xp, philox.draw(xp, key, counter, index, _SHIFT))[1]
    result = xp.where(shape == 1.0, -xp.log(1.0 - first_uniform), result)
    return _narrow(xp, result, alpha.dtype).reshape(-1, samples).T


def poisson(xp: ModuleType, key: Array, counter: Array, samples: int, rate: Array, dtype: Any) -> Array:
    """Poisson samples: Knuth's products of uniforms below rate 10, else the transformed rejection PTRS.

    Reference: W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993.

    Args:
      xp: numpy or jax.numpy.
      key: uint32, shape [2].
      counter: uint32, shape [4].
      samples: samples for each rate.
      rate: shape [n], floating or integer.
      dtype: of the result.

    Returns:
      `dtype`, shape [samples, n].
    """
    index, mean = _lanes(xp, samples, rate)
    limit = np.inf if np.dtype(dtype).kind not in "iu" else float(np.iinfo(dtype).max)
    log_gamma = _LOG_GAMMA if xp is np else lax.lgamma
    small = mean < _KNUTH_LIMIT
    large_mean = xp.where(small, _KNUTH_LIMIT, mean)
    b = 0.931 + 2.53 * xp.sqrt(large_mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    size = index.shape
    zero = xp.zeros(size, xp.float64)
    state = (xp.zeros(size, np.bool_), xp.zeros(size, xp.uint32), zero, zero + 1.0)

    def knuth(mean: Array, uniforms: list[Array], count: Array, product: Array) -> tuple:
        threshold = xp.exp(-mean)
        done = xp.zeros(mean.shape, np.bool_)
        for uniform in uniforms:
            product = xp.where(done, product, product * uniform)
            done = product <= threshold
            count = xp.where(done, count, count + 1)
        return done, count, product

    def transformed(mean: Array, a: Array, b: Array, inverse_alpha: Array, uniforms: list[Array]) -> tuple:
        u, v = uniforms[0] - 0.5, uniforms[1]
        shifted = 0.5 - xp.abs(u)
        safe = xp.maximum(shifted, 1e-300)
        k = xp.floor((2 * a / safe + b) * u + mean + 0.43)
        quick = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        outside = (k < 0) | ((shifted < 0.013) & (v > shifted))
        s = xp.log(xp.maximum(v, 1e-300) * inverse_alpha / (a / (safe * safe) + b))
        t = -mean + k * xp.log(mean) - log_gamma(xp.maximum(k, 0.0) + 1)
        return (k <= limit) & (quick | (~outside & (s <= t))), k

    def body(constants: tuple, state: tuple) -> tuple:
        index, mean, large_mean, a, b, inverse_alpha = constants
        _, step, count, product = state
        first, last = _uniform_pair(xp, philox.draw(xp, key, counter, index, _SHIFT, step))
        low_done, low_count, product = knuth(mean, [last, first], count, product)
        high_done, high_count = transformed(large_mean, a, b, inverse_alpha, [last, first])
        low = mean < _KNUTH_LIMIT
        done, count = xp.where(low, low_done, high_done), xp.where(low, low_count, high_count)
        return done, step + xp.uint32(1), count, product

    constants = (index, mean, large_mean, a, b, inverse_alpha)
    done, _, count, _ = run_lanes(xp, body, constants, state, _MAX_TRIPS)
    return count.reshape(-1, samples).T.astype(dtype)


def _lanes(xp: ModuleType, samples: int, parameter: Array) -> tuple[Array, Array]:
    """The output numbers and the parameter of each, in double: all samples of the first parameter come first."""
    size = samples * parameter.shape[0]
    return xp.arange(size, dtype=xp.uint32), xp.repeat(parameter.astype(xp.float64), samples)


def _narrow(xp: ModuleType, values: Array, dtype: Any) -> Array:
    """Doubles as `dtype`, by way of float32 for half types; subnormal floats and doubles become 0 as in 1.15."""
    wide = values if np.dtype(dtype) == np.float64 else values.astype(xp.float32)
    return xp.where(xp.abs(wide) < np.finfo(wide.dtype).tiny, xp.asarray(0, wide.dtype), wide).astype(dtype)


def _uniform_pair(xp: ModuleType, words: list[Array]) -> list[Array]:
    return [double_from_words(xp, words[0], words[1]), double_from_words(xp, words[2], words[3])]
