"""Checks of data inside compiled kernels: collected while a cluster is traced, read after it has run."""

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
"""Whether a requirement holds: known now, or when the compiled program runs."""

_MOST_ELEMENTS = 2**63 - 1


@dataclass
class Check:
    """One requirement: `ok` is a scalar bool; `values` go into `text` when it fails. `op` is the node that asked."""

    ok: Any
    text: str | Callable[..., str]
    values: tuple[Any, ...]
    op: NodeLike | None
    error: errors.Maker = errors.InvalidArgumentError

    def traced_values(self) -> tuple[Any, ...]:
        """The values that exist only when the program runs."""
        return tuple(v for v in self.values if isinstance(v, jax.core.Tracer))

    def without_traced_values(self) -> Check:
        """This check with gaps (None) for what the program will give."""
        kept = tuple(None if isinstance(v, jax.core.Tracer) else v for v in self.values)
        return Check(None, self.text, kept, self.op, self.error)

    def merge_values(self, found: Iterable[object]) -> tuple[Any, ...]:
        """All values, the gaps filled with what the program gave."""
        given = iter(found)
        return tuple(next(given) if v is None else v for v in self.values)

    def failure(self, values: tuple[Any, ...]) -> Exception:
        node_def = self.op.node_def if self.op is not None else None
        text = self.text(*values) if callable(self.text) else self.text.format(*values)
        return self.error(node_def, self.op, text)


class _Collector(threading.local):
    def __init__(self) -> None:
        self.checks: list[Check] | None = None
        self.op: Any = None
        self.guarded: list[Any] = []
        self.gate: jax.Array | None = None


COLLECTOR = _Collector()


def require(ok: Truth, text: str | Callable[..., str], *values: object, error: errors.Maker = errors.InvalidArgumentError) -> None:
    """Demands that the scalar `ok` is true when the kernel runs.

    Args:
      ok: scalar bool, traced or concrete.
      text: message with `{}` for each of `values`, or a function of them.
      values: arrays to show.
      error: class to raise.

    Raises:
      error: at once where nothing is being traced; otherwise by Session.run after the call, which then changes no variable.
    """
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
    """Adds a check to those of the program that is traced; RuntimeError where none is."""
    if COLLECTOR.checks is None:
        raise RuntimeError(f"no program is traced for the check {check.text!r}")
    COLLECTOR.checks.append(check)


BAD_INPUT = (TypeError, ValueError, LookupError, ArithmeticError)
_TOO_MANY_BYTES = ("array is too big", "Maximum allowed dimension exceeded", "Maximum allowed size exceeded", "maximum supported dimension")
"""What NumPy's ValueErrors say of arrays that no address space could hold; of smaller ones it raises MemoryError."""


def unfit(op: Any, error: Exception) -> Exception:
    """What a kernel's own `error` means: its inputs and attributes do not fit. Errors of JAX's tracing stay what they are."""
    if isinstance(error, (jax.errors.JAXTypeError, jax.errors.JAXIndexError)):
        return error
    if any(text in str(error) for text in _TOO_MANY_BYTES):
        return errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {error}")
    return errors.InvalidArgumentError(op.node_def, op, f"{op.type} cannot be computed of these inputs and attributes: {error}")


def same_shape(*arrays: Any) -> None:
    """Demands that arrays have one shape, without broadcasting."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise errors.InvalidArgumentError(
                None, None,
                "Inputs must have the same size and shape. "
                f"Input 0: {list(arrays[0].shape)} != input {i}: {list(array.shape)}",
            )  # fmt: skip


def place_text(at: SupportsInt, sizes: tuple[int, ...]) -> str:
    """Where element number `at` of an array stands, as messages show it: "[1,0]" in a matrix, nothing for a scalar."""
    return f"[{','.join(map(str, np.unravel_index(int(at), sizes)))}]" if sizes else ""


def same_shapes_of_node(*arrays: Any) -> None:
    """Demands that the inputs of the node that runs have one shape."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            shapes = [f"[{','.join(map(str, a.shape))}]" for a in (arrays[0], array)]
            raise errors.InvalidArgumentError(
                None, None,
                f"Inputs to operation {COLLECTOR.op.name} of type {COLLECTOR.op.type} must have the same size and shape.  "
                f"Input 0: {shapes[0]} != input {i}: {shapes[1]}",
            )  # fmt: skip


