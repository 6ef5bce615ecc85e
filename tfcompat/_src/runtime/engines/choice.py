"""Which engine computes: `decide` alone says it, for a cluster, for the operations of a plan, and for the parts of a loop that the host drives.

It knows the work as far as it can be estimated beforehand, what is on record of its runs, and the device. Estimates are made from shapes and traces
alone, so that the same program changes its engine at the same step each time. `TFCOMPAT_ENGINE` forces an engine for clusters.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import math
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax

from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter.cost import cost
from tfcompat._src.runtime.cluster_trace import Arguments, Trace, Tracing
from tfcompat._src.runtime.engines import interpreter, xla
from tfcompat._src.runtime.engines.engine import Engine
from tfcompat._src.runtime.variable_state import Place, is_in_host_memory

ENGINES = ("choose", "compile", "interpret")
ENGINE = os.environ.get("TFCOMPAT_ENGINE") or "choose"
if ENGINE not in ENGINES:
    raise ValueError(f"TFCOMPAT_ENGINE is {ENGINE!r}; it can be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}.")

# The numbers, measured on one core of a CPU; they are the same everywhere, so that programs run the same everywhere.
OF_A_PROGRAM = 3 * 10**7
OF_AN_EQUATION = 5 * 10**6 // 2
"""Nanoseconds that compiling a program takes, and each equation of it."""
OF_A_CALL = 12000
"""Nanoseconds that calling a compiled program takes in any case: what evaluates in less is never compiled."""
SAMPLES_IN_NUMPY = 1 << 15
"""So many gamma samples are drawn in 12 ms by NumPy, in 36 ms by a compiled loop, which takes 1.5 s to compile; a quarter in 4 and 7 ms."""
SHAPES_COMPILED = 3
"""Compiling the iteration of a small loop for one more shape takes 150 ms, and a run in NumPy 0.1 ms: 30 rounds with a variable that grows take
0.7 s in the first run, and 2.9 s where each shape is compiled. The first shapes are compiled, since variables often change only once or twice."""


class Computer(enum.Enum):
    """What computes."""

    NUMPY = "kernels in NumPy, one after another; nothing is traced"
    INTERPRETER = "NumPy evaluates a trace"
    COMPILER = "XLA compiles a trace"


class Runs(enum.Enum):
    """How often something runs, as far as is known when it is planned."""

    AGAIN = "in every step of a program"
    ONCE = "once: nothing fed, something initialized"
    FOR_ELEMENTS = "for each element of a dataset"
    WATCHED = "by itself, so that its value is seen"


@dataclass(frozen=True)
class Record:
    """What is on record of runs.

    Attributes:
      runs: how often. shapes: in how many shapes, where loop variables change theirs.
      is_paid: whether the interpreter has done as much work as pays for compiling.
    """

    runs: Runs = Runs.AGAIN
    shapes: int = 0
    is_paid: bool = False


@dataclass(frozen=True)
class Estimate:
    """What is known of the work: of a cluster its `trace`, of an operation that rejects samples how many it draws."""

    trace: Callable[[], Trace | jax.stages.Traced] | None = None
    samples: int | None = None

    @functools.cached_property
    def traced(self) -> Trace | jax.stages.Traced | None:
        """The trace, made when something asks for it."""
        return self.trace() if self.trace is not None else None


class Decision(NamedTuple):
    """What computes, and why; `each` and `until` are nanoseconds: of one call in the interpreter beyond one of a compiled program, and of the
    work there after which it is to be decided anew."""

    computer: Computer
    why: str
    each: int = 0
    until: float = math.inf


NOTHING_KNOWN, NO_RECORD = Estimate(), Record()
ONCE = "small work of a plan that runs once"
NEW_SHAPES = "shapes that come once"
FEW = "few samples by rejection"


class _Haste(threading.local):
    """Whether this thread lets nothing pay for compiling first."""

    is_on = False


_HASTE = _Haste()


@contextlib.contextmanager
def decided_at_once() -> Iterator[None]:
    """Within the `with` statement, what this thread runs for new shapes is compiled in the second run, if it ever would be."""
    before, _HASTE.is_on = _HASTE.is_on, True
    try:
        yield
    finally:
        _HASTE.is_on = before


@contextlib.contextmanager
def without_interpreter() -> Iterator[None]:
    """Within the `with` statement every cluster is compiled, as with TFCOMPAT_ENGINE=compile."""
    global ENGINE
    before, ENGINE = ENGINE, "compile"
    try:
        yield
    finally:
        ENGINE = before


def decide(work: Estimate, record: Record, place: Place = None) -> Decision:
    """What computes some work at a place. NumPy computes only those operations of it that it has kernels for."""
    if record.runs in (Runs.ONCE, Runs.FOR_ELEMENTS):
        return Decision(Computer.NUMPY, ONCE)
    if record.runs is Runs.WATCHED or record.shapes > SHAPES_COMPILED and jax_compat.compiles_to_cpu():
        return Decision(Computer.NUMPY, NEW_SHAPES)
    if work.samples is not None and work.samples <= SAMPLES_IN_NUMPY and jax_compat.compiles_to_cpu():
        return Decision(Computer.NUMPY, FEW)
    if record.is_paid or ENGINE == "compile" or not is_in_host_memory(place) or work.traced is None:
        return Decision(Computer.COMPILER, "compiled")
    if ENGINE == "interpret":
        return Decision(Computer.INTERPRETER, "TFCOMPAT_ENGINE", _each(work.traced))
    if interpreter.lacks(work.traced):
        return Decision(Computer.COMPILER, "what the interpreter lacks")
    each, compiling = _each(work.traced), OF_A_PROGRAM + OF_AN_EQUATION * jax_compat.equations(work.traced.jaxpr.jaxpr)
    return Decision(Computer.INTERPRETER, "until it pays", each, 1 if _HASTE.is_on and each else compiling)  # the first run is more than 1


def _each(trace: Trace | jax.stages.Traced) -> int:
    return max(0, cost(trace.jaxpr, 0).nanoseconds - OF_A_CALL)


def engine_for(tracing: Tracing, arguments: Arguments, was_used_up: bool) -> Engine:
    """The engine of a cluster for arguments of these shapes; `was_used_up` says that the interpreter had it for as long as is worth it."""
    estimate = Estimate(functools.partial(tracing.trace_to_interpret, arguments))
    decision = decide(estimate, Record(is_paid=was_used_up), tracing.cluster.place)
    return xla.XLA if decision.computer is Computer.COMPILER else interpreter.Interpreter(decision.each, decision.until)
