"""Traces a cluster of a plan into a pure function, which JAX compiles or the interpreter evaluates.

(inputs, large constants and perhaps a StopFlag's array, read variables, updated variables, random rows) -> (outputs, new values of
updated and overwritten variables, bool[checks] or None, advances of random counters that only the call tells).
A cluster without outputs returns one scalar, to wait for. Outputs are flat tuples, which JAX's C++ dispatch builds without Python code.
If a check fails, the variables that come out have their old values, so a failed run changes nothing.
"""

from __future__ import annotations

import contextlib
import math
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from tfcompat._src.base import checks, errors, jax_compat
from tfcompat._src.base.arrays import Array, NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, GROWTH, DeviceArray
from tfcompat._src.ops.random.philox import portable
from tfcompat._src.runtime.debugging import not_finite
from tfcompat._src.runtime.ir.plan import Cluster, WrongGuess
from tfcompat._src.runtime.latency.folded_numbers import Folded, noting
from tfcompat._src.runtime.lowering import cond, loop_vjp, towers  # noqa: F401  (how items are lowered)
from tfcompat._src.runtime.lowering.lower import STOPPING, Frame, Write, collecting, lower, run_device_op
from tfcompat._src.runtime.state.variable_state import has_entered, variable_key

if TYPE_CHECKING:
    from tfcompat._src.runtime.latency.trace_family import TraceFamily

Arrays: TypeAlias = tuple[Any, ...]
"""Values that go into a cluster or come out of it: JAX arrays, NumPy arrays, or TensorArrays."""
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
"""The shapes of a cluster's inputs: the cache key of an executable among those of one program."""
Arguments: TypeAlias = "tuple[Arrays, Arrays, tuple[Array, ...], tuple[Array, ...], Array | tuple[()]]"
"""(inputs, large inputs, read variables, updated variables, rows of random state)."""


def input_shapes(inputs: Sequence[Any]) -> Shapes:
    """The cache key of the executable for these inputs."""
    return tuple([a.shape for a in inputs])


