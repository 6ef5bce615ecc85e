"""Tracing of a cluster. What JAX compiles, or an interpreter evaluates, is a function of its inputs and of the state of the session.

The function takes (inputs, large constants and perhaps a StopFlag's array, read variables, updated variables, random rows), and gives
(outputs, or one number where there are none, to wait for; new values of the updated and overwritten variables, a vector of which checks
hold or None, how far random operations in loops and branches have moved on). Outputs are flat: JAX makes them without Python code.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Iterable, Sequence
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
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, GROWTH
from tfcompat._src.runtime import (
    loop_differentiated,  # noqa: F401  (how items are lowered)
    lower_cond,  # noqa: F401
    lower_towers,  # noqa: F401
    not_finite,
)
from tfcompat._src.runtime.lower import STOPPING, Frame, Write, collecting, lower, run_device_op
from tfcompat._src.runtime.plan import Cluster, WrongGuess
from tfcompat._src.runtime.variable_state import variable_key

if TYPE_CHECKING:
    from tfcompat._src.runtime.trace_family import TraceFamily

Arrays: TypeAlias = tuple[Any, ...]
"""Arrays that go into a cluster or come out of it: of JAX, of NumPy, or those of TensorArrays."""
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
"""Those of the arrays that come in: what tells the executables of one program apart."""
Arguments: TypeAlias = "tuple[Arrays, Arrays, tuple[Array, ...], tuple[Array, ...], Array | tuple[()]]"
"""Inputs, large inputs, variables that are read and that are updated, rows of random state."""


def input_shapes(inputs: Sequence[Any]) -> Shapes:
    """What tells the executables of one program apart."""
    return tuple([a.shape for a in inputs])


@dataclass(frozen=True)
class Notes:
    """What a trace has found beside arrays.

    Attributes:
      structure: the tree of the outputs, where they are no flat arrays. checks: in the order of the vector.
      reserves: how far random operations move on. moving: those of which only the call tells that.
      largest: the tensor that takes most memory, with its shape; empty without one.
      is_of_others: whether the trace was made of those for other shapes, which tell nothing of checks and of the largest tensor.
    """

    structure: jax.tree_util.PyTreeDef | None
    checks: tuple[checks.Check, ...]
    reserves: dict[Operation, int]
    moving: tuple[Operation, ...]
    largest: tuple[Any, ...]
    is_of_others: bool = False

    def outputs(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The values of a cluster's outputs."""
        return leaves if self.structure is None else jax.tree.unflatten(self.structure, leaves)


_NOTHING = Notes(None, (), {}, (), ())


class Trace(NamedTuple):
    """What the interpreter needs of a trace: its equations, and the tree of what it returns."""

    jaxpr: jax_compat.ClosedJaxpr
    out_info: object


@dataclass(frozen=True)
class TraceResult:
    """What a trace gives: `outputs`, `state`, `holds` and `moved` are what the function returns, `shown` the values of each check."""

    outputs: Arrays
    state: Arrays
    holds: jax.Array | None
    moved: Arrays
    shown: list[tuple[Any, ...]]
    notes: Notes

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.outputs, self.state, self.holds, self.moved


