"""Random ops whose generator is the value of a resource variable: int64, two words of counter, then the key (Philox)."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op, updates
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.random import binomial, distributions
from tfcompat._src.ops.random.stateful import shape_of

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext

PHILOX = 1
_STATE_SIZE = 3
_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)
_UPDATES = updates("resource")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _check_state(state: Any, algorithm: Any) -> None:
    if np.ndim(algorithm):
        raise _invalid(f"input 1 (0-based) must have shape [], not {shape_text(np.shape(algorithm))}")
    if state.dtype != np.int64:
        raise _invalid(f"dtype of RNG state variable must be int64, not {state.dtype}")
    if state.ndim != 1:
        raise _invalid(f"RNG state must have one and only one dimension, not {state.ndim}")
    if int(algorithm) != PHILOX:
        raise _invalid(f"Unsupported algorithm id: {int(algorithm)}")
    if state.shape[0] < _STATE_SIZE:
        text = f"For the Philox algorithm, the size of state must be at least {_STATE_SIZE}; got {state.shape[0]}"
        raise _invalid(text)


def _key_counter(xp: ModuleType, state: Any) -> tuple[Any, Any]:
    """Key and counter of the generator as 32-bit words."""
    words = state[:_STATE_SIZE].astype(xp.uint64)
    halves = xp.stack([words.astype(xp.uint32), (words >> xp.uint64(32)).astype(xp.uint32)], axis=1).reshape(-1)
    return halves[4:], halves[:4]


def _skipped(xp: ModuleType, state: Any, draws: Any) -> Any:
    """The state `draws` (an int64 scalar) draws later."""
    low, high = state[0:1].astype(xp.uint64), state[1:2].astype(xp.uint64)
    moved = low + xp.asarray(draws).astype(xp.uint64)
    high = high + (moved < low).astype(xp.uint64)
    return xp.concatenate([moved.astype(xp.int64), high.astype(xp.int64), state[2:]])


def _filled_shape(shape_input: int, *scalars: int) -> Callable:
    def shape(c: InferenceContext) -> list:
        for i in scalars:
            si.with_rank(c.inputs[i], 0)
        return si.from_shape_input(shape_input)(c)

    return shape


def _filled(xp: ModuleType, state: object, algorithm: object, shape: object, distribution: Callable) -> tuple[Any, Any]:
    """The state after, and `distribution(key, counter, size)` of the given shape."""
    _check_state(state, algorithm)
    state = xp.asarray(state)
    sizes = shape_of(shape)
    count = math.prod(sizes)
    values = distribution(*_key_counter(xp, state), count).reshape(sizes)
    return _skipped(xp, state, distributions.reserve_fill(count)), values


def _filling(name: str, distribution: Callable, default: str = "float32") -> None:
    """An op that fills `shape` with numbers: distribution(xp, key, counter, size, dtype)."""

    def kernel_for(xp: ModuleType) -> Callable:
        def kernel(state, algorithm, shape, *, dtype):
            return _filled(xp, state, algorithm, shape, lambda k, c, size: distribution(xp, k, c, size, dtype))

        return kernel

    op(
        name, "(resource: resource, algorithm: int64, shape: shape_dtype, *, "
        f"dtype: type = {default}, shape_dtype: type = int64) -> (output: dtype)",
        shape=_filled_shape(2, 1), gradient=_UNDEFINED, kernel=kernel_for(jnp), fold=kernel_for(np),
        constants=("algorithm", "shape"), effects=_UPDATES, depth=2,
    )  # fmt: skip


_filling("StatefulStandardNormalV2", distributions.normal)
_filling("StatefulTruncatedNormal", distributions.truncated_normal)
_filling("StatefulUniform", distributions.uniform)
_filling("StatefulUniformFullInt", distributions.full_int, "uint64")


@op(
    "StatefulUniformInt",
    "(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype, *, "
    "dtype: type = int64, shape_dtype: type = int64) -> (output: dtype)",
    shape=_filled_shape(2, 1, 3, 4), gradient=_UNDEFINED, constants=("algorithm", "shape"), effects=_UPDATES,
)  # fmt: skip
def _uniform_int(state, algorithm, shape, minval, maxval):
    checks.require(minval < maxval, "Need minval < maxval, got {} >= {}", minval, maxval)
    return _filled(
        jnp, state, algorithm, shape, lambda k, c, size: distributions.uniform_int(jnp, k, c, size, minval, maxval)
    )


def _binomial_shape(c: InferenceContext) -> list:
    for i in (3, 4):
        si.with_rank_at_most(c.inputs[i], 1)
    return [c.shape_value(2)]


@op(
    "StatefulRandomBinomial",
    "(resource: resource, algorithm: int64, shape: S, counts: T, probs: T, *, S: INDEX, "
    "T: {float16, float32, float64, int32, int64} = float64, "
    "dtype: {float16, float32, float64, int32, int64} = int64) -> (output: dtype)",
    shape=_binomial_shape, gradient=_UNDEFINED, effects=_UPDATES, side=HOST,
)  # fmt: skip
def _random_binomial(state, algorithm, shape, counts, probs, *, dtype):
    _check_state(state, algorithm)
    sizes = shape_of(shape)
    samples, draws = binomial.samples(*_key_counter(np, state), sizes, counts, probs)
    return _skipped(np, state, draws), samples.astype(dtype).reshape(sizes)


def _scalar_inputs(c: InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    return []


@op("RngSkip", "(resource: resource, algorithm: int64, delta: int64) -> ()", shape=_scalar_inputs, gradient=_UNDEFINED,
    constants=("algorithm",), effects=_UPDATES)  # fmt: skip
def _rng_skip(state, algorithm, delta):
    _check_state(state, algorithm)
    return _skipped(jnp, jnp.asarray(state), delta * np.int64(distributions.reserve_fill(1)))


@op("NonDeterministicInts", "(shape: shape_dtype, *, dtype: type = int64, shape_dtype: type = int64) -> (output: dtype)",
    shape=_filled_shape(0), gradient=_UNDEFINED, effects=EXTERNAL, side=HOST)  # fmt: skip
def _non_deterministic_ints(shape, *, dtype):
    if dtype not in (np.int32, np.uint32, np.int64, np.uint64):
        raise _invalid(f"Unsupported dtype: {dtype}")
    sizes = shape_of(shape)
    return np.frombuffer(secrets.token_bytes(math.prod(sizes) * dtype.itemsize), dtype).reshape(sizes).copy()
