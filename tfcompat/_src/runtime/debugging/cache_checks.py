"""A test mode in which each hit of a cache makes the value again and compares: TFCOMPAT_CHECK_CACHES=1.

Runs are many times slower. A difference is a bug: what the value depends on is not in the cache's key, nor among the guards.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import jax
import numpy as np

from tfcompat._src.base.arrays import NDArray, content_key
from tfcompat._src.interpreter import engine
from tfcompat._src.runtime.ir.plan import Plan
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Trace


class Switch:
    """Whether hits of caches are checked."""

    is_on = os.environ.get("TFCOMPAT_CHECK_CACHES", "") not in ("", "0")


class WrongHit(AssertionError):
    """A cache has answered with a value that is not the one that would be made now."""


def same_plan(kept: Plan, new: Plan) -> None:
    """Compares a plan from a cache with a new one: the operations that run, in order of their creation, and the values known before.

    Raises:
      WrongHit: they differ.
    """
    # A finding of later runs may give the same operations to other steps.
    ran, runs = ({(op.name, op.type) for op in plan.operations()} for plan in (kept, new))
    if ran != runs:
        raise WrongHit(f"A plan for {_names(kept)} runs {sorted(ran - runs)}, and a new one {sorted(runs - ran)}.")
    for tensor in {t for step in kept.steps for item in step.items for t in item.takes}:
        if tensor in kept.known and tensor in new.known and not _are_equal(kept.known[tensor], new.known[tensor]):
            raise WrongHit(f"A plan for {_names(kept)} knows {tensor.name} as {kept.known[tensor]}, and a new one as {new.known[tensor]}.")


def same_constant(kept: jax.Array, value: NDArray) -> None:
    """Compares a constant on a device with its value; raises WrongHit if they differ."""
    if not np.array_equal(np.asarray(kept), value, equal_nan=value.dtype.kind in "fc"):
        raise WrongHit(f"A constant on {kept.devices()} is not the one of the plan: {np.asarray(kept)} where {value} is meant.")


def same_results(derived: Trace, made: jax.stages.Traced, arguments: Arguments) -> None:
    """Interprets a derived trace and one that JAX makes, on arrays of zeros and ones, and compares all results bit by bit; raises WrongHit if they differ."""
    random = np.random.RandomState(0)
    given = [_filled(random, leaf) for leaf in jax.tree.leaves(arguments)]
    results = [engine.prepare(trace.jaxpr).evaluate([v.copy() for v in given]) for trace in (derived, made)]
    if not all(map(_are_equal, *results)):
        raise WrongHit("A trace that is derived from others computes other values than one of its own.")


def _filled(random: np.random.RandomState, leaf: jax.ShapeDtypeStruct) -> NDArray:
    return np.asarray(random.randint(0, 2, leaf.shape)).astype(leaf.dtype)


def _are_equal(one: object, other: object) -> bool:
    arrays = np.asarray(one), np.asarray(other)
    # Objects of the host, as lists of tensors, are compared by what they show.
    if arrays[0].dtype.hasobject:
        return repr(arrays[0].tolist()) == repr(arrays[1].tolist())
    return content_key(arrays[0]) == content_key(arrays[1])


def _names(plan: Plan) -> str:
    fetched: Sequence[str] = [t.name for t in plan.fetched]
    return ", ".join(fetched) or "operations"