@dataclass(frozen=True)
class Notes:
    """The static results of a trace.

    Attributes:
      structure: the pytree of the outputs; None where they are flat arrays. checks: in the order of the vector of bools.
      reserves: by how much the counters of random operations advance. moving: operations of which only the call's results tell that.
      largest: (the tensor that takes most memory, its shape), or ().
      is_of_others: whether the trace was derived from traces for other shapes; `checks` and `largest` are empty then.
    """

    structure: jax.tree_util.PyTreeDef | None
    checks: tuple[checks.Check, ...]
    reserves: dict[Operation, int]
    moving: tuple[Operation, ...]
    largest: tuple[Any, ...]
    is_of_others: bool = False

    def outputs(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The values of a cluster's outputs, from the flat arrays that a call returns."""
        return leaves if self.structure is None else jax.tree.unflatten(self.structure, leaves)


_NOTHING = Notes(None, (), {}, (), ())


class Trace(NamedTuple):
    """A trace that JAX did not make: a jaxpr, and the pytree of its results. Has those attributes of `jax.stages.Traced` that are used."""

    jaxpr: jax_compat.ClosedJaxpr
    out_info: object


@dataclass(frozen=True)
class TraceResult:
    """A traced cluster.

    `outputs`, `state`, `holds` and `moved` are the results of the function, `shown` the values that the message of each check shows.
    """

    outputs: Arrays
    state: Arrays
    holds: jax.Array | None
    moved: Arrays
    shown: list[tuple[Any, ...]]
    notes: Notes

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The results of the traced function."""
        return self.outputs, self.state, self.holds, self.moved


@contextlib.contextmanager
def _settings(capacity: int, flag: jax.Array | None) -> Iterator[None]:
    """Context manager: the thread-local settings that kernels of TensorArrays and loops read; leaves no tracer behind, after an error neither."""
    outer = GROWTH.capacity, STOPPING.flag
    GROWTH.capacity, STOPPING.flag = capacity, flag
    try:
        yield
    finally:
        GROWTH.capacity, STOPPING.flag = outer


def trace_cluster(
    cluster: Cluster, known: dict[Any, NDArray], arguments: Arguments, capacity: int = FIRST_CAPACITY, differentiated: int = 0
) -> TraceResult:  # fmt: skip
    """Calls the kernels of a cluster's operations on tracers.

    Args:
      known: values known before the run, by tensor. arguments: tracers. capacity: the number of elements that growing TensorArrays hold.
      differentiated: how many times JAX may differentiate the function.

    Raises:
      Replan: another plan is necessary for these shapes.
    """
    inputs, large, read, updated, rng = arguments
    # An array that another program made has only that program's room, which does not grow when this one is repeated with more.
    inputs = tuple([value.entering(capacity) if isinstance(value, DeviceArray) else value for value in inputs])
    values = {**known, **dict(zip(cluster.inputs, inputs)), **dict(zip(cluster.large, large))}
    state = {variable_key(v): a for v, a in zip((*cluster.reads, *cluster.updates), (*read, *updated))}
    # The old values of variables, for the case that a check fails.
    before = dict(state)
    changing = frozenset([key for t, _, key in cluster.shared_inputs if has_entered(t)])
    rows = {op: rng[i] for i, op in enumerate(cluster.randoms)}
    frame = Frame(values, state, rows, differentiated_here=cluster.differentiated, changing=changing)
    frame.differentiated, frame.through_updates = differentiated, differentiated > 0
    on_mesh = isinstance(cluster.place, NamedSharding)
    with not_finite.watching(cluster.watched), _settings(capacity, next(iter(large[len(cluster.large) :]), None)), portable(on_mesh):
        run_checks = _lowered(cluster, frame)
    all_ok = conjunction([c.ok for c in run_checks])
    # A variable without value that no traced operation has assigned has no entry.
    keys = [key for key in cluster.written_keys if key in state]
    new_state = tuple(_committed(keys, frame, before, all_ok, len(run_checks), on_mesh))
    outputs, structure = _flat_outputs(cluster, frame)
    # Towers: outputs and variables are on all devices of the mesh.
    if on_mesh:
        outputs, new_state = jax.lax.with_sharding_constraint((outputs, new_state), cluster.place)
    # The advance of a random counter is known while tracing, except in loops and branches, where it is a result of the function.
    moving = {op: n for op, n in frame.reserves.items() if isinstance(n, jax.core.Tracer)}
    notes = Notes(
        structure, tuple([c.without_traced_values() for c in run_checks]), {op: int(n) for op, n in frame.reserves.items() if op not in moving},
        tuple(moving), max(((t, v.shape) for t, v in frame.values.items() if hasattr(v, "nbytes")), key=_bytes, default=()),
    )  # fmt: skip
    all_holds = jnp.stack([jnp.asarray(c.ok) for c in run_checks]) if run_checks else None
    return TraceResult(outputs, new_state, all_holds, tuple(moving.values()), [c.traced_values() for c in run_checks], notes)


def _lowered(cluster: Cluster, frame: Frame) -> list[checks.Check]:
    """Lowers all items; returns the checks of the run in order.

    If an item after the first check cannot be traced, the trace ends there, with a last check that always fails with the error.
    """
    # Kernels compute with NumPy what is known while tracing, and infinities give no warnings in TensorFlow.
    with collecting() as found, np.errstate(all="ignore"):
        try:
            not_finite.look_at(not_finite.entering(cluster), frame.values, frame.state)
            for item in cluster.items:
                lower(item, frame)
            # A guess about the length of a growing TensorArray, on which the plan depends, is the first check: others would report
            # errors that only the wrong guess makes.
            for op, assumed in cluster.assumed:
                run_device_op(op, frame)
                holds = jnp.all(frame.values[op.outputs[0]] == assumed)
                found.insert(0, checks.Check(holds, "another size", (), op, WrongGuess))
        except (TypeError, ValueError, errors.OpError) as e:
            # In 1.15 a run fails at the operation that comes first. A check before this one may be that, which only the run tells.
            if not found:
                raise
            found.append(_end_of_trace(e))
    return found


def _flat_outputs(cluster: Cluster, frame: Frame) -> tuple[Arrays, jax.tree_util.PyTreeDef | None]:
    """(the leaves of the cluster's outputs, their pytree; None for the latter where each output is one array)."""
    outputs = tuple(jax.tree.map(jnp.asarray, frame.leave(t)) for t in cluster.outputs) or (jnp.zeros((), bool),)
    leaves, structure = jax.tree.flatten(outputs)
    # A TensorArray is a pytree of several leaves.
    is_flat = len(leaves) == len(outputs) and all(map(operator.is_, leaves, outputs))
    return tuple(leaves), None if is_flat else structure


def variable_shapes(arguments: Arguments) -> tuple[tuple[int, ...], ...]:
    """The shapes of the variables among the arguments of a call."""
    return tuple([value.shape for value in (*arguments[2], *arguments[3])])


class Tracing:
    """A cluster as a function that is traced when an engine asks for it. Keeps a weak reference to the cluster, which refers to this.

    Attributes:
      known: values known before the run. capacity: the number of elements that growing TensorArrays hold.
      folded: the operations that the last trace evaluated in NumPy. function: the function to trace. call: the same jitted, with the updated variables donated. notes: those of the last trace.
    """

    def __init__(
        self, cluster: Cluster, known: dict[Any, NDArray], capacity: int = FIRST_CAPACITY, family: TraceFamily | None = None
    ) -> None:
        self._cluster = weakref.ref(cluster)
        self.known, self.capacity = known, capacity
        self._family = family
        self._to_interpret: Trace | jax.stages.Traced | None = None
        self.notes = _NOTHING
        self.folded: list[Folded] = []
        self._notes_by_shapes: dict[tuple[tuple[int, ...], ...], Notes] = {}
        # One function object: JAX caches traces by its identity, so `call`, `trace` and other jitted forms of it share them.
        self.function = self._detached(Tracing._trace)
        self.call = jax_compat.jit(self.function, donate=(3,))
        self._shown: dict[int, Callable[..., Any]] = {}

    @property
    def cluster(self) -> Cluster:
        """The cluster. Raises ReferenceError where it has been collected."""
        cluster = self._cluster()
        if cluster is None:
            raise ReferenceError("The cluster of this program no longer exists: its plan was dropped while the program was in use.")
        return cluster

    def trace(self, arguments: Arguments) -> jax.stages.Traced:
        """The trace for arguments of these shapes, from JAX's cache after the first time."""
        return jax_compat.traced(self.call, arguments)

    def trace_to_interpret(self, arguments: Arguments) -> Trace | jax.stages.Traced:
        """The trace for arguments of these shapes, derived from traces for other shapes if that is possible."""
        # Deriving a trace is faster than tracing the kernels for another batch size.
        if self._to_interpret is None:
            if self._family is not None and (found := self._family.made(arguments, self)) is not None:
                self._to_interpret, self.notes = found
                self._notes_by_shapes[variable_shapes(arguments)] = self.notes
            else:
                self._to_interpret = self.trace(arguments)
                if self._family is not None:
                    self._family.add(arguments, self)
        return self._to_interpret

    def sibling(self) -> Tracing:
        """A new Tracing of the same cluster, for other shapes."""
        return Tracing(self.cluster, self.known, self.capacity)

    def notes_of(self, arguments: Arguments) -> Notes:
        """The notes of the trace for these arguments. An assignment that changed a variable's shape has made JAX trace again."""
        return self.notes if len(self._notes_by_shapes) == 1 else self._notes_by_shapes[variable_shapes(arguments)]

    def failure(self, holds: NDArray, arguments: Arguments) -> Exception:
        """The error of the first check that failed.

        Args:
          holds: bool[checks] that the call returned. arguments: those of the failed call.
        """
        # Values for the message are computed only now, by a program of their own. The failed call has changed no variable, so the
        # same arguments give the same values.
        first = int(np.argmin(holds))
        if self.notes_of(arguments).is_of_others:
            self.trace(arguments)
        check = self.notes_of(arguments).checks[first]
        if all(v is not None for v in check.values):
            return check.failure(check.values)
        call = self._shown.get(first)
        if call is None:
            shown = self._detached(lambda self, *arguments: self._result(arguments).shown[first])
            call = self._shown[first] = jax_compat.jit(shown, donate=(), small=True)
        return check.failure(check.merge_values(jax_compat.apart(lambda: [np.asarray(v) for v in call(*arguments)])))

    def _detached(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a method with a weak reference to this object, which JAX's caches of traced functions would otherwise keep alive."""
        tracing = weakref.ref(self)

        def trace(*arguments: object) -> object:
            return method(tracing(), *arguments)

        return trace

    def _trace(self, *arguments: Any) -> tuple[Any, ...]:
        """The function that JAX traces. Side effect: stores the notes of the trace."""
        with noting() as self.folded:
            result = self._result(arguments)
        self.notes = self._notes_by_shapes[variable_shapes(arguments)] = result.notes
        return result.arrays

    def _result(self, arguments: Arguments) -> TraceResult:
        return trace_cluster(self.cluster, self.known, arguments, self.capacity)


def _bytes(entry: tuple[Tensor, tuple[int, ...]]) -> int:
    """The size in bytes of a (tensor, shape)."""
    tensor, sizes = entry
    return math.prod(sizes) * tensor.dtype.size


def _end_of_trace(error: Exception) -> checks.Check:
    """A check that always fails with `error`, for a kernel that cannot be traced: the run raises it unless an earlier check fails."""
    return checks.Check(jnp.asarray(False), "", (), None, lambda *node: error.with_traceback(None))


def _committed(keys: list[str], frame: Frame, before: dict[str, Any], all_ok: jax.Array | None, made: int, on_mesh: bool) -> list[jax.Array]:
    """The values of variables after the run: the new ones if all checks hold, else the old ones.

    Args:
      keys: of the variables. frame: has the new values. before: the old values by key.
      all_ok: the conjunction of the checks, None without any. made: how many checks there are. on_mesh: whether towers run.
    """
    values = {key: jnp.asarray(frame.state[key]) for key in keys}
    if all_ok is None:
        return list(values.values())
    # A select between new and old needs both buffers, which defeats donation: XLA would copy the variable in each run. So a write by a
    # single operation is made again inside a lax.cond on the checks, where it can update the donated buffer in place.
    postponed: dict[str, Write] = {}
    for key, new in values.items():
        old, write = before.get(key), frame.writes.get(key)
        # A variable without old value, or whose shape changes, cannot be selected; it has its new value also where a check fails.
        if old is None or old.shape != new.shape or old.dtype != new.dtype:
            continue
        if write is None or write.value is not new or write.before is not old:
            values[key] = _chosen(all_ok, new, old)
        elif not write.is_guarded or write.checks != made:
            postponed[key] = write
    if jax_compat.compiles_to_cpu() and not on_mesh:
        made_again = jax.lax.cond(all_ok, lambda: _again(postponed), lambda: [w.before for w in postponed.values()])
        return list({**values, **dict(zip(postponed, made_again))}.values())
    # On accelerators and meshes values are selected. Kernels that guard their writes themselves run again, guarded by all checks.
    plain = {key: _chosen(all_ok, values[key], before[key]) for key, w in postponed.items() if not w.is_guarded}
    guarded = {key: w for key, w in postponed.items() if w.is_guarded}
    with checks.gated(all_ok):
        made_again = _again(guarded)
    return list({**values, **plain, **dict(zip(guarded, made_again))}.values())


def _chosen(ok: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """`new` if the scalar `ok` is true, else `old`."""
    return jax.lax.select(jnp.broadcast_to(ok, new.shape), new, old)


def _again(writes: dict[str, Write]) -> list[jax.Array]:
    """The new values of writes, from their kernels called again; a kernel of several writes is called once."""
    results: dict[Callable[[], list[object]], list[object]] = {}
    with collecting():
        for write in writes.values():
            if write.kernel not in results:
                results[write.kernel] = write.kernel()
    return [jnp.asarray(results[w.kernel][w.position]) for w in writes.values()]


def conjunction(flags: Iterable[jax.Array]) -> jax.Array | None:
    """The logical conjunction of scalar bools; None for no flags."""
    conjoined = None
    for ok in flags:
        conjoined = ok if conjoined is None else jnp.logical_and(conjoined, ok)
    return conjoined