def trace_cluster(
    cluster: Cluster, known: dict[Any, NDArray], arguments: Arguments, capacity: int = FIRST_CAPACITY, differentiated: int = 0
) -> TraceResult:  # fmt: skip
    """Calls the kernels of a cluster on what JAX traces.

    Args:
      known: tensors with a value before the run. capacity: the room of growing TensorArrays.
      differentiated: how many times JAX may differentiate what is traced.

    Raises:
      Replan: for these shapes the plan must be another one.
    """
    inputs, large, read, updated, rng = arguments
    values = {**known, **dict(zip(cluster.inputs, inputs)), **dict(zip(cluster.large, large))}
    state = {variable_key(v): a for v, a in zip((*cluster.reads, *cluster.updates), (*read, *updated))}
    before = dict(state)
    frame = Frame(values, state, {op: rng[i] for i, op in enumerate(cluster.randoms)}, differentiated_here=cluster.differentiated)
    frame.differentiated, frame.through_updates = differentiated, differentiated > 0
    GROWTH.capacity = capacity
    STOPPING.flag = next(iter(large[len(cluster.large) :]), None)
    with not_finite.watching(cluster.watched):
        found = _lowered(cluster, frame)
    all_ok = conjunction([c.ok for c in found])
    keys = [key for key in cluster.written_keys if key in state]
    on_mesh = isinstance(cluster.place, NamedSharding)
    new_state = tuple(_committed(keys, frame, before, all_ok, len(found), on_mesh))
    outputs, structure = _flat_outputs(cluster, frame)
    if on_mesh:
        outputs, new_state = jax.lax.with_sharding_constraint((outputs, new_state), cluster.place)
    moving = {op: n for op, n in frame.reserves.items() if isinstance(n, jax.core.Tracer)}
    notes = Notes(
        structure, tuple([c.without_traced_values() for c in found]), {op: int(n) for op, n in frame.reserves.items() if op not in moving},
        tuple(moving), max(((t, v.shape) for t, v in frame.values.items() if hasattr(v, "nbytes")), key=_bytes, default=()),
    )  # fmt: skip
    all_holds = jnp.stack([jnp.asarray(c.ok) for c in found]) if found else None
    return TraceResult(outputs, new_state, all_holds, tuple(moving.values()), [c.traced_values() for c in found], notes)


def _lowered(cluster: Cluster, frame: Frame) -> list[checks.Check]:
    """Calls the kernels of all items; the checks of the run. Where one cannot be called after a check that may fail, the last says so."""
    with collecting() as found:
        try:
            not_finite.look_at(not_finite.entering(cluster), frame.values, frame.state)
            for item in cluster.items:
                lower(item, frame)
            for op, assumed in cluster.assumed:
                run_device_op(op, frame)
                holds = jnp.all(frame.values[op.outputs[0]] == assumed)
                found.insert(0, checks.Check(holds, "another size", (), op, WrongGuess))
        except (TypeError, ValueError, errors.OpError) as e:
            if not found:
                raise
            found.append(_end_of_trace(e))
    return found


def _flat_outputs(cluster: Cluster, frame: Frame) -> tuple[Arrays, jax.tree_util.PyTreeDef | None]:
    """The arrays that leave the trace, and the tree that they are leaves of, where that is no flat tuple."""
    outputs = tuple(jax.tree.map(jnp.asarray, frame.leave(t)) for t in cluster.outputs) or (jnp.zeros((), bool),)
    leaves, structure = jax.tree.flatten(outputs)
    is_flat = len(leaves) == len(outputs) and all(map(operator.is_, leaves, outputs))
    return tuple(leaves), None if is_flat else structure


def variable_shapes(arguments: Arguments) -> tuple[tuple[int, ...], ...]:
    """The shapes of the variables among the arguments of a call."""
    return tuple([value.shape for value in (*arguments[2], *arguments[3])])