def scalar(name: str, array: np.typing.ArrayLike, rule: str = "must be a scalar, got shape {}") -> None:
    """Demands that an input has rank 0; `rule` says so of a shape."""
    if array.ndim if isinstance(array, np.ndarray) else np.ndim(array):
        shape = f"[{','.join(map(str, np.shape(array)))}]"
        raise errors.InvalidArgumentError(None, None, f"{name} {rule.format(shape)}")


def sizes(shape: np.typing.ArrayLike) -> None:
    """Demands that no dimension of a shape is negative."""
    if np.any(np.less(shape, 0)):
        raise errors.InvalidArgumentError(None, None, f"Dimension {int(np.min(shape))} must be >= 0")


def require_room(sizes: Iterable[int], dtype: np.dtype[Any]) -> None:
    """Demands that the machine could hold an array, before something as large is computed on the way to it."""
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
"""Numbers that Python compares in less time than NumPy takes to begin."""


def all_inside(numbers: NDArray, limit: int) -> bool:
    """Whether all integers of an array stand in [0, limit)."""
    if numbers.size > _FEW:
        return bool(numbers.min() >= 0 and numbers.max() < limit)
    listed = numbers.reshape(-1).tolist()
    return not listed or (min(listed) >= 0 and max(listed) < limit)


def first(flags: NDArray | jax.Array) -> np.intp | jax.Array:
    """Where the first True stands among flags [n], 0 where there is none. In int32: outside x64 mode JAX cannot lower an argmax in int64."""
    return np.argmax(flags) if isinstance(flags, np.ndarray) else lax.argmax(flags, 0, np.dtype(np.int32))


def no_row(dtype: np.typing.DTypeLike) -> int:
    """The row number that stands for no row: row updates pass over it."""
    return int(np.iinfo(dtype).min)


def guard_indices(ok: Truth, indices: jax.Array | NDArray, limit: int, text: str, *values: object) -> jax.Array | NDArray:
    """Demands `ok`, and gives `indices` that point outside [0, limit) where this or an earlier check fails.

    A scatter that drops such indices then changes nothing in a failing run, and its variable can be updated in place.
    Inside `gated` the checks are all known already, and their conjunction is used.
    """
    if COLLECTOR.gate is not None:
        return jnp.where(COLLECTOR.gate, indices, jnp.asarray(limit, indices.dtype))
    require(ok, text, *values)
    if not COLLECTOR.checks:
        return indices
    gate = functools.reduce(jnp.logical_and, [c.ok for c in COLLECTOR.checks])
    return jnp.where(gate, indices, jnp.asarray(limit, indices.dtype))


def mark_guarded(value: T) -> T:
    """Says that `value` was computed by a scatter with guarded indices, so it is unchanged where a check so far has failed."""
    if COLLECTOR.checks is not None:
        COLLECTOR.guarded.append(value)
    return value


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Checks inside raise where they fail, also while a cluster is traced."""
    outer, COLLECTOR.checks = COLLECTOR.checks, None
    try:
        yield
    finally:
        COLLECTOR.checks = outer


@contextlib.contextmanager
def dropped() -> Iterator[None]:
    """Kernels called inside demand nothing."""
    outer = COLLECTOR.checks, COLLECTOR.guarded
    COLLECTOR.checks, COLLECTOR.guarded = [], []
    try:
        yield
    finally:
        COLLECTOR.checks, COLLECTOR.guarded = outer


@contextlib.contextmanager
def gated(gate: jax.Array) -> Iterator[None]:
    """Kernels called inside guard their indices with `gate` and demand nothing."""
    outer, COLLECTOR.gate = COLLECTOR.gate, gate
    try:
        yield
    finally:
        COLLECTOR.gate = outer
