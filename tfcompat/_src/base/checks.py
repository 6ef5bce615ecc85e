"""Checks of data inside compiled kernels.

A compiled program cannot raise. So `require` collects each check while a cluster is traced, the program returns its condition as an
extra output, and the runtime raises the error of the first check that failed, in 1.15's words, before it stores any variable. On concrete
values a failed check raises at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, SupportsInt, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.node_like import NodeLike

T = TypeVar("T")
Truth: TypeAlias = bool | np.bool_ | NDArray | jax.Array
"""The condition of a check: concrete, or traced."""

_MOST_ELEMENTS = 2**63 - 1


@dataclass
class Check:
    """One check: the scalar bool `ok` must be true; otherwise `error` is raised for the node `op`, with `text` formatted with `values`."""

    ok: Any
    text: str | Callable[..., str]
    values: tuple[Any, ...]
    op: NodeLike | None
    error: errors.Maker = errors.InvalidArgumentError

    def traced_values(self) -> tuple[Any, ...]:
        """Returns the values that only a run of the compiled program computes."""
        return tuple(v for v in self.values if isinstance(v, jax.core.Tracer))

    def without_traced_values(self) -> Check:
        """Returns this check without its condition and with None for each traced value, so that it outlives the trace."""
        kept = tuple(None if isinstance(v, jax.core.Tracer) else v for v in self.values)
        return Check(None, self.text, kept, self.op, self.error)

    def merge_values(self, found: Iterable[object]) -> tuple[Any, ...]:
        """Returns all values, with each None replaced by the next value that the program computed."""
        given = iter(found)
        return tuple(next(given) if v is None else v for v in self.values)

    def failure(self, values: tuple[Any, ...]) -> Exception:
        """Returns the error of this check for the values of its message."""
        node_def = self.op.node_def if self.op is not None else None
        text = self.text(*values) if callable(self.text) else self.text.format(*values)
        return self.error(node_def, self.op, text)


class _Collector(threading.local):
    """The state of a trace.

    Attributes:
      checks: the checks so far; None while nothing is traced, so that checks raise at once.
      op: the node whose kernel runs.
      guarded: values computed by scatters with guarded indices, see `mark_guarded`.
      gate: the conjunction of all checks of the program, inside `gated`.
    """

    def __init__(self) -> None:
        self.checks: list[Check] | None = None
        self.op: Any = None
        self.guarded: list[Any] = []
        self.gate: jax.Array | None = None


COLLECTOR = _Collector()


def require(ok: Truth, text: str | Callable[..., str], *values: object, error: errors.Maker = errors.InvalidArgumentError) -> None:
    """Checks that the scalar `ok` is true when the kernel runs.

    Args:
      ok: scalar bool, traced or concrete.
      text: message with `{}` for each of `values`, or a function of them.
      values: values for the message.
      error: class to raise.

    Raises:
      error: at once if nothing is traced; otherwise Session.run raises it after the compiled call and changes no variable.
    """
    # A check that is known to hold costs nothing; one that is known to fail while tracing becomes a constant False, so that it is raised
    # only if the program runs, and after the checks before it.
    is_known = isinstance(ok, (bool, np.bool_, np.ndarray))
    if is_known and ok:
        return
    check = Check(ok, text, values, COLLECTOR.op, error)
    if is_known:
        if COLLECTOR.checks is None:
            raise check.failure(values)
        check.ok = jnp.asarray(False)
    if COLLECTOR.checks is not None:
        COLLECTOR.checks.append(check)


def add(check: Check) -> None:
    """Adds a check to those of the program that is being traced; raises RuntimeError if none is."""
    if COLLECTOR.checks is None:
        raise RuntimeError(f"The check {check.text!r} was added outside the trace of a program; use checks.require there.")
    COLLECTOR.checks.append(check)


OF_TRACING = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""Exceptions that JAX raises while it traces a kernel, which are raised unchanged though they are of BAD_INPUT too."""

BAD_INPUT = (TypeError, ValueError, LookupError, ArithmeticError)
"""The errors by which NumPy and JAX reject the arguments of a kernel."""
_TOO_MANY_BYTES = ("array is too big", "Maximum allowed dimension exceeded", "Maximum allowed size exceeded", "maximum supported dimension")
"""Parts of NumPy's ValueErrors for arrays beyond the address space; for smaller ones that do not fit it raises MemoryError."""


def unfit(op: Any, error: Exception) -> Exception:
    """Returns the OpError for an `error` that a kernel raised about its inputs and attributes."""
    # NumPy reports such sizes as a ValueError; for 1.15 they are out of memory.
    if any(text in str(error) for text in _TOO_MANY_BYTES):
        return errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {error}")
    return errors.InvalidArgumentError(op.node_def, op, f"{op.type} cannot be computed of these inputs and attributes: {error}")


# ---- checks of inputs that are concrete while tracing: shapes and constants ----


