"""The choice of an engine. `decide` makes all such choices: for clusters, for operations of a plan, and for parts of loops that the host drives.

A ski-rental rule: the interpreter runs a cluster until it has spent as much time as compiling would have taken. Time is estimated from traces
alone, never measured, so that a program changes its engine at the same step in every execution. `TFCOMPAT_ENGINE` forces an engine for clusters.
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
from tfcompat._src.runtime.engines import interpreter, xla
from tfcompat._src.runtime.engines.engine import Engine
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Trace, Tracing
from tfcompat._src.runtime.state.variable_state import Place, is_in_host_memory

ENGINES = ("choose", "compile", "interpret", "nodes")
ENGINE = os.environ.get("TFCOMPAT_ENGINE") or "choose"
if ENGINE not in ENGINES:
    raise ValueError(f"The environment variable TFCOMPAT_ENGINE is {ENGINE!r}. It must be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}.")

# Measured on one core of a CPU. They are constants on all machines, so that a program makes the same choices everywhere.
OF_A_PROGRAM = 3 * 10**7
OF_AN_EQUATION = 5 * 10**6 // 2
"""Nanoseconds that XLA takes to compile: a program, plus each equation of its jaxpr."""
OF_A_TRACED_OPERATION = 3 * 10**5
"""Nanoseconds that JAX takes to trace the kernel of an operation of a loop, derivatives included."""
OF_A_NODE = 6000
"""Nanoseconds that an operation on small NumPy arrays takes."""
OF_A_CALL = 12000
"""Nanoseconds that a call of a compiled program takes at least. A trace that the interpreter evaluates in less is never compiled."""
SAMPLES_IN_NUMPY = 1 << 15
"""Most samples by rejection that NumPy draws: 12 ms for gamma, against 36 ms in a compiled loop and 1.5 s to compile it. For 2**13 samples the
times are 4 ms and 7 ms."""
SHAPES_COMPILED = 3
"""Most shapes for which an iteration of a host-driven loop is compiled. Compiling takes 150 ms per shape, a run in NumPy 0.1 ms: 30 iterations
with a growing variable take 0.7 s in the first run, against 2.9 s if each shape is compiled. Many variables change their shape once or twice only."""


class Computer(enum.Enum):
    """A way to compute: kernel by kernel, or one of the engines."""

    NUMPY = "kernels in NumPy, one after another; nothing is traced"
    NODES = "the rest of a plan node by node in NumPy, loops and their gradients too; nothing is traced"
    INTERPRETER = "NumPy evaluates a trace"
    COMPILER = "XLA compiles a trace"


class Runs(enum.Enum):
    """How often a plan runs, as far as is known when it is made."""

    AGAIN = "in every step of a program"
    ONCE = "once: nothing fed, something initialized"
    FOR_ELEMENTS = "for each element of a dataset"
    WATCHED = "by itself, so that its value is seen"
    BY_NODE = "node by node, for shapes that are perhaps seen once"


@dataclass(frozen=True)
class Record:
    """The history of some work.

    Attributes:
      runs: how often it runs. shapes: the number of shapes of a loop's variables so far.
      is_traced: whether running its nodes has taken as much time as tracing takes.
      is_paid: whether the interpreter has spent as much time on it as compiling takes.
    """

    runs: Runs = Runs.AGAIN
    shapes: int = 0
    is_traced: bool = False
    is_paid: bool = False


@dataclass(frozen=True)
class Estimate:
    """The size of some work: a function that returns the trace of a cluster, or the number of samples that an operation draws by rejection.

    `nodes` is the number of operations of the rest of a plan that can run node by node, 0 if it cannot. `loops` says whether there are loops among them.
    """

    trace: Callable[[], Trace | jax.stages.Traced] | None = None
    samples: int | None = None
    nodes: int = 0
    loops: bool = False

    @functools.cached_property
    def traced(self) -> Trace | jax.stages.Traced | None:
        """The trace, made at first use, since many decisions do not need it; None without a cluster."""
        return self.trace() if self.trace is not None else None


class Decision(NamedTuple):
    """An engine, and why it was chosen.

    Attributes:
      each: nanoseconds by which a call of the interpreter is longer than one of a compiled program.
      until: the sum of these after which the decision is made again, with `is_paid`.
    """

    computer: Computer
    why: str
    each: int = 0
    until: float = math.inf


NOTHING_KNOWN, NO_RECORD = Estimate(), Record()
ONCE = "small work of a plan that runs once"
NEW_SHAPES = "shapes that come once"
FEW = "few samples by rejection"
NODE_BY_NODE = "node by node"


# Per thread, since a server prepares new shapes in one thread while others answer requests.
class _Haste(threading.local):
    """Whether this thread compiles a cluster in its second run, whatever the interpreter has spent."""

    is_on = False


_HASTE = _Haste()


@contextlib.contextmanager
def decided_at_once() -> Iterator[None]:
    """Context manager: clusters that this thread first runs inside the block are compiled in their second run, if they ever would be."""
    before, _HASTE.is_on = _HASTE.is_on, True
    try:
        yield
    finally:
        _HASTE.is_on = before


class _Compiling:
    """How many blocks of `without_interpreter` threads are in."""

    blocks = 0
    lock = threading.Lock()


@contextlib.contextmanager
def without_interpreter() -> Iterator[None]:
    """Context manager: compiles every cluster, in all threads, as with TFCOMPAT_ENGINE=compile."""
    # Counted, since blocks of several threads end in any order. Clusters that have an executable already keep it.
    with _Compiling.lock:
        _Compiling.blocks += 1
    try:
        yield
    finally:
        with _Compiling.lock:
            _Compiling.blocks -= 1


def decide(work: Estimate, record: Record, place: Place = None) -> Decision:
    """Chooses what computes some work on a device.

    Args:
      work: its size. record: its history. place: a JAX device or mesh, or None for the default device.

    Returns:
      the decision. NumPy computes only the operations that have a NumPy kernel; the others are compiled in any case.
    """
    # These need no trace. A plan that runs once, or sees a new shape in each run, would never earn back a compilation.
    if record.runs in (Runs.ONCE, Runs.FOR_ELEMENTS):
        return Decision(Computer.NUMPY, ONCE)
    if record.runs is Runs.BY_NODE:
        return Decision(Computer.NUMPY, NODE_BY_NODE)
    if record.runs is Runs.WATCHED or record.shapes > SHAPES_COMPILED and jax_compat.compiles_to_cpu():
        return Decision(Computer.NUMPY, NEW_SHAPES)
    # Rejection sampling in NumPy repeats only the rejected draws, a compiled loop the whole array.
    if work.samples is not None and work.samples <= SAMPLES_IN_NUMPY and jax_compat.compiles_to_cpu():
        return Decision(Computer.NUMPY, FEW)
    # The same ski rental before a trace is made: nodes run until they have taken as long as tracing would. A shape that comes once is never
    # traced. Without loops a trace takes less than it saves.
    if work.nodes and not (record.is_traced or _Compiling.blocks or _HASTE.is_on) and is_in_host_memory(place):
        if ENGINE == "nodes":
            return Decision(Computer.NODES, "TFCOMPAT_ENGINE", OF_A_NODE)
        if ENGINE == "choose" and work.loops:
            return Decision(Computer.NODES, "until it pays to trace", OF_A_NODE, OF_A_TRACED_OPERATION * work.nodes)
    # The interpreter computes on NumPy arrays in host memory, so that accelerators always get compiled programs.
    if record.is_paid or ENGINE == "compile" or _Compiling.blocks or not is_in_host_memory(place) or work.traced is None:
        return Decision(Computer.COMPILER, "compiled")
    # Forced to interpret: never decided again (`until` is infinite), but what the host cannot hold is compiled above.
    if ENGINE == "interpret":
        return Decision(Computer.INTERPRETER, "TFCOMPAT_ENGINE", _each(work.traced))
    if interpreter.lacks(work.traced):
        return Decision(Computer.COMPILER, "what the interpreter lacks")
    # Break-even point of the ski-rental problem: in this model, at most twice the cost of the better engine, however often the cluster runs.
    each, compiling = _each(work.traced), OF_A_PROGRAM + OF_AN_EQUATION * jax_compat.equations(work.traced.jaxpr.jaxpr)
    # In haste the budget is 1 ns, which the first run exceeds. Without a gain per call (`each` is 0) it is never used up.
    return Decision(Computer.INTERPRETER, "until it pays", each, 1 if _HASTE.is_on and each else compiling)


def _each(trace: Trace | jax.stages.Traced) -> int:
    """Returns the estimated nanoseconds by which the interpreter is slower than the least time of a compiled call."""
    return max(0, cost(trace.jaxpr, 0).nanoseconds - OF_A_CALL)


def engine_for(tracing: Tracing, arguments: Arguments, was_used_up: bool) -> Engine:
    """Returns the engine that runs a cluster on arguments of these shapes; `was_used_up` tells that the interpreter's budget for it is spent."""
    # The trace is shared with the interpreter, if that is chosen.
    estimate = Estimate(functools.partial(tracing.trace_to_interpret, arguments))
    decision = decide(estimate, Record(is_paid=was_used_up), tracing.cluster.place)
    return xla.XLA if decision.computer is Computer.COMPILER else interpreter.Interpreter(decision.each, decision.until)