class Tracing:
    """A cluster as a function that JAX traces where an engine asks for it.

    Attributes:
      cluster: whoever calls holds it. known: tensors with a value before the run. capacity: the room of growing TensorArrays.
      function: what JAX traces. call: the same jitted, which donates the updated variables. notes: what the last trace has found.
    """

    def __init__(
        self, cluster: Cluster, known: dict[Any, NDArray], capacity: int = FIRST_CAPACITY, family: TraceFamily | None = None
    ) -> None:
        self._cluster = weakref.ref(cluster)  # which keeps this
        self.known, self.capacity = known, capacity
        self._family = family
        self._to_interpret: Trace | jax.stages.Traced | None = None
        self.notes = _NOTHING
        self._notes_by_shapes: dict[tuple[tuple[int, ...], ...], Notes] = {}
        self.function = self._detached(Tracing._trace)  # JAX traces once for all that is made of one object
        self.call = jax_compat.jit(self.function, donate=(3,))
        self._shown: dict[int, Callable[..., Any]] = {}

    @property
    def cluster(self) -> Cluster:
        cluster = self._cluster()
        if cluster is None:
            raise ReferenceError("the plan of this program is gone")
        return cluster

    def trace(self, arguments: Arguments) -> jax.stages.Traced:
        """The trace for arguments of these shapes, which JAX makes once."""
        return jax_compat.traced(self.call, arguments)

    def trace_to_interpret(self, arguments: Arguments) -> Trace | jax.stages.Traced:
        """The trace for arguments of these shapes, made of those for others where that is possible."""
        if self._to_interpret is None:
            if self._family is not None and (found := self._family.made(arguments)) is not None:
                self._to_interpret, self.notes = found
                self._notes_by_shapes[variable_shapes(arguments)] = self.notes
            else:
                self._to_interpret = self.trace(arguments)
                if self._family is not None:
                    self._family.add(arguments, self)
        return self._to_interpret

    def sibling(self) -> Tracing:
        """The same function, to be traced for other shapes."""
        return Tracing(self.cluster, self.known, self.capacity)

    def notes_of(self, arguments: Arguments) -> Notes:
        """What the trace for variables of these shapes has found: JAX traces again where an assignment has changed a shape."""
        return self.notes if len(self._notes_by_shapes) == 1 else self._notes_by_shapes[variable_shapes(arguments)]

    def failure(self, holds: NDArray, arguments: Arguments) -> Exception:
        """The error of the first check that does not hold.

        Its values are computed by a program of their own, for `arguments` of the call that failed, which has changed no variable.
        """
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
        """A method as a function that does not keep this object: JAX's caches keep functions that they have traced."""
        tracing = weakref.ref(self)

        def trace(*arguments: object) -> object:
            return method(tracing(), *arguments)

        return trace

    def _trace(self, *arguments: Any) -> tuple[Any, ...]:
        result = self._result(arguments)
        self.notes = self._notes_by_shapes[variable_shapes(arguments)] = result.notes
        return result.arrays

    def _result(self, arguments: Arguments) -> TraceResult:
        return trace_cluster(self.cluster, self.known, arguments, self.capacity)


def _bytes(entry: tuple[Tensor, tuple[int, ...]]) -> int:
    tensor, sizes = entry
    return math.prod(sizes) * tensor.dtype.size


def _end_of_trace(error: Exception) -> checks.Check:
    """The check that is false where a kernel cannot be traced: a run shows `error`, unless a check before it is false too."""
    return checks.Check(jnp.asarray(False), "", (), None, lambda *node: error.with_traceback(None))


def _committed(keys: list[str], frame: Frame, before: dict[str, Any], all_ok: jax.Array | None, made: int, on_mesh: bool) -> list[jax.Array]:
    """The new values of variables, or the old ones where one of the `made` checks of the run has failed.

    Writes of single operations are made again, all in one conditional, so that they need no copy of the old values.
    """
    values = {key: jnp.asarray(frame.state[key]) for key in keys}
    if all_ok is None:
        return list(values.values())
    postponed: dict[str, Write] = {}
    for key, new in values.items():
        old, write = before.get(key), frame.writes.get(key)
        if old is None or old.shape != new.shape or old.dtype != new.dtype:
            continue
        if write is None or write.value is not new or write.before is not old:
            values[key] = _chosen(all_ok, new, old)
        elif not write.is_guarded or write.checks != made:
            postponed[key] = write
    if jax_compat.compiles_to_cpu() and not on_mesh:
        made_again = jax.lax.cond(all_ok, lambda: _again(postponed), lambda: [w.before for w in postponed.values()])
        return list({**values, **dict(zip(postponed, made_again))}.values())
    plain = {key: _chosen(all_ok, values[key], before[key]) for key, w in postponed.items() if not w.is_guarded}
    guarded = {key: w for key, w in postponed.items() if w.is_guarded}
    with checks.gated(all_ok):
        made_again = _again(guarded)
    return list({**values, **plain, **dict(zip(guarded, made_again))}.values())


def _chosen(ok: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return jax.lax.select(jnp.broadcast_to(ok, new.shape), new, old)


def _again(writes: dict[str, Write]) -> list[jax.Array]:
    """What writes leave, from kernels that run again, each once."""
    results: dict[Callable[[], list[object]], list[object]] = {}
    with collecting():
        for write in writes.values():
            if write.kernel not in results:
                results[write.kernel] = write.kernel()
    return [jnp.asarray(results[w.kernel][w.position]) for w in writes.values()]


def conjunction(flags: Iterable[jax.Array]) -> jax.Array | None:
    """One scalar bool that says whether all are true; None for none."""
    found = None
    for ok in flags:
        found = ok if found is None else jnp.logical_and(found, ok)
    return found