def same_shape(*arrays: Any) -> None:
    """Checks that arrays have the same shape, without broadcasting."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise errors.InvalidArgumentError(
                None, None,
                "Inputs must have the same size and shape. "
                f"Input 0: {list(arrays[0].shape)} != input {i}: {list(array.shape)}",
            )  # fmt: skip


def place_text(at: SupportsInt, sizes: tuple[int, ...]) -> str:
    """Returns the index of element number `at` of an array as messages show it: "[1,0]" in a matrix, "" for a scalar."""
    return f"[{','.join(map(str, np.unravel_index(int(at), sizes)))}]" if sizes else ""


def same_shapes_of_node(*arrays: Any) -> None:
    """Checks that the inputs of the running node have the same shape."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            shapes = [f"[{','.join(map(str, a.shape))}]" for a in (arrays[0], array)]
            raise errors.InvalidArgumentError(
                None, None,
                f"Inputs to operation {COLLECTOR.op.name} of type {COLLECTOR.op.type} must have the same size and shape.  "
                f"Input 0: {shapes[0]} != input {i}: {shapes[1]}",
            )  # fmt: skip


def scalar(name: str, array: np.typing.ArrayLike, rule: str = "must be a scalar, got shape {}") -> None:
    """Checks that the input `name` has rank 0; `rule` is the message, with `{}` for its shape."""
    if array.ndim if isinstance(array, np.ndarray) else np.ndim(array):
        shape = f"[{','.join(map(str, np.shape(array)))}]"
        raise errors.InvalidArgumentError(None, None, f"{name} {rule.format(shape)}")


def sizes(shape: np.typing.ArrayLike) -> None:
    """Checks that no size of a shape is negative."""
    if np.any(np.less(shape, 0)):
        raise errors.InvalidArgumentError(None, None, f"Dimension {int(np.min(shape))} must be >= 0")


def require_room(sizes: Iterable[int], dtype: np.dtype[Any]) -> None:
    """Checks that an array of these sizes fits into the machine's memory, before any intermediate result as large is computed."""
    # The product is computed with Python's integers, which cannot overflow.
    count = math.prod(map(int, sizes))
    if count > _MOST_ELEMENTS:
        raise errors.InvalidArgumentError(None, None, f"Shape [{','.join(map(str, sizes))}] would have more than 2**63 - 1 elements")
    if count * dtype.itemsize > _machine_bytes():
        text = f"OOM when allocating tensor with shape[{','.join(map(str, sizes))}] and type {dtypes.cpp_name(dtype.name)}"
        raise errors.ResourceExhaustedError(None, None, text)


@functools.cache
def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_FEW = 64
"""Up to so many numbers, min and max of a Python list are faster than the overhead of two NumPy calls."""


def all_inside(numbers: NDArray, limit: int) -> bool:
    """Returns whether all integers of an array are in [0, limit)."""
    # Python lists are faster for few numbers.
    if numbers.size > _FEW:
        return bool(numbers.min() >= 0 and numbers.max() < limit)
    listed = numbers.reshape(-1).tolist()
    return not listed or (min(listed) >= 0 and max(listed) < limit)


def first(flags: NDArray | jax.Array) -> np.intp | jax.Array:
    """Returns the position of the first True among flags [n], 0 if there is none; int32, as JAX cannot lower an int64 argmax outside x64."""
    return np.argmax(flags) if isinstance(flags, np.ndarray) else lax.argmax(flags, 0, np.dtype(np.int32))


# ---- guarded scatters ----


def no_row(dtype: np.typing.DTypeLike) -> int:
    """Returns the row number that marks padding: the least integer of a dtype. Row updates skip it."""
    return int(np.iinfo(dtype).min)


def guard_indices(ok: Truth, indices: jax.Array | NDArray, limit: int, text: str, *values: object) -> jax.Array | NDArray:
    """Checks `ok`, and returns `indices`, all replaced by `limit` if this or an earlier check fails.

    A scatter drops indices outside [0, limit), so it changes nothing in a failing run, and its variable can be updated in place although
    a run that fails must change no variable. Inside `gated`, where all checks are known, the gate decides.
    """
    if COLLECTOR.gate is not None:
        return jnp.where(COLLECTOR.gate, indices, jnp.asarray(limit, indices.dtype))
    require(ok, text, *values)
    if not COLLECTOR.checks:
        return indices
    # The checks so far, this one included: the kernels of later nodes see the checks of earlier ones.
    gate = functools.reduce(jnp.logical_and, [c.ok for c in COLLECTOR.checks])
    return jnp.where(gate, indices, jnp.asarray(limit, indices.dtype))


def mark_guarded(value: T) -> T:
    """Records that `value` is the result of a scatter with guarded indices, which is unchanged if a check so far fails; returns it."""
    if COLLECTOR.checks is not None:
        COLLECTOR.guarded.append(value)
    return value


# ---- how checks are handled in a block ----


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Makes checks inside the block raise at once, also while a cluster is traced."""
    outer, COLLECTOR.checks = COLLECTOR.checks, None
    try:
        yield
    finally:
        COLLECTOR.checks = outer


@contextlib.contextmanager
def dropped() -> Iterator[None]:
    """Discards the checks of kernels called inside the block."""
    outer = COLLECTOR.checks, COLLECTOR.guarded
    COLLECTOR.checks, COLLECTOR.guarded = [], []
    try:
        yield
    finally:
        COLLECTOR.checks, COLLECTOR.guarded = outer


@contextlib.contextmanager
def gated(gate: jax.Array) -> Iterator[None]:
    """Makes kernels called inside the block guard their indices with `gate`, without checks of their own."""
    outer, COLLECTOR.gate = COLLECTOR.gate, gate
    try:
        yield
    finally:
        COLLECTOR.gate = outer
